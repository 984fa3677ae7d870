"""One record with the line that it was read from, and the blobs that records are attached to.

An anchor is the blob `taskctx context <id>`, so that a write costs the same however many tasks share a base commit.
The next one, `taskctx context <id> 1`, takes over where the first has `PAGE` records, and so on: a note is written
anew with each record, and would cost more the longer it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from git_taskctx.git.repository import Repository
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.oids import BlobOid
from git_taskctx.model.record import Record
from git_taskctx.model.values import dataclass

PAGE = 32
"""Maximum number of records on one anchor, by their sequence numbers, so that those of two merged writers meet."""


@dataclass(frozen=True)
class Entry:
    """A record and the line that it was read from."""

    record: Record
    line: str

    @property
    def sha(self) -> str:
        """The hash of the line, that the next record carries."""
        return sha256_hex(self.line.encode("utf-8", "surrogateescape"))


def anchor_data(context_id: str, page: int = 0) -> bytes:
    """Return the content of a blob that a context's records are attached to."""
    return f"taskctx context {context_id}{f' {page}' if page else ''}".encode()


def anchor_of(repository: Repository, context_id: str, page: int = 0) -> BlobOid:
    """Return the oid of a context's anchor."""
    return BlobOid(repository.objects.hash("blob", anchor_data(context_id, page)))


def page_of(seq: int) -> int:
    """Return which anchor the record with a sequence number lies on."""
    return (seq - 1) // PAGE


def on_anchors(repository: Repository, context_id: str, records: Iterable[Record]) -> dict[str, list[str]]:
    """Return the lines of records, by the anchors that they are to be attached to."""
    lines: dict[str, list[str]] = {}
    for record in records:
        lines.setdefault(anchor_of(repository, context_id, page_of(record.seq)), []).append(record.to_line())
    return lines
