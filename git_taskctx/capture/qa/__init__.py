"""Logs of tests and linters: what each tool reported about its own run.

A reader knows a family of tools by the lines that end a run, and yields a report for each run. A run whose last line is
missing, or contradicts the lines above, is `unknown` with the reason; so is one that names a failure and says passed.
Documents for machines are read first and removed. Unknown logs give no report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from git_taskctx.capture.qa import checkers, compiled, javascript, linters, python, runners
from git_taskctx.capture.qa.coverage import read_coverage
from git_taskctx.capture.qa.documents import read_documents
from git_taskctx.capture.qa.silent import find_silent
from git_taskctx.capture.qa.tap import read_tap
from git_taskctx.capture.qa.text import MISFIT, clean, cut, divide
from git_taskctx.capture.qa.traces import find_traces
from git_taskctx.model.qa import QaReport, ReportStatus
from git_taskctx.model.values import replace

Reader = Callable[[str], Iterable[QaReport]]

READERS: tuple[Reader, ...] = (
    python.read_pytest, python.read_unittest, javascript.read_jest, javascript.read_vitest,
    compiled.read_go, compiled.read_cargo,
    linters.read_eslint, linters.read_ruff, linters.read_ruff_format, linters.read_mypy, linters.read_tsc,
    checkers.read_black, checkers.read_prettier, checkers.read_flake8, checkers.read_pylint, checkers.read_pyright,
    checkers.read_biome, runners.read_mocha, runners.read_node, runners.read_bats, runners.read_precommit,
    read_tap, read_coverage,
)  # fmt: skip

_IN_PARTS = ("go test", "cargo test")
"""What these print for people beside their events is about other packages."""

_WORST: tuple[ReportStatus, ...] = ("failed", "unknown", "open", "passed", "measured")


def read_log(data: bytes, *, command: str | None, exit_code: int | None, root: str) -> tuple[QaReport, ...]:
    """Return what each tool reported in a log, one report a tool.

    `root`, the worktree's folder, is removed from paths. Some tools print nothing on success: their empty log with exit
    code 0 is a report too.
    """
    text = clean(data, root=root)
    found: dict[str, list[QaReport]] = {}
    traces: list[str] = []
    for stream in divide(text):
        documents, rest = read_documents(stream)
        in_documents: dict[str, list[QaReport]] = {}
        for report in documents:
            in_documents.setdefault(report.tool, []).append(report)
        rest = cut(rest)
        traces += find_traces(rest)
        for reader in READERS:
            for report in reader(rest):
                twice = report.tool in in_documents and report.tool not in _IN_PARTS
                (in_documents if twice else found).setdefault(report.tool, []).append(report)
        for tool, reports in in_documents.items():
            written = sum(one.tool == tool for one in documents)
            found.setdefault(tool, []).append(_agree(_merge(reports[:written]), reports[written:]))
    if not found and exit_code == 0:
        silent = find_silent(text, command)
        if silent is not None:
            return (silent,)
    return _beside(tuple(_sound(_merge(reports)) for reports in found.values()), traces)


def _sound(report: QaReport) -> QaReport:
    """Return a report that is not passed if it names or counts a failure."""
    if report.status in ("failed", "unknown") or not (report.failures or report.failures_count):
        return report
    return replace(report, status="unknown", note=MISFIT)


def _beside(reports: tuple[QaReport, ...], traces: Sequence[str]) -> tuple[QaReport, ...]:
    """Return the reports, none passed if a line beside them says that something else failed."""
    if not traces or any(report.status == "failed" for report in reports):
        return reports
    note = f"the log also says: {traces[0]}"
    return tuple(replace(one, status="unknown", note=one.note or note) for one in reports)


def _agree(document: QaReport, printed: Sequence[QaReport]) -> QaReport:
    """Combine a tool's document and printed output of the same run: the worst status wins."""
    status, note = document.status, document.note
    for one in printed:
        if _WORST.index(one.status) < _WORST.index(status):
            status, note = one.status, one.note
    return replace(document, status=status, note=note)


def _merge(reports: Sequence[QaReport]) -> QaReport:
    """Combine the runs of a tool: counts add up, the worst status and lowest percentages win."""
    if len(reports) == 1:
        return reports[0]
    counts: Counter[str] = Counter()
    percentages: dict[str, str] = {}
    for report in reports:
        counts.update(report.counts)
        for key, value in report.percentages.items():
            percentages[key] = min(value, percentages.get(key, value), key=float)
    notes = dict.fromkeys(report.note for report in reports if report.note)
    return QaReport(
        reports[0].tool,
        min((report.status for report in reports), key=_WORST.index),
        dict(counts),
        percentages,
        tuple(dict.fromkeys(name for report in reports for name in report.failures)),
        sum(report.failures_count for report in reports),
        "; ".join(notes) or None,
    )
