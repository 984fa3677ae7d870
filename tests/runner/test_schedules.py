"""Every schedule gives the same result: threads, processes, one thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import some

from git_taskctx.runner import Again, CommandTask, DagExecutor, RunResult, Task
from runner.kit import Script, one_thread, processes, states

KEYS = st.sampled_from("kl")
FLAGS = st.dictionaries(st.sampled_from("fg"), st.sampled_from([True, False, "s"]), max_size=1)


@st.composite
def graphs(draw: st.DrawFn) -> list[Task]:
    """Draw up to nine tasks that write, collide, replace, set flags of two types, fail, wait, run always, go back."""
    names = draw(st.permutations("abcdefghi"))[: draw(st.integers(1, 9))]
    tasks: list[Task] = []
    ancestors: dict[str, set[str]] = {}
    for name in names:
        after = draw(st.sets(st.sampled_from([task.id for task in tasks]), max_size=3)) if tasks else set()
        ancestors[name] = after.union(*(ancestors[need] for need in after))
        script = Script(
            own=tuple(draw(st.sets(st.sampled_from("xy")))),
            shared=tuple(draw(st.lists(st.tuples(KEYS, st.booleans()), max_size=2, unique_by=lambda pair: pair[0]))),
            flags=tuple(draw(FLAGS).items()),
            ends=draw(st.sampled_from(["done"] * 6 + ["failed", "waiting"])),
        )  # fmt: skip
        goal = draw(st.sampled_from(sorted(ancestors[name]))) if ancestors[name] and draw(st.booleans()) else None
        tasks.append(Task(
            name, script, after=sorted(after), always=draw(st.integers(0, 4)) == 0, retries=draw(st.integers(0, 1)),
            again=Again(goal, draw(st.integers(1, 2))) if goal else None, definition=repr(script),
        ))  # fmt: skip
    return tasks


def told(result: RunResult) -> dict[str, Any]:
    """Return what must not depend on the schedule."""
    return {
        "store": list(result.store.items()), "data": dict(result.data), "flags": dict(result.flags),
        "status": dict(result.status), "hashes": result.hashes, "keys": result.keys, "collisions": result.collisions,
        "rounds": result.rounds, "state": result.state,
    }  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Two processes."""
    with processes() as found:
        yield found


@pytest.fixture(scope="module")
def single() -> Iterator[Executor]:
    """One thread."""
    with one_thread() as found:
        yield found


def check(tasks: list[Task], pool: Executor, single: Executor) -> None:
    """Compare the three."""
    seed = {"start": 1, "k": 0}
    threads, there, one = (
        told(DagExecutor(tasks, executor, rounds=True).run(seed)) for executor in (None, pool, single)
    )
    assert threads == one
    assert there == one


@pytest.mark.slow
@given(tasks=graphs())
def test_a_random_graph_comes_to_the_same_end_everywhere(pool: Executor, single: Executor, tasks: list[Task]) -> None:
    """Same store in the same order, data, flags, statuses, hashes, collisions and rounds on all three executors."""
    check(tasks, pool, single)


@pytest.mark.slow
@pytest.mark.needs_dask
def test_a_clusters_executor_is_one_like_any_other(single: Executor) -> None:
    """The same end on two workers of dask, with a command, a failure, and work that goes back."""
    import distributed

    tasks = [
        Task("a", Script(own=("x",), flags=(("f", True),))),
        Task("b", Script(ends="failed"), after=["a"], again=Again("a")),
        CommandTask("c", ["sh", "-c", "echo here; exit 3"], after=["a"]),
        Task("d", Script(own=("y",), shared=(("k", True),)), after=["b", "c"], always=True),
    ]
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        there = DagExecutor(tasks, client.get_executor()).run({"k": 0})
    here = DagExecutor(tasks, single).run({"k": 0})
    assert (states(there), there.hashes) == (states(here), here.hashes)
    assert states(there) == {"a": "done", "b": "failed", "c": "failed", "d": "done"}
    assert there.store["c.stdout"]["tail"] == "here\n"


@pytest.mark.parametrize("run", some(range(3), (0,)))
def test_a_wide_graph_comes_to_the_same_end_every_time(run: int) -> None:
    """500 tasks over 20 levels on many threads, as on one."""
    tasks = [
        Task(
            f"t{n:03}",
            Script(own=("x",), flags=(("f", n),)),
            after=[f"t{m:03}" for m in range(n) if (n * 7 + m) % 97 == run],
        )
        for n in range(500)
    ]
    assert told(DagExecutor(tasks, jobs=32).run()) == told(DagExecutor(tasks, jobs=1).run())
