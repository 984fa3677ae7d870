"""The logs of tests and linters: what each tool said of its own run, and nothing that it did not say.

A reader knows one family of tools by the lines that end their runs. It yields a report for each run that it finds; a
run whose last line is missing, or contradicts what stands above it, is `unknown` with the reason. A log in which no
tool is recognized gives no report at all. Documents that tools write for machines are read first, and taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from git_taskctx.capture.qa.compiled import read_cargo, read_go
from git_taskctx.capture.qa.coverage import read_coverage
from git_taskctx.capture.qa.documents import read_documents
from git_taskctx.capture.qa.javascript import read_jest, read_vitest
from git_taskctx.capture.qa.linters import read_eslint, read_mypy, read_ruff, read_ruff_format, read_tsc
from git_taskctx.capture.qa.python import read_pytest, read_unittest
from git_taskctx.capture.qa.silent import find_silent
from git_taskctx.capture.qa.tap import read_tap
from git_taskctx.capture.qa.text import clean, cut, divide
from git_taskctx.model.qa import QaReport, ReportStatus
from git_taskctx.model.values import replace

Reader = Callable[[str], Iterable[QaReport]]

READERS: tuple[Reader, ...] = (
    read_pytest,
    read_unittest,
    read_jest,
    read_vitest,
    read_go,
    read_cargo,
    read_eslint,
    read_ruff,
    read_ruff_format,
    read_mypy,
    read_tsc,
    read_tap,
    read_coverage,
)

_IN_PARTS = ("go test", "cargo test")
"""What these print for people beside their events is about other packages."""

_WORST: tuple[ReportStatus, ...] = ("failed", "unknown", "open", "passed", "measured")


def read_log(data: bytes, *, command: str | None, exit_code: int | None, root: str) -> tuple[QaReport, ...]:
    """Return what each tool said in a log, one report a tool; none where no tool is recognized.

    `root` is the worktree's folder, which is taken out of paths. Some tools print nothing when all is well: an empty
    log of such a command that ended with 0 is a report too.
    """
    text = clean(data, root=root)
    found: dict[str, QaReport] = {}
    for stream in divide(text):
        documents, rest = read_documents(stream)
        told: dict[str, QaReport] = {}
        for report in documents:
            told[report.tool] = _merge(told[report.tool], report) if report.tool in told else report
        rest = cut(rest)
        for reader in READERS:
            for report in reader(rest):
                known = told.get(report.tool) if report.tool not in _IN_PARTS else None
                if known is not None:
                    told[report.tool] = _agree(known, report)
                else:
                    found[report.tool] = _merge(found[report.tool], report) if report.tool in found else report
        for tool, report in told.items():
            found[tool] = _merge(found[tool], report) if tool in found else report
    if not found and exit_code == 0:
        silent = find_silent(text, command)
        if silent is not None:
            return (silent,)
    return tuple(found.values())


def _agree(document: QaReport, printed: QaReport) -> QaReport:
    """Put what a tool wrote for machines and what it printed of the same run together: the worse status stands."""
    status = min(document.status, printed.status, key=_WORST.index)
    note = document.note if status == document.status else printed.note
    return replace(document, status=status, note=note)


def _merge(one: QaReport, other: QaReport) -> QaReport:
    """Put two runs of the same tool together: counts add up, the worse status stands, the lower percentage counts."""
    counts = {key: one.counts.get(key, 0) + other.counts.get(key, 0) for key in (*one.counts, *other.counts)}
    percentages = dict(one.percentages)
    for key, value in other.percentages.items():
        percentages[key] = min(value, percentages.get(key, value), key=float)
    notes = dict.fromkeys(note for note in (one.note, other.note) if note)
    return QaReport(
        one.tool,
        min(one.status, other.status, key=_WORST.index),
        counts,
        percentages,
        tuple(dict.fromkeys((*one.failures, *other.failures))),
        one.failures_count + other.failures_count,
        "; ".join(notes) or None,
    )
