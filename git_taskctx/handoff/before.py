"""Hash and mode of each changed file, as it lies there and in the tree before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from git_taskctx.context.session import Session
from git_taskctx.errors import BadData, CouldNotTell, TryAgain
from git_taskctx.git.changes import ABSENT, LINK, SUBMODULE
from git_taskctx.git.objects import QUESTIONS
from git_taskctx.git.quoting import quote
from git_taskctx.git.worktree import Reading
from git_taskctx.handoff.changed import read_files
from git_taskctx.lean import digest
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import Change, FileChange

SMALL = 64 * 1024
"""Bytes of a file that is read with others."""


class FilesBefore:
    """Hashes and modes in the tree before, which the list of its snapshot may have. Asked in path order."""

    def __init__(self, session: Session, reading: Reading, owner: str, tree: TreeOid, warnings: list[str]) -> None:
        self._reading, self._owner, self._warnings = reading, owner, warnings
        found = reading.find_changes(tree)
        self._since = None if found is None else {change.path: change for change in found}
        snapshot = session.details().get(owner)
        if snapshot is not None and snapshot.tree != tree:
            snapshot = None
        data = session.caller.store.read(session.task, snapshot.files) if snapshot else None
        self._files = read_files(data, snapshot.files_sha) if snapshot and data is not None else iter(())
        self._next = self._read()

    def describe(self, changes: Sequence[Change]) -> Iterator[FileChange]:
        """Yield changed files as they go on record. Raises: TryAgain where one changed meanwhile."""
        for start in range(0, len(changes), QUESTIONS):
            some = changes[start : start + QUESTIONS]
            if self._next is None and self._since:  # no list has their hashes
                before = (self._since[change.path] for change in some if change.path in self._since)
                oids = [one.old_oid for one in before if one.old_mode not in (ABSENT, SUBMODULE)]
                with suppress(CouldNotTell):  # found again where it is asked for alone
                    self._reading.objects.read_ahead(oids, limit=SMALL)
            yield from map(self._describe, some)

    def _describe(self, change: Change) -> FileChange:
        sha, size = _raw_hash(self._reading, change)
        previous_sha, previous_mode = self._find(change, sha)
        return FileChange(
            path=quote(change.path),
            status=change.status,
            sha256=sha,
            previous_sha256=previous_sha,
            mode=None if change.mode == ABSENT else change.mode,
            previous_mode=previous_mode,
            size=size,
            renamed_from=quote(change.renamed_from) if change.renamed_from else None,
        )

    def _find(self, change: Change, sha: str | None) -> tuple[str | None, str | None]:
        """Return the earlier sha256 and mode; `sha` is the present one. None where unknown or absent."""
        while self._next is not None and self._next[0] < change.path:
            self._next = self._read()
        if self._next is not None and self._next[0] == change.path:
            return self._next[1:]
        if self._since is None:
            return None, None
        since = self._since.get(change.path)
        if since is None:  # as it was; only the base has moved
            return sha, None if change.mode == ABSENT else change.mode
        return self._hash(since), None if since.old_mode == ABSENT else since.old_mode

    def _hash(self, change: Change) -> str | None:
        if change.old_mode == ABSENT:
            return None
        if change.old_mode == SUBMODULE:
            return sha256_hex(change.old_oid.encode())
        try:
            found = self._reading.objects.find(change.old_oid, limit=SMALL)
            if found is None or found.whole:
                return digest("sha256", found.data).hexdigest() if found is not None else None
            pieces = self._reading.objects.read_pieces(change.old_oid)
            hashed = digest("sha256", next(pieces, b""))
            for piece in pieces:
                hashed.update(piece)
        except CouldNotTell:
            return None
        return hashed.hexdigest()

    def _read(self) -> tuple[bytes, str | None, str | None] | None:
        try:
            return next(self._files, None)
        except BadData:
            warning = f"the list of files of {self._owner}'s snapshot cannot be read; hashes before are those of blobs"
            self._warnings.append(warning)
            self._files = iter(())
            return None


def _raw_hash(reading: Reading, change: Change) -> tuple[str | None, int | None]:
    """Return hash and size of the raw worktree bytes: a link's target, a submodule's commit."""
    if change.mode == ABSENT:
        return None, None
    if change.mode == SUBMODULE:
        return sha256_hex(change.oid.encode()), None
    if (known := reading.find_hash(change.path)) is not None:
        return known
    file = os.fsencode(reading.repository.toplevel) + b"/" + change.path
    try:
        if change.mode == LINK and stat.S_ISLNK(os.lstat(file).st_mode):
            target = os.readlink(file)  # noqa: PTH115 - paths are bytes here
            return sha256_hex(target), len(target)
        import hashlib

        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest(), os.fstat(opened.fileno()).st_size
    except OSError as error:
        if change.path in reading.flagged:  # in the tree whatever lies on disk
            return None, None
        what = "went away" if isinstance(error, FileNotFoundError) else "changed"
        raise TryAgain(f"{quote(change.path)} {what} while it was read", hint="run the same command again") from error
