"""Work in trees of their own, and how it is brought together: three-way, in order, into one snapshot of its agent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from git_taskctx.context.session import Session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.quoting import quote
from git_taskctx.handoff.record import record_snapshot
from git_taskctx.handoff.restore import put_tree
from git_taskctx.handoff.snapshot import Options
from git_taskctx.handoff.start import start
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import AgentUsage, StageRun
from git_taskctx.model.values import replace
from git_taskctx.pipeline.bench import Bench, present_tree, refusals_wait, require_no_drift
from git_taskctx.pipeline.here import TreeOwner
from git_taskctx.pipeline.journal import OwnWork
from git_taskctx.pipeline.threeway import content_of, marked, merge_trees
from git_taskctx.pipeline.trees import OwnTree
from git_taskctx.runner import CommandFailed, TaskContext, Waiting
from git_taskctx.situation import Situation
from git_taskctx.store import FOLDER

_KEPT = "run"
"""The name beside agents under which is kept what stages left in trees of their own."""


@contextlib.contextmanager
def at_work_in(bench: Bench, name: str, stage_run: StageRun, ctx: TaskContext) -> Iterator[Path]:
    """Make a tree for a stage of an agent; what is left in it is kept, however the stage ends. Raises: Waiting."""
    with bench.desk.session(stage_run) as session, refusals_wait(bench, name):
        base, begun = _begin_from(bench, session, name, ctx)
    with _own_tree(bench, stage_run, begun) as own:
        try:
            yield own.top
        except Exception:
            with contextlib.suppress(TaskctxError):  # the stage's own failure counts
                _keep(bench, name, stage_run, ctx, own, base)
            raise
        try:
            _keep(bench, name, stage_run, ctx, own, base)
        except TaskctxError as error:
            raise CommandFailed(f"{name} left nothing to be read: {error.message}") from error


@contextlib.contextmanager
def checking_in(bench: Bench, name: str, stage_run: StageRun, ctx: TaskContext) -> Iterator[tuple[Path, TreeOid]]:
    """Make a tree for a check: of what it comes after. Raises: Waiting."""
    if bench.layout.own[name]:
        with bench.desk.session(stage_run) as session, refusals_wait(bench, name):
            tree = _begin_from(bench, session, name, ctx)[0]
    else:
        tree = tree_before(bench, name, ctx)
    with _own_tree(bench, stage_run, tree) as own:
        yield own.top, tree


def tree_before(bench: Bench, name: str, ctx: TaskContext) -> TreeOid:
    """Return the tree of what a check comes after. Raises: Waiting where the worktree has drifted from it."""
    if bench.tree is None:  # else it was looked at since an agent worked
        with bench.desk.session() as session, refusals_wait(bench, name):
            require_no_drift(session)
    return TreeOid(ctx.inputs.get(f"{bench.layout.source.get(name)}.tree", bench.begins))


def run_join(bench: Bench, join: str, agent: str, is_asked: bool, ctx: TaskContext) -> None:
    """Bring together what the stages of a join left, and record it. Raises: Waiting."""
    names = bench.layout.joins[join]
    with refusals_wait(bench, join):
        bench.flush()
    with bench.lock:
        bench.tree = None
    usage = _sum(ctx.inputs.get(f"{name}.usage") or {} for name in names)
    stage_run = replace(bench.attempt_of(ctx, join), usage=usage)
    with bench.desk.session(stage_run) as session, refusals_wait(bench, join):
        require_no_drift(session)
        _require_solved(bench, session, join, ctx)
        present = present_tree(session, keep=True)
        onto = _before_a_kill(bench, session, present)
        tree = _together(bench, session, join, names, onto, ctx)
        if merged := [name for name in names if name in bench.journal.works]:
            _emit(ctx, "merged", merged, tree, onto, "writing")
            _put(session, tree)
            _emit(ctx, "merged", merged, tree, onto, "done")
        bench.base = None
        start(session, agent)
        approve = (ctx.inputs.get(f"{name}.approves") is True for name in bench.layout.joins[join])
        done = agent == session.chain.agents[-1] and not is_asked and all(approve)
        recorded = record_snapshot(session, agent, Options(done=done))
    ctx.outputs.set("tree", recorded.taken.snapshot.tree)


def _sum(used: Iterable[Mapping[str, Any]]) -> AgentUsage | None:
    """Return what all stages of a join used; None where none says."""
    given = [one for one in used if one]
    usd = sum((Decimal(one.get("usd", 0)) for one in given), Decimal(0))
    tokens = (sum(one.get(name, 0) for one in given) for name in ("input_tokens", "output_tokens"))
    return AgentUsage(format(usd, "f") if usd else None, *tokens) if given else None


@contextlib.contextmanager
def _own_tree(bench: Bench, stage_run: StageRun, tree: TreeOid) -> Iterator[OwnTree]:
    owner = TreeOwner(str(bench.top), bench.task, stage_run.stage, stage_run.run)
    with bench.desk.repository() as repository:
        own = bench.trees.make(repository, tree, owner)
    try:
        yield own
    finally:
        bench.trees.remove(own)


def _begin_from(bench: Bench, session: Session, name: str, ctx: TaskContext) -> tuple[TreeOid, TreeOid]:
    """Return the tree that a stage builds upon, and that it begins with: there is in it what it left before."""
    _require_solved(bench, session, name, ctx)
    if bench.base is None:
        present = present_tree(session, keep=True)
        bench.base = _before_a_kill(bench, session, present)
        session.refs.move([session.keep(f"{_KEPT}-base", bench.journal.number, bench.base)],
                          reason=f"{session.task}: trees of their own")  # fmt: skip
    base = _together(bench, session, name, bench.layout.own[name], bench.base, ctx)
    before = bench.journal.works.get(name)
    if before is None:
        return base, base
    merged = merge_trees(session.repository, before.base, base, before.tree, ("worktree", name))
    return base, base if merged.collisions else merged.tree


def _keep(bench: Bench, name: str, stage_run: StageRun, ctx: TaskContext, own: OwnTree, base: TreeOid) -> None:
    """Keep what a stage left: until it is brought together, and until the task is swept."""
    with bench.desk.repository() as repository:
        tree = bench.trees.read(repository, own)
        changes = compare_trees(repository, base, tree)
    if any(change.path.startswith(f"{FOLDER}/".encode()) for change in changes):
        raise CommandFailed(f"{name} wrote into {FOLDER}, which is not one of its files")
    with bench.desk.session(stage_run) as session:
        session.refs.move([session.keep(f"{_KEPT}/{name}", stage_run.attempt, tree)], reason=f"{session.task}: {name}")
        bench.journal.works[name] = OwnWork(base, tree)
    ctx.outputs.set("work", {"base": base, "tree": tree}, keep=True)
    ctx.outputs.set("tree", tree, keep=True)


def _together(
    bench: Bench, session: Session, waits: str, names: Sequence[str], onto: TreeOid, ctx: TaskContext
) -> TreeOid:
    """Merge what stages left into a tree, in order. Raises: Waiting for a collision; it lies in the worktree then."""
    tree, done = onto, list[str]()
    for name in names:
        if (work := bench.journal.works.get(name)) is None:
            continue
        sides = ("+".join(done) or "worktree", name)
        merged = merge_trees(session.repository, work.base, tree, work.tree, sides)
        done.append(name)
        if merged.collisions:
            for state in ("writing", "done"):
                _emit(ctx, "collision", done, merged.tree, onto, state, merged.hunks)
                if state == "writing":
                    _put(session, merged.tree)
            what = f"{sides[0]} and {name} collide in {', '.join(merged.collisions[:5])}\n{merged.hunks}"
            raise Waiting(what, Situation("run.collides"))
        tree = merged.tree
    return tree


def _put(session: Session, tree: TreeOid) -> None:
    if left := put_tree(session, tree):
        raise Waiting(f"not merged: {', '.join(f'{one.path} ({one.why})' for one in left[:5])}")


def _emit(
    ctx: TaskContext, type: Any, names: Sequence[str], tree: TreeOid, before: TreeOid, state: str,
    text: str | None = None,
) -> None:  # fmt: skip
    ctx.emit(type, stages=tuple(names), tree=tree, before=before, state=state, text=text)


def _require_solved(bench: Bench, session: Session, waits: str, ctx: TaskContext) -> None:
    """Take the worktree for what a collision came to, once a person has solved it. Raises: Waiting."""
    event = bench.journal.pending
    if event is None or (event.type, event.state) != ("collision", "done"):
        return
    present, repository, names = present_tree(session, keep=True), session.repository, event.stages or ()
    if session.chain.at_work:
        changes = compare_trees(repository, TreeOid(event.before or ""), present)
        files = {quote(one.path): content_of(repository, present, one.path).split(b"\n") for one in changes}
        if left := [path for path, lines in files.items() if any(marked(lines))]:
            raise Waiting(f"{', '.join(names)} still collide in {', '.join(left[:5])}", Situation("run.collides"))
        if present == event.tree:
            situation = Situation("run.solved", owner=session.chain.owner)
            raise Waiting(f"{', '.join(names)} still collide\n{event.text}", situation)
    _emit(ctx, "merged", names, present, present, "done")
    bench.base = None


def _before_a_kill(bench: Bench, session: Session, present: TreeOid) -> TreeOid:
    """Return the tree that lay there before a write that a kill broke off; what lies there, where there is no such."""
    event = bench.journal.pending
    if event is None or event.state != "writing":
        return present
    before, tree = TreeOid(event.before or ""), TreeOid(event.tree or "")
    goal = {one.path: (one.mode, one.oid) for one in compare_trees(session.repository, before, tree)}
    now = compare_trees(session.repository, before, present)
    return before if all(goal.get(one.path) == (one.mode, one.oid) for one in now) else present
