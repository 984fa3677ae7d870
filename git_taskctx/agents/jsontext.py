"""JSON as people keep it, comments and all: values put into a text and taken out again, every other byte left alone.

What is put in can be told from what was there by its place alone, so that nothing has to be remembered: a container
that was empty gets its first value right behind its bracket, and one that we made has white space there. Whatever is
put in by `insert` is taken out by `remove`, to the byte.
"""

from __future__ import annotations

import json
import re
from typing import Any

from git_taskctx.errors import BadData
from git_taskctx.model.values import dataclass, field

DEEPEST = 100
_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=[\r\n]))")
"""One that stands behind a value on the same line, and belongs to it."""
_SKIPPED = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BLANK = " \t\r\n"


@dataclass
class Node:
    """A value and where it stands."""

    start: int
    end: int
    value: Any = None
    """The value of a scalar."""
    items: list[Node] | None = None
    """The values of an array, or of an object's members."""
    keys: list[str] | None = None
    """The keys of an object's members."""
    begins: list[int] = field(default_factory=list)
    """Where each item, or member with its key, begins."""

    def find(self, key: str) -> Node | None:
        """Return the member of an object, the last of that name as JSON readers do; None without."""
        return self.items[self.index(key)] if self.items and self.keys and key in self.keys else None

    def index(self, key: str) -> int:
        """Return which member has a key."""
        keys = self.keys or []
        return len(keys) - 1 - keys[::-1].index(key)

    def plain(self) -> Any:
        """Return the value as Python has it."""
        if self.items is None:
            return self.value
        values = [item.plain() for item in self.items]
        return dict(zip(self.keys, values, strict=True)) if self.keys is not None else values


def parse(text: str, *, what: str) -> Node:
    """Parse JSON that may have comments and trailing commas. Raises: BadData with line and column."""
    return _Parser(text, what).whole()


def render(value: Any) -> str:
    """Return a text of its own for a value."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def insert(text: str, node: Node, value: Any, *, key: str | None = None) -> str:
    """Put a value behind the last one of a container; with its key where that is an object."""
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    items = node.items or []
    newline = "\r\n" if "\r\n" in text else "\n"
    if not items:
        at = node.start + 1
        return text[:at] + name + _render(value, "  ").replace("\n", newline + _indent(text, at)) + text[at:]
    end, begin = items[-1].end, node.begins[-1]
    line = text.rfind("\n", 0, begin) + 1
    if text[line:begin].strip(_BLANK):  # all on one line
        return text[:end] + ", " + name + _render(value, None) + text[end:]
    indent = text[line:begin]
    new = newline + indent + name + _render(value, _step(text, node, indent)).replace("\n", newline + indent)
    comma = _SKIPPED.match(text, end)
    trailing = comma.end() if comma and text.startswith(",", comma.end()) else None
    behind = trailing + 1 if trailing is not None else end
    comment = _COMMENT.match(text, behind)
    at = behind + len(comment[0].rstrip(_BLANK)) if comment else behind
    if trailing is not None:
        return text[:at] + new + "," + text[at:]
    return text[:end] + "," + text[end:at] + new + text[at:]


def remove(text: str, node: Node, index: int) -> tuple[str, bool]:
    """Take an item out of a container. Returns: the text, and whether the container has to go with it: we made it."""
    items = node.items or []
    begin, end = node.begins[index], items[index].end
    start = begin
    while start > node.start + 1 and text[start - 1] in _BLANK:
        start -= 1
    behind = _SKIPPED.match(text, end)
    follows = behind.end() if behind and text.startswith(",", behind.end()) else None
    if follows is not None and len(items) > 1:
        if index == 0 and start == begin:  # nothing before it: what follows moves up
            after = _SKIPPED.match(text, follows + 1)
            stop = after.end() if after and not after[0].strip(_BLANK) else follows + 1
            return text[:begin] + text[end:follows] + text[stop:], False
        return text[:start] + text[end:follows] + text[follows + 1 :], False
    if index > 0:
        before = items[index - 1].end
        between = _SKIPPED.match(text, before)
        comma = between.end() if between else before
        return text[:comma] + text[comma + 1 : start] + text[end:], False
    left = text[end:] if follows is None else text[end:follows] + text[follows + 1 :]
    inner = text[node.start + 1 : start] + left[: len(left) - (len(text) - node.end) - 1]
    if start < begin and not inner.strip(_BLANK):
        return text, True
    return text[:begin] + left, False


def _render(value: Any, step: str | None) -> str:
    """Write a value; without a step on one line, with white space behind each bracket, so that it is known as ours."""
    if step is not None:
        return json.dumps(value, indent=step, ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)}: {_render(item, None)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[ " + ", ".join(_render(item, None) for item in value) + " ]"
    return json.dumps(value, ensure_ascii=False)


def _step(text: str, node: Node, indent: str) -> str:
    """Return by how much a container's items are moved in."""
    width = len(indent) - len(_indent(text, node.start))
    return indent[-width:] if 0 < width <= len(indent) else "  "


def _indent(text: str, at: int) -> str:
    """Return the white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


class _Parser:
    def __init__(self, text: str, what: str) -> None:
        self.text, self.what, self.at = text, what, 0

    def whole(self) -> Node:
        node = self._value(0)
        self._skip()
        if self.at < len(self.text):
            self._fail("nothing more was expected")
        return node

    def _value(self, depth: int) -> Node:
        self._skip()
        if depth > DEEPEST:
            self._fail(f"nested deeper than {DEEPEST}")
        if self.text.startswith(("{", "["), self.at):
            return self._container(depth)
        match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
        if match is None:
            self._fail("a value was expected")
        return self._scalar(match)

    def _scalar(self, match: Any) -> Node:
        try:
            value = json.loads(match[0])
        except ValueError:
            self._fail("this does not read")
        self.at = match.end()
        return Node(match.start(), match.end(), value)

    def _container(self, depth: int) -> Node:
        is_object = self.text[self.at] == "{"
        close = "}" if is_object else "]"
        node = Node(self.at, self.at, items=[], keys=[] if is_object else None)
        items = []
        self.at += 1
        while True:
            self._skip()
            if self.text.startswith(close, self.at):
                break
            node.begins.append(self.at)
            if node.keys is not None:
                node.keys.append(self._key())
            items.append(self._value(depth + 1))
            self._skip()
            if self.text.startswith(",", self.at):
                self.at += 1
            elif not self.text.startswith(close, self.at):
                self._fail(f"',' or '{close}' was expected")
        self.at += 1
        node.items, node.end = items, self.at
        return node

    def _key(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            self._fail("a key was expected")
        key = self._scalar(match).value
        self._skip()
        if not self.text.startswith(":", self.at):
            self._fail("':' was expected")
        self.at += 1
        return str(key)

    def _skip(self) -> None:
        match = _SKIPPED.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _fail(self, why: str) -> Any:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        raise BadData(f"{self.what}:{line}:{column}: {why}")
