"""The user's index: read once, then only copies of it are.

Every git of one reading works on the same bytes, so that a `git add` in between cannot make halves of two states, and
none of them takes the user's `index.lock`. From call to call the copy is kept in our own folder, with what is known of
it, until the user's index is another one; it may be deleted at any time.

git never writes to the copy. What it would note there (times of files that it found unchanged, untracked folders) goes
wrong where a filter's setting changes, a folder becomes a repository, or `.gitignore` stands under a flag.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from git_taskctx.errors import GitFailed
from git_taskctx.git.process import Git
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid


class IndexCopy:
    """A copy of the index that one reading works on."""

    def __init__(self, repository: Repository, path: Path, read: tuple[bytes, os.stat_result] | None) -> None:
        self.path = path
        """What git reads instead of the user's; there may be no file, as there may be no index."""
        self.unflagged = False
        """True when the index is known to have no entry under assume-unchanged or skip-worktree."""
        self.is_new = True
        """False for a file that stayed from an earlier reading."""
        self.doubtful = False
        """Set by whoever met something odd: the copy is not used again."""
        self._data = read[0] if read else None
        self._found = read[1] if read else None
        self._width = hashlib.new(repository.algorithm).digest_size
        self._algorithm = repository.algorithm

    @property
    def name(self) -> str:
        """The hash of its content, as it stands at its end; zeros under `index.skipHash`; empty where there is none."""
        return self._data[-self._width :].hex() if self._data is not None else ""

    def is_whole(self) -> bool:
        """Tell whether it is as it was written; git itself does not look when it only reads."""
        if self._data is None or not any(self._data[-self._width :]):
            return True
        return self._is_sound(self._data)

    def is_trusted(self) -> bool:
        """Tell whether the file that git reads is whole, too, also after a power cut."""
        if self.is_new:
            return True
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return False
        return data == self._data

    def _is_sound(self, data: bytes) -> bool:
        content = memoryview(data)[: -self._width]
        return hashlib.new(self._algorithm, content).digest() == data[-self._width :]

    def write(self, target: Path, *, cold: bool = False) -> None:
        """Write it to a file, with its time: git's racy check compares entries with that.

        With `cold` the file is a second older than every other, so that git trusts no entry.
        """
        if self._data is None or self._found is None:
            return
        target.write_bytes(self._data)
        time = 1_000_000_000 if cold else self._found.st_mtime_ns
        os.utime(target, ns=(time, time))

    def write_tree(self, git: Git, folder: Path) -> TreeOid | None:
        """Return the tree of what is staged, written where `git` writes; None while the index is unmerged."""
        copy = folder / "staged"
        self.write(copy)
        git = git.with_env(GIT_INDEX_FILE=os.fspath(copy))
        staged = git.run("write-tree", "--missing-ok", ok=(0, 128))
        if staged.code != 0 and b"unmerged" not in staged.err and b"cannot" not in staged.err:
            raise GitFailed(f"`git write-tree`: {staged.complaint}")
        return TreeOid(staged.out.decode().strip()) if staged.code == 0 else None


@contextlib.contextmanager
def copy_index(repository: Repository, folder: Path, *, lasting: bool) -> Iterator[IndexCopy]:
    """Copy the index for one reading: into `folder`, or with `lasting` where the copy of the last reading still lies.

    Raises: GitFailed for an index that does not read.
    """
    read = repository.read_index()
    with _lasting(repository, folder, read if lasting else None) as known:
        if known is None:
            copy = IndexCopy(repository, folder / "user-index", read)
            copy.write(copy.path)
            yield copy
            return
        yield known.copy
        if known.copy.doubtful:
            known.forget()
        else:
            known.save()


class _Lasting:
    """The copy that stays, and what is known of it. Whoever holds it holds its lock."""

    def __init__(self, repository: Repository, read: tuple[bytes, os.stat_result]) -> None:
        self._notes = repository.private_dir / "index.json"
        self.copy = copy = IndexCopy(repository, repository.private_dir / "index", read)
        known = self._load()
        (repository.private_dir / "index.lock").unlink(missing_ok=True)  # of a git that was killed
        again = known.get("of") == copy.name and copy.path.is_file()
        if not again:
            self._notes.unlink(missing_ok=True)
            copy.path.unlink(missing_ok=True)
            copy.write(copy.path)
        copy.is_new = not again
        copy.unflagged = again and known.get("unflagged") is True
        self._saved = known if again else {}

    def save(self) -> None:
        """Write down what is known now."""
        copy = self.copy
        known = {"of": copy.name, "unflagged": copy.unflagged}
        if known != self._saved:
            temporary = self._notes.with_suffix(".new")
            temporary.write_bytes(json.dumps(known).encode())
            temporary.replace(self._notes)

    def forget(self) -> None:
        """Throw it away; the next reading begins anew."""
        self._notes.unlink(missing_ok=True)

    def _load(self) -> dict[str, Any]:
        try:
            known = json.loads(self._notes.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


@contextlib.contextmanager
def _lasting(
    repository: Repository, folder: Path, read: tuple[bytes, os.stat_result] | None
) -> Iterator[_Lasting | None]:
    """Hold the lasting copy; None where there is none: no index, no place, in use, or no way to tell it apart."""
    home = repository.private_dir
    if read is None or not any(read[0][-20:]) or repository.index != repository.git_dir / "index":
        yield None
        return
    descriptor = known = None
    if folder.parent == home:
        with contextlib.suppress(OSError):  # another reading has it, or nothing can be written
            descriptor = os.open(home / "index.held", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            known = _Lasting(repository, read)
    try:
        yield known
    finally:
        if descriptor is not None:
            os.close(descriptor)
