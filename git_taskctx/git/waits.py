"""What git may be waiting for: a FIFO that it opened, where nobody writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_READ = (".gitattributes", ".gitignore", ".gitmodules", ".mailmap")
"""Files of a worktree that git reads by itself."""


def find_fifo(folder: Path) -> Path | None:
    """Return a FIFO that a git in `folder` would open and wait for; None where there is none."""
    for path in _opened(folder):
        try:
            if stat.S_ISFIFO(path.lstat().st_mode):
                return path
        except OSError:  # gone meanwhile, or not ours to look at
            continue
    return None


def _opened(folder: Path) -> Iterator[Path]:
    for git_dir in _git_dirs(folder):
        for place, folders, names in os.walk(git_dir):
            if Path(place).name == "objects":
                folders[:] = [name for name in folders if len(name) > 2]  # where loose objects are
            yield from (Path(place, name) for name in names)
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(place, name) for name in names if name in _READ)


def _git_dirs(folder: Path) -> list[Path]:
    """Return the git dir, and the one that its worktrees share; the folder itself where it is one."""
    place = folder / ".git"
    if place.is_file():
        place = folder / place.read_text(errors="surrogateescape").removeprefix("gitdir: ").rstrip("\n")
    elif not place.is_dir():
        place = folder
    common = place / "commondir"
    if not common.is_file():
        return [place]
    return [place, Path(os.path.normpath(place / common.read_text(errors="surrogateescape").rstrip("\n")))]
