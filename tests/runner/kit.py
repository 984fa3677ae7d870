"""Functions for tasks that can go to another process, and pools to send them to."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from git_taskctx.runner import DagExecutor, Event, RunResult, StageContext, Task, TaskContext, Waiting, task


@contextmanager
def processes(workers: int = 2) -> Iterator[Executor]:
    """A pool of processes; not forked from a process with threads, which Python 3.12 warns of."""
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver")) as pool:
        yield pool


@contextmanager
def one_thread() -> Iterator[Executor]:
    """A pool of one thread."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@dataclass(frozen=True)
class Script:
    """What a task does: keys of its own, global keys with and without replace, flags, then how it ends."""

    own: tuple[str, ...] = ()
    shared: tuple[tuple[str, bool], ...] = ()
    flags: tuple[tuple[str, Any], ...] = ()
    ends: str = "done"

    def __call__(self, ctx: TaskContext) -> None:
        """Write what was seen, so that a wrong view shows in everything after it."""
        seen = sorted(f"{key}={value!r}"[:60] for key, value in ctx.inputs.items())
        for key in self.own:
            ctx.outputs.set(key, [len(seen), hash_of(seen)])
        for key, replaces in self.shared:
            ctx.outputs.set_global(key, ctx.task, replace=replaces)
        for name, value in self.flags:
            ctx.outputs.set_flag(name, value)
        if self.ends == "failed":
            raise ValueError(ctx.task)
        if self.ends == "waiting":
            raise Waiting("a person")


def hash_of(lines: list[str]) -> int:
    """Return a number for some lines, the same in every process."""
    return sum(index * ord(letter) for index, letter in enumerate("\n".join(lines), 1)) % 1_000_003


@task()
def first(ctx: TaskContext) -> None:
    """Set one key."""
    ctx.outputs.set("value", 1)


@task(after=[first], reads=["first.value", "start"])
def second(ctx: TaskContext) -> None:
    """Add what the seed has."""
    ctx.outputs.set("value", ctx.inputs["first.value"] + ctx.inputs["start"])


def old_style(context: StageContext) -> dict[str, Any]:
    """Return as old handlers do."""
    return {"output": {"from": context.seed["topic"]}, "refined": True}


def wants_io(context: StageContext) -> None:
    """Look at a shared resource."""
    context.execution.resources["io"].append(1)


def nothing(_: Any) -> None:
    """Do nothing."""


def run(*tasks: Task, seed: dict[str, Any] | None = None, **options: Any) -> RunResult:
    """Run some tasks on threads."""
    return DagExecutor(tasks, **options).run(seed)


def of_type(events: list[Event] | tuple[Event, ...], *types: str) -> list[Event]:
    """Return the events of some types."""
    return [event for event in events if event.type in types]


def states(result: RunResult) -> dict[str, str]:
    """Return the state of each task."""
    return {name: status.state for name, status in result.status.items()}
