"""Where git looks for a repository's hooks, from its configuration without another git process."""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from git_taskctx.errors import Fatal, GitFailed
from git_taskctx.git.ahead import PLACES
from git_taskctx.git.process import Git
from git_taskctx.git.repository import Repository, parse_settings
from git_taskctx.hooks.shims import BESIDE

CONFIG_HOOKS = (2, 54)
"""The first git that supports hooks in its configuration."""
PREFIX = "hook.taskctx-"
"""Prefix of our sections in the configuration."""
_MOST_LINKS = 40
"""Links that Linux follows in one path (path_resolution(7))."""
_PATTERN = r"^core\.(hookspath|bare)$|^hook\."


class Place:
    """A repository as its hooks see it: a worktree, or a bare repository."""

    def __init__(
        self,
        git: Git,
        *,
        top: Path | None,
        git_dir: Path,
        common_dir: Path,
        settings: Sequence[tuple[str, str | None, str]],
    ) -> None:
        self.git = git
        self.top = top
        """None in a bare repository."""
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.settings = [one for one in settings if not one[2].startswith("command line")]
        """Key, value and origin; without `-c` settings."""
        self.default = common_dir / "hooks"
        self.private = common_dir / "taskctx-hooks"
        """Our own folder of shims, where the hooks folder is not ours to change."""

    @property
    def environ(self) -> Mapping[str, str]:
        return self.git.environ

    @functools.cached_property
    def version(self) -> tuple[int, int]:
        """git's version."""
        return read_version(self.git)

    @property
    def has_config_hooks(self) -> bool:
        """Return whether this git supports hooks in its configuration."""
        return self.version >= CONFIG_HOOKS

    def hooks_paths(self) -> list[tuple[str, str]]:
        """Return every value of core.hooksPath with its origin; the last one counts."""
        return [(value or "", origin) for key, value, origin in self.settings if key == "core.hookspath"]

    @property
    def folder(self) -> Path:
        """Where git looks for hooks here; it may not exist."""
        found = self.hooks_paths()
        return self.resolve(found[-1][0]) if found else self.default

    def resolve(self, value: str) -> Path:
        """Return the folder that a core.hooksPath value names; relative to each worktree."""
        home = self.environ.get("HOME")
        if home and re.match(r"~(/|$)", value):
            value = home + value[1:]
        return (self.top or self.git_dir) / value

    def is_own_setting(self, origin: str) -> bool:
        """Return whether a setting is in the repository's own configuration."""
        path = Path(origin.removeprefix("file:"))
        whole = ((self.top or self.git_dir) / path).resolve()
        return any(whole.is_relative_to(folder.resolve()) for folder in (self.common_dir, self.git_dir))

    def is_private(self, folder: Path) -> bool:
        """Return whether a folder is ours, also of a repository since moved or copied."""
        return folder.name == self.private.name

    @property
    def husky(self) -> Path | None:
        """husky 9's folder of users' hooks, where it runs git's hooks."""
        folder = self.folder
        return folder.parent if folder.name == "_" and ((folder / "h").is_file() or not folder.is_dir()) else None

    def is_content(self, folder: Path) -> bool:
        """Return whether a file in `folder` would be content of a worktree."""
        there = folder.resolve()
        while not there.is_dir():
            there = there.parent
        git = Git(there, self.environ, dict.fromkeys(PLACES))
        if git.run("rev-parse", "--is-inside-work-tree", ok=(0, 128)).out.strip() != b"true":
            return False
        return git.run("check-ignore", "-q", os.fspath(folder.resolve() / "pre-commit"), ok=(0, 1, 128)).code != 0

    def leads_out(self, path: Path) -> bool:
        """Return whether a link in the worktree leads from `path` outside, or into a git dir."""
        if self.top is None:
            return False
        top, homes = self.top.resolve(), {self.git_dir.resolve(), self.common_dir.resolve()}
        if path.is_relative_to(self.top):
            path = top / path.relative_to(self.top)

        def is_content(place: Path) -> bool:
            return place.is_relative_to(top) and not any(place.is_relative_to(home) for home in homes)

        hops = list(_hops(path))
        return any(map(is_content, hops)) and not is_content(hops[-1])

    def config_hooks(self, event: str) -> list[str]:
        """Return the names of the configured hooks for an event that run us."""
        found: dict[str, dict[str, str]] = {}
        for key, value, _ in self.settings:
            if key.startswith("hook."):
                name, _, what = key.removeprefix("hook.").rpartition(".")
                found.setdefault(name, {})[what] = value or ""
        return [
            name
            for name, one in found.items()
            if one.get("event") == event
            and _runs_us(one.get("command", ""))
            and one.get("enabled", "true").lower() not in ("false", "no", "off", "0")
        ]


def _hops(path: Path) -> Iterator[Path]:
    """Yield `path` and each path that its links lead to."""
    yield path
    for _ in range(_MOST_LINKS):
        link = next((one for one in (*reversed(path.parents), path) if one.is_symlink()), None)
        if link is None:
            return
        path = Path(os.path.normpath(link.parent / link.readlink() / path.relative_to(link)))
        yield path


def _runs_us(command: str) -> bool:
    """Return whether a configured command runs us."""
    if not command.startswith("test ! -x "):
        return "taskctx" in command
    try:
        path = shlex.split(command)[-1]
    except ValueError:
        return False
    return "taskctx" in path and os.path.exists(path)  # noqa: PTH110 - no path before it is looked at


def beside(folder: Path) -> Path:
    """Return the folder of the hooks that ours replaced."""
    return folder.with_name(folder.name + BESIDE)


def read_version(git: Git) -> tuple[int, int]:
    """Return git's version."""
    found = re.search(rb"(\d+)\.(\d+)", git.run("version").out)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def place_of(repository: Repository) -> Place:
    """Return the place of an open repository without starting git."""
    git = Git(repository.toplevel, repository.git.environ, repository.git.overlay)
    return Place(
        git,
        top=repository.toplevel,
        git_dir=repository.git_dir,
        common_dir=repository.common_dir,
        settings=repository.settings,
    )


def find_place(folder: Path, environ: Mapping[str, str]) -> Place:
    """Return the place that contains `folder`, bare repositories included. Raises: Fatal."""
    git = Git(folder, environ)
    try:
        git_dir = _path(git.run("rev-parse", "--path-format=absolute", "--git-dir").out)
        common_dir = _path(git.run("rev-parse", "--path-format=absolute", "--git-common-dir").out)
        top = git.run("rev-parse", "--path-format=absolute", "--show-toplevel", ok=(0, 128)).out
    except GitFailed as error:
        raise Fatal(error.message.split(": ", 1)[-1], hint=error.hint or "run it inside a repository") from error
    settings = _read_settings(git)
    worktree = _path(top) if top else None
    if worktree is None and ("core.bare", "true") not in [(key, value) for key, value, _ in settings]:
        raise Fatal("this is the inside of a git dir", hint="run it in the worktree")
    overlay: dict[str, str | None] = {"GIT_DIR": os.fspath(git_dir)} if "GIT_DIR" in environ else {}
    whole = Git(worktree or common_dir, environ, overlay)
    return Place(whole, top=worktree, git_dir=git_dir, common_dir=common_dir, settings=settings)


def look_again(place: Place) -> Place:
    """Return the place with its configuration read again."""
    settings = _read_settings(place.git)
    return Place(place.git, top=place.top, git_dir=place.git_dir, common_dir=place.common_dir, settings=settings)


def _read_settings(git: Git) -> list[tuple[str, str | None, str]]:
    found = git.run("config", "-z", "--show-origin", "--get-regexp", _PATTERN, ok=(0, 1))
    return parse_settings(found.out.decode("utf-8", "surrogateescape"))


def _path(out: bytes) -> Path:
    return Path(os.fsdecode(out.removesuffix(b"\n")))
