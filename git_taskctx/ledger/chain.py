"""The chain: who owns the tree, who has approved which tree, and what blocks.

`Chain` is a pure fold over the ledger's records. Verbs decide and write records; only records change the chain. So what
the ledger proves and what the verbs enforce cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from git_taskctx.errors import BadData
from git_taskctx.ledger.seats import ChainPart, Expectation, Seat, expectation_of
from git_taskctx.model import payloads
from git_taskctx.model.context import Coordination, Evidence, Finding, Status
from git_taskctx.model.manifest import Capture
from git_taskctx.model.oids import CommitOid, TreeOid, is_agent_name, is_sha256
from git_taskctx.model.payloads import UNSET, Misfit
from git_taskctx.model.qa import QaResults, QaRun, last_runs, results_of, with_run
from git_taskctx.model.record import Record
from git_taskctx.model.snapshot import WorktreeSnapshot
from git_taskctx.model.values import dataclass, field, replace


@dataclass(frozen=True)
class Chain:
    """The state that a context's records add up to."""

    context: str
    task: str
    agents: tuple[str, ...]
    seats: Mapping[str, Seat]
    owner: str
    at_work: bool
    tenure_tree: TreeOid
    """The tree handed to the owner."""
    start_tree: TreeOid
    """The tree when the owner last started or resumed work."""
    tenure_verified: bool
    """True when that tree was verified, false when it was attested."""
    tenure_from: int
    """How many snapshots the owner had at the handoff."""
    previous_owner: str
    """The owner before; `init` for the first."""
    since: str
    """When the owner started or resumed work."""
    base: CommitOid | None
    parent: CommitOid | None
    init_head: CommitOid | None
    init_tree: TreeOid
    head: CommitOid | None
    """Where HEAD is expected."""
    saved: int = 0
    """How many states `restore` has saved."""
    drifts: frozenset[str] = field(default_factory=frozenset)
    """Digests of the differences counted and not resolved."""
    evidence: tuple[Evidence, ...] = ()
    """What was attached, oldest first."""
    runs: tuple[QaRun, ...] = ()
    """Each agent's last run of each command on each tree, oldest first."""
    baseline: QaResults = QaResults()
    """The checks' results before the task."""
    commands: tuple[str, ...] | None = None
    """The commands that `qa.require` needs a passing run of; None where no record names them."""
    capture: Capture = Capture()
    """What the text was last captured from."""
    branch: str | None = None
    """The expected branch."""
    parts: tuple[ChainPart, ...] = ()
    bypassed: frozenset[CommitOid] = field(default_factory=frozenset)
    purged: bool = False
    sealed: CommitOid | None = None

    @property
    def owner_seat(self) -> Seat:
        return self.seats[self.owner]

    @property
    def expected(self) -> Expectation | None:
        """The owner's last snapshot since the handoff; None before its first."""
        taken = self.owner_seat.snapshots
        return taken[-1] if len(taken) > self.tenure_from else None

    @property
    def settled_tree(self) -> TreeOid:
        """The last recorded tree of the owner: its snapshot, or what it was handed."""
        return self.expected.tree if self.expected else self.tenure_tree

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Every open finding, in the order of the chain."""
        return tuple(finding for agent in self.agents for finding in self.seats[agent].open_findings)

    @property
    def validated(self) -> bool:
        """True when every agent is done, none is stale, and nothing blocks."""
        done = all(seat.approves for seat in self.seats.values())
        return done and self.owner == self.agents[-1] and not self.open_findings and not self.at_work

    def position(self, agent: str) -> int:
        """Return an agent's index in the chain."""
        return self.agents.index(agent)

    def is_later(self, agent: str, than: str) -> bool:
        return self.position(agent) > self.position(than)

    def status_of(self, agent: str) -> Status:
        """Return an agent's status as `context.json` shows it."""
        seat = self.seats[agent]
        if seat.open_findings:
            return "blocked"
        if seat.done_tree is not None:
            return "done"
        return "in_progress" if agent == self.owner else "pending"

    def apply(self, record: Record) -> Chain:
        """Return the chain after one more record. Raises: BadData if it cannot follow."""
        if record.agent is not None and record.agent not in self.seats:
            raise BadData(f"record {record.id} names {record.agent!r}, which is not in the chain")
        payload = record.payload
        if isinstance(payload, Misfit):
            raise BadData(payload.why)
        apply = _APPLY.get(type(payload))
        return apply(self, record, payload) if apply is not None else self

    def coordination(self, snapshots: Mapping[str, WorktreeSnapshot | None]) -> dict[str, Coordination]:
        """Return the chain as `context.json` shows it, with each agent's last snapshot."""
        return {
            agent: Coordination(
                status=self.status_of(agent),
                stale=seat.stale,
                started_at=seat.started_at,
                completed_at=seat.completed_at if seat.done_tree is not None else None,
                actor=seat.actor,
                qa_log_path=seat.qa_log_path,
                qa_results=results_of(last_runs(run for run in self.runs if run.agent == agent)),
                session_id=seat.session_id,
                blocking_findings=seat.findings,
                worktree_snapshot=snapshots.get(agent),
                drift_budget=seat.budget,
            )
            for agent, seat in self.seats.items()
        }

    def recovered(self) -> Chain:
        """Return the chain as active, even if its last record is a purge."""
        return replace(self, purged=False)

    def _void(self, tree: TreeOid) -> Chain:
        """Make stale every approval of the tree that `tree` replaces."""
        replaced, chain = self.settled_tree, self
        for agent, seat in self.seats.items():
            if seat.done_tree == replaced and replaced != tree:
                chain = chain._with_seat(agent, stale=True)
        return chain

    def _with_seat(self, agent: str, **changes: Any) -> Chain:
        return replace(self, seats={**self.seats, agent: replace(self.seats[agent], **changes)})


def fold(records: Iterable[Record]) -> Chain:
    """Fold the records of one context, oldest first. Raises: BadData when they do not begin with `init`."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None or first.type != "init" or first.tree is None:
        raise BadData("the ledger of this context does not begin with its `init` record")
    payload = first.payload
    if not isinstance(payload, payloads.Init):
        raise BadData(payload.why if isinstance(payload, Misfit) else f"record {first.id} is no `init`")
    agents = payload.agents
    if not agents or not all(map(is_agent_name, agents)) or len(set(agents)) < len(agents):
        raise BadData(f"record {first.id} names no agents")
    chain = Chain(
        context=first.context,
        task=first.task,
        agents=agents,
        seats={agent: Seat() for agent in agents},
        owner=agents[0],
        at_work=True,
        tenure_tree=first.tree,
        start_tree=first.tree,
        tenure_verified=True,
        tenure_from=0,
        previous_owner="init",
        since=first.time,
        base=first.base,
        parent=first.commit,
        init_head=first.commit,
        init_tree=first.tree,
        head=first.commit,
        commands=payload.commands,
        capture=payload.capture or Capture(),
        branch=payload.branch,
    )._with_seat(agents[0], started_at=first.time, actor=first.actor, rounds=1)
    for record in iterator:
        chain = chain.apply(record)
    return chain


def _start(chain: Chain, record: Record, payload: payloads.Start) -> Chain:
    agent = cast(str, record.agent)
    if payload.resume:
        # Going on after a snapshot: the next snapshot of another tree voids the `done`, not the start.
        return replace(chain, at_work=True, since=record.time, start_tree=chain.settled_tree)._with_seat(
            agent, actor=record.actor
        )
    if chain.is_later(agent, chain.owner) and chain.expected is not None:
        chain = chain._with_seat(chain.owner, done_tree=chain.expected.tree, stale=False, completed_at=record.time)
    elif not chain.is_later(agent, chain.owner):
        chain = chain._with_seat(chain.owner, done_tree=None, stale=False)
    seat, tree = chain.seats[agent], record.tree or chain.settled_tree
    return replace(
        chain,
        owner=agent,
        at_work=True,
        tenure_tree=tree,
        start_tree=tree,
        tenure_verified=not payload.attest,
        tenure_from=len(seat.snapshots),
        previous_owner=chain.owner,
        since=record.time,
    )._with_seat(
        agent,
        started_at=record.time,
        actor=record.actor,
        rounds=seat.rounds + 1,
        done_tree=None,
        stale=False,
        completed_at=None,
    )


def _snapshot(chain: Chain, record: Record, payload: payloads.Snapshot) -> Chain:
    agent = cast(str, record.agent)
    handed, previous, worked = chain.tenure_tree, chain.previous_owner, chain.seats[agent].actor
    taken = expectation_of(record, payload, handed=handed, previous=previous, worked=worked)
    if taken.accepted:
        chain = chain._void(taken.tree)
    seat = chain.seats[agent]
    done = payload.done
    chain = replace(chain, head=record.commit, base=record.base, at_work=payload.wip, branch=taken.branch)._with_seat(
        agent,
        snapshots=(*seat.snapshots, taken),
        actor=seat.actor if taken.accepted else record.actor,
        done_tree=record.tree if done else seat.done_tree if seat.done_tree == record.tree else None,
        completed_at=record.time if done else seat.completed_at,
        stale=False if done else seat.stale,
    )
    for later in chain.agents[chain.position(agent) :]:
        claim = chain.seats[later].done_tree
        if claim is not None and claim != record.tree:
            chain = chain._with_seat(later, stale=True)
    return _settle(chain) if payload.attest else chain


def _drift(chain: Chain, record: Record, payload: payloads.Drift) -> Chain:
    agent, drifts = cast(str, record.agent), chain.drifts | {payload.digest}
    return replace(chain, drifts=drifts)._with_seat(agent, budget=chain.seats[agent].budget + 1)


def _settle(chain: Chain) -> Chain:
    seats = {agent: replace(seat, budget=0) for agent, seat in chain.seats.items()}
    return replace(chain, seats=seats, drifts=frozenset())


def _rebase(chain: Chain, record: Record, payload: payloads.Rebase) -> Chain:
    parts = chain.parts[:-1] if payload.amended else chain.parts
    chain = replace(chain, parent=payload.parent, base=record.base, head=record.commit, parts=parts)
    if payload.branch is UNSET:
        return chain
    return _as_left(replace(chain, branch=payload.branch), branch=payload.branch)


def _part(chain: Chain, record: Record, payload: payloads.Part) -> Chain:
    parts = (*chain.parts, ChainPart(cast(CommitOid, record.commit), chain.parent))
    chain = replace(chain, parent=payload.parent, head=record.commit, parts=parts)
    return _as_left(chain, head=record.commit, index_tree=payload.index_tree)


def _as_left(chain: Chain, **changes: Any) -> Chain:
    """Update the expected HEAD and index; the owner's snapshot stays."""
    if chain.expected is None:
        return chain
    *before, last = chain.owner_seat.snapshots
    return chain._with_seat(chain.owner, snapshots=(*before, replace(last, **changes)))


def _block(chain: Chain, record: Record, payload: payloads.Block) -> Chain:
    agent = cast(str, record.agent)
    found = Finding(id=payload.finding, by=agent, text=payload.text, at=record.time)
    return chain._with_seat(agent, findings=(*chain.seats[agent].findings, found), done_tree=None)


def _unblock(chain: Chain, record: Record, payload: payloads.Unblock) -> Chain:
    agent = cast(str, record.agent)
    findings = tuple(
        replace(finding, closed_at=record.time) if finding.id == payload.finding else finding
        for finding in chain.seats[agent].findings
    )
    return chain._with_seat(agent, findings=findings)


def _update(chain: Chain, record: Record, payload: payloads.Update) -> Chain:
    given = {"session_id": payload.session_id, "qa_log_path": payload.qa_log_path}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if payload.done:
        changes |= {"done_tree": record.tree, "stale": False, "completed_at": record.time}
    return chain._with_seat(cast(str, record.agent), **changes)


def _attach(chain: Chain, record: Record, payload: payloads.Attach | payloads.Qa) -> Chain:
    one = payload.evidence
    if one is None:
        return chain
    if not is_sha256(one.sha256):  # it names a file
        raise BadData(f"record {record.id} attaches something without its hash")
    return replace(chain, evidence=(*chain.evidence, one))


def _qa(chain: Chain, record: Record, payload: payloads.Qa) -> Chain:
    chain, said, agent = _attach(chain, record, payload), payload.run, cast(str, record.agent)
    run = QaRun(
        command=said.command,
        exit_code=said.exit_code,
        status=said.status,
        reports=said.reports,
        log=said.log,
        agent=agent,
        actor=record.actor,
        at=record.time,
        tree=record.tree,
        claimed=said.claimed,
    )
    if payload.baseline:
        runs = with_run(chain.baseline.runs or (), run)
        chain = replace(chain, baseline=results_of(runs) or QaResults())
    if run.claimed:  # of another tree than the one that lies there: no result of the agent's work
        return chain
    log = next((one for one in chain.evidence if one.id == run.log), None)
    place = {"qa_log_path": log.stored} if log else {}
    key = run.key  # asked once: a ledger of others may hold thousands of runs
    others = (
        one for one in chain.runs if (one.command or one.key) != key or one.agent != run.agent or one.tree != run.tree
    )
    chain = replace(chain, runs=(*others, run))
    return chain._with_seat(agent, **place)


def _rebuild(chain: Chain, _: Record, payload: payloads.Rebuild) -> Chain:
    before, named = chain.commands, chain.commands if payload.commands is None else payload.commands
    chain = replace(chain, capture=payload.capture or chain.capture, commands=named)
    if payload.same_text and before in (None, named):
        return chain
    seats = {agent: replace(seat, stale=seat.done_tree is not None) for agent, seat in chain.seats.items()}
    return replace(chain, seats=seats)


_APPLY: dict[type[payloads.Payload], Callable[[Chain, Record, Any], Chain]] = {
    payloads.Start: _start,
    payloads.Takeover: _start,
    payloads.Snapshot: _snapshot,
    payloads.Drift: _drift,
    payloads.Resolve: lambda chain, *_: _settle(chain),
    payloads.Rebase: _rebase,
    payloads.Part: _part,
    payloads.Bypass: lambda chain, record, _: replace(
        chain, bypassed=chain.bypassed | {record.commit} if record.commit else chain.bypassed
    ),
    payloads.Restore: lambda chain, _, said: replace(chain, saved=max(chain.saved, said.saved)),
    payloads.Block: _block,
    payloads.Unblock: _unblock,
    payloads.Update: _update,
    payloads.Attach: _attach,
    payloads.Qa: _qa,
    payloads.Rebuild: _rebuild,
    payloads.Seal: lambda chain, record, _: replace(chain, sealed=record.commit, head=record.commit),
    payloads.Purge: lambda chain, *_: replace(chain, purged=True),
    payloads.Recover: lambda chain, *_: chain.recovered(),
}
"""How a payload changes the chain; the others do not."""


def bypasses_of(record: Record) -> tuple[str, ...]:
    """Return the bypasses of a record, in the words of `commit.allow_bypass`."""
    payload, found = record.payload, list[str]()
    if isinstance(payload, payloads.Bypass):
        found.append(payload.kind)
    if record.origin.force_secrets:
        found.append("force-secrets")
    if isinstance(payload, payloads.Start | payloads.Snapshot) and payload.attest is not None:
        found.append("attest")
    return tuple(found)
