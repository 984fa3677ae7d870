"""Machine-readable parts of a log: JSON documents, JSON event lines, and JUnit XML.

They are removed, so that test output inside them is not taken for tool output. Logs are untrusted: each byte is parsed
a bounded number of times, and nesting is limited. A tool's document that cannot be parsed, or lies behind a limit,
stays as text and makes the report unknown.
"""

from __future__ import annotations

import json
import re
from typing import Any

from git_taskctx.capture.qa.events import read_events
from git_taskctx.capture.qa.junit import read_junit
from git_taskctx.capture.qa.linters import TOO_MANY
from git_taskctx.capture.qa.reporters import read_document
from git_taskctx.capture.qa.text import UNREAD
from git_taskctx.limits import CONTAINERS_LIMIT, DOCUMENTS_LIMIT
from git_taskctx.model.canonical import DECODER
from git_taskctx.model.qa import QaReport

_TIMES = 20
"""Maximum number of rereads for text that is no tool's document, or cannot be parsed."""
_SHORT = 1 << 20
"""Characters; shorter logs count as this long."""

_EVENT = r'[ \t]*(?P<event>\{ ?"(?:(?P<go>Time|Action|ImportPath)|(?P<mypy>file)|(?P<ruffs>cell|code)|type)": ?)'
_DOCUMENT = (
    r'(?P<json>\{\s*"(?:(?P<jest>numFailedTestSuites)|(?P<vitest>numTotalTestSuites)|(?P<pytest>created)'
    r'|(?P<playwright>config))"\s*:|\[\s*\{\s*"(?:(?P<eslint>filePath)|(?P<ruff>cell|code))"\s*:)'
    r"|(?P<xml><\?xml |<testsuites?[ >/])"
)
_HEAD, _NEXT = re.compile(f"^{_EVENT}|{_DOCUMENT}", re.MULTILINE), re.compile(f"{_EVENT}|[ \\t]*(?:{_DOCUMENT})")
"""The keys that the tools write first, in their stable order."""
_TOOLS = {
    "go": "go test", "mypy": "mypy", "ruffs": "ruff", "jest": "jest", "vitest": "vitest", "pytest": "pytest",
    "playwright": "playwright", "eslint": "eslint", "ruff": "ruff", "xml": "JUnit", "event": "cargo test",
}  # fmt: skip


def read_documents(text: str) -> tuple[list[QaReport], str]:
    """Return the reports of the documents in a log, and the log without them."""
    head = _HEAD.search(text)
    if head and text.count("{") + text.count("[") > CONTAINERS_LIMIT:
        return [_unread(head, f"more than {CONTAINERS_LIMIT} objects and lists")], text
    reports: list[QaReport] = []
    unread: dict[str, QaReport] = {}
    events: list[dict[str, Any]] = []
    rest: list[str] = []
    many = bool(TOO_MANY.search(text))
    at, spent, budget = 0, 0, _TIMES * max(len(text), _SHORT)
    while head:
        begin = next(head.start(kind) for kind in ("event", "json", "xml") if head[kind])
        found, end, reads = _read(text, begin, head, many=many)
        if not reads:
            unread.setdefault(_tool_of(head), _unread(head, UNREAD))
        if found is None:
            spent += end - begin
            if spent > budget:
                reports.append(_unread(head, "too much of it is not a report that reads"))
                break
            head = _HEAD.search(text, head.end())
            continue
        if isinstance(found, dict):
            events.append(found)
        else:
            reports.append(found)
            if len(reports) == DOCUMENTS_LIMIT:
                reports.append(QaReport(found.tool, "unknown", note=f"more than {DOCUMENTS_LIMIT} documents"))
                break
        rest.append(text[at:begin])
        at = end
        head = _NEXT.match(text, at) or _HEAD.search(text, at)
    rest.append(text[at:])
    return [*reports, *unread.values(), *read_events(events)], "".join(rest)


def _read(
    text: str, begin: int, head: re.Match[str], *, many: bool
) -> tuple[QaReport | dict[str, Any] | None, int, bool]:
    """Return an event or a document's report (None if foreign or malformed), where it ends, and whether it parses."""
    if head["xml"]:
        report, end = read_junit(text, begin)
        inside = bool(text[text.rfind("\n", 0, begin) + 1 : begin].strip())
        says = report is not None and (report.counts or report.failures_count)
        return (report if says or not inside else None), end, True  # a tag in the midst of a line may be anybody's
    end = len(text)
    try:
        if head["event"]:
            found = text.find("\n", begin)
            end = found if found >= 0 else len(text)
            value = DECODER.decode(text[begin:end])
            return (value if isinstance(value, dict) else None), end, True
        value, end = DECODER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        return None, max(end if head["event"] else error.pos, head.end()), not _is_of_a_tool(text, head)
    except (ValueError, RecursionError):
        return None, end, not _is_of_a_tool(text, head)
    return read_document(value, many=many), end, True


def _is_of_a_tool(text: str, head: re.Match[str]) -> bool:
    """Return whether malformed JSON was a tool's: objects of other programs have a type as well."""
    return _tool_of(head) != "cargo test" or text.startswith(('"suite"', '"test"'), head.end())


def _tool_of(head: re.Match[str]) -> str:
    return next(tool for group, tool in _TOOLS.items() if head[group])


def _unread(head: re.Match[str], note: str) -> QaReport:
    return QaReport(_tool_of(head), "unknown", note=note)
