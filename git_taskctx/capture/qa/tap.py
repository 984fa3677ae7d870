"""TAP, the Test Anything Protocol: of node, tape, mocha, vitest, Perl's Test::More, and of `prove -v`.

After its specification (testanything.org, versions 12 to 14). PyPI's tap.py is not used: it ignores subtests, needs
YAML for version 13, and prints to stdout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.fields import MAX_COUNT
from git_taskctx.capture.qa.text import NONE_RAN, TRUNCATED
from git_taskctx.model.qa import QaReport, ReportStatus
from git_taskctx.model.values import dataclass, field

_LINE = re.compile(
    r"^(?P<indent> *)(?:(?P<version>TAP version 1[234])$|1\.\.(?P<plan>\d+)(?P<skip> *#.*)?$"
    r"|(?P<bad>not )?ok(?: +(?P<number>\d{1,7}))?(?:(?P<text> .*))?$"
    r"|(?P<block>---|\.\.\.)$|Bail out!(?P<bail>.*)$"
    r"|(?P<failed># fail +[1-9]\d*|# Looks like you.*|Result: FAIL|Dubious, test returned .*)$)",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(r"(?<!\S)# *(SKIP|TODO(?![\w'-]))", re.IGNORECASE)
_DIGITS = 9
_TIME = re.compile(r" # time=[\d.]+ms(?: \{)?$| \{$")


@dataclass
class _Runs:
    """All runs in a log, and the state of the last; its plan comes before or after its tests."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("failed", "passed", "skipped", "todo"), 0))
    names: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    """Failures inside the next test; allowed if it is a TODO."""
    failed: str | None = None
    """Why it failed, whatever its tests say."""
    odd: str | None = None
    """Why it is not passed: the first mismatch with a plan."""
    planned: bool = False
    """Whether any run has a plan; without one it is not TAP."""
    plan: int | None = None
    ran: int = 0

    def end_run(self) -> None:
        """Check the last run against its plan, and begin another."""
        if self.plan is None and self.ran:
            self.odd = self.odd or TRUNCATED
        elif self.plan is not None and self.ran != self.plan:
            self.odd = self.odd or f"{self.plan} tests are planned, and {self.ran} ran"
        self.plan, self.ran = None, 0

    def set_plan(self, plan: int) -> None:
        """Read a plan line."""
        if self.plan is not None:
            self.end_run()
        self.plan, self.planned = plan, True

    def take_test(self, match: re.Match[str]) -> None:
        """Count a test; of a nested one only a failure's name is kept."""
        text = match["text"] or ""
        directive = _DIRECTIVE.search(text)
        said = _TIME.sub("", text[: directive.start()] if directive else text).strip()
        word = directive[1].upper() if directive else ""
        key = "todo" if word == "TODO" else "failed" if match["bad"] else "skipped" if word else "passed"
        if key == "failed":
            name = said.removeprefix("- ").strip().replace("\\#", "#") or f"test {match['number'] or '?'}"
            self.inner.append(name)
        if match["indent"]:
            return
        self.names += self.inner if key != "todo" else []
        self.inner = []
        if int(match["number"] or 0) == 1 and self.ran:
            self.end_run()
        self.ran += 1
        self.counts[key] += 1

    def report(self) -> QaReport:
        self.end_run()
        self.names += self.inner
        status: ReportStatus = "failed" if self.counts["failed"] or self.failed else "passed"
        note = self.failed if not self.counts["failed"] else None
        if status == "passed" and (self.odd or not self.counts["passed"]):
            status, note = "unknown", self.odd or NONE_RAN
        shown = {key: number for key, number in self.counts.items() if number}
        bad = max(self.counts["failed"], len(self.names), int(self.failed is not None))
        return QaReport("TAP", status, shown, failures=tuple(self.names), failures_count=bad, note=note)


def read_tap(log: str) -> Iterator[QaReport]:
    """Yield one report for all runs in a log that has a plan."""
    runs, inside = _Runs(), None
    for match in _LINE.finditer(log):
        indent = len(match["indent"])
        if inside is not None and indent >= inside and match["block"] != "...":
            continue  # the YAML below a test may quote anything
        if inside is not None and not match["block"]:
            runs.odd = runs.odd or "the YAML below a test does not end"
        if match["block"]:
            inside = indent if match["block"] == "---" and indent else None
        elif match["bad"] is not None or match["number"] or match["text"] is not None:
            runs.take_test(match)
        elif match["bail"] is not None:
            runs.failed = f"bail out!{match['bail']}"[:200]
        elif indent:
            continue
        elif match["version"]:
            runs.end_run()
        elif match["plan"]:
            runs.set_plan(int(match["plan"]) if len(match["plan"]) <= _DIGITS else MAX_COUNT)
        elif match["failed"]:
            runs.failed = runs.failed or "it says itself that it failed"
    if runs.planned:
        yield runs.report()
