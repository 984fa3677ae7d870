"""The logs of tests and linters: what each tool said of its own run, and nothing that it did not say.

A reader knows one family of tools by the lines that end their runs. It yields a report for each run that it finds; a
run whose last line is missing, or contradicts what stands above it, is `unknown` with the reason. A log in which no
tool is recognized gives no report at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from git_taskctx.capture.qa.compiled import read_cargo, read_go
from git_taskctx.capture.qa.coverage import read_coverage
from git_taskctx.capture.qa.javascript import read_jest, read_vitest
from git_taskctx.capture.qa.linters import read_eslint, read_mypy, read_ruff, read_ruff_format, read_tsc
from git_taskctx.capture.qa.python import read_pytest, read_unittest
from git_taskctx.capture.qa.silent import find_silent
from git_taskctx.capture.qa.text import clean, divide
from git_taskctx.model.qa import QaReport, ReportStatus

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
    read_coverage,
)

_WORST: tuple[ReportStatus, ...] = ("failed", "unknown", "open", "passed", "measured")


def read_log(data: bytes, *, command: str | None, exit_code: int | None, root: str) -> tuple[QaReport, ...]:
    """Return what each tool said in a log, one report a tool; none where no tool is recognized.

    `root` is the worktree's folder, which is taken out of paths. Some tools print nothing when all is well: an empty
    log of such a command that ended with 0 is a report too.
    """
    text = clean(data, root=root)
    found: dict[str, QaReport] = {}
    for stream in divide(text):
        for reader in READERS:
            for report in reader(stream):
                found[report.tool] = _merge(found[report.tool], report) if report.tool in found else report
    if not found and exit_code == 0:
        silent = find_silent(text, command)
        if silent is not None:
            return (silent,)
    return tuple(found.values())


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
