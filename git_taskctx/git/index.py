"""The user's index: read once, then only a copy of it is.

Every git of one reading works on the same bytes, so that a `git add` in between cannot make halves of two states, and
none of them takes the user's `index.lock`.

git writes nothing to the copy, and it is gone afterwards. What git would note there (times of files that it found
unchanged, untracked folders) goes wrong where a filter's setting changes, a folder becomes a repository, or
`.gitignore` stands under a flag. One fact, which the index's own bytes decide, is remembered from reading to reading.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from pathlib import Path

from git_taskctx.errors import GitFailed, TaskctxError
from git_taskctx.files import read_plain
from git_taskctx.git.process import Git, way_out
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid


class IndexCopy:
    """A copy of the index that one reading works on."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        """Copy the index into `folder`. Raises: GitFailed for an index that does not read."""
        self.path = folder / "user-index"
        """What git reads instead of the user's; there may be no file, as there may be no index."""
        self._folder = folder
        self._remembered = repository.private_dir / "unflagged"
        self._algorithm = repository.algorithm
        read = repository.read_index()
        self._data = read[0] if read else None
        self._found = read[1] if read else None
        self.write(self.path)

    @functools.cached_property
    def is_whole(self) -> bool:
        """Whether it is as it was written; git itself does not look when it only reads.

        Its last bytes are the hash of all others, or zeros where `index.skipHash` is set (gitformat-index).
        """
        if self._data is None or not any(self._name):
            return True
        content = memoryview(self._data)[: -len(self._name)]
        return hashlib.new(self._algorithm, content).digest() == self._name

    @functools.cached_property
    def unflagged(self) -> bool:
        """True when an index of the same content was found to have no entry under a flag (`git ls-files -v`)."""
        if not any(self._name) or not self.is_whole:
            return False
        try:
            return read_plain(self._remembered, limit=len(self._name)) == self._name
        except TaskctxError:  # something else lies there: one looks again
            return False

    def remember_unflagged(self) -> None:
        """Remember for the next reading that it has no entry under a flag, where that can be written."""
        if any(self._name) and self._folder.parent == self._remembered.parent:
            temporary = self._folder / "unflagged"
            with contextlib.suppress(OSError):  # it is only slower without
                temporary.write_bytes(self._name)
                temporary.replace(self._remembered)

    @property
    def _name(self) -> bytes:
        return self._data[-hashlib.new(self._algorithm).digest_size :] if self._data is not None else b""

    def write(self, target: Path, *, cold: bool = False) -> None:
        """Write it to a file, with its time: git's racy check compares entries with that.

        With `cold` the file is a second older than every other, so that git trusts no entry.
        """
        if self._data is None or self._found is None:
            return
        target.write_bytes(self._data)
        time = 1_000_000_000 if cold else self._found.st_mtime_ns
        os.utime(target, ns=(time, time))

    def write_tree(self, git: Git) -> TreeOid | None:
        """Return the tree of what is staged, written where `git` writes; None while the index is unmerged."""
        copy = self._folder / "staged"
        self.write(copy)
        git = git.with_env(GIT_INDEX_FILE=os.fspath(copy))
        staged = git.run("write-tree", "--missing-ok", ok=(0, 128))
        if staged.code != 0 and b"unmerged" not in staged.err and b"cannot" not in staged.err:
            raise GitFailed(f"`git write-tree`: {staged.complaint}", hint=way_out(staged, git.cwd))
        return TreeOid(staged.out.decode().strip()) if staged.code == 0 else None
