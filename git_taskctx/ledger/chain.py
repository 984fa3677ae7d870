"""The chain: who owns the tree, who has approved which tree, and what stands against going on.

`Chain` is a pure fold over the ledger's records. No other code changes this state: a verb decides, writes a record,
and the record changes the chain. So what the ledger proves and what the verbs enforce cannot come apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from git_taskctx.errors import BadData
from git_taskctx.ledger.seats import Expectation, Part, Seat, capture_told, commands_told, expectation_of
from git_taskctx.model.codec import from_plain
from git_taskctx.model.context import Coordination, Evidence, Finding, Status
from git_taskctx.model.manifest import Capture
from git_taskctx.model.oids import CommitOid, TreeOid, is_agent_name, is_sha256
from git_taskctx.model.policy import NO_VERIFY
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
    """The tree that the owner was handed."""
    start_tree: TreeOid
    """The tree when the owner started, or came back to work."""
    tenure_verified: bool
    """True when that tree was verified; false where somebody vouched for it."""
    tenure_from: int
    """How many snapshots the owner had when it was handed the tree."""
    previous_owner: str
    """Whose tree it was before; `init` for the first."""
    since: str
    """When the owner started, or came back to work."""
    base: CommitOid | None
    parent: CommitOid | None
    init_head: CommitOid | None
    init_tree: TreeOid
    head: CommitOid | None
    """Where HEAD is expected."""
    saved: int = 0
    """How many states `restore` has saved."""
    drifts: frozenset[str] = field(default_factory=frozenset)
    """Digests of the differences that have been counted and not resolved."""
    evidence: tuple[Evidence, ...] = ()
    """What was attached, oldest first."""
    runs: tuple[QaRun, ...] = ()
    """Of each agent the last run of each command on each tree, oldest first."""
    baseline: QaResults = QaResults()
    """How the checks stood before the task."""
    commands: tuple[str, ...] | None = None
    """The task's commands, a passing run of each of which `qa.require` asks for; None where no record names them."""
    capture: Capture = Capture()
    """What the text was last captured from."""
    branch: str | None = None
    """The branch that is expected to be checked out."""
    parts: tuple[Part, ...] = ()
    bypassed: frozenset[CommitOid] = field(default_factory=frozenset)
    """Commits that went around the gate, each on record once."""
    purged: bool = False
    sealed: CommitOid | None = None

    @property
    def owner_seat(self) -> Seat:
        """The owner's seat."""
        return self.seats[self.owner]

    @property
    def expected(self) -> Expectation | None:
        """The owner's last snapshot since it was handed the tree; None before its first."""
        taken = self.owner_seat.snapshots
        return taken[-1] if len(taken) > self.tenure_from else None

    @property
    def settled_tree(self) -> TreeOid:
        """The last tree that is on record for the owner: its snapshot, or what it was handed."""
        return self.expected.tree if self.expected else self.tenure_tree

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Every finding that nobody has closed, in the order of the chain."""
        return tuple(finding for agent in self.agents for finding in self.seats[agent].open_findings)

    @property
    def validated(self) -> bool:
        """True when every agent is done, none of it is stale, and nothing blocks."""
        done = all(seat.approves for seat in self.seats.values())
        return done and self.owner == self.agents[-1] and not self.open_findings and not self.at_work

    def position(self, agent: str) -> int:
        """Return an agent's place in the order, from 0."""
        return self.agents.index(agent)

    def is_later(self, agent: str, than: str) -> bool:
        """Tell whether `agent` comes after `than`."""
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
        """Return the chain after one more record. Raises: BadData for a record that cannot follow."""
        if record.agent is not None and record.agent not in self.seats:
            raise BadData(f"record {record.id} names {record.agent!r}, which is not in the chain")
        try:
            return _APPLY.get(record.type, _unchanged)(self, record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # what only others than us write
            raise BadData(f"record {record.id} ({record.type}) does not hold what it should") from error

    def coordination(self, snapshots: Mapping[str, WorktreeSnapshot | None]) -> dict[str, Coordination]:
        """Write the chain out as `context.json` shows it, with the details of each agent's last snapshot."""
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
        """Return the chain of a context that is active here, also where its last record is that it was put away."""
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
    """Add up the records of one context, oldest first. Raises: BadData when they do not begin with `init`."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None or first.type != "init" or first.tree is None:
        raise BadData("the ledger of this context does not begin with its `init` record")
    named = first.extra.get("agents")
    agents = tuple(named) if isinstance(named, list) else ()
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
        commands=commands_told(first),
        capture=capture_told(first) or Capture(),
        branch=first.extra.get("branch"),
    )._with_seat(agents[0], started_at=first.time, actor=first.actor, rounds=1)
    for record in iterator:
        chain = chain.apply(record)
    return chain


def _unchanged(chain: Chain, _: Record) -> Chain:
    return chain


def _start(chain: Chain, record: Record) -> Chain:
    agent = cast(str, record.agent)
    if record.extra.get("resume"):
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
        tenure_verified=not record.extra.get("attest"),
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


def _snapshot(chain: Chain, record: Record) -> Chain:
    agent, extra = cast(str, record.agent), record.extra
    taken = expectation_of(record, agent, handed=chain.tenure_tree, previous=chain.previous_owner)
    if taken.accepted:
        chain = chain._void(taken.tree)
    seat = chain.seats[agent]
    done = bool(extra.get("done"))
    at_work = bool(extra.get("wip"))
    chain = replace(chain, head=record.commit, base=record.base, at_work=at_work, branch=taken.branch)._with_seat(
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
    return _settle(chain) if extra.get("attest") else chain


def _drift(chain: Chain, record: Record) -> Chain:
    agent = cast(str, record.agent)
    drifts = chain.drifts | {str(record.extra.get("digest"))}
    return replace(chain, drifts=drifts)._with_seat(agent, budget=chain.seats[agent].budget + 1)


def _settle(chain: Chain) -> Chain:
    seats = {agent: replace(seat, budget=0) for agent, seat in chain.seats.items()}
    return replace(chain, seats=seats, drifts=frozenset())


def _resolve(chain: Chain, _: Record) -> Chain:
    return _settle(chain)


def _rebase(chain: Chain, record: Record) -> Chain:
    extra = record.extra
    parts = chain.parts[:-1] if extra.get("amended") else chain.parts
    chain = replace(chain, parent=extra.get("parent"), base=record.base, head=record.commit, parts=parts)
    if "branch" not in extra:
        return chain
    return _as_left(replace(chain, branch=extra["branch"]), branch=extra["branch"])


def _part(chain: Chain, record: Record) -> Chain:
    if record.commit is None:
        raise BadData(f"record {record.id} is a part without its commit")
    extra = record.extra
    parts = (*chain.parts, Part(record.commit, chain.parent))
    chain = replace(chain, parent=extra.get("parent"), head=record.commit, parts=parts)
    return _as_left(chain, head=record.commit, index_tree=extra.get("index_tree"))


def _as_left(chain: Chain, **changes: Any) -> Chain:
    """Change what is expected of HEAD and the index since the owner's last snapshot; its tree stands."""
    if chain.expected is None:
        return chain
    *before, last = chain.owner_seat.snapshots
    return chain._with_seat(chain.owner, snapshots=(*before, replace(last, **changes)))


def _bypass(chain: Chain, record: Record) -> Chain:
    return replace(chain, bypassed=chain.bypassed | {record.commit} if record.commit else chain.bypassed)


def _restore(chain: Chain, record: Record) -> Chain:
    return replace(chain, saved=max(chain.saved, int(record.extra.get("saved", 0))))


def _block(chain: Chain, record: Record) -> Chain:
    agent = cast(str, record.agent)
    found = Finding(id=record.extra["finding"], by=agent, text=record.extra["text"], at=record.time)
    return chain._with_seat(agent, findings=(*chain.seats[agent].findings, found), done_tree=None)


def _unblock(chain: Chain, record: Record) -> Chain:
    agent = cast(str, record.agent)
    findings = tuple(
        replace(finding, closed_at=record.time) if finding.id == record.extra["finding"] else finding
        for finding in chain.seats[agent].findings
    )
    return chain._with_seat(agent, findings=findings)


def _update(chain: Chain, record: Record) -> Chain:
    agent = cast(str, record.agent)
    changes: dict[str, Any] = {key: record.extra[key] for key in ("session_id", "qa_log_path") if key in record.extra}
    if record.extra.get("done"):
        changes |= {"done_tree": record.tree, "stale": False, "completed_at": record.time}
    return chain._with_seat(agent, **changes)


def _attach(chain: Chain, record: Record) -> Chain:
    taken = record.extra.get("evidence")
    if taken is None:
        return chain
    one = from_plain(Evidence, taken, what=f"record {record.id}")
    if not is_sha256(one.sha256):  # it names a file
        raise BadData(f"record {record.id} attaches something without its hash")
    return replace(chain, evidence=(*chain.evidence, one))


def _qa(chain: Chain, record: Record) -> Chain:
    chain, told = _attach(chain, record), record.extra.get("run")
    if not isinstance(told, dict) or record.agent is None:
        raise BadData(f"record {record.id} is a run of QA without its results")
    by = {"agent": record.agent, "actor": record.actor, "at": record.time, "tree": record.tree}
    run = from_plain(QaRun, {**told, **by}, what=f"record {record.id}")
    if record.extra.get("baseline"):
        runs = with_run(chain.baseline.runs or (), run)
        chain = replace(chain, baseline=results_of(runs) or QaResults())
    if run.claimed:  # of another tree than the one that lies there: no result of the agent's work
        return chain
    log = next((one for one in chain.evidence if one.id == run.log), None)
    place = {"qa_log_path": log.stored} if log else {}
    others = (one for one in chain.runs if (one.agent, one.key, one.tree) != (run.agent, run.key, run.tree))
    chain = replace(chain, runs=(*others, run))
    return chain._with_seat(run.agent, **place)


def _rebuild(chain: Chain, record: Record) -> Chain:
    told = commands_told(record)
    named = chain.commands if told is None else told
    chain = replace(chain, capture=capture_told(record) or chain.capture, commands=named)
    if record.extra.get("same_text"):
        return chain
    seats = {agent: replace(seat, stale=seat.done_tree is not None) for agent, seat in chain.seats.items()}
    return replace(chain, seats=seats)


def _seal(chain: Chain, record: Record) -> Chain:
    return replace(chain, sealed=record.commit, head=record.commit)


def _purge(chain: Chain, _: Record) -> Chain:
    return replace(chain, purged=True)


_APPLY: dict[str, Callable[[Chain, Record], Chain]] = {
    "start": _start,
    "takeover": _start,
    "snapshot": _snapshot,
    "drift": _drift,
    "resolve": _resolve,
    "rebase": _rebase,
    "part": _part,
    "bypass": _bypass,
    "restore": _restore,
    "block": _block,
    "unblock": _unblock,
    "update": _update,
    "attach": _attach,
    "qa": _qa,
    "rebuild": _rebuild,
    "seal": _seal,
    "purge": _purge,
    "recover": lambda chain, _: chain.recovered(),
}


def bypasses_of(record: Record) -> tuple[str, ...]:
    """Return what a record says was bypassed, by the names of `commit.allow_bypass`."""
    extra = record.extra
    kinds = (
        (str(extra.get("kind", NO_VERIFY)), record.type == "bypass"),
        ("force-secrets", bool(extra.get("force_secrets"))),
        ("attest", extra.get("attest") is not None),
    )
    return tuple(kind for kind, is_so in kinds if is_so)
