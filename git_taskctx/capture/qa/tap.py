"""TAP, the Test Anything Protocol: of node, tape, mocha, vitest, Perl's Test::More, and of `prove -v`.

Written by hand after its specification (testanything.org, versions 12 to 14): the reader of PyPI's tap.py leaves
subtests out, needs a YAML library for version 13, and prints to stdout. A run is the tests that its plan counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.text import NONE_RAN, TRUNCATED
from git_taskctx.model.qa import QaReport, ReportStatus
from git_taskctx.model.values import dataclass, field

_LINE = re.compile(
    r"^(?P<indent> *)(?:(?P<version>TAP version 1[234])$|1\.\.(?P<plan>\d{1,7})(?P<skip> *#.*)?$"
    r"|(?P<bad>not )?ok(?: +(?P<number>\d{1,7}))?(?:(?P<text> .*))?$"
    r"|(?P<block>---|\.\.\.)$|Bail out!(?P<bail>.*)$|(?:# fail +|Result: )(?P<told>[1-9]\d{0,8}|FAIL)$)",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(r"(?<!\\)# *(SKIP|TODO)", re.IGNORECASE)
_TIME = re.compile(r" # time=[\d.]+ms(?: \{)?$| \{$")


@dataclass
class _Stream:
    """One run: its plan stands before its tests or behind them."""

    plan: int | None = None
    ran: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"failed": 0, "passed": 0, "skipped": 0, "todo": 0})
    names: list[str] = field(default_factory=list)
    note: str | None = None
    """Why it is a failure, whatever its tests say."""


def read_tap(log: str) -> Iterator[QaReport]:
    """Yield one report for all runs in a log; where no run has a plan it is no TAP."""
    streams = [_Stream()]
    inside: int | None = None
    for match in _LINE.finditer(log):
        indent, stream = len(match["indent"]), streams[-1]
        if inside is not None and indent >= inside and match["block"] != "...":
            continue  # the YAML below a test may quote anything
        if match["block"]:
            inside = indent if match["block"] == "---" and indent else None
        elif match["bad"] is not None or match["number"] or match["text"] is not None:
            if indent % 4 == 0:
                _take_test(streams, match, nested=indent > 0)
        elif indent:
            continue
        elif match["version"]:
            streams.append(_Stream())
        elif match["plan"]:
            if stream.plan is not None:
                streams.append(stream := _Stream())
            stream.plan = int(match["plan"])
        elif match["bail"] is not None:
            stream.note = f"bail out!{match['bail']}"[:200]
        elif match["told"]:
            stream.note = "it says itself that it failed"
    streams = [one for one in streams if one.plan is not None or one.ran or one.note]
    if any(one.plan is not None for one in streams):
        yield _report(streams)


def _take_test(streams: list[_Stream], match: re.Match[str], *, nested: bool) -> None:
    text = match["text"] or ""
    directive = _DIRECTIVE.search(text)
    said = _TIME.sub("", text[: directive.start()] if directive else text).strip()
    word = directive[1].upper() if directive else ""
    name = said.removeprefix("- ").strip().replace("\\#", "#") or f"test {match['number'] or '?'}"
    if nested:
        if match["bad"] and word != "TODO":
            streams[-1].names.append(name)
        return
    number = int(match["number"] or 0)
    if number == 1 and streams[-1].ran:
        streams.append(_Stream())
    stream = streams[-1]
    stream.ran += 1
    key = "todo" if word == "TODO" else "failed" if match["bad"] else "skipped" if word else "passed"
    stream.counts[key] += 1
    if key == "failed":
        stream.names.append(name)


def _report(streams: list[_Stream]) -> QaReport:
    counts = {key: sum(one.counts[key] for one in streams) for key in _Stream().counts}
    names = tuple(name for one in streams for name in one.names)
    failed = [one.note for one in streams if one.note]
    status: ReportStatus = "failed" if counts["failed"] or failed else "passed"
    note = failed[0] if failed and not counts["failed"] else None
    if status == "passed":
        note = next((told for told in map(_odd, streams) if told), None)
        status = "unknown" if note else "passed"
    if status == "passed" and not counts["passed"]:
        status, note = "unknown", NONE_RAN
    shown = {key: number for key, number in counts.items() if number}
    bad = max(counts["failed"], len(names), len(failed))
    return QaReport("TAP", status, shown, failures=names, failures_count=bad, note=note)


def _odd(stream: _Stream) -> str | None:
    if stream.plan is None or stream.ran < stream.plan:
        return TRUNCATED if stream.plan is None else f"{stream.plan} tests are planned, and {stream.ran} ran"
    return f"{stream.plan} tests are planned, and {stream.ran} ran" if stream.ran > stream.plan else None
