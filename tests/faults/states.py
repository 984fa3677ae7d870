"""Every state that a command goes through: what a SIGKILL of all its processes leaves, at whatever moment it comes.

A process that is killed changes nothing any more, and the kernel's locks die with it. So the files, as they stand
before a step, are what a kill there leaves, and one run shows every one of these states. Those that are alike to
whoever reads them are looked at once.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from desk import plain

_UNREAD = re.compile(r"(.*/)?(?:[^/]+\.lock|\.tmp-[^/]*|tmp_[^/]*|taskctx/unflagged)|(.git/taskctx/tmp-)[^/]*")
"""What nobody reads: locks, files that are not yet in their place, and what is remembered of an index,
which names its file. That they are there is what counts."""
_PRIVATE = re.compile(r"\.git/(worktrees/[^/]+/)?taskctx/tmp-[^/]*/.*")
"""What lies in a folder that goes as a whole."""
_DRAWN = re.compile(r"\b[0-9]{10}\b|^-[0-9a-f]{8}$", re.MULTILINE)
"""A time in a reflog, and the name of a clone."""
Key = frozenset[tuple[str, object]]


def key_of(place: Path) -> Key:
    """Return what makes a worktree with its repository the same to whoever reads it.

    Objects do not count: what a ref names was written before it. A state with fewer of them comes first, and is the
    one that is looked at.
    """
    return frozenset((path, _content(file, path)) for path, file in _files(place))


def key_beside(place: Path, before: Path) -> Key:
    """Return the same for what another run left, that had other times and ids: which files are as they were `before`,
    and what stands in the others, but for what differs between two runs.
    """
    old = dict(key_of(before))
    found = []
    for path, file in _files(place):
        content = _content(file, path)
        if content != old.get(path) and isinstance(content, bytes):
            content = "binary" if b"\0" in content else _DRAWN.sub("<drawn>", plain(content.decode(errors="replace")))
        found.append((plain(re.sub(r"-[0-9a-f]{12,16}$", "-<id>", path)), content))
    return frozenset(found)


def _files(place: Path) -> list[tuple[str, Path]]:
    found = []
    for folder, folders, files in os.walk(place):
        if Path(folder).name == "objects":
            folders.clear()
            continue
        for name in [*folders, *files]:
            file = Path(folder, name)
            path = os.fspath(file.relative_to(place))
            if not _PRIVATE.fullmatch(path):
                found.append((path, file))
    return found


def _content(file: Path, path: str) -> object:
    if _UNREAD.fullmatch(path):
        return None
    if file.is_symlink():
        return os.fspath(file.readlink())
    if file.is_dir():
        return True
    return (b"x" if os.access(file, os.X_OK) else b"-") + file.read_bytes()


@dataclass
class States:
    """The states of one run, in the order in which it came to them."""

    place: Path
    scratch: Path
    name: str = "state"
    look: Callable[[], object] = lambda: None
    """Looks at each of them in its place."""
    steps: int = 0
    found: dict[Key, tuple[str, Path]] = field(default_factory=dict)
    """The step that was about to be taken, and a copy of all as it stood."""

    def see(self, step: str) -> None:
        """Look at how things stand before a step."""
        self.steps += 1
        key = key_of(self.place)
        if key not in self.found:
            copy = self.scratch / f"{self.name}-{len(self.found)}"
            shutil.copytree(self.place, copy, symlinks=True)
            self.look()
            self.found[key] = (f"{self.steps}: {step}", copy)
