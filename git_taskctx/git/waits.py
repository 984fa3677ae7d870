"""What git may be waiting for: an opened FIFO without a writer."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

_READ = (".gitattributes", ".gitignore", ".gitmodules", ".mailmap")
"""Files of a worktree that git reads by itself."""
LOOK = 2.0
"""Seconds for the search: in a large worktree git may simply be slow."""


def find_fifo(folder: Path) -> Path | None:
    """Return a FIFO that a git in `folder` waits for, if found in time."""
    end = time.monotonic() + LOOK
    for path in _opened(folder):
        if time.monotonic() > end:
            break
        try:
            if stat.S_ISFIFO(path.lstat().st_mode) and _is_waited_for(path):
                return path
        except OSError:  # gone meanwhile, or not ours to look at
            continue
    return None


def _is_waited_for(fifo: Path) -> bool:
    """Return whether a FIFO has a reader: only then can it be opened to write, see fifo(7)."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


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
    """Return the git dir and the common one; the folder itself if it is one."""
    place = folder / ".git"
    if place.is_file():
        place = folder / place.read_text(errors="surrogateescape").removeprefix("gitdir: ").rstrip("\n")
    elif not place.is_dir():
        place = folder
    common = place / "commondir"
    if not common.is_file():
        return [place]
    return [place, Path(os.path.normpath(place / common.read_text(errors="surrogateescape").rstrip("\n")))]
