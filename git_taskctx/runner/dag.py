"""Drive a graph of tasks on an executor, so that every schedule gives the same result.

One thread, the caller's, decides everything: what starts, what is merged, what is skipped. Tasks run wherever the
executor runs them. Which task starts when differs from run to run; what each one sees, and what comes out, does not.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import heapq
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from git_taskctx.runner.context import ExecutionContext, Extension
from git_taskctx.runner.faults import BadGraph, BadResponse, BadValue, NotPicklable, WriteCollision
from git_taskctx.runner.frozen import checked_name, digest
from git_taskctx.runner.graph import Graph, faults_in
from git_taskctx.runner.job import CancelToken, Job, run_job
from git_taskctx.runner.outcome import Event, Failure, HandBack, Outcome, RunResult, State, Status
from git_taskctx.runner.store import DATA, FLAGS, SharedStore, reserved
from git_taskctx.runner.task import Task

Listener = Callable[[Event], object]
_FAILED = ("failed", "timed out")


class DagExecutor:
    """Some tasks, and how to run them. Raises: BadGraph with everything that is wrong with them; NotPicklable.

    executor: any; threads of its own by default. on_event: called for one event at a time, on any thread; what it
    raises ends the run. extensions: wrap every exec. jobs: how many run at once; by default as many as there are
    threads. keep_going: whether what does not depend on a failed task still runs; without it the schedule decides how
    far a failed run gets. resources: shared by reference. logs: the folder of the commands' output.
    finished: returns the outcome that a key had in an earlier run. rounds: keep the context of each round.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        executor: Executor | None = None,
        on_event: Listener | None = None,
        extensions: Iterable[Extension] = (),
        *,
        jobs: int | None = None,
        keep_going: bool = True,
        resources: Mapping[str, Any] | None = None,
        logs: Path | None = None,
        finished: Callable[[str], Outcome | None] | None = None,
        rounds: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        found = list(tasks)
        if faults := list(_faults_of(found)):
            raise BadGraph("; ".join(faults))
        self.tasks = {task.id: task for task in found}
        self.graph = Graph({task.id: task.after for task in found})
        self.executor, self.on_event, self.extensions = executor, on_event, tuple(extensions)
        self.threads = min(32, (os.cpu_count() or 1) + 4)
        self.jobs = jobs or (self.threads if executor is None else len(found))
        self.keep_going, self.rounds, self.clock = keep_going, rounds, clock
        self.resources = dict(resources or {})
        self.logs, self.finished = logs, finished
        self._run: _Run | None = None
        self._lock = threading.Lock()
        _require_picklable(found, self.extensions, executor)

    def run(self, seed: Mapping[str, Any] | None = None) -> RunResult:
        """Run all tasks; one that fails fails no more than what comes after it. Raises: BadValue for the seed."""
        run = _Run(self, SharedStore(seed, self.graph))
        with self._lock:
            if self._run is not None:
                raise RuntimeError("it runs already")
            self._run = run
        try:
            return run.drive()
        finally:
            self._run = None

    def cancel(self) -> None:
        """Start nothing more; a second time, end what runs too. From any thread, also in a signal handler."""
        if (run := self._run) is not None:
            run.cancel()

    def hold(self, why: str) -> None:
        """Start nothing more, and leave what did not start as waiting. From any thread, also in a listener."""
        if (run := self._run) is not None:
            run.hold(why)


def _faults_of(tasks: list[Task]) -> Iterator[str]:
    """Yield everything that is wrong with some tasks."""
    if not tasks:
        yield "there are no tasks"
    seen: set[str] = set()
    for task in tasks:
        try:
            reserved(checked_name(task.id, "the id"))
        except BadValue as error:
            yield error.message
        if task.id in seen:
            yield f"two tasks are {task.id!r}"
        seen.add(task.id)
    after = {task.id: task.after for task in tasks}
    if wrong := list(faults_in(after)):
        yield from wrong
        return
    graph = Graph(after)
    for task in tasks:
        for key in sorted(task.reads or ()):
            other = key.removeprefix(DATA).split(".")[0] if "." in key else None
            if other in after and not graph.descends(task.id, other):
                yield f"{task.id} reads {key!r}, and does not come after {other}"
        if task.again is not None and (task.again.task not in after or not graph.descends(task.id, task.again.task)):
            yield f"{task.id} goes back to {task.again.task!r}, which it does not come after"
        try:
            digest(task.definition)
        except (TypeError, ValueError) as error:
            yield f"the definition of {task.id} is no JSON: {error}"


def _require_picklable(tasks: list[Task], extensions: tuple[Extension, ...], executor: Executor | None) -> None:
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        return
    if not isinstance(executor, concurrent.futures.ProcessPoolExecutor):
        return
    wrong = []
    for what in (*tasks, *extensions):
        try:
            pickle.dumps(what)
        except Exception as error:
            wrong.append(f"{what!r} ({error})")
    if wrong:
        raise NotPicklable(
            f"processes get their tasks pickled, and these cannot be: {', '.join(wrong)}",
            hint="use functions of a module, not lambdas or local ones; or run on threads",
        )


class _Run:
    """One run: what is known of each task, and the loop that drives it."""

    def __init__(self, plan: DagExecutor, store: SharedStore) -> None:
        self.plan, self.store, self.graph = plan, store, plan.graph
        self.status = dict.fromkeys(plan.graph.order, Status())
        self.keys: dict[str, str] = {}
        self.hashes: dict[str, str] = {}
        self.events: list[Event] = []
        self.rounds: list[Mapping[str, Any]] = []
        self.handed: dict[str, tuple[HandBack, ...]] = {}
        self.tries: dict[str, int] = {}
        self.deferred: dict[str, Outcome] = {}
        """Failures that hand the work back, once nothing else can run."""
        self.before: dict[str, str] = {}
        """The signature of the failure that last handed back."""
        self.noticed: set[tuple[str | None, str]] = set()
        self.running: dict[Future[Outcome], str] = {}
        self.ended: SimpleQueue[Future[Outcome] | None] = SimpleQueue()
        self.sorter = plan.graph.sorter()
        self.ready: list[int] = []
        self.cancels = 0
        self.held: str | None = None
        self.stopped: str | None = None
        self.token = CancelToken()
        self.broken: BaseException | None = None
        self.seq = 0
        self.emitting = threading.RLock()

    def cancel(self) -> None:
        self.cancels += 1
        if self.cancels > 1:
            self.token.set()
            for future in list(self.running):
                future.cancel()
        self.ended.put(None)

    def hold(self, why: str) -> None:
        self.held = why
        self.ended.put(None)

    def drive(self) -> RunResult:
        """Run to the end. Nothing runs any more when this returns or raises."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.token.close)
            own = self.plan.executor is None
            self.executor = self.plan.executor or ThreadPoolExecutor(self.plan.threads, thread_name_prefix="taskctx")
            if own:
                stack.callback(self.executor.shutdown)
            self.root = stack.enter_context(ExecutionContext(name="run", extensions=self.plan.extensions))
            try:
                self.emit("run-started", tasks=self.graph.order)
                self._loop()
            except BaseException:
                self.cancels = 1
                self.cancel()
                concurrent.futures.wait(list(self.running))
                raise
            return self._result()

    def _loop(self) -> None:
        self._take_ready()
        while True:
            self._start()
            if self.running:
                self._settle_ended()
            elif not self._hand_back():
                return
            if self.broken is not None:
                raise self.broken

    def _take_ready(self) -> None:
        for name in self.sorter.get_ready():
            heapq.heappush(self.ready, self.graph.rank[name])

    def _start(self) -> None:
        """Start what can start, in the order of the graph; settle what cannot."""
        while self.ready and len(self.running) < self.plan.jobs:
            name = self.graph.names[heapq.heappop(self.ready)]
            if (found := self._known(name)) is not None:
                self._settle(name, found)
            else:
                self._submit(name)

    def _known(self, name: str) -> Outcome | None:
        """Return the outcome of a task without running it; None where it must run."""
        task = self.plan.tasks[name]
        needs = {need: self.status[need] for need in self.graph.after[name]}
        blocking = [f"after {need}" for need, status in needs.items() if status.state in ("waiting", "pending")]
        lost = [f"{need} {status.state}" for need, status in needs.items() if not status.is_done]
        if self.cancels:
            return Outcome("cancelled", why="the run was cancelled")
        if blocking:
            return Outcome("pending", why=min(blocking))
        if lost and not task.always:
            return Outcome("skipped", why=min(lost))
        if self.held is not None:
            return Outcome("waiting", why=self.held)
        if self.stopped and not task.always:
            return Outcome("skipped", why=f"{self.stopped} failed")
        collision = self.store.find_collision(name)
        if collision is not None and not task.always:
            return Outcome("failed", error=Failure.of(collision))
        self.keys[name] = digest(self._identity(name))
        return self.plan.finished(self.keys[name]) if self.plan.finished is not None else None

    def _identity(self, name: str) -> dict[str, Any]:
        """Return what a task's key is over; a round that was handed back is not the same as the one before."""
        status = self.status[name]
        return {
            "id": name,
            "definition": self.plan.tasks[name].definition,
            "needs": {need: self.hashes.get(need, self.status[need].state) for need in sorted(self.graph.after[name])},
            "round": [status.refinements, [back.error.signature for back in self.handed.get(name, ())]],
        }

    def _submit(self, name: str) -> None:
        task = self.plan.tasks[name]
        self.tries[name] = self.tries.get(name, 0) + 1
        status = self.status[name]
        attempt = status.attempts + 1
        now = self.plan.clock()
        self.status[name] = Status("running", "", attempt, status.refinements, now)
        data = {"key": self.keys[name], "refinement": status.refinements}
        self.emit("stage-started", name, attempt, **data)
        job = Job(
            task=task,
            reader=self.store.reader(name, task.reads),
            attempt=attempt,
            handed_back=self.handed.get(name, ()),
            cancel=self.token,
            logs=self.plan.logs,
            extensions=self.plan.extensions,
            resources=self.plan.resources,
            root=self.root,
            sink=lambda type, data: self.emit(type, name, attempt, **data),
        )
        try:
            future = self.executor.submit(run_job, job)
        except Exception as error:  # a pool that is broken, or shut down
            self._settle(name, Outcome("failed", error=Failure.of(error)))
            return
        self.running[future] = name
        future.add_done_callback(self.ended.put)

    def _settle_ended(self) -> None:
        """Wait for one task to end, and settle it and all that ended meanwhile."""
        found = [self.ended.get()]
        while not self.ended.empty():
            found.append(self.ended.get())
        for future in found:
            if future is None:
                continue
            name = self.running.pop(future)
            outcome = _outcome_of(future)
            for type_, data in outcome.events:
                self.emit(type_, name, self.status[name].attempts, **data)
            task = self.plan.tasks[name]
            if outcome.state in _FAILED and self.tries[name] <= task.retries and not self._is_ending():
                self._submit(name)
            else:
                self._settle(name, outcome)

    def _is_ending(self) -> bool:
        return bool(self.cancels) or self.held is not None

    def _settle(self, name: str, outcome: Outcome) -> None:
        """Merge what a task brought, and let go on what waits for it; or keep its failure, to hand back."""
        outcome = self._merged(name, outcome)
        again = self.plan.tasks[name].again
        is_left = again is not None and self.status[name].refinements < again.times
        is_own = outcome.error is not None and outcome.error.kind != WriteCollision.__name__
        if outcome.state in _FAILED and is_left and is_own and not self._is_ending():
            self.deferred[name] = outcome
            self._close(name, outcome)
            return
        if outcome.state in _FAILED and not self.plan.keep_going:
            self.stopped = self.stopped or name
        self._close(name, outcome)
        self.sorter.done(name)
        self._take_ready()

    def _merged(self, name: str, outcome: Outcome) -> Outcome:
        """Return the outcome as it is when its writes are merged."""
        try:
            self.store.merge(name, outcome.writes)
        except (WriteCollision, BadResponse) as error:
            outcome = replace(outcome, state="failed", writes=outcome.writes.only_kept(), error=Failure.of(error))
            self.store.merge(name, outcome.writes)
        if name in self.keys and outcome.state not in ("pending", "skipped", "cancelled"):
            seen = [self.keys[name], outcome.state, outcome.writes.identity()]
            self.hashes[name] = outcome.hash or digest(seen)
        return outcome

    def _close(self, name: str, outcome: Outcome) -> None:
        """Write down how a task ended, and say so."""
        old = self.status[name]
        is_reused = old.state != "running" and outcome.hash is not None
        state: State = "skipped" if is_reused and outcome.state == "done" else outcome.state
        why = "known from an earlier run" if is_reused and not outcome.why else outcome.why
        self.status[name] = replace(
            old, state=state, why=why, error=outcome.error, ended=self.plan.clock(), is_reused=is_reused
        )
        data: dict[str, Any] = {"state": state, "why": why, "error": outcome.error, "writes": outcome.writes}
        data |= {"key": self.keys.get(name), "hash": self.hashes.get(name)}
        if outcome.error is not None and isinstance(outcome.error.exception, WriteCollision):
            self.emit("collision", name, old.attempts, text=outcome.error.message)
        if state == "waiting":
            self.emit("waiting", name, old.attempts, why=why)
        self.emit("stage-ended", name, old.attempts, **data)

    def _hand_back(self) -> bool:
        """Take back what a failure hands back, when nothing else can run. Returns: whether there is more to do."""
        if not self.deferred:
            return bool(self.ready)
        plan = self.plan.tasks
        if self._is_ending():
            for name, outcome in sorted(self.deferred.items()):
                self._give_up(name, replace(outcome, state="waiting", why=self.held) if self.held else outcome)
            self.deferred.clear()
            return True
        goals = {name: again.task for name in self.deferred if (again := plan[name].again) is not None}
        goal = min(goals.values(), key=self.graph.rank.__getitem__)
        back = [
            name
            for name in self.graph.order
            if name in goals and (goal in (name, goals[name]) or self.graph.descends(name, goal))
        ]
        for name in back:
            error = self.deferred[name].error
            if error is not None and self.before.get(name) == error.signature:
                why = f"the same failure twice: {error.message}"
                self._give_up(name, replace(self.deferred.pop(name), state="waiting", why=why))
                return True
        self._take_back(goal, back)
        return True

    def _give_up(self, name: str, outcome: Outcome) -> None:
        self._close(name, outcome)
        self.sorter.done(name)
        self._take_ready()

    def _take_back(self, goal: str, failed: list[str]) -> None:
        """Reset a task and all that comes after it, but for what stays as it is."""
        if self.plan.rounds:
            self.rounds.append(dict(self.store.reader()))
        handed = []
        for name in failed:
            error = self.deferred.pop(name).error
            if error is not None:
                self.before[name] = error.signature
                handed.append(HandBack(name, error, dict(self.store.buffers.get(self.graph.rank[name], {}))))
        self.emit("again", goal, self.status[goal].attempts, failed=tuple(failed))
        for name in self.graph.order:
            if name == goal or self.graph.descends(name, goal):
                self.store.drop(name)
                self.status[name] = Status("pending", "", self.status[name].attempts, self.status[name].refinements + 1)
                for known in (self.keys, self.hashes, self.handed, self.tries):
                    known.pop(name, None)
        self.handed[goal] = tuple(handed)
        settled = {name for name, status in self.status.items() if status.ended is not None}
        self.sorter = self.graph.sorter(settled - self.deferred.keys())
        self.ready.clear()
        self._take_ready()

    def emit(self, type: str, task: str | None = None, attempt: int = 0, **data: Any) -> None:
        """Send an event to the listener, one at a time."""
        with self.emitting:
            if type == "deprecated":
                if (task, data["way"]) in self.noticed:
                    return
                self.noticed.add((task, data["way"]))
            self.seq += 1
            event = Event(type, self.seq, self.plan.clock(), task, attempt, data)
            if type != "output":
                self.events.append(event)
            if self.plan.on_event is None or self.broken is not None:
                return
            try:
                self.plan.on_event(event)
            except BaseException as error:
                self.broken = error
                self.ended.put(None)

    def _result(self) -> RunResult:
        reader = self.store.reader()
        collisions = tuple(self.store.collisions())
        if self.plan.rounds:
            self.rounds.append(dict(reader))
        for collision in collisions:
            if collision.at is None:
                self.emit("collision", text=str(collision))
        result = RunResult(
            reader, reader.under(DATA), reader.under(FLAGS), self.status, self.hashes, self.events, self.keys,
            collisions, self.rounds,
        )  # fmt: skip
        self.emit("run-ended", state=result.state)
        if self.broken is not None:
            raise self.broken
        return result


def _outcome_of(future: Future[Outcome]) -> Outcome:
    """Return the outcome; a worker that died, or a job that could not be sent, is a failure of the task."""
    try:
        return future.result()
    except concurrent.futures.CancelledError as error:
        return Outcome("cancelled", why="it did not start", error=Failure.of(error))
    except (Exception, SystemExit) as error:
        return Outcome("failed", error=Failure.of(error))
