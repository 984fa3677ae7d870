"""What a log holds for machines: JSON documents, JSON events a line each, and JUnit XML, between lines for people.

They are taken out, so that what a test printed into one of them is no line of a tool's. Logs come from anybody: each
byte is parsed a bounded number of times, nothing is nested deep, and a document that does not read is left as text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from git_taskctx.capture.qa.events import read_events
from git_taskctx.capture.qa.junit import read_junit
from git_taskctx.capture.qa.linters import TOO_MANY
from git_taskctx.capture.qa.reporters import read_document
from git_taskctx.capture.qa.text import TRUNCATED
from git_taskctx.model.qa import QaReport

MAX_CONTAINERS = 1_000_000
"""Objects and lists of all JSON in a log; a log of 16 MiB that a tool wrote has a tenth of that."""
MAX_DOCUMENTS = 1000
_ATTEMPTS = 20
"""So many documents that do not read are tried; each may have to be read to the end of the log."""

_BEGIN = (
    r'[ \t]*(?:(?P<event>\{ ?"(?:Time|Action|ImportPath|file|cell|code|type)": ?)'
    r'|(?P<json>\{\s*"(?:(?P<jest>numFailedTestSuites)|(?P<vitest>numTotalTestSuites)|created|config)"\s*:'
    r'|\[\s*\{\s*"(?:(?P<eslint>filePath)|cell|code)"\s*:)'
    r"|(?P<xml><\?xml |<testsuites?[ >/]))"
)
_HEAD, _NEXT = re.compile(f"^{_BEGIN}", re.MULTILINE), re.compile(_BEGIN)
"""The keys that the tools write first; the order of keys is theirs, and has not changed."""


def read_documents(text: str) -> tuple[list[QaReport], str]:
    """Return what the documents in a log say, and the log without those that were read."""
    if text.count("{") + text.count("[") > MAX_CONTAINERS:
        return [], text
    reports: list[QaReport] = []
    events: list[dict[str, Any]] = []
    rest: list[str] = []
    many = bool(TOO_MANY.search(text))
    at = attempts = 0
    head = _HEAD.search(text)
    while head and attempts < _ATTEMPTS:
        begin = head.start() + len(head[0]) - len(head[0].lstrip(" \t"))
        found: QaReport | dict[str, Any] | None
        if head["xml"]:
            found, end = read_junit(text, begin)
        else:
            found, end = _read_json(text, begin, event=head["event"] is not None, many=many)
        if found is None:
            tool = next((name for name in ("jest", "vitest", "eslint") if head[name]), None)
            if tool is not None and end < 0:
                reports.append(QaReport(tool, "unknown", note=TRUNCATED))
            attempts += not head["event"]
            head = _HEAD.search(text, head.end())
            continue
        if isinstance(found, dict):
            events.append(found)
        else:
            reports.append(found)
            if len(reports) == MAX_DOCUMENTS:
                reports.append(QaReport(found.tool, "unknown", note=f"more than {MAX_DOCUMENTS} documents"))
                break
        rest.append(text[at:begin])
        at = end
        head = _NEXT.match(text, at) or _HEAD.search(text, at)
    rest.append(text[at:])
    return [*reports, *read_events(events)], "".join(rest)


def _read_json(text: str, begin: int, *, event: bool, many: bool) -> tuple[QaReport | dict[str, Any] | None, int]:
    """Return an event, or what a document says, and where it ends; None, and -1 where it does not read."""
    try:
        if event:
            end = text.find("\n", begin)
            value = _DECODER.decode(text[begin : end if end >= 0 else len(text)])
            return (value if isinstance(value, dict) else None), end
        value, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, -1
    return read_document(value, many=many), end


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises: ValueError where a key stands twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
