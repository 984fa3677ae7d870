"""The verb `compare-qa`: the checks before the task and now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from git_taskctx.context.evidence import read_evidence
from git_taskctx.context.qa import is_tree_of
from git_taskctx.context.session import Session
from git_taskctx.errors import CouldNotTell
from git_taskctx.git.worktree import read_worktree
from git_taskctx.ledger.chain import Chain
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.qa import QaReport, QaRun, elsewhere
from git_taskctx.model.values import dataclass
from git_taskctx.model.verdict import Outcome

_BADNESS = (Outcome.NO, Outcome.COULD_NOT_TELL, Outcome.YES)


@dataclass(frozen=True)
class Compared:
    """One command, before and now."""

    command: str
    outcome: Outcome
    reason: str
    baseline: QaRun | None
    now: QaRun | None
    new: tuple[str, ...] = ()
    """New failures."""
    gone: tuple[str, ...] = ()
    """Failures that are gone."""
    still: int = 0
    """Failures before and now."""
    numbers: tuple[str, ...] = ()
    """Changed counts and percentages, as in `pytest passed 120 -> 118`."""
    other_tree: TreeOid | None = None
    """The tree of the last run, if it is another one."""


@dataclass(frozen=True)
class Comparison:
    """All commands."""

    outcome: Outcome
    summary: str
    rows: tuple[Compared, ...]


def compare_qa(session: Session, *, agent: str | None = None) -> Comparison:
    """Compare the last run of each command, by anyone or by `agent`, with the baseline. Raises: Fatal.

    A run counts for the present worktree; for an archived task, for the tree that it left. Failures are read from the
    stored logs, which name all of them.
    """
    if agent is not None:
        session.require_agent(agent)

    def failures(run: QaRun) -> Counter[str]:
        return stored_failures(session, run)

    if session.archived:
        tree = session.chain.settled_tree
        same = is_tree_of(session, session.repository, tree)
        return compare_runs(session.chain, failures, tree=tree, same=same, agent=agent)
    with read_worktree(session.repository, keep=False) as reading:
        same = is_tree_of(session, reading.repository, reading.tree)
        return compare_runs(session.chain, failures, tree=reading.tree, same=same, agent=agent)


def compare_runs(
    chain: Chain,
    names: Callable[[QaRun], Counter[str]],
    *,
    tree: TreeOid,
    same: Callable[[TreeOid | None], bool] | None = None,
    agent: str | None = None,
) -> Comparison:
    """Compare the recorded runs with the baseline; `names` gives the failures of each.

    A run on a tree other than `tree` proves nothing, unless `same` says that it counts.
    """
    same = same or (lambda ran_on: ran_on == tree)
    before = {run.key: run for run in chain.baseline.runs or ()}
    since = [
        run
        for run in chain.runs
        if agent in (None, run.agent) and run not in before.values()  # a run that became the baseline is no run since
    ]
    after = {run.key: run for run in since} | {run.key: run for run in since if same(run.tree)}
    if not before and not after:
        who = f" by {agent}" if agent else ""
        return Comparison(Outcome.COULD_NOT_TELL, f"no QA of {chain.task} is on record{who}", ())
    rows = tuple(
        _compare(names, key, before.get(key), now)
        if (now := after.get(key)) is None or same(now.tree)
        else Compared(key, Outcome.COULD_NOT_TELL, elsewhere(now.tree, tree), before.get(key), now, other_tree=now.tree)
        for key in dict.fromkeys((*before, *after))
    )
    outcome = min((row.outcome for row in rows), key=_BADNESS.index)
    return Comparison(outcome, _summary(outcome, rows), rows)


def named_failures(reports: Iterable[QaReport]) -> Counter[str]:
    """Return every failure that reports name."""
    return Counter(f"{report.tool}: {name}" for report in reports for name in report.failures)


def _summary(outcome: Outcome, rows: Iterable[Compared]) -> str:
    new = sum(len(row.new) for row in rows)
    if outcome is Outcome.YES:
        return "nothing fails that did not fail before the task"
    if outcome is Outcome.NO:
        return f"{new} new failure{'s' * (new != 1)}" if new else "worse than before the task"
    return "some results cannot be compared with those before the task"


def _compare(names: Callable[[QaRun], Counter[str]], key: str, before: QaRun | None, now: QaRun | None) -> Compared:
    if now is None:
        return Compared(key, Outcome.COULD_NOT_TELL, "not run since", before, None)
    if before is None:
        outcome, reason = _alone(now)
        return Compared(key, outcome, reason, None, now)
    then, these = names(before), names(now)
    new, gone = tuple((these - then).elements()), tuple((then - these).elements())
    outcome, reason = _judge(before, now, new, sum(these.values()))
    still = sum((these & then).values())
    return Compared(key, outcome, reason, before, now, new, gone, still, tuple(_moved(before, now)))


def _alone(now: QaRun) -> tuple[Outcome, str]:
    if now.vouched:
        return Outcome.YES, "passed; it is not in the baseline"
    if now.status == "failed":
        return Outcome.COULD_NOT_TELL, "failed, and it is not in the baseline"
    return Outcome.COULD_NOT_TELL, f"{now.status}, and it is not in the baseline"


def _judge(before: QaRun, now: QaRun, new: tuple[str, ...], named: int) -> tuple[Outcome, str]:
    """Return the answer for one command; an unnamed failure cannot be found in the baseline."""
    if new:
        return Outcome.NO, f"{len(new)} new failure{'s' * (len(new) != 1)}"
    if now.status == "contradiction":
        return Outcome.NO, f"the log and the exit code {now.exit_code} contradict each other"
    if now.vouched:
        return Outcome.YES, "passed" if now.status == "passed" else "exit code 0, of an unknown log"
    if now.status == "unknown":
        return Outcome.COULD_NOT_TELL, "; ".join(r.note for r in now.reports if r.note) or "the log is unknown"
    if before.vouched:
        return Outcome.NO, "it passed before the task, and fails now"
    failures, failed_before = _failures(now), _failures(before)
    if failures > failed_before:
        return Outcome.NO, f"{failures} failures, {failed_before} before the task"
    if not failures or failures > named:
        return Outcome.COULD_NOT_TELL, "it fails as before the task, and its log does not name what fails"
    return Outcome.YES, "it fails as before the task, and in nothing else"


def _failures(run: QaRun) -> int:
    return sum(report.failures_count for report in run.reports)


def stored_failures(session: Session, run: QaRun) -> Counter[str]:
    """Return every failure of a run, from its stored log, else from the record."""
    from git_taskctx.capture.qa import read_log

    reports: tuple[QaReport, ...] = run.reports
    log = next((one for one in session.chain.evidence if one.id == run.log), None)
    try:
        if log is not None:
            data = read_evidence(session, log)
            root = str(session.repository.toplevel)
            reports = read_log(data, command=run.command, exit_code=run.exit_code, root=root) or reports
    except CouldNotTell as error:
        session.warnings.append(error.message)
    return named_failures(reports)


def _moved(before: QaRun, now: QaRun) -> Iterable[str]:
    then = {report.tool: report for report in before.reports}
    for report in now.reports:
        old = then.get(report.tool)
        if old is not None:
            yield from _differences(report.tool, old.counts, report.counts, "")
            yield from _differences(report.tool, old.percentages, report.percentages, "%")


def _differences(tool: str, old: Mapping[str, object], new: Mapping[str, object], unit: str) -> Iterable[str]:
    for key in dict.fromkeys((*old, *new)):
        before, now = old.get(key, 0), new.get(key, 0)
        if before != now:
            yield f"{tool} {key} {before}{unit} -> {now}{unit}"
