"""The verb `record-qa`, and whether the recorded runs suffice to approve a tree."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from git_taskctx.capture.scope import compile_patterns
from git_taskctx.context.caller import check_text
from git_taskctx.context.evidence import EvidenceSource, take
from git_taskctx.context.session import Event, Session, commands_of
from git_taskctx.context.staleness import compare_text
from git_taskctx.context.volatile import is_same_commit
from git_taskctx.errors import Refused
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import Tree
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.lean import digest
from git_taskctx.ledger.chain import Chain
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.context import Evidence
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Qa, Run
from git_taskctx.model.qa import QaRun, judge, missing_runs
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.model.payloads import StageRun


@dataclass(frozen=True)
class QaRequest:
    """The options of `record-qa`."""

    agent: str
    source: EvidenceSource
    command: str | None = None
    exit_code: int | None = None
    baseline: bool = False
    """The log is of the state before the task, whatever the tree is now."""


@dataclass(frozen=True)
class QaRecorded:
    run: QaRun
    evidence: Evidence
    baseline: bool
    """Whether it is in the baseline."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """The result of a pipeline's check."""

    source: EvidenceSource
    """Its log."""
    command: str
    exit_code: int
    tree: TreeOid
    """The tree that it ran on and did not change."""
    stage: StageRun


def record_qa(session: Session, request: QaRequest) -> QaRecorded:
    """Record a run of QA and its log for the present tree; it is the baseline too while nothing has changed.

    Raises: Refused for a secret, or for a baseline after the task file changed; Fatal, TryAgain.
    """
    agent, source = request.agent, request.source
    session.require_agent(agent)
    session.require_open()
    command = check_text(request.command, what="command") if request.command is not None else None
    with read_worktree(session.repository, keep=False) as reading:
        tree = _without_log(session.chain, reading, source.path)
        apart = {source.path, session.context.git.task_file}
        changes = (quote(change.path) for change in reading.changes_since(session.chain.init_tree))
        changed = tuple(path for path in changes if path not in apart)
        baseline, warnings = _is_baseline(session, request, reading, changed)
    evidence, contents = take(session, source, "qa_log", description=command)
    run = _run_of(session, source, command, request.exit_code, evidence)
    run = replace(run, claimed=True if request.baseline and changed else None)
    payload = Qa(run, baseline=baseline, evidence=evidence if contents is not None else None)
    event = Event(payload, agent, tree=tree)
    session.commit([event], files=contents, reason=f"{session.task}: QA by {agent}")
    runs = session.chain.baseline.runs if run.claimed else session.chain.runs
    recorded = next(one for one in reversed(runs or ()) if one.log == evidence.id and one.agent == agent)
    return QaRecorded(recorded, evidence, baseline, (*warnings, *_odd(session, recorded)))


def record_checks(session: Session, checks: Sequence[CheckResult]) -> None:
    """Record checks, each for its tree, in one ledger commit. Raises: Refused for a secret or too much evidence."""
    session.require_open(may_be_blocked=True)
    events, files, more = list[Event](), dict[str, bytes](), list[Evidence]()
    for check in checks:
        evidence, contents = take(session, check.source, "qa_log", description=check.command, more=more)
        run = _run_of(session, check.source, check.command, check.exit_code, evidence)
        payload = Qa(run, evidence=evidence if contents is not None else None)
        if contents is not None:
            files.update(contents)
            more.append(evidence)
        events.append(Event(payload, session.chain.owner, tree=check.tree, stage=check.stage))
    if events:
        names = ", ".join(dict.fromkeys(check.stage.stage for check in checks))
        session.commit(events, files=files, reason=f"{session.task}: checked by {names}")


def _run_of(
    session: Session, source: EvidenceSource, command: str | None, exit_code: int | None, evidence: Evidence
) -> Run:
    from git_taskctx.capture.qa import read_log

    reports = read_log(source.data, command=command, exit_code=exit_code, root=str(session.repository.toplevel))
    return Run(
        command=command,
        exit_code=exit_code,
        status=judge(reports, exit_code),
        reports=tuple(report.bounded() for report in reports),
        log=evidence.id,
    )


def missing_qa(session: Session, chain: Chain, tree: TreeOid) -> tuple[str, ...]:
    """Return what `qa.require` still lacks, if policy requires QA."""
    if not session.context.policy.qa.require:
        return ()
    return missing_runs(chain.runs, commands_of(session.context.immutable), tree)


def is_tree_of(session: Session, repository: Repository, tree: TreeOid) -> Callable[[TreeOid | None], bool]:
    """Return a function that decides whether a run on another tree counts for `tree` too.

    It does if the trees differ only in logs of runs inside them, or in volatile keys of the task file (if the other
    tree is kept).
    """
    logs = tuple(_logs_in(session, repository, tree))
    trees = {tree, *(_without(repository, tree, some) for some in ((logs, *((one,) for one in logs)) if logs else ()))}

    @functools.cache
    def same(ran_on: TreeOid | None) -> bool:
        return ran_on in trees or (
            ran_on is not None and is_same_commit(session.context, repository, held=tree, wanted=ran_on)
        )

    return same


def _logs_in(session: Session, repository: Repository, tree: TreeOid) -> Iterator[bytes]:
    """Yield the paths of logs that are in a tree unchanged, and were not when the task began.

    A log is what a run was read from, outside the task's scope: any other file is work, whatever it is recorded as.
    """
    chain, patterns = session.chain, session.context.immutable.scope_patterns
    read = {run.log for run in chain.runs if run.reports}
    kept = {(one.path, one.sha256) for one in chain.evidence if one.id in read}
    repository.objects.flush()
    covers = compile_patterns(patterns).covers if kept and patterns else lambda _: False
    for path in sorted({path for path, _ in kept if not covers(path)}):
        raw = unquote(path)
        blob = repository.objects.find(f"{tree}:{os.fsdecode(raw)}", limit=TEXT_FILE)
        if blob is None or not blob.whole or (path, digest("sha256", blob.data).hexdigest()) not in kept:
            continue
        if not repository.objects.has(f"{chain.init_tree}:{os.fsdecode(raw)}"):
            yield raw


def _without(repository: Repository, tree: TreeOid, paths: Iterable[bytes]) -> TreeOid:
    left = Tree(repository.objects, tree)
    for path in paths:
        left.remove(path)
    return left.name()


def require_qa(session: Session, chain: Chain, agent: str, tree: TreeOid) -> None:
    """Refuse the last approval while `qa.require` lacks a run. Raises: Refused."""
    missing = missing_qa(session, chain, tree) if agent == chain.agents[-1] else ()
    if missing:
        named = ", ".join(f"`{command}`" for command in missing[:5]) + (", …" if len(missing) > 5 else "")
        raise Refused(
            f"no passing run of {named} is on record for this tree, and qa.require asks for one",
            Situation("chain.qa_missing", agent=agent, command=missing[0]),
        )


def _without_log(chain: Chain, reading: Reading, path: str) -> TreeOid:
    """Return the tree without the log itself, if that is a new file in it."""
    known = {quote(change.path) for change in reading.changes_since(chain.settled_tree)}
    raw = unquote(path)
    if path not in known or reading.objects.has(f"{chain.init_tree}:{os.fsdecode(raw)}"):
        return reading.tree
    return _without(reading.repository, reading.tree, [raw])


def _is_baseline(
    session: Session, request: QaRequest, reading: Reading, changed: tuple[str, ...]
) -> tuple[bool, tuple[str, ...]]:
    """Return whether a run is of the state before the task, or warnings if it may have been."""
    begun = any(seat.snapshots for seat in session.chain.seats.values())
    if not request.baseline and (changed or begun):
        return False, ()
    stale = compare_text(session, reading).reason
    if stale is None:
        return True, ()
    if request.baseline:
        raise Refused(f"{stale}: no baseline is taken for another text", Situation("clone.rebuild"))
    return False, (f"{stale}: this is not taken as the baseline",)


def _odd(session: Session, run: QaRun) -> tuple[str, ...]:
    notices = []
    chain = session.chain
    if run.agent != chain.owner:
        notices.append(f"{chain.owner} owns the tree: this is {run.agent}'s word on the tree as it lies there now")
    commands = commands_of(session.context.immutable)
    if commands and run.command is not None and run.command not in commands:
        notices.append(f"`{run.command}` is not one of the task's commands: {', '.join(commands)}")
    if run.status == "contradiction":
        notices.append(f"the log and the exit code {run.exit_code} contradict each other: this is not a pass")
    return tuple(notices)
