"""What a note says, read as what it is: text that anybody with push rights can have written.

Nothing in it is believed before the chain of hashes holds and the fold accepts it, and nothing in it stops the proof:
what does not read, is too large, or cannot follow becomes a reason.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from git_taskctx.errors import BadData
from git_taskctx.ledger.chain import Chain, bypasses_of, fold
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.forks import follow_all
from git_taskctx.ledger.rules import refuse_actor, refuse_record
from git_taskctx.model.oids import CommitOid, TreeOid, is_agent_name, is_context_id, is_oid, is_task_id
from git_taskctx.model.payloads import Rebase, Resolve, Snapshot, Start
from git_taskctx.model.policy import NO_VERIFY, Policy
from git_taskctx.model.proof import Code, Reason
from git_taskctx.model.qa import missing_runs
from git_taskctx.model.record import Record, load_record, record_id
from git_taskctx.model.values import dataclass, field
from git_taskctx.model.verdict import count_of

NOTE_LIMIT = 8 * 1024 * 1024
"""Bytes of a note; a task of a thousand records has one."""
LINE_LIMIT = 1024 * 1024
"""Characters of a record."""
RECORDS_LIMIT = 20_000
"""Records of a note."""
CHAIN_LIMIT = 5_000
"""Records of a context: adding them up takes time that grows with its square."""
BYPASSES_LIMIT = 250
"""Bypasses of a task: each may be in the history of each of its commits."""
REASONS_LIMIT = 50
"""Reasons, and notices, that one claim gives."""
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
class ForbiddenBypass:
    """A check that was bypassed in a way that policy leaves out."""

    reason: Reason
    commit: CommitOid | None = None
    """The commit that bypassed the gate: it counts where it is in the history of what is proved. None: anywhere."""
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
    parts: tuple[Claim, ...] = ()
    """What is said of the task's commits before this one."""
    reasons: tuple[Reason, ...] = ()
    """What stands against the chain at this point."""
    notices: tuple[Reason, ...] = ()
    around: tuple[ForbiddenBypass, ...] = ()
    """Commits that bypassed the gate, and that the records alone do not place in the history of this one."""
    handed: tuple[tuple[Record, TreeOid], ...] = ()
    """Starts with another tree than was left, which could be so for keys of the task file alone, and that tree."""
    vouched: bool = True
    """True when who wrote the record may approve, so that its word holds for what cannot be read here."""

    @property
    def is_part(self) -> bool:
        """True when the commit does not end the task."""
        return self.record.type == "part"

    @property
    def rests_on(self) -> Iterator[Claim]:
        """The parts between this commit and what the task began on, the last one first."""
        said = {part.record.commit: part for part in self.parts}
        at = self.parent
        for part in reversed(self.chain.parts if self.chain is not None else ()):
            if part.commit == at and at in said:
                yield said[at]
                at = part.parent


@dataclass(frozen=True)
class RecordedContext:
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

    told: tuple[RecordedContext, ...] = ()
    foreign: int = 0
    """Lines that are no records, or that nobody signed who may where records must be signed."""
    reasons: tuple[Reason, ...] = ()
    """What is wrong with the note as a whole."""


@dataclass
class NoteLines:
    """The lines of a note, and what lies elsewhere about the same contexts; nothing of it is judged yet."""

    contexts: dict[str, list[Entry]] = field(default_factory=dict)
    beside: dict[str, list[Entry]] = field(default_factory=dict)
    """Records of these contexts that are not in the note: the sides of forks, and what came later."""
    foreign: int = 0
    newer: Reason | None = None
    wrong: Reason | None = None
    """Why none of it is read."""
    _size: int = 0

    @property
    def entries(self) -> Iterator[Entry]:
        """Every record."""
        for some in (*self.contexts.values(), *self.beside.values()):
            yield from some

    def count(self, context: str) -> int:
        """Return how many records of a context are known."""
        return len(self.contexts.get(context, ())) + len(self.beside.get(context, ()))

    def add_beside(self, context: str, lines: Sequence[str] | Reason) -> None:
        """Add records of a context that lie elsewhere; what is known, or of another context, is left out.

        A reason is why they do not read.
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
        """Sort the lines of a note by the contexts that they are about."""
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
    """Whose records count: everybody's, where no signatures are asked for."""

    def check(self, entries: Iterable[Entry]) -> None:
        """Look at all that must be looked at of many records, at once."""

    def is_sound(self, entry: Entry) -> bool:
        """Return whether a record counts at all."""
        return True

    def names_of(self, record: Record, line: str) -> tuple[str, ...]:
        """Return by what, beside the name that it gives itself, the actor of a record is known."""
        return ()

    def without_copies(self, entries: list[Entry]) -> list[Entry]:
        """Return records without what anybody can make of one of them."""
        return entries


@dataclass
class _Facts:
    """What a chain did on its way, that its last state does not show."""

    bypasses: list[tuple[str, Record, Reason]] = field(default_factory=list)
    moved: int = 0
    """Number of the last record that may have moved the commit that the task's commit sits on."""
    unexplained: list[Record] = field(default_factory=list)
    newer: list[Record] = field(default_factory=list)
    """Records with fields that this version does not know."""
    runs: list[Record] = field(default_factory=list)


def read_claims(lines: Sequence[str], policy: Policy, agents: tuple[str, ...] | None) -> Note:
    """Judge every chain in a note by `policy`; `agents` are those that a chain must have, None where any will do."""
    return judge_lines(NoteLines.read(lines), policy, agents, Trust())


def judge_lines(lines: NoteLines, policy: Policy, agents: tuple[str, ...] | None, trust: Trust) -> Note:
    """Judge every chain of which a note has records, each with all that is known of it.

    Records that do not count by `trust` are left out where those that do count make the chain that is asked about;
    else they are judged as well, so that it can be said what is wrong with them.
    """
    if lines.wrong is not None:
        return Note(reasons=(lines.wrong,))
    told, foreign = list[RecordedContext](), lines.foreign
    for context, mine in lines.contexts.items():
        whole = sorted((*mine, *lines.beside.get(context, ())), key=_place)
        near = {entry.line for entry in mine}
        sound = trust.without_copies([entry for entry in whole if trust.is_sound(entry)])
        judged = _Judge(policy, agents, trust, near).judge(sound) if sound else None
        if len(sound) < len(whole) and (judged is None or all(claim.chain is None for claim in judged.claims)):
            judged, sound = _Judge(policy, agents, trust, near).judge(whole), whole
        foreign += len(whole) - len(sound)
        told += [judged] if judged is not None else []
    return Note(tuple(told), foreign, (lines.newer,) if lines.newer is not None else ())


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


class _Judge:
    """Judges the records of one context."""

    def __init__(self, policy: Policy, agents: tuple[str, ...] | None, trust: Trust, near: Collection[str]) -> None:
        self._policy, self._agents, self._trust = policy, agents, trust
        self._near = near
        """The lines of the note that is judged; what comes after the last of them is only known besides."""
        self._editors: dict[str, dict[str, str]] = {}
        """Who edited in which seat, by names and keys."""
        self._at_work: dict[str, dict[str, str]] = {}
        """Who sat last in which seat."""
        self._handed: list[tuple[Record, TreeOid]] = []
        self._moves: list[Record] = []
        """Records that moved what the task's commit must sit on."""
        self._objections: list[tuple[Record, Reason]] = []
        """Records that the chain does not let follow, with why."""

    def judge(self, entries: list[Entry]) -> RecordedContext:
        """Follow the chain as far as it holds, and judge each record that is about a commit at its place."""
        first = entries[0].record
        if sum(entry.record.type in CLAIMS for entry in entries) > CLAIMS_LIMIT:
            wrong = (Reason(Code.TOO_LARGE, f"the records tell of more than {CLAIMS_LIMIT} commits"),)
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
        """Return the records in their order, how many of them nobody contests, and what is wrong with the others."""
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
        """Return the chain before each record that is about a commit, and from which record on it does not hold."""
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
        """Yield what the records say of commits; where the chain does not hold, with the reason for that alone."""
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
                wrong = Reason(Code.TOO_LARGE, f"the records tell of more than {BYPASSES_LIMIT} bypasses")
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
        """Yield what was done up to a claim that the chain does not let be done, and later which side was chosen."""
        for record, reason in self._objections:
            payload = record.payload
            if record.seq < claim.seq or (isinstance(payload, Resolve) and payload.holds is not None):
                yield reason


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


class _Form:
    """What records whose hashes hold must still look like, one after the other."""

    def __init__(self) -> None:
        self._last, self._task = "", ""
        self._known: set[str | None] = set()

    def against(self, record: Record) -> Reason | None:
        """Return what is odd about the next record; None where nothing is."""
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
    """Return whether a record moves what the task's commit must sit on, but for below a part that is made again."""
    payload = record.payload
    if not isinstance(payload, Rebase) or payload.parent == chain.parent:
        return False
    return not (payload.amended and chain.parts and payload.parent == chain.parts[-1].parent)


def _is_handed_another(chain: Chain, record: Record) -> bool:
    """Return whether whoever starts says that it was handed another tree than the one that was left."""
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
    """Yield what was bypassed and is not tolerated; a commit that the chain does not rest on may have been undone."""
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
        yield Reason(Code.NOT_DONE, f"{chain.owner} {what}, so the last approval does not stand")
    elif chain.owner_seat.done_tree not in (None, chain.expected.tree):
        yield Reason(Code.STALE, f"{chain.owner} approved another tree than its last snapshot")


def _edits(chain: Chain, policy: Policy) -> Iterator[Reason]:
    """Yield approvals of one's own edits, where the policy does not let them count."""
    for agent in chain.agents:
        seat = chain.seats[agent]
        edited = seat.done_tree is not None and seat.last is not None and seat.last.edits
        if edited and not policy.may_edit(agent, chain.agents):
            yield Reason(Code.EDITED_BY, f"{agent} edited the tree that it approved")


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


def _tolerated(chain: Chain, claim: Record, facts: _Facts, policy: Policy) -> Iterator[Reason]:
    """Yield what is to be known of a chain, and does not count."""
    for kind, record, reason in facts.bypasses:
        if kind in policy.commit.allow_bypass:
            yield Reason(Code.BYPASS_ALLOWED, reason.message, record.id)
    for change in chain.expected.hidden if chain.expected is not None and claim.type != "part" else ():
        what = f"{cut(change.path)}: {cut(change.kind)} when it was approved; no tree shows that"
        yield Reason(Code.NOT_IN_TREE, what, claim.id)
    for record in facts.newer[:SHOWN]:
        names = ", ".join(record.unknown)
        yield Reason(Code.UNKNOWN_FIELDS, cut(f"record {record.id} ({record.type}): {names}"), record.id)
