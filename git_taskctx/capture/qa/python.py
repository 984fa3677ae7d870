"""pytest and unittest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.text import DISAGREE, NONE_RAN, TRUNCATED, number, sessions
from git_taskctx.model.qa import QaReport, ReportStatus
from git_taskctx.model.values import replace

# pytest.

_START = re.compile(r"^=+ test session starts(?: \(.*\))? =+$", re.MULTILINE)
_COUNTS = r"\d{1,9} (?:subtests? )?[a-z]{1,20}(?:, \d{1,9} (?:subtests? )?[a-z]{1,20}){0,15}|no tests ran"
_SUMMARY = re.compile(
    rf"^(?:=+ (?P<framed>{_COUNTS}) in \d[\d.]*(?:s| seconds)(?: \([\d:, days]+\))? =+"
    rf"|(?P<bare>{_COUNTS}) in \d[\d.]*s(?: \([\d:, days]+\))?)$",
    re.MULTILINE,
)
_WORDS = {"passed", "failed", "skipped", "deselected", "xfailed", "xpassed", "warning", "error", "rerun"}
_COUNT = re.compile(r"(\d+) ((?:subtests? )?[a-z]+)")
_COLLECTED = re.compile(r"^(?:collected (\d+) items?|\d+ workers? \[(\d+) items?\])", re.MULTILINE)
_BROKEN = re.compile(r"^=+ (?:FAILURES|ERRORS) =+$", re.MULTILINE)
_BANNER = re.compile(r"^!+ (.{1,200}) !+$", re.MULTILINE)
_GOES_ON = re.compile(
    r"^(?:\S+\.py [.FEsxXR]+(?: +\[ *\d+%\])?|(?:\[gw\d+\].*? )?\S+::.+? (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS).*"
    r"|[.FEsxXR]+(?: +\[ *\d+%\])?(?!\n+[-=]{70}$))$",
    re.MULTILINE,
)
"""Progress lines that are not unittest's."""
_NAMES_BELOW = re.compile(r"^=+ short test summary info =+$", re.MULTILINE)
_NAMED = re.compile(r"^(?:FAILED|ERROR|SUBFAIL(?:ED)?) (.+)$", re.MULTILINE)
_VERBOSE = re.compile(r"^(?:\[gw\d+\].*? )?(\S+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$", re.MULTILINE)
_QUIET = re.compile(r"^(?P<marks>[.FEsxXR]+) +\[ *(?P<percent>\d+)%\]$", re.MULTILINE)
"""All output of a passing `pytest -qq`."""
_REFUSED = re.compile(r"^(?:pytest(?:\.py)?|__main__\.py): error: (.+)$|^INTERNALERROR> (\S.*)$", re.MULTILINE)


def read_pytest(log: str) -> Iterator[QaReport]:
    """Yield a report for each session; its summary must match what was collected."""
    refused = _REFUSED.search(log)
    if refused:
        yield QaReport("pytest", "failed", failures_count=1, note=(refused[1] or refused[2])[:200])
        return
    found = [match for match in _SUMMARY.finditer(log) if _counts(match).keys() <= _WORDS]
    begin = 0
    for start, marks in sessions(_START.finditer(log), found):
        if not marks:
            yield QaReport("pytest", "unknown", note=TRUNCATED)
            continue
        begin = min(begin, start)
        summaries = [mark.found for mark in marks if mark.found]
        report = _session(log[begin : marks[-1].at], [_counts(one) for one in summaries])
        after, following = summaries[-1].end(), _START.search(log, marks[-1].at)
        if report.status == "passed" and _GOES_ON.search(log, after, following.start() if following else len(log)):
            report = replace(report, status="unknown", note=TRUNCATED)  # a test had printed what looks like the end
        yield report
        begin = marks[-1].at
    if not found and not _START.search(log) and (rows := list(_QUIET.finditer(log))):
        yield _quiet(log, rows)


def _quiet(log: str, rows: list[re.Match[str]]) -> QaReport:
    marks = "".join(row["marks"] for row in rows)
    bad = marks.count("F") + marks.count("E")
    status: ReportStatus = "failed" if bad else "open" if "." in marks else "unknown"
    note = TRUNCATED if rows[-1]["percent"] != "100" else NONE_RAN if status == "unknown" else None
    counts = {"passed": marks.count("."), "failed": bad}
    if status == "open" and (note or _BROKEN.search(log)):
        status = "unknown"
    return QaReport("pytest", status, counts, failures=_failed(log), failures_count=bad, note=note)


def _counts(match: re.Match[str]) -> dict[str, int]:
    pairs = _COUNT.findall(match["framed"] or match["bare"])
    return {word.removesuffix("s"): int(count) for count, word in pairs if not word.startswith("subtest")}


def _session(body: str, summaries: list[dict[str, int]]) -> QaReport:
    counts = summaries[-1]
    ran = sum(counts.get(word, 0) for word in ("passed", "failed", "skipped", "xfailed", "xpassed"))
    bad = counts.get("failed", 0) + counts.get("error", 0)
    collected = [number(match[1] or match[2]) for match in _COLLECTED.finditer(body)]
    banner = next((match[1] for match in _BANNER.finditer(body)), None)
    status: ReportStatus = "failed" if bad else "passed"
    note = None
    if bad == 0:
        if any(one.get("failed") or one.get("error") for one in summaries[:-1]):
            status, note = "unknown", DISAGREE
        elif _BROKEN.search(body) or (collected and not _fits(counts, ran, collected)):
            status, note = "unknown", "the summary does not fit what is above it"
        elif banner:
            status, note = "failed", banner
        elif ran == counts.get("skipped", 0):
            status, note = "unknown", NONE_RAN
    elif banner:
        note = banner
    return QaReport("pytest", status, counts, failures=_failed(body), failures_count=bad, note=note)


def _fits(counts: dict[str, int], ran: int, collected: list[int]) -> bool:
    """Return whether the counts match the collection: skipped modules are not in it, deselected tests did not run."""
    return collected[0] - counts.get("deselected", 0) <= ran <= max(collected) + counts.get("skipped", 0)


def _failed(body: str) -> tuple[str, ...]:
    headers = list(_NAMES_BELOW.finditer(body))
    if not headers:
        return tuple(dict.fromkeys(_VERBOSE.findall(body)))
    return tuple(dict.fromkeys(_node(match[1]) for match in _NAMED.finditer(body, headers[-1].end())))


def _node(text: str) -> str:
    """Return a test's id without the message; a parameter may contain the same dash."""
    parts = text.split(" - ")
    node = parts[0]
    for part in parts[1:]:
        if node.count("[") <= node.count("]"):
            break
        node += f" - {part}"
    return node


# unittest.

_RAN = re.compile(r"^Ran (\d{1,9}) tests? in \d[\d.]*s$", re.MULTILINE)
_VERDICT = re.compile(r"\n{1,3}(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", re.MULTILINE)
_BAD = re.compile(r"^={70}\n(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^FAILED \((?:failures|errors|unexpected successes)=\d", re.MULTILINE)
_DETAIL = re.compile(r"([a-z ]+)=(\d+)")


def read_unittest(log: str) -> Iterator[QaReport]:
    """Yield a report for each run: the number of tests, and a verdict below."""
    begin = failed = 0
    for ran in _RAN.finditer(log):
        names = tuple(dict.fromkeys(_BAD.findall(log, begin, ran.start())))
        verdict = _VERDICT.match(log, ran.end())
        begin = verdict.end() if verdict else ran.end()
        if verdict is None:
            yield QaReport("unittest", "unknown", {"ran": int(ran[1])}, failures=names, note=TRUNCATED)
            continue
        details = {name.strip(): int(count) for name, count in _DETAIL.findall(verdict[2] or "")}
        bad = sum(details.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
        status: ReportStatus = "failed" if verdict[1] == "FAILED" else "passed"
        failed += status == "failed"
        note = None
        if status == "passed" and names:
            status, note = "unknown", "the summary does not fit what is above it"
        elif status == "passed" and int(ran[1]) == details.get("skipped", 0):
            status, note = "unknown", NONE_RAN
        counts = {"ran": int(ran[1]), **details}
        yield QaReport("unittest", status, counts, failures=names, failures_count=bad, note=note)
    if begin and len(_FAILED.findall(log)) > failed:
        yield QaReport("unittest", "unknown", note=DISAGREE)
