"""The user's index, read once and then copied.

All git processes of one reading use the same bytes, so that a concurrent `git add` cannot mix two states, and none
takes the user's `index.lock`.

The copy is read-only and temporary. What git would store in it (times of unchanged files, untracked folders) becomes
wrong when a filter's setting changes, a folder becomes a repository, or `.gitignore` is under a flag. Between readings
are remembered one fact that follows from the index's bytes alone, and blobs of files that differ from it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from git_taskctx.errors import GitFailed, TaskctxError
from git_taskctx.files import read_plain
from git_taskctx.git.ahead import identity, is_racy
from git_taskctx.git.process import Git, way_out
from git_taskctx.git.repository import Repository
from git_taskctx.lean import WIDTH, digest, regex
from git_taskctx.limits import LINE
from git_taskctx.model.oids import TreeOid

_ROOT = regex(rb"\0(-?[0-9]{1,10}) [0-9]{1,10}\n")
"""The root's header in a cache tree: no name, number of entries (-1 if outdated), number of folders."""

_ATTRIBUTES = b".gitattributes"
_LONGEST = 4096
"""Bytes of a path (PATH_MAX)."""
_TOO_LARGE = 100 * 1024 * 1024
"""git ignores larger `.gitattributes` (2.38.1 and later)."""

RACY = 2_000_000_000
"""Nanoseconds: the coarsest clock of a file system (FAT)."""
MANY = 64
"""Fewer small files are as soon read again."""
_LARGEST = 32 * 1024 * 1024
"""Bytes of blobs kept between readings."""
_VERSION = b"1"
_KEY = 16
_NEAR = 64
"""Files of which a key is searched ahead: they are asked for in the same order each time."""
_FAR = 100
"""Searches of everything in one reading."""


class IndexCopy:
    """A copy of the index for one reading."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        """Copy the index into `folder`. Raises: GitFailed for an unreadable index."""
        self.path = folder / "user-index"
        """What git reads instead of the user's; missing if that is."""
        self._folder = folder
        self._remembered = repository.private_dir / "unflagged"
        self._algorithm = repository.algorithm
        read = repository.read_index()
        self._data = read[0] if read else None
        self.found = read[1] if read else None
        """The file's stat when it was read."""
        self._original = repository.index
        self.write(self.path)

    @property
    def has_moved(self) -> bool:
        """Whether the user's index was replaced or written since."""
        try:
            return self.found is None or identity(self._original.stat()) != identity(self.found)
        except OSError:
            return True

    @functools.cached_property
    def is_whole(self) -> bool:
        """Whether its checksum is right; git does not check it when it only reads.

        The last bytes are the hash of the others, or zeros with `index.skipHash` (gitformat-index).
        """
        if self._data is None or not any(self._name) or self._known == self._fact != self._name:
            return True
        content = memoryview(self._data)[: -len(self._name)]
        return digest(self._algorithm, content).digest() == self._name

    @functools.cached_property
    def unflagged(self) -> bool:
        """True when an index of the same content is known to have no flagged entries (`git ls-files -v`)."""
        return any(self._name) and self._known.startswith(self._name) and self.is_whole

    def remember_unflagged(self) -> None:
        """Remember that it is whole and has no flagged entries, if that can be written and is not known."""
        known = self._known.startswith(self._name) if self._fact == self._name else self._known == self._fact
        if not known and any(self._name) and self._folder.parent == self._remembered.parent:
            temporary = self._folder / "unflagged"
            with contextlib.suppress(OSError):  # it is only slower without
                temporary.write_bytes(self._fact)
                temporary.replace(self._remembered)

    @functools.cached_property
    def _known(self) -> bytes:
        """What is remembered: the name of an index without flagged entries, and the file that had it."""
        try:
            return read_plain(self._remembered, limit=LINE) or b""
        except TaskctxError:  # something else lies there: one looks again
            return b""

    @functools.cached_property
    def _fact(self) -> bytes:
        """What is remembered of this index; of a file that may be written again with the same times its name alone."""
        file = repr(identity(self.found)) if self.found is not None and not is_racy(self.found) else ""
        return self._name + file.encode()

    @property
    def _name(self) -> bytes:
        return self._data[-WIDTH[self._algorithm] :] if self._data is not None else b""

    def write(self, target: Path, *, cold: bool = False) -> None:
        """Write it with its time, which git's racy check compares with entries.

        `cold` makes the file older than every entry, so that git trusts none.
        """
        if self._data is None or self.found is None:
            return
        target.write_bytes(self._data)
        time = 1_000_000_000 if cold else self.found.st_mtime_ns
        os.utime(target, ns=(time, time))

    def gives_attributes(self, top: bytes, paths: Iterable[bytes]) -> bool:
        """Return whether git may read attributes of these paths from the index, as files lack them.

        A `.gitattributes` file under `top` replaces that of the index (`read_attr` in attr.c, when files are checked
        in), unless it is a link. Up to version 3 the index has every path whole.
        """
        data = self._data or b""
        if int.from_bytes(data[4:8], "big") > 3:
            return True
        at, held = -1, list[bytes]()
        while (at := data.find(_ATTRIBUTES + b"\0", at + 1)) != -1:
            held.append(data[max(0, at - _LONGEST) : at])
        if not held:
            return False
        folders = {b""}
        for path in paths:
            while (path := path.rpartition(b"/")[0]) and path not in folders:
                folders.add(path)
        bare = [folder for folder in folders if not _is_read(b"/".join(filter(None, (top, folder, _ATTRIBUTES))))]
        return any(before.endswith(folder + b"/" if folder else b"") for folder in bare for before in held)

    @functools.cached_property
    def known_tree(self) -> TreeOid | None:
        """The tree of what is staged if the index names it; None where `git write-tree` is needed.

        git trusts it too (`cache_tree_fully_valid`), but checks that the tree exists.
        """
        return _cached_tree(self._data, self._algorithm) if self._data is not None and self.is_whole else None

    def write_tree(self, git: Git) -> TreeOid | None:
        """Return the staged tree, written where `git` writes; None while the index is unmerged."""
        copy = self._folder / "staged"
        self.write(copy)
        git = git.with_env(GIT_INDEX_FILE=os.fspath(copy))
        staged = git.run("write-tree", "--missing-ok", ok=(0, 128))
        if staged.code != 0 and b"unmerged" not in staged.err and b"cannot" not in staged.err:
            raise GitFailed(f"`git write-tree`: {staged.complaint}", hint=way_out(staged, git.cwd))
        return TreeOid(staged.out.decode().strip()) if staged.code == 0 else None


class Remembered:
    """Blobs of changed files, of earlier readings and of this one.

    A file is known by its path, its stat to the nanosecond, ctime included, and how git converts it. One that changed
    just before a reading is not remembered: it may change again with the same times.
    """

    def __init__(self, repository: Repository, folder: Path, *, used: bool) -> None:
        """Load what is in the private folder. `used`: earlier blobs are taken; `folder` is the reading's own."""
        self._file = repository.private_dir / "read"
        self._folder = folder
        self._width = WIDTH[repository.algorithm]
        self._size = _KEY + self._width
        self._began = folder.stat().st_mtime_ns  # by the clock of the file system
        self._old = self._load() if used else b""
        self._at = 0
        self._far = _FAR
        self._new = bytearray()
        self._left_open = False

    def key(self, path: bytes, found: os.stat_result, how: bytes) -> bytes:
        """Return what a file is known by; `how` it is converted."""
        text = b"%b%b\0%b\0%d %d %d %d %d %d" % (
            _VERSION, how, path, found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns,
            found.st_ctime_ns,
        )  # fmt: skip
        return digest("sha256", text).digest()[:_KEY]

    def find(self, key: bytes) -> str | None:
        """Return a file's blob, if remembered."""
        at = self._search(key, self._at, self._at + _NEAR * self._size)
        if at < 0 and self._far and self._old:
            self._far -= 1
            at = self._search(key, 0, len(self._old))
        if at < 0:
            return None
        self._at = at + self._size
        self._new += self._old[at : self._at]
        return self._old[at + _KEY : self._at].hex()

    def _search(self, key: bytes, start: int, end: int) -> int:
        at = self._old.find(key, start, end)
        return at if at % self._size == 0 else -1

    def add(self, key: bytes, found: os.stat_result, oid: str) -> None:
        """Remember a file that was read with this stat before and after, unless racy."""
        if max(found.st_mtime_ns, found.st_ctime_ns) < self._began - RACY:
            self._new += key + bytes.fromhex(oid)

    def leave_open(self, key: bytes) -> int:
        """Keep the place of a file that git is to read; return it, for `fill`."""
        self._new += key + bytes(self._width)
        self._left_open = True
        return len(self._new) - self._size

    def fill(self, place: int, key: bytes, found: os.stat_result, oid: str) -> None:
        """Remember a file that git has read, if its stat is as it was, and not racy."""
        if self._new[place : place + _KEY] == key and max(found.st_mtime_ns, found.st_ctime_ns) < self._began - RACY:
            self._new[place + _KEY : place + self._size] = bytes.fromhex(oid)

    def save(self) -> None:
        """Keep this reading's blobs for the next, which must all be in the repository, if that can be written."""
        new = bytes(self._new)
        if self._left_open:
            records = (new[at : at + self._size] for at in range(0, len(new), self._size))
            new = b"".join(record for record in records if any(record[_KEY:]))
        few = len(new) < MANY * self._size and not self._left_open and not self._old
        if new == self._old or few or len(new) > _LARGEST or self._folder.parent != self._file.parent:
            return
        temporary = self._folder / "read"
        with contextlib.suppress(OSError):  # it is only slower without
            temporary.write_bytes(digest("sha256", new).digest() + new)
            temporary.replace(self._file)

    def _load(self) -> bytes:
        try:
            data = read_plain(self._file, limit=_LARGEST + WIDTH["sha256"]) or b""
        except TaskctxError:  # something else lies there
            return b""
        name, content = data[: WIDTH["sha256"]], data[WIDTH["sha256"] :]
        return content if data and digest("sha256", content).digest() == name else b""


def _cached_tree(data: bytes, algorithm: str) -> TreeOid | None:
    """Return the root of a valid cache tree in an index (gitformat-index).

    The end of the entries is not recorded: the extension is searched from the end, and accepted only if it and its
    successors fill the file up to its hash.
    """
    width = WIDTH[algorithm]
    end = at = len(data) - width
    while (at := data.rfind(b"TREE", 0, at)) != -1:
        head = _ROOT.match(data, at + 8)
        if head is not None and _fills(data, at, end):
            oid = data[head.end() : head.end() + width]
            return TreeOid(oid.hex()) if int(head[1]) == int.from_bytes(data[8:12], "big") else None
    return None


def _fills(data: bytes, at: int, end: int) -> bool:
    """Return whether consecutive extensions from `at` end exactly at the file's hash."""
    while at + 8 <= end and data[at : at + 4].isalpha():
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return at == end


def _is_read(file: bytes) -> bool:
    """Return whether git reads this `.gitattributes` file instead of the index."""
    try:
        found = os.lstat(file)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size < _TOO_LARGE and os.access(file, os.R_OK)
