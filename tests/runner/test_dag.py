"""The graph of tasks: order, statuses, failures, retries, going back, waiting, cancelling, resuming, events."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from git_taskctx.runner import (
    Again,
    BadGraph,
    Cancelled,
    CommandTask,
    DagExecutor,
    Event,
    ExecutionContext,
    Extension,
    NotPicklable,
    Outcome,
    Stage,
    Task,
    TaskContext,
    TimedOut,
    Waiting,
    diff_contexts,
    task,
)
from runner.kit import Script, first, nothing, of_type, processes, run, second, states


def fail(_: TaskContext) -> None:
    """Fail."""
    raise ValueError("no")


def test_decorated_functions_are_tasks() -> None:
    """The id is the function's name, `after` takes tasks or ids, and the task can be called as the function."""

    @task(after=["first"], reads=["first.value"], id="renamed")
    def anything(ctx: TaskContext) -> None:
        ctx.outputs.set_global("total", ctx.inputs["first.value"])

    result = run(first, second, anything, seed={"start": 41})
    assert (result.store["second.value"], result.store["total"]) == (42, 1)
    assert (second.after, second.reads, anything.id) == (("first",), {"first.value", "start"}, "renamed")
    assert result.ok


def test_tasks_run_in_dependency_order() -> None:
    """Each after what it needs, with one thread in topological order, ties by id."""
    ran: list[str] = []
    tasks = [Task(name, lambda ctx: ran.append(ctx.task), after=after) for name, after in
             (("d", "bc"), ("c", "a"), ("b", "a"), ("a", ""), ("z", ""))]  # fmt: skip
    assert run(*tasks, jobs=1).ok
    assert ran == ["a", "b", "c", "d", "z"]


@pytest.mark.parametrize(("tasks", "wrong"), [
    ([], ["there are no tasks"]),
    ([Task("a", fail, after=["b"]), Task("b", fail, after=["a"])], ["a cycle: "]),
    ([Task("a", fail, after=["x"])], ["'x', which is not a task"]),
    ([Task("a", fail), Task("a", fail)], ["two tasks are 'a'"]),
    ([Task("a.b", fail), Task("", fail), Task("data", fail), Task("a/b", fail)], ["'a.b'", "''", "'data'", "'a/b'"]),
    ([Task("a", fail), Task("b", fail, reads=["a.x"])], ["b reads 'a.x', and does not come after a"]),
    ([Task("a", fail), Task("b", fail, again=Again("a"))], ["b goes back to 'a'"]),
    ([Task("a", fail, definition={1, 2})], ["the definition of a is not JSON"]),
    ([Task("a b", fail), Task("b", fail, after=["x", "y"])], ["'a b'", "'x'", "'y'"]),
])  # fmt: skip
def test_everything_that_is_wrong_is_reported_before_anything_starts(tasks: list[Task], wrong: list[str]) -> None:
    """One error, with all of it."""
    with pytest.raises(BadGraph) as caught:
        DagExecutor(tasks)
    assert [words for words in wrong if words not in str(caught.value)] == []


def test_what_fails_fails_no_more_than_what_comes_after_it() -> None:
    """Dependents are skipped, with the reason; the rest is done; the failed task's writes are gone."""
    result = run(
        Task("a", Script(own=("x",), ends="failed")), Task("b", nothing, after=["a"]),
        Task("c", nothing, after=["b"]), Task("other", Script(own=("x",))),
    )  # fmt: skip
    assert states(result) == {"a": "failed", "b": "skipped", "c": "skipped", "other": "done"}
    assert (result.status["b"].why, result.status["c"].why) == ("a failed", "b skipped")
    assert (result.status["b"].attempts, result.status["b"].started) == (0, None)
    assert set(result.store) == {"data.seed", "other.x"}
    assert (result.ok, result.state) == (False, "failed")


def test_without_keep_going_nothing_starts_after_a_failure() -> None:
    """But for what runs always."""
    result = run(
        Task("a", fail), Task("b", nothing), Task("c", nothing, after=["b"]), Task("d", nothing, after=["c"],
        always=True), jobs=1, keep_going=False,
    )  # fmt: skip
    assert states(result) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "done"}
    assert result.status["b"].why == "a failed"


def test_what_runs_always_runs_after_failures() -> None:
    """It sees what was done, and not what failed brought; a timeout and a skipped task are failures too."""
    seen: list[Any] = []

    def late(_: TaskContext) -> None:
        raise TimedOut("late")

    result = run(
        Task("a", Script(own=("x",))), Task("b", Script(own=("x",), ends="failed"), after=["a"]), Task("l", late),
        Task("c", nothing, after=["b"]),
        Task("retrospective", lambda ctx: seen.append(sorted(ctx.inputs)), after=["c", "l"], always=True),
    )  # fmt: skip
    assert states(result) == {"a": "done", "b": "failed", "l": "timed out", "c": "skipped", "retrospective": "done"}
    assert seen == [["a.x", "data.seed"]]


def test_a_collision_fails_the_first_join_and_is_named_in_the_result() -> None:
    """What comes after the join is skipped; an event says what collides."""
    tasks = [Task("a", Script(shared=(("k", False),))), Task("b", Script(shared=(("k", False),))),
             Task("join", nothing, after=["a", "b"]), Task("last", nothing, after=["join"])]  # fmt: skip
    result = run(*tasks)
    assert states(result) == {"a": "done", "b": "done", "join": "failed", "last": "skipped"}
    (collision,) = result.collisions
    assert (collision.key, collision.first, collision.second, collision.at) == ("k", "a", "b", "join")
    assert result.status["join"].error is not None
    assert result.status["join"].error.exception == collision
    assert len(of_type(result.events, "collision")) == 1
    end = run(*tasks[:2])
    assert (end.ok, [one.at for one in end.collisions], len(of_type(end.events, "collision"))) == (False, [None], 1)


def test_a_descendant_that_writes_an_ancestors_key_unasked_fails() -> None:
    """Nothing of it is merged; with replace=True it is done."""
    asks = [Task(name, Script(own=("x",), shared=(("k", name == "c"),)), after=["a"]) for name in "bc"]
    result = run(Task("a", Script(shared=(("k", False),))), asks[0])
    assert states(result) == {"a": "done", "b": "failed"}
    assert set(result.store) == {"data.seed", "k"}
    result = run(Task("a", Script(shared=(("k", False),))), asks[1])
    assert (states(result), result.store["k"]) == ({"a": "done", "c": "done"}, "c")


def test_what_a_task_brings_it_sets() -> None:
    """A function that returns something fails, for what it returned would be lost."""
    result = run(Task("a", lambda _: 3))
    assert result.status["a"].error is not None
    assert "returned int" in result.status["a"].error.message


def test_a_handler_cannot_end_the_run() -> None:
    """`sys.exit` fails the task alone."""

    def leave(_: TaskContext) -> None:
        raise SystemExit(0)

    assert states(run(Task("a", leave), Task("b", nothing))) == {"a": "failed", "b": "done"}


def test_retries_count_and_stop() -> None:
    """Each attempt begins with nothing of the one before; the last one's error stands when all failed."""
    seen: list[tuple[int, set[str]]] = []

    def flaky(ctx: TaskContext) -> None:
        seen.append((ctx.attempt, set(ctx.inputs)))
        ctx.outputs.set(f"try{ctx.attempt}", 1)
        if ctx.attempt < 3:
            raise ValueError(ctx.attempt)

    result = run(Task("a", flaky, retries=2))
    assert seen == [(1, {"data.seed"}), (2, {"data.seed"}), (3, {"data.seed"})]
    assert set(result.store) == {"data.seed", "a.try3"}
    assert (result.status["a"].attempts, result.status["a"].error) == (3, None)
    result = run(Task("a", flaky, retries=1))
    assert result.status["a"].error is not None
    assert (result.status["a"].state, result.status["a"].error.message) == ("failed", "2")


class Rounds:
    """An implementer that is sent back by its test."""

    def __init__(self, good_at: int, *, same: bool = False) -> None:
        self.good_at, self.same = good_at, same
        self.rounds = 0
        self.handed: list[Any] = []

    def implement(self, ctx: TaskContext) -> None:
        """Write the round; the flag of the failed test must be gone."""
        assert "flags.failed" not in ctx.inputs
        self.handed.append([(back.task, back.error.message, dict(back.writes)) for back in ctx.handed_back])
        self.rounds += 1
        ctx.outputs.set_global("round", self.rounds)

    def test(self, ctx: TaskContext) -> None:
        """Fail until the work is good."""
        ctx.outputs.set_flag("failed", True)
        ctx.outputs.set("log", self.rounds, keep=True)
        if self.rounds < self.good_at:
            raise ValueError("always the same" if self.same else f"round {self.rounds}")

    def tasks(self, times: int = 3) -> list[Task]:
        """Return the tasks: implement, lint beside test, review, and one that runs always."""
        return [
            Task("before", nothing), Task("implement", self.implement, after=["before"]),
            Task("lint", nothing, after=["implement"]),
            Task("test", self.test, after=["implement"], again=Again("implement", times)),
            Task("review", nothing, after=["lint", "test"]),
            Task("tidy", nothing, after=["review"], always=True),
        ]  # fmt: skip


def test_a_failure_hands_back_to_where_it_says() -> None:
    """All that comes after is done again, once what runs beside it has ended; what comes before stays."""
    work = Rounds(good_at=3)
    result = run(*work.tasks(), rounds=True)
    assert result.ok, result.status
    assert work.handed == [[], [("test", "round 1", {"test.log": 1})], [("test", "round 2", {"test.log": 2})]]
    counts = {name: (status.attempts, status.refinements) for name, status in result.status.items()}
    assert counts == {"before": (1, 0), "implement": (3, 2), "lint": (3, 2), "test": (3, 2), "review": (1, 2),
                      "tidy": (1, 2)}  # fmt: skip
    assert {name: status.error for name, status in result.status.items() if status.error} == {}
    assert (result.store["round"], result.store["test.log"]) == (3, 3)
    assert [event.data["failed"] for event in of_type(result.events, "again")] == [("test",), ("test",)]
    diff = diff_contexts(result.rounds[0], result.rounds[1])
    assert (dict(diff.changed), diff.removed) == ({"round": (1, 2), "test.log": (1, 2)}, {})
    assert result.rounds[-1] == result.store


def test_when_the_rounds_are_used_up_the_task_fails() -> None:
    """What comes after is skipped, what runs always runs, once."""
    result = run(*Rounds(good_at=9).tasks(times=2))
    assert states(result) == {"before": "done", "implement": "done", "lint": "done", "test": "failed",
                              "review": "skipped", "tidy": "done"}  # fmt: skip
    assert (result.status["test"].attempts, result.status["tidy"].attempts) == (3, 1)


def test_the_same_failure_twice_waits() -> None:
    """No third round: a person is needed; what comes after is pending."""
    result = run(*Rounds(good_at=9, same=True).tasks())
    assert states(result) == {"before": "done", "implement": "done", "lint": "done", "test": "waiting",
                              "review": "pending", "tidy": "pending"}  # fmt: skip
    assert result.status["test"].why == "the same failure twice: always the same"
    assert (result.status["test"].attempts, result.state) == (2, "waiting")


def test_when_one_of_two_failures_is_the_same_both_wait() -> None:
    """No other round begins for the sake of the second."""
    rounds: list[int] = []

    def check(ctx: TaskContext) -> None:
        raise ValueError("same" if ctx.task == "test" else str(len(rounds)))

    checks = [Task(name, check, after=["implement"], again=Again("implement", 9)) for name in ("lint", "test")]
    result = run(Task("implement", lambda _: rounds.append(1)), *checks)
    assert (states(result), len(rounds)) == ({"implement": "done", "lint": "waiting", "test": "waiting"}, 2)
    assert result.status["lint"].why == result.status["test"].why == "the same failure twice: same"


def test_two_failures_are_handed_back_together() -> None:
    """Two checks that fail in one round send the work back once, with both reports, whichever ended first."""
    seen: list[list[str]] = []

    def implement(ctx: TaskContext) -> None:
        seen.append([back.task for back in ctx.handed_back])

    def check(ctx: TaskContext) -> None:
        if len(seen) == 1:
            raise ValueError(ctx.task)

    checks = [Task(name, check, after=["implement"], again=Again("implement")) for name in ("test", "lint")]
    result = run(Task("implement", implement), *checks)
    assert (result.ok, seen) == (True, [[], ["lint", "test"]])


def test_a_task_may_wait() -> None:
    """For a person, say: what comes after is pending, what does not is done; nothing of it is skipped."""
    result = run(
        Task("gate", Script(own=("x",), ends="waiting")), Task("after", nothing, after=["gate"]),
        Task("tidy", nothing, after=["after"], always=True), Task("other", nothing),
    )  # fmt: skip
    assert states(result) == {"gate": "waiting", "after": "pending", "tidy": "pending", "other": "done"}
    assert (result.status["gate"].why, result.status["after"].why) == ("a person", "after gate")
    assert (result.state, result.status["gate"].error) == ("waiting", None)
    assert [event.data["why"] for event in of_type(result.events, "waiting")] == ["a person"]


def test_held_nothing_more_starts() -> None:
    """A listener that sees a budget reached holds the run: what runs ends, the rest waits and says for what."""

    def listen(event: Event) -> None:
        if event.type == "usage":
            executor.hold("the budget of 5 USD is reached")

    def spend(ctx: TaskContext) -> None:
        ctx.emit("usage", usd=5)
        ctx.outputs.set("x", 1)

    executor = DagExecutor([Task("a", spend), Task("b", nothing, after=["a"]), Task("c", nothing, after=["b"])],
                           on_event=listen)  # fmt: skip
    result = executor.run()
    assert states(result) == {"a": "done", "b": "waiting", "c": "pending"}
    assert (result.status["b"].why, result.store["a.x"]) == ("the budget of 5 USD is reached", 1)


def test_cancelling_once_lets_running_tasks_end() -> None:
    """What ran is done and merged; what did not start is cancelled, also what runs always."""

    def stop(ctx: TaskContext) -> None:
        executor.cancel()
        assert not ctx.is_cancelled
        ctx.outputs.set("x", 1)

    executor = DagExecutor([Task("a", stop), Task("b", nothing, after=["a"]),
                            Task("tidy", nothing, after=["b"], always=True)])  # fmt: skip
    result = executor.run()
    assert states(result) == {"a": "done", "b": "cancelled", "tidy": "cancelled"}
    assert (result.store["a.x"], result.state) == (1, "cancelled")


@pytest.mark.parametrize("how", ["cancel", "hold", "stop"])
def test_what_an_executor_has_not_begun_does_not_start(how: str) -> None:
    """Also where all was submitted: what waits for a thread is taken back, and no attempt is counted."""

    def end(_: TaskContext) -> None:
        if how == "stop":
            raise ValueError("x")
        executor.cancel() if how == "cancel" else executor.hold("the budget")

    gate = threading.Event()

    def listen(event: Event) -> None:
        if (event.type, event.task) == ("stage-ended", "b8"):
            gate.set()

    tasks = [Task("a", end), *(Task(f"b{n}", lambda _: gate.wait() and None) for n in range(9))]
    with ThreadPoolExecutor(1) as pool:
        executor = DagExecutor(tasks, pool, listen, keep_going=False)
        result = executor.run()
    last = result.status["b8"]
    expected = {"cancel": "cancelled", "hold": "waiting", "stop": "skipped"}[how]
    assert (last.state, last.attempts, last.error) == (expected, 0, None)


def test_cancelling_twice_ends_what_runs() -> None:
    """Functions that ask, coroutines that wait, commands; each releases what it holds."""
    released: list[str] = []
    all_run = threading.Barrier(4, action=lambda: (executor.cancel(), executor.cancel()))

    def asks(ctx: TaskContext) -> None:
        ctx.on_close(lambda ended: released.append(f"asks {ended.state}"))
        all_run.wait()
        while True:
            ctx.check()

    async def waits(ctx: TaskContext) -> None:
        ctx.on_close(lambda ended: released.append(f"waits {ended.state}"))

        async def below(child: ExecutionContext) -> None:
            child.on_close(lambda ended: released.append(f"below {ended.state}"))
            await asyncio.to_thread(all_run.wait)
            await asyncio.Event().wait()

        await ctx.aexec(below)

    def listen(event: Event) -> None:
        if event.type == "output":
            threading.Thread(target=all_run.wait).start()

    command = CommandTask("command", ["sh", "-c", "echo begun; exec sleep 600"])
    last = Task("last", lambda _: all_run.wait() and None)
    executor = DagExecutor([Task("asks", asks), Task("waits", waits), command, last], on_event=listen, jobs=4)
    result = executor.run()
    assert states(result) == {"asks": "cancelled", "waits": "cancelled", "command": "cancelled", "last": "done"}
    assert sorted(released) == ["asks cancelled", "below cancelled", "waits cancelled"]
    assert released.index("below cancelled") < released.index("waits cancelled")


def test_cancel_works_in_a_signal_handler() -> None:
    """Ctrl-C once, while the runner waits for a task."""
    before = signal.signal(signal.SIGINT, lambda *_: executor.cancel())
    try:
        executor = DagExecutor(
            [Task("a", lambda _: os.kill(os.getpid(), signal.SIGINT)), Task("b", nothing, after=["a"])]
        )
        result = executor.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert states(result)["a"] == "done"
    assert states(result)["b"] in ("cancelled", "done")


def test_an_interrupt_ends_everything_and_goes_on() -> None:
    """KeyboardInterrupt in the runner's thread: commands are ended, then it is raised."""

    def listen(event: Event) -> None:
        if event.type == "output":
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background may ignore it
    try:
        executor = DagExecutor([CommandTask("a", ["sh", "-c", "echo begun; exec sleep 600"])], on_event=listen)
        with pytest.raises(KeyboardInterrupt):
            executor.run()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("type_", ["run-started", "stage-started", "usage", "output", "stage-ended", "run-ended"])
def test_a_listener_that_raises_ends_the_run(type_: str) -> None:
    """Nothing is swallowed: the error is the run's, and what runs is ended first."""

    def listen(event: Event) -> None:
        if event.type == type_:
            raise OSError("listener")

    command = CommandTask("a", ["sh", "-c", "echo hi"])
    executor = DagExecutor([command, Task("b", lambda ctx: ctx.emit("usage"))], on_event=listen)
    with pytest.raises(OSError, match="listener"):
        executor.run()
    with pytest.raises(OSError, match="listener"):  # it can run again: nothing is left of the first
        executor.run()


def test_events_are_counted_and_timed_by_the_clock() -> None:
    """One at a time, numbered from 1; each task's start and end with key, state, hash and writes."""
    ticks = iter(range(1000))
    events: list[Event] = []
    result = run(Task("a", Script(own=("x",))), on_event=events.append, clock=lambda: next(ticks))
    assert [(event.type, event.task) for event in events] == [
        ("run-started", None), ("stage-started", "a"), ("stage-ended", "a"), ("run-ended", None)]  # fmt: skip
    assert [event.seq for event in events] == [1, 2, 3, 4]
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert events == list(result.events)
    ended = events[2].data
    assert (ended["state"], ended["key"], ended["hash"]) == ("done", result.keys["a"], result.hashes["a"])
    assert dict(ended["writes"]) == {"a.x": result.store["a.x"]}
    assert result.status["a"].started is not None
    assert result.status["a"].ended is not None
    assert result.status["a"].started < result.status["a"].ended


def test_a_hash_is_over_definition_needs_and_own_writes() -> None:
    """Another definition, another value upstream, another write: another hash. What is beside it: the same."""

    def graph(value: int = 1, version: int = 1, *, beside: int = 1) -> list[Task]:
        def write(ctx: TaskContext) -> None:
            ctx.outputs.set("x", {"a": value, "b": beside}[ctx.task] if ctx.task != "c" else 1)

        return [Task(name, write, after=after, definition={"v": version}) for name, after in
                (("a", ""), ("b", ""), ("c", "a"))]  # fmt: skip

    plain = run(*graph())
    assert run(*graph()).hashes == plain.hashes
    assert run(*graph(beside=2)).hashes["c"] == plain.hashes["c"]
    assert run(*graph(), seed={"other": 1}).hashes == plain.hashes
    for other in (run(*graph(value=2)), run(*graph(version=2))):
        assert (other.hashes["c"] != plain.hashes["c"], other.keys["c"] != plain.keys["c"]) == (True, True)


class Journal:
    """What a pipeline keeps of a run, to go on from."""

    def __init__(self) -> None:
        self.kept: dict[str, Outcome] = {}

    def listen(self, event: Event) -> None:
        """Keep what ended, done or failed."""
        data = event.data
        if event.type == "stage-ended" and data["key"] is not None and data["state"] in ("done", "failed"):
            self.kept[data["key"]] = Outcome(data["state"], data["writes"], error=data["error"], hash=data["hash"])


def test_a_second_run_skips_what_is_known() -> None:
    """By content: same key, same hash, same store, nothing runs; a changed task runs again, and what follows it."""
    ran: list[str] = []

    def graph(version: int) -> list[Task]:
        def write(ctx: TaskContext) -> None:
            ran.append(ctx.task)
            ctx.outputs.set("x", version if ctx.task == "b" else 1)

        return [Task(name, write, after=after, definition=version if name == "b" else 1) for name, after in
                (("a", ""), ("b", "a"), ("c", "b"))]  # fmt: skip

    journal = Journal()
    one = run(*graph(1), on_event=journal.listen)
    two = run(*graph(1), finished=journal.kept.get)
    assert ran == ["a", "b", "c"]
    assert (dict(two.store), two.hashes, two.keys) == (dict(one.store), one.hashes, one.keys)
    assert {(status.state, status.why, status.attempts) for status in two.status.values()} == {
        ("skipped", "known from an earlier run", 0)}  # fmt: skip
    assert two.ok
    three = run(*graph(2), finished=journal.kept.get)
    assert (ran[3:], states(three)) == (["b", "c"], {"a": "skipped", "b": "done", "c": "done"})


def test_no_two_rounds_have_the_same_key() -> None:
    """Also where a failure comes back after another one: the outcome of that earlier round is not taken for it."""
    rounds: list[int] = []

    def check(_: TaskContext) -> None:
        if len(rounds) < 4:
            raise ValueError(f"failure {len(rounds) % 2}")

    journal = Journal()
    tasks = [Task("implement", lambda _: rounds.append(1)), Task("test", check, after=["implement"],
             again=Again("implement", 9))]  # fmt: skip
    whole = run(*tasks, on_event=journal.listen)
    keys = [event.data["key"] for event in of_type(whole.events, "stage-started")]
    assert (whole.ok, len(keys), len(set(keys))) == (True, 8, 8)
    resumed = run(*tasks, finished=journal.kept.get)
    assert (resumed.ok, len(rounds), resumed.status["test"].refinements) == (True, 4, 3)


@pytest.mark.parametrize("stop_after", range(1, 9))
def test_a_run_that_was_stopped_anywhere_goes_on(stop_after: int) -> None:
    """With rounds of refinement: no finished task runs again, none is lost, and the end is the same."""
    whole = run(*Rounds(good_at=3).tasks())
    journal, ended = Journal(), 0

    def listen(event: Event) -> None:
        nonlocal ended
        journal.listen(event)
        ended += event.type == "stage-ended"
        if ended == stop_after:
            raise OSError("killed")

    work = Rounds(good_at=3)
    with pytest.raises(OSError, match="killed"):
        run(*work.tasks(), on_event=listen, jobs=1)
    known = set(journal.kept)
    resumed = run(*work.tasks(), on_event=journal.listen, finished=journal.kept.get, jobs=1)
    assert resumed.ok, resumed.status
    assert (dict(resumed.store), resumed.hashes, resumed.keys) == (dict(whole.store), whole.hashes, whole.keys)
    started = {event.data["key"] for event in of_type(resumed.events, "stage-started")}
    assert started & known == set()


def test_any_executor_will_do() -> None:
    """Also one that runs a task where it is submitted."""

    class Inline(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    ran: list[int] = []
    tasks = [
        Task(f"t{n}", lambda _: ran.append(threading.get_ident()), after=[f"t{n - 1}"] if n else []) for n in range(9)
    ]
    assert run(*tasks, executor=Inline()).ok
    assert set(ran) == {threading.get_ident()}


def test_no_more_than_so_many_run_at_once() -> None:
    """`jobs` holds also on an executor with more workers."""
    lock, running, most = threading.Lock(), 0, 0

    def count(_: TaskContext) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        for _ in range(1000):
            pass
        with lock:
            running -= 1

    with ThreadPoolExecutor(8) as pool:
        assert run(*(Task(f"t{n}", count) for n in range(50)), executor=pool, jobs=2).ok
    assert most <= 2


def test_tasks_that_cannot_be_pickled_are_named_in_one_error() -> None:
    """Before anything starts, all of them, with what to do."""
    ran: list[int] = []
    with processes(1) as pool, pytest.raises(NotPicklable) as caught:
        DagExecutor([Task("a", lambda _: ran.append(1)), first, Task("c", lambda _: None, after=["a"])], pool)
    assert "Task('a')" in str(caught.value)
    assert "Task('c')" in str(caught.value)
    assert "first" not in str(caught.value)
    assert caught.value.hint is not None
    assert ran == []


def die(_: TaskContext) -> None:
    """End the worker."""
    os._exit(1)


def test_a_worker_that_dies_fails_its_task() -> None:
    """And what can no longer be sent; the run ends, with a result."""
    with processes(1) as pool:
        result = DagExecutor([Task("a", die), Task("b", nothing, after=["a"]), Task("c", nothing, after=["b"],
                              always=True)], pool).run()  # fmt: skip
    assert states(result) == {"a": "failed", "b": "skipped", "c": "failed"}
    assert result.status["a"].error is not None
    assert "BrokenProcessPool" in result.status["a"].error.kind


def test_errors_come_back_from_another_process() -> None:
    """Kind, message and traceback, the same as here."""
    tasks = [Task("a", fail)]
    with processes(1) as pool:
        there = DagExecutor(tasks, pool).run().status["a"].error
    here = run(*tasks).status["a"].error
    assert there == here is not None
    assert there is not None
    assert "raise ValueError" in there.trace
    assert there.exception is None


def test_extensions_wrap_tasks_and_what_they_execute() -> None:
    """The task's context is the child of the run's, and parent of those of its own execs."""
    names: list[tuple[str | None, str | None]] = []

    class Names(Extension):
        def wrap_exec(self, next: Callable[[], Any], target: Any, ctx: ExecutionContext) -> Any:
            names.append((ctx.parent.name if ctx.parent else None, ctx.name))
            return next()

    run(Task("a", lambda ctx: ctx.exec(lambda _: None, name="inner")), extensions=[Names()])
    assert names == [("run", "a"), ("a", "inner")]


def test_one_executor_runs_many_times_but_once_at_a_time() -> None:
    """Each run begins anew; a run inside a run of the same is refused."""
    executor = DagExecutor([Task("a", lambda _: executor.run() and None)])
    error = executor.run().status["a"].error
    assert error is not None
    assert error.message == "it runs already"
    executor = DagExecutor([Task("a", Script(own=("x",)))])
    assert executor.run({"a": 1}).store["a.x"] != executor.run().store["a.x"]


def test_the_final_context_is_kept_when_a_run_fails() -> None:
    """Store, data, flags, statuses, hashes and events are all there."""
    result = run(Stage("a", lambda _: {"data": 1, "flags": {"x": True}}), Task("b", fail, after=["a"]), seed={"s": 1})
    assert dict(result.store) == {"s": 1, "data.seed": {"s": 1}, "data.a": 1, "flags.x": True}
    assert (dict(result.data), dict(result.flags)) == ({"seed": {"s": 1}, "a": 1}, {"x": True})
    assert (set(result.hashes), result.events[-1].type) == ({"a", "b"}, "run-ended")


def test_a_cancelled_task_is_no_failure_that_is_retried() -> None:
    """Raised by the task itself, without anybody asking, it is cancelled, once."""

    def give_up(_: TaskContext) -> None:
        raise Cancelled("mine")

    result = run(Task("a", give_up, retries=3), Task("b", nothing, after=["a"]))
    assert (states(result), result.status["a"].attempts) == ({"a": "cancelled", "b": "skipped"}, 1)


def test_waiting_is_no_failure_that_is_retried() -> None:
    """A task that waits is asked once."""

    def wait(_: TaskContext) -> None:
        raise Waiting("x")

    assert run(Task("a", wait, retries=3)).status["a"].attempts == 1
