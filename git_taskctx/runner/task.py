"""A task: a function, what it comes after, and what it reads; and what it is given when it runs."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from git_taskctx.runner.context import ExecutionContext
from git_taskctx.runner.faults import Cancelled
from git_taskctx.runner.outcome import HandBack
from git_taskctx.runner.store import ContextReader, ContextWriter

RESERVED = "data, flags or seed"
IDS = re.compile(r"(?!(data|flags|seed)\Z)\w[^\s./\\\x00-\x1f]{0,199}")
"""An id can be the name of a folder, has no dot, and is nothing under which the store itself keeps something."""


class Again(NamedTuple):
    """Where work goes back to when a task fails, and how many times."""

    task: str
    """An ancestor: it and all that comes after it is done again."""
    times: int = 1


class TaskContext(ExecutionContext):
    """The execution context of one attempt of a task."""

    inputs: ContextReader
    """What the seed and the task's ancestors set."""
    outputs: ContextWriter
    """What this attempt sets; dropped when it fails."""
    task: str
    attempt: int
    """From 1, counted through all rounds."""
    handed_back: tuple[HandBack, ...]
    """The failures that sent the work back here, in the round that they began."""
    resources: Mapping[str, Any]
    """What all tasks share by reference; in another process a look at one raises Unreachable."""
    logs: Path | None
    asks: Callable[[], bool]
    sink: Callable[[str, Mapping[str, Any]], None]

    @property
    def is_cancelled(self) -> bool:
        """Whether the task is to end now; a long function asks once in a while."""
        return self.asks()

    def check(self) -> None:
        """Raise Cancelled when the task is to end now."""
        if self.asks():
            raise Cancelled(f"{self.task} was cancelled")

    def emit(self, type: str, **data: Any) -> None:
        """Send an event; from another process it arrives when the task ends."""
        self.sink(type, data)

    def log_folder(self) -> Path:
        """Return a new or empty folder for the attempt's logs: the run's, or a temporary one that the caller owns."""
        if self.logs is None:
            import tempfile

            return Path(tempfile.mkdtemp(prefix=f"taskctx-{self.task}-"))
        folder = self.logs / self.task / str(self.attempt)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class Task:
    """A node of the graph; it can be called with a context, as the function that it is made of.

    reads: the only keys that it may read, and what goes with it to another process; None for all. always: whether it
    runs also when what it comes after failed. retry_on: the class of the errors after which it is tried again.
    definition: what its hash says of it, JSON that changes when what it does changes; the function's name by default.
    """

    def __init__(
        self,
        id: str,
        fn: Callable[[TaskContext], Any],
        *,
        after: Iterable[str | Task] = (),
        reads: Iterable[str] | None = None,
        always: bool = False,
        retries: int = 0,
        retry_on: type[Exception] = Exception,
        again: Again | None = None,
        definition: object = None,
    ) -> None:
        self.id, self.fn = id, fn
        self.after: tuple[str, ...] = tuple(task if isinstance(task, str) else task.id for task in after)
        self.reads = None if reads is None else frozenset(reads)
        self.always, self.retries, self.retry_on, self.again = always, retries, retry_on, again
        self.definition = definition if definition is not None else {"function": name_of(fn)}
        self.is_async = inspect.iscoroutinefunction(getattr(fn, "handler", fn))

    def __call__(self, ctx: TaskContext) -> Any:
        return self.fn(ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

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
    *, after: Iterable[str | Task] = (), reads: Iterable[str] | None = None, id: str | None = None, **options: Any
) -> Callable[[Callable[[TaskContext], Any]], Task]:
    """Make a task of a function; its id is the function's name. The other options are those of Task."""
    return lambda fn: Task(id or fn.__name__, fn, after=after, reads=reads, **options)
