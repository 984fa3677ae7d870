"""What the stages do: an agent between `start` and `snapshot`, a check between two fingerprints, a person's answer."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from git_taskctx.context.evidence import EvidenceSource
from git_taskctx.context.qa import CheckResult
from git_taskctx.context.session import Session
from git_taskctx.errors import Refused
from git_taskctx.files import write_atomic
from git_taskctx.git.quoting import quote
from git_taskctx.git.worktree import read_worktree
from git_taskctx.handoff.coordinate import block, unblock, update
from git_taskctx.handoff.record import record_snapshot
from git_taskctx.handoff.snapshot import Options
from git_taskctx.handoff.start import start
from git_taskctx.model.codec import to_plain
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Block, StageRun
from git_taskctx.model.pipeline import Stage
from git_taskctx.model.snapshot import Change
from git_taskctx.model.values import replace
from git_taskctx.pipeline.answers import AgentAnswer, read_answer
from git_taskctx.pipeline.bench import Bench, Decision, present_tree, push_tree, refusals_wait, require_no_drift
from git_taskctx.pipeline.cluster import TRIES, Cluster, Order, WorkerLost, end_of, take
from git_taskctx.pipeline.command import filled, own_variables, placeholders
from git_taskctx.pipeline.joins import at_work_in, checking_in, tree_before
from git_taskctx.pipeline.processes import end_marked
from git_taskctx.pipeline.streams import StreamReader
from git_taskctx.runner import Cancelled, CommandFailed, HandBack, TaskContext, TimedOut, Waiting, run_command
from git_taskctx.runner.frozen import hash_json
from git_taskctx.situation import Situation

_ARGUMENT = 96 * 1024
"""Bytes of a prompt that is given as a word; Linux takes 128 KiB for each, execve(2)."""
_LINGER = 0.01
"""Seconds that the last of the checks that run waits for another one to begin, before it looks at the tree."""
_SHOWN_BACK = 4000
"""Characters of a log that are handed back."""


def run_agent(bench: Bench, name: str, stage: Stage, ctx: TaskContext) -> None:
    """Hand the tree over, let the agent work, and record what it leaves; or keep it, where that is a tree of its own.

    Raises: Waiting, CommandFailed, TimedOut, BadResponse; Refused where the snapshot is not taken.
    """
    agent = stage.agent or ""
    with refusals_wait(bench, name):
        bench.flush()
    stage_run = bench.attempt_of(ctx, name)
    folder = bench.journal.attempt_folder(name, stage_run.attempt)
    with bench.lock:
        bench.tree = None
    with bench.desk.session(stage_run) as session, refusals_wait(bench, name):
        require_no_drift(session)
        start(session, agent)
        brief = _brief(bench.write_brief(session, agent), ctx.handed_back)
    response = folder / "response.json"
    write_atomic(folder / "brief.md", brief.encode(), mode=0o400)
    more = {"TASK_CONTEXT_PATH": os.fspath(folder / "brief.md"), "TASKCTX_RESPONSE": os.fspath(response)}
    values = {"brief": more["TASK_CONTEXT_PATH"], "response": os.fspath(response), "prompt": _prompt(brief, more)}
    reader = StreamReader()
    if is_apart := name in bench.layout.own:
        with at_work_in(bench, name, stage_run, ctx) as top:
            _run_process(bench, stage, ctx, stage_run, reader, more, values, top=top)
    else:
        _run_process(bench, stage, ctx, stage_run, reader, more, values)
    answer = read_answer(response, name)
    usage = answer.usage or reader.usage
    if answer.usage is not None:
        bench.on_usage(ctx, answer.usage)
    with bench.desk.session(replace(stage_run, usage=usage)) as session:
        _take_answer(session, agent, answer, answer.session or reader.session)
        approves = stage.ask is None and answer.flags.get("approve") is True and not answer.findings
        if is_apart:
            ctx.outputs.set("approves", approves)
            ctx.outputs.set("usage", to_plain(usage) if usage is not None else {})
        else:
            done = approves and agent == session.chain.agents[-1]
            recorded = record_snapshot(session, agent, Options(done=done))
            ctx.outputs.set("tree", recorded.taken.snapshot.tree, keep=True)
    answer.require_yes(name)
    if answer.given:
        ctx.outputs.set_data(answer.data)
    for flag, value in answer.flags.items():
        ctx.outputs.set_flag(flag, value)
    for line in answer.logs:
        ctx.emit("log", text=line)


def run_check(bench: Bench, name: str, stage: Stage, ctx: TaskContext) -> None:
    """Run a check in the worktree, and see that it left it as it was. Raises: Waiting, CommandFailed, TimedOut."""
    stage_run = bench.attempt_of(ctx, name)
    bench.journal.attempt_folder(name, stage_run.attempt)
    if name in bench.layout.own or bench.cluster is not None:
        _check_apart(bench, name, stage, ctx, stage_run)
        return
    with bench.lock:
        tree = _tree_of_checks(bench, name)
        bench.running += 1
        bench.busy.append(name)
        bench.lock.notify_all()
    ctx.outputs.set("tree", tree, keep=True)
    code: int | None = None
    """None where nothing is to be said, of a check that was ended."""
    try:
        _run_process(bench, stage, ctx, stage_run, None, {}, {})
        code = 0
    except CommandFailed as error:
        code = error.command_code
        raise
    finally:
        with bench.lock:
            bench.running -= 1
            if code is not None:
                bench.checked.append(checked(bench, stage, stage_run, tree, code))
            # The last one looks at the tree, for all; of many short ones the next begins at once.
            if bench.running == 0 and not bench.lock.wait_for(lambda: bench.running > 0, _LINGER):
                names, bench.busy = tuple(dict.fromkeys((*bench.busy, name))), []
                if wrote := _written(bench, tree):
                    bench.checked = [one for one in bench.checked if one.stage.stage not in names]
                    shown = [quote(one.path) for one in wrote[:5]]
                    more = f" and {len(wrote) - 5} more" if len(wrote) > 5 else ""
                    why = f"{', '.join(names)} changed the tree: {', '.join(shown)}{more}"
                    ctx.emit("void", stages=[one for one in names if one != name], why=why)
                    with refusals_wait(bench, name):
                        raise Waiting(why, Situation("run.changed", ignore=_ignorable(wrote)))


def _check_apart(bench: Bench, name: str, stage: Stage, ctx: TaskContext, stage_run: StageRun) -> None:
    """Run a check in a tree of its own, here or on the cluster. Raises: Waiting, CommandFailed, TimedOut."""
    code: int | None = None
    with _somewhere(bench, name, stage, ctx, stage_run) as (tree, run):
        ctx.outputs.set("tree", tree, keep=True)
        try:
            run()
            code = 0
        except CommandFailed as error:
            code = error.command_code
            raise
        finally:
            if code is not None:
                with bench.lock:
                    bench.checked.append(checked(bench, stage, stage_run, tree, code))


@contextlib.contextmanager
def _somewhere(
    bench: Bench, name: str, stage: Stage, ctx: TaskContext, stage_run: StageRun
) -> Iterator[tuple[TreeOid, Callable[[], None]]]:
    """Yield the tree that a check runs on, and what runs it. Work that is not brought together is here alone."""
    if bench.cluster is None or bench.layout.own.get(name):
        with checking_in(bench, name, stage_run, ctx) as (top, tree):
            yield tree, partial(_run_process, bench, stage, ctx, stage_run, None, {}, {}, top=top)
        return
    if name in bench.layout.own:
        tree = tree_before(bench, name, ctx)
    else:
        with bench.lock:
            tree = _tree_of_checks(bench, name)
    yield tree, partial(_run_there, bench, bench.cluster, name, stage, ctx, stage_run, tree)


def _tree_of_checks(bench: Bench, name: str) -> TreeOid:
    """Return the tree in the worktree, which must be the one on record. Raises: Waiting."""
    if bench.tree is None:
        with bench.desk.session() as session, refusals_wait(bench, name):
            require_no_drift(session)
            bench.tree = present_tree(session)
    return bench.tree


def _run_there(
    bench: Bench, cluster: Cluster, name: str, stage: Stage, ctx: TaskContext, stage_run: StageRun, tree: TreeOid
) -> None:
    """Run a check on the cluster. Raises: WorkerLost, which the engine tries again; Waiting; as `run_command` does."""
    with refusals_wait(bench, name), bench.lock:
        ref = cluster.refs[tree] = cluster.refs.get(tree) or push_tree(bench, cluster.remote, tree)
    mark = f"{bench.mark}/{stage_run.stage}/{stage_run.attempt}/"
    try:
        ran = cluster.run(Order(cluster.url, ref, tree, bench.task, mark, stage_run, stage, cluster.settings), ctx)
    except WorkerLost as error:
        ctx.emit("log", text=error.message)
        bench.lost[name] += 1
        if bench.lost[name] > TRIES:  # no fault of what it checks
            raise Waiting(error.message) from error
        raise
    take(ran, bench.journal.attempt_folder(stage_run.stage, stage_run.attempt), ctx)


def run_gate(bench: Bench, name: str, stage: Stage, ctx: TaskContext) -> None:
    """Take a person's answer to what a stage asks; it counts for the tree that it was given for. Raises: Waiting."""
    with refusals_wait(bench, name):
        bench.flush()
    stage_run = replace(bench.attempt_of(ctx, name), attempt=max(bench.journal.attempts.get(name, 0), ctx.attempt))
    with bench.desk.session(stage_run) as session:
        with refusals_wait(bench, name):
            require_no_drift(session)
        tree, decision = session.chain.settled_tree, bench.decision
        if decision is None or (decision.stage, decision.tree) != (name, tree):
            raise Waiting(stage.ask or "")
        if decision.finding is not None:
            raise CommandFailed(f"{name} is rejected: {decision.finding}", hash_json([name, tree, decision.finding]))
        agent, chain = stage.agent or session.chain.owner, session.chain
        for finding in chain.seats[agent].open_findings:
            unblock(session, agent, finding.id)
        if agent == session.chain.agents[-1]:
            with refusals_wait(bench, name):
                record_snapshot(session, agent, Options(done=True, allow_clean=True))
    ctx.outputs.set("tree", tree)


def decide(bench: Bench, stages: Mapping[str, Stage], name: str, finding: str | None) -> None:
    """Take a person's decision on the tree that is on record, which must lie there; a finding blocks at once.

    Raises: Refused for drift, and where the stage does not wait for one.
    """
    if not bench.journal.asks(name):
        raise Refused(f"{name} does not wait for an answer", Situation("run.goes_on"))
    with bench.desk.session() as session:
        require_no_drift(session)
        if finding is not None:
            block(session, stages[name].agent or session.chain.owner, finding)
        bench.decision = Decision(name, session.chain.settled_tree, finding)


def _take_answer(session: Session, agent: str, answer: AgentAnswer, named: str | None) -> None:
    """Put on record what an agent answered."""
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
    if named is not None:
        update(session, agent, status=None, qa_log=None, session_id=named)


def _written(bench: Bench, tree: TreeOid) -> list[Change]:
    """Return what differs from what the checks began with; nothing where the tree is the same."""
    with bench.desk.repository() as repository, read_worktree(repository, keep=False) as reading:
        if reading.tree == tree:
            return []
    with bench.desk.session() as session, read_worktree(session.repository, keep=False) as reading:
        settled, began = session.chain.settled_tree, session.chain.init_tree
        return reading.changes_since(settled if settled == tree else began)


def _ignorable(wrote: list[Change]) -> tuple[str, ...]:
    """Return up to three lines of a .gitignore under which all that was written falls; none where they do not do."""
    found: dict[str, None] = {}
    for change in wrote:
        if change.status != "A" or not re.fullmatch(rb"[\w./-]+", change.path):  # git does not ignore a tracked file
            return ()
        *folders, name = change.path.decode().split("/")
        cache = next((one for one in folders if one.startswith((".", "__"))), None)
        found[f"{cache}/" if cache is not None else "/".join(("", *folders, name))] = None
    return tuple(found) if len(found) <= 3 else ()


def checked(bench: Bench, stage: Stage, stage_run: StageRun, tree: TreeOid, code: int) -> CheckResult:
    """Return what a check came to, with its log."""
    folder = bench.journal.attempt_folder(stage_run.stage, stage_run.attempt)
    log = b"".join(end_of(folder / name) for name in ("stdout", "stderr"))
    words = shlex.join(filled(stage.run, placeholders(bench.task, bench.top)))
    return CheckResult(EvidenceSource(f"stage {stage_run.stage}", log), words, code, tree, stage_run)


def _run_process(
    bench: Bench, stage: Stage, ctx: TaskContext, stage_run: StageRun, reader: StreamReader | None,
    more: Mapping[str, str], values: Mapping[str, str], *, top: Path | None = None,
) -> None:  # fmt: skip
    """Run the command of a stage; nothing that it started outlives it. Raises: CommandFailed, TimedOut, Waiting.

    top: a tree of its own, in which the commands of `run.setup` come first.
    """
    values = {**placeholders(bench.task, top or bench.top), **values}
    argv = filled(stage.run, values)
    mark = f"{bench.mark}/{stage_run.stage}/{stage_run.attempt}/"
    env = {**bench.environ, **own_variables(bench.task, stage, stage_run, mark, top or bench.top), **more}
    ctx.logs, ctx.attempt = bench.journal.folder / "stages", stage_run.attempt
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
        for command in bench.setup if top is not None else ():
            run_command(ctx, filled(command, values), cwd=top, env=env, wall=stage.limit.wall)
        run_command(ctx, argv, cwd=top or bench.top, env=env, wall=stage.limit.wall, idle=stage.limit.idle)
    except (CommandFailed, TimedOut, Cancelled) as error:
        if reader is not None:
            reader.close()
            if reader.quota is not None:
                bench.hold(f"{argv[0]}: {reader.quota}")
                raise Waiting(f"{argv[0]}: {reader.quota}") from error
        if over and not asks():
            raise CommandFailed(f"{stage_run.stage} cost {over[-1]} USD, more than {stage.limit.usd}") from error
        raise
    except OSError as error:
        is_full = error.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
        what = "has more output than can be kept" if is_full else "cannot be started"
        raise CommandFailed(f"{argv[0]} {what}: {(error.strerror or str(error)).lower()}") from error
    finally:
        end_marked(mark, mine=True)
        ctx.sink, ctx.asks = sink, asks
    if reader is not None:
        reader.close()


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
