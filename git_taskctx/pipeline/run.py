"""Run a pipeline: the graph of its stages on the engine, its events, its budget, and how it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from git_taskctx.errors import Fatal, TaskctxError, Usage
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import AgentUsage
from git_taskctx.model.pipeline import Stage
from git_taskctx.model.record import Record
from git_taskctx.model.run import RunEvent, StageFailure
from git_taskctx.model.values import dataclass, field
from git_taskctx.pipeline.bench import Bench
from git_taskctx.pipeline.bodies import run_agent, run_check, run_gate
from git_taskctx.pipeline.cluster import TRIES, WorkerLost
from git_taskctx.pipeline.joins import run_join
from git_taskctx.pipeline.journal import ASK, VERSION, Journal
from git_taskctx.pipeline.known import Known
from git_taskctx.pipeline.plan import Plan
from git_taskctx.pipeline.processes import children, end_children, end_marked
from git_taskctx.runner import Again, DagExecutor, Event, RunResult, Task, TaskContext
from git_taskctx.situation import Situation
from git_taskctx.system import become_subreaper

_LASTING = ("run-started", "again", "merged", "collision", "waiting", "run-ended")
"""Events that are on the disk before the run goes on; so are the ends of stages, those together that come together."""
_PASSED_ON = ("output", "log", "collision", "usage")


@dataclass(frozen=True)
class RunEnded:
    """How a run ended."""

    run: int
    state: str
    """done, failed, waiting, cancelled."""
    next: str | None
    """The command that goes on, where it waits or was stopped."""
    hints: tuple[str, ...] = ()
    """What to type before."""
    failed: tuple[str, ...] = ()
    """The stages that failed, and have run."""


@dataclass
class _Driver:
    """Turns the engine's events into ours, and counts what was spent."""

    plan: Plan
    bench: Bench
    journal: Journal
    on_event: Callable[[RunEvent], None]
    hold: Callable[[str], None] = lambda _: None
    spent: dict[tuple[str, int], Decimal] = field(default_factory=dict)
    usages: dict[tuple[str, int], AgentUsage] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    """The tasks that run, and since when."""
    waiting: dict[str, str] = field(default_factory=dict)
    is_owed: bool = False
    """Whether the end of a stage is not on the disk yet."""

    def handle(self, event: Event) -> None:
        """Take one event of the engine; it sends one at a time."""
        if event.type in ("run-started", "run-ended"):
            return
        name = None if event.task is None else event.task.removesuffix(ASK)
        gate = True if event.task is not None and event.task != name else None
        stage = None if name is None else self.plan.stage_of(name)
        attempt = self._attempt(event, gate)
        if event.type == "stage-started" and event.task is not None:
            self.started[event.task] = time.monotonic()
            self.bench.keys[event.task] = event.data["key"]
            if gate is None:
                self.emit("stage-started", stage=name, attempt=attempt, agent=stage and stage.agent)
        elif "before" in event.data:
            self.emit(event.type, attempt=attempt, agent=stage and stage.agent, **event.data)
        elif event.type in _PASSED_ON:
            self.emit(event.type, stage=name, attempt=attempt, stream=event.data.get("stream"),
                     text=event.data.get("text"), usage=event.data.get("usage"))  # fmt: skip
        elif event.type == "void":
            for one in event.data["stages"]:
                self.emit("stage-ended", stage=one, state="waiting", why=event.data["why"], key=self.bench.keys[one])
        elif event.type == "again":
            failed = tuple(event.data["failed"])
            self.emit("again", stage=name, attempt=attempt, failed=failed)
        elif event.type == "stage-ended" and stage is not None and name is not None:
            self._end(event, name, stage, gate, attempt)

    def _attempt(self, event: Event, gate: bool | None) -> int | None:
        if event.task is None or gate or not event.attempt:
            return None
        return self.journal.attempts.get(event.task, 0) + event.attempt

    def _end(self, event: Event, name: str, stage: Stage, gate: bool | None, attempt: int | None) -> None:
        state, error, task = event.data["state"], event.data["error"], event.task or ""
        began = self.started.pop(task, None)
        is_reused = began is None and event.data["hash"] is not None
        if state == "waiting":
            self.waiting[name] = event.data["why"]
        if gate and state in ("pending", "skipped", "cancelled") and not is_reused:
            return
        self.emit(
            "stage-ended", stage=name, gate=gate, attempt=attempt, agent=stage.agent, state=state,
            why=event.data["why"] or (error.message if error is not None else None) or None,
            tree=event.data["writes"].get(f"{task}.tree"),
            milliseconds=None if began is None else int(1000 * (time.monotonic() - began)),
            usage=self.usages.get((name, attempt or 0)), reused=is_reused or None,
            failure=StageFailure(error.kind, error.message, error.signature) if error is not None else None,
            key=event.data["key"], hash=event.data["hash"], writes=event.data["writes"],
        )  # fmt: skip

    def emit(self, type: Any, **data: Any) -> None:
        """Write an event down, and pass it on."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        event = RunEvent(VERSION, 0, now, self.journal.number, type, **data)
        if type == "output":
            event = RunEvent(VERSION, self.journal.count(), now, self.journal.number, type, **data)
        else:
            event = self.journal.append(event)
            self.is_owed = self.is_owed or data.get("milliseconds") is not None
            if type in _LASTING:
                self.settle()
        self.on_event(event)

    def settle(self) -> None:
        """Have on the disk what has ended."""
        self.is_owed = False
        self.journal.settle()

    def use(self, ctx: TaskContext, usage: AgentUsage) -> None:
        """Count what a stage used; when the budget is reached nothing new starts."""
        name = ctx.task.removesuffix(ASK)
        attempt = ctx.attempt
        self.usages[name, attempt] = usage
        self.spent[name, attempt] = Decimal(usage.usd or 0)
        ctx.emit("usage", usage=usage)
        budget, spent = self.plan.settings.budget.usd, sum(self.spent.values(), Decimal(0))
        if budget is not None and spent >= Decimal(budget):
            self.hold(f"the budget of {budget} USD is reached: {spent} USD spent")


def run_pipeline(
    plan: Plan, bench: Bench, settled: TreeOid, records: Sequence[Record],
    on_event: Callable[[RunEvent], None], *,
    jobs: int | None = None, keep_going: bool = False,
    on_signal: Callable[[Callable[[], None]], object] = lambda _: None,
) -> RunEnded:  # fmt: skip
    """Run the stages, and say how that ended; nothing runs any more when this returns.

    settled: the tree on record now; the run may have begun on another one.
    records: those of the task, which have what a kill kept from the events.
    on_signal: gets what ends the run: once in order, a second time at once.
    """
    journal, driver = bench.journal, _Driver(plan, bench, bench.journal, on_event)
    known = children()
    become_subreaper()
    end_marked(f"{bench.mark.rpartition('/')[0]}/")  # of runs before that were killed
    known_before = Known(plan, bench, settled, records)
    executor = DagExecutor(
        list(_tasks(plan, bench, bench.begins)), on_event=driver.handle, jobs=jobs, keep_going=keep_going,
        logs=journal.folder / "stages", finished=known_before.find,
        settled=lambda: driver.settle() if driver.is_owed else None,
    )  # fmt: skip
    driver.hold = bench.hold = executor.hold
    bench.on_usage = driver.use
    on_signal(executor.cancel)
    timer = _alarm(plan.settings.budget.wall, executor)
    driver.emit("run-started", task=bench.task, pipeline=plan.name, stages=plan.order, tree=bench.begins)
    with bench.trees:
        try:
            result = executor.run()
            bench.flush()
        except TaskctxError as error:
            driver.emit("run-ended", state="failed", why=error.message, next=bench.typed(Situation("run.goes_on")))
            raise
        finally:
            if timer is not None:
                timer.cancel()
            end_marked(f"{bench.mark}/")
            end_children(known)
    ended = _ended(driver, result)
    why = "; ".join(f"{name}: {text}" for name, text in driver.waiting.items()) or None
    driver.emit("run-ended", state=ended.state, why=why, failed=ended.failed or None, next=ended.next)
    return ended


def _alarm(wall: int | None, executor: DagExecutor) -> threading.Timer | None:
    if wall is None:
        return None
    timer = threading.Timer(wall, executor.hold, [f"the budget of {wall} s is reached"])
    timer.daemon = True
    timer.start()
    return timer


def _tasks(plan: Plan, bench: Bench, begins: TreeOid) -> Any:
    """Yield the tasks: one for each stage, one behind each that asks a person, one where trees are brought together."""
    asks, layout = {name for name, stage in plan.stages.items() if stage.ask is not None}, plan.layout
    for name in plan.order:
        stage = plan.stages[name]
        join = layout.join_of(name)
        after = [f"{one}{ASK}" if one in asks and layout.join_of(one) is None else one for one in layout.needs[name]]
        # A person is asked about what lies in the worktree: when it is brought together.
        after += [f"{one}{ASK}" for need in after for one in layout.joins.get(need, ()) if one in asks]
        again = None if stage.again is None else Again(stage.again.stage, stage.again.times)
        definition: dict[str, Any] = {"command": list(stage.run), "agent": stage.agent, "policy": plan.policy}
        if not after:
            definition["begins"] = begins
        if name in layout.own:
            settings = plan.settings
            definition |= {"tree": "own", "bring": list(settings.bring), "setup": list(map(list, settings.setup))}
        run = run_check if stage.agent is None else run_agent
        yield Task(name, partial(run, bench, name, stage), after=after, again=again, always=stage.always,
                   retries=TRIES, retry_on=WorkerLost, definition=definition)  # fmt: skip
        if stage.ask is not None:
            gate = {"ask": stage.ask, "policy": plan.policy}
            yield Task(f"{name}{ASK}", partial(run_gate, bench, name, stage), after=[name, *([join] if join else [])],
                       again=again, definition=gate)  # fmt: skip
    for join, names in layout.joins.items():
        is_asked, agent = bool(asks & set(names)), plan.stages[names[0]].agent or ""
        yield Task(join, partial(run_join, bench, join, agent, is_asked), after=layout.needs[join],
                   definition={"join": list(names), "agent": agent, "policy": plan.policy})  # fmt: skip


def _ended(driver: _Driver, result: RunResult) -> RunEnded:
    number = driver.journal.number
    if result.state == "done":
        return RunEnded(number, result.state, None)
    lost = dict.fromkeys(name.removesuffix(ASK) for name, one in result.status.items() if one.error is not None)
    ran = driver.journal.attempts.keys() | {name for name, one in result.status.items() if one.attempts}
    failed = tuple(name for name in driver.plan.order if name in lost and name in ran)
    lines = driver.bench.typed(Situation("run.looks", stages=failed)).splitlines()
    lines += [line for name in driver.waiting for line in driver.bench.hints.get(name, "").splitlines()]
    gate = next(
        (name for name in driver.waiting if result.status.get(f"{name}{ASK}") and
         result.status[f"{name}{ASK}"].state == "waiting" and driver.waiting[name] == driver.plan.stages[name].ask),
        None,
    )  # fmt: skip
    asked = driver.bench.typed(Situation("run.goes_on") if gate is None else Situation("run.approves", stage=gate))
    *hints, goes_on = (*lines, *asked.splitlines())
    return RunEnded(number, result.state, goes_on, tuple(dict.fromkeys(hints)), failed)


def require_gate(stages: Mapping[str, Stage], name: str) -> None:
    """Raise Usage for a stage that asks nobody, Fatal for one that does not exist."""
    if name not in stages:
        raise Fatal(f"there is no stage {name!r}: there is {', '.join(stages)}", Situation("run.planned"))
    if stages[name].ask is None:
        raise Usage(f"{name} asks nobody", Situation("run.goes_on"))
