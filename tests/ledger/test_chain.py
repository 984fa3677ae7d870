"""The chain: the table of handoffs, approval bound to a tree, budgets and findings.

First as a pure fold over records, then row by row through `start` and `snapshot` over a real worktree.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gitrepo import GitRepo
from prepared import fill

from git_taskctx.config import load_config
from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Session
from git_taskctx.errors import BadData, Refused, Usage
from git_taskctx.git.repository import open_repository
from git_taskctx.handoff.begin import InitRequest, begin
from git_taskctx.handoff.coordinate import block, unblock, update
from git_taskctx.handoff.record import record_snapshot
from git_taskctx.handoff.resolve import resolve_drift
from git_taskctx.handoff.snapshot import Options
from git_taskctx.handoff.start import Started, start
from git_taskctx.handoff.verify import verify
from git_taskctx.ledger.chain import Chain, fold
from git_taskctx.model.record import Record, record_id
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import CauseKind, Outcome
from git_taskctx.report.advice import advise
from git_taskctx.store import Store

CONTEXT = "00112233445566ff"
AGENTS = ("implementer", "reviewer", "validator")
CLEAN = "0" * 40


def record(kind: Any, agent: str | None, seq: int, **fields: Any) -> Record:
    """Build one record; what is no fixed field of records goes to `extra`."""
    time = f"2026-01-01T00:{seq:02}:00Z"
    fixed: dict[str, Any] = {
        name: fields.pop(name, None) for name in ("base", "tree", "commit_tree", "commit", "diff_sha")
    }
    return Record(
        id=record_id(time, CONTEXT, seq), v=1, type=kind, context=CONTEXT, task="TASK-1", agent=agent,
        actor=fields.pop("actor", "somebody"), time=time, seq=seq, context_sha="", prev=None, body=fields, **fixed,
    )  # fmt: skip


class Told:
    """A chain, told record by record."""

    def __init__(self, agents: Sequence[str] = AGENTS) -> None:
        self.chain = fold([record("init", agents[0], 1, tree=CLEAN, agents=list(agents))])
        self._numbers = itertools.count(2)

    def tell(self, kind: str, agent: str | None, **fields: Any) -> Chain:
        """Add one record."""
        self.chain = self.chain.apply(record(kind, agent, next(self._numbers), **fields))
        return self.chain

    def start(self, agent: str, **fields: Any) -> Chain:
        """Hand the tree over as it was left."""
        return self.tell("start", agent, **{"tree": self.chain.settled_tree, **fields})

    def resume(self, agent: str) -> Chain:
        """Have the owner go on."""
        return self.tell("start", agent, tree=self.chain.settled_tree, resume=True)

    def snapshot(self, agent: str, tree: str, **fields: Any) -> Chain:
        """Have an agent record a tree, named by one letter."""
        number = len(self.chain.seats[agent].snapshots) + 1
        return self.tell("snapshot", agent, tree=tree, commit_tree=tree, n=number, **fields)

    def validated(self) -> Chain:
        """Come to a validated tree `a`."""
        self.snapshot("implementer", "a")
        for agent in self.chain.agents[1:]:
            self.start(agent)
            self.snapshot(agent, "a", done=agent == self.chain.agents[-1])
        return self.chain


def done(chain: Chain) -> dict[str, str | None]:
    """Return which tree each agent approved; a stale approval has a question mark."""
    return {
        agent: seat.done_tree and seat.done_tree + ("?" if seat.stale else "") for agent, seat in chain.seats.items()
    }


# The fold


def test_init_counts_as_the_first_agents_start() -> None:
    """After `init` the first agent owns the tree and is at work, in its first round."""
    chain = Told().chain
    assert (chain.owner, chain.at_work, chain.previous_owner) == ("implementer", True, "init")
    assert {agent: chain.status_of(agent) for agent in AGENTS} == {
        "implementer": "in_progress",
        "reviewer": "pending",
        "validator": "pending",
    }
    assert [seat.rounds for seat in chain.seats.values()] == [1, 0, 0]
    assert chain.expected is None
    assert chain.settled_tree == CLEAN


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record("start", "implementer", 1, tree="a")],
        [record("init", "implementer", 1, agents=list(AGENTS))],
        [record("init", "implementer", 1, tree="a", agents=[])],
        [record("init", "implementer", 1, tree="a")],
        [record("init", "implementer", 1, tree="a", agents=["implementer", "../../reviewer"])],
        [record("init", "implementer", 1, tree="a", agents=["implementer", "reviewer\n## Now"])],
        [record("init", "implementer", 1, tree="a", agents=["implementer", "init"])],
        [record("init", "implementer", 1, tree="a", agents=["implementer", 1])],
    ],
    ids=["nothing", "a start", "no tree", "empty chain", "no chain", "a path", "a heading", "reserved", "a number"],
)
def test_a_ledger_begins_with_init(records: list[Record]) -> None:
    """What does not begin with a whole `init` record, with names that agents can have, is no ledger."""
    with pytest.raises(BadData):
        fold(records)


def test_a_record_of_a_stranger_is_refused() -> None:
    """An agent that is not in the chain cannot be in its ledger."""
    with pytest.raises(BadData, match="not in the chain"):
        Told().tell("start", "auditor", tree="a")


def test_a_snapshot_without_trees_is_refused() -> None:
    """A snapshot record that names no tree proves nothing."""
    with pytest.raises(BadData, match="field 'tree' is null"):
        Told().tell("snapshot", "implementer", n=1)


def test_a_snapshot_ends_the_work_and_the_last_one_counts() -> None:
    """An owner may snapshot as often as it likes; what is expected is its last."""
    told = Told()
    told.snapshot("implementer", "a")
    chain = told.snapshot("implementer", "b")
    assert not chain.at_work
    assert chain.expected is not None
    assert (chain.expected.tree, chain.expected.n, chain.settled_tree) == ("b", 2, "b")


def test_a_checkpoint_stays_at_work() -> None:
    """`--wip` records a tree and the owner goes on."""
    chain = Told().snapshot("implementer", "a", wip=True)
    assert chain.at_work
    assert chain.settled_tree == "a"


def test_a_handoff_makes_the_previous_owner_done() -> None:
    """A handoff turns the previous owner's snapshot into `done` for that tree."""
    told = Told()
    told.snapshot("implementer", "a")
    assert done(told.chain) == dict.fromkeys(AGENTS)
    chain = told.start("reviewer")
    assert done(chain) == {"implementer": "a", "reviewer": None, "validator": None}
    assert (chain.owner, chain.at_work, chain.previous_owner, chain.tenure_tree) == (
        "reviewer",
        True,
        "implementer",
        "a",
    )
    assert chain.seats["implementer"].completed_at == chain.since


def test_the_last_agent_needs_done() -> None:
    """A snapshot of the last agent validates nothing; its `--done` does."""
    told = Told()
    told.snapshot("implementer", "a")
    told.start("reviewer")
    told.snapshot("reviewer", "a")
    told.start("validator")
    assert not told.snapshot("validator", "a").validated
    assert told.snapshot("validator", "a", done=True).validated


def test_handing_back_is_a_new_round_and_takes_the_done_back() -> None:
    """Back to an earlier agent: it owns the tree in a new round, and neither it nor who handed back is done."""
    told = Told()
    told.snapshot("implementer", "a")
    told.start("reviewer")
    told.snapshot("reviewer", "b")
    chain = told.start("implementer")
    assert done(chain) == dict.fromkeys(AGENTS)
    assert chain.seats["implementer"].rounds == 2
    assert chain.previous_owner == "reviewer"
    assert chain.expected is None
    assert chain.settled_tree == "b"


def test_handing_back_far_leaves_the_one_between_as_it_was() -> None:
    """The agent between keeps its approval, until the earlier one snapshots another tree."""
    told = Told()
    told.snapshot("implementer", "a")
    told.start("reviewer")
    told.snapshot("reviewer", "a")
    told.start("validator")
    assert done(told.start("implementer")) == {"implementer": None, "reviewer": "a", "validator": None}
    assert done(told.snapshot("implementer", "a")) == {"implementer": None, "reviewer": "a", "validator": None}
    assert done(told.snapshot("implementer", "b")) == {"implementer": None, "reviewer": "a?", "validator": None}


def test_resuming_changes_neither_the_round_nor_the_done() -> None:
    """Row 2: back at work; the next snapshot of another tree voids the `done`, not the start."""
    told = Told(("dev",))
    told.snapshot("dev", "a", done=True)
    chain = told.resume("dev")
    assert chain.at_work
    assert (chain.seats["dev"].rounds, done(chain)) == (1, {"dev": "a"})
    assert not chain.validated
    assert done(told.snapshot("dev", "a")) == {"dev": "a"}
    told.resume("dev")
    assert done(told.snapshot("dev", "b")) == {"dev": None}


def test_reopening_voids_the_owners_own_done() -> None:
    """Another tree after its own snapshot, without a start: `done` was for the tree before."""
    told = Told(("dev",))
    assert told.snapshot("dev", "a", done=True).validated
    chain = told.snapshot("dev", "b")
    assert not chain.validated
    assert chain.status_of("dev") == "in_progress"
    assert chain.coordination({})["dev"].completed_at is None


# Approval is bound to a tree: the paragraph, sentence by sentence


def test_done_is_a_claim_about_one_tree() -> None:
    """Each approval carries the tree that it is for."""
    assert done(Told().validated()) == {"implementer": "a", "reviewer": "a", "validator": "a"}


@pytest.mark.parametrize("agent", AGENTS)
def test_done_goes_stale_when_an_agent_at_or_before_it_snapshots_another_tree(agent: str) -> None:
    """Of everybody from that agent on; its own is void."""
    told = Told()
    told.validated()
    if agent != "validator":
        told.start(agent)
    chain = told.snapshot(agent, "b")
    place = AGENTS.index(agent)
    for other in AGENTS[:place]:
        assert done(chain)[other] == "a"
    assert chain.seats[agent].done_tree is None
    for other in AGENTS[place + 1 :]:
        assert chain.seats[other].done_tree is None or chain.seats[other].stale
    assert not chain.validated


@pytest.mark.parametrize("agent", AGENTS)
def test_the_same_tree_again_stales_nothing(agent: str) -> None:
    """An approval is bound to a tree, not to a moment."""
    told = Told()
    chain = told.validated()
    before = {name: seat.stale for name, seat in chain.seats.items()}
    if agent == "validator":
        chain = told.snapshot(agent, "a", done=True)
    else:
        told.start(agent)
        chain = told.snapshot(agent, "a")
    assert {name: seat.stale for name, seat in chain.seats.items()} == before


def test_accepting_drift_voids_the_approvals_of_the_tree_that_it_replaces() -> None:
    """`resolve-drift --accept`: whoever approved the replaced tree approved something else."""
    told = Told()
    told.validated()
    chain = told.snapshot("validator", "b", accepted=True)
    assert not chain.validated
    assert all(seat.stale or seat.done_tree is None for seat in chain.seats.values())


def test_accepting_an_unchanged_tree_leaves_the_approvals() -> None:
    """When only HEAD moved, the tree that was approved is still there."""
    told = Told()
    told.validated()
    assert told.snapshot("validator", "a", accepted=True).validated


def test_rebuild_makes_every_approval_stale() -> None:
    """Approvals were given against the old text."""
    told = Told()
    told.validated()
    chain = told.tell("rebuild", None)
    assert done(chain) == {"implementer": "a?", "reviewer": "a?", "validator": "a?"}
    assert not chain.validated


def test_edits_of_a_later_agent_do_not_stale_the_earlier_ones() -> None:
    """After a verified start the reviewer may edit: the implementer's approval of what it handed over stands."""
    told = Told()
    told.snapshot("implementer", "a")
    told.start("reviewer")
    told.snapshot("reviewer", "b")
    assert done(told.start("validator")) == {"implementer": "a", "reviewer": "b", "validator": None}
    assert told.snapshot("validator", "b", done=True).validated


def test_a_snapshot_knows_whether_its_agent_edited() -> None:
    """Against the tree that it was handed, not against its own snapshots before."""
    told = Told()
    told.snapshot("implementer", "a")
    told.start("reviewer")
    edits = []
    for tree in ("a", "b", "b", "a"):
        chain = told.snapshot("reviewer", tree)
        assert chain.expected is not None
        edits.append(chain.expected.edits)
    assert edits == [False, True, True, False]


# Budgets and findings


def test_drift_adds_one_to_the_expected_agents_budget() -> None:
    """One failed verification, one more; what was found stays known."""
    told = Told()
    told.snapshot("implementer", "a")
    told.tell("drift", "implementer", tree="b", digest="one")
    chain = told.tell("drift", "implementer", tree="c", digest="two")
    assert [seat.budget for seat in chain.seats.values()] == [2, 0, 0]
    assert chain.drifts == {"one", "two"}


def test_resolving_settles_every_budget() -> None:
    """After `resolve` the budgets are 0, and the same difference may be found again."""
    told = Told()
    told.snapshot("implementer", "a")
    told.tell("drift", "implementer", tree="b", digest="one")
    chain = told.tell("resolve", "implementer", note="mine")
    assert [seat.budget for seat in chain.seats.values()] == [0, 0, 0]
    assert chain.drifts == frozenset()


def test_an_attested_snapshot_settles_the_budget_that_it_cost() -> None:
    """`snapshot --attest` records that the changes are its own."""
    told = Told()
    told.snapshot("implementer", "a")
    told.tell("drift", "implementer", tree="b", digest="one")
    told.start("reviewer", attest="mine")
    assert told.chain.owner_seat.budget == 0
    assert told.chain.seats["implementer"].budget == 1
    assert not told.chain.tenure_verified
    chain = told.snapshot("reviewer", "b", attest="mine")
    assert [seat.budget for seat in chain.seats.values()] == [0, 0, 0]


def test_an_open_finding_blocks_its_finder_and_validation() -> None:
    """`blocked` is the status of who found it, until the same role closes it; its `done` is gone."""
    told = Told()
    told.validated()
    chain = told.tell("block", "reviewer", finding="F1", text="no test")
    assert chain.status_of("reviewer") == "blocked"
    assert [finding.id for finding in chain.open_findings] == ["F1"]
    assert chain.seats["reviewer"].done_tree is None
    assert not chain.validated
    chain = told.tell("unblock", "reviewer", finding="F1")
    assert chain.open_findings == ()
    assert chain.seats["reviewer"].findings[0].closed_at is not None
    assert not chain.validated


def test_findings_stand_in_the_order_of_the_chain() -> None:
    """Whoever found first, the earlier agent's come first."""
    told = Told()
    told.tell("block", "validator", finding="F1", text="slow")
    chain = told.tell("block", "reviewer", finding="F2", text="no test")
    assert [finding.id for finding in chain.open_findings] == ["F2", "F1"]


def test_validated_needs_every_agent_and_the_last_one_as_owner() -> None:
    """Nobody at work, no finding, no stale approval, and the tree in the hands of the last agent."""
    told = Told()
    assert told.validated().validated
    assert not told.resume("validator").validated
    assert not told.start("reviewer").validated


def test_a_chain_of_one_validates_alone() -> None:
    """`--agents dev`: its own `--done` is the whole chain."""
    told = Told(("dev",))
    assert not told.snapshot("dev", "a").validated
    assert told.snapshot("dev", "a", done=True).validated


def test_every_other_record_changes_no_state() -> None:
    """What the fold does not know (verify, bypass …) leaves the chain as it was."""
    told = Told()
    before = told.validated()
    for kind in ("verify", "adopt"):
        assert told.tell(kind, "validator") == before


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("qa", {}),
        ("qa", {"run": "passed"}),
        ("qa", {"run": {"command": None, "exit_code": 0, "status": "fine", "reports": [], "log": "E1"}}),
        ("qa", {"run": {"command": None, "exit_code": 0, "status": "passed", "log": "E1"}}),
        ("attach", {"evidence": {"id": "E1"}}),
        ("attach", {"evidence": {"id": "E1", "type": "other", "path": "a", "sha256": "../../a", "size": 1,
                                 "stored_sha256": "0"}}),
    ],
    ids=["nothing", "no results", "an odd status", "no reports", "half of it", "a hash that is a path"],
)  # fmt: skip
def test_a_run_or_evidence_that_does_not_read_is_refused(kind: str, fields: dict[str, Any]) -> None:
    """A record that anybody may have written gives one clear error, and never names a file elsewhere."""
    told = Told()
    told.validated()
    with pytest.raises(BadData):
        told.tell(kind, "validator", **fields)


def test_a_part_moves_the_parent_and_what_is_expected_of_head() -> None:
    """The next commit of the task sits on the part; every approval stands, and HEAD at the part is no drift."""
    told = Told()
    told.validated()
    first, second = "1" * 40, "2" * 40
    chain = told.tell("part", "validator", commit=first, parent=first, index_tree="i")
    assert (chain.parent, chain.head, chain.validated) == (first, first, True)
    assert chain.expected is not None
    assert (chain.expected.head, chain.expected.index_tree) == (first, "i")
    chain = told.tell("part", "validator", commit=second, parent=second)
    assert [(part.commit, part.parent) for part in chain.parts] == [(first, None), (second, first)]


def test_an_amended_part_gives_the_parent_back() -> None:
    """A commit that replaces the last part sits where that one sat."""
    told = Told()
    told.validated()
    told.tell("part", "validator", commit="1" * 40, parent="1" * 40)
    chain = told.tell("rebase", "validator", commit=None, parent=None, amended=True)
    assert (chain.parent, chain.head, chain.parts, chain.validated) == (None, None, (), True)


def test_a_commit_around_the_gate_is_remembered_and_changes_nothing_else() -> None:
    """`bypass` names the commit, so that it is recorded once."""
    told = Told()
    before = told.validated()
    chain = told.tell("bypass", "validator", commit="1" * 40)
    assert chain.bypassed == {"1" * 40}
    assert replace(chain, bypassed=frozenset()) == before


def test_a_branch_at_the_same_commit_is_followed() -> None:
    """A `rebase` record that names a branch says where the context is now; nothing else moves."""
    told = Told()
    before = told.validated()
    chain = told.tell("rebase", "validator", commit=before.head, parent=before.parent, base=before.base, branch="topic")
    assert chain.branch == "topic"
    assert chain.expected is not None
    assert chain.expected.branch == "topic"
    assert (chain.parent, chain.head, chain.validated) == (before.parent, before.head, True)


def test_a_rebase_moves_the_parent_and_a_seal_ends_it() -> None:
    """`git.parent` and the base follow a `rebase` record; a `seal` names the commit."""
    told = Told()
    chain = told.tell("rebase", "implementer", commit="c1", base="c1", parent="c1")
    assert (chain.parent, chain.base, chain.head) == ("c1", "c1", "c1")
    told.validated()
    assert told.tell("seal", "validator", commit="c2").sealed == "c2"


def test_purge_and_recover_leave_the_rest() -> None:
    """Budgets and statuses come back with `recover`."""
    told = Told()
    before = told.validated()
    assert told.tell("purge", "validator").purged
    assert told.tell("recover", "validator") == before


# The table, through the verbs


@contextmanager
def _calling(repo: GitRepo, actor: str, minute: int) -> Iterator[Caller]:
    repository = open_repository(repo.path, os.environ)
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    try:
        yield Caller(repository=repository, store=Store(repository), actor=actor, clock=lambda: moment)
    finally:
        repository.close()


def _begin(repo: GitRepo, agents: tuple[str, ...] | None, policy: str) -> None:
    repo.write("a", "one\n")
    if policy:
        repo.write(".taskctx.toml", policy)
    repo.commit("base")
    with _calling(repo, "somebody", 0) as caller:
        begin(
            caller,
            InitRequest(task="TASK-1", title="a task", agents=agents),
            lambda _: load_config(
                taskctx_toml=policy.encode() or None, pyproject=None, committed_name=".taskctx.toml", personal=[]
            ),
        )


class Room:
    """A worktree with a context begun; every verb opens the session anew, as the command line does."""

    def __init__(self, repo: GitRepo, *, agents: tuple[str, ...] | None = None, policy: str = "") -> None:
        self.repo = repo
        fill(repo, _begin, agents, policy)
        self._minutes = itertools.count(1)

    def _caller(self, actor: str = "somebody") -> AbstractContextManager[Caller]:
        return _calling(self.repo, actor, next(self._minutes))

    @contextmanager
    def session(self, actor: str = "somebody") -> Iterator[Session]:
        """Open the context to write."""
        with self._caller(actor) as caller, open_session(caller, write=True) as session:
            try:
                yield session
            except Refused as error:
                advise(error)
                raise

    @property
    def chain(self) -> Chain:
        """The chain as the ledger has it."""
        with self.session() as session:
            return session.chain

    def edit(self, text: str) -> None:
        """Change the one file."""
        self.repo.write("a", f"{text}\n")

    def start(self, agent: str, *, take_over: str | None = None, actor: str = "somebody") -> Started:
        """Run the handoff."""
        with self.session(actor) as session:
            return start(session, agent, take_over=take_over)

    def refused(self, agent: str, *, take_over: str | None = None, actor: str = "somebody") -> Refused:
        """Run a handoff that must be refused."""
        with pytest.raises(Refused) as caught:
            self.start(agent, take_over=take_over, actor=actor)
        assert advise(caught.value).hint
        return caught.value

    def snapshot(self, agent: str, *, actor: str = "somebody", **options: Any) -> None:
        """Record the worktree."""
        with self.session(actor) as session:
            record_snapshot(session, agent, Options(**options))

    def work(self, agent: str, text: str) -> None:
        """Start where needed, edit and snapshot."""
        if self.chain.owner != agent:
            self.start(agent)
        self.edit(text)
        self.snapshot(agent)

    def block(self, agent: str) -> None:
        """Have an agent find something."""
        with self.session() as session:
            block(session, agent, "no test")

    def verify(self) -> Outcome:
        """Ask whether the worktree is as it was left."""
        with self._caller() as caller:
            return verify(caller).outcome

    def to(self, agent: str) -> None:
        """Come to where `agent` owns the tree and left it as it was handed over."""
        self.edit("work")
        self.snapshot("implementer")
        for name in self.chain.agents[1 : self.chain.position(agent) + 1]:
            self.snapshot(name)


@pytest.fixture
def room(repo: GitRepo) -> Room:
    """A context with the three default agents."""
    return Room(repo)


def test_row_1_a_budget_above_the_allowance(room: Room) -> None:
    """Nobody starts while drift is unresolved: neither the next agent nor the owner."""
    room.to("implementer")
    room.edit("somebody else")
    assert room.verify() is Outcome.NO
    for agent in AGENTS:
        error = room.refused(agent)
        assert "drift" in error.message
        assert "resolve-drift" in (advise(error).hint or "")
    assert room.chain.seats["implementer"].budget == 1


def test_row_1_lets_pass_what_the_allowance_allows(repo: GitRepo) -> None:
    """`drift.allowance = 1`: one failed verification does not block."""
    room = Room(repo, policy="[drift]\nallowance = 1\n")
    room.to("implementer")
    room.edit("somebody else")
    assert room.verify() is Outcome.NO
    room.edit("work")
    assert room.start("reviewer").agent == "reviewer"


def test_row_2_the_owner_resumes_whatever_lies_there(room: Room) -> None:
    """After a crash or to go on after a snapshot; changes meanwhile are never drift."""
    room.edit("half")
    assert room.start("implementer").resumed
    room.snapshot("implementer")
    room.edit("more")
    assert room.start("implementer").resumed
    chain = room.chain
    assert chain.at_work
    assert (chain.owner, chain.seats["implementer"].rounds, chain.seats["implementer"].budget) == ("implementer", 1, 0)


def test_row_2_wins_over_take_over(room: Room) -> None:
    """The owner that names a reason resumes as well, and the reason is on record."""
    room.edit("half")
    assert room.start("implementer", take_over="the first one died", actor="second").resumed
    with room.session() as session:
        last = session.entries[-1].record
    assert (last.type, last.actor, last.body["note"]) == ("start", "second", "the first one died")


def test_row_3_not_this_agents_turn(room: Room) -> None:
    """Nobody is skipped."""
    room.to("implementer")
    error = room.refused("validator")
    assert "turn" in error.message
    assert "start --agent reviewer" in (advise(error).hint or "")


def test_row_4_a_reviewer_that_blocked_hands_back_unchanged(room: Room) -> None:
    """At work, nothing changed, and the other one is earlier: its snapshot is implied."""
    room.to("implementer")
    room.start("reviewer")
    room.block("reviewer")
    started = room.start("implementer")
    assert (started.back, started.previous, started.round) == (True, "reviewer", 2)
    chain = room.chain
    assert (chain.owner, chain.at_work) == ("implementer", True)
    assert chain.seats["reviewer"].snapshots == ()


def test_row_4_also_after_a_resume(room: Room) -> None:
    """A reviewer that snapshotted, resumed and changed nothing since then hands back as well."""
    room.to("implementer")
    room.work("reviewer", "reviewed")
    room.start("reviewer")
    assert room.start("implementer").back


def test_row_4_does_not_hold_after_a_checkpoint_with_edits(room: Room) -> None:
    """A checkpoint is no snapshot: what the reviewer changed since its start is not handed back on the quiet."""
    room.to("implementer")
    room.start("reviewer")
    room.edit("reviewed")
    room.snapshot("reviewer", wip=True)
    assert "at work" in room.refused("implementer").message


def test_row_5_the_owner_is_at_work(room: Room) -> None:
    """Its changes are nobody else's; `snapshot` and the way to take over are named."""
    room.edit("half")
    error = room.refused("reviewer")
    assert "implementer has been at work since" in error.message
    assert "1 path changed: a" in error.message
    assert "snapshot --agent implementer" in (advise(error).hint or "")
    assert "--take-over" in (advise(error).hint or "")


def test_row_5_holds_back_too_where_something_changed(room: Room) -> None:
    """An earlier agent does not get a tree that the owner is changing."""
    room.to("implementer")
    room.start("reviewer")
    room.edit("half")
    assert "reviewer has been at work" in room.refused("implementer").message


def test_row_5_take_over_records_the_dead_agents_changes_as_its_own(room: Room) -> None:
    """Its snapshot first, then the handoff, in one step."""
    room.edit("half")
    started = room.start("reviewer", take_over="it died")
    assert started.took_over is not None
    chain = room.chain
    assert (chain.owner, chain.at_work, len(chain.seats["implementer"].snapshots)) == ("reviewer", True, 1)
    assert chain.seats["implementer"].done_tree == chain.tenure_tree
    with room.session() as session:
        kinds = [entry.record.type for entry in session.entries]
        assert session.entries[-1].record.body["note"] == "it died"
    assert kinds == ["init", "snapshot", "takeover"]


def test_row_5_take_over_does_not_step_over_findings(room: Room) -> None:
    """Rows 7 and 8 hold for the tree that is taken over, too."""
    room.to("implementer")
    room.start("reviewer")
    room.block("reviewer")
    room.edit("half")
    assert "open findings" in room.refused("validator", take_over="it died").message
    assert room.chain.owner == "reviewer"
    assert room.start("implementer", take_over="it died").back


def test_row_6_drift(room: Room) -> None:
    """Paths and causes, and the budget of the one whose snapshot it was."""
    room.to("implementer")
    room.edit("somebody else")
    error = room.refused("reviewer")
    assert error.paths == ("a",)
    assert CauseKind.EDITED.value in error.message
    assert room.chain.seats["implementer"].budget == 1


def test_row_6_counts_the_same_difference_once(room: Room) -> None:
    """Found again by `verify` and by `start`, it changes nothing."""
    room.to("implementer")
    room.edit("somebody else")
    for _ in range(2):
        assert room.verify() is Outcome.NO
        room.refused("reviewer")
    assert room.chain.seats["implementer"].budget == 1
    room.edit("somebody else again")
    assert room.verify() is Outcome.NO
    assert room.chain.seats["implementer"].budget == 2


def test_row_7_open_findings_hold_the_way_forward(room: Room) -> None:
    """They are named; back is open."""
    room.to("reviewer")
    room.block("reviewer")
    error = room.refused("validator")
    assert "F1: no test" in error.message
    assert "unblock --agent reviewer --finding F1" in (advise(error).hint or "")
    assert room.start("implementer").back


def test_row_7_is_about_the_owners_findings(room: Room) -> None:
    """Another agent's finding does not hold this owner; the last agent's `--done` is where it ends."""
    room.to("implementer")
    room.block("validator")
    assert room.start("reviewer").agent == "reviewer"


def test_row_8_an_owner_that_may_not_edit_hands_back(repo: GitRepo) -> None:
    """`chain.may_edit` leaves the reviewer out: its edits go back, not on."""
    room = Room(repo, policy='[chain]\nmay_edit = ["implementer"]\n')
    room.to("implementer")
    room.work("reviewer", "reviewed")
    error = room.refused("validator")
    assert "may_edit" in error.message
    assert "start --agent implementer" in (advise(error).hint or "")
    assert room.start("implementer").back


def test_row_9_forward_and_back(room: Room) -> None:
    """A handoff; back is recorded as a new round."""
    room.edit("work")
    room.snapshot("implementer")
    first = room.start("reviewer")
    assert (first.back, first.round, first.previous) == (False, 1, "implementer")
    assert first.verdict is not None
    assert first.verdict.outcome is Outcome.YES
    room.snapshot("reviewer")
    back = room.start("implementer")
    assert (back.back, back.round) == (True, 2)
    room.snapshot("implementer")
    assert room.start("reviewer").round == 2
    with room.session() as session:
        told = [entry.record.body.get("back") for entry in session.entries if entry.record.type == "start"]
    assert told == [None, True, None]


def test_distinct_actors_keep_an_implementer_from_approving(repo: GitRepo) -> None:
    """`chain.distinct_actors`: who implements may not act for a later agent."""
    room = Room(repo, policy="[chain]\ndistinct_actors = true\n")
    room.edit("work")
    room.snapshot("implementer", actor="ann")
    assert "ann edited as implementer" in room.refused("reviewer", actor="ann").message
    assert room.start("reviewer", actor="bob").agent == "reviewer"


# `snapshot` as a handoff


def test_a_snapshot_by_the_next_agent_is_a_start_when_nothing_changed(room: Room) -> None:
    """The same table, in one step."""
    room.to("implementer")
    room.snapshot("reviewer")
    chain = room.chain
    assert (chain.owner, chain.at_work, chain.seats["reviewer"].rounds) == ("reviewer", False, 1)
    room.start("implementer")
    room.snapshot("implementer")
    with pytest.raises(Refused, match="turn"):
        room.snapshot("validator")


def test_a_snapshot_by_an_earlier_agent_takes_an_unchanged_tree_back(room: Room) -> None:
    """Row 4 through `snapshot`: the reviewer is at work and has changed nothing."""
    room.to("implementer")
    room.start("reviewer")
    room.snapshot("implementer")
    chain = room.chain
    assert (chain.owner, chain.seats["implementer"].rounds) == ("implementer", 2)


def test_a_snapshot_by_another_agent_refuses_changes_that_nobody_claimed(room: Room) -> None:
    """It names the paths and how to go on, and costs budget; `--attest` says they are its own, and settles that."""
    room.to("implementer")
    room.edit("reviewed")
    with pytest.raises(Refused) as caught:
        room.snapshot("reviewer")
    assert caught.value.paths == ("a",)
    assert "--attest" in (advise(caught.value).hint or "")
    assert room.chain.seats["implementer"].budget == 1
    room.snapshot("reviewer", attest="I forgot to start")
    chain = room.chain
    assert chain.owner == "reviewer"
    assert [seat.budget for seat in chain.seats.values()] == [0, 0, 0]
    assert chain.expected is not None
    assert chain.expected.edits
    with room.session() as session:
        seat = session.context.coordination["reviewer"].worktree_snapshot
        assert seat is not None
        assert not seat.verified_start


def test_attest_does_not_step_over_the_table(room: Room) -> None:
    """It vouches for changes; turn and findings hold."""
    room.to("reviewer")
    room.block("reviewer")
    room.edit("other")
    with pytest.raises(Refused, match="open findings"):
        room.snapshot("validator", attest="mine")


def test_a_tree_like_the_first_one_wants_allow_clean(room: Room) -> None:
    """The first agent's snapshot refuses to record that nothing was done, in every round."""
    with pytest.raises(Refused) as caught:
        room.snapshot("implementer")
    assert "--allow-clean" in (advise(caught.value).hint or "")
    room.snapshot("implementer", allow_clean=True)
    room.start("reviewer")
    room.start("implementer")
    with pytest.raises(Refused, match="nothing changed"):
        room.snapshot("implementer")


def test_reopened_is_recorded_with_its_paths(room: Room) -> None:
    """An owner that goes on after its snapshot without `start` says so in the record."""
    room.to("implementer")
    room.edit("more")
    room.snapshot("implementer")
    with room.session() as session:
        assert session.entries[-1].record.body["reopened"] == ["a"]


# `done`


def test_the_last_agent_may_not_say_done_to_its_own_edits(room: Room) -> None:
    """It may snapshot them and hand back."""
    room.to("reviewer")
    room.start("validator")
    room.edit("quick fix")
    with pytest.raises(Refused, match="may_edit"):
        room.snapshot("validator", done=True)
    room.snapshot("validator")
    assert room.start("reviewer").back


def test_done_refuses_open_findings_of_anybody(room: Room) -> None:
    """Whoever found it: the chain does not end over it."""
    room.to("reviewer")
    room.start("validator")
    room.block("implementer")
    with pytest.raises(Refused, match="findings are open"):
        room.snapshot("validator", done=True)
    with room.session() as session:
        unblock(session, "implementer", "F1")


def test_done_and_wip_exclude_each_other(room: Room) -> None:
    """A checkpoint approves nothing."""
    with pytest.raises(Usage):
        room.snapshot("implementer", done=True, wip=True)


@pytest.mark.parametrize("status", ["done", "blocked", "pending"])
def test_update_sets_nothing_that_the_chain_would_not_give(room: Room, status: Any) -> None:
    """`update --status` is no way around `snapshot`, `block` and `start`."""
    before = room.chain
    with room.session() as session, pytest.raises(Refused):
        update(session, "implementer", status=status, qa_log=None, session_id=None)
    assert room.chain == before


def test_update_done_makes_the_checks_of_done(room: Room) -> None:
    """It is given where `snapshot --done` would be: on the last snapshot, with nothing against it."""
    room.to("validator")
    with room.session() as session:
        update(session, "validator", status="done", qa_log=None, session_id=None)
        assert session.chain.validated


def test_update_done_refuses_another_tree(room: Room) -> None:
    """The worktree must be the agent's last snapshot."""
    room.to("validator")
    room.edit("other")
    with room.session() as session, pytest.raises(Refused, match="last snapshot"):
        update(session, "validator", status="done", qa_log=None, session_id=None)


def test_update_done_refuses_where_head_moved(room: Room) -> None:
    """The files are the same; what was snapshotted is not what is there."""
    room.to("validator")
    room.repo.git("commit", "-q", "--allow-empty", "-m", "empty")
    with room.session() as session, pytest.raises(Refused, match="last snapshot"):
        update(session, "validator", status="done", qa_log=None, session_id=None)


def test_only_the_role_that_found_closes(room: Room) -> None:
    """A finding is closed by its finder, once."""
    room.block("reviewer")
    with room.session() as session:
        with pytest.raises(Refused, match="found by reviewer"):
            unblock(session, "implementer", "F1")
        unblock(session, "reviewer", "F1")
        with pytest.raises(Refused, match="was closed at"):
            unblock(session, "reviewer", "F1")


# `resolve-drift`


def test_a_note_is_enough_when_everything_is_back(room: Room) -> None:
    """The budget is settled, the snapshot stands."""
    room.to("implementer")
    room.edit("somebody else")
    room.verify()
    with room.session() as session, pytest.raises(Refused, match="a note alone"):
        resolve_drift(session, note="undone")
    room.edit("work")
    with room.session() as session:
        resolved = resolve_drift(session, note="undone")
    assert (resolved.budget, resolved.accepted) == (1, None)
    assert room.start("reviewer").agent == "reviewer"


def test_accepting_records_the_tree_by_the_accepting_actor(room: Room) -> None:
    """Today's tree is the owner's snapshot, and its approvals of the tree before are void."""
    room.to("validator")
    with room.session() as session:
        update(session, "validator", status="done", qa_log=None, session_id=None)
    room.edit("hot fix")
    room.verify()
    with room.session(actor="a person") as session:
        resolved = resolve_drift(session, note="hot fix", accept=True)
    assert resolved.accepted is not None
    assert (resolved.accepted.snapshot.actor, resolved.accepted.snapshot.accepted) == ("a person", True)
    assert set(resolved.voided) == set(AGENTS)
    chain = room.chain
    assert not chain.validated
    assert chain.owner == "validator"
    assert chain.seats["validator"].actor == "somebody"
    assert [seat.budget for seat in chain.seats.values()] == [0, 0, 0]
    assert room.verify() is Outcome.YES


def test_there_must_be_drift_to_resolve(room: Room) -> None:
    """Neither at work nor on an untouched tree."""
    with room.session() as session, pytest.raises(Refused, match="at work"):
        resolve_drift(session, note="why not")
    room.to("implementer")
    with room.session() as session, pytest.raises(Refused, match="no drift"):
        resolve_drift(session, note="why not", accept=True)
