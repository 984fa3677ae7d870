"""What the stages of a run share: the context, opened by one thread at a time, the journal, and what lies where."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from git_taskctx.commits.seal import open_task
from git_taskctx.context.caller import Caller
from git_taskctx.context.qa import CheckResult, record_checks
from git_taskctx.context.session import Session
from git_taskctx.drift.count import drift_refusal, judge_session, record_drift
from git_taskctx.errors import CouldNotTell, Refused, TaskctxError
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import read_worktree
from git_taskctx.ledger.travel import refs_of_context
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import StageRun
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.model.verdict import Outcome
from git_taskctx.pipeline.cluster import Cluster
from git_taskctx.pipeline.journal import Journal
from git_taskctx.pipeline.plan import Layout
from git_taskctx.pipeline.trees import Trees
from git_taskctx.runner import CommandFailed, TaskContext, Waiting
from git_taskctx.situation import Situation

KEY = 16
"""Digits of a key that records have."""


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
        self._found: Repository | None = None

    @contextlib.contextmanager
    def session(self, stage: StageRun | None = None) -> Iterator[Session]:
        """Open the context for writing; what goes on record names the stage."""
        with self.caller() as caller, open_task(replace(caller, stage=stage), write=True) as session:
            yield session

    @contextlib.contextmanager
    def caller(self) -> Iterator[Caller]:
        """Keep the others away for the time of the call."""
        with self._lock:
            caller = self._caller()
            try:
                yield caller
            finally:
                caller.repository.close()

    @contextlib.contextmanager
    def repository(self) -> Iterator[Repository]:
        """Open the repository, beside whoever has the context open; found, and its settings read, once a run."""
        if self._found is None:
            found = self._caller().repository
            found.core  # noqa: B018 - read here, and shared by all views
            self._found = found
        repository = self._found.view()
        try:
            yield repository
        finally:
            repository.close()


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
    layout: Layout
    trees: Trees
    begins: TreeOid
    """The tree that the run began on."""
    setup: Sequence[Sequence[str]] = ()
    """Commands that are run in each new tree."""
    cluster: Cluster | None = None
    """Where checks run; None for here."""
    lost: Counter[str] = field(default_factory=Counter)
    """How often a check was lost with its worker."""
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
    lock: threading.Condition = field(default_factory=threading.Condition)
    """Notified when a check begins."""
    tree: TreeOid | None = None
    """The tree that checks run on, once it was looked at."""
    base: TreeOid | None = None
    """The tree from which trees of their own are made, until they are brought together."""

    def typed(self, situation: Situation) -> str:
        """Return what to type in a situation, as it is shown."""
        return self.advise(Waiting("", situation)).hint or ""

    def attempt_of(self, ctx: TaskContext, stage: str) -> StageRun:
        """Return which attempt a task is, counted on from what was run before."""
        attempt = self.journal.attempts.get(stage, 0) + ctx.attempt
        return StageRun(self.journal.number, stage, attempt, self.keys.get(ctx.task, "")[:KEY] or None)

    def flush(self) -> None:
        """Put the checks that have ended on record, in one commit of the ledger."""
        with self.lock:
            checks, self.checked = self.checked, []
        if checks:
            with self.desk.session() as session:
                record_checks(session, checks)


@contextlib.contextmanager
def refusals_wait(bench: Bench, name: str) -> Iterator[None]:
    """Let what the chain refuses wait for a person. Raises: Waiting."""
    try:
        yield
    except (Refused, CouldNotTell) as error:
        if isinstance(error, CommandFailed):
            raise
        if hint := bench.advise(error).hint:
            bench.hints[name] = hint
        raise Waiting(error.message) from error


def push_tree(bench: Bench, remote: str, tree: TreeOid) -> str:
    """Push what is on record; return the ref of a tree there. Raises: Refused for a secret, GitFailed."""
    from git_taskctx.sharing.share import push  # loads the deep search for secrets, which other runs do without

    with bench.desk.caller() as caller:
        push(caller, remote, with_snapshots=True, dry_run=False)
        refs = refs_of_context(caller.repository, bench.mark.partition("/")[0])
    return next(ref for ref, oid in refs.items() if oid == tree)


def require_no_drift(session: Session) -> None:
    """Raise Refused where the tree of an owner that is not at work is not the one on record; it is counted."""
    if session.chain.at_work or session.chain.expected is None:
        return
    with read_worktree(session.repository, keep=False) as reading:
        verdict = judge_session(session, reading)
        if verdict.outcome is not Outcome.YES:
            raise drift_refusal(record_drift(session, reading, verdict))


def present_tree(session: Session, *, keep: bool = False) -> TreeOid:
    """Return the tree that lies in the worktree."""
    with read_worktree(session.repository, keep=keep) as reading:
        return reading.tree
