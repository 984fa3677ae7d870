"""One attempt of a task, as it is handed to an executor; in another process it does without what stays behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from git_taskctx.runner.context import ExecutionContext, Extension
from git_taskctx.runner.faults import BadResponse, Cancelled, TimedOut, Unreachable, Waiting
from git_taskctx.runner.outcome import Failure, HandBack, Outcome, State
from git_taskctx.runner.store import ContextReader
from git_taskctx.runner.task import Task, TaskContext

TICK = 0.05
"""Seconds between two looks at whether to end, where nothing wakes the one who waits."""
KEPT_OUTPUT = 16
"""Pieces of output, of 64 KiB at most, that come back from another process as events."""


class CancelToken:
    """Says to running tasks that they are to end; in another process through a file that is there or not."""

    def __init__(self, folder: Path | None = None) -> None:
        self._is_set = False
        self._folder = folder

    def set(self) -> None:
        """Ask all to end."""
        self._is_set = True
        if self._folder is not None:
            (self._folder / "cancel").touch()

    def is_set(self) -> bool:
        """Return whether to end."""
        return self._is_set or (self._folder is not None and (self._folder / "cancel").exists())

    def close(self) -> None:
        """Remove the file."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
            self._folder = None

    def __reduce__(self) -> tuple[object, ...]:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="taskctx-run-"))
        if self._is_set:
            self.set()
        return CancelToken, (self._folder,)


@dataclass
class Job:
    """What `run_job` needs."""

    task: Task
    reader: ContextReader
    attempt: int
    handed_back: tuple[HandBack, ...]
    cancel: CancelToken
    logs: Path | None
    extensions: tuple[Extension, ...]
    resources: Mapping[str, Any]
    root: ExecutionContext | None
    """The run's context, in its own process."""
    sink: Callable[[str, Mapping[str, Any]], None] | None
    """Takes events, in the run's own process."""
    collected: deque[tuple[str, Mapping[str, Any]]] = field(default_factory=deque)
    """Elsewhere they wait for the end, but for the earlier output."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "root": None, "sink": None, "resources": _LeftBehind(tuple(self.resources))}

    def emit(self, type: str, data: Mapping[str, Any]) -> None:
        """Send an event now, or keep it."""
        if self.sink is not None:
            self.sink(type, data)
            return
        self.collected.append((type, data))
        output = [event for event in self.collected if event[0] == "output"] if type == "output" else []
        if len(output) > KEPT_OUTPUT:
            self.collected.remove(output[0])


@dataclass(frozen=True, eq=False)
class _LeftBehind(Mapping[str, Any]):
    """The names of shared resources, in another process."""

    names: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        raise Unreachable(
            f"{name} is shared by reference, and is not in this process",
            hint="run the task on threads, or let it make its own",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def run_job(job: Job) -> Outcome:
    """Run one attempt, and return how it ended, whatever it raises."""
    root = job.root or ExecutionContext(extensions=job.extensions)
    ctx = TaskContext(
        job.task.id,
        root,
        job.reader,
        job.attempt,
        job.handed_back,
        job.resources,
        job.cancel.is_set,
        job.emit,
        job.logs,
    )
    state: State
    error: BaseException
    try:
        result = asyncio.run(_drive(job, root, ctx)) if job.task.is_async else root.run_child(ctx, job.task)
        _require_nothing(job.task.id, result)
        return Outcome("done", ctx.outputs.drain_writes(), events=tuple(job.collected))
    except Waiting as caught:
        state, error = "waiting", caught
    except TimedOut as caught:
        state, error = "timed out", caught
    except (Cancelled, asyncio.CancelledError, concurrent.futures.CancelledError) as caught:
        state, error = "cancelled", caught
    except (Exception, SystemExit) as caught:  # sys.exit() of a handler ends no run
        state, error = "failed", caught
    kept = ctx.outputs.drain_writes().only_kept()
    why, failure = (str(error), None) if state == "waiting" else ("", Failure.of(error))
    return Outcome(state, kept, why, failure, events=tuple(job.collected))


async def _drive(job: Job, root: ExecutionContext, ctx: TaskContext) -> Any:
    """Await a coroutine task, and cancel it when it is to end."""
    running = asyncio.ensure_future(root.arun_child(ctx, job.task))
    is_asked = False
    while not (await asyncio.wait([running], timeout=TICK))[0]:
        if job.cancel.is_set() and not is_asked:
            is_asked = running.cancel()
    return running.result()


def _require_nothing(name: str, result: object) -> None:
    if result is not None:
        raise BadResponse(f"{name} returned {type(result).__name__}; what a task brings, it sets: ctx.outputs.set(…)")
