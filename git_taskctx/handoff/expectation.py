"""What a snapshot promises of the worktree, until somebody starts."""

from __future__ import annotations

from git_taskctx.model.oids import CommitOid, TreeOid
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
