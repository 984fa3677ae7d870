"""JUnit XML, as pytest, vitest, playwright, mocha, node, linters and many others write it.

expat reads it by element: no tree, no document type (so no entities), nothing fetched. It has no end mark, and an
interrupted run writes what it has: no failures means passed only with an exit code.
"""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

from git_taskctx.capture.qa.fields import line
from git_taskctx.capture.qa.text import NONE_RAN, TRUNCATED
from git_taskctx.limits import XML_DEPTH
from git_taskctx.model.qa import QaReport, ReportStatus

_PIECE = 4096
"""Characters examined first, then doubled: a document may be short."""
_NUMBER = re.compile(r"\s*(\d{1,9})\s*")
_END_TAG = re.compile(rb"</[^>]*>")
_SUITES = ("testsuites", "testsuite")
_BREAKS_OFF = (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN,
               expat.errors.XML_ERROR_PARTIAL_CHAR, expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION)  # fmt: skip
_VERDICTS = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_SAID = dict.fromkeys(("error", "fail", "failed", "failure"), "failed") | dict.fromkeys(
    ("disabled", "notrun", "skipped", "suppressed"), "skipped"
)
"""Attributes with a test's result, where no element has it."""


class _Stop(Exception):
    """The document ends, or is not JUnit."""


def read_junit(text: str, begin: int) -> tuple[QaReport | None, int]:
    """Return a document's report and its end; None for another document, with how far it was read.

    A truncated one extends to the end of the log: nothing in it is a tool's printed output.
    """
    data, at, size = bytearray(), begin, _PIECE
    reader = _SuiteReader()
    try:
        while at < len(text):
            piece = text[at : at + size].encode("utf-8", "replace")
            data, at, size = data + piece, at + size, 2 * size
            reader.parser.Parse(piece, at >= len(text))
    except _Stop:
        pass
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        reader.note = TRUNCATED if message in _BREAKS_OFF else f"the XML cannot be read: {message}"
    if not reader.began:
        return None, min(at, len(text))
    if reader.last is None:
        return reader.report(), len(text)
    tag = _END_TAG.match(data, reader.last)  # expat places the end of `<testsuites/>` behind it
    return reader.report(), begin + len(data[: tag.end() if tag else reader.last].decode())


class _SuiteReader:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate("utf-8")  # whatever the declaration says, the text has been decoded
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.above: list[str] = []
        self.suites: list[tuple[str, int, int]] = []
        """Enclosing suites: name, claimed tests, and tests counted before."""
        self.cases: list[tuple[str, str]] = []
        """Enclosing tests: name and result."""
        self.counts = {"failed": 0, "passed": 0, "skipped": 0}
        self.names: list[str] = []
        self.claimed = 0
        """The most failures and errors that a suite claims, or has beside its tests."""
        self.began = False
        self.last: int | None = None
        """Byte of the last tag, or of an empty element's end."""
        self.note: str | None = None

    def report(self) -> QaReport:
        """Return the report of what was read."""
        bad = self.counts["failed"]
        status: ReportStatus = "failed" if bad or self.claimed else "unknown" if self.note else "open"
        if status == "open" and not self.counts["passed"]:
            status, self.note = "unknown", NONE_RAN
        counts = {name: number for name, number in self.counts.items() if number}
        names = tuple(self.names)
        return QaReport("JUnit", status, counts, failures=names, failures_count=max(bad, self.claimed), note=self.note)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = _plain(name)
        if not self.above and tag not in _SUITES:
            raise _Stop
        if len(self.above) == XML_DEPTH:
            self.note = f"nested more than {XML_DEPTH} deep"
            raise _Stop
        self.began = True
        parent = self.above[-1] if self.above else ""
        self.above.append(tag)
        if tag in _SUITES:
            self.suites.append((line(attributes.get("name", "")), self._number(attributes, "tests"), self._ran()))
            self.claimed = max(self.claimed, self._number(attributes, "failures") + self._number(attributes, "errors"))
        elif tag == "testcase":
            if parent not in _SUITES:
                self.note = "a test is inside another"
            group = line(attributes.get("classname", "")) or self.suites[-1][0]
            case = line(attributes.get("name", ""))
            said = [_SAID.get(attributes.get(key, "").lower(), "passed") for key in ("status", "result")]
            self.cases.append((f"{group}: {case}" if group else case, min(said)))  # a failure before a pass
        elif parent == "testcase":
            case, verdict = self.cases.pop()
            self.cases.append((case, verdict if verdict == "failed" else _VERDICTS.get(tag, verdict)))
        elif _VERDICTS.get(tag) == "failed":
            self.claimed = max(self.claimed, 1)
            self.names.append(f"{self.suites[-1][0]}: {tag}".removeprefix(": "))

    def _end(self, name: str) -> None:
        self.above.pop()
        tag = _plain(name)
        if tag == "testcase":
            case, verdict = self.cases.pop()
            self.counts[verdict] += 1
            if verdict == "failed":
                self.names.append(case)
        elif tag in _SUITES:
            _, tests, before = self.suites.pop()
            if tests > self._ran() - before:
                self.note = self.note or f"{tests} tests are counted, and {self._ran() - before} are listed"
        if not self.above:
            self.last = self.parser.CurrentByteIndex
            raise _Stop

    def _ran(self) -> int:
        return sum(self.counts.values())

    def _number(self, attributes: dict[str, str], key: str) -> int:
        """Return a claimed number, default 0; malformed ones are noted."""
        value = attributes.get(key, "0")
        number = _NUMBER.fullmatch(value)
        if number is None:
            self.note = f"{key}: {line(value)[:40]!r} is not a number"
        return int(number[1]) if number else 0

    def _refuse(self, name: str, *_: object) -> NoReturn:
        if _plain(name) in _SUITES:
            self.began, self.note = True, "it has a document type"
        raise _Stop


def _plain(name: str) -> str:
    return name.rpartition(":")[2].lower()
