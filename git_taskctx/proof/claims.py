"""Read the records in a note, which anybody with push rights may have written.

Nothing is believed before the hash chain holds and the fold accepts it. Whatever cannot be read, is too large or cannot
follow becomes a reason; nothing stops the proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from git_taskctx.errors import BadData
from git_taskctx.lean import regex
from git_taskctx.ledger.chain import Chain, bypasses_of, fold
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.forks import follow_all
from git_taskctx.ledger.rules import refuse_actor, refuse_record
from git_taskctx.limits import (
    BYPASSES_LIMIT,
    CHAIN_LIMIT,
    CLAIMS_LIMIT,
    NOTE_LIMIT,
    REASONS_LIMIT,
    RECORD_LIMIT,
    RECORDS_LIMIT,
)
from git_taskctx.model.oids import CommitOid, TreeOid, is_agent_name, is_context_id, is_oid, is_task_id
from git_taskctx.model.payloads import Rebase, Resolve, Snapshot, Start
from git_taskctx.model.policy import NO_VERIFY, Policy
from git_taskctx.model.proof import Code, Reason
from git_taskctx.model.qa import missing_runs
from git_taskctx.model.record import Record, load_record, record_id
from git_taskctx.model.values import dataclass, field
from git_taskctx.model.verdict import count_of

CUT = 200
"""Characters that a message takes from a note."""
SHOWN = 5
"""Records named because this version does not know some of their fields."""
CLAIMS = ("seal", "adopt", "part")
"""Types of records that are about a commit of the task."""
_TIME = regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class ForbiddenBypass:
    """A bypassed check that policy does not allow."""

    reason: Reason
    commit: CommitOid | None = None
    """The commit that bypassed the gate, which counts if it is in the history under proof. None: it always counts."""
    moved: bool = False
    """True when `git.parent` has moved since."""


@dataclass(frozen=True)
class Claim:
    """What a chain claims about one commit: that it belongs to the task, and which tree it must have."""

    record: Record
    tree: TreeOid
    parent: CommitOid | None
    chain: Chain | None
    """The chain before this record; None where it could not be folded."""
    parts: tuple[Claim, ...] = ()
    """The claims about the task's earlier commits."""
    reasons: tuple[Reason, ...] = ()
    """What is wrong with the chain at this point."""
    notices: tuple[Reason, ...] = ()
    around: tuple[ForbiddenBypass, ...] = ()
    """Bypassing commits whose place in the history does not follow from the records."""
    handed: tuple[tuple[Record, TreeOid], ...] = ()
    """Starts on a tree other than the one left, perhaps because of volatile keys alone; with the tree left."""
    trusted: bool = True
    """True when the author of the record may approve, so that it is believed about objects missing here."""

    @property
    def is_part(self) -> bool:
        """True when the commit does not end the task."""
        return self.record.type == "part"

    @property
    def rests_on(self) -> Iterator[Claim]:
        """The parts between this commit and where the task began, newest first."""
        said = {part.record.commit: part for part in self.parts}
        at = self.parent
        for part in reversed(self.chain.parts if self.chain is not None else ()):
            if part.commit == at and at in said:
                yield said[at]
                at = part.parent


@dataclass(frozen=True)
class RecordedContext:
    """The records of one context."""

    context: str
    task: str
    entries: tuple[Entry, ...]
    claims: tuple[Claim, ...]
    reasons: tuple[Reason, ...] = ()
    """What is wrong with the whole chain."""


@dataclass(frozen=True)
class Note:
    """Everything found in one note."""

    contexts: tuple[RecordedContext, ...] = ()
    foreign: int = 0
    """Lines that are not records, or that lack a required signature."""
    reasons: tuple[Reason, ...] = ()


@dataclass
class NoteLines:
    """The lines of a note and other records of the same contexts, not yet judged."""

    contexts: dict[str, list[Entry]] = field(default_factory=dict)
    beside: dict[str, list[Entry]] = field(default_factory=dict)
    """Records of these contexts outside the note: other sides of forks, and later records."""
    foreign: int = 0
    newer: Reason | None = None
    wrong: Reason | None = None
    """Why the note was not read."""
    _size: int = 0

    @property
    def entries(self) -> Iterator[Entry]:
        for some in (*self.contexts.values(), *self.beside.values()):
            yield from some

    def count(self, context: str) -> int:
        return len(self.contexts.get(context, ())) + len(self.beside.get(context, ()))

    def add_beside(self, context: str, lines: Sequence[str] | Reason) -> None:
        """Add records of a context that are stored elsewhere, or the reason why they cannot be read.

        Known records and records of other contexts are skipped.
        """
        if isinstance(lines, Reason):
            self.wrong = lines
        if self.wrong is not None or isinstance(lines, Reason):
            return
        known = {entry.line for entry in (*self.contexts.get(context, ()), *self.beside.get(context, ()))}
        new = [line for line in dict.fromkeys(lines) if line not in known]
        self._size += sum(map(len, new))
        if len(known) + len(new) > CHAIN_LIMIT or self._size > NOTE_LIMIT:
            what = f"the context {context} has more than {CHAIN_LIMIT} records, or {NOTE_LIMIT} bytes of them"
            self.wrong = Reason(Code.TOO_LARGE, what)
            return
        for line in new:
            record = self._read(line)
            if record is not None and record.context == context:
                self.beside.setdefault(context, []).append(Entry(record, line))

    def _read(self, line: str) -> Record | None:
        try:
            return _load(line)
        except BadData as error:
            self.foreign += 1
            if error.hint:
                self.newer = Reason(Code.RECORD_NEWER, cut(error.message))
            return None

    @classmethod
    def read(cls, lines: Sequence[str]) -> NoteLines:
        """Group the lines of a note by context."""
        found = cls()
        if len(lines) > RECORDS_LIMIT:
            what = f"the note has {len(lines)} lines, more than {RECORDS_LIMIT}"
            return cls(wrong=Reason(Code.TOO_LARGE, what))
        for line in lines:
            record = found._read(line)
            if record is not None:
                found.contexts.setdefault(record.context, []).append(Entry(record, line))
        for context, entries in found.contexts.items():
            if len(entries) > CHAIN_LIMIT:
                what = f"the context {context} has {len(entries)} records, more than {CHAIN_LIMIT}"
                found.wrong = Reason(Code.TOO_LARGE, what)
        return found


class Trust:
    """Whose records count: everybody's, unless signatures are required."""

    def check(self, entries: Iterable[Entry]) -> None:
        """Check many records at once."""

    def is_sound(self, entry: Entry) -> bool:
        """Return whether a record counts."""
        return True

    def names_of(self, record: Record, line: str) -> tuple[str, ...]:
        """Return the names and keys by which the actor of a record is known, besides the recorded name."""
        return ()

    def without_copies(self, entries: list[Entry]) -> list[Entry]:
        """Return records without those that merely copy another one."""
        return entries


@dataclass
class _Facts:
    """Events in a chain that its last state does not show."""

    bypasses: list[tuple[str, Record, Reason]] = field(default_factory=list)
    moved: int = 0
    """Number of the last record that may have moved `git.parent`."""
    unexplained: list[Record] = field(default_factory=list)
    newer: list[Record] = field(default_factory=list)
    """Records with fields that this version does not know."""
    runs: list[Record] = field(default_factory=list)


def read_claims(lines: Sequence[str], policy: Policy, agents: tuple[str, ...] | None) -> Note:
    """Judge every chain in a note; `agents` are those that a chain must have, None for any."""
    return judge_lines(NoteLines.read(lines), policy, agents, Trust())


def judge_lines(lines: NoteLines, policy: Policy, agents: tuple[str, ...] | None, trust: Trust) -> Note:
    """Judge every chain that a note has records of, each with all its known records.

    Records that `trust` rejects are left out if the others form the chain asked about; otherwise they are judged too,
    to report what is wrong with them.
    """
    if lines.wrong is not None:
        return Note(reasons=(lines.wrong,))
    contexts, foreign = list[RecordedContext](), lines.foreign
    for context, mine in lines.contexts.items():
        whole = sorted((*mine, *lines.beside.get(context, ())), key=_place)
        near = {entry.line for entry in mine}
        sound = trust.without_copies([entry for entry in whole if trust.is_sound(entry)])
        judged = _Judge(policy, agents, trust, near).judge(sound) if sound else None
        if len(sound) < len(whole) and (judged is None or all(claim.chain is None for claim in judged.claims)):
            judged, sound = _Judge(policy, agents, trust, near).judge(whole), whole
        foreign += len(whole) - len(sound)
        contexts += [judged] if judged is not None else []
    return Note(tuple(contexts), foreign, (lines.newer,) if lines.newer is not None else ())


def cut(text: str) -> str:
    """Return text from a note as one line of limited length."""
    line = " ".join(text.split())
    return line if len(line) <= CUT else line[: CUT - 1] + "…"


def _load(line: str) -> Record:
    """Read a record of acceptable size. Raises: BadData."""
    if len(line) > RECORD_LIMIT:
        raise BadData(f"a record has more than {RECORD_LIMIT} characters")
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


class _Judge:
    """Judges the records of one context."""

    def __init__(self, policy: Policy, agents: tuple[str, ...] | None, trust: Trust, near: Collection[str]) -> None:
        self._policy, self._agents, self._trust = policy, agents, trust
        self._near = near
        """The lines of the judged note; records after the last of them are only known from elsewhere."""
        self._editors: dict[str, dict[str, str]] = {}
        """Who edited in each seat, by names and keys."""
        self._at_work: dict[str, dict[str, str]] = {}
        """Who last worked in each seat."""
        self._handed: list[tuple[Record, TreeOid]] = []
        self._moves: list[Record] = []
        """Records that moved `git.parent`."""
        self._objections: list[tuple[Record, Reason]] = []
        """Records that the chain does not allow, and why."""

    def judge(self, entries: list[Entry]) -> RecordedContext:
        """Follow the chain as far as it holds, and judge each record about a commit at its place."""
        first = entries[0].record
        if sum(entry.record.type in CLAIMS for entry in entries) > CLAIMS_LIMIT:
            wrong = (Reason(Code.TOO_LARGE, f"the records name more than {CLAIMS_LIMIT} commits"),)
            return RecordedContext(first.context, first.task, tuple(entries), (), wrong)
        path, end, stop = self._follow(entries)
        states, odd = self._fold(path[:end])
        if odd is not None:
            end, stop = odd
        asked = max((place for place, entry in enumerate(path) if entry.line in self._near), default=len(path) - 1)
        if end > asked:  # what came later is wrong, and takes nothing from what was before
            path, stop = path[: asked + 1], None
        claims = tuple(self._claims(path, states, end, stop))
        return RecordedContext(
            first.context, first.task, tuple(path), claims, (stop,) if stop is not None and not claims else ()
        )

    def _follow(self, entries: list[Entry]) -> tuple[list[Entry], int, Reason | None]:
        """Return the records in order, how many of them are undisputed, and what is wrong with the rest."""
        try:
            sides = follow_all(entries)
        except BadData:
            return entries, 0, next(_gaps(entries))
        if sides.undecided is None:
            return sides.path, len(sides.path), None
        held = sides.path[: sides.undecided]
        known = {entry.line for entry in held}
        rest = [entry for entry in entries if entry.line not in known]
        count = sum(entry.record.prev == rest[0].record.prev for entry in rest)
        fork = f"{count} records follow the same one, {held[-1].record.id if held else 'none'}; nobody said which holds"
        return [*held, *rest], len(held), Reason(Code.FORK, fork)

    def _fold(self, path: Sequence[Entry]) -> tuple[dict[int, Chain], tuple[int, Reason] | None]:
        """Return the chain before each record about a commit, and the first record at which it breaks."""
        states: dict[int, Chain] = {}
        form = _Form()
        chain: Chain | None = None
        for number, entry in enumerate(path):
            record = entry.record
            if (odd := form.against(record)) is not None:
                return states, (number, odd)
            try:
                if chain is None:
                    chain = _begin(record)
                else:
                    self._note_objection(chain, entry)
                    if _is_handed_another(chain, record):
                        self._handed.append((record, chain.settled_tree))
                    if _moves_parent(chain, record):
                        self._moves.append(record)
                    if record.type in CLAIMS:
                        states[number] = chain
                    chain = chain.apply(record)
            except BadData as error:
                return states, (number, Reason(Code.RECORD_BAD, cut(error.message)))
            self._note_edit(chain, entry)
        return states, None

    def _note_edit(self, chain: Chain, entry: Entry) -> None:
        record, agent = entry.record, entry.record.agent or chain.owner
        names = dict.fromkeys((record.actor, *self._trust.names_of(record, entry.line)), record.actor)
        last = chain.seats[agent].last if record.type == "snapshot" else None
        if last is not None and last.edits:
            others = self._at_work.get(agent, {}) if last.takeover else {}
            self._editors.setdefault(agent, {}).update(names | others)
        if isinstance(record.payload, Start) or (last is not None and not last.takeover and not last.accepted):
            self._at_work[agent] = names

    def _note_objection(self, chain: Chain, entry: Entry) -> None:
        record = entry.record
        who = self._trust.names_of(record, entry.line)
        if record.agent is not None and record.agent not in chain.seats:  # which the chain itself refuses
            return
        refused = refuse_record(chain, record, self._policy, who=who, editors=self._editors)
        if refused is not None and len(self._objections) < REASONS_LIMIT:
            self._objections.append((record, Reason(refused.code, cut(refused.text), record.id)))

    def _claims(
        self, path: Sequence[Entry], states: Mapping[int, Chain], end: int, stop: Reason | None
    ) -> Iterator[Claim]:
        """Yield the claims about commits; where the chain breaks, with that reason alone."""
        facts, parts = _Facts(), list[Claim]()
        for number, entry in enumerate(path):
            record = entry.record
            _note_facts(facts, record)
            if record.type not in CLAIMS or record.commit is None or record.commit_tree is None:
                continue
            chain = states.get(number) if number < end else None
            if chain is None:
                claim = Claim(record, record.commit_tree, None, None, (), (stop,) if stop is not None else ())
            elif len(facts.bypasses) > BYPASSES_LIMIT:
                wrong = Reason(Code.TOO_LARGE, f"the records name more than {BYPASSES_LIMIT} bypasses")
                claim = Claim(record, record.commit_tree, None, None, (), (wrong,))
            else:
                claim = self._claim(entry, chain, facts, tuple(parts))
            yield claim
            if claim.is_part:
                parts.append(claim)

    def _claim(self, entry: Entry, chain: Chain, facts: _Facts, parts: tuple[Claim, ...]) -> Claim:
        record, who = entry.record, (entry.record.actor, *self._trust.names_of(entry.record, entry.line))
        around = tuple(_bypassed(chain, facts, self._policy))
        snapshot = chain.expected.seq if chain.expected is not None else 0
        moved = next((one for one in reversed(self._moves) if one.seq < record.seq), None)
        state = list(itertools.islice(_against(chain, record, facts, self._policy, self._agents), REASONS_LIMIT))
        known = {reason.code for reason in state}
        acts = {(one.code, one.message): one for one in self._refused(record) if one.code not in known}
        if moved is not None and moved.seq > snapshot:
            what = "what the task's commit must sit on moved after the last snapshot: nobody approved the tree there"
            state.append(Reason(Code.OUT_OF_TURN, what, moved.id))
        reasons = [*acts.values(), *state, *(one.reason for one in around if one.commit is None)]
        return Claim(
            record,
            record.commit_tree or chain.settled_tree,
            chain.parent,
            chain,
            parts,
            tuple(dict.fromkeys(reasons))[:REASONS_LIMIT],
            tuple(itertools.islice(_tolerated(chain, record, facts, self._policy), REASONS_LIMIT)),
            tuple(one for one in around if one.commit is not None),
            tuple(one for one in self._handed if one[0].seq < record.seq),
            refuse_actor(chain, chain.agents[-1], who, self._policy, self._editors) is None,
        )

    def _refused(self, claim: Record) -> Iterator[Reason]:
        """Yield what was done before a claim though the chain forbids it, unless a later record resolved it."""
        for record, reason in self._objections:
            payload = record.payload
            if record.seq < claim.seq or (isinstance(payload, Resolve) and payload.holds is not None):
                yield reason


def _gaps(entries: Sequence[Entry]) -> Iterator[Reason]:
    """Yield where a hash chain first breaks: a record is missing, or one was edited."""
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


class _Form:
    """The form that records must have, one after the other, even if their hashes match."""

    def __init__(self) -> None:
        self._last, self._task = "", ""
        self._known: set[str | None] = set()

    def against(self, record: Record) -> Reason | None:
        """Return what is wrong with the form of the next record."""
        self._task = self._task or record.task
        if not _TIME.fullmatch(record.time) or record.id != record_id(record.time, record.context, record.seq):
            return Reason(Code.RECORD_BAD, f"record {cut(record.id)} has another id than its time and number give")
        if record.task != self._task:
            return Reason(Code.RECORD_BAD, f"record {record.id} is of another task, {record.task}", record.id)
        oids = {record.base, record.tree, record.commit_tree, record.commit} - self._known
        self._known |= oids
        if not all(is_oid(oid) for oid in oids if oid is not None):
            return Reason(Code.RECORD_BAD, f"record {record.id} names an object that can be none", record.id)
        if record.time < self._last:
            return Reason(Code.ORDER, f"record {record.id} is older than the one before", record.id)
        self._last = record.time
        return None


def _begin(record: Record) -> Chain:
    """Return the chain that begins with a record. Raises: BadData."""
    chain = fold([record])
    for agent in chain.agents:
        if not is_agent_name(agent):
            raise BadData(f"record {record.id} names an agent that can be none")
    return chain


def _moves_parent(chain: Chain, record: Record) -> bool:
    """Return whether a record moves `git.parent`, other than below a part that is amended."""
    payload = record.payload
    if not isinstance(payload, Rebase) or payload.parent == chain.parent:
        return False
    return not (payload.amended and chain.parts and payload.parent == chain.parts[-1].parent)


def _is_handed_another(chain: Chain, record: Record) -> bool:
    """Return whether a start records another tree than the one that was left."""
    payload = record.payload
    named = isinstance(payload, Start) and not payload.resume and record.tree is not None
    return named and record.tree != chain.settled_tree


def _note_facts(facts: _Facts, record: Record) -> None:
    for kind in bypasses_of(record):
        reason = Reason(Code.BYPASS, cut(f"{kind}, by {record.actor} at {record.time}"), record.id)
        facts.bypasses.append((kind, record, reason))
    payload = record.payload
    if isinstance(payload, Start | Snapshot) and payload.attest is not None and not payload.attest.strip():
        facts.unexplained.append(record)
    if isinstance(payload, Resolve) and not (payload.note or "").strip():
        facts.unexplained.append(record)
    if record.unknown:
        facts.newer.append(record)
    if isinstance(payload, Rebase):
        facts.moved = record.seq
    if record.type == "qa":
        facts.runs.append(record)


def _against(
    chain: Chain, record: Record, facts: _Facts, policy: Policy, agents: tuple[str, ...] | None
) -> Iterator[Reason]:
    """Yield what is wrong with a chain at the point where it claims a commit."""
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
            yield Reason(Code.BUDGET_OPEN, f"{count_of(seat.budget, policy.drift.allowance)} since {agent}'s snapshot")
    for one in facts.unexplained:
        yield Reason(Code.NO_NOTE, f"record {one.id} ({one.type}) does not say why", one.id)
    yield from _edits(chain, policy)
    if policy.qa.require and wanted == "validated":
        yield from _qa(chain, facts.runs)
    expected = chain.expected
    if record.type != "part" and expected is not None and record.commit_tree != expected.commit_tree:
        yield Reason(Code.TREE_DIFFERS, f"record {record.id} names another tree than was validated", record.id)


def _bypassed(chain: Chain, facts: _Facts, policy: Policy) -> Iterator[ForbiddenBypass]:
    """Yield bypasses that policy does not allow; a commit that the chain does not rest on may have been undone."""
    rests_on = {chain.base, chain.parent, *(part.commit for part in chain.parts)}
    for kind, one, reason in facts.bypasses:
        if kind in policy.commit.allow_bypass:
            continue
        if kind != NO_VERIFY or one.type != "bypass" or one.commit in rests_on:
            yield ForbiddenBypass(reason)
        else:
            yield ForbiddenBypass(reason, one.commit, one.seq < facts.moved)


def _not_validated(chain: Chain) -> Iterator[Reason]:
    for agent in chain.agents:
        seat = chain.seats[agent]
        if seat.done_tree is None:
            yield Reason(Code.NOT_DONE, f"{agent} has not approved")
        elif seat.stale:
            yield Reason(Code.STALE, f"{agent} approved the tree {seat.done_tree[:12]}, which was replaced")
    if chain.at_work or chain.owner != chain.agents[-1] or chain.expected is None:
        what = "is at work" if chain.at_work else "owns the tree"
        yield Reason(Code.NOT_DONE, f"{chain.owner} {what}, so the last approval does not hold")
    elif chain.owner_seat.done_tree not in (None, chain.expected.tree):
        yield Reason(Code.STALE, f"{chain.owner} approved another tree than its last snapshot")


def _edits(chain: Chain, policy: Policy) -> Iterator[Reason]:
    """Yield approvals of one's own edits where policy forbids them."""
    for agent in chain.agents:
        seat = chain.seats[agent]
        edited = seat.done_tree is not None and seat.last is not None and seat.last.edits
        if edited and not policy.may_edit(agent, chain.agents):
            yield Reason(Code.EDITED_BY, f"{agent} edited the tree that it approved")


def _qa(chain: Chain, records: Sequence[Record]) -> Iterator[Reason]:
    """Yield missing QA: the last run of each of the task's commands on the validated tree must have passed.

    Where no record names commands (older versions), some run must have passed and none failed on that tree.
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


def _tolerated(chain: Chain, claim: Record, facts: _Facts, policy: Policy) -> Iterator[Reason]:
    """Yield notices about a chain."""
    for kind, record, reason in facts.bypasses:
        if kind in policy.commit.allow_bypass:
            yield Reason(Code.BYPASS_ALLOWED, reason.message, record.id)
    for change in chain.expected.hidden if chain.expected is not None and claim.type != "part" else ():
        what = f"{cut(change.path)}: {cut(change.kind)} when it was approved; no tree shows that"
        yield Reason(Code.NOT_IN_TREE, what, claim.id)
    for record in facts.newer[:SHOWN]:
        names = ", ".join(record.unknown)
        yield Reason(Code.UNKNOWN_FIELDS, cut(f"record {record.id} ({record.type}): {names}"), record.id)
