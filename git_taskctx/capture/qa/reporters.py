"""JSON documents: of jest, vitest, eslint, ruff, playwright, and of pytest with the plugin pytest-json-report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from git_taskctx.capture.qa.fields import Odd, count, file, line, take, word
from git_taskctx.capture.qa.linters import problem
from git_taskctx.capture.qa.text import MISFIT, NONE_RAN
from git_taskctx.limits import SUITES_DEPTH
from git_taskctx.model.qa import QaReport, ReportStatus

_INTERRUPTED = "the run was interrupted"
_PYTEST_WORDS = {"passed", "failed", "skipped", "xfailed", "xpassed", "error", "rerun", "deselected"}
_PYTEST_ENDS = {2: _INTERRUPTED, 3: "an internal error of pytest", 4: "pytest refused its command line", 5: NONE_RAN}


def read_document(document: Any, *, many: bool) -> QaReport | None:
    """Return one document's report, None if it is no known tool's.

    `many`: eslint says elsewhere in the log that there are too many warnings.
    """
    for tool, reader in _READERS.items():
        if _is_of(document, tool):
            try:
                return reader(document, many)
            except Odd:
                return QaReport(tool, "unknown", note="its report is not of the shape that it writes")
    return None


def _is_of(document: Any, tool: str) -> bool:
    first = document[0] if isinstance(document, list) else document
    return isinstance(first, dict) and _KEYS[tool] <= first.keys() and isinstance(document, list) == (tool in _LISTS)


_KEYS = {
    "jest": {"numRuntimeErrorTestSuites", "numFailedTests", "testResults"},
    "vitest": {"numTotalTestSuites", "numFailedTests", "testResults"},
    "eslint": {"filePath", "messages", "errorCount"},
    "ruff": {"code", "filename", "location", "message"},
    "playwright": {"config", "suites", "errors", "stats"},
    "pytest": {"created", "exitcode", "summary"},
}
_LISTS = ("eslint", "ruff")


# jest and vitest


def _jest(document: Any, _: bool) -> QaReport:
    interrupted = bool(document.get("wasInterrupted"))
    return _suites(document, "jest", "suites failed", "passed", interrupted=interrupted)


def _vitest(document: Any, _: bool) -> QaReport:
    """vitest calls a run with errors outside tests a success: only the exit code shows them."""
    return _suites(document, "vitest", "files failed", "open", interrupted=False)


def _suites(document: Any, tool: str, files: str, good: ReportStatus, *, interrupted: bool) -> QaReport:
    words = {"failed": "Failed", "passed": "Passed", "skipped": "Pending", "todo": "Todo"}
    counts = {name: count(document, f"num{part}Tests") for name, part in words.items()}
    results = take(document, "testResults", list)
    total = count(document, "numTotalTests") if "numTotalTests" in document else sum(counts.values())
    fits = total == sum(counts.values())
    broken = ("numFailedTestSuites", "numRuntimeErrorTestSuites")
    reported = max(count(document, key) if key in document else 0 for key in broken)
    counts[files] = sum(take(result, "status", str) == "failed" for result in results)
    names = tuple(name for result in results for name in _failed_tests(result, tool))
    bad = max(counts["failed"], len(names))
    success = take(document, "success", bool)
    status: ReportStatus = good
    note = None
    if counts["failed"] or counts[files]:
        status = "failed"
    elif reported:
        status, note = "failed", f"{reported} suites failed"
    elif names or not fits:
        status, note = "unknown", MISFIT
    elif not success:
        status, note = "failed", "it was not a success" if counts["passed"] else NONE_RAN
    elif interrupted:
        status, note = "unknown", _INTERRUPTED
    elif not counts["passed"]:
        status, note = "unknown", NONE_RAN
    return QaReport(tool, status, _nonzero(counts), failures=names, failures_count=bad, note=note)


def _failed_tests(result: Any, tool: str) -> Iterator[str]:
    """Yield the names as printed for people; a file that did not run has one as well."""
    mark = " › " if tool == "jest" else " > "
    path = file(result, "name")
    failed = [one for one in take(result, "assertionResults", list) if take(one, "status", str) == "failed"]
    for one in failed:
        above = [line(title) for title in take(one, "ancestorTitles", list) if isinstance(title, str) and title]
        yield line(mark.join((path, *above[:SUITES_DEPTH], word(one, "title"))))
    if not failed and take(result, "status", str) == "failed":
        yield f"{path} › Test suite failed to run" if tool == "jest" else path


# eslint and ruff


def _eslint(document: Any, many: bool) -> QaReport:
    counts = {
        "errors": sum(count(one, "errorCount") for one in document),
        "warnings": sum(count(one, "warningCount") for one in document),
    }
    names = tuple(
        problem(file(one, "filePath"), str(message.get("ruleId") or ""), word(message, "message"))
        for one in document
        for message in take(one, "messages", list)
        if take(message, "severity", int) == 2 or message.get("fatal")
    )
    bad = counts["errors"] + (counts["warnings"] if many else 0)
    status: ReportStatus = "failed" if bad else "unknown" if names else "passed"
    note = MISFIT if status == "unknown" else "too many warnings" if many and not counts["errors"] else None
    return QaReport("eslint", status, counts, failures=tuple(dict.fromkeys(names)), failures_count=bad, note=note)


def ruff_report(document: Any, _: bool = False) -> QaReport:
    """Return the report of ruff's problems, of which there is at least one. Raises: Odd."""
    codes = (one.get("code") if isinstance(one, dict) else None for one in document)
    named = (code if isinstance(code, str) else "invalid-syntax" for code in codes)
    found = zip(document, named, strict=True)
    names = tuple(problem(file(one, "filename"), code, word(one, "message")) for one, code in found)
    return QaReport("ruff", "failed", {"errors": len(names)}, failures=names, failures_count=len(names))


# playwright


def _playwright(document: Any, _: bool) -> QaReport:
    stats = take(document, "stats", dict)
    words = {"failed": "unexpected", "passed": "expected", "flaky": "flaky", "skipped": "skipped"}
    counts = {name: count(stats, key) for name, key in words.items()}
    errors = [word(one, "message") for one in take(document, "errors", list)]
    names, waiting, listed = [], 0, 0
    for above, test in _playwright_tests(document):
        listed += 1
        reported = take(test, "status", str)
        waiting += reported == "skipped" != take(test, "expectedStatus", str)
        if reported == "unexpected":
            project = word(test, "projectName")
            names.append(line(" › ".join((f"[{project}]", *above) if project else above)))
    bad = max(counts["failed"], len(names)) + len(errors)
    status: ReportStatus = "failed" if counts["failed"] or errors else "passed"
    note = re.sub(r"\x1b\[[0-9;]*m", "", errors[0])[:200] if errors else None
    if status == "passed" and (names or listed != sum(counts.values())):
        status, note = "unknown", MISFIT
    elif status == "passed" and waiting:
        status, note = "unknown", f"{waiting} tests were not run"
    elif status == "passed" and not counts["passed"] + counts["flaky"]:
        status, note = "unknown", NONE_RAN
    return QaReport("playwright", status, _nonzero(counts), failures=tuple(names), failures_count=bad, note=note)


def _playwright_tests(document: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    opened: list[tuple[tuple[str, ...], Any]]
    opened = [((word(suite, "title"),), suite) for suite in reversed(take(document, "suites", list))]
    while opened:
        above, suite = opened.pop()
        if len(above) > SUITES_DEPTH:
            raise Odd("suites")
        for spec in take(suite, "specs", list):
            for test in take(spec, "tests", list):
                yield (*above, word(spec, "title")), test
        below = take(suite, "suites", list) if "suites" in suite else []
        opened += [((*above, word(one, "title")), one) for one in reversed(below)]


# pytest-json-report


def _pytest(document: Any, _: bool) -> QaReport:
    code = count(document, "exitcode")
    summary = take(document, "summary", dict)
    counts = {name: count(summary, name) for name in summary if name not in ("total", "collected", "subtests failed")}
    ran = sum(counts.values()) - counts.get("deselected", 0)
    fits = counts.keys() <= _PYTEST_WORDS and ran == (count(summary, "total") if "total" in summary else ran)
    bad = counts.get("failed", 0) + counts.get("error", 0)
    names = [
        word(one, "nodeid")
        for part in ("collectors", "tests")
        for one in (take(document, part, list) if part in document else ())
        if take(one, "outcome", str) in ("failed", "error")
    ]
    status: ReportStatus = "failed" if bad or code not in (0, 5) else "passed"
    note = _PYTEST_ENDS.get(code)
    if status == "passed" and (names or not fits):
        status, note = "unknown", MISFIT
    elif status == "passed" and (code or not counts.get("passed", 0) + counts.get("xfailed", 0)):
        status, note = "unknown", NONE_RAN
    return QaReport(
        "pytest", status, _nonzero(counts), failures=tuple(names), failures_count=max(bad, len(names)), note=note
    )


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}


_READERS = {
    "jest": _jest,
    "vitest": _vitest,
    "eslint": _eslint,
    "ruff": ruff_report,
    "playwright": _playwright,
    "pytest": _pytest,
}
