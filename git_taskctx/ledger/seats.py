"""What the chain keeps of each agent: snapshots, approval, findings; and of the task's commits."""

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
    """The owner's last snapshot: what the worktree must match until the next start."""

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
    """True when recorded by a take-over."""
    worked: str | None = None
    """The actor at work then, as named at the start."""
    seq: int = 0
    """Number of its record."""
    diff_sha: str | None = None
    base: CommitOid | None = None
    """Base commit of the deltas."""
    previous_tree: TreeOid | None = None
    """The tree handed to this owner."""
    previous_agent: str = "init"
    edits: bool = False
    """True when its tree differs from the one handed over."""


@dataclass(frozen=True)
class ChainPart:
    """A part: a commit of the task that did not end it."""

    commit: CommitOid
    parent: CommitOid | None
    """`git.parent` before it."""


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
    """The tree that its `done` approved."""
    stale: bool = False
    findings: tuple[Finding, ...] = ()
    budget: int = 0

    @property
    def last(self) -> Expectation | None:
        return self.snapshots[-1] if self.snapshots else None

    @property
    def approves(self) -> bool:
        """True while its `done` holds."""
        return self.done_tree is not None and not self.stale

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.closed_at is None)

    def is_from_before(self, finding: Finding) -> bool:
        """Return whether a finding is older than this turn, so that somebody could fix it."""
        return self.rounds > 1 and finding.at <= (self.started_at or "")


def expectation_of(
    record: Record, payload: payloads.Snapshot, *, handed: TreeOid, previous: str, worked: str | None
) -> Expectation:
    """Return the expectation that follows from a `snapshot` record; `previous` handed over the tree."""
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
