"""YAML 1.2 limited to what a task file needs, with positions.

No aliases, anchors, tags, duplicate keys or further documents. Scalars stay as written, so that `priority: 1` and
`version: 1.10` are not rounded; only null is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_taskctx import limits
from git_taskctx.errors import BadData
from git_taskctx.limits import MAX_DEPTH, TEXT_FILE
from git_taskctx.model.values import dataclass, field
from git_taskctx.situation import Situation

SHOWN_PROBLEMS = 50
_NULLS = ("", "~", "null", "Null", "NULL")
NO_TEXT = "a control character, or no character at all"
_NOTHING = re.compile(r"\s*(?:#.*|\.\.\.\s*)?$")
_NAME = re.compile(r"[\w-]+")
"""The name of an anchor or tag, unlike a path or pattern."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_COMMENT = re.compile(r"[ \t]+(#[^\s#]\S*)")
_MOST_READ = 4 * TEXT_FILE
"""Characters parsed for one file in all attempts to read on after a fault."""


@dataclass(frozen=True)
class Node:
    """A value and its position, from 1."""

    value: str | tuple[Node, ...] | dict[str, Node] | None
    line: int
    column: int

    def plain(self) -> Any:
        """Return the value without positions."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, tuple):
            return [item.plain() for item in self.value]
        return self.value


@dataclass
class Problems:
    """All problems of one file, reported at once."""

    name: str
    found: list[tuple[int, int, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Readable, but perhaps not meant."""
    corrected: set[int] = field(default_factory=set)
    """Lines replaced by a corrected version; their faults are reported already."""
    gave_up: bool = False
    """Whether the file was not read to its end."""
    situation: Situation | None = None
    """The situation for advice where nothing else is wrong, instead of fixing the file."""

    def add(self, line: int, column: int, message: str) -> None:
        """Note a problem, except on a corrected line; lines and columns count from 1."""
        if line not in self.corrected:
            self.found.append((line, column, message))

    def raise_any(self) -> None:
        """Raise: BadData with a line `file:line:col: message` for each problem, in order."""
        if not self.found:
            return
        lines = [f"{self.name}:{line}:{column}: {message}" for line, column, message in sorted(set(self.found))]
        if len(lines) > SHOWN_PROBLEMS:
            at_least = "at least " if self.gave_up else ""
            lines[SHOWN_PROBLEMS:] = [f"… and {at_least}{len(lines) - SHOWN_PROBLEMS} more"]
        if len(lines) == 1 and self.situation is not None:
            raise BadData(lines[0], self.situation)
        raise BadData("\n".join(lines), hint=f"fix {self.name}, and try again")


def decode_text(data: bytes, problems: Problems) -> str:
    """Decode a file without byte order mark, with LF. Raises: BadData when larger than 1 MiB or not UTF-8."""
    if len(data) > TEXT_FILE:
        then = Situation("clone.begin_with_title", task="TASK")
        raise BadData(f"{problems.name} has {len(data)} bytes, more than {TEXT_FILE}", then)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise BadData(f"{problems.name}:{line}:{column}: not UTF-8", hint="save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_yaml(text: str, problems: Problems) -> Node | None:
    """Parse one document, adding to `problems`; None when it is empty or cannot be read at all.

    After a syntax error parsing goes on with a corrected line, so that all errors are reported; such lines are not
    judged again.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    from git_taskctx.capture import yaml_faults

    lines = text.split("\n")

    def read_instead(instead: Mapping[int, str]) -> bool:
        changes = [number for number, line in instead.items() if lines[number] != line]
        problems.corrected.update(number + 1 for number in instead)
        for number in changes:
            lines[number] = instead[number]
        return bool(changes)

    for number, line in enumerate(lines):
        for found in CONTROL.finditer(line):
            problems.add(number + 1, found.start() + 1, NO_TEXT)
        lines[number] = CONTROL.sub("\ufffd", line)
    for fault in yaml_faults.find_conflicts(lines):
        problems.add(fault.line + 1, 1, fault.message)
        read_instead(fault.instead)
    for _ in range(2 + min(SHOWN_PROBLEMS, _MOST_READ // max(1, len(text)))):
        attempt = Problems(problems.name)
        try:
            root = _build(YAML(typ="safe", pure=True).parse("\n".join(lines)), attempt, lines)
        except (MarkedYAMLError, ValueError, OverflowError) as error:
            fault = yaml_faults.explain(lines, error)
            known = fault.line + 1 in problems.corrected
            problems.add(fault.line + 1, fault.column + 1, fault.message)
            problems.corrected.add(fault.line + 1)
            read_on = not known and read_instead(fault.instead)
            if not read_on and not read_instead(yaml_faults.blank_key(lines, fault.line)):
                return None
        else:
            for problem in attempt.found:
                problems.add(*problem)
            problems.warnings += attempt.warnings
            return root
    problems.gave_up = True
    return None


@dataclass
class _Open:
    """A list or mapping that is not closed yet; a mapping's keys and values alternate."""

    line: int
    column: int
    items: list[Node] = field(default_factory=list)


def _build(events: Iterator[Any], problems: Problems, lines: Sequence[str]) -> Node | None:
    from ruamel.yaml import events as kinds

    stack = [_Open(1, 1)]
    documents = values = 0
    for event in events:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, kinds.DocumentStartEvent):
            documents += 1
            if documents > 1 and all(_NOTHING.match(line) for line in lines[line:]):
                break
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
            values += 1
            if values > limits.VALUES:
                problems.add(line, column, f"more than {limits.VALUES} values: divide the file")
                return None
            if isinstance(event, kinds.CollectionStartEvent):
                stack.append(_Open(line, column))
                if len(stack) > MAX_DEPTH:
                    problems.add(line, column, f"nested more than {MAX_DEPTH} deep")
                    return None
            else:
                text = _scalar(event)
                _warn_of_comment(event, lines, problems)
                if text and CONTROL.search(text):
                    problems.add(line, column, NO_TEXT)
                stack[-1].items.append(Node(text, line, column))
    return stack[0].items[0] if stack[0].items else None


def _refuse_sharing(event: Any, line: int, column: int, problems: Problems) -> None:
    from ruamel.yaml import events as kinds

    if isinstance(event, kinds.AliasEvent):
        if _NAME.fullmatch(event.anchor):
            problems.add(line, column, f"aliases are not read: write out what *{event.anchor} stands for")
        else:
            problems.add(line, column, f"text that begins with * must be in quotes: write '*{event.anchor}'")
        return
    if event.anchor is not None:
        problems.add(line, column, f"anchors are not read: remove &{event.anchor}")
    if event.tag is not None:
        tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
        is_path = not tag.startswith("!!") and not _NAME.fullmatch(tag.removeprefix("!"))
        fix = f"text that begins with ! must be in quotes: write '{tag}'" if is_path else f"remove {tag}"
        problems.add(line, column, fix if is_path else f"tags are not read: {fix}")


def _warn_of_comment(event: Any, lines: Sequence[str], problems: Problems) -> None:
    """Warn of a comment that looks like the end of a text, as in `fix #12`."""
    if getattr(event, "style", "") is not None or not getattr(event, "value", ""):
        return
    end = event.end_mark
    found = _COMMENT.match(lines[end.line], end.column) if end.line < len(lines) else None
    if found:
        place = f"{problems.name}:{end.line + 1}:{found.start(1) + 1}"
        problems.warnings.append(f"{place}: {found[1][:40]} begins a comment, and is left out: put the text in quotes")


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
            fix = ": put text that begins with { or [ in quotes" if key.value is not None else ""
            problems.add(key.line, key.column, f"a key must be text{fix}")
        elif key.value in result:
            first = first_lines[key.value]
            problems.add(key.line, key.column, f"{key.value!r} is given twice, first on line {first}: keep one")
        else:
            result[key.value] = value
            first_lines[key.value] = key.line
    return result
