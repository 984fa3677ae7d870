"""The records of a task as turns: who owned the tree, what each left, how drift ended, what was bypassed.

Pure: only the records decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from git_taskctx.ledger.chain import Chain, bypasses_of, fold
from git_taskctx.model.context import Finding
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Block, Resolve, Snapshot, Start, Unblock
from git_taskctx.model.record import Record
from git_taskctx.model.values import dataclass, replace

StepKind = Literal["work", "accepted", "takeover"]
"""`accepted`: drift that somebody took as the owner's; `takeover`: what an owner left that never came back."""


@dataclass(frozen=True)
class TurnStep:
    """What was changed between two trees on record, by one agent."""

    kind: StepKind
    since: TreeOid
    tree: TreeOid
    actors: tuple[str, ...]
    """Who recorded it."""
    snapshots: tuple[int, ...]
    """Numbers of the agent's snapshots that it took."""

    @property
    def trees(self) -> tuple[TreeOid, TreeOid]:
        """Both trees, the older one first."""
        return self.since, self.tree


@dataclass(frozen=True)
class Turn:
    """An agent's time as the owner of the tree."""

    agent: str
    round: int
    """Which turn of this agent it is, from 1."""
    handed: TreeOid
    """The tree that it was handed."""
    records: tuple[Record, ...]
    steps: tuple[TurnStep, ...] = ()


@dataclass(frozen=True)
class Approval:
    """The last time that somebody approved a tree: with `--done`, or by a handoff forward."""

    agent: str
    record: Record
    later: tuple[int, ...]
    """The turns, by number from 1, in which the tree was changed since."""


@dataclass(frozen=True)
class Drifted:
    """Counted drift, and the record that settled it; None while it is open."""

    record: Record
    settled: Record | None


@dataclass(frozen=True)
class Bypassed:
    """A bypassed check."""

    kind: str
    record: Record


@dataclass(frozen=True)
class Raised:
    """A finding, with the records that raised and closed it."""

    finding: Finding
    raised: Record | None
    closed: Record | None


def turns_of(records: Sequence[Record]) -> tuple[Turn, ...]:
    """Return the turns, oldest first. Raises: BadData where the records do not add up."""
    chain = fold(records[:1])
    turns = [Turn(chain.owner, 1, chain.tenure_tree, (records[0],))]
    for record in records[1:]:
        chain = chain.apply(record)
        if isinstance(record.payload, Start) and not record.payload.resume:
            turns.append(Turn(chain.owner, chain.seats[chain.owner].rounds, chain.tenure_tree, ()))
        turns[-1] = replace(_with(turns[-1], record), records=(*turns[-1].records, record))
    return tuple(turns)


def _with(turn: Turn, record: Record) -> Turn:
    payload = record.payload
    if not isinstance(payload, Snapshot) or record.tree is None:
        return turn
    kind: StepKind = "accepted" if payload.accepted else "takeover" if payload.takeover else "work"
    number, last = payload.n, turn.steps[-1] if turn.steps else None
    if last is None or last.kind != kind or kind != "work":
        since = last.tree if last is not None else turn.handed
        return replace(turn, steps=(*turn.steps, TurnStep(kind, since, record.tree, (record.actor,), (number,))))
    actors = tuple(dict.fromkeys((*last.actors, record.actor)))
    step = replace(last, tree=record.tree, actors=actors, snapshots=(*last.snapshots, number))
    return replace(turn, steps=(*turn.steps[:-1], step))


def last_approval(turns: Sequence[Turn]) -> Approval | None:
    """Return the last approval, and where the tree was changed since; None where nobody has approved anything."""
    found: tuple[str, Record, int] | None = None
    for number, turn in enumerate(turns):
        for record in turn.records:
            said = record.payload
            if isinstance(said, Snapshot):
                if said.done:
                    found = turn.agent, record, number + 1
                elif found is not None and found[2] > number and record.tree != found[1].tree:
                    found = *found[:2], number
            elif number and type(said) is Start and not (said.back or said.resume or said.implied):
                found = turns[number - 1].agent, record, number
    if found is None:
        return None
    agent, record, since = found
    later = (number for number in range(since, len(turns)) if any(_differ(step) for step in turns[number].steps))
    return Approval(agent, record, tuple(number + 1 for number in later))


def _differ(step: TurnStep) -> bool:
    return step.since != step.tree


def drifts_of(records: Sequence[Record]) -> tuple[Drifted, ...]:
    """Return each drift that was counted, oldest first."""
    return tuple(
        Drifted(record, next((later for later in records[number:] if _settles(later)), None))
        for number, record in enumerate(records)
        if record.type == "drift"
    )


def _settles(record: Record) -> bool:
    payload = record.payload
    return isinstance(payload, Resolve) or (isinstance(payload, Snapshot) and bool(payload.attest))


def all_bypasses(records: Iterable[Record]) -> Iterator[Bypassed]:
    """Yield what was bypassed, oldest first."""
    for record in records:
        for kind in bypasses_of(record):
            yield Bypassed(kind, record)


def findings_of(chain: Chain, records: Sequence[Record]) -> tuple[Raised, ...]:
    """Return every finding, open ones first, then in the order in which they were raised."""
    found = [
        Raised(finding, _about(records, Block, agent, finding.id), _about(records, Unblock, agent, finding.id))
        for agent in chain.agents
        for finding in chain.seats[agent].findings
    ]
    return tuple(sorted(found, key=lambda one: (one.finding.closed_at is not None, one.finding.at, one.finding.id)))


def _about(records: Sequence[Record], kind: type[Block | Unblock], agent: str, finding: str) -> Record | None:
    for one in records:
        said = one.payload
        if one.agent == agent and isinstance(said, kind) and said.finding == finding:
            return one
    return None
