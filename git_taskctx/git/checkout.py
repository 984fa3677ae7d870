"""Write and remove files of the worktree, one path at a time.

Each file is checked out elsewhere first, then its place is compared with what was seen there, and the file renamed over
it. Concurrent edits stay. No link is followed: every folder is opened from the top down.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from git_taskctx.files import TEMPORARY, give_as
from git_taskctx.git.changes import LINK
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository
from git_taskctx.limits import PIECE
from git_taskctx.model.snapshot import Change
from git_taskctx.model.values import NamedTuple

CHANGED = "changed while it was restored"
RACY = 50_000_000
"""Nanoseconds in which two writes may leave the same time: the kernel's file clock ticks every 1 to 10 ms."""
NO_FETCH = ("lfs.url=file:///nonexistent", "lfs.skipdownloaderrors=true", "lfs.transfer.maxretries=1")
"""Missing LFS content stays a pointer; nothing is fetched."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Seen(NamedTuple):
    """What was found at a path."""

    mode: int
    """From `lstat`."""
    blob: str
    """Oid of the unconverted bytes, or of a link's target."""


class Left(NamedTuple):
    """A path that was not restored, and why."""

    path: str
    """Quoted."""
    why: str


class Worktree:
    """The files below one folder, reached without following links."""

    def __init__(self, top: Path, algorithm: str) -> None:
        self._top = top
        self._algorithm = algorithm

    @contextlib.contextmanager
    def folder_of(self, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """Open the folder of `path`; yield its descriptor and the last part. Raises: OSError.

        `make` creates missing folders. A link or a file in the way is an error.
        """
        *folders, name = path.split(b"/")
        descriptor = os.open(self._top, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for folder in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=descriptor)
                        give_as(descriptor, folder, os.fstat(descriptor))
                below = os.open(folder, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor, name
        finally:
            os.close(descriptor)

    def look(self, path: bytes) -> Seen | None:
        """Return what is at `path`, if anything. Raises: OSError."""
        try:
            with self.folder_of(path) as (folder, name):
                return self._look(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _look(self, folder: int, name: bytes) -> Seen | None:
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(name, dir_fd=folder).st_mode
            if stat.S_ISLNK(mode):
                target = os.readlink(name, dir_fd=folder)
                return Seen(mode, self._blob([target], len(target)))
            if not stat.S_ISREG(mode):
                return Seen(mode, "")
            with _opened(name, folder) as file:
                return self._hash(file)
        return None

    def has(self, path: bytes) -> bool:
        """Return whether there is anything at `path`."""
        with contextlib.suppress(OSError), self.folder_of(path) as (folder, name):
            os.lstat(name, dir_fd=folder)
            return True
        return False

    def copy(self, path: bytes, to: Path) -> Seen | None:
        """Copy a regular file's bytes; return what it was, None if there is none. Raises: OSError."""
        with self.folder_of(path) as (folder, name):
            if not stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode):
                return None
            with _opened(name, folder) as file, to.open("xb") as copy:
                mode = os.fstat(file).st_mode
                copy.writelines(_pieces(file))
        with _opened(os.fsencode(to), None) as file:
            return Seen(mode, self._hash(file).blob)

    def overwrite(self, path: bytes, pieces: Iterable[bytes]) -> None:
        """Overwrite a file in place. Raises: OSError."""
        with self.folder_of(path) as (folder, name):
            flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=folder), "wb") as file:
                file.writelines(pieces)

    def remove(self, path: bytes, seen: Seen | None, spare: Path) -> str | None:
        """Remove a file unchanged since `seen`, through `spare`; return why it stays, if so. Raises: OSError."""
        if seen is None or stat.S_ISDIR(seen.mode):
            return None
        with self.folder_of(path) as (folder, name):
            if self._look(folder, name) != seen:
                return CHANGED
            try:
                os.rename(name, spare, src_dir_fd=folder)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                os.unlink(name, dir_fd=folder)
            else:
                if Worktree(spare.parent, self._algorithm).look(os.fsencode(spare.name)) != seen:
                    return _give_back(spare, folder, name)
                spare.unlink()
        self._remove_empty(path)
        return None

    def _remove_empty(self, path: bytes) -> None:
        """Remove the folders above `path` that became empty, as git does."""
        while b"/" in path:
            path = path.rpartition(b"/")[0]
            try:
                with self.folder_of(path) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:
                return

    def put(self, path: bytes, source: Worktree, seen: Seen | None, spare: Path, *, bits: int | None) -> str | None:
        """Move a file from the same path of `source`, if all is as seen; return why not. Raises: OSError.

        `bits` are its new permissions; None keeps them.
        """
        with self.folder_of(path, make=True) as (folder, name), source.folder_of(path) as (there, _):
            if bits is not None:
                os.chmod(name, bits, dir_fd=there)
            give_as(there, name, os.fstat(folder))
            if seen is None or stat.S_ISDIR(seen.mode):
                with contextlib.suppress(OSError):
                    _remove_empty_below(folder, name)
                return None if _link(there, name, folder, name) else CHANGED
            if not stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode):
                if self._look(folder, name) != seen:
                    return CHANGED
                _rename(there, name, folder, name)
                return None
            with _opened(name, folder) as file:
                stamp = os.fstat(file)
                if self._hash(file) != seen or not os.path.samestat(stamp, os.lstat(name, dir_fd=folder)):
                    return CHANGED
                _rename(there, name, folder, name)
                if not self._was_written(file, stamp, seen):
                    return None
                with spare.open("xb") as copy:  # in place, between the look and the rename
                    os.fchmod(copy.fileno(), stat.S_IMODE(stamp.st_mode))
                    copy.writelines(_pieces(file))
                os.rename(spare, name, dst_dir_fd=folder)
                give_as(folder, name, stamp)
                return CHANGED

    def _was_written(self, file: int, before: os.stat_result, seen: Seen) -> bool:
        after = os.fstat(file)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            return True
        return time.time_ns() - after.st_mtime_ns < RACY and self._hash(file).blob != seen.blob

    def _hash(self, file: int) -> Seen:
        found = os.fstat(file)
        return Seen(found.st_mode, self._blob(_pieces(file), found.st_size))

    def _blob(self, pieces: Iterable[bytes], size: int) -> str:
        """Return a blob's oid; an impossible one where its length is wrong."""
        hashed, length = hashlib.new(self._algorithm, b"blob %d\0" % size), 0
        for piece in pieces:
            hashed.update(piece)
            length += len(piece)
        return hashed.hexdigest() if length == size else f"{length} of {size} bytes"


def check_out(repository: Repository, changes: Sequence[Change], into: Path) -> dict[bytes, str]:
    """Write the new side of `changes` below `into`, converted by attributes.

    Returns the paths that git could not write with its messages; the others are written.
    """
    index = into.with_name(f"{into.name}.index")
    git = repository.git.with_settings(NO_FETCH).with_env(
        GIT_INDEX_FILE=os.fspath(index), GIT_LFS_SKIP_DOWNLOAD_ERRORS="1", GIT_NO_REPLACE_OBJECTS="1"
    )
    into.mkdir(mode=0o700)
    entries = b"".join(b"%s %s\t%s\0" % (one.mode.encode(), one.oid.encode(), one.path) for one in changes)
    git.run("update-index", "-z", "--index-info", stdin=entries)
    there = repository.objects.sizes({one.oid for one in changes})
    failed = {one.path: "its content is not in this repository" for one in changes if one.oid not in there}
    waiting = [one.path for one in changes if one.oid in there]
    # Relative: with a long path below it, an absolute one may be longer than the system takes.
    prefix = os.path.relpath(into, repository.toplevel)
    command = ("checkout-index", "-f", "-q", "-z", "--stdin", f"--prefix={prefix}/")
    written = Worktree(into, repository.algorithm)
    while waiting:
        done = git.run(*command, stdin=b"\0".join(waiting) + b"\0", ok=(0, 1, 128))
        missing = [path for path in waiting if not written.has(path)]
        if done.code == 0 or not missing:
            break
        # What git dies of is the first file that is not there: a damaged blob, or a filter that must not fail.
        failed |= dict.fromkeys(missing[:1] if done.code == 128 else missing, done.complaint)
        waiting = missing[1:] if done.code == 128 else []
    return failed


def permissions(seen: Seen | None, mode: str) -> int | None:
    """Return the permissions of a replaced file, executable as in `mode`; None if there was, or will be, no file."""
    if seen is None or mode == LINK or not stat.S_ISREG(seen.mode):
        return None
    bits = stat.S_IMODE(seen.mode) & 0o777
    return bits | (bits & 0o444) >> 2 if mode == "100755" else bits & ~0o111


@contextlib.contextmanager
def _opened(name: bytes, folder: int | None) -> Iterator[int]:
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _pieces(file: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(file, PIECE, at):
        yield piece
        at += len(piece)


def _link(there: int, name: bytes, folder: int, to: bytes) -> bool:
    """Give a file an unused name; False where the name exists."""
    try:
        os.link(name, to, src_dir_fd=there, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError:  # a file system without links, or another one
        with contextlib.suppress(FileNotFoundError):
            os.lstat(to, dir_fd=folder)
            return False
        _rename(there, name, folder, to)
        return True
    os.unlink(name, dir_fd=there)
    return True


def _rename(there: int, name: bytes, folder: int, to: bytes) -> None:
    """Rename over another name, by a copy across file systems."""
    try:
        os.rename(name, to, src_dir_fd=there, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = os.fsencode(f"{TEMPORARY}{os.urandom(6).hex()}")
        try:
            mode = os.lstat(name, dir_fd=there).st_mode
            if stat.S_ISLNK(mode):
                os.symlink(os.readlink(name, dir_fd=there), beside, dir_fd=folder)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with _opened(name, there) as file, os.fdopen(os.open(beside, flags, dir_fd=folder), "wb") as copy:
                    os.fchmod(copy.fileno(), stat.S_IMODE(mode))
                    copy.writelines(_pieces(file))
            os.rename(beside, to, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise


def _give_back(spare: Path, folder: int, name: bytes) -> str:
    """Restore a removed file that turned out to be another one, under a free name if its own is taken."""
    with Worktree(spare.parent, "sha1").folder_of(os.fsencode(spare.name)) as (there, taken):
        if _link(there, taken, folder, name):
            return CHANGED
        number = 1
        while not _link(there, taken, folder, kept := b"%s.kept-%d" % (name, number)):
            number += 1
    return f"{CHANGED}, twice: {quote(kept)} was there in between"


def _remove_empty_below(folder: int, name: bytes) -> None:
    """Remove a folder that contains only folders."""
    below = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for inner in os.listdir(below):  # noqa: PTH208 - a descriptor
            _remove_empty_below(below, os.fsencode(inner))
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=folder)
