"""The events of a run of a pipeline."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from collections.abc import Mapping
from typing import Any, Literal

from git_taskctx.model.payloads import AgentUsage
from git_taskctx.model.values import dataclass, optional


@dataclass(frozen=True)
class StageFailure:
    """Why a stage failed; two with one signature are the same failure."""

    kind: str
    message: str
    signature: str


EventType = Literal[
    "run-started", "stage-started", "output", "log", "usage", "stage-ended", "again", "merged", "collision", "waiting",
    "run-ended",
]  # fmt: skip


@dataclass(frozen=True)
class RunEvent:
    """A line of `run --format json`, and of `events.jsonl`, which has all but `output`."""

    v: int
    seq: int
    """Counts the events of a run, from 1."""
    time: str
    run: int
    type: EventType
    stage: str | None = optional()
    attempt: int | None = optional()
    agent: str | None = optional()
    gate: bool | None = optional()
    """True where it is about what a person is asked, and not about the command of the stage."""
    task: str | None = optional()
    pipeline: str | None = optional()
    stages: tuple[str, ...] | None = optional()
    stream: str | None = optional()
    text: str | None = optional()
    state: str | None = optional()
    """pending, waiting, done, failed, timed out, cancelled, skipped."""
    why: str | None = optional()
    tree: str | None = optional()
    before: str | None = optional()
    """The tree that lay there when those of `stages` were merged into it."""
    milliseconds: int | None = optional()
    usage: AgentUsage | None = optional()
    failed: tuple[str, ...] | None = optional()
    """The stages that handed the work back; at the end of a run, those that failed."""
    reused: bool | None = optional()
    """True where the outcome is known from before, and nothing was run."""
    next: str | None = optional()
    """The command that goes on."""
    failure: StageFailure | None = optional()
    key: str | None = optional()
    hash: str | None = optional()
    writes: Mapping[str, Any] | None = optional()
    """What the stage set; only in the file."""
