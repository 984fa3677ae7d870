"""Install our hooks, a skill and a block of AGENTS.md where an agent looks for them, and remove just these.

Everything is planned before the first write; each file is written whole or not at all. Claude Code reads
`.claude/settings.json` and `.claude/skills`; Codex `.codex/hooks.json`, or `.codex/config.toml` where that has hooks,
and `.agents/skills`; Gemini CLI `.gemini/settings.json` and `.gemini/skills`; Cursor `.cursor/hooks.json` and
`.cursor/skills`; each also below the home folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from git_taskctx import files
from git_taskctx.agents import marked, wiring
from git_taskctx.agents.dialects import DIALECTS, Dialect
from git_taskctx.agents.here import FOLDER
from git_taskctx.errors import BadData, Fatal, TaskctxError, TryAgain
from git_taskctx.limits import SETTINGS_LIMIT
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word

BEGIN, END = "<!-- git-taskctx: begin -->", "<!-- git-taskctx: end -->"
_FILES = {"claude": "settings.json", "codex": "hooks.json", "gemini": "settings.json", "cursor": "hooks.json"}
_SKILLS = {"codex": ".agents"}
_SIGNED = "\n<!-- git-taskctx wrote this: "


@dataclass(frozen=True)
class AgentPlace:
    """Where an agent's files are: below a worktree, or below the home folder."""

    base: Path
    user: bool
    config: Path
    """The agent's own folder, which a variable may move for a user."""

    def name_of(self, path: Path) -> str:
        """Return a path from the top of the worktree or from home; else whole."""
        if not path.is_relative_to(self.base):
            return os.fspath(path)
        return f"{'~/' if self.user else ''}{path.relative_to(self.base)}"

    @property
    def agents_md(self) -> Path:
        """The text that every agent reads in a project."""
        return self.base / "AGENTS.md"


@dataclass(frozen=True)
class PlannedChange:
    """One file before and after; None where there is none."""

    path: Path
    name: str
    """As shown to people."""
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class SetupPlan:
    changes: tuple[PlannedChange, ...]
    warnings: tuple[str, ...] = ()


def place_of(dialect: Dialect, base: Path, *, user: bool, moved: str | None = None) -> AgentPlace:
    """Return where an agent's files are; `moved` is its own folder from a variable."""
    return AgentPlace(base, user, Path(moved) if user and moved else base / f".{dialect.name}")


def plan_adding(dialect: Dialect, place: AgentPlace, role: str | None, *, skill: str, block: str) -> SetupPlan:
    """Plan the installation. Raises: BadData, Fatal for files that cannot be changed."""
    warnings: list[str] = []
    changes = [
        *_skill(dialect, place, skill, warnings),
        *([_block(place, block)] if not place.user else []),
        _hooks(dialect, place, role),
    ]
    return SetupPlan(tuple(one for one in changes if one.before != one.after), tuple(warnings))


def plan_removing(dialect: Dialect, place: AgentPlace) -> SetupPlan:
    """Plan the removal. The block stays while another agent's hooks are in the same place."""
    warnings: list[str] = []
    config = _config_file(dialect, place)
    changes = [_without_hooks(dialect, path, place) for path in (config, *_toml_file(dialect, place))]
    others = [one for one in DIALECTS.values() if one is not dialect]
    if not place.user and not any(is_there(one, place_of(one, place.base, user=False)) for one in others):
        text = _read(place.agents_md, place)
        after = marked.remove(text, BEGIN, END, what=str(place.agents_md)) if text is not None else None
        changes.append(_change(place, place.agents_md, text, after))
    changes += _skill(dialect, place, None, warnings)
    return SetupPlan(tuple(one for one in changes if one.before != one.after), tuple(warnings))


def find_wired(dialect: Dialect, place: AgentPlace) -> str | None:
    """Return the configuration that has this version's hooks, for whatever role."""
    for toml in _toml_file(dialect, place):
        text = _read(toml, place)
        if text is not None and wiring.BEGIN in text:
            return place.name_of(toml) if wiring.is_current_toml(text, dialect, what=str(toml)) else None
    path = _config_file(dialect, place)
    text = _read(path, place)
    found = wiring.found(text, dialect, what=str(path)) if text is not None else {}
    return place.name_of(path) if wiring.without_role(found) == wiring.wiring(dialect, None) else None


def is_there(dialect: Dialect, place: AgentPlace) -> bool:
    """Return whether an agent's configuration has any hook of ours; not if it cannot be read."""
    with contextlib.suppress(TaskctxError):
        toml = any(wiring.BEGIN in (_read(path, place) or "") for path in _toml_file(dialect, place))
        path = _config_file(dialect, place)
        text = _read(path, place)
        return toml or (text is not None and bool(wiring.found(text, dialect, what=str(path))))
    return False


def held(place: AgentPlace) -> AbstractContextManager[None]:
    """Lock a place between planning and writing. Raises: TryAgain."""
    return files.held_folder(place.base)


def apply(plan: SetupPlan, place: AgentPlace) -> None:
    """Write the plan, each file whole; remove folders left empty. Requires the lock.

    Raises: Fatal, ReadOnly before anything is written; TryAgain where a file changed since it was read.
    """
    for change in plan.changes:
        _require_writable(change)
    for change in plan.changes:
        real = Path(os.path.realpath(change.path))
        with files.naming(change.path):
            if change.before != files.read_plain(real, limit=SETTINGS_LIMIT):
                raise TryAgain(f"{change.name} has been changed meanwhile", hint="run the same command again")
            if change.after is not None:
                real.parent.mkdir(parents=True, exist_ok=True)
                files.sweep_beside(real)
                there = real.exists()
                mode = real.stat().st_mode & 0o7777 if there else 0o666
                files.replace_file(real, change.after, mode=mode, exact=there)
                files.sync_all([real.parent])
                continue
            real.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # something is in it
                for folder in real.parents:
                    if (folder in (place.base, place.config) and place.user) or folder == place.base:
                        break
                    folder.rmdir()


def _require_writable(change: PlannedChange) -> None:
    """Check that a file can be replaced. Raises: Fatal, ReadOnly."""
    folder = Path(os.path.realpath(change.path)).parent
    while not folder.exists():
        folder = folder.parent
    with files.naming(change.path):
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _hooks(dialect: Dialect, place: AgentPlace, role: str | None) -> PlannedChange:
    path = _config_file(dialect, place)
    text = _read(path, place)
    for toml in _toml_file(dialect, place):
        other = _read(toml, place)
        if (
            text is None
            and other is not None
            and (wiring.BEGIN in other or wiring.has_toml_hooks(other, what=str(toml)))
        ):
            return _change(place, toml, other, wiring.add_toml(other, dialect, role, what=str(toml)))
    return _change(place, path, text, wiring.add(text, dialect, role, what=str(path)))


def _without_hooks(dialect: Dialect, path: Path, place: AgentPlace) -> PlannedChange:
    text = _read(path, place)
    if text is None:
        return _change(place, path, None, None)
    if path.suffix == ".toml":
        return _change(place, path, text, wiring.remove_toml(text, what=str(path)))
    return _change(place, path, text, wiring.remove(text, dialect, what=str(path)))


def _config_file(dialect: Dialect, place: AgentPlace) -> Path:
    return place.config / _FILES[dialect.name]


def _toml_file(dialect: Dialect, place: AgentPlace) -> Iterator[Path]:
    if dialect.name == "codex":
        yield place.config / "config.toml"


def _block(place: AgentPlace, block: str) -> PlannedChange:
    text = _read(place.agents_md, place)
    return _change(place, place.agents_md, text, marked.add(text, block, BEGIN, END, what=str(place.agents_md)))


def _skill(dialect: Dialect, place: AgentPlace, text: str | None, warnings: list[str]) -> list[PlannedChange]:
    """Plan the skill, or without text its removal; one that somebody else wrote, or changed, stays."""
    parent = place.base / _SKILLS[dialect.name] if dialect.name in _SKILLS else place.config
    path = parent / "skills" / "git-taskctx" / "SKILL.md"
    old = _read(path, place)
    if old is not None and not _is_signed(old):
        warnings.append(f"{place.name_of(path)} has been changed by hand and stays as it is")
        return []
    return [_change(place, path, old, _sign(text) if text is not None else None)]


def _sign(text: str) -> str:
    return f"{text}{_SIGNED}{sha256_hex(text.encode())[:16]} -->\n"


def _is_signed(text: str) -> bool:
    return _sign(text.rpartition(_SIGNED)[0]) == text


def _change(place: AgentPlace, path: Path, before: str | None, after: str | None) -> PlannedChange:
    return PlannedChange(
        path, place.name_of(path), *(None if text is None else text.encode("utf-8") for text in (before, after))
    )


def _read(path: Path, place: AgentPlace) -> str | None:
    """Read a file; links are followed, in a project not out of it, nor into a git dir. Raises: Fatal, BadData."""
    real = os.path.realpath(path)
    inside = os.path.relpath(real, os.path.realpath(place.base)).lower().split("/")
    if not place.user and not {"..", ".git", FOLDER}.isdisjoint(inside):
        raise Fatal(
            f"{path} leads out of the worktree",
            hint=f"ls -ld {shell_word(path.parent)} {shell_word(path)}   # look at it",
        )
    data = files.read_plain(Path(real), limit=SETTINGS_LIMIT)
    try:
        return data.decode("utf-8") if data is not None else None
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8") from error
