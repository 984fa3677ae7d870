"""go test and cargo test: without a last line for the whole, only the exit code shows that all ran."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.text import NONE_RAN, TRUNCATED, sessions
from git_taskctx.model.qa import QaReport, ReportStatus

# go test.

_PACKAGE = re.compile(
    r"^(?:(?P<ok>ok) {2}\t(?P<passed>\S+)\t(?:\d[\d.]*s|\(cached\))(?P<rest>.*)"
    r"|(?P<fail>FAIL)\t(?P<failed>\S+)(?:\t\d[\d.]*s| \[(?P<why>[a-z ]+)\])"
    r"|(?P<none>\?) {3}\t\S+\t\[no test files\]"
    r"| *--- (?P<kind>PASS|FAIL|SKIP): (?P<test>\S+) \(\d[\d.]*s\))$",
    re.MULTILINE,
)


def read_go(log: str) -> Iterator[QaReport]:
    """Yield a report if packages are listed as passed or failed."""
    counts = dict.fromkeys(("packages passed", "packages failed", "passed", "failed", "skipped"), 0)
    names: list[str] = []
    waiting: list[str] = []
    seen = False
    for match in _PACKAGE.finditer(log):
        if match["kind"]:
            key = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[match["kind"]]
            counts[key] += 1
            if match["kind"] == "FAIL":
                waiting.append(match["test"])
            continue
        seen = True
        if match["fail"]:
            counts["packages failed"] += 1
            mine = [f"{match['failed']}: {test}" for test in waiting]
            names += mine or [f"{match['failed']}: {match['why'] or 'failed'}"]
        elif match["ok"] and "[no tests to run]" not in match["rest"]:
            counts["packages passed"] += 1
        waiting = []
    if not seen and not waiting:
        return
    names += waiting
    failed = counts["packages failed"] or counts["failed"]
    status: ReportStatus = "failed" if failed else "open" if counts["packages passed"] else "unknown"
    note = NONE_RAN if status == "unknown" else None
    shown = {key: count for key, count in counts.items() if count}
    yield QaReport("go test", status, shown, failures=tuple(names), failures_count=len(names), note=note)


# cargo test.

_RUNNING = re.compile(r"^running (\d{1,9}) tests?$", re.MULTILINE)
_RESULT = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; (\d{1,9}) measured; "
    r"\d{1,9} filtered out(?:; finished in [\d.]+s)?$",
    re.MULTILINE,
)
_FAILURES = re.compile(r"^failures:\n((?: {4}\S.*\n)+)$", re.MULTILINE)
_COMPILE = re.compile(r"^error(?:\[(E\d+)\])?: (.+)\n +--> (.+?):\d+:\d+$", re.MULTILINE)
_ENDED = re.compile(
    r"^error: (could not compile .*|test failed, to rerun pass .*|\d+ targets? failed:?)$", re.MULTILINE
)


def read_cargo(log: str) -> Iterator[QaReport]:
    """Yield one report for all binaries; each result must match the announced number of tests."""
    running = list(_RUNNING.finditer(log))
    ended = _ENDED.search(log)
    if ended and ended[1].startswith("could not compile"):
        names = tuple(dict.fromkeys(f"{file}: {code or 'error'} {text}" for code, text, file in _COMPILE.findall(log)))
        yield QaReport("cargo test", "failed", failures=names, failures_count=max(len(names), 1), note=ended[1][:200])
        return
    results = list(_RESULT.finditer(log))
    if not running or not (results or "\ntest " in log):
        return
    sizes = {match.start(): int(match[1]) for match in running}
    counts = dict.fromkeys(("passed", "failed", "ignored", "measured"), 0)
    note, names = None, ()
    for start, marks in sessions(running, results):
        fitting = [m.found for m in marks if m.found and sum(map(int, m.found.groups())) == sizes.get(start, -1)]
        if not fitting:
            note = TRUNCATED if not marks else "a result does not fit the number of tests"
            continue
        for key, count in zip(counts, fitting[-1].groups(), strict=True):
            counts[key] += int(count)
        listed = list(_FAILURES.finditer(log, start, fitting[-1].start()))
        names += tuple(listed[-1][1].split("\n    ")) if listed and int(fitting[-1][2]) else ()
    names = tuple(name.strip() for name in names)
    status: ReportStatus = "open"
    if counts["failed"] or ended:
        status, note = "failed", note if counts["failed"] else ended[1] if ended else note
    elif note:
        status = "unknown"
    elif not counts["passed"] + counts["measured"]:
        status, note = "unknown", NONE_RAN
    shown = {key: count for key, count in counts.items() if count}
    yield QaReport("cargo test", status, shown, failures=names, failures_count=counts["failed"], note=note)
