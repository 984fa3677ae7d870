"""What the chain keeps of each agent: its snapshots, what it approved and found, and of the commits of the task."""

from __future__ import annotations

from typing import cast

from git_taskctx.model import payloads
from git_taskctx.model.context import Finding
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.record import Record
from git_taskctx.model.snapshot import HiddenChange, Operation
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Expectation:
    """What the worktree must look like until somebody starts: the owner's last snapshot."""

    agent: str
    n: int
    tree: TreeOid
    commit_tree: TreeOid
    index_tree: TreeOid | None
    head: CommitOid | None
    branch: str | None
    in_progress: Operation | None
    hidden: tuple[HiddenChange, ...]
    scope_hash: str
    time: str
    actor: str
    accepted: bool = False
    takeover: bool = False
    """True when somebody else recorded it, who must take the tree over with it."""
    worked: str | None = None
    """Who had been at work then, by the name that was given at the start."""
    seq: int = 0
    """Number of its record."""
    diff_sha: str | None = None
    base: CommitOid | None = None
    """Base commit of the deltas then."""
    previous_tree: TreeOid | None = None
    """The tree that this owner was handed."""
    previous_agent: str = "init"
    edits: bool = False
    """True when the snapshot's tree is not the one that was handed over."""


@dataclass(frozen=True)
class ChainPart:
    """A commit of the task that did not end it."""

    commit: CommitOid
    parent: CommitOid | None
    """What the task's commit had to sit on before."""


@dataclass(frozen=True)
class Seat:
    """One agent's place in the chain."""

    actor: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    session_id: str | None = None
    qa_log_path: str | None = None
    rounds: int = 0
    """How often the tree was handed to this agent."""
    snapshots: tuple[Expectation, ...] = ()
    done_tree: TreeOid | None = None
    """The tree that its `done` stands for."""
    stale: bool = False
    findings: tuple[Finding, ...] = ()
    budget: int = 0

    @property
    def last(self) -> Expectation | None:
        """Its last snapshot."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def approves(self) -> bool:
        """True while its `done` stands."""
        return self.done_tree is not None and not self.stale

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """What it found and has not closed."""
        return tuple(finding for finding in self.findings if finding.closed_at is None)

    def is_from_before(self, finding: Finding) -> bool:
        """Return whether a finding is older than this turn, so that somebody had the tree to mend it."""
        return self.rounds > 1 and finding.at <= (self.started_at or "")


def expectation_of(
    record: Record, payload: payloads.Snapshot, *, handed: TreeOid, previous: str, worked: str | None
) -> Expectation:
    """Return what a `snapshot` record makes of the tree that its agent was handed by `previous`."""
    tree, commit_tree = cast(TreeOid, record.tree), cast(TreeOid, record.commit_tree)
    return Expectation(
        agent=cast(str, record.agent),
        n=payload.n,
        tree=tree,
        commit_tree=commit_tree,
        index_tree=payload.index_tree,
        head=record.commit,
        branch=payload.branch,
        in_progress=payload.in_progress,
        hidden=payload.hidden,
        scope_hash=payload.scope_hash,
        time=record.time,
        actor=record.actor,
        accepted=payload.accepted,
        takeover=payload.takeover,
        worked=worked,
        seq=record.seq,
        diff_sha=record.diff_sha,
        base=record.base,
        previous_tree=handed,
        previous_agent=previous,
        edits=tree != handed,
    )
