"""The team's policy, as committed in `.taskctx.toml` and frozen into each context when it begins."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from collections.abc import Mapping
from typing import Literal

from git_taskctx.model.values import dataclass, field, optional

DEFAULT_AGENTS = ("implementer", "reviewer", "validator")

NO_VERIFY = "no-verify"
"""What `commit.allow_bypass` calls a commit that bypassed the gate."""


@dataclass(frozen=True)
class TaskPolicy:
    """Where task files are, and what in them may change while the task runs."""

    roots: tuple[str, ...] = ("tasks", "docs")
    """Folders under which `ID*.task.yaml` is looked up."""
    require_status: tuple[str, ...] = ("in_progress",)
    """A task file with another `status` is refused, unless `--any-status`."""
    volatile: tuple[str, ...] = ("status", "agent_*")
    """Top-level keys of a task file whose change is a notice, never drift."""


@dataclass(frozen=True)
class ChainPolicy:
    """Who may do what in the chain."""

    may_edit: tuple[str, ...] | None = None
    """Agents whose edits may be handed on; None is all but the last, or the only one."""
    distinct_actors: bool = False
    """True: an actor who edited may not act for a later agent."""


@dataclass(frozen=True)
class StandardsRule:
    """Sections of a standard that tasks of an area and priority must keep."""

    file: str
    """Path from the top of the worktree."""
    sections: tuple[str, ...] = ()
    """Anchors or titles of headings; none means all of the file."""
    area: str | None = None
    """None is every area."""
    priority: tuple[str, ...] = ()
    """None is every priority."""


@dataclass(frozen=True)
class StandardsPolicy:
    """Which standards a task must keep."""

    require: bool | None = None
    """True: a task file that no citation comes of is refused; None is true where there are rules."""
    rule: tuple[StandardsRule, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a task file must cite a standard."""
        return bool(self.rule) if self.require is None else self.require


@dataclass(frozen=True)
class ScopePolicy:
    """What the task may change."""

    outside: Literal["warn", "block"] = "warn"
    """What a snapshot does about changed paths that no pattern of the task covers."""
    macros_file: str | None = None
    """A JSON file of further macros, read as of the base commit; those that stand here win."""
    macros: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`:name` to the patterns that it stands for."""


@dataclass(frozen=True)
class QaPolicy:
    """Which commands check a task that names none itself, and whether they must have passed."""

    default: tuple[str, ...] = ()
    """For every task."""
    require: bool = False
    """True: the last approval needs a passing run of each command, recorded for that tree."""
    tier: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the task's area; wins over `default`."""


@dataclass(frozen=True)
class DriftPolicy:
    """How drift is counted."""

    allowance: int = 0
    """A budget above this blocks the chain."""
    strict: bool = False
    """True: what is staged counts too."""


@dataclass(frozen=True)
class CommitPolicy:
    """Which commits the gate allows, and which bypasses a proof tolerates."""

    require: Literal["budget", "snapshot", "validated"] = "validated"
    """How far the chain must be: no open drift budget, a snapshot of the owner, or every agent done."""
    partial: bool = False
    """True: a part of the commit tree may be committed; the last part ends the task."""
    allow_bypass: tuple[str, ...] = ("attest", "force-secrets")
    """Of `attest`, `force-secrets` and `no-verify`."""


@dataclass(frozen=True)
class HooksPolicy:
    """How the hooks of git behave."""

    fail_closed: bool = False
    """True: a bug of ours in the gate stops the commit."""
    pre_push: bool = False
    """True: only commits that are proved may leave."""
    remote_seconds: int = optional(60)
    """How long the hook before a push waits for a remote that it asks for records."""


@dataclass(frozen=True)
class ProofPolicy:
    """What a proof of commits asks for."""

    scope: Literal["tip", "tasks", "every"] = "tip"
    """Which commits of a range must be proved: the last, those of tasks, or all."""
    by_patch: bool = False
    """True: a commit with another tree is accepted when its patch is equal."""
    require_signed: bool = False
    """True: records are signed, and unsigned ones prove nothing."""
    allowed_signers: str = ".taskctx.signers"
    """The file, in the base commit, that says whose keys may sign as which actors."""


@dataclass(frozen=True)
class LimitsPolicy:
    """Sizes."""

    context_kib: int = 64
    """A context larger than this warns, in KiB."""
    enforce: bool = False
    """True: it is refused instead."""


@dataclass(frozen=True)
class SecretsPolicy:
    """Where secrets are not looked for."""

    allow_paths: tuple[str, ...] = ()
    """Patterns of paths whose content may look like a secret (fixtures)."""


@dataclass(frozen=True)
class LifecyclePolicy:
    """How long what is over is kept."""

    archive_days: int = 14
    """Number of days after its last record before `sweep` removes a context that was put away."""


@dataclass(frozen=True)
class Policy:
    """All of it."""

    agents: tuple[str, ...] = DEFAULT_AGENTS
    task: TaskPolicy = TaskPolicy()
    chain: ChainPolicy = ChainPolicy()
    standards: StandardsPolicy = StandardsPolicy()
    scope: ScopePolicy = field(default_factory=ScopePolicy)
    qa: QaPolicy = field(default_factory=QaPolicy)
    drift: DriftPolicy = DriftPolicy()
    commit: CommitPolicy = CommitPolicy()
    hooks: HooksPolicy = HooksPolicy()
    proof: ProofPolicy = ProofPolicy()
    limits: LimitsPolicy = LimitsPolicy()
    secrets: SecretsPolicy = SecretsPolicy()
    lifecycle: LifecyclePolicy = LifecyclePolicy()

    def may_edit(self, agent: str, agents: tuple[str, ...]) -> bool:
        """Return whether `agent`'s edits may be handed on in the chain `agents`."""
        if self.chain.may_edit is not None:
            return agent in self.chain.may_edit
        return len(agents) == 1 or agent != agents[-1]
