"""The events of a run of a pipeline."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from collections.abc import Mapping
from typing import Any, Literal

from git_taskctx.model.payloads import AgentUsage
from git_taskctx.model.values import dataclass, field


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


def _optional() -> Any:
    return field(default=None, metadata={"optional": True})


@dataclass(frozen=True)
class RunEvent:
    """A line of `run --format json`, and of `events.jsonl`, which has all but `output`."""

    v: int
    seq: int
    """Counts the events of a run, from 1."""
    time: str
    run: int
    type: EventType
    stage: str | None = _optional()
    attempt: int | None = _optional()
    agent: str | None = _optional()
    gate: bool | None = _optional()
    """True where it is about what a person is asked, and not about the command of the stage."""
    task: str | None = _optional()
    pipeline: str | None = _optional()
    stages: tuple[str, ...] | None = _optional()
    stream: str | None = _optional()
    text: str | None = _optional()
    state: str | None = _optional()
    """pending, waiting, done, failed, timed out, cancelled, skipped."""
    why: str | None = _optional()
    tree: str | None = _optional()
    before: str | None = _optional()
    """The tree that lay there when those of `stages` were merged into it."""
    milliseconds: int | None = _optional()
    usage: AgentUsage | None = _optional()
    failed: tuple[str, ...] | None = _optional()
    """The stages that handed the work back."""
    reused: bool | None = _optional()
    """True where the outcome is known from before, and nothing was run."""
    next: str | None = _optional()
    """The command that goes on."""
    failure: StageFailure | None = _optional()
    key: str | None = _optional()
    hash: str | None = _optional()
    writes: Mapping[str, Any] | None = _optional()
    """What the stage set; only in the file."""
