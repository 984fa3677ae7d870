"""jest and vitest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.text import DISAGREE, NONE_RAN, TRUNCATED, sessions
from git_taskctx.model.qa import QaReport, ReportStatus

_NOTHING = re.compile(r"^No (?:test files|tests) found, exiting with code (\d)", re.MULTILINE)
_COUNT = re.compile(r"(\d+) ([a-z]+)")

# jest.

_JEST = re.compile(
    r"^Test Suites: +(?P<suites>.{1,200})\nTests: +(?P<tests>.{1,200})\nSnapshots: +(?P<snapshots>.{1,200})\nTime: ",
    re.MULTILINE,
)
_FILE = re.compile(r"^ ?(PASS|FAIL) +(\S.*?)(?: \([\d.]+ m?s\))?$", re.MULTILINE)
_BULLET = re.compile(r"^ ?(?:PASS|FAIL) +(\S.*?)(?: \([\d.]+ m?s\))?$|^ {2}● (.+)$", re.MULTILINE)
_SOURCE = re.compile(r"\.[cm]?[jt]sx?$")
_NO_TEST = frozenset({"Console", "Validation Warning:", "Deprecation Warning:"})


def read_jest(log: str) -> Iterator[QaReport]:
    """Yield a report for each run, from its four final lines."""
    begin = 0
    for block in _JEST.finditer(log):
        yield _jest_run(log[begin : block.start()], block)
        begin = block.end()
    if any(_SOURCE.search(match[2]) for match in _FILE.finditer(log, begin)):
        names = _jest_names(log[begin:])
        yield QaReport("jest", "unknown", failures=names, failures_count=len(names), note=TRUNCATED)
    elif "  testMatch: " in log and (nothing := _NOTHING.search(log)):
        yield _nothing_found("jest", nothing)
    elif "● Validation Error:" in log:
        yield QaReport("jest", "failed", failures_count=1, note="jest refused its configuration")


def _jest_run(body: str, block: re.Match[str]) -> QaReport:
    suites, tests, snapshots = (dict(_pairs(block[part])) for part in ("suites", "tests", "snapshots"))
    bad = tests.get("failed", 0)
    status: ReportStatus = "passed"
    note = None
    if bad or suites.get("failed") or snapshots.get("failed"):
        status = "failed"
    elif " of " in block["suites"]:
        status, note = "unknown", f"not every suite ran: {block['suites']}"
    elif any(match[1] == "FAIL" and _SOURCE.search(match[2]) for match in _FILE.finditer(body)):
        status, note = "unknown", "the summary does not fit what is above it"
    elif not tests.get("passed"):
        status, note = "unknown", NONE_RAN
    counts = {key: count for key, count in tests.items() if key != "total"}
    if suites.get("failed"):
        counts["suites failed"] = suites["failed"]
    if snapshots.get("failed"):
        counts["snapshots failed"] = snapshots["failed"]
    names = _jest_names(body)
    return QaReport("jest", status, counts, failures=names, failures_count=max(bad, len(names)), note=note)


def _jest_names(body: str) -> tuple[str, ...]:
    names, file = dict[str, None](), ""
    for match in _BULLET.finditer(body):
        if match[1]:
            file = match[1].removeprefix("./")
        elif match[2] not in _NO_TEST:
            names[f"{file} › {match[2]}" if file else match[2]] = None
    return tuple(names)


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    for count, word in _COUNT.findall(text):
        yield word, int(count)


def _nothing_found(tool: str, match: re.Match[str]) -> QaReport:
    return QaReport(tool, "unknown" if match[1] == "0" else "failed", note=NONE_RAN)


# vitest.

_RUN = re.compile(r"^ (?:RUN|DEV) +v\d", re.MULTILINE)
_FILES = re.compile(r"^ *Test Files +(?P<files>.{1,200})\n *Tests +(?P<tests>.{1,200})$", re.MULTILINE)
_MORE = re.compile(r"^ *(?:Type Errors|Errors) +(\d+) errors?$", re.MULTILINE)
_FAIL = re.compile(r"^ FAIL +(\S.*)$", re.MULTILINE)
_TWICE = re.compile(r"^(.*?) +\[ .+ \]$")
_DURATION = re.compile(r"^ *Duration +", re.MULTILINE)


def read_vitest(log: str) -> Iterator[QaReport]:
    """Yield a report for each run, from its version line to its counts."""
    begin, nothing = 0, _NOTHING.search(log)
    for _, marks in sessions(_RUN.finditer(log), _FILES.finditer(log)):
        blocks = [mark.found for mark in marks if mark.found is not None]
        if not blocks:
            yield _nothing_found("vitest", nothing) if nothing else QaReport("vitest", "unknown", note=TRUNCATED)
            continue
        yield _vitest_run(log, begin, blocks)
        begin = blocks[-1].end()


def _vitest_run(log: str, begin: int, blocks: list[re.Match[str]]) -> QaReport:
    last = blocks[-1]
    files, tests = dict(_pairs(last["files"])), dict(_pairs(last["tests"]))
    duration = _DURATION.search(log, last.end())
    extra = _MORE.search(log, last.end(), duration.start() if duration else last.end() + 500)
    names = tuple(dict.fromkeys(_TWICE.sub(r"\1", match[1]) for match in _FAIL.finditer(log, begin, last.start())))
    bad = tests.get("failed", 0)
    status: ReportStatus = "passed"
    note = None
    if bad or files.get("failed") or extra:
        status = "failed"
        note = f"{extra[1]} errors outside the tests" if extra else None
    elif duration is None:
        status, note = "unknown", TRUNCATED
    elif names or any(dict(_pairs(block["tests"])).get("failed") for block in blocks[:-1]):
        status, note = "unknown", DISAGREE
    elif not tests.get("passed"):
        status, note = "unknown", NONE_RAN
    counts = tests | ({"files failed": files["failed"]} if files.get("failed") else {})
    return QaReport("vitest", status, counts, failures=names, failures_count=max(bad, len(names)), note=note)
