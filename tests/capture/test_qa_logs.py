"""What tests and linters print is read as they mean it, and never as a pass where it is not one.

The logs under tests/capture/logs are what the tools themselves printed, of small projects and of public repositories
(`public-…`), with the folders of the machine taken out; `expected.json` holds the whole reading of each.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiers
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from git_taskctx.capture.qa import read_log
from git_taskctx.capture.qa.text import clean
from git_taskctx.model.codec import to_plain
from git_taskctx.model.qa import QaReport, RunStatus, judge

PROJECT = Path(__file__).resolve().parents[2]
LOGS = PROJECT / "tests" / "capture" / "logs"
EXPECTED: dict[str, Any] = json.loads((LOGS / "expected.json").read_text())
ROOT = "/srv/project"


def log(name: str) -> bytes:
    """Return a log as it was printed."""
    return (LOGS / f"{name}.log").read_bytes()


def read(data: bytes, *, command: str | None = None, exit_code: int | None = None) -> tuple[QaReport, ...]:
    """Read a log of the project."""
    return read_log(data, command=command, exit_code=exit_code, root=ROOT)


def status(data: bytes, exit_code: int | None = None) -> RunStatus:
    """Return what a log and an exit code come to."""
    return judge(read(data, exit_code=exit_code), exit_code)


def of_status(wanted: str, *, key: str = "without_exit_code") -> list[str]:
    """Return the names of the logs that read so."""
    return [name for name, one in EXPECTED.items() if one[key] == wanted]


def one_a_tool(names: list[str]) -> list[str]:
    """Return the first log of each tool, or pair of tools, and in it of each kind of ending."""
    kinds = {(*(report["tool"] for report in EXPECTED[name]["reports"]), name.split("-")[-1]): name for name in names}
    return list(kinds.values())


def test_every_log_has_its_reading() -> None:
    """No log lies about unread, and every tool that docs/qa.md names has one that passes and one that does not."""
    assert {path.stem for path in LOGS.glob("*.log")} == set(EXPECTED)
    seen = {(report["tool"], one["exit_code"] == 0) for one in EXPECTED.values() for report in one["reports"]}
    page = " ".join((PROJECT / "docs" / "qa.md").read_text().split())
    told = re.search(r"The output of ([\w ,-]+) and of coverage summaries is understood", page)
    assert told is not None
    tools = {*told[1].split(", "), "coverage.py"}
    assert {(tool, ok) for tool in tools for ok in (True, False)} - {("tsc", True)} <= seen  # it passes without a word
    assert len({name.split("-")[1] for name in EXPECTED if name.startswith("public-")}) >= 3


def test_the_reading_of_a_real_log() -> None:
    """Tools, counts, percentages, failures by name and the verdict are exactly these."""
    for name, expected in EXPECTED.items():
        command, code = expected["command"], expected["exit_code"]
        reports = read(log(name), command=command, exit_code=code)
        assert [to_plain(report) for report in reports] == expected["reports"], name
        assert judge(reports, code) == expected["status"], name
        assert status(log(name)) == expected["without_exit_code"], name
        if code:
            assert expected["status"] == "failed"


def _coloured(text: str) -> str:
    """Colour every line, and end it as terminals and progress bars do."""
    return "".join(f"\x1b[1m\x1b[38;5;196m{line}\x1b[0m\x1b[K\n" for line in text.split("\n"))


WRAPPED: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "colours": lambda text: _coloured(text).encode(),
    "BOM": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16, as PowerShell writes it": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "a progress bar before it": lambda text: f"downloading 10 %\rdownloading 100 %\r\n{text}".encode(),
    "an Actions log": lambda text: re.sub("(?m)^", "2026-01-01T00:00:00.1234567Z ", text).encode(),
    "gh run view --log": lambda text: re.sub("(?m)^", "build\tRun tests\t2026-01-01T00:00:00.1234567Z ", text).encode(),
    "GitLab's times": lambda text: re.sub("(?m)^", "2026-01-01T00:00:00.123456Z 01O ", text).encode(),
    "turbo": lambda text: re.sub("(?m)^", "@shop/web:test: ", text).encode(),
    "pnpm": lambda text: re.sub("(?m)^", "packages/web test: ", text).encode(),
    "trailing blanks": lambda text: text.replace("\n", "  \n").encode(),
    "npm's echo": lambda text: f"\n> shop@1.0.0 test\n> run-all\n\n{text}".encode(),
}


@pytest.mark.parametrize("way", WRAPPED)
def test_what_is_put_around_a_log_changes_nothing(way: str) -> None:
    """Line ends, colours, encodings and the prefixes of CI services and task runners are taken off."""
    for name, expected in EXPECTED.items():
        if way in ("turbo", "pnpm") and log(name).count(b"\n") < 8:
            continue  # too short to be told from a tool's own words
        if "progress" in way and log(name).strip() in (b"", b"[]"):
            continue  # where nothing is printed something was
        reports = read(WRAPPED[way](log(name).decode()), command=expected["command"], exit_code=expected["exit_code"])
        assert [to_plain(report) for report in reports] == expected["reports"], name


TOLD_AFTERWARDS = {"vitest-3-cov", "eslint-8-warn", "jest-29-cov", "jest-30-cov", "pytest-8-usage"}
"""The failure is told below the tests' own summary: only the exit code gives a log away that was cut between."""


@pytest.mark.slow
def test_a_truncated_log_is_no_pass() -> None:
    """Cut at some of its lines, and at the last ones: what reads as passed is whole; a failed run never reads so."""
    cuts = 100 if tiers.deep else 8
    for name in sorted(set(EXPECTED) - TOLD_AFTERWARDS):
        lines = log(name).splitlines(keepends=True)
        whole = read(log(name))
        for cut in sorted({*range(0, len(lines), 1 + len(lines) // cuts), *range(max(len(lines) - 4, 0), len(lines))}):
            part = b"".join(lines[:cut])
            if status(part) == "passed":
                assert EXPECTED[name]["without_exit_code"] == "passed", (name, cut)
                assert read(part)[0] == whole[0], (name, cut)
            if EXPECTED[name]["exit_code"]:
                assert status(part, EXPECTED[name]["exit_code"]) != "passed", (name, cut)


def test_an_exit_code_that_contradicts_the_log_is_no_pass() -> None:
    """A failure with 0 and a pass with 1 are contradictions; the other way round they agree."""
    for name in of_status("passed"):
        assert status(log(name), 0) == "passed"
        assert status(log(name), 1) == "contradiction"
    for name in of_status("failed"):
        assert status(log(name), 0) == "contradiction"
        assert status(log(name), 1) == "failed"
    for name in of_status("unknown"):
        assert status(log(name), 1) in ("failed", "contradiction")


@pytest.mark.slow
def test_several_tools_in_one_log() -> None:
    """A failure anywhere in it is one of the whole; two passes are one; each tool has a report of its own."""
    passed, failed = one_a_tool(of_status("passed")), one_a_tool(of_status("failed"))
    for good, bad in tiers.paired(passed, failed):
        for data in (log(good) + log(bad), log(bad) + log(good)):
            assert status(data) != "passed", (good, bad)
            assert status(data, 0) != "passed", (good, bad)
    for one, other in itertools.combinations(passed, 2) if tiers.deep else itertools.pairwise(passed):
        reports = read(log(one) + log(other))
        tools = {report["tool"] for name in (one, other) for report in EXPECTED[name]["reports"]}
        assert {report.tool for report in reports} == tools, (one, other)


@pytest.mark.slow
def test_interleaved_logs_are_no_pass() -> None:
    """Two tools that wrote into one file at the same time, line by line: a failure does not get lost.

    JSON over many lines is no JSON then, and nothing tells what it was.
    """
    failed = [name for name in one_a_tool(of_status("failed")) if log(name)[1:2] != b"\n"]
    for good, bad in tiers.paired(one_a_tool(of_status("passed")), failed):
        pairs = itertools.zip_longest(log(good).splitlines(True), log(bad).splitlines(True), fillvalue=b"")
        mixed = b"".join(itertools.chain.from_iterable(pairs))
        assert status(mixed) != "passed", (good, bad)


def test_packages_of_a_task_runner_are_told_apart() -> None:
    """Two packages whose lines turbo mixed are read one by one, and come to one report a tool."""
    names = ("jest-29-fail", "jest-29-pass")
    streams = [re.sub("(?m)^(?=.)", f"{package}:test: ", log(name).decode()).splitlines(True)
               for package, name in zip(("web", "api"), names, strict=True)]  # fmt: skip
    mixed = "".join(itertools.chain.from_iterable(itertools.zip_longest(*streams, fillvalue="")))
    (report,) = read(mixed.encode())
    assert (report.status, report.counts["passed"], report.counts["failed"]) == ("failed", 3, 1)
    assert report.failures == ("bad.test.js › sum › adds wrongly",)


START = "============================= test session starts =============================="

NESTED = {
    "a passing run inside a failing one": (
        f"{START}\ncollected 2 items\n{START}\ncollected 9 items\n=== 9 passed in 0.1s ===\n=== 2 failed in 1.0s ===\n",
        "failed",
    ),
    "a run that was killed, and another that passes": (
        f"{START}\ncollected 2 items\n{START}\ncollected 1 item\n=== 1 passed in 0.1s ===\n",
        "unknown",
    ),
    "a failing summary before a passing one": ("2 failed in 0.1s\n3 passed in 0.1s\n", "unknown"),
    "more than was collected": (f"{START}\ncollected 1 item\n=== 99 passed in 0.1s ===\n", "unknown"),
    "a pass below failures": (f"{START}\n=== FAILURES ===\n__ test_x __\n=== 1 passed in 0.1s ===\n", "unknown"),
    "interrupted from the keyboard": (f"{START}\n!!! KeyboardInterrupt !!!\n=== 1 passed in 0.1s ===\n", "failed"),
    "skipped only": (f"{START}\ncollected 1 item\n=== 1 skipped in 0.1s ===\n", "unknown"),
    "one run after the other": (
        f"{START}\n=== 1 passed in 0.1s ===\n{START}\n=== 2 passed in 0.1s ===\n",
        "passed",
    ),
    "a summary in a sentence": ("it said: 3 passed in 0.1s\n", "unknown"),
    "other things that passed": ("3 checks passed in 0.1s\n3 passed, 1 eaten in 0.1s\n", "unknown"),
    "a cargo result that does not fit": (
        "running 2 tests\ntest a ... ok\n"
        "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        "unknown",
    ),
    "a unittest verdict under failures": (
        f"{'=' * 70}\nFAIL: test_x (t.T)\n{'-' * 70}\n\n{'-' * 70}\nRan 1 test in 0.1s\n\nOK\n",
        "unknown",
    ),
    "a jest summary under a failed file": (
        "FAIL ./a.test.js\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n"
        "Snapshots:   0 total\nTime:        1 s\n",
        "unknown",
    ),
    "jest that gave up": (
        "PASS ./a.test.js\n\nTest Suites: 1 passed, 1 of 3 total\nTests:       1 passed, 1 total\n"
        "Snapshots:   0 total\nTime:        1 s\n",
        "unknown",
    ),
    "two vitest summaries that disagree": (
        " RUN  v3.0.0 /x\n\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n   Duration  1s\n"
        " Test Files  1 passed (1)\n      Tests  1 passed (1)\n   Duration  1s\n",
        "unknown",
    ),
    "vitest with errors outside the tests": (
        " RUN  v3.0.0 /x\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n"
        "     Errors  1 error\n   Duration  1s\n",
        "failed",
    ),
    "errors that mypy listed, and a success below": (
        "a.py:1: error: no  [misc]\nSuccess: no issues found in 1 source file\n",
        "unknown",
    ),
    "eslint's rows without their end": ("/x/a.js\n  1:1  error  no  no-undef\n", "unknown"),
    "JUnit XML with entities": (
        "<?xml version='1.0'?>\n<!DOCTYPE t [<!ENTITY a 'b'>]>\n<testsuite><testcase name='&a;'/></testsuite>\n",
        "unknown",
    ),
    "JUnit XML that claims more than it lists": ("<testsuite tests='2'><testcase name='a'/></testsuite>\n", "unknown"),
    "JUnit XML that claims a failure": ("<testsuite tests='1' errors='1'><testcase/></testsuite>\n", "failed"),
    **{
        f"JUnit XML with {what}": (f"{xml}\n1 passed in 0.1s\n", expected)
        for what, xml, expected in (
            ("an error beside its tests", "<testsuite tests='1' errors='0'><error/><testcase name='a'/></testsuite>",
             "failed"),
            ("a failure beside its suites", "<testsuites><failure/><testsuite><testcase/></testsuite></testsuites>",
             "failed"),
            ("a failure of another namespace",
             "<testsuite xmlns:x='u'><testcase name='a'><x:failure/></testcase></testsuite>", "failed"),
            ("a failure that its attribute tells", "<testsuite><testcase name='a' status='failed'/></testsuite>",
             "failed"),
            ("a test in a test that failed",
             "<testsuite><testcase name='a'><failure/><testcase name='b'/></testcase></testsuite>", "failed"),
            ("a test in one", "<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>", "unknown"),
            ("blanks at a number", "<testsuite tests='1' failures=' 1 '><testcase name='a'/></testsuite>", "failed"),
            ("too large a number", "<testsuite failures='1234567890'><testcase name='a'/></testsuite>", "unknown"),
            ("a sign before a number", "<testsuite errors='+1'><testcase name='a'/></testsuite>", "unknown"),
            ("a fraction", "<testsuite failures='1.0'><testcase name='a'/></testsuite>", "unknown"),
            ("no number", "<testsuite tests=''><testcase name='a'/></testsuite>", "unknown"),
            ("a document type", "<?xml version='1.0'?><!DOCTYPE testsuite [<!ENTITY a 'b'>]><testsuite/>", "unknown"),
            ("words before it", "12:01 <testsuite><testcase name='a'><failure/></testcase></testsuite>", "failed"),
            ("words before it, cut short", "12:01 <testsuite><testcase name='a'/>", "unknown"),
            ("much XML of others before it",
             "<?xml x\n" * 25 + "<testsuite><testcase name='a'><failure/></testcase></testsuite>", "failed"),
        )
    },
    "JUnit XML below more XML than is read": (
        "<?xml x\n" * 6000 + "<testsuite><testcase name='a'><failure/></testcase></testsuite>\n1 passed in 0.1s\n",
        "unknown",
    ),
    "a tag in a sentence": ("test_a.py::test_x[<testsuite>-a] PASSED\n=== 1 passed in 0.1s ===\n", "passed"),
    "objects of another program": ('{"type": "module"\n=== 1 passed in 0.1s ===\n', "passed"),
    **{
        f"{tool} that breaks off, and a run that passes": (f"{line}\n=== 1 passed in 0.1s ===\n", "unknown")
        for tool, line in {
            "a report of pytest": '{"created":1,"exitcode":1,"summary":{"failed":1',
            "a report of playwright": '12:01 {"config": {}, "errors": [',
            "a report of ruff": '[{"cell": null,',
            "a report in which a key stands twice, of pytest": '{"created": 1, "exitcode": 1, "exitcode": 0}',
            "an event of go": '{"Time":"x","Action":"fail","Package":',
            "an event of cargo": '{ "type": "suite", "event": "fai',
            "an event of mypy": '{"file": "a", "line": 1, "mess',
        }.items()
    },
    "more JSON than is read": (f'{{"created": [{"{}," * 1_000_000}\n=== 1 passed in 0.1s ===\n', "unknown"),
    "JUnit XML around a run that passed": (
        "<testsuite><testcase name='a'><system-out>\n3 passed in 0.1s\n</system-out></testcase>",
        "unknown",
    ),
    "JUnit XML without a test": ("<testsuites>\n<testsuite tests='0'/></testsuites>\n", "unknown"),
    "empty JUnit XML": ("<testsuites/>", "unknown"),
    "an empty suite alone": ("<?xml version='1.0'?>\n<testsuite name='a' tests='0' />\n", "unknown"),
    "empty JUnit XML that claims a failure": ("<testsuites failures='1'/>", "failed"),
    "empty JUnit XML before a run that failed": ("<testsuites/>\n1 failed in 0.1s\n", "failed"),
    "empty JUnit XML before half a tag": ("<testsuites/></testsuites", "unknown"),
    "JUnit XML nested without end": ("<testsuite>" * 2000, "unknown"),
    "JSON nested without end": ('{"config": ' * 100_000, "unknown"),
    "a report of pytest that counts no failure, and lists one": (
        '{"created": 1, "exitcode": 0, "summary": {"passed": 1}, "tests": [{"nodeid": "a", "outcome": "failed"}]}\n',
        "unknown",
    ),
    "a report of pytest that passed, with the exit code of a failure": (
        '{"created": 1, "exitcode": 1, "summary": {"passed": 1}}\n',
        "failed",
    ),
    "a report of pytest in which a number is a text": (
        '{"created": 1, "exitcode": 0, "summary": {"passed": "1"}}\n',
        "unknown",
    ),
    "a report in which a key stands twice": (
        '{"created": 1, "exitcode": 1, "exitcode": 0, "summary": {"passed": 1}}\n',
        "unknown",
    ),
    "a report of jest that breaks off": ('{"numFailedTestSuites":0,"testResults":[{"na\n', "unknown"),
    "a report of eslint that counts no error, and lists one": (
        '[{"filePath": "a", "messages": [{"severity": 2, "message": "m"}], "errorCount": 0, "warningCount": 0}]\n',
        "unknown",
    ),
    "a report of jest with a suite that did not run": (
        '{"numFailedTestSuites":1,"numFailedTests":0,"numPassedTests":1,"numPendingTests":0,"numTodoTests":0,'
        '"numRuntimeErrorTestSuites":1,"success":true,"testResults":[]}\n',
        "failed",
    ),
    "a report of jest whose total is another": (
        '{"numFailedTestSuites":0,"numFailedTests":0,"numPassedTests":1,"numPendingTests":0,"numTodoTests":0,'
        '"numTotalTests":3,"numRuntimeErrorTestSuites":0,"success":true,"testResults":[]}\n',
        "unknown",
    ),
    "a report of pytest whose total is another": (
        '{"created": 1, "exitcode": 0, "summary": {"passed": 1, "total": 9}}\n',
        "unknown",
    ),
    "a report of pytest with a word that is none of its": (
        '{"created": 1, "exitcode": 0, "summary": {"passed": 1, "errors": 3, "total": 4}}\n',
        "unknown",
    ),
    "a report of eslint with a file that was not read": (
        '[{"filePath": "a", "messages": [{"severity": 1, "fatal": true, "message": "m"}], "errorCount": 0, '
        '"warningCount": 1}]\n',
        "unknown",
    ),
    "a report of playwright that counts more than it lists": (
        '{"config": {}, "errors": [], "suites": [], '
        '"stats": {"expected": 1, "unexpected": 0, "flaky": 0, "skipped": 0}}\n',
        "unknown",
    ),
    "a run of pytest that goes on below what a test printed": (
        f"{START}\ncollected 3 items\n\na.py ..\n===== 3 passed in 0.1s =====\n.F",
        "unknown",
    ),
    "a verbose run of pytest that goes on": (
        f"{START}\ncollected 3 items\n\n===== 3 passed in 0.1s =====\na.py::test_b PASSED\n",
        "unknown",
    ),
    "less than was collected": (f"{START}\ncollected 3 items\n=== 1 passed in 0.1s ===\n", "unknown"),
    "all that was collected but for what was deselected": (
        f"{START}\ncollected 3 items / 2 deselected / 1 selected\n=== 1 passed, 2 deselected in 0.1s ===\n",
        "passed",
    ),
    "a module that was skipped": (f"{START}\ncollected 1 item / 1 skipped\n=== 1 passed, 1 skipped in 0.1s ===\n",
                                  "passed"),
    "unittest below pytest": (f"1 passed in 0.1s\n..\n{'-' * 70}\nRan 2 tests in 0.1s\n\nOK\n", "passed"),
    "a verdict of unittest that a test printed": ("Ran 2 tests in 0.1s\n\nOK\nFAILED (failures=1)\n", "unknown"),
    "what jest printed says more than its report": (
        '{"numFailedTestSuites":0,"numFailedTests":0,"numPassedTests":1,"numPendingTests":0,"numTodoTests":0,'
        '"numRuntimeErrorTestSuites":0,"success":true,"testResults":[]}\n'
        "FAIL ./a.test.js\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n"
        "Snapshots:   0 total\nTime:        1 s\n",
        "failed",
    ),
    "a test of playwright that was not run": (
        '{"config": {}, "errors": [], "stats": {"expected": 1, "unexpected": 0, "flaky": 0, "skipped": 1}, "suites": '
        '[{"title": "a", "specs": [{"title": "b", "tests": [{"status": "skipped", "expectedStatus": "passed"}]}]}]}\n',
        "unknown",
    ),
    "a package of go that did not end": (
        '{"Action":"run","Package":"a","Test":"T"}\n{"Action":"pass","Package":"a","Test":"T"}\n',
        "unknown",
    ),
    "a suite of cargo that did not end": (
        '{ "type": "suite", "event": "started", "test_count": 1 }\n{ "type": "test", "name": "a", "event": "ok" }\n',
        "unknown",
    ),
    "notes of mypy, and no error": (
        '{"file": "a", "line": 1, "message": "m", "code": null, "severity": "note"}\n',
        "unknown",
    ),
    "TAP that ran less than it planned": ("1..3\nok 1\nok 2\n", "unknown"),
    "TAP that ran more than it planned": ("1..1\nok 1\nok 2\n", "unknown"),
    "TAP that gave up": ("1..2\nok 1\nok 2\nBail out! no database\n", "failed"),
    "TAP of which the second run breaks off": ("ok 1\n1..1\nok 1\n", "unknown"),
    "TAP that skipped all": ("1..0 # SKIP no network\n", "unknown"),
    "TAP that only has known failures": ("1..1\nnot ok 1 - a # TODO later\n", "unknown"),
    "TAP with a failure that its YAML denies": ("1..1\nnot ok 1 - a\n  ---\n  ok 1 - a\n  ...\n", "failed"),
    "TAP with a description that is not a directive": ("1..2\nok 1\nnot ok 2 - parse #TODOs right\n", "failed"),
    "TAP with a word that is not a directive": ("1..2\nok 1\nnot ok 2 - a # todolist broken\n", "failed"),
    "TAP with a directive": ("1..2\nok 1\nnot ok 2 - a # todo: later\n", "passed"),
    "TAP with a failure inside of what passed": ("1..1\n    not ok 1 - inner\n    1..1\nok 1 - outer\n", "unknown"),
    "TAP with a failure behind what passed": ("1..1\nok 1 - outer\n  not ok 1 - inner\n", "unknown"),
    "TAP with a failure inside of a TODO": ("1..2\n    not ok 1 - a\nnot ok 1 - b # TODO c\nok 2\n", "passed"),
    "TAP with YAML that does not end": ("1..2\nok 1 - a\n  ---\n  not ok 2\nok 2\n", "unknown"),
    "TAP that gave up inside": ("1..1\n    Bail out! x\nok 1\n", "failed"),
    "TAP with a word of its own that it failed": ("1..1\nok 1\n# Looks like you failed 1 test of 1.\n", "failed"),
    "TAP of a test that ended badly": ("1..1\nok 1\nDubious, test returned 255 (wstat 65280, 0xff00)\n", "failed"),
    "TAP with a plan without measure": (f"1..{'9' * 3000}\nok 1\n1..1\nok 1\n", "unknown"),
    "prove that failed behind its tests": ("1..1\nok 1\nok\n\nResult: FAIL\n", "failed"),
    "ruff without files": ("warning: No Python files found under the given path(s)\nAll checks passed!\n", "unknown"),
}  # fmt: skip


def test_output_that_imitates_a_summary() -> None:
    """Nested runs, forged lines and verdicts that do not fit: not a pass, with an exit code of 0 neither."""
    for name, (text, expected) in NESTED.items():
        assert status(text.encode()) == expected, name
        if expected != "passed" and name not in WITH_AN_EXIT_CODE:
            assert status(text.encode(), 0) != "passed", name


WITH_AN_EXIT_CODE = {"notes of mypy, and no error"}


UNKNOWN = {
    "nothing": b"",
    "make": b"cc -o a a.c\n./a\nall tests OK\n",
    "ok without a plan": b"ok 1 - a\nnot ok 2 - b\n",
    "JSON": b'{"created": 1, "passed": 3}\n',
    "other XML": b"<?xml version='1.0'?>\n<coverage line-rate='1'><testsuites/></coverage>\n",
    "events": b'{"type": "suite"}\n{"file": "a"}\n{"Action": "pass"}\n[]\n',
    "a compiler": b"a.c:3:5: error: expected expression\n1 error generated.\n",
    "bytes": bytes(range(256)) * 40,
    "prose": b"Found errors. All good! passed failed ok FAIL\n",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_log_is_unknown(name: str) -> None:
    """No report, and no pass even with an exit code of 0; another exit code is a failure by itself."""
    assert read(UNKNOWN[name]) == ()
    assert (status(UNKNOWN[name]), status(UNKNOWN[name], 0), status(UNKNOWN[name], 2)) == (
        "unknown",
        "unknown",
        "failed",
    )


@pytest.mark.parametrize(
    ("command", "text", "tool"),
    [
        ("npx eslint .", "", "eslint"),
        ("./node_modules/.bin/tsc --noEmit", "\n\n", "tsc"),
        ("node_modules\\.bin\\eslint.cmd src", "\r\n", "eslint"),
        ("cd web && npm run lint", "\n> shop@1.0.0 lint\n> eslint --max-warnings 0 src\n\n", "eslint"),
        (None, "yarn run v1.22.19\n$ tsc -p .\nDone in 3.21s.\n", "tsc"),
        ("ruff check .", "", "ruff"),
        ("make lint", "", None),
        ("echo eslintish", "", None),
        ("npx eslint .", "something else\n", None),
        ("CI=1 npx --no-install eslint src >/tmp/qa.log 2>&1", "", "eslint"),
        ("npm run build && eslint .", "", "eslint"),
        ("ruff check --output-format json", "[]", "ruff"),
        ("cat ruff", "", None),
        ("echo eslint", "", None),
        ("rm -rf node_modules/eslint", "", None),
        ("eslint . || true", "", None),
        ("eslint . | tee qa.log", "", None),
        ("eslint . & wait", "", None),
        ("ruff check; true", "", None),
        ("! ruff check", "", None),
        ("ruff check --exit-zero", "", None),
        ("ruff --version", "[]", None),
        ("npx tsc --init", "", None),
        ("npm run lint || true", "> shop@1.0.0 lint\n> eslint .\n", None),
        ("npm run lint", "> shop@1.0.0 lint\n> eslint . || true\n", None),
        (None, "", None),
    ],
)
def test_linters_that_print_nothing(command: str | None, text: str, tool: str | None) -> None:
    """An empty log is a pass of a linter that is known to say nothing then, by its command or its echo."""
    reports = read(text.encode(), command=command, exit_code=0)
    assert [(report.tool, report.status) for report in reports] == ([(tool, "passed")] if tool else [])
    assert read(text.encode(), command=command, exit_code=1) == read(text.encode(), command=command) == ()


WINDOWS = """\
C:\\shop\\src\\a.js
  1:5  error  'x' is not defined  no-undef

✖ 1 problem (1 error, 0 warnings)
src\\a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.
C:\\shop\\a.py:3: error: Name "x" is not defined  [name-defined]
Found 1 error in 1 file (checked 1 source file)
src\\b.py:1:8: F401 [*] `os` imported but unused
Found 1 error.
tests\\test_a.py::test_x FAILED [100%]
=========================== short test summary info ===========================
FAILED tests/test_a.py::test_x[a - b] - assert 1 == 2
============================== 1 failed in 0.10s ==============================
"""


def test_windows_paths() -> None:
    """Drive letters and backslashes do not get in the way, and names come out with slashes."""
    found = {report.tool: report.failures for report in read(WINDOWS.replace("\n", "\r\n").encode())}
    assert found == {
        "pytest": ("tests/test_a.py::test_x[a - b]",),
        "eslint": ("C:/shop/src/a.js: no-undef 'x' is not defined",),
        "ruff": ("src/b.py: F401 `os` imported but unused",),
        "mypy": ('C:/shop/a.py: name-defined Name "x" is not defined',),
        "tsc": ("src/a.ts: TS2322 Type 'string' is not assignable to type 'number'.",),
    }


def test_names_and_reports_are_bounded() -> None:
    """Twenty names of at most 160 characters are kept of each tool, and the count of all."""
    rows = "".join(f"a{n}.py:1:1: F401 {'x' * 500}\n" for n in range(100))
    (report,) = read(f"{rows}Found 100 errors.\n".encode())
    kept = report.bounded()
    assert (len(report.failures), report.failures_count) == (100, 100)
    assert (len(kept.failures), max(map(len, kept.failures)), kept.failures_count) == (20, 160, 100)


LARGE = 250_000 if tiers.deep else 80_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a", " ", "=", "1", ":", "(", "\x1b", "\x1b[", "\x1b]", "1 passed, ", "a.py:1:1: ", "a:1: error: ",
        "  1:1  error  ", " 1:1", "\n", "\n\n", "\r", "FAIL\t", "ok  \t", "--- FAIL: a (", "test result: ok. ",
        "running 1 test\n", f"{START}\n", "1 passed in 1s\n", "Ran 1 test in 1s\n", " RUN  v1\n", "TOTAL 1 1 ",
        "a:test: \n", "● ", "error[E1]: a\n", "\tx\t2026-01-01T00:00:00Z ", "::error title=ruff (F401),file=",
        "All files | 1 | 1 ", "All files | . | . | 1.1.1 | . |\n",
        "total:\t(statements)\t..%\n", "a test: x\n", "failures:\n    a\n", " - [", "FAILED a[ - ", "✖ 1 problem (",
        "Found 1 error", "F401 a\n --> ", f"{START}\n{START}\n1 passed in 1s\n",
        "No tests found, exiting with code 1\n", "ok 1\n", "1..1\nok 1\n", "  ---\n", "{\n",
        '{"Action":"a","Package":"b"}\n',
        '{"config": ', '{"created": [\n', '[{"filePath": [\n', "<testsuite>\n", "<?xml ?>\n", "<testsuite><testcase>",
        '{"type":"test","event":"ok"}\n', '{"file":1}', "[", "{",
    ],
)  # fmt: skip
def test_no_log_takes_long(unit: str) -> None:
    """A large log made to be read over and over ends at once, on one line or on many, and is no pass."""
    data = (unit * (LARGE // len(unit))).encode()
    assert status(data) != "passed" or unit in ("1 passed in 1s\n", "1..1\nok 1\n")


def test_empty_lines_are_few() -> None:
    """Of a run of empty lines three are looked at, as no tool prints more of them within its own words."""
    assert clean(b"a\n\n\n\nb" + b"\r\n" * 1000 + b"c\n" + b"\n" * 1000, root=ROOT) == "a\n\n\n\nb\n\n\n\nc\n\n\n\n\n"


def test_junitparser_agrees() -> None:
    """The library that others read JUnit XML with counts what we count; but for node, whose tests need no suite."""
    for name in (name for name in EXPECTED if "-junit-" in name and not name.startswith("node")):
        xml = JUnitXml.fromstring(log(name))
        suites, cases = [xml], []
        while suites:
            suite = suites.pop()
            for below in suite:
                (cases if isinstance(below, TestCase) else suites).append(below)
            suites += [one for one in suite.testsuites() if one not in suites] if isinstance(suite, TestSuite) else []
        kinds = Counter(_kind(case) for case in cases)
        (report,) = EXPECTED[name]["reports"]
        assert kinds == report["counts"], name


def _kind(case: TestCase) -> str:
    kinds = {type(result) for result in case.result}
    return "failed" if kinds & {Failure, Error} else "skipped" if Skipped in kinds else "passed"


TRACES = (
    "Segmentation fault (core dumped)",
    "./run-tests.sh: line 3:  4711 Aborted                 ./unit",
    "make: *** [Makefile:7: lint] Error 1",
    "make: [Makefile:7: lint] Error 2 (ignored)",
    "npm ERR! code ELIFECYCLE",
    "npm error Lifecycle script `lint` failed with error:",
    "error Command failed with exit code 1.",
    "would reformat src/app.py",
    "  3 failing",
    "sh: 1: eslint: not found",
    "bash: line 1: eslint: command not found",
    "thread 'main' panicked at src/main.rs:2:5:",
    "panic: runtime error: index out of range",
    "Traceback (most recent call last):",
    "FAILED tests/test_old.py::test_it - assert 0",
    "##[error]Process completed with exit code 1.",
    "fatal: not a git repository",
)


@pytest.mark.parametrize("trace", TRACES)
def test_a_trace_of_a_failure_beside_a_pass(trace: str) -> None:
    """Whatever failed before or after it, a log in which one tool passed is no pass; the line is named."""
    for name in one_a_tool(of_status("passed")):
        for data in (trace.encode() + b"\n" + log(name), log(name) + trace.encode() + b"\n"):
            assert status(data) != "passed", (name, trace)
            assert status(data, 0) != "passed", (name, trace)
    (report,) = read(trace.encode() + b"\n" + log("pytest-8-pass"))
    assert report.status == "failed" or trace.strip()[:20] in (report.note or "")
