"""What the stages do: an agent between `start` and `snapshot`, a check between two fingerprints, a person's answer."""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from git_taskctx.commits.seal import open_task
from git_taskctx.context.caller import Caller
from git_taskctx.context.evidence import EvidenceSource
from git_taskctx.context.qa import CheckResult, record_checks
from git_taskctx.context.session import Session
from git_taskctx.drift.count import drift_refusal, judge_session, record_drift
from git_taskctx.drift.judge import Present
from git_taskctx.errors import CouldNotTell, Refused, TaskctxError
from git_taskctx.files import write_atomic
from git_taskctx.git.quoting import quote
from git_taskctx.git.worktree import read_worktree
from git_taskctx.handoff.coordinate import block, unblock, update
from git_taskctx.handoff.record import record_snapshot
from git_taskctx.handoff.snapshot import Options
from git_taskctx.handoff.start import start
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Block, StageRun
from git_taskctx.model.pipeline import Stage
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.model.verdict import Outcome
from git_taskctx.pipeline.answers import AgentAnswer, read_answer
from git_taskctx.pipeline.journal import Journal
from git_taskctx.pipeline.processes import MARK, end_marked
from git_taskctx.pipeline.streams import StreamReader
from git_taskctx.runner import (
    Cancelled,
    CommandFailed,
    HandBack,
    TaskContext,
    TimedOut,
    Waiting,
    run_command,
)
from git_taskctx.runner.frozen import digest

_LOG = 4 * 1024 * 1024
"""Bytes of the end of each stream that go on record."""
_ARGUMENT = 96 * 1024
"""Bytes of a prompt that is given as a word; Linux takes 128 KiB for each, execve(2)."""
_SHOWN_BACK = 4000
"""Characters of a log that are handed back."""


@dataclass(frozen=True)
class Decision:
    """What a person decided of a stage, for the tree that lay there."""

    stage: str
    tree: TreeOid
    finding: str | None = None
    """Why not; None approves."""


class Desk:
    """The one place where the threads of a run open the context, one after the other."""

    def __init__(self, caller: Callable[[], Caller]) -> None:
        self._caller, self._lock = caller, threading.RLock()

    @contextlib.contextmanager
    def session(self, stage: StageRun | None = None) -> Iterator[Session]:
        """Open the context for writing; what goes on record names the stage."""
        with self._lock:
            caller = replace(self._caller(), stage=stage)
            try:
                with open_task(caller, write=True) as session:
                    yield session
            finally:
                caller.repository.close()


@dataclass
class Bench:
    """What the stages of a run share."""

    desk: Desk
    journal: Journal
    mark: str
    """How the mark of every process of this run begins."""
    task: str
    top: Path
    environ: Mapping[str, str]
    write_brief: Callable[[Session, str], str]
    decision: Decision | None = None
    on_usage: Callable[[TaskContext, Any], None] = lambda _, __: None
    hold: Callable[[str], None] = lambda _: None
    advise: Callable[[TaskctxError], TaskctxError] = lambda error: error
    """Fills in what to type about an error."""
    hints: dict[str, str] = field(default_factory=dict)
    """What to type about what a stage waits for, before the run goes on."""
    keys: dict[str, str] = field(default_factory=dict)
    """The key of each task that runs."""
    checked: list[CheckResult] = field(default_factory=list)
    """Checks that are not on record yet."""
    busy: list[str] = field(default_factory=list)
    """Checks that run, or ran since the tree was looked at last."""
    running: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    tree: TreeOid | None = None
    """The tree that checks run on, once it was looked at."""

    def attempt_of(self, ctx: TaskContext, stage: str) -> StageRun:
        """Return which attempt a task is, counted on from what was run before."""
        attempt = self.journal.attempts.get(stage, 0) + ctx.attempt
        return StageRun(self.journal.number, stage, attempt, self.keys.get(ctx.task, "")[:16] or None)

    def flush(self) -> None:
        """Put the checks that have ended on record, in one commit of the ledger."""
        with self.lock:
            checks, self.checked = self.checked, []
        if checks:
            with self.desk.session() as session:
                record_checks(session, checks)


def run_agent(bench: Bench, name: str, stage: Stage, ctx: TaskContext) -> None:
    """Hand the tree over, let the agent work, and record what it leaves.

    Raises: Waiting, CommandFailed, TimedOut, BadResponse; Refused where the snapshot is not taken.
    """
    agent = stage.agent or ""
    with _refusals_wait(bench, name):
        bench.flush()
    told = bench.attempt_of(ctx, name)
    folder = bench.journal.attempt_folder(name, told.attempt)
    with bench.lock:
        bench.tree = None
    with bench.desk.session(told) as session, _refusals_wait(bench, name):
        _require_no_drift(session)
        start(session, agent)
        brief = _brief(bench.write_brief(session, agent), ctx.handed_back)
    response = folder / "response.json"
    write_atomic(folder / "brief.md", brief.encode(), mode=0o400)
    more = {"TASK_CONTEXT_PATH": os.fspath(folder / "brief.md"), "TASKCTX_RESPONSE": os.fspath(response)}
    values = {"brief": more["TASK_CONTEXT_PATH"], "response": os.fspath(response), "prompt": _prompt(brief, more)}
    reader = StreamReader()
    _run_process(bench, stage, ctx, told, reader, more, values)
    answer = read_answer(response, name)
    usage = answer.usage or reader.usage
    if answer.usage is not None:
        bench.on_usage(ctx, answer.usage)
    with bench.desk.session(replace(told, usage=usage)) as session:
        tree = _take(session, stage, agent, answer, answer.session or reader.session)
    ctx.outputs.set("tree", tree, keep=True)
    answer.require_yes(name)
    if answer.given:
        ctx.outputs.set_data(answer.data)
    for flag, value in answer.flags.items():
        ctx.outputs.set_flag(flag, value)
    for line in answer.logs:
        ctx.emit("log", text=line)


def run_check(bench: Bench, name: str, stage: Stage, ctx: TaskContext) -> None:
    """Run a check in the worktree, and see that it left it as it was. Raises: Waiting, CommandFailed, TimedOut."""
    told = bench.attempt_of(ctx, name)
    bench.journal.attempt_folder(name, told.attempt)
    with bench.lock:
        if bench.tree is None:
            with bench.desk.session() as session, _refusals_wait(bench, name):
                _require_no_drift(session)
                bench.tree = _present_tree(session)
        tree = bench.tree
        bench.running += 1
        bench.busy.append(name)
    ctx.outputs.set("tree", tree, keep=True)
    code: int | None = None
    """None where nothing is to be said, of a check that was ended."""
    try:
        _run_process(bench, stage, ctx, told, None, {}, {})
        code = 0
    except CommandFailed as error:
        code = error.command_code
        raise
    finally:
        with bench.lock:
            bench.running -= 1
            if bench.running == 0 and (wrote := _written(bench, tree)):
                names, bench.busy = ", ".join(dict.fromkeys(bench.busy)), []
                bench.checked.clear()
                bench.hints[name] = "git taskctx verify   # what differs, and how to put it back"
                raise Waiting(f"{names} changed the tree: {wrote}")
            if code is not None:
                bench.checked.append(checked(bench, stage, told, tree, code))
            if bench.running == 0:
                bench.busy = []


def run_gate(bench: Bench, name: str, stage: Stage, ctx: TaskContext) -> None:
    """Take a person's answer to what a stage asks; it counts for the tree that it was given for. Raises: Waiting."""
    with _refusals_wait(bench, name):
        bench.flush()
    told = replace(bench.attempt_of(ctx, name), attempt=max(bench.journal.attempts.get(name, 0), ctx.attempt))
    with bench.desk.session(told) as session:
        with _refusals_wait(bench, name):
            _require_no_drift(session)
        tree, decision = session.chain.settled_tree, bench.decision
        if decision is None or (decision.stage, decision.tree) != (name, tree):
            raise Waiting(stage.ask or "")
        if decision.finding is not None:
            raise CommandFailed(f"{name} is rejected: {decision.finding}", digest([name, tree, decision.finding]))
        agent, chain = stage.agent or session.chain.owner, session.chain
        for finding in chain.seats[agent].open_findings:
            unblock(session, agent, finding.id)
        if agent == session.chain.agents[-1]:
            with _refusals_wait(bench, name):
                record_snapshot(session, agent, Options(done=True, allow_clean=True))
    ctx.outputs.set("tree", tree)


def decide(bench: Bench, stages: Mapping[str, Stage], name: str, finding: str | None) -> None:
    """Take a person's decision on the tree that is on record, which must lie there; a finding blocks at once.

    Raises: Refused for drift, and where the stage does not wait for one.
    """
    if not bench.journal.asks(name):
        raise Refused(f"{name} does not wait for an answer", hint="git taskctx run --resume")
    with bench.desk.session() as session:
        _require_no_drift(session)
        if finding is not None:
            block(session, stages[name].agent or session.chain.owner, finding)
        bench.decision = Decision(name, session.chain.settled_tree, finding)


def _take(session: Session, stage: Stage, agent: str, answer: AgentAnswer, named: str | None) -> TreeOid:
    """Put on record what an agent answered, and the tree that it leaves; return the tree."""
    known = {finding.text: finding.id for finding in session.chain.seats[agent].open_findings}
    for text in answer.findings:
        if text not in known:
            block(session, agent, text)
    records = (entry.record for entry in session.entries)
    blocks = ((one.payload, one.origin.stage) for one in records)
    own = {said.finding for said, by in blocks if isinstance(said, Block) and by is not None}
    for text, number in known.items() if answer.given else ():
        if text not in answer.findings and number in own:  # a person's stays until the person approves
            unblock(session, agent, number)
    is_last = agent == session.chain.agents[-1]
    done = is_last and stage.ask is None and answer.flags.get("approve") is True and not answer.findings
    recorded = record_snapshot(session, agent, Options(done=done))
    if named is not None:
        update(session, agent, status=None, qa_log=None, session_id=named)
    return recorded.taken.snapshot.tree


@contextlib.contextmanager
def _refusals_wait(bench: Bench, name: str) -> Iterator[None]:
    """Let what the chain refuses wait for a person. Raises: Waiting."""
    try:
        yield
    except (Refused, CouldNotTell) as error:
        if isinstance(error, Waiting | CommandFailed):
            raise
        if hint := bench.advise(error).hint:
            bench.hints[name] = hint
        raise Waiting(error.message) from error


def _require_no_drift(session: Session) -> None:
    """Raise Refused where the tree of an owner that is not at work is not the one on record; it is counted."""
    if session.chain.at_work or session.chain.expected is None:
        return
    with read_worktree(session.repository, keep=False) as reading:
        present = Present(reading)
        verdict = judge_session(session, present)
        if verdict.outcome is not Outcome.YES:
            raise drift_refusal(record_drift(session, present, verdict))


def _present_tree(session: Session) -> TreeOid:
    with read_worktree(session.repository, keep=False) as reading:
        return reading.tree


def _written(bench: Bench, tree: TreeOid) -> str:
    """Return the paths that differ from what the checks began with; none where the tree is the same."""
    with bench.desk.session() as session, read_worktree(session.repository, keep=False) as reading:
        if reading.tree == tree:
            return ""
        settled, began = session.chain.settled_tree, session.chain.init_tree
        paths = [quote(one.path) for one in reading.changes_since(settled if settled == tree else began)]
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def checked(bench: Bench, stage: Stage, told: StageRun, tree: TreeOid, code: int) -> CheckResult:
    """Return what a check came to, with its log."""
    folder = bench.journal.attempt_folder(told.stage, told.attempt)
    log = b"".join(_end_of(folder / name) for name in ("stdout", "stderr"))
    words = shlex.join(_filled(stage.run, _values(bench)))
    return CheckResult(EvidenceSource(f"stage {told.stage}", log), words, code, tree, told)


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LOG))
        return file.read(_LOG)


def _run_process(
    bench: Bench, stage: Stage, ctx: TaskContext, told: StageRun, reader: StreamReader | None,
    more: Mapping[str, str], values: Mapping[str, str],
) -> None:  # fmt: skip
    """Run the command of a stage; nothing that it started outlives it. Raises: CommandFailed, TimedOut, Waiting."""
    argv = _filled(stage.run, {**_values(bench), **values})
    mark = f"{bench.mark}/{told.stage}/{told.attempt}/"
    env = {**bench.environ, **_own_variables(bench, stage, told, mark), **more}
    ctx.logs, ctx.attempt = bench.journal.folder / "stages", told.attempt
    sink, asks, over = ctx.sink, ctx.asks, list[str]()

    def listen(type: str, data: Mapping[str, Any]) -> None:
        if type == "output" and data["stream"] == "stdout" and reader is not None:
            before = reader.usage
            reader.feed(data["text"])
            usage = reader.usage
            if usage is not None and usage != before:
                bench.on_usage(ctx, usage)
                if stage.limit.usd is not None and Decimal(usage.usd or 0) > Decimal(stage.limit.usd):
                    over.append(usage.usd or "")
        sink(type, data)

    ctx.sink, ctx.asks = listen, lambda: bool(over) or asks()
    try:
        run_command(ctx, argv, cwd=bench.top, env=env, wall=stage.limit.wall, idle=stage.limit.idle)
    except (CommandFailed, TimedOut, Cancelled) as error:
        if reader is not None:
            reader.close()
            if reader.quota is not None:
                bench.hold(f"{argv[0]}: {reader.quota}")
                raise Waiting(f"{argv[0]}: {reader.quota}") from error
        if over and not asks():
            raise CommandFailed(f"{told.stage} cost {over[-1]} USD, more than {stage.limit.usd}") from error
        raise
    except OSError as error:
        raise CommandFailed(f"{argv[0]} cannot be started: {(error.strerror or str(error)).lower()}") from error
    finally:
        end_marked(mark)
        ctx.sink, ctx.asks = sink, asks
    if reader is not None:
        reader.close()


def _own_variables(bench: Bench, stage: Stage, told: StageRun, mark: str) -> dict[str, str]:
    trace, span = digest(bench.mark)[:32], digest(mark)[:16]
    agent = {"GIT_TASKCTX_AGENT": stage.agent} if stage.agent is not None else {}
    return {
        **agent,
        "GIT_TASKCTX_TASK": bench.task,
        "GIT_TASKCTX_STAGE": told.stage,
        "TASKCTX_PORT": str(_port(bench)),
        "TRACEPARENT": f"00-{trace}-{span}-01",
        MARK: mark,
    }


def _port(bench: Bench) -> int:
    """Return the first of ten ports that no other worktree is likely to have."""
    return 20_000 + zlib.crc32(os.fsencode(bench.top)) % 1000 * 10


def _values(bench: Bench) -> dict[str, str]:
    return {"task": bench.task, "tree": os.fspath(bench.top), "port": str(_port(bench)), "brief": "", "response": "",
            "prompt": ""}  # fmt: skip


def _filled(argv: tuple[str, ...], values: Mapping[str, str]) -> list[str]:
    """Fill in what stands between braces; other braces stay, and nothing is filled in twice."""
    import re

    pattern = re.compile(r"\{(" + "|".join(values) + r")\}")
    return [pattern.sub(lambda found: values[found[1]], word) for word in argv]


def _brief(text: str, handed: tuple[HandBack, ...]) -> str:
    """Return the brief with how to answer, and what sent the work back."""
    lines = [
        text.rstrip("\n"),
        "",
        "## This run",
        "",
        "`git taskctx run` has given you the tree, and records it when you end: do not call `start` or `snapshot`.",
        "You may answer in the file that TASKCTX_RESPONSE names, as JSON:",
        "",
        '    {"data": {"findings": ["what is wrong"]}, "flags": {"approve": false}}',
        "",
        "Findings block until a later answer leaves them out. `approve` is your decision on the tree.",
    ]
    for back in handed:
        lines += ["", f"## Handed back by {back.task.partition(':')[0]}", "", *_quoted(back.error.message)]
        for key, value in back.writes.items():
            if key.endswith((".stdout", ".stderr")) and value.get("tail"):
                lines += ["", f"The end of its {key.rpartition('.')[2]}, all of it in {value['path']}:", ""]
                lines += _quoted(value["tail"][-_SHOWN_BACK:])
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


def _prompt(brief: str, more: Mapping[str, str]) -> str:
    if len(brief.encode()) <= _ARGUMENT:
        return brief
    return f"Read {more['TASK_CONTEXT_PATH']} and do what it asks of you."
