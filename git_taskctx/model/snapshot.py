"""The recorded fingerprint of a worktree, and what changed to get there."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from typing import Literal

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import NamedTuple, dataclass, optional

Operation = Literal["merge", "rebase", "cherry-pick", "revert", "bisect", "am"]
ChangeStatus = Literal["A", "M", "D", "T"]


class Change(NamedTuple):
    """One path that differs; a side that is absent has mode 000000 and a null oid.

    A tuple: there may be hundreds of thousands.
    """

    path: bytes
    status: ChangeStatus
    old_mode: str
    mode: str
    old_oid: str
    oid: str
    renamed_from: bytes | None = None
    """Another path, deleted in the same step, that held exactly this blob. For display only."""


@dataclass(frozen=True)
class FileChange:
    """One path that differs from the base; paths are quoted as git quotes them."""

    path: str
    status: ChangeStatus
    sha256: str | None
    """Of the raw worktree bytes: a symlink's target, a submodule's commit; null when deleted."""
    previous_sha256: str | None
    """Of the same path in the tree before: as the previous owner's snapshot recorded it, else of its blob there; of the
    base's blob for the first agent. Null where nothing was, or where objects are gone."""
    mode: str | None
    previous_mode: str | None
    """In that same tree before."""
    size: int | None
    renamed_from: str | None = optional()
    """For display: a path deleted in the same step that held exactly these bytes."""


@dataclass(frozen=True)
class HiddenChange:
    """Content that no tree can show."""

    path: str
    kind: Literal["submodule dirty", "assume-unchanged", "skip-worktree"]
    sha256: str
    """What identifies the hidden state, so that two readings can be compared."""


@dataclass(frozen=True)
class WorktreeSnapshot:
    """What `snapshot` records."""

    n: int
    """Which snapshot of this agent it is, from 1."""
    base_commit: CommitOid | None
    head: CommitOid | None
    """HEAD when it was taken."""
    branch: str | None
    snapshot_time: str
    actor: str
    wip: bool
    tree: TreeOid
    tree_ref: str
    commit_tree: TreeOid
    index_tree: TreeOid | None
    """Tree of what was staged; null when the index was unmerged."""
    files: str
    """Side file with `files_changed` and the raw status."""
    files_sha: str
    files_count: int
    untracked: tuple[str, ...]
    """New untracked files by name, the first 50."""
    untracked_count: int
    hidden: tuple[HiddenChange, ...]
    """What differed where no tree can show it."""
    diff_from_base: str
    diff_sha: str
    diff_stat: str
    previous_agent: str
    diff_from_previous: str | None
    incremental_diff_sha: str | None
    incremental_diff_error: str | None
    """Why there is no incremental diff: objects of the previous snapshot are missing."""
    scope_hash: str
    out_of_scope: tuple[str, ...]
    """Paths that the task changed, whoever did, and no pattern covers."""
    in_progress: Operation | None
    verified_start: bool
    accepted: bool = False
    """True when it was recorded by `resolve-drift --accept`, not by the agent itself."""
    own_out_of_scope: tuple[str, ...] | None = optional()
    """Those of them that changed since the previous owner's snapshot; null where its objects are gone."""
    conflicts: tuple[str, ...] = optional(())
    """Changed files in which markers of a conflict stand, the first 50."""

    @property
    def unfinished(self) -> tuple[str, ...]:
        """What git was in the middle of, and left in the files, a sentence each."""
        return describe_unfinished(self.in_progress, self.conflicts, unmerged=self.index_tree is None)


def describe_unfinished(operation: Operation | None, conflicts: tuple[str, ...], *, unmerged: bool) -> tuple[str, ...]:
    """Return why a tree is not finished, a sentence each."""
    sentences = [] if operation is None else [f"{operation} in progress: finish it, or abort it"]
    if unmerged:
        sentences.append("the index is unmerged: `git status` lists what is left to merge")
    return (*sentences, *(f"{path} holds conflict markers" for path in conflicts))
