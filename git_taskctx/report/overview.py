"""Gather the whole of a context for `status`; `report.text` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.commits.seal import open_current
from git_taskctx.context.caller import Caller
from git_taskctx.context.session import Session
from git_taskctx.context.staleness import compare_head, compare_text
from git_taskctx.drift.count import judge_session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.model.context import Coordination, Finding
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.qa import elsewhere
from git_taskctx.model.step import Step, taskctx
from git_taskctx.model.values import dataclass, optional
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.report.advice import advised, lines_for
from git_taskctx.report.advice.chain import next_steps
from git_taskctx.report.advice.clone import nothing_active
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.ledger.chain import Chain
    from git_taskctx.model.run import RunEvent


@dataclass(frozen=True)
class Overview:
    """What `status` shows."""

    task: str | None
    title: str | None = None
    context_id: str | None = None
    branch: str | None = None
    """The branch that is checked out; None when detached."""
    init_branch: str | None = None
    """The branch on which the task began."""
    parent: CommitOid | None = None
    owner: str | None = None
    at_work: bool = False
    since: str | None = None
    agents: tuple[str, ...] = ()
    rounds: Mapping[str, int] | None = None
    coordination: Mapping[str, Coordination] | None = None
    findings: tuple[Finding, ...] = ()
    validated: bool = False
    archived: bool = False
    verdict: Verdict | None = None
    """On the worktree, not counted; None where it could not be read."""
    qa: tuple[str, ...] = ()
    """What the last run of each command says of the tree that lies there, a line each."""
    hooks: str | None = None
    """The health of git's hooks in one line, as the verb fills it in."""
    run: str | None = optional()
    """What the last run of the pipeline waits for, or where it failed."""
    next: tuple[str, ...] = ()
    """Commands to type."""
    warnings: tuple[str, ...] = ()


def overview(caller: Caller) -> Overview:
    """Look at everything without changing or counting anything, except to seal a committed validated task."""
    if caller.task is None and caller.store.is_idle:
        caller.store.check()
        return Overview(task=None, next=tuple(map(str, nothing_active(caller))))
    with open_current(caller) as (session, caught):
        if caught.sealed is not None:
            sealed = advised(caught.sealed)
            return Overview(task=None, verdict=sealed, next=sealed.hints)
        warnings = [*session.warnings, *compare_text(session).warnings, *compare_head(session)]
        verdict, qa = None, tuple[str, ...]()
        try:
            if not session.archived:
                with read_worktree(session.repository, keep=False) as reading:
                    verdict = judge_session(session, reading)
                    qa = tuple(_checks(session, reading)) if session.chain.runs else ()
        except TaskctxError as error:
            warnings.append(f"the worktree could not be read: {error.message}")
        chain, context = session.chain, session.context
        last = _open_run(session)
        steps = next_steps(session, verdict)
        around = None if session.archived else find_bypassed(session, session.repository.find_commit("HEAD"))
        warnings += [around.text] if around is not None else []
        warnings += [] if session.archived else session.unfinished()
        return Overview(
            task=session.task,
            title=context.immutable.task_snapshot.title,
            context_id=context.context_id,
            branch=session.repository.head().branch,
            init_branch=context.git.branch,
            parent=chain.parent,
            owner=chain.owner,
            at_work=chain.at_work,
            since=chain.since,
            agents=chain.agents,
            rounds={agent: seat.rounds for agent, seat in chain.seats.items()},
            coordination=context.coordination,
            findings=chain.open_findings,
            validated=chain.validated,
            archived=session.archived,
            verdict=advised(verdict) if verdict is not None else None,
            qa=qa,
            run=None if last is None else _shown(last, session.task),
            next=tuple(map(str, steps)) if last is None else _with_run(last, session, verdict, steps),
            warnings=tuple(warnings),
        )


def _with_run(last: RunEvent, session: Session, verdict: Verdict | None, steps: Sequence[Step]) -> tuple[str, ...]:
    """Return what to type, with what goes on with a run: last where it would find the same drift or findings again.

    What hands the tree on, or approves it, past the stages that are open is left out.
    """
    chain, looks = session.chain, lines_for(Situation("run.looks", stages=last.failed or ()))
    others = [str(one) for one in steps if not _passes_on(one, chain)]
    goes_on = [last.next] if last.next else []
    is_first = verdict is None or verdict.outcome is not Outcome.NO
    if last.state == "failed":
        is_first = is_first and not chain.open_findings
        if is_first and not chain.at_work and chain.owner == chain.agents[0]:
            corrects = taskctx("start", "--agent", chain.agents[0], why="corrects it by hand, up to a snapshot; then:")
            goes_on.insert(0, str(corrects))
    return tuple(dict.fromkeys((*looks, *goes_on, *others) if is_first else (*looks, *others, *goes_on)))


def _passes_on(step: Step, chain: Chain) -> bool:
    """Return whether a step is a turn of a later agent, or an approval."""
    words = step.argv
    is_start = words[:4] == ("git", "taskctx", "start", "--agent")
    return "--done" in words or (is_start and chain.is_later(words[4], chain.owner))


def _open_run(session: Session) -> RunEvent | None:
    """Return how the last run ended that is not done; loads nothing where none has begun."""
    if session.archived or session.chain.validated or not session.caller.store.runs(session.task):
        return None
    from git_taskctx.pipeline.journal import open_run

    return open_run(session.caller.store, session.task)


def _shown(last: RunEvent, task: str) -> str:
    if last.state == "waiting":
        return f"run {last.run} waits for you: {last.why or ''}"
    where = f" at {', '.join(last.failed)}" if last.failed else ""
    return f"run {last.run} of {task} {'was ' * (last.state == 'cancelled')}{last.state}{where}"


def _checks(session: Session, reading: Reading) -> Iterator[str]:
    """Show what the last runs mean for the worktree: one on another tree says nothing of it."""
    from git_taskctx.context.qa import is_tree_of

    runs, same = session.chain.runs, is_tree_of(session, reading.repository, reading.tree)
    last = {run.key: run for run in runs} | {run.key: run for run in runs if same(run.tree)}
    for key, run in last.items():
        result = run.status if same(run.tree) else f"could not tell: {elsewhere(run.tree, reading.tree)}"
        yield f"{' '.join(key.split())}: {result} ({run.log}, by {run.agent})"


def steps_here(session: Session) -> tuple[Step, ...]:
    """Return the commands to type next, for the worktree as it lies there; it is looked at, and nothing is counted."""
    try:
        with read_worktree(session.repository, keep=False) as reading:
            return next_steps(session, judge_session(session, reading))
    except TaskctxError as error:
        session.warnings.append(f"the worktree could not be read: {error.message}")
        return next_steps(session)
