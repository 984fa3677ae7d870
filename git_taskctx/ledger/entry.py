"""A record with its line, and the anchors: blobs that records are attached to.

An anchor is the blob `taskctx context <id>`, so a write costs the same however many tasks share a base commit. After
`PAGE` records the next anchor, `taskctx context <id> 1`, follows: a note is rewritten with each record, which costs
more the longer it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from git_taskctx.git.repository import Repository
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.oids import BlobOid
from git_taskctx.model.record import Record
from git_taskctx.model.values import dataclass

PAGE = 32
"""Maximum number of records on one anchor; by sequence number, so that merged writers use the same anchors."""


@dataclass(frozen=True)
class Entry:
    """A record and its line."""

    record: Record
    line: str

    @property
    def sha(self) -> str:
        """The hash of the line; the next record has it as `prev`."""
        return sha256_hex(self.line.encode("utf-8", "surrogateescape"))


def anchor_data(context_id: str, page: int = 0) -> bytes:
    """Return the content of a context's anchor."""
    return f"taskctx context {context_id}{f' {page}' if page else ''}".encode()


def anchor_of(repository: Repository, context_id: str, page: int = 0) -> BlobOid:
    """Return the oid of a context's anchor."""
    return BlobOid(repository.objects.hash("blob", anchor_data(context_id, page)))


def page_of(seq: int) -> int:
    """Return the number of a record's anchor."""
    return (seq - 1) // PAGE


def on_anchors(repository: Repository, context_id: str, records: Iterable[Record]) -> dict[str, list[str]]:
    """Return records' lines by the oid of their anchor."""
    lines: dict[str, list[str]] = {}
    for record in records:
        lines.setdefault(anchor_of(repository, context_id, page_of(record.seq)), []).append(record.to_line())
    return lines
