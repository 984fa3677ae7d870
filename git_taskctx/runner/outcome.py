"""What becomes of tasks and of a run: outcomes, statuses, events, the result."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from git_taskctx.runner.faults import WriteCollision
from git_taskctx.runner.store import ContextReader, Writes

State = Literal["pending", "waiting", "running", "done", "failed", "timed out", "cancelled", "skipped"]


@dataclass(frozen=True)
class Failure:
    """The error of a task, in a form that goes from one process to another."""

    kind: str
    """The class of the exception."""
    message: str
    signature: str
    """Equal for two failures that are the same failure: the exception's own `signature`, else kind and message."""
    trace: str = field(default="", compare=False, repr=False)
    """The traceback as text."""
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    """The exception itself, in the process that raised it."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return the failure that an exception is."""
        kind, trace = type(error).__name__, "".join(traceback.format_exception(error))
        return cls(kind, str(error), getattr(error, "signature", f"{kind}: {error}"), trace, error)

    def is_a(self, kind: type[Exception]) -> bool:
        """Return whether the exception is of a class; in another process its name says so."""
        return kind is Exception or isinstance(self.exception, kind) or self.kind == kind.__name__

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "exception": None}


@dataclass(frozen=True)
class Outcome:
    """How one attempt ended."""

    state: State
    writes: Writes = field(default_factory=Writes)
    """All of it when done; else what is kept."""
    why: str = ""
    error: Failure | None = None
    hash: str | None = None
    """Given for an outcome of an earlier run; otherwise worked out."""
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """What a task in another process emitted."""


class HandBack(NamedTuple):
    """A failure that sent the work back to an earlier task."""

    task: str
    """The one that failed."""
    error: Failure
    writes: Mapping[str, Any]
    """What it kept: of a command, its output."""


@dataclass(frozen=True)
class Status:
    """Where a task stands."""

    state: State = "pending"
    why: str = ""
    """For waiting and skipped; for pending, what it depends on."""
    attempts: int = 0
    """How many times it was started, in all rounds."""
    refinements: int = 0
    """How many times it was taken back to be done again."""
    started: float | None = field(default=None, compare=False)
    ended: float | None = field(default=None, compare=False)
    error: Failure | None = None
    """The last attempt's; a further attempt begins without one."""
    is_reused: bool = False
    """Whether it did not run, because its outcome was known from an earlier run."""

    @property
    def is_done(self) -> bool:
        """Whether those after it may run."""
        return self.state == "done" or (self.state == "skipped" and self.is_reused)


class Event(NamedTuple):
    """Something that happened in a run."""

    type: str
    """run-started, stage-started, output, log, deprecated, stage-ended, collision, waiting, again, run-ended; or what a
    task emits under a name of its own."""
    seq: int
    """Counts all events of the run, from 1."""
    time: float
    task: str | None
    attempt: int
    data: Mapping[str, Any]


@dataclass(frozen=True)
class RunResult:
    """What is left of a run, also of one that failed."""

    store: ContextReader
    """Everything, in topological order, ties by id; a key that two unordered tasks wrote has no value."""
    data: Mapping[str, Any]
    """What the stages brought, by stage, and the seed as `seed`."""
    flags: Mapping[str, Any]
    status: Mapping[str, Status]
    hashes: Mapping[str, str]
    """Of each task that ran, or need not: over its key and its own writes."""
    events: Sequence[Event]
    """All but `output`, of which there may be any amount."""
    keys: Mapping[str, str]
    """Of the same tasks: over the definition and the hashes of what it needs."""
    collisions: Sequence[WriteCollision]
    rounds: Sequence[Mapping[str, Any]]
    """Where asked for, the whole context at the end of each round of refinement, the last one too."""

    @property
    def state(self) -> State:
        """Return the state of the whole: cancelled, failed, waiting or done."""
        found = {status.state for status in self.status.values()}
        if "cancelled" in found:
            return "cancelled"
        if self.collisions or found & {"failed", "timed out"}:
            return "failed"
        return "waiting" if found & {"waiting", "pending"} else "done"

    @property
    def ok(self) -> bool:
        """Whether every task is done, and no two collide."""
        return self.state == "done"
