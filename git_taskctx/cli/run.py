"""The verb run: the stages of a pipeline, what they said, and what a person decides."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call, emit, use_colour, write_text
from git_taskctx.cli.options import Argument, Option
from git_taskctx.errors import Fatal, Usage
from git_taskctx.model.values import replace

if TYPE_CHECKING:
    from git_taskctx.context.caller import Caller
    from git_taskctx.context.session import Session
    from git_taskctx.model.run import RunEvent

_CODES = {"done": 0, "failed": 1, "waiting": 3, "cancelled": 130}


def run(
    call: Call,
    pipeline: Annotated[str | None, Argument("[PIPELINE]", "Which one, where the team has several.")] = None,
    stage: Annotated[str | None, Option("--stage S", "Only this stage.", excludes="--from")] = None,
    since: Annotated[str | None, Option("--from S", "This stage, and all after it.", excludes="--stage")] = None,
    resume: Annotated[bool, Option("--resume", "Continue the last run; finished stages are not repeated.")] = False,
    approve: Annotated[
        str | None, Option("--approve S", "Approve the tree for stage S, and go on.", excludes="--reject")
    ] = None,
    reject: Annotated[
        str | None, Option("--reject S", "Reject it, with --finding, and go on.", excludes="--approve")
    ] = None,
    finding: Annotated[str | None, Option("--finding TEXT", "What is wrong.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", "Show what would be run.")] = False,
    jobs: Annotated[int | None, Option("--jobs N", "Run up to N stages at once.", min=1)] = None,
    keep_going: Annotated[
        bool, Option("--keep-going", "After a failure, continue with stages that do not depend on it.")
    ] = False,
    executor: Annotated[
        str | None, Option("--executor URL", "Run checks on a cluster of dask: dask://HOST:PORT.")
    ] = None,
    log: Annotated[str | None, Option("--log S", "Print the last output of stage S.")] = None,
) -> Answer:
    """Run the team's pipeline: its agents and its checks.

    Each agent starts from the verified tree; each check is recorded for the tree that it ran on. Exit code 0: all is
    done; 1: a stage failed; 3: it waits for a person, and the last line is the command to continue with. Ctrl-C lets
    running stages finish; a second one stops them.
    """
    from git_taskctx.pipeline.command import environment
    from git_taskctx.pipeline.journal import begin_run, resume_run
    from git_taskctx.pipeline.plan import Asked, find_left_over, make_plan
    from git_taskctx.report import text

    named = {
        "--approve": approve,
        "--reject": reject,
        "--resume": resume,
        "--stage": stage,
        "--from": since,
        "--log": log,
    }
    given = [option for option, value in named.items() if value not in (None, False)]
    if len(given) > 1 and not (set(given) <= {"--approve", "--resume"} or set(given) <= {"--reject", "--resume"}):
        raise Usage(f"{given[0]} and {given[1]} cannot be used together", hint="git taskctx run -h")
    if (reject is None) != (finding is None):
        raise Usage(
            "--reject and --finding go together", hint='git taskctx run --reject STAGE --finding "what is wrong"'
        )
    if log is not None:
        return _log(call, log)
    is_resumed = resume or approve is not None or reject is not None
    committed = call.config(call.repository.head().commit).pipelines
    with ExitStack() as stack:
        with call.open(write=False) as session:
            store, task, settled = session.caller.store, session.task, session.chain.settled_tree
            if session.archived:
                raise Fatal(f"{task} is archived", hint=f"git taskctx recover {task}")
            journal = (
                stack.enter_context(resume_run(store, task, first=session.chain.agents[0])) if is_resumed else None
            )
            begun = journal.begun if journal is not None else None
            asked = Asked(pipeline or (begun.pipeline if begun is not None else None), stage, since)
            settings = session.context.pipelines.run if session.context.pipelines is not None else None
            environ = dict(os.environ) if settings is None else environment(os.environ, settings)
            plan = make_plan(session, asked, committed, environ)
            warnings = (*session.warnings, *_edited(call), *find_left_over(session))
            records = [entry.record for entry in session.entries]
        if dry_run:
            return _plan(plan, warnings)
        from git_taskctx.pipeline.bench import Bench, Desk
        from git_taskctx.pipeline.bodies import decide
        from git_taskctx.pipeline.run import require_gate, run_pipeline
        from git_taskctx.pipeline.trees import Trees, trees_home
        from git_taskctx.report.advice import advise

        for gate in filter(None, (approve, reject)):
            require_gate(plan.stages, gate)
        cluster = None
        if executor is not None:
            from git_taskctx.pipeline.cluster import Cluster

            cluster = stack.enter_context(Cluster(executor, plan.settings, call.repository))
        journal = journal or stack.enter_context(begin_run(store, task))
        bench = Bench(
            desk=Desk(lambda: _fresh(call)),
            journal=journal,
            mark=f"{session.context.context_id}/{journal.number}",
            task=task,
            top=call.repository.toplevel,
            environ=environ,
            write_brief=_brief,
            layout=plan.layout,
            trees=Trees(trees_home(os.environ), plan.settings.bring),
            begins=journal.begins(settled),
            setup=plan.settings.setup,
            cluster=cluster,
            advise=advise,
        )
        emit(Answer(notes=lambda document: text.warnings(document, warnings)), replace(call, format="text"))
        if approve is not None or reject is not None:
            decide(bench, plan.stages, approve or reject or "", finding)
        on_event = stack.enter_context(
            _display(call, {name: plan.stage_of(name).agent for name in (*plan.order, *plan.layout.joins)})
        )
        on_signal = stack.enter_context(_signals())
        ended = run_pipeline(plan, bench, settled, records, on_event, jobs=jobs, keep_going=keep_going,
                             on_signal=on_signal)  # fmt: skip
    return _answer(call, ended)


def _answer(call: Call, ended: Any) -> Answer:
    from git_taskctx.report import text
    from git_taskctx.report.overview import steps_here

    steps = [*ended.hints, *((ended.next,) if ended.next is not None else ())]
    if ended.state in ("done", "failed"):
        with call.open(write=False) as session:
            if ended.state == "done" or session.chain.open_findings:  # the same findings would fail it again
                steps[len(ended.hints) : len(ended.hints)] = map(str, steps_here(session))
    if call.format == "json":
        call.format = "text"  # the events are the document
        return Answer(code=_CODES[ended.state])
    return Answer(
        notes=lambda document: text.hints(document, steps),
        code=_CODES[ended.state],
        reason=f"run {ended.run}: {ended.state}",
    )


def _plan(plan: Any, warnings: tuple[str, ...]) -> Answer:
    from git_taskctx.report import pipeline, text

    return Answer(
        pipeline.plan_data(plan),
        text=lambda document: pipeline.planned(document, plan),
        notes=lambda document: text.warnings(document, warnings),
    )


def _log(call: Call, stage: str) -> Answer:
    """Return the output of a stage's last attempt."""
    from git_taskctx.files import read_plain

    with call.open(write=False) as session:
        store, task = session.caller.store, session.task
    for number in reversed(store.runs(task)):
        attempts = store.attempts(task, number, stage)
        if attempts:
            folder = store.run_folder(task, number) / "stages" / stage / str(attempts[-1])
            raw = b"".join(read_plain(folder / name) or b"" for name in ("stdout", "stderr"))
            return Answer({"run": number, "attempt": attempts[-1], "log": raw.decode("utf-8", "replace")}, raw=raw)
    raise Fatal(f"no stage {stage!r} of {task} has run", hint="git taskctx run --dry-run")


def _edited(call: Call) -> tuple[str, ...]:
    """Warn where the worktree's pipeline differs from the one in force."""
    names = call.uncommitted_policy(call.repository.head().commit)
    return tuple(f"{name} as it is in the worktree does not count: what is committed is run" for name in names)


def _fresh(call: Call) -> "Caller":
    """Return the caller with a newly opened repository, to read the present state."""
    from git_taskctx.git.repository import open_repository
    from git_taskctx.store import Store

    repository = open_repository(call.folder, os.environ)
    return replace(call.caller(), repository=repository, store=Store(repository), on_progress=lambda _: None)


def _brief(session: "Session", agent: str) -> str:
    from git_taskctx.context.roles import build_export
    from git_taskctx.report.brief import render_brief

    return render_brief(build_export(session.context, session.chain, agent), ())


@contextmanager
def _display(call: Call, stages: dict[str, str | None]) -> Iterator[Callable[["RunEvent"], None]]:
    """Yield what shows events: as JSON, as a table on a terminal, or as lines."""
    from git_taskctx.report.pipeline import RunLines, RunTable, render_event

    if call.format == "json":
        yield lambda event: write_text(render_event(event))
        return
    colour = use_colour(sys.stdout)
    # A pager shows what is written, and draws nothing anew.
    is_drawn = sys.stdout.isatty()
    shown = RunTable(sys.stdout, stages, colour=colour) if is_drawn else RunLines(sys.stdout, colour=colour)
    try:
        yield shown.show
    finally:
        shown.close()


@contextmanager
def _signals() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Yield what lets signals end a run: Ctrl-C in order, a second or another signal at once."""
    import signal
    import threading

    from git_taskctx.files import ENDING

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before: dict[int, Any] = {}
    thread: threading.Thread | None = None

    def read(cancel: Callable[[], None]) -> None:
        while numbers := os.read(reader, 64):
            for number in numbers:
                cancel()
                if number != signal.SIGINT:
                    cancel()

    def listen(cancel: Callable[[], None]) -> None:
        nonlocal thread
        if threading.current_thread() is not threading.main_thread():
            return
        thread = threading.Thread(target=read, args=(cancel,), daemon=True)
        thread.start()
        # A handler runs when the main thread runs Python again, and that one may just have begun to wait: signal(7)
        # interrupts no futex(2) that is entered later. What reads the pipe hears of it at once.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for one in ENDING:
            if signal.getsignal(one) is not signal.SIG_IGN:
                before[one] = signal.signal(one, lambda *_: None)

    try:
        yield listen
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        if thread is not None:
            signal.set_wakeup_fd(-1)
        os.close(writer)
        if thread is not None:
            thread.join()
        os.close(reader)
