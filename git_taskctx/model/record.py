"""Ledger records: one line each, chained by hash; what each says is typed by its kind."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, get_args

from git_taskctx.errors import BadData
from git_taskctx.model import payloads
from git_taskctx.model.canonical import dump_line, load_object, sha256_hex
from git_taskctx.model.codec import from_plain, keys_of, to_plain
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Misfit, Origin, Payload, Signature
from git_taskctx.model.values import dataclass, fields, replace

RECORD_VERSION = 1
SIGNATURE = "signature"
"""The field of a record that holds its signature."""

RecordType = Literal[
    "init", "start", "takeover", "snapshot", "verify", "drift", "resolve", "restore", "block", "unblock",
    "update", "qa", "attach", "rebuild", "rebase", "part", "seal", "adopt", "purge", "recover", "bypass",
]  # fmt: skip

RECORD_TYPES = frozenset(get_args(RecordType))

KINDS: Mapping[RecordType, tuple[type[Payload], tuple[str, ...]]] = {
    "init": (payloads.Init, ("tree",)),
    "start": (payloads.Start, ("agent",)),
    "takeover": (payloads.Takeover, ("agent",)),
    "snapshot": (payloads.Snapshot, ("agent", "tree", "commit_tree")),
    "verify": (payloads.Verify, ()),
    "drift": (payloads.Drift, ("agent",)),
    "resolve": (payloads.Resolve, ()),
    "restore": (payloads.Restore, ()),
    "block": (payloads.Block, ("agent",)),
    "unblock": (payloads.Unblock, ("agent",)),
    "update": (payloads.Update, ("agent",)),
    "qa": (payloads.Qa, ("agent",)),
    "attach": (payloads.Attach, ()),
    "rebuild": (payloads.Rebuild, ()),
    "rebase": (payloads.Rebase, ()),
    "part": (payloads.Part, ("commit",)),
    "seal": (payloads.Seal, ()),
    "adopt": (payloads.Adopt, ()),
    "purge": (payloads.Purge, ()),
    "recover": (payloads.Recover, ()),
    "bypass": (payloads.Bypass, ()),
}
"""Of each type of record the class of its payload, and the fixed fields that are not null in it."""
_TYPES: Mapping[type[Payload], RecordType] = {cls: name for name, (cls, _) in KINDS.items()}
_ORIGIN = frozenset(keys_of(Origin))


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
    body: Mapping[str, Any]
    """What follows in the line, sorted: `payload`, `origin`, the signature, and what only a later version knows."""

    @property
    def payload(self) -> Payload:
        """What it says; a `Misfit` where that does not read."""
        return self._read[0]

    @property
    def origin(self) -> Origin:
        """Where and how it was written."""
        return self._read[1]

    @property
    def unknown(self) -> tuple[str, ...]:
        """Fields that this version does not know, which are kept and ignored."""
        return self._read[2]

    @property
    def signature(self) -> object:
        """What is there of a signature; None without one."""
        return self.body.get(SIGNATURE)

    @functools.cached_property
    def _read(self) -> tuple[Payload, Origin, tuple[str, ...]]:
        cls, needed = KINDS[self.type]
        what, unknown = f"record {self.id} ({self.type})", list[str]()
        said = {key: value for key, value in self.body.items() if key not in _ORIGIN and key != SIGNATURE}
        try:
            for name in needed:
                if getattr(self, name) is None:
                    raise BadData(f"{what}: field {name!r} is null")  # noqa: TRY301 - one way for all that is wrong
            about = {key: self.body[key] for key in _ORIGIN & self.body.keys()}
            origin = from_plain(Origin, about, what=what, unknown=unknown)
            payload = from_plain(cls, said, what=what, unknown=unknown)
        except BadData as error:
            return Misfit(error.message), Origin(), ()
        return payload, origin, tuple(name.removeprefix(f"{what}.") for name in unknown)

    def to_line(self) -> str:
        """Serialize to one compact line, without its newline."""
        fixed = {name: getattr(self, name) for name in FIXED_FIELDS}
        clash = sorted(set(fixed) & set(self.body))
        if clash:
            raise BadData(f"record {self.id}: {clash[0]!r} is a fixed field")
        return dump_line({**fixed, **{key: self.body[key] for key in sorted(self.body)}})

    def signed_text(self) -> str:
        """Return the signed part: all but the signature."""
        return replace(self, body={key: value for key, value in self.body.items() if key != SIGNATURE}).to_line()

    def with_signature(self, signature: Signature) -> Self:
        """Return the same record, signed."""
        return replace(self, body={**self.body, SIGNATURE: to_plain(signature)})

    @property
    def sha(self) -> str:
        """The hash that the next record carries as `prev`."""
        return sha256_hex(self.to_line().encode("utf-8"))


FIXED_FIELDS = tuple(one.name for one in fields(Record) if one.name != "body")


def body_of(payload: Payload, origin: Origin) -> dict[str, Any]:
    """Return the part of a record's line after the fixed fields."""
    return {**to_plain(payload), **to_plain(origin)}


def type_of(payload: Payload) -> RecordType:
    """Return the type of the records that carry a payload."""
    return _TYPES[type(payload)]


def draft_record(
    payload: Payload,
    origin: Origin,
    *,
    time: str,
    context: str,
    task: str,
    seq: int,
    agent: str | None,
    actor: str,
    base: CommitOid | None,
    tree: TreeOid | None = None,
    commit_tree: TreeOid | None = None,
    commit: CommitOid | None = None,
    diff_sha: str | None = None,
) -> Record:
    """Return a record that is not yet hashed into a chain. Raises: TypeError for a payload that would not read."""
    record = Record(
        id=record_id(time, context, seq), v=RECORD_VERSION, type=type_of(payload), context=context, task=task,
        agent=agent, actor=actor, time=time, seq=seq, base=base, tree=tree, commit_tree=commit_tree, commit=commit,
        diff_sha=diff_sha, context_sha="", prev=None, body=body_of(payload, origin),
    )  # fmt: skip
    if isinstance(record.payload, Misfit):
        raise TypeError(record.payload.why)
    return record


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
    """Read one line. Raises: BadData unless it is a record of a known version and type."""
    value = load_object(line.encode("utf-8", "surrogateescape"), what=what)
    if value.get("v") != RECORD_VERSION:
        raise BadData(
            f"{what} has version {json.dumps(value.get('v'))}; this git-taskctx reads version {RECORD_VERSION}",
            hint="upgrade git-taskctx to the version that wrote it",
        )
    fixed = {key: value.pop(key) for key in FIXED_FIELDS if key in value}
    shape = tuple(map(type, fixed.values()))
    if len(fixed) == len(FIXED_FIELDS) and shape in _FITTING and fixed["type"] in RECORD_TYPES:
        return Record(**fixed, body=value)
    record = from_plain(Record, {**fixed, "body": value}, what=what)  # which says what is wrong
    _FITTING.add(shape)
    return record


_FITTING: set[tuple[type, ...]] = set()
"""Known types of all fixed fields, in order: a proof may read thousands of records."""
