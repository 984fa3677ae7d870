"""JUnit XML, as pytest, vitest, playwright, mocha, node, linters and many others write it.

It is read by expat, an element at a time: no tree is built, a document type is refused (so there are no entities), and
nothing is fetched. It has no last word of the run, and a run that was interrupted writes what it has: so nothing that
failed is a pass only together with an exit code.
"""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

from git_taskctx.capture.qa.fields import line
from git_taskctx.capture.qa.text import NONE_RAN, TRUNCATED
from git_taskctx.model.qa import QaReport, ReportStatus

_DEPTH = 100
_PIECE = 4096
"""Characters that are looked at first; then twice as many, and so on, as a document may end soon."""
_NUMBER = re.compile(r"\d{1,9}")
_BREAKS_OFF = (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN,
               expat.errors.XML_ERROR_PARTIAL_CHAR, expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION)  # fmt: skip
_VERDICTS = {"failure": "failed", "error": "failed", "skipped": "skipped"}


class _Stop(Exception):
    """The document is at its end, or it is none of ours."""


def read_junit(text: str, begin: int) -> tuple[QaReport | None, int]:
    """Return what a document says, and where it ends; None and -1 where it is another one.

    One that breaks off is read to the end of the log: what stands in it is nothing that a tool printed for people.
    """
    data, at, size = bytearray(), begin, _PIECE
    reader = _Reader()
    try:
        while at < len(text):
            piece = text[at : at + size].encode("utf-8", "replace")
            data, at, size = data + piece, at + size, 2 * size
            reader.parser.Parse(piece, at >= len(text))
    except _Stop:
        pass
    except expat.ExpatError as error:
        told = expat.ErrorString(error.code)
        reader.note = TRUNCATED if told in _BREAKS_OFF else f"the XML does not read: {told}"
    if not reader.began:
        return None, -1
    if reader.last is None:
        return reader.report(), len(text)
    return reader.report(), begin + len(data[: data.index(b">", reader.last) + 1].decode())


class _Reader:
    """Where in a document one is, and what was counted."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate("utf-8")  # whatever the declaration says, the text has been decoded
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.above: list[str] = []
        self.suites: list[tuple[str, int, int]] = []
        """Of each suite around: its name, the tests that it claims, and how many had been counted before it."""
        self.name, self.verdict = "", ""
        self.counts = {"failed": 0, "passed": 0, "skipped": 0}
        self.names: list[str] = []
        self.claimed = 0
        """The most failures and errors that a suite claims."""
        self.began = False
        self.last: int | None = None
        """Byte at which the last tag begins."""
        self.note: str | None = None

    def report(self) -> QaReport:
        """Return what was found, up to where it reads."""
        bad = self.counts["failed"]
        status: ReportStatus = "failed" if bad or self.claimed else "unknown" if self.note else "open"
        if status == "open" and not self.counts["passed"]:
            status, self.note = "unknown", NONE_RAN
        counts = {name: number for name, number in self.counts.items() if number}
        names = tuple(self.names)
        return QaReport("JUnit", status, counts, failures=names, failures_count=max(bad, self.claimed), note=self.note)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.above and tag not in ("testsuites", "testsuite"):
            raise _Stop
        if len(self.above) == _DEPTH:
            self.note = f"nested more than {_DEPTH} deep"
            raise _Stop
        self.began = True
        parent = self.above[-1] if self.above else ""
        self.above.append(tag)
        if tag in ("testsuites", "testsuite"):
            self.suites.append((line(attributes.get("name", "")), _number(attributes, "tests"), self._ran()))
            self.claimed = max(self.claimed, _number(attributes, "failures") + _number(attributes, "errors"))
        elif tag == "testcase":
            group = line(attributes.get("classname", "")) or self.suites[-1][0]
            name = line(attributes.get("name", ""))
            self.name, self.verdict = f"{group}: {name}" if group else name, "passed"
        elif parent == "testcase" and self.verdict != "failed":
            self.verdict = _VERDICTS.get(tag, self.verdict)

    def _end(self, tag: str) -> None:
        self.above.pop()
        if tag == "testcase":
            self.counts[self.verdict] += 1
            if self.verdict == "failed":
                self.names.append(self.name)
        elif tag in ("testsuites", "testsuite"):
            _, tests, before = self.suites.pop()
            if tests > self._ran() - before:
                self.note = self.note or f"{tests} tests are told of, and {self._ran() - before} are listed"
        if not self.above:
            self.last = self.parser.CurrentByteIndex
            raise _Stop

    def _ran(self) -> int:
        return sum(self.counts.values())

    def _refuse(self, *_: object) -> NoReturn:
        raise _Stop


def _number(attributes: dict[str, str], key: str) -> int:
    value = attributes.get(key, "")
    return int(value) if _NUMBER.fullmatch(value) else 0
