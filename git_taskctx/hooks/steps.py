"""The steps of an installation: each is atomic and may be repeated.

A user's hook always has a name: it is linked to its new place before ours takes its name, and renamed over ours when
restored, with its mode, times and inode.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from git_taskctx import files
from git_taskctx.errors import Fatal
from git_taskctx.git.process import Git
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word


@dataclass(frozen=True)
class HookChange:
    what: str
    """As in `write` or `put aside`."""
    target: str
    """A path, or a key of git's configuration."""
    run: Callable[[], object]


def put(path: Path, data: bytes, *, mode: int = 0o755) -> HookChange:
    """Write a file whole, replacing what was there."""

    def run() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace_file(path, data, mode=mode, exact=True)
        files.sync_all([path.parent])

    return HookChange("write", os.fspath(path), _naming(path, run))


def edit(path: Path, data: bytes) -> HookChange:
    """Rewrite a user's file with its own mode, through a link."""
    real = path.resolve()
    return put(real, data, mode=real.stat().st_mode & 0o7777)


def put_aside(path: Path, to: Path) -> HookChange:
    """Give a file a second name, which stays when the first is replaced."""

    def run() -> None:
        to.parent.mkdir(exist_ok=True)
        if os.path.lexists(to):
            return
        try:
            os.link(path, to, follow_symlinks=False)
        except OSError:  # a file system without links: a copy with its mode and times
            temporary = files.temporary_of(to)
            shutil.copy2(path, temporary, follow_symlinks=False)
            temporary.rename(to)
        files.sync_all([to.parent])

    return HookChange("put aside", os.fspath(path), _naming(to, run))


def give_back(source: Path, to: Path) -> HookChange:
    """Rename a file over another name."""

    def run() -> None:
        if os.path.lexists(source):
            if os.path.lexists(to) and source.lstat().st_ino == to.lstat().st_ino:
                source.unlink()  # two names of one file: rename would leave both
            else:
                source.replace(to)
            files.sync_all({source.parent, to.parent})

    return HookChange("give back", os.fspath(to), _naming(to, run))


def remove(path: Path) -> HookChange:
    return HookChange("remove", os.fspath(path), _naming(path, lambda: path.unlink(missing_ok=True)))


def remove_folder(path: Path) -> HookChange:
    """Remove a folder if it is empty."""

    def run() -> None:
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()

    return HookChange("remove", os.fspath(path), _naming(path, run))


def link(path: Path, target: Path | str) -> HookChange:
    """Make or change a symbolic link."""

    def run() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = files.temporary_of(path)
        temporary.symlink_to(target)
        temporary.replace(path)

    return HookChange("link", os.fspath(path), _naming(path, run))


def set_config(git: Git, scope: str, key: str, value: str) -> HookChange:
    return HookChange("set", f"{key} = {value}", lambda: git.run("config", scope, key, value))


def add_config(git: Git, scope: str, key: str, value: str) -> HookChange:
    def run() -> None:
        if not git.run("config", scope, "--fixed-value", "--get-all", key, value, ok=(0, 1)).out:
            git.run("config", scope, "--add", key, value)

    return HookChange("add", f"{key} = {value}", run)


def unset_config(git: Git, scope: str, key: str, value: str) -> HookChange:
    """Remove a value from git's configuration; git exits with 5 if it is not there (git-config)."""
    return HookChange(
        "unset", key, lambda: git.run("config", scope, "--fixed-value", "--unset-all", key, value, ok=(0, 5))
    )


def remove_section(git: Git, scope: str, section: str) -> HookChange:
    """Remove a section of git's configuration; git 2.39 exits with 128 if there is none."""
    return HookChange("unset", section, lambda: git.run("config", scope, "--remove-section", section, ok=(0, 128)))


def sweep(*folders: Path) -> None:
    """Remove leftovers of an interrupted step."""
    for folder in folders:
        if folder.is_dir():
            for entry in folder.glob(f"{files.TEMPORARY}*"):
                entry.unlink(missing_ok=True)


def require_script(path: Path) -> None:
    """Check that a hook's place has a file, a link to one, or nothing. Raises: Fatal."""
    if os.path.lexists(path) and not (path.is_file() or path.is_symlink()):
        raise Fatal(
            f"{path} is not a file, and git would not run it",
            hint=f"ls -ld {shell_word(path)}   # look at it, then move it away",
        )


def _naming(path: Path, run: Callable[[], object]) -> Callable[[], object]:
    def run_it() -> None:
        with files.naming(path):
            run()

    return run_it
