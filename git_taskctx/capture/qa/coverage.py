"""Coverage summaries of coverage.py, istanbul (jest, vitest, nyc), go and Rust: numbers, and missed thresholds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.model.qa import QaReport, ReportStatus

_PYTHON = re.compile(r"^TOTAL(?: +\d+){2,4} +(\d+(?:\.\d+)?)%$", re.MULTILINE)
_PYTHON_HEAD = re.compile(r"^Name +Stmts +Miss .*Cover", re.MULTILINE)
_PYTHON_EXACT = re.compile(
    r"^(?:(?:FAIL|ERROR:?) )?Required test coverage of [\d.]+% (?:not )?reached\. Total coverage: (\d+(?:\.\d+)?)%$",
    re.MULTILINE,
)
_PYTHON_LOW = re.compile(
    r"^(?:ERROR: )?(?P<whole>Coverage failure: total of [\d.]+ is less than fail-under=[\d.]+)"
    r"|^(?:FAIL|ERROR:?) (?P<plugin>Required test coverage of [\d.]+% not reached\. .*)$",
    re.MULTILINE,
)
_ISTANBUL = re.compile(r"^All files +\|((?: +\d+(?:\.\d+)? \|){4})", re.MULTILINE)
_ISTANBUL_LINE = re.compile(r"^(Statements|Branches|Functions|Lines) +: (\d+(?:\.\d+)?)% \( \d+/\d+ \)", re.MULTILINE)
_ISTANBUL_LOW = re.compile(
    r"^(?:Jest: (?P<jest>.*coverage threshold for .* not met: .*|Coverage for .* does not meet .*threshold .*)"
    r"|ERROR: (?P<other>Coverage for \w+ \([\d.]+%\) does not meet .*threshold .*))$",
    re.MULTILINE,
)
_ISTANBUL_PARTS = ("statements", "branches", "functions", "lines")
_GO_TOTAL = re.compile(r"^total:\s+\(statements\)\s+(\d+(?:\.\d+)?)%$", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(?:ok {2}\t\S+\t\S+\t)?coverage: (\d+(?:\.\d+)?)% of statements", re.MULTILINE)
_TARPAULIN = re.compile(r"^(\d+(?:\.\d+)?)% coverage, \d+/\d+ lines covered", re.MULTILINE)
_LLVM = re.compile(
    r"^TOTAL +\d+ +\d+ +(\d+(?:\.\d+)?)% +\d+ +\d+ +(\d+(?:\.\d+)?)% +\d+ +\d+ +(\d+(?:\.\d+)?)%", re.MULTILINE
)
_LLVM_HEAD = re.compile(r"^Filename +Regions +Missed Regions", re.MULTILINE)


def read_coverage(log: str) -> Iterator[QaReport]:
    """Yield a report for each kind of summary: measured, or failed where the tool says that it is too low."""
    yield from _python(log)
    yield from _istanbul(log)
    yield from _go(log)
    if _LLVM_HEAD.search(log):
        for found in _LLVM.findall(log):
            yield _report("llvm-cov", dict(zip(("regions", "functions", "lines"), found, strict=True)), [])
    for percentage in _TARPAULIN.findall(log):
        yield _report("tarpaulin", {"lines": percentage}, [])


def _report(tool: str, percentages: dict[str, str], low: list[str], note: str | None = None) -> QaReport:
    status: ReportStatus = "failed" if low else "measured"
    return QaReport(tool, status, {}, percentages, tuple(low), len(low), note)


def _python(log: str) -> Iterator[QaReport]:
    totals = _PYTHON.findall(log) if _PYTHON_HEAD.search(log) else []
    exact = _PYTHON_EXACT.findall(log)
    low = list(dict.fromkeys(match["plugin"] or match["whole"] for match in _PYTHON_LOW.finditer(log)))
    low = [text for text in low if text.startswith("Required")] or low
    found = exact or totals
    if found or low:
        yield _report("coverage.py", {"total": min(found, key=float)} if found else {}, low, _several(found))


def _istanbul(log: str) -> Iterator[QaReport]:
    tables = [re.findall(r"\d+(?:\.\d+)?", match[1]) for match in _ISTANBUL.finditer(log)]
    percentages: dict[str, str] = {}
    for table in tables:
        for part, value in zip(_ISTANBUL_PARTS, table, strict=True):
            percentages[part] = min(value, percentages.get(part, value), key=float)
    for name, value in _ISTANBUL_LINE.findall(log):
        percentages[name.lower()] = min(value, percentages.get(name.lower(), value), key=float)
    low = list(dict.fromkeys(match["jest"] or match["other"] for match in _ISTANBUL_LOW.finditer(log)))
    if percentages or low:
        yield _report("istanbul", percentages, low, _several(tables))


def _go(log: str) -> Iterator[QaReport]:
    found = _GO_TOTAL.findall(log) or _GO_PACKAGE.findall(log)
    if found:
        yield _report("go cover", {"statements": min(found, key=float)}, [], _several(found))


def _several(found: list[str] | list[list[str]]) -> str | None:
    return f"the lowest of {len(found)}" if len(found) > 1 else None
