"""YAML 1.2 without what a task file does not need, and with the place of everything.

No aliases, anchors, tags, duplicate keys or further documents: what stands there once means what it says. Scalars
stay the text that was written, so that `priority: 1` and `version: 1.10` are not rounded off; only null is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from git_taskctx.errors import BadData
from git_taskctx.model.values import dataclass, field

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
SHOWN_PROBLEMS = 50
_NULLS = ("", "~", "null", "Null", "NULL")
_NO_TEXT = "a control character, or no character at all"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_MENDS = {
    "mapping values are not allowed": "put text that holds ': ' in quotes",
    "found character '\\t'": "indent with spaces",
    "could not find expected ':'": "put text that goes over several lines after '|', indented",
    "found character '@'": "put the text in quotes",
    "found character '`'": "put the text in quotes",
}


@dataclass(frozen=True)
class Node:
    """A value and where it begins, both from 1."""

    value: str | tuple[Node, ...] | dict[str, Node] | None
    line: int
    column: int

    def plain(self) -> Any:
        """Return the value without the places."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, tuple):
            return [item.plain() for item in self.value]
        return self.value


@dataclass
class Problems:
    """All that is wrong with one file, told at once."""

    name: str
    found: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, line: int, column: int, message: str) -> None:
        """Note a problem; lines and columns count from 1."""
        self.found.append((line, column, message))

    def raise_any(self) -> None:
        """Raise: BadData with a line `file:line:col: message` for each problem, in the file's order."""
        if not self.found:
            return
        lines = [f"{self.name}:{line}:{column}: {message}" for line, column, message in sorted(set(self.found))]
        if len(lines) > SHOWN_PROBLEMS:
            lines[SHOWN_PROBLEMS:] = [f"… and {len(lines) - SHOWN_PROBLEMS} more problems"]
        raise BadData("\n".join(lines), hint=f"mend {self.name} and try again")


def decode_text(data: bytes, problems: Problems) -> str:
    """Return what a file says: no byte order mark, and LF at line ends.

    Raises: BadData when `data` is larger than 1 MiB or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise BadData(f"{problems.name} has {len(data)} bytes, more than {MAX_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise BadData(f"{problems.name}:{line}:{column}: not UTF-8", hint="save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_yaml(data: bytes, problems: Problems) -> Node | None:
    """Parse one document, adding to `problems`; None when it is empty or cannot be read to its end.

    Raises: BadData when `data` is larger than 1 MiB or not UTF-8.
    """
    text = decode_text(data, problems)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _build(YAML(typ="safe", pure=True).parse(text), problems)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        mend = next((f"; {mend}" for start, mend in _MENDS.items() if problem.startswith(start)), "")
        start = error.context_mark
        if start and mark and start.line != mark.line:
            mend += f" ({error.context}, from line {start.line + 1})"
        problems.add(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, problem + mend)
    except YAMLError as error:
        before = text[: getattr(error, "position", 0)]
        problems.add(before.count("\n") + 1, len(before) - before.rfind("\n"), _NO_TEXT)
    return None


@dataclass
class _Open:
    """A list or mapping whose end has not come; a mapping's keys and values alternate."""

    line: int
    column: int
    items: list[Node] = field(default_factory=list)


def _build(events: Iterator[Any], problems: Problems) -> Node | None:
    from ruamel.yaml import events as kinds

    stack = [_Open(1, 1)]
    documents = 0
    for event in events:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, kinds.DocumentStartEvent):
            documents += 1
            if documents > 1:
                problems.add(line, column, "a second document begins here: a task file is one")
                break
        elif isinstance(event, kinds.CollectionEndEvent):
            closed = stack.pop()
            is_mapping = isinstance(event, kinds.MappingEndEvent)
            value = _pair(closed.items, problems) if is_mapping else tuple(closed.items)
            stack[-1].items.append(Node(value, closed.line, closed.column))
        elif isinstance(event, kinds.NodeEvent):
            _refuse_sharing(event, line, column, problems)
            if isinstance(event, kinds.CollectionStartEvent):
                stack.append(_Open(line, column))
                if len(stack) > MAX_DEPTH:
                    problems.add(line, column, f"nested more than {MAX_DEPTH} deep")
                    return None
            else:
                text = _scalar(event)
                if text and _CONTROL.search(text):
                    problems.add(line, column, _NO_TEXT)
                stack[-1].items.append(Node(text, line, column))
    return stack[0].items[0] if stack[0].items else None


def _refuse_sharing(event: Any, line: int, column: int, problems: Problems) -> None:
    from ruamel.yaml import events as kinds

    if isinstance(event, kinds.AliasEvent):
        problems.add(line, column, f"aliases are not read: write out what *{event.anchor} stands for")
        return
    if event.anchor is not None:
        problems.add(line, column, f"anchors are not read: remove &{event.anchor}")
    if event.tag is not None:
        problems.add(line, column, f"tags are not read: remove {event.tag.replace('tag:yaml.org,2002:', '!!')}")


def _scalar(event: Any) -> str | None:
    text = getattr(event, "value", None)  # an alias has none
    if text is None or (event.style is None and event.implicit[0] and text in _NULLS):
        return None
    return str(text)


def _pair(items: list[Node], problems: Problems) -> dict[str, Node]:
    result: dict[str, Node] = {}
    first_lines: dict[str, int] = {}
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not isinstance(key.value, str):
            problems.add(key.line, key.column, "a key must be text")
        elif key.value in result:
            first = first_lines[key.value]
            problems.add(key.line, key.column, f"{key.value!r} stands twice, first on line {first}: keep one")
        else:
            result[key.value] = value
            first_lines[key.value] = key.line
    return result
