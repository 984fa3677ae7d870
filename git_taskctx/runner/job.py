"""One attempt of a task, as it is handed to an executor; in another process it does without what stays behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from git_taskctx.runner.context import ExecutionContext, Extension, cancellations
from git_taskctx.runner.faults import BadResponse, TimedOut, Unreachable, Waiting
from git_taskctx.runner.outcome import Failure, HandBack, Outcome, State
from git_taskctx.runner.store import ContextReader, ContextWriter
from git_taskctx.runner.task import Task, TaskContext

TICK = 0.05
"""Seconds between two looks at whether to end, where nothing wakes the one who waits."""
_KEPT_OUTPUT = 16
"""Pieces of output, of 64 KiB at most, that come back from another process as events."""


class CancelToken:
    """Says to running tasks that they are to end; in another process through a file that is there or not."""

    def __init__(self, folder: Path | None = None) -> None:
        self._is_set, self._folder = False, folder

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
            import shutil

            shutil.rmtree(self._folder)

    def __reduce__(self) -> tuple[object, ...]:
        import tempfile

        self._folder = self._folder or Path(tempfile.mkdtemp(prefix="taskctx-run-"))
        if self._is_set:
            self.set()
        return CancelToken, (self._folder,)


class _LeftBehind(dict[str, Any]):
    """The names of shared resources, in another process."""

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        raise Unreachable(f"{name} is shared by reference, and is not in this process", hint="run the task on threads")


@dataclass
class Job:
    """What `run_job` needs; root and sink are those of the run, in its own process."""

    task: Task
    reader: ContextReader
    attempt: int
    handed_back: tuple[HandBack, ...]
    cancel: CancelToken
    logs: Path | None
    extensions: tuple[Extension, ...]
    resources: Mapping[str, Any]
    root: ExecutionContext | None
    sink: Callable[[str, Mapping[str, Any]], None] | None
    collected: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Events that wait for the end, in another process; of output the last pieces."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "root": None, "sink": None, "resources": _LeftBehind.fromkeys(self.resources)}

    def collect(self, type: str, data: Mapping[str, Any]) -> None:
        """Keep an event for the end."""
        self.collected.append((type, data))
        output = [event for event in self.collected if event[0] == "output"] if type == "output" else []
        if len(output) > _KEPT_OUTPUT:
            self.collected.remove(output[0])


def run_job(job: Job) -> Outcome:
    """Run one attempt, and return how it ended, whatever it raises."""
    root = job.root or ExecutionContext(extensions=job.extensions)
    ctx = TaskContext(name=job.task.id, parent=root)
    ctx.inputs, ctx.outputs, ctx.task = job.reader, ContextWriter(job.task.id), job.task.id
    ctx.attempt, ctx.handed_back, ctx.resources, ctx.logs = job.attempt, job.handed_back, job.resources, job.logs
    ctx.asks, ctx.sink = job.cancel.is_set, job.sink or job.collect
    state: State
    error: BaseException
    try:
        result = _awaited(job, root, ctx) if job.task.is_async else root.run_child(ctx, job.task.fn)
        _require_nothing(job.task.id, result)
        return Outcome("done", ctx.outputs.drain_writes(), events=tuple(job.collected))
    except Waiting as caught:
        return Outcome("waiting", ctx.outputs.drain_writes().only_kept(), str(caught), events=tuple(job.collected))
    except TimedOut as caught:
        state, error = "timed out", caught
    except cancellations() as caught:
        state, error = "cancelled", caught
    except (Exception, SystemExit) as caught:  # sys.exit() of a handler ends no run
        state, error = "failed", caught
    kept = ctx.outputs.drain_writes().only_kept()
    return Outcome(state, kept, error=Failure.of(error), events=tuple(job.collected))


def _awaited(job: Job, root: ExecutionContext, ctx: TaskContext) -> Any:
    """Await a coroutine task, and cancel it when it is to end."""
    import asyncio  # takes longer to load than all else together

    async def drive() -> Any:
        running = asyncio.ensure_future(root.arun_child(ctx, job.task.fn))
        is_asked = False
        while not (await asyncio.wait([running], timeout=TICK))[0]:
            if job.cancel.is_set() and not is_asked:
                is_asked = running.cancel()
        return running.result()

    return asyncio.run(drive())


def _require_nothing(name: str, result: object) -> None:
    if result is not None:
        raise BadResponse(f"{name} returned {type(result).__name__}; what a task brings, it sets: ctx.outputs.set(…)")
