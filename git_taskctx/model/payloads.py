"""What each kind of record says beside its fixed fields: one class a kind.

Fields with a default may be missing: older records lack them, or not every record needs them. Names here are the
project's words; where the line has another, unchangeable one, it is the `key`.
"""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from typing import Any

from git_taskctx.model.context import Evidence, Status
from git_taskctx.model.manifest import Capture
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid
from git_taskctx.model.policy import NO_VERIFY
from git_taskctx.model.qa import QaReport, RunStatus
from git_taskctx.model.snapshot import HiddenChange, Operation
from git_taskctx.model.values import dataclass, field, optional


class Unset:
    """The value of a missing field, where null has another meaning."""

    def __bool__(self) -> bool:
        """Return False: there is nothing."""
        return False


UNSET: Any = Unset()


def named(key: str, default: Any = None) -> Any:
    """Return a field that has another name in the line."""
    return field(default=default, metadata={"key": key})


@dataclass(frozen=True)
class AgentUsage:
    """What an agent used, as far as its program reports it."""

    usd: str | None = optional()
    """A decimal number."""
    input_tokens: int | None = optional()
    output_tokens: int | None = optional()


@dataclass(frozen=True)
class StageRun:
    """Which attempt of which stage a record was written by."""

    run: int
    """Counts the runs of a task, from 1."""
    stage: str
    attempt: int
    key: str | None = optional()
    """Names the command, the policy and what the stage began with."""
    usage: AgentUsage | None = optional()


@dataclass(frozen=True)
class Origin:
    """Where and how a record was written; beside every payload."""

    clone: str | None = optional()
    worktree: str | None = optional()
    """As git names it; `main`, or `bare` where there is none."""
    force_secrets: bool = optional(False)
    """True where a suspected secret was recorded by force."""
    stage: StageRun | None = optional()
    """The stage of a pipeline that wrote it."""


@dataclass(frozen=True)
class Signature:
    """What is needed to check a signature: who made it when, as the signed commit says, and the signature itself."""

    committer: str
    value: str


@dataclass(frozen=True)
class Payload:
    """What a record says."""


@dataclass(frozen=True)
class Misfit(Payload):
    """Replaces a payload that cannot be read."""

    why: str
    """What is wrong, naming record and field."""


@dataclass(frozen=True)
class Init(Payload):
    """A context began."""

    agents: tuple[str, ...]
    """The chain of agents, in order."""
    anchor: BlobOid | None = None
    """The blob whose note holds the next records."""
    branch: str | None = None
    capture: Capture | None = optional()
    """What the text was captured from; not in older records."""
    commands: tuple[str, ...] | None = optional()
    """The task's commands; not in older records."""


@dataclass(frozen=True)
class Start(Payload):
    """An agent owns the tree, or goes on with its own."""

    previous_owner: str | None = optional(key="previous")
    round: int | None = optional()
    """Which turn of this agent it is, from 1."""
    back: bool = optional(False)
    """True when the tree goes to an earlier agent."""
    implied: bool = optional(False)
    """True when the owner before had changed nothing since its own start, and needed no snapshot."""
    attest: str | None = optional()
    """Why an unverified tree is attested."""
    resume: bool = optional(False)
    """True when the owner itself goes on."""
    note: str | None = optional()


@dataclass(frozen=True)
class Takeover(Start):
    """An agent owns the tree of one that died or gave up."""

    takeover: bool = True


@dataclass(frozen=True)
class Snapshot(Payload):
    """The worktree at the end of an agent's work; the trees stand in the fixed fields."""

    n: int
    """Which snapshot of this agent it is, from 1."""
    index_tree: TreeOid | None = None
    """Tree of what was staged; null when the index was unmerged."""
    branch: str | None = None
    in_progress: Operation | None = None
    scope_hash: str = ""
    diff_stat: str = named("stat", "")
    files_count: int = named("files", 0)
    verified_start: bool = True
    """False where the agent began with an attested tree."""
    done: bool = optional(False)
    wip: bool = optional(False)
    allow_clean: bool = optional(False)
    attest: str | None = optional()
    """Why an unverified tree is attested."""
    accepted: bool = optional(False)
    """True when it was recorded for the owner by somebody who accepted drift."""
    takeover: bool = optional(False)
    """True when it was recorded by a take-over."""
    reopened: tuple[str, ...] = optional(())
    """Paths that changed after this owner's own snapshot, without a start."""
    hidden: tuple[HiddenChange, ...] = optional(())
    out_of_scope: tuple[str, ...] = optional(())


@dataclass(frozen=True)
class Verify(Payload):
    """A verification that said yes; no version has written one yet."""


@dataclass(frozen=True)
class DriftCause:
    """Why the worktree differed."""

    kind: str
    path: str | None = None
    detail: str | None = None
    expected: str | None = optional()
    """Git's name of the content that was recorded."""
    present: str | None = optional()
    """Git's name of the content that was there instead."""


@dataclass(frozen=True)
class Drift(Payload):
    """A verification failed, and was counted in a drift budget."""

    digest: str = ""
    """What identifies the difference, so that it counts once."""
    expected_tree: TreeOid | None = named("expected")
    causes: tuple[DriftCause, ...] = ()
    """The first of them."""
    count: int = 0
    """How many there are."""


@dataclass(frozen=True)
class Resolve(Payload):
    """Drift was acknowledged, or the side of a fork that holds was chosen."""

    note: str | None = None
    accepted: bool = optional(False)
    """True when today's tree became the owner's snapshot."""
    holds: str | None = optional()
    """Hash of a record on the side that holds."""


@dataclass(frozen=True)
class Restore(Payload):
    """Files were put back to a snapshot."""

    snapshot_of: str | None = named("from")
    """The agent whose snapshot it is; `init` and `saved` stand beside agents."""
    n: int | None = None
    """Which of its snapshots."""
    paths: tuple[str, ...] = ()
    """Patterns of the paths that were asked for; none means all."""
    saved: int = 0
    """Number under which the state before was saved."""
    saved_tree: TreeOid | None = None


@dataclass(frozen=True)
class Block(Payload):
    """A finding blocks the chain."""

    finding: str
    """Its id."""
    text: str


@dataclass(frozen=True)
class Unblock(Payload):
    """A finding was closed."""

    finding: str
    """Its id."""


@dataclass(frozen=True)
class Update(Payload):
    """What an agent said of itself."""

    session_id: str | None = optional()
    qa_log_path: str | None = optional()
    done: bool = optional(False)
    """True when it approves the tree with it."""
    status: Status | None = optional()


@dataclass(frozen=True)
class Run:
    """A run of a command, but for who recorded it when, which the fixed fields say."""

    command: str | None
    exit_code: int | None
    status: RunStatus
    reports: tuple[QaReport, ...]
    log: str
    """Id of the evidence that holds the log."""
    claimed: bool | None = optional()
    """True for a baseline that was recorded when the tree was no longer as the task began."""


@dataclass(frozen=True)
class Qa(Payload):
    """A run of tests or linters was recorded."""

    run: Run
    baseline: bool = optional(False)
    """True when it is how the checks stood before the task."""
    evidence: Evidence | None = optional()
    """The log, where it was not on record before."""


@dataclass(frozen=True)
class Attach(Payload):
    """Evidence was attached."""

    evidence: Evidence


@dataclass(frozen=True)
class Rebuild(Payload):
    """The text of the task was captured anew."""

    fields: tuple[str, ...] = ()
    """The changed fields."""
    capture: Capture | None = optional()
    """What the text was captured from; not in older records."""
    commands: tuple[str, ...] | None = optional()
    """The task's commands; not in older records."""
    task_file_sha: BlobOid | None = optional()
    policy_commit: CommitOid | None = optional(key="policy")
    """The commit whose policy was taken."""
    same_text: bool = optional(False)
    """True when sections of standards moved and no word changed, so that approvals stand."""


@dataclass(frozen=True)
class Rebase(Payload):
    """What the task's commit must sit on moved, or the branch did at the same commit."""

    parent: CommitOid | None = None
    """What it must sit on from here on."""
    previous_parent: CommitOid | None = optional(UNSET, key="from")
    amended: bool = optional(False)
    """True when the last part of the task was taken back."""
    branch: str | None = optional(UNSET)
    """The branch from here on, null when detached; only where it changed."""
    previous_branch: str | None = optional(UNSET, key="from_branch")


@dataclass(frozen=True)
class Part(Payload):
    """A commit of the task that does not end it."""

    parent: CommitOid | None = None
    """What the task's commit must sit on from here on."""
    previous_parent: CommitOid | None = named("from")
    index_tree: TreeOid | None = None


@dataclass(frozen=True)
class TaskFile:
    """The task file as it is on record, where the commit's differs in keys that may change (`task.volatile`)."""

    path: str
    blob: BlobOid
    """Its entry in the recorded tree."""
    text_sha: str
    """sha256 of its content without those keys, as canonical JSON."""
    volatile: tuple[str, ...]
    """Those keys."""


@dataclass(frozen=True)
class Seal(Payload):
    """A commit ended the task: its tree is the one that was validated."""

    task_file: TaskFile | None = optional()
    """What a proof puts back in the commit's tree."""
    parent_tree: TreeOid | None = optional()
    """The tree of its parent, which holds also where the parent gets another name."""
    patch: str | None = optional()
    """Identity of its patch."""


@dataclass(frozen=True)
class Adopt(Seal):
    """A commit of the same tree took the place of the one that ended the task."""


@dataclass(frozen=True)
class Purge(Payload):
    """The context was put away."""


@dataclass(frozen=True)
class Recover(Payload):
    """The context was brought back."""


@dataclass(frozen=True)
class Bypass(Payload):
    """A commit bypassed the gate."""

    kind: str = NO_VERIFY
    """By the names of `commit.allow_bypass`."""
    how: str | None = None
    """The reflog's word for how it was made."""
    reason: str | None = None
    """Why the gate would have refused it."""
