"""What one role needs of a context: the file `context-<agent>.json`.

Parts are in the order in which they change, which sorted keys keep: `common` is constant during a task and the same
bytes for every agent, `role` is one agent's own, `state` changes. So a prompt cache can hit on the prefix. No time or
id is in it: the same inputs give the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.codec import to_plain
from git_taskctx.model.context import Command, Status
from git_taskctx.model.values import dataclass, optional

EXPORT_VERSION = 1
LISTED = 20
"""Paths of one kind that an export lists; of more it gives the count."""

Duty = Literal["implement", "review", "validate"]


@dataclass(frozen=True)
class Task:
    """The task in its own words, as every agent needs it."""

    title: str
    priority: str | None
    area: str | None
    description: str
    outcome: str | None
    scope_in: tuple[str, ...]
    scope_out: tuple[str, ...]
    acceptance_criteria: tuple[str, ...]
    quality_gates: tuple[str, ...]


@dataclass(frozen=True)
class Citation:
    """A section of a standard that the work must keep: where it is, and in short what it demands."""

    file: str
    section: str
    line_span: str
    requirement: str
    text: str | None = optional()
    """Its lines as they were captured; the first of them where it is long."""


@dataclass(frozen=True)
class Listed:
    """Paths, the first of them by name."""

    count: int
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Common:
    """What stands still during a task, the same for every agent."""

    agents: tuple[str, ...]
    """The chain, in order."""
    scope_patterns: tuple[str, ...]
    """Patterns of paths the task may change; none means every path."""
    standards_citations: tuple[Citation, ...]
    task: Task
    task_id: str
    dirty: Listed | None = optional()
    """Paths that were dirty when the task began, and are no agent's work."""


@dataclass(frozen=True)
class TurnCommand:
    """A command of an agent's turn."""

    command: str
    why: str


@dataclass(frozen=True)
class Role:
    """What one agent does, by its place in the chain and by policy."""

    agent: str
    duties: tuple[Duty, ...]
    """The first agent implements, the last one validates, those between review; one alone does the first two."""
    may_edit: bool
    """Whether its edits may be handed on."""
    distinct_actors: bool
    """True where whoever edited for an agent before it may not act for this one."""
    turn: tuple[TurnCommand, ...]
    """The commands of its turn, in order."""
    plan: tuple[str, ...] | None = optional()
    """Steps of the work; for whoever implements."""
    commands: tuple[Command, ...] | None = optional()
    """What checks the work; for whoever implements or validates."""
    checks_required: bool | None = optional()
    """True where its approval needs a passing run of each of the commands on record (`qa.require`)."""
    manual_checks: tuple[str, ...] | None = optional()
    """What is looked at by hand; for whoever implements or validates."""


@dataclass(frozen=True)
class ToDo:
    """An open finding that this agent must act on."""

    id: str
    by: str
    text: str
    act: Literal["mend", "close"]
    """`close` for whoever found it, once it is fixed; `mend` for whoever has to fix it."""


@dataclass(frozen=True)
class Handed:
    """What another agent left: how it stands, and its last snapshot."""

    agent: str
    status: Status
    stale: bool
    """True when its approval was given for a tree or a text that has been replaced since."""
    snapshot: int | None
    """Number of its last snapshot; null before its first."""
    files_count: int | None = optional()
    """Paths that differ from the base commit in that snapshot."""
    diff_stat: str | None = optional()
    """Lines added and deleted since the base commit, as in `+145 -32`."""
    unverified: bool | None = optional()
    """True when it was attested, or recorded by whoever accepted drift."""
    untracked: Listed | None = optional()
    """New files that are not tracked, in the newest of these snapshots: part of the work, or scratch that was left."""
    out_of_scope: Listed | None = optional()
    """Paths that it changed and no pattern of the task covers."""
    hidden: Listed | None = optional()
    """Paths whose content no tree and no diff shows, in the newest of these snapshots."""
    unfinished: tuple[str, ...] | None = optional()
    """What git was in the middle of, and markers of conflicts, in the newest of these snapshots."""
    qa_log_path: str | None = optional()
    qa_results: Mapping[str, Any] | None = optional()


@dataclass(frozen=True)
class Attached:
    """An attached artefact; `git taskctx` gives its content by id."""

    id: str
    type: str
    path: str
    description: str | None
    lines: str | None = optional()


@dataclass(frozen=True)
class State:
    """What moves during a task."""

    drift_budgets: Mapping[str, int]
    """Unresolved failed verifications by agent, above zero."""
    evidence: tuple[Attached, ...]
    findings: tuple[ToDo, ...]
    """Open findings that this agent must act on."""
    left: tuple[Handed, ...]
    """The agents before this one, and a later one that handed the tree back."""
    owner: str
    """Whose work the changes in the tree are."""
    stale: bool
    status: Status
    """How this agent stands."""
    end: Literal["validated", "committed", "put away"] | None = optional()
    """Why nobody has a turn: every agent approved the tree, it has been committed, or the context was put away."""
    baseline: Mapping[str, Any] | None = optional()
    """How the checks stood before the work; for whoever implements or validates."""


@dataclass(frozen=True)
class Export:
    """All that one role needs of a context."""

    common: Common
    role: Role
    state: State
    version: int = EXPORT_VERSION

    def to_bytes(self) -> bytes:
        """Serialize; the same value is the same bytes on every machine."""
        return dump_canonical(to_plain(self))


def export_name(agent: str) -> str:
    """Name the file of an agent's export."""
    return f"context-{agent}.json"
