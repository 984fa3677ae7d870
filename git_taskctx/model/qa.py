"""The results of tests and linters: by log, by exit code, and whether the two agree."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self

from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass, field, optional, replace

ReportStatus = Literal["passed", "failed", "unknown", "open", "measured"]
"""`open`: nothing failed, and the tool prints no last line that would say so. `measured`: numbers, no verdict."""
RunStatus = Literal["passed", "failed", "unknown", "contradiction"]
"""`contradiction`: log and exit code say the opposite."""
ResultStatus = Literal["pending", "passed", "failed", "unknown", "contradiction"]

NAMES_KEPT = 20
"""Maximum number of failures of a tool that are named in the context; the stored log holds all of them."""
NAME_LENGTH = 160
RUNS_KEPT = 20
"""Maximum number of commands kept of each agent; the oldest is dropped."""


@dataclass(frozen=True)
class QaReport:
    """What one tool said in a log."""

    tool: str
    status: ReportStatus
    counts: Mapping[str, int] = field(default_factory=dict)
    percentages: Mapping[str, str] = field(default_factory=dict)
    """As printed, without the percent sign."""
    failures: tuple[str, ...] = ()
    """Names of what failed, without line numbers, so that two runs can be compared."""
    failures_count: int = 0
    """How many failed, named or not."""
    note: str | None = optional()
    """Why the status is what it is, if the counts do not show it."""

    def bounded(self) -> Self:
        """Return it with the first failures alone, each name cut to size."""
        names = tuple(
            name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…" for name in self.failures[:NAMES_KEPT]
        )
        return replace(self, failures=names)


@dataclass(frozen=True)
class QaRun:
    """One run of a command, on record."""

    command: str | None
    """As typed; null if unknown."""
    exit_code: int | None
    """Null if unknown."""
    status: RunStatus
    reports: tuple[QaReport, ...]
    """One for each tool that was recognized; none where the log is unknown."""
    log: str
    """Id of the evidence that holds the log."""
    agent: str
    actor: str
    at: str
    tree: TreeOid | None
    """The worktree's tree when the run was recorded."""
    claimed: bool | None = optional()
    """True for a baseline that was recorded when the tree was no longer as the task began."""

    @property
    def key(self) -> str:
        """What a later run replaces, and is compared with: the command, else the tools."""
        return self.command or " + ".join(report.tool for report in self.reports) or "(an unknown log)"

    @property
    def vouched(self) -> bool:
        """True where it passed, or its log is unknown and its exit code is 0."""
        return self.status == "passed" or (self.status == "unknown" and not self.reports and self.exit_code == 0)


@dataclass(frozen=True)
class QaResults:
    """The last run of each command."""

    status: ResultStatus = "pending"
    """The worst of the runs."""
    runs: tuple[QaRun, ...] | None = optional()


def elsewhere(ran_on: TreeOid | None, tree: TreeOid) -> str:
    """Report that a run was on another tree."""
    return f"it ran on tree {ran_on[:12] if ran_on else 'unknown'}, and this is {tree[:12]}"


def with_run(runs: Iterable[QaRun], run: QaRun) -> tuple[QaRun, ...]:
    """Return the runs with one more, last; it takes the place of the run of the same command."""
    return (*(one for one in runs if one.key != run.key), run)[-RUNS_KEPT:]


def last_runs(runs: Iterable[QaRun]) -> tuple[QaRun, ...]:
    """Return the last run of each command; `runs` are in the order in which they were recorded."""
    return functools.reduce(with_run, runs, ())


def missing_runs(runs: Iterable[QaRun], commands: Sequence[str], tree: TreeOid) -> tuple[str, ...]:
    """Return what `qa.require` still lacks: the commands without a passing run for `tree`.

    `runs` are in recorded order, by anyone. For a task without commands any passing run suffices if no other run on
    that tree failed.
    """
    last = {run.key: run for run in runs if run.tree == tree}
    if not commands:
        return tuple(key for key, run in last.items() if not run.vouched) if last else ("make test",)
    return tuple(command for command in commands if command not in last or not last[command].vouched)


def results_of(runs: Iterable[QaRun]) -> QaResults | None:
    """Return the results of runs; None without any."""
    kept = tuple(runs)
    return QaResults(worst(run.status for run in kept), kept) if kept else None


_BADNESS: tuple[RunStatus, ...] = ("contradiction", "failed", "unknown", "passed")


def worst(statuses: Iterable[RunStatus]) -> RunStatus:
    """Return the status that stands for several runs."""
    return min(statuses, key=_BADNESS.index)


def judge(reports: Sequence[QaReport], exit_code: int | None) -> RunStatus:
    """Compare a log's status with the exit code. A pass needs one of them to say so and neither to object.

    Another exit code than 0 is a failure; 0 alone does not make an unknown log pass.
    """
    said = {report.status for report in reports} - {"measured"}
    if exit_code is None:
        if "failed" in said:
            return "failed"
        return "passed" if said == {"passed"} else "unknown"
    if exit_code != 0:
        return "contradiction" if said and said <= {"passed", "open"} else "failed"
    if "failed" in said:
        return "contradiction"
    return "unknown" if "unknown" in said or not reports else "passed"
