"""A task: a function, what it comes after, and what it reads; and what it is given when it runs."""

from __future__ import annotations

import importlib
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from git_taskctx.runner.context import ExecutionContext
from git_taskctx.runner.faults import Cancelled
from git_taskctx.runner.outcome import HandBack
from git_taskctx.runner.store import ContextReader, ContextWriter


@dataclass(frozen=True)
class Again:
    """Where work goes back to when a task fails, and how many times."""

    task: str
    """An ancestor: it and all that comes after it is done again."""
    times: int = 1


class TaskContext(ExecutionContext):
    """The execution context of one attempt of a task."""

    def __init__(
        self,
        task: str,
        parent: ExecutionContext,
        inputs: ContextReader,
        attempt: int,
        handed_back: tuple[HandBack, ...],
        resources: Mapping[str, Any],
        is_cancelled: Callable[[], bool],
        emit: Callable[[str, Mapping[str, Any]], None],
        logs: Path | None,
    ) -> None:
        super().__init__(name=task, parent=parent)
        self.task = task
        self.inputs = inputs
        """What the seed and the task's ancestors set."""
        self.outputs = ContextWriter(task)
        """What this attempt sets; dropped when it fails."""
        self.attempt = attempt
        """From 1, counted through all rounds."""
        self.handed_back = handed_back
        """The failures that sent the work back here, in the round that they began."""
        self.resources = resources
        """What all tasks share by reference; in another process a look at one raises Unreachable."""
        self._is_cancelled, self._emit, self._logs = is_cancelled, emit, logs

    @property
    def is_cancelled(self) -> bool:
        """Whether the task is to end now; a long function asks once in a while."""
        return self._is_cancelled()

    def check(self) -> None:
        """Raise Cancelled when the task is to end now."""
        if self.is_cancelled:
            raise Cancelled(f"{self.task} was cancelled")

    def emit(self, type: str, **data: Any) -> None:
        """Send an event; from another process it arrives when the task ends."""
        self._emit(type, data)

    def log_folder(self) -> Path:
        """Return a new or empty folder for the attempt's logs: the run's, or a temporary one that the caller owns."""
        if self._logs is None:
            return Path(tempfile.mkdtemp(prefix=f"taskctx-{self.task}-"))
        folder = self._logs / self.task / str(self.attempt)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class Task:
    """A node of the graph; it can be called with a context, as the function that it is made of."""

    def __init__(
        self,
        id: str,
        fn: Callable[[TaskContext], Any],
        *,
        after: Iterable[str | Task] = (),
        reads: Iterable[str] | None = None,
        always: bool = False,
        retries: int = 0,
        again: Again | None = None,
        definition: object = None,
    ) -> None:
        self.id = id
        self.fn = fn
        self.after: tuple[str, ...] = tuple(task if isinstance(task, str) else task.id for task in after)
        self.reads = None if reads is None else frozenset(reads)
        """The only keys that it may read, and what goes with it to another process; None for all."""
        self.always = always
        """Whether it runs also when what it comes after failed."""
        self.retries = retries
        self.again = again
        self.definition = definition if definition is not None else {"function": name_of(fn)}
        """What its hash says of it: JSON that changes when what it does changes."""

    def __call__(self, ctx: TaskContext) -> Any:
        return self.fn(ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def is_async(self) -> bool:
        """Whether it is a coroutine function."""
        return inspect.iscoroutinefunction(getattr(self.fn, "handler", self.fn))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Where a decorated function is looked for by its name, there stands the task.
        module, name = getattr(self.fn, "__module__", None), getattr(self.fn, "__qualname__", "")
        if module is not None and getattr(sys.modules.get(module), name, None) is self:
            return _find, (module, name)
        return super().__reduce_ex__(protocol)


def _find(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def name_of(fn: Callable[..., Any]) -> str:
    """Return the module and name of a function, or of the class of another callable."""
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    return f"{named.__module__}.{named.__qualname__}"


def task(
    *,
    after: Iterable[str | Task] = (),
    reads: Iterable[str] | None = None,
    id: str | None = None,
    **options: Any,
) -> Callable[[Callable[[TaskContext], Any]], Task]:
    """Make a task of a function; its id is the function's name. The other options are those of Task."""

    def make(fn: Callable[[TaskContext], Any]) -> Task:
        return Task(id or fn.__name__, fn, after=after, reads=reads, **options)

    return make
