"""Drive a graph of tasks on an executor, so that every schedule gives the same result.

One thread, the caller's, decides everything: what starts, what is merged, what is skipped. Tasks run wherever the
executor runs them. Which task starts when differs from run to run; what each one sees, and what comes out, does not.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import heapq
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from git_taskctx.runner.context import ExecutionContext, Extension
from git_taskctx.runner.faults import BadGraph, BadResponse, NotPicklable, WriteCollision
from git_taskctx.runner.frozen import hash_json
from git_taskctx.runner.graph import Graph
from git_taskctx.runner.job import CancelToken, Job, run_job
from git_taskctx.runner.outcome import Event, Failure, HandBack, Outcome, RunResult, Status
from git_taskctx.runner.store import DATA, FLAGS, SharedStore
from git_taskctx.runner.task import IDS, RESERVED, Task

_FAILED = ("failed", "timed out")


class DagExecutor:
    """Some tasks, and how to run them.

    executor: any; threads of its own by default. on_event: called for one event at a time, on any thread; what it
    raises ends the run. extensions: wrap every exec, the first outermost. jobs: how many run at once; by default as
    many as there are threads. keep_going: whether what does not depend on a failed task still runs; without it, the
    schedule decides how far a run gets. resources: shared by reference, in this process. logs: the folder of the
    commands' output. finished: returns the outcome that a key had in an earlier run, done or failed. rounds: whether
    to keep the context at the end of each round. settled: called when what has ended is merged, before more starts.
    Raises: BadGraph with everything that is wrong with the tasks; NotPicklable.
    """

    def __init__(
        self, tasks: Iterable[Task], executor: Executor | None = None,
        on_event: Callable[[Event], object] | None = None, extensions: Iterable[Extension] = (), *,
        jobs: int | None = None, keep_going: bool = True, resources: Mapping[str, Any] | None = None,
        logs: Path | None = None, finished: Callable[[str], Outcome | None] = lambda _: None, rounds: bool = False,
        settled: Callable[[], object] = lambda: None, clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.executor, self.on_event, self.jobs, self.keep_going = executor, on_event, jobs, keep_going
        self.resources, self.logs, self.finished = resources or {}, logs, finished
        self.rounds, self.settled, self.clock = rounds, settled, clock
        self.tasks, self.extensions = tuple(tasks), tuple(extensions)
        faults = list(_faults_of(self.tasks))
        try:
            self.graph = Graph({task.id: task.after for task in self.tasks})
            faults += _faults_among(self.tasks, self.graph)
        except BadGraph as error:
            faults.append(error.message)
        if faults:
            raise BadGraph("; ".join(faults))
        if executor is not None and isinstance(executor, concurrent.futures.ProcessPoolExecutor):
            _require_picklable((*self.tasks, *self.extensions))
        self._run: _Run | None = None

    def run(self, seed: Mapping[str, Any] | None = None) -> RunResult:
        """Run all tasks; one that fails fails no more than what comes after it. Raises: BadValue for the seed."""
        if self._run is not None:
            raise RuntimeError("it runs already")
        self._run = _Run(self, SharedStore(seed, self.graph))
        try:
            return self._run.drive()
        finally:
            self._run = None

    def cancel(self) -> None:
        """Start nothing more; a second time, end what runs too. From any thread, also in a signal handler."""
        if (run := self._run) is not None:
            run.cancel()

    def hold(self, why: str) -> None:
        """Start nothing more, and leave what did not start as waiting. From any thread, also in a listener."""
        if (run := self._run) is not None:
            run.held = why
            run.ended.put(None)


def _faults_of(tasks: tuple[Task, ...]) -> Iterator[str]:
    """Yield what is wrong with single tasks."""
    if not tasks:
        yield "there are no tasks"
    names = Counter(task.id for task in tasks)
    for task in tasks:
        if not IDS.fullmatch(task.id):
            yield f"{task.id!r} is not an id: a letter, a digit or _ first, no dot, blank or slash, and not {RESERVED}"
        if names[task.id] > 1:
            yield f"two tasks are {task.id!r}"
        try:
            hash_json(task.definition)
        except (TypeError, ValueError) as error:
            yield f"the definition of {task.id} is not JSON: {error}"


def _faults_among(tasks: tuple[Task, ...], graph: Graph) -> Iterator[str]:
    """Yield what is wrong between tasks."""
    for task in tasks:
        for key in sorted(task.reads or ()):
            other = key.removeprefix(DATA).split(".")[0] if "." in key else None
            if other in graph.rank and not graph.descends(task.id, other):
                yield f"{task.id} reads {key!r}, and does not come after {other}"
        goal = task.again.task if task.again is not None else None
        if goal is not None and (goal not in graph.rank or not graph.descends(task.id, goal)):
            yield f"{task.id} goes back to {goal!r}, which it does not come after"


def _require_picklable(things: tuple[Task | Extension, ...]) -> None:
    import pickle

    wrong = []
    for thing in things:
        try:
            pickle.dumps(thing)
        except Exception as error:
            wrong.append(f"{thing!r} ({error})")
    if wrong:
        message = f"processes get their tasks pickled, and these cannot be: {', '.join(wrong)}"
        raise NotPicklable(message, hint="use functions of a module, not lambdas or local ones; or run on threads")


@dataclass
class _Node:
    """What a run knows of one task, in one round."""

    task: Task
    status: Status = field(default_factory=Status)
    key: str | None = None
    hash: str | None = None
    tries: int = 0
    handed: tuple[HandBack, ...] = ()
    deferred: Outcome | None = None
    """A failure that hands the work back, once nothing else can run."""
    signature: str | None = None
    """Of the failure that last handed back."""


class _Run:
    """One run: what is known of each task, and the loop that drives it."""

    def __init__(self, plan: DagExecutor, store: SharedStore) -> None:
        self.plan, self.store, self.graph = plan, store, plan.graph
        tasks = {task.id: task for task in plan.tasks}
        self.nodes = {name: _Node(tasks[name]) for name in self.graph.order}
        self.sorter, self.ready = self.graph.sorter(), list[int]()
        self.running: dict[Future[Outcome], str] = {}
        self.ended: SimpleQueue[Future[Outcome] | None] = SimpleQueue()
        self.token, self.cancels = CancelToken(), 0
        self.held: str | None = None
        self.stopped: str | None = None
        self.broken: BaseException | None = None
        """What a listener raised."""
        self.events, self.seq, self.noticed = list[Event](), 0, set[object]()
        self.rounds: list[Mapping[str, Any]] = []
        self.emitting = threading.RLock()

    def cancel(self) -> None:
        self.cancels += 1
        if self.cancels > 1:
            self.token.set()
        self.ended.put(None)

    def drive(self) -> RunResult:
        """Run to the end. Nothing runs any more when this returns or raises."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.token.close)
            threads = min(32, (os.cpu_count() or 1) + 4)
            self.executor = self.plan.executor or stack.enter_context(ThreadPoolExecutor(threads, "taskctx"))
            self.jobs = self.plan.jobs or (len(self.nodes) if self.plan.executor else threads)
            self.root = stack.enter_context(ExecutionContext(name="run", extensions=self.plan.extensions))
            try:
                self.emit("run-started", tasks=self.graph.order)
                self._take_ready()
                while self._step():
                    self._require_listener()
            except BaseException:
                self.cancels = 1
                self.cancel()
                concurrent.futures.wait(self.running)
                raise
            return self._result()

    def _take_ready(self) -> None:
        for name in self.sorter.get_ready():
            heapq.heappush(self.ready, self.graph.rank[name])

    def _step(self) -> bool:
        """Start what can start, in the order of the graph, and wait for one to end. Returns: whether there is more."""
        while self.ready and len(self.running) < self.jobs:
            name = self.graph.names[heapq.heappop(self.ready)]
            if (known := self._known(self.nodes[name])) is not None:
                self._settle(name, known)
            else:
                self._submit(name)
        if not self.running:
            return self._hand_back()
        future = self.ended.get()
        while future is not None:
            self._take(self.running.pop(future), future)
            future = self.ended.get() if not self.ended.empty() else None
        self.plan.settled()
        if self._is_ending() or self.stopped:
            for future in self.running:
                future.cancel()  # where the executor has not begun with it
        return True

    def _known(self, node: _Node) -> Outcome | None:
        """Return the outcome of a task without running it; None where it must run."""
        needs = [(need, self.nodes[need].status) for need in sorted(node.task.after)]
        lost = next((f"{need} {status.state}" for need, status in needs if not status.is_done), None)
        open_ = next((need for need, status in needs if status.state in ("waiting", "pending")), None)
        if self.cancels:
            return Outcome("cancelled", why="the run was cancelled")
        if open_ is not None:
            return Outcome("pending", why=f"after {open_}")
        if not node.task.always and (lost or self.stopped):
            return Outcome("skipped", why=lost or f"{self.stopped} failed")
        if self.held is not None:
            return Outcome("waiting", why=self.held)
        collision = next(self.store.collisions(node.task.id), None)
        if collision is not None and not node.task.always:
            return Outcome("failed", error=Failure.of(collision))
        signatures = [back.error.signature for back in node.handed]
        hashes = {need: self.nodes[need].hash or status.state for need, status in needs}
        node.key = hash_json([node.task.id, node.task.definition, hashes, node.status.refinements, signatures])
        return self.plan.finished(node.key)

    def _submit(self, name: str) -> None:
        node = self.nodes[name]
        node.tries += 1
        old = node.status
        attempt = old.attempts + 1
        node.status = Status("running", "", attempt, old.refinements, self.plan.clock())
        self.emit("stage-started", name, attempt, key=node.key, refinement=old.refinements)
        job = Job(
            node.task, self.store.reader(name, node.task.reads), attempt, node.handed, self.token, self.plan.logs,
            self.plan.extensions, self.plan.resources, self.root,
            lambda type, data: self.emit(type, name, attempt, **data),
        )  # fmt: skip
        try:
            future = self.executor.submit(run_job, job)
        except Exception as error:  # a pool that is broken, or shut down
            self._settle(name, Outcome("failed", error=Failure.of(error)))
        else:
            self.running[future] = name
            future.add_done_callback(self.ended.put)

    def _is_ending(self) -> bool:
        return bool(self.cancels) or self.held is not None

    def _take(self, name: str, future: Future[Outcome]) -> None:
        node, old = self.nodes[name], self.nodes[name].status
        if future.cancelled():
            node.status, node.tries = Status("pending", "", old.attempts - 1, old.refinements), node.tries - 1
            heapq.heappush(self.ready, self.graph.rank[name])
            return
        outcome = _outcome_of(future)
        for type_, data in outcome.events:
            self.emit(type_, name, old.attempts, **data)
        is_tried = outcome.state in _FAILED and node.tries <= node.task.retries and not self._is_ending()
        if is_tried and outcome.error is not None and outcome.error.is_a(node.task.retry_on):
            self._submit(name)
        else:
            self._settle(name, outcome)

    def _settle(self, name: str, outcome: Outcome) -> None:
        """Merge what a task brought, and let go on what waits for it; or put its failure off, to hand back."""
        node = self.nodes[name]
        try:
            self.store.merge(name, outcome.writes)
        except (WriteCollision, BadResponse) as error:
            outcome = replace(outcome, state="failed", writes=outcome.writes.only_kept(), error=Failure.of(error))
            self.store.merge(name, outcome.writes)
        if node.key is not None:
            found = {**outcome.writes, **outcome.writes.identities}
            node.hash = outcome.hash or hash_json([node.key, outcome.state, found])
        again = node.task.again
        if outcome.state in _FAILED and node.key is not None and again and node.status.refinements < again.times:
            node.deferred = outcome
        self._close(name, outcome)
        if node.deferred is None:
            self._let_go(name)

    def _let_go(self, name: str) -> None:
        if self.nodes[name].status.state in _FAILED and not self.plan.keep_going:
            self.stopped = self.stopped or name
        self.sorter.done(name)
        self._take_ready()

    def _close(self, name: str, outcome: Outcome) -> None:
        """Write down how a task ended, and say so."""
        node = self.nodes[name]
        old = node.status
        is_reused = old.state != "running" and outcome.hash is not None
        state = "skipped" if is_reused and outcome.state == "done" else outcome.state
        why = outcome.why or ("known from an earlier run" if is_reused else "")
        node.status = Status(state, why, old.attempts, old.refinements, old.started, self.plan.clock(), outcome.error,
                             is_reused)  # fmt: skip
        if outcome.error is not None and isinstance(outcome.error.exception, WriteCollision):
            self.emit("collision", name, old.attempts, text=outcome.error.message)
        if state == "waiting":
            self.emit("waiting", name, old.attempts, why=why)
        self.emit("stage-ended", name, old.attempts, state=state, why=why, error=outcome.error, writes=outcome.writes,
                  key=node.key, hash=node.hash)  # fmt: skip

    def _hand_back(self) -> bool:
        """Take back what failures hand back, when nothing else can run. Returns: whether there is more to do."""
        nodes = {name: node for name, node in self.nodes.items() if node.deferred is not None}
        if not nodes:
            return bool(self.ready)
        goal = min(
            (node.task.again.task for node in nodes.values() if node.task.again), key=self.graph.rank.__getitem__
        )
        failed = {
            name: node.deferred for name, node in nodes.items() if node.deferred and self.graph.descends(name, goal)
        }
        same = [one.error for name, one in failed.items() if one.error and one.error.signature == nodes[name].signature]
        if not same and not self._is_ending():
            self._take_back(goal, {name: outcome.error for name, outcome in failed.items() if outcome.error})
            return True
        why = self.held or (f"the same failure twice: {same[0].message}" if same else None)
        for name, outcome in failed.items():
            nodes[name].deferred = None
            if why:
                self._close(name, replace(outcome, state="waiting", why=why))
            self._let_go(name)
        return True

    def _take_back(self, goal: str, failed: Mapping[str, Failure]) -> None:
        """Begin a round: reset a task and all that comes after it."""
        if self.plan.rounds:
            self.rounds.append(dict(self.store.reader()))
        self.emit("again", goal, self.nodes[goal].status.attempts, failed=tuple(failed))
        handed = tuple(HandBack(name, error, self.store.written_by(name)) for name, error in failed.items())
        for name, node in self.nodes.items():
            if name == goal or self.graph.descends(name, goal):
                signature = failed[name].signature if name in failed else node.signature
                status = Status("pending", "", node.status.attempts, node.status.refinements + 1)
                self.nodes[name] = _Node(node.task, status, signature=signature)
        self.nodes[goal].handed = handed
        deferred = {name for name, node in self.nodes.items() if node.deferred is not None}
        settled = {name for name, node in self.nodes.items() if node.status.ended is not None}
        self.sorter = self.graph.sorter(settled - deferred)
        self.ready = sorted(self.graph.rank[name] for name in self.sorter.get_ready() if name not in deferred)

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
        reader, collisions = self.store.reader(), tuple(self.store.collisions())
        if self.plan.rounds:
            self.rounds.append(dict(reader))
        for collision in collisions:
            if collision.at is None:
                self.emit("collision", text=collision.message)
        done = {name: (node.hash, node.key) for name, node in self.nodes.items() if node.hash and node.key}
        result = RunResult(
            reader, reader.under(DATA), reader.under(FLAGS), {name: node.status for name, node in self.nodes.items()},
            {name: found[0] for name, found in done.items()}, self.events,
            {name: found[1] for name, found in done.items()}, collisions, self.rounds,
        )  # fmt: skip
        self.emit("run-ended", state=result.state)
        self._require_listener()
        return result

    def _require_listener(self) -> None:
        if self.broken is not None:
            raise self.broken


def _outcome_of(future: Future[Outcome]) -> Outcome:
    """Return the outcome; a worker that died, or a job that could not be sent, is a failure of the task."""
    try:
        return future.result()
    except (Exception, SystemExit) as error:
        return Outcome("failed", error=Failure.of(error))
