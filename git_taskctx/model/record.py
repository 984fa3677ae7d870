"""Ledger records: one line each, chained by hash."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, get_args

from git_taskctx.errors import BadData
from git_taskctx.model.canonical import dump_line, load_object, sha256_hex
from git_taskctx.model.codec import from_plain
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, field, replace

RECORD_VERSION = 1
SIGNATURE = "signature"
"""The field of a record that holds its signature."""

RecordType = Literal[
    "init", "start", "takeover", "snapshot", "verify", "drift", "resolve", "restore", "block", "unblock",
    "update", "qa", "attach", "rebuild", "rebase", "part", "seal", "adopt", "purge", "recover", "bypass",
]  # fmt: skip

RECORD_TYPES = frozenset(get_args(RecordType))


@dataclass(frozen=True)
class Record:
    """One event of a context. The fields stand in the order in which they are written."""

    id: str
    """UTC time, context id and zero-padded sequence: sorted by id is sorted by time."""
    v: int
    type: RecordType
    context: str
    task: str
    agent: str | None
    actor: str
    time: str
    seq: int
    base: CommitOid | None
    """Base commit of the deltas after this event."""
    tree: TreeOid | None
    """The worktree's tree that the event is about."""
    commit_tree: TreeOid | None
    commit: CommitOid | None
    """HEAD when the event was recorded."""
    diff_sha: str | None
    context_sha: str
    """sha256 of the `context.json` that the event left behind."""
    prev: str | None
    """sha256 of the previous record's line; null for the first."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What only some types carry; written after the fixed fields, sorted."""

    def to_line(self) -> str:
        """Serialize to one compact line, without its newline."""
        fixed = {name: getattr(self, name) for name in FIXED_FIELDS}
        clash = sorted(set(fixed) & set(self.extra))
        if clash:
            raise BadData(f"record {self.id}: {clash[0]!r} is a fixed field")
        return dump_line({**fixed, **{key: self.extra[key] for key in sorted(self.extra)}})

    def signed_text(self) -> str:
        """Return what of it is signed: all but the signature."""
        return replace(self, extra={key: value for key, value in self.extra.items() if key != SIGNATURE}).to_line()

    def with_signature(self, signature: Mapping[str, Any]) -> Self:
        """Return the same record, signed."""
        return replace(self, extra={**self.extra, SIGNATURE: signature})

    @property
    def sha(self) -> str:
        """The hash that the next record carries as `prev`."""
        return sha256_hex(self.to_line().encode("utf-8"))


FIXED_FIELDS = tuple(name for name in Record.__dataclass_fields__ if name != "extra")


def record_id(time: str, context: str, seq: int) -> str:
    """Build a record's id from an ISO time, the context id and the sequence number."""
    return f"{time.replace('-', '').replace(':', '')}-{context}-{seq:06d}"


def link(records: Sequence[Record], tip: str | None, sign: Callable[[Record], Record] | None = None) -> list[Record]:
    """Chain records by hash, the first to `tip`; each is signed before the next one names its hash."""
    linked = []
    for record in records:
        chained = replace(record, prev=tip)
        linked.append(sign(chained) if sign is not None else chained)
        tip = linked[-1].sha
    return linked


def load_record(line: str, *, what: str = "ledger record") -> Record:
    """Read one line. Raises: BadData when it is no record of a known version and type."""
    value = load_object(line.encode("utf-8", "surrogateescape"), what=what)
    if value.get("v") != RECORD_VERSION:
        raise BadData(
            f"{what} has version {json.dumps(value.get('v'))}; this git-taskctx reads version {RECORD_VERSION}",
            hint="upgrade git-taskctx to the version that wrote it",
        )
    fixed = {key: value.pop(key) for key in FIXED_FIELDS if key in value}
    shape = tuple(map(type, fixed.values()))
    if len(fixed) == len(FIXED_FIELDS) and shape in _FITTING and fixed["type"] in RECORD_TYPES:
        return Record(**fixed, extra=value)
    record = from_plain(Record, {**fixed, "extra": value}, what=what)  # which says what is wrong
    _FITTING.add(shape)
    return record


_FITTING: set[tuple[type, ...]] = set()
"""Types of all fixed fields, in order, that have been found to fit: thousands of records are read in one proof."""
