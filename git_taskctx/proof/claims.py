"""What a note says, read as what it is: text that anybody with push rights can have written.

Nothing in it is believed before the chain of hashes holds and the fold accepts it, and nothing in it stops the proof:
what does not read, is too large, or cannot follow becomes a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_taskctx.errors import BadData
from git_taskctx.ledger.chain import Chain, bypasses_of, fold
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.forks import Forked, follow
from git_taskctx.model.oids import CommitOid, TreeOid, is_agent_name, is_context_id, is_oid, is_task_id
from git_taskctx.model.payloads import Resolve, Snapshot, Start
from git_taskctx.model.policy import NO_VERIFY, Policy
from git_taskctx.model.proof import Code, Reason
from git_taskctx.model.qa import missing_runs
from git_taskctx.model.record import Record, load_record, record_id
from git_taskctx.model.values import dataclass, field

NOTE_LIMIT = 8 * 1024 * 1024
"""Bytes of a note; a task of a thousand records has one."""
LINE_LIMIT = 1024 * 1024
"""Characters of a record."""
RECORDS_LIMIT = 20_000
"""Records of a note."""
CUT = 200
"""Characters that a message takes from a note."""
CLAIMS_LIMIT = 1000
"""Commits that the records of a task tell of; for each there is the chain up to it."""
SHOWN = 5
"""Records that are named for what this version does not know in them."""
CLAIMS = ("seal", "adopt", "part")
"""Types of records that are about a commit of the task."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class Bypass:
    """A check that was bypassed in a way that policy leaves out."""

    reason: Reason
    commit: CommitOid | None = None
    """The commit that went around the gate: it counts where it is in the history of what is proved. None: anywhere."""
    moved: bool = False
    """True when the commit that the task's commit sits on was another one since then."""


@dataclass(frozen=True)
class Claim:
    """What a chain says about one commit: that it is the task's, and which tree it must have."""

    record: Record
    tree: TreeOid
    """The tree that the commit must have."""
    parent: CommitOid | None
    """What its first parent must be."""
    chain: Chain | None
    """The chain before this record; None where it could not be added up."""
    parts: tuple[tuple[CommitOid, TreeOid], ...] = ()
    """The task's commits before this one, each with its tree."""
    reasons: tuple[Reason, ...] = ()
    """What stands against the chain at this point."""
    notices: tuple[Reason, ...] = ()
    around: tuple[Bypass, ...] = ()
    """Commits that went around the gate, and that the records alone do not place in the history of this one."""

    @property
    def is_part(self) -> bool:
        """True when the commit does not end the task."""
        return self.record.type == "part"


@dataclass(frozen=True)
class Told:
    """What the note says about one context."""

    context: str
    task: str
    entries: tuple[Entry, ...]
    claims: tuple[Claim, ...]
    reasons: tuple[Reason, ...] = ()
    """What stands against the whole chain."""


@dataclass(frozen=True)
class Note:
    """All that was found in one note."""

    told: tuple[Told, ...] = ()
    foreign: int = 0
    """Lines that are no records."""
    reasons: tuple[Reason, ...] = ()
    """What is wrong with the note as a whole."""


@dataclass
class _Facts:
    """What a chain did on its way, that its last state does not show."""

    bypasses: list[tuple[str, Record]] = field(default_factory=list)
    moved: int = 0
    """Number of the last record that may have moved the commit that the task's commit sits on."""
    unexplained: list[Record] = field(default_factory=list)
    newer: list[Record] = field(default_factory=list)
    """Records with fields that this version does not know."""
    runs: list[Record] = field(default_factory=list)


def read_claims(lines: Sequence[str], policy: Policy, agents: tuple[str, ...] | None) -> Note:
    """Judge every chain in a note by `policy`; `agents` are those that a chain must have, None where any will do."""
    if len(lines) > RECORDS_LIMIT:
        return Note(reasons=(Reason(Code.TOO_LARGE, f"the note has {len(lines)} lines, more than {RECORDS_LIMIT}"),))
    contexts: dict[str, list[Entry]] = {}
    foreign, newer = 0, list[Reason]()
    for line in lines:
        try:
            record = _load(line)
        except BadData as error:
            foreign += 1
            if error.hint:
                newer = [Reason(Code.RECORD_NEWER, cut(error.message))]
            continue
        contexts.setdefault(record.context, []).append(Entry(record, line))
    told = tuple(_judge(sorted(entries, key=_place), policy, agents) for entries in contexts.values())
    return Note(told, foreign, tuple(newer))


def cut(text: str) -> str:
    """Return a text from a note as one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= CUT else line[: CUT - 1] + "…"


def _load(line: str) -> Record:
    """Read a record that is worth a look. Raises: BadData."""
    if len(line) > LINE_LIMIT:
        raise BadData(f"a record has more than {LINE_LIMIT} characters")
    record = load_record(line)
    if not is_context_id(record.context) or not is_task_id(record.task) or record.seq < 1:
        raise BadData("the record names no context")
    if "\\u" in line:  # an escape can stand for half a character, which no file can hold
        try:
            record.to_line().encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadData("the record is not UTF-8") from error
    return record


def _place(entry: Entry) -> tuple[int, str, str]:
    return entry.record.seq, entry.record.id, entry.line


def _judge(entries: list[Entry], policy: Policy, agents: tuple[str, ...] | None) -> Told:
    first = entries[0].record
    try:
        entries, _ = follow(entries)
        broken = tuple(_form(entries))
    except Forked as error:
        broken = (Reason(Code.FORK, cut(error.message)),)
    except BadData:
        broken = tuple(_gaps(entries))
    states: dict[int, Chain] = {}
    if sum(entry.record.type in CLAIMS for entry in entries) > CLAIMS_LIMIT:
        broken = (Reason(Code.TOO_LARGE, f"the records tell of more than {CLAIMS_LIMIT} commits"),)
        return Told(first.context, first.task, tuple(entries), (), broken)
    if not broken:
        try:
            states = {number: chain for number, chain in _fold(entries) if entries[number].record.type in CLAIMS}
        except BadData as error:
            broken = (Reason(Code.RECORD_BAD, cut(error.message)),)
    claims, facts, parts = list[Claim](), _Facts(), list[tuple[CommitOid, TreeOid]]()
    for number, entry in enumerate(entries):
        record = entry.record
        _note_facts(facts, record)
        if record.type in CLAIMS and record.commit is not None and record.commit_tree is not None:
            chain = states.get(number)
            around = tuple(_bypassed(chain, facts, policy)) if chain else ()
            reasons = tuple(_against(chain, record, facts, policy, agents)) if chain else ()
            reasons += tuple(one.reason for one in around if one.commit is None)
            around = tuple(one for one in around if one.commit is not None)
            notices = tuple(_tolerated(facts, policy))
            parent = chain.parent if chain else None
            claims.append(Claim(record, record.commit_tree, parent, chain, tuple(parts), reasons, notices, around))
            if record.type == "part":
                parts.append((record.commit, record.commit_tree))
    return Told(first.context, first.task, tuple(entries), tuple(claims), broken)


def _gaps(entries: Sequence[Entry]) -> Iterator[Reason]:
    """Yield where a chain of hashes breaks first: a record is missing before it, or another one was edited."""
    previous: Entry | None = None
    for number, entry in enumerate(entries, 1):
        record = entry.record
        if record.seq != number:
            missing = f"record {number}" if record.seq > number else f"one record {record.seq} too many"
            yield Reason(Code.RECORD_MISSING, f"the chain has a gap: {missing}, before {record.id}", record.id)
            return
        if record.prev != (previous.sha if previous else None):
            before = previous.record.id if previous else "nothing"
            yield Reason(Code.RECORD_EDITED, f"{before} is not what {record.id} was written after", record.id)
            return
        previous = entry
    yield Reason(Code.RECORD_BAD, "the records do not make one chain")


def _form(entries: Sequence[Entry]) -> Iterator[Reason]:
    """Yield what is odd about records whose hashes hold."""
    last, known = "", set[str | None]()
    for record in (entry.record for entry in entries):
        if not _TIME.fullmatch(record.time) or record.id != record_id(record.time, record.context, record.seq):
            yield Reason(Code.RECORD_BAD, f"record {cut(record.id)} has another id than its time and number give")
            return
        if record.task != entries[0].record.task:
            yield Reason(Code.RECORD_BAD, f"record {record.id} is of another task, {record.task}", record.id)
            return
        oids = {record.base, record.tree, record.commit_tree, record.commit} - known
        known |= oids
        if not all(is_oid(oid) for oid in oids if oid is not None):
            yield Reason(Code.RECORD_BAD, f"record {record.id} names an object that can be none", record.id)
            return
        if record.time < last:
            yield Reason(Code.ORDER, f"record {record.id} is older than the one before", record.id)
            return
        last = record.time


def _fold(entries: Sequence[Entry]) -> Iterator[tuple[int, Chain]]:
    """Yield the chain before each record but the first. Raises: BadData."""
    chain = fold([entries[0].record])
    for agent in chain.agents:
        if not is_agent_name(agent):
            raise BadData(f"record {entries[0].record.id} names an agent that can be none")
    for number, entry in enumerate(entries[1:], 1):
        yield number, chain
        chain = chain.apply(entry.record)


def _note_facts(facts: _Facts, record: Record) -> None:
    facts.bypasses += ((kind, record) for kind in bypasses_of(record))
    payload = record.payload
    if isinstance(payload, Start | Snapshot) and payload.attest is not None and not payload.attest.strip():
        facts.unexplained.append(record)
    if isinstance(payload, Resolve) and not (payload.note or "").strip():
        facts.unexplained.append(record)
    if record.unknown:
        facts.newer.append(record)
    if record.type == "rebase":
        facts.moved = record.seq
    if record.type == "qa":
        facts.runs.append(record)


def _against(
    chain: Chain, record: Record, facts: _Facts, policy: Policy, agents: tuple[str, ...] | None
) -> Iterator[Reason]:
    """Yield what stands against a chain at the point where it says that a commit is the task's."""
    if agents is not None and chain.agents != agents:
        yield Reason(
            Code.AGENTS_DIFFER, f"the chain is {', '.join(chain.agents)}; the policy names {', '.join(agents)}"
        )
    wanted = "validated" if record.type != "part" else policy.commit.require
    if wanted == "validated":
        yield from _not_validated(chain)
    for finding in chain.open_findings:
        yield Reason(Code.FINDING_OPEN, cut(f"finding {finding.id} by {finding.by} is open: {finding.text}"))
    for agent, seat in chain.seats.items():
        if seat.budget > policy.drift.allowance:
            yield Reason(Code.BUDGET_OPEN, f"drift after {agent}'s snapshot is unresolved (drift budget {seat.budget})")
    for one in facts.unexplained:
        yield Reason(Code.NO_NOTE, f"record {one.id} ({one.type}) does not say why", one.id)
    yield from _edits(chain, policy)
    if policy.qa.require and wanted == "validated":
        yield from _qa(chain, facts.runs)
    expected = chain.expected
    if record.type != "part" and expected is not None and record.commit_tree != expected.commit_tree:
        yield Reason(Code.TREE_DIFFERS, f"record {record.id} names another tree than was validated", record.id)


def _bypassed(chain: Chain, facts: _Facts, policy: Policy) -> Iterator[Bypass]:
    """Yield what was bypassed and is not tolerated; a commit that the chain does not rest on may have been undone."""
    rests_on = {chain.base, chain.parent, *(part.commit for part in chain.parts)}
    for kind, one in facts.bypasses:
        if kind in policy.commit.allow_bypass:
            continue
        reason = Reason(Code.BYPASS, cut(f"{kind}, by {one.actor} at {one.time}"), one.id)
        if kind != NO_VERIFY or one.type != "bypass" or one.commit in rests_on:
            yield Bypass(reason)
        else:
            yield Bypass(reason, one.commit, one.seq < facts.moved)


def _not_validated(chain: Chain) -> Iterator[Reason]:
    for agent in chain.agents:
        seat = chain.seats[agent]
        if seat.done_tree is None:
            yield Reason(Code.NOT_DONE, f"{agent} has not approved")
        elif seat.stale:
            yield Reason(Code.STALE, f"{agent} approved the tree {seat.done_tree[:12]}, which was replaced")
    if chain.at_work or chain.owner != chain.agents[-1] or chain.expected is None:
        what = "is at work" if chain.at_work else "owns the tree"
        yield Reason(Code.NOT_DONE, f"{chain.owner} {what}, so the last approval does not stand")
    elif chain.owner_seat.done_tree not in (None, chain.expected.tree):
        yield Reason(Code.STALE, f"{chain.owner} approved another tree than its last snapshot")


def _edits(chain: Chain, policy: Policy) -> Iterator[Reason]:
    """Yield approvals that the policy does not let count: of one's own edits, or by whoever edited before."""
    editors: dict[str, str] = {}
    for agent in chain.agents:
        seat = chain.seats[agent]
        edited = seat.done_tree is not None and seat.last is not None and seat.last.edits
        if edited and not policy.may_edit(agent, chain.agents):
            yield Reason(Code.EDITED_BY, f"{agent} edited the tree that it approved")
        if policy.chain.distinct_actors and seat.actor is not None and seat.actor in editors:
            yield Reason(Code.SAME_ACTOR, cut(f"{seat.actor} edited as {editors[seat.actor]} and acted as {agent}"))
        for taken in seat.snapshots:
            if taken.edits:
                editors.setdefault(taken.actor, agent)


def _qa(chain: Chain, records: Sequence[Record]) -> Iterator[Reason]:
    """Yield what QA waits for: of each of the task's commands the last run on the validated tree must have passed.

    Where no record names the commands, as before they did, some run must have, and none on that tree have failed.
    """
    expected = chain.expected
    if expected is None:
        return
    last = {run.key: run for run in chain.runs if run.tree == expected.tree}
    for command in missing_runs(chain.runs, chain.commands or (), expected.tree):
        run = last.get(command)
        if run is None:
            what = f"no run of {command}" if chain.commands else "no QA result"
            yield Reason(Code.QA_MISSING, cut(f"{what} is on record for the validated tree"))
        else:
            mine = (one.id for one in reversed(records) if (one.agent, one.time) == (run.agent, run.at))
            yield Reason(Code.QA_FAILED, cut(f"{command}: {run.status}"), next(mine, None))


def _tolerated(facts: _Facts, policy: Policy) -> Iterator[Reason]:
    for kind, record in facts.bypasses:
        if kind in policy.commit.allow_bypass:
            yield Reason(Code.BYPASS_ALLOWED, cut(f"{kind}, by {record.actor} at {record.time}"), record.id)
    for record in facts.newer[:SHOWN]:
        names = ", ".join(record.unknown)
        yield Reason(Code.UNKNOWN_FIELDS, cut(f"record {record.id} ({record.type}): {names}"), record.id)
