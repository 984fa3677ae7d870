"""mocha, node's own runner, bats and pre-commit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.text import MISFIT, NONE_RAN, TRUNCATED, number
from git_taskctx.model.qa import QaReport, ReportStatus

# mocha.

_MOCHA_END = re.compile(
    r"^  (?P<passing>\d+) passing \(.+\)\n(?:  (?P<pending>\d+) pending\n)?(?:  (?P<failing>\d+) failing\n)?",
    re.MULTILINE,
)
_MOCHA_NAME = re.compile(r"^  \d+\) (?P<suite>\S.*)\n(?P<test>(?: {5,}\S.*\n)*? {5,}\S.*:)$", re.MULTILINE)
_MOCHA_MARK = re.compile(r"^ {3,}\d+\) \S", re.MULTILINE)


def read_mocha(log: str) -> Iterator[QaReport]:
    """Yield a report for each run: passing, pending and failing tests, a line each."""
    begin = 0
    for end in _MOCHA_END.finditer(log):
        passing, failing = int(end["passing"]), number(end["failing"])
        marks = len(_MOCHA_MARK.findall(log, begin, end.start()))
        names = tuple(
            " ".join([match["suite"], *match["test"].removesuffix(":").split()])
            for match in _MOCHA_NAME.finditer(log, end.end())
        )[:failing]
        note = None if failing else MISFIT if marks else NONE_RAN if not passing else None
        if not failing and not note and not log.startswith("\n\n", end.end()):
            note = TRUNCATED  # two empty lines follow, or what failed
        status: ReportStatus = "failed" if failing else "unknown" if note else "passed"
        counts = {"passing": passing, "pending": number(end["pending"]), "failing": failing}
        yield QaReport("mocha", status, counts, failures=names, failures_count=failing, note=note)
        begin = end.end()


# node --test, as the reporter `spec` prints it.

_NODE_END = re.compile(
    r"^ℹ tests (?P<tests>\d+)\nℹ suites \d+\nℹ pass (?P<pass>\d+)\nℹ fail (?P<fail>\d+)\n"
    r"ℹ cancelled (?P<cancelled>\d+)\nℹ skipped (?P<skipped>\d+)\nℹ todo (?P<todo>\d+)\nℹ duration_ms ",
    re.MULTILINE,
)
_NODE_NAME = re.compile(r"^✖ (?!failing tests:)(.+?)(?: \([\d.]+ms\))?$", re.MULTILINE)
_NODE_BEGIN = re.compile(r"^(?:ℹ tests \d+|✖ failing tests:)$", re.MULTILINE)


def read_node(log: str) -> Iterator[QaReport]:
    """Yield a report for each run of node's tests: eight lines of counts, then failures."""
    ends = list(_NODE_END.finditer(log))
    for end in ends:
        counts = {name: int(count) for name, count in end.groupdict().items() if name != "tests"}
        bad = counts["fail"] + counts["cancelled"]
        names = tuple(dict.fromkeys(_NODE_NAME.findall(log, end.end()))) if bad else ()
        status: ReportStatus = "failed" if bad else "passed" if counts["pass"] else "unknown"
        note = NONE_RAN if status == "unknown" else None
        yield QaReport("node --test", status, counts, failures=names, failures_count=bad, note=note)
    if not ends and _NODE_BEGIN.search(log):
        yield QaReport("node --test", "unknown", note=TRUNCATED)


# bats, as it prints on a terminal; elsewhere it writes TAP. ExUnit counts in the same words, and has none of its marks.

_BATS_END = re.compile(
    r"^(?P<tests>\d+) tests?, (?P<failures>\d+) failures?(?:, (?P<skipped>\d+) skipped)?", re.MULTILINE
)
_BATS_MARK = re.compile(r"(?:^|[^\S\n])(?P<mark>[✓✗]|-(?=.*\(skipped)) (?P<name>\S.*?)$", re.MULTILINE)


def read_bats(log: str) -> Iterator[QaReport]:
    """Yield a report for each run: a mark for each test, and a count at the end."""
    begin = 0
    for end in _BATS_END.finditer(log):
        marks = list(_BATS_MARK.finditer(log, begin, end.start()))
        if not marks:
            continue
        names = tuple(match["name"] for match in marks if match["mark"] == "✗")
        bad, skipped = int(end["failures"]), number(end["skipped"])
        ran = int(end["tests"]) - skipped
        status: ReportStatus = "failed" if bad else "unknown" if names or not ran else "passed"
        note = (MISFIT if names else NONE_RAN) if status == "unknown" else None
        counts = {"tests": int(end["tests"]), "failures": bad, "skipped": skipped}
        yield QaReport("bats", status, counts, failures=names, failures_count=max(bad, len(names)), note=note)
        begin = end.end()


# pre-commit and prek: a row for each hook, and no last line for the whole.

_HOOK = re.compile(r"^(?P<name>\S.*?)\.{3,}(?:\([a-z ]+\))?(?P<end>Passed|Failed|Skipped)$", re.MULTILINE)


def read_precommit(log: str) -> Iterator[QaReport]:
    """Yield a report if there are hook lines; only an exit code shows that all ran."""
    hooks = {match["name"]: match["end"] for match in _HOOK.finditer(log)}
    if not hooks:
        return
    bad = tuple(name for name, end in hooks.items() if end == "Failed")
    counts = {word.lower(): list(hooks.values()).count(word) for word in ("Passed", "Failed", "Skipped")}
    status: ReportStatus = "failed" if bad else "open" if counts["passed"] else "unknown"
    note = NONE_RAN if status == "unknown" else None
    yield QaReport("pre-commit", status, counts, failures=bad, failures_count=len(bad), note=note)
