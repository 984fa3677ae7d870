"""Find what would keep the gate from working, and settings that would lose records.

Changes nothing: hooks are fired in a throw-away repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from git_taskctx import __version__
from git_taskctx.errors import TaskctxError
from git_taskctx.files import read_plain
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.process import Git
from git_taskctx.git.quoting import quote
from git_taskctx.hooks import prek
from git_taskctx.hooks.fire import Fired
from git_taskctx.hooks.health import HookState, displaced, judge, read_author, read_script
from git_taskctx.hooks.install import shared_folder
from git_taskctx.hooks.place import Place, beside
from git_taskctx.hooks.refspec import find_left, find_named
from git_taskctx.hooks.shims import EVENTS, GATES, author, is_current
from git_taskctx.ledger.refs import REMOTES
from git_taskctx.limits import NAME_FILE, VERSION_SECONDS
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation

OLDEST = (2, 31)
"""The oldest supported git."""
Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Problem:
    """One finding."""

    level: Level
    """`error` where the gate would not work."""
    what: str
    situation: Situation | None
    """Its situation for advice."""
    hint: str | None = None
    """A ready hint."""


def examine_hooks(place: Place, seats: Sequence[HookState], fired: Fired) -> Iterator[Problem]:
    """Report why git would not run a hook, or that it did not fire."""
    install = Situation("hooks.install", place=place)
    for seat in seats:
        level: Level = "error" if seat.event in GATES else "warning"
        if seat.state == "missing":
            if not judge(seats).line.startswith("not installed"):
                yield Problem(level, f"{seat.event} is not installed", install)
        elif seat.state == "not executable":
            yield Problem(
                level,
                f"{seat.path} is not executable, and git ignores it",
                Situation("hooks.not_executable", path=seat.path),
            )
        elif seat.state == "displaced":
            yield Problem(level, f"{seat.event} is displaced: {seat.by} has its place", install)
        elif seat.state != "in place":
            yield Problem(level, f"{seat.event} is {seat.state}: {seat.by}", _way_to_run(place, seat))
        elif seat.event in fired.skipped:
            yield from _examine_skipped(place, seat, level)
        elif seat.event == "post-rewrite" and seat.by in ("pre-commit", "prek"):
            yield Problem(
                "warning",
                f"{seat.by} runs post-rewrite without the list of commits, so that their records are not carried along",
                Situation("hooks.instead_of", program=seat.by),
            )
        elif seat.event not in fired.events and (fault := _prek_fault(place, seat)):
            yield Problem(level, f"{seat.event}: {fault}", Situation("hooks.old_prek"))
        elif seat.event not in fired.events:
            yield Problem(level, f"{seat.event} is in place and does not fire", Situation("hooks.install_anew"))
    if judge(seats).line == "not installed":
        yield Problem("error", "no hook is installed here: nothing stops a commit", install)
    lost = any(seat.state == "in place" and seat.event not in fired.events | fired.skipped for seat in seats)
    if lost and fired.said:
        yield Problem("note", f"git said: {fired.said[:500]}", None)


def _prek_fault(place: Place, seat: HookState) -> str | None:
    return prek.find_fault(seat.path, seat.event, place.environ) if seat.path is not None else None


def _examine_skipped(place: Place, seat: HookState, level: Level) -> Iterator[Problem]:
    script = place.husky / seat.event if place.husky is not None else seat.path
    data = read_script(script) if script is not None else None
    if data is not None and author(data, seat.event) in ("ours", "block") and not is_current(data, seat.event):
        yield Problem(
            level,
            f"{script} is not what this version writes, and was not fired",
            Situation("hooks.install", place=place),
        )
    else:
        yield Problem("note", f"{seat.event} was not fired: {seat.by} runs it, and that would run your checks", None)


def _way_to_run(place: Place, seat: HookState) -> Situation:
    if place.husky is not None:
        return Situation("hooks.husky_first")
    if seat.state == "off":
        return Situation("hooks.off", own=place.is_own_setting(place.hooks_paths()[-1][1]))
    return Situation("hooks.install", place=place)


def examine_files(place: Place) -> Iterator[Problem]:
    """Find hooks put aside that nothing runs, outdated shims, and unused shims."""
    folders = {place.default, place.folder}
    for folder in sorted(folders):
        for there in displaced(folder):
            yield Problem(
                "warning",
                f"{there} was put aside by us, and nothing runs it now",
                Situation("hooks.install", place=place),
            )
        for event in EVENTS:
            if read_author(folder / f"{event}.old", event) == "ours":
                yield Problem(
                    "warning",
                    f"{folder / event}.old is ours: lefthook has put it there, and runs it no more",
                    Situation("hooks.install", place=place),
                )
    twice = [
        event
        for event in EVENTS
        if place.config_hooks(event)
        and place.has_config_hooks
        and read_author(place.folder / event, event) == "ours"
        and place.folder != place.private
    ]
    if twice:
        yield Problem(
            "note", f"{', '.join(twice)}: run twice, by git's configuration and as a file", Situation("hooks.twice")
        )
    link = beside(place.private)
    if place.folder == place.private and link.is_symlink() and link.readlink() != shared_folder(place):
        yield Problem(
            "warning",
            f"core.hooksPath for all repositories is {shared_folder(place)} now",
            Situation("hooks.install", place=place),
        )


def examine_worktrees(place: Place) -> Iterator[Problem]:
    """Find other worktrees in which a relative core.hooksPath leads nowhere, so that git runs no hook."""
    paths = place.hooks_paths()
    if not paths or os.path.isabs(paths[-1][0]) or paths[-1][0].startswith("~"):  # noqa: PTH117 - not a path yet
        return
    listed = place.git.run("worktree", "list", "--porcelain").out
    for line in listed.splitlines():
        top = Path(os.fsdecode(line.removeprefix(b"worktree ")))
        other = line.startswith(b"worktree ") and top != place.top and (top / ".git").exists()
        if other and not (top / paths[-1][0]).is_dir():
            yield Problem(
                "warning",
                f"{quote(os.fsencode(top))} has no {paths[-1][0]}: git runs no hook in that worktree",
                Situation("hooks.no_folder_there", top=top),
            )


def examine_program(place: Place, seats: Sequence[HookState], program: Path) -> Iterator[Problem]:
    """Check whether the hooks would find git-taskctx, and the running version. `program` is the running one."""
    if place.environ.get("GIT_TASKCTX") == "0":
        yield Problem(
            "error", "GIT_TASKCTX=0 is set: every hook is switched off", Situation("hooks.variable", name="GIT_TASKCTX")
        )
    for name, manager in (("HUSKY", "husky"), ("LEFTHOOK", "lefthook")):
        if place.environ.get(name) in ("0", "false") and any(seat.by == manager for seat in seats):
            yield Problem(
                "error",
                f"{name}={place.environ[name]} is set: {manager} runs no hook",
                Situation("hooks.variable", name=name),
            )
    if place.version < OLDEST:
        yield Problem(
            "error",
            f"git {_dotted(place.version)} is too old: it must be {_dotted(OLDEST)}",
            Situation("hooks.old_git"),
        )
    exec_path = os.fsdecode(place.git.run("--exec-path").out.strip())
    folders = [exec_path, *place.environ.get("PATH", "").split(os.pathsep)]
    found: dict[Path, str] = {}
    for folder in folders:
        there = shutil.which("git-taskctx", path=folder) if folder else None
        if there is not None:
            found.setdefault(Path(there).resolve(), there)
    noted = read_plain(place.git_dir / "taskctx" / "program", limit=NAME_FILE) or b""
    kept = shutil.which("git-taskctx", path=os.fsdecode(noted.rstrip(b"\n"))) if noted else None
    if not found and kept is not None:
        yield Problem(
            "warning",
            f"git does not find git-taskctx on PATH; the hooks fall back to {kept}, which began the last task here",
            Situation("hooks.not_on_path", folder=Path(kept).parent),
        )
        return
    if not found:
        yield Problem(
            "error",
            "git does not find git-taskctx on PATH, so the hooks let every commit go",
            Situation("hooks.not_on_path", folder=program.parent),
        )
        return
    first = next(iter(found.values()))
    version = _ask_version(place.git, first)
    if version is None:
        yield Problem(
            "error",
            f"{first} does not run, so the hooks let every commit go",
            Situation("hooks.does_not_run", program=first),
        )
    elif version != __version__:
        yield Problem(
            "warning", f"the hooks run {first}, which is {version}; this is {__version__}", Situation("hooks.several")
        )
    if len(found) > 1:
        yield Problem(
            "warning",
            f"git-taskctx is installed more than once: {', '.join(found.values())}; the first one is run",
            Situation("hooks.several"),
        )


def _ask_version(git: Git, program: str) -> str | None:
    try:
        done = subprocess.run(
            [program, "--version"],
            cwd=git.cwd,
            env=dict(git.environ),
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.decode("utf-8", "replace").split()
    return words[-1] if done.returncode == 0 and words else None


def examine_notes(place: Place, seats: Sequence[HookState]) -> Iterator[Problem]:
    """Find git settings that lose records, misplace them, or share too much."""
    pattern = r"^(notes\..*|core\.notesref|remote\..*\.(mirror|fetch|push))$"
    out = place.git.run("config", "-z", "--get-regexp", pattern, ok=(0, 1)).out.decode("utf-8", "surrogateescape")
    settings = [(key, value) for key, _, value in (entry.partition("\n") for entry in out.split("\0")[:-1])]
    for key, value in settings:
        yield from _examine_setting(key, value)
    last = dict(settings)
    covered = any(key == "notes.rewriteref" and _covers(value) for key, value in settings)
    mode = last.get("notes.rewritemode", "concatenate")
    if covered and mode in ("overwrite", "ignore"):
        yield Problem(
            "warning",
            f"notes.rewriteMode = {mode}: an amended commit may lose records that are on it",
            Situation("hooks.setting", words=("notes.rewriteMode", "concatenate")),
        )
    carried = any(seat.event == "post-rewrite" and seat.state == "in place" for seat in seats)
    if not covered and not carried:
        yield Problem(
            "warning",
            "amended and rebased commits lose their record: neither post-rewrite nor notes.rewriteRef carries it along",
            Situation("hooks.setting", words=("--add", "notes.rewriteRef", NOTES_REF)),
        )
    named = place.environ.get("GIT_NOTES_REF") or last.get("core.notesref")
    if named == NOTES_REF:
        yield Problem(
            "warning",
            f"git's own notes are written into {NOTES_REF}",
            Situation("hooks.own_notes", variable=bool(place.environ.get("GIT_NOTES_REF"))),
        )


def examine_left(place: Place) -> Iterator[Problem]:
    """Find what was fetched from remotes that no longer exist."""
    try:
        names = find_left(place)
    except TaskctxError as error:
        yield as_finding(error)
        return
    for name in names:
        yield Problem(
            "note",
            f"there is no remote {name} any more, and proofs do not read the records that were fetched from it",
            Situation("hooks.left_of_remote", folder=f"{REMOTES}/{name}/"),
        )


def _examine_setting(key: str, value: str) -> Iterator[Problem]:
    unset = Situation("hooks.unset", key=key, value=value)
    if key.endswith(".mirror") and value.lower() in ("true", "yes", "on", "1", ""):
        yield Problem("warning", f"{key}: a push there sends every snapshot", Situation("hooks.unset", key=key))
    elif key.endswith(".push") and value.lstrip("+").startswith(("refs/*:", "refs/taskctx/")):
        yield Problem("warning", f"{key} = {value}: a push there sends every snapshot", unset)
    elif key.endswith(".fetch"):
        yield from _examine_fetch(key, value, unset)


def _examine_fetch(key: str, value: str, unset: Situation) -> Iterator[Problem]:
    remote, (source, _, target) = key[len("remote.") : -len(".fetch")], value.lstrip("+").partition(":")
    other = Situation("hooks.unset", key=key, value=value, remote=remote)
    named = find_named(value)
    if named is not None:
        if named != remote:
            yield Problem(
                "warning",
                f"{key} = {value}: records of {remote} come as those of {named}",
                Situation("hooks.notes_of", remote=remote),
            )
    elif target and target != NOTES_REF + "/" and (_covers(target) or target == "refs/*"):
        what = "a fetch overwrites records that are not there, and --prune deletes them"
        yield Problem("warning", f"{key} = {value}: {what}", other)
    elif target.startswith("refs/taskctx/") and not target.startswith(f"{REMOTES}/"):
        what = "a fetch overwrites snapshots that are not there, and --prune deletes them"
        yield Problem("warning", f"{key} = {value}: {what}", unset)
    elif source == NOTES_REF:
        what = f"every fetch fails while {remote} has no records"
        yield Problem("warning", f"{key} = {value}: {what}", other)


def _covers(pattern: str) -> bool:
    return pattern == NOTES_REF or (
        pattern.endswith("*") and NOTES_REF.startswith(pattern[:-1]) and len(pattern) > len("refs/*")
    )


def as_finding(error: TaskctxError) -> Problem:
    """Return an error that stops every verb here as a finding."""
    return Problem("error", error.message, error.situation, error.hint)


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
