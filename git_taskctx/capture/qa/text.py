"""A log as plain text, without what a terminal, a shell or a CI service adds.

Logs are untrusted: everything here takes linear time.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

from git_taskctx.model.values import NamedTuple

LINE = 4000
"""Characters of a line that are examined."""
TRUNCATED = "the log ends before its last line"
UNREAD = "a report begins in the log, and cannot be read to its end"
MISFIT = "the numbers do not fit what is listed"
DISAGREE = "two summaries that disagree"
NONE_RAN = "no test ran"

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[()][0-9A-B]|[=>@-Z\\^_])")
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_CI = re.compile(rf"^(?:[^\t\n]{{1,200}}\t[^\t\n]{{1,200}}\t\ufeff?)?{_TIME}(?: \d\d[OE][+ ]?| )?", re.MULTILINE)
"""Line prefixes of GitHub Actions (`gh run view --log` adds job and step) and GitLab CI."""
_EMPTY_LINES = re.compile(r"\n{5,}")
"""No tool needs more than three of them; a log may have millions."""
_STREAM = re.compile(
    r"^(@?[\w./-]{1,100}:[A-Za-z][\w:-]{0,60}|[\w.-]{1,100}/[\w./-]{1,100} [\w:-]{1,60})(?:: |:$)", re.MULTILINE
)
"""Line prefixes of turbo (`web:test: `) and pnpm (`packages/web test: `)."""


class Mark(NamedTuple):
    """A run that begins, or a summary of one."""

    at: int
    """Position in the log."""
    found: re.Match[str] | None
    """The summary; None where a run begins."""


def clean(data: bytes, *, root: str) -> str:
    """Return a log as plain lines, each ended by LF; `root` and a slash are removed everywhere."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    text = _CI.sub("", text)
    text = _EMPTY_LINES.sub("\n" * 4, text)
    if len(root) > 1:
        text = text.replace(root.rstrip("/") + "/", "")
    return "".join(f"{line.rstrip()}\n" for line in text.split("\n"))


def cut(text: str) -> str:
    """Return a text with its lines shortened."""
    return "".join(f"{line[:LINE].rstrip()}\n" for line in text.removesuffix("\n").split("\n"))


def divide(text: str) -> list[str]:
    """Return the separate logs of packages in a task runner's output."""
    lines = text.count("\n") - text.count("\n\n")
    found = _STREAM.findall(text)
    names = set(found)
    if len(found) < max(lines // 2, 4) or len(names) > 200 or len(found) < 2 * len(names):
        return [text]
    streams: dict[str, list[str]] = {}
    for line in text.split("\n"):
        match = _STREAM.match(line)
        name = match[1] if match else ""
        streams.setdefault(name, []).append(line[match.end() :] if match else line)
    return ["\n".join(stream) + "\n" for stream in streams.values()]


def sessions(starts: Iterable[re.Match[str]], summaries: Iterable[re.Match[str]]) -> Iterator[tuple[int, list[Mark]]]:
    """Yield each run: its start, and the summaries that may be its own, most likely the last.

    A test may print what looks like a run. So a summary ends the innermost open run; once that has its own, the
    enclosing one. A run without summary was cut off.
    """
    marks = sorted([*(Mark(m.start(), None) for m in starts), *(Mark(m.start(), m) for m in summaries)])
    opened: list[tuple[int, list[Mark]]] = []
    for mark in marks:
        if mark.found is None:
            if len(opened) == 1 and opened[0][1]:
                yield opened.pop()
            opened.append((mark.at, []))
            continue
        inside: list[Mark] = []
        while len(opened) > 1 and opened[-1][1]:
            inside = opened.pop()[1] + inside
        if not opened:
            opened.append((0, []))
        opened[-1][1].extend([*inside, mark])
    yield from opened


def runs(
    log: str, rows: re.Pattern[str], ends: re.Pattern[str]
) -> Iterator[tuple[list[re.Match[str]], re.Match[str] | None]]:
    """Yield the rows of each run and its last line; then the rows that no last line follows, with None."""
    begin = 0
    for end in ends.finditer(log):
        yield list(rows.finditer(log, begin, end.start())), end
        begin = end.end()
    yield list(rows.finditer(log, begin)), None


def number(text: str | None) -> int:
    """Return a printed number; 0 for none."""
    return int(text) if text else 0
