"""JSON event lines of `go test -json`, `mypy -O json`, `ruff --output-format json-lines` and libtest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from git_taskctx.capture.qa.fields import Odd, count, file, word
from git_taskctx.capture.qa.linters import problem
from git_taskctx.capture.qa.reporters import ruff_report
from git_taskctx.capture.qa.text import NONE_RAN, TRUNCATED
from git_taskctx.model.qa import QaReport, ReportStatus

Event = dict[str, Any]


def read_events(events: Sequence[Event]) -> Iterator[QaReport]:
    """Yield a report for each tool with events in a log."""
    for tool, reader in _READERS.items():
        mine = [event for event in events if _KEYS[tool] <= event.keys()]
        if mine:
            try:
                yield from reader(mine)
            except Odd:
                yield QaReport(tool, "unknown", note="its report is not of the shape that it writes")


_ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _go(events: list[Event]) -> Iterator[QaReport]:
    """A package that began and did not end was cut off; a skipped one has no tests."""
    counts = dict.fromkeys(("packages passed", "packages failed", "passed", "failed", "skipped"), 0)
    open_packages: dict[str, list[str]] = {}
    names: list[str] = []
    for event in events:
        action, package = word(event, "Action"), word(event, "Package")
        failed = open_packages.setdefault(package, [])
        if action not in _ENDS:
            continue
        if "Test" in event:
            counts[_ENDS[action]] += 1
            if action == "fail":
                failed.append(f"{package}: {word(event, 'Test')}")
            continue
        if action == "fail":
            counts["packages failed"] += 1
            names += failed or [f"{package}: {'build failed' if 'FailedBuild' in event else 'failed'}"]
        elif action == "pass":
            counts["packages passed"] += 1
        open_packages.pop(package)
    names += [name for failed in open_packages.values() for name in failed]
    bad = counts["packages failed"] or counts["failed"]
    status: ReportStatus = "failed" if bad else "unknown"
    note = None
    if not bad and open_packages:
        note = TRUNCATED
    elif not bad and counts["passed"]:
        status = "open"
    elif not bad:
        note = NONE_RAN
    shown = {key: number for key, number in counts.items() if number}
    yield QaReport("go test", status, shown, failures=tuple(names), failures_count=len(names), note=note)


def _cargo(events: list[Event]) -> Iterator[QaReport]:
    """Each suite announces its number of tests, then the results."""
    counts = dict.fromkeys(("passed", "failed", "ignored", "measured"), 0)
    names: list[str] = []
    running: int | None = None
    note = None
    for event in events:
        happened = word(event, "event")
        if event["type"] == "test" and happened in ("failed", "timeout"):
            names.append(word(event, "name"))
        if event["type"] != "suite":
            continue
        if happened == "started":
            note = note or (TRUNCATED if running is not None else None)
            running = count(event, "test_count")
        else:
            ran = {key: count(event, key) for key in counts}
            if running != sum(ran.values()):
                note = "a result does not fit the number of tests"
            counts = {key: counts[key] + ran[key] for key in counts}
            running = None
    note = note or (TRUNCATED if running is not None else None)
    status: ReportStatus = "failed" if counts["failed"] or names else "unknown" if note else "open"
    if status == "open" and not counts["passed"] + counts["measured"]:
        status, note = "unknown", NONE_RAN
    shown = {key: number for key, number in counts.items() if number}
    bad = max(counts["failed"], len(names))
    yield QaReport("cargo test", status, shown, failures=tuple(names), failures_count=bad, note=note)


def _mypy(events: list[Event]) -> Iterator[QaReport]:
    """Notes alone are not errors; mypy prints no success in this format."""
    found = [event for event in events if word(event, "severity") == "error"]
    names = tuple(problem(file(one, "file"), str(one.get("code") or ""), word(one, "message")) for one in found)
    files = len({file(one, "file") for one in found})
    counts = {"errors": len(names), "files": files} if names else {}
    status: ReportStatus = "failed" if names else "open"
    yield QaReport("mypy", status, counts, failures=names, failures_count=len(names))


def _ruff(events: list[Event]) -> Iterator[QaReport]:
    yield ruff_report(events)


_READERS = {"go test": _go, "cargo test": _cargo, "mypy": _mypy, "ruff": _ruff}
_KEYS = {
    "go test": {"Action", "Package"},
    "cargo test": {"type", "event"},
    "mypy": {"file", "line", "severity", "message"},
    "ruff": {"code", "filename", "location", "message"},
}
