"""JSON with positions: strict, as `strict_yaml` reads YAML, or lenient with comments.

Extra commas and comments are noted and skipped, so that all other problems are found too.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import Any, NoReturn

from git_taskctx import limits
from git_taskctx.capture.strict_yaml import CONTROL, NO_TEXT, Node, Problems
from git_taskctx.limits import MAX_DEPTH
from git_taskctx.model.values import dataclass, field

_BLANKS = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_SCALAR = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.])")
_DECODER = json.JSONDecoder()


class JsonFault(Exception):
    """The text cannot be read further."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass
class Value:
    """A value with its position."""

    start: int
    end: int
    value: Any = None
    items: list[Value] | None = None
    """The values of an array, or of an object's members."""
    keys: list[str] | None = None
    """The keys of an object's members."""
    begins: list[int] = field(default_factory=list)
    """Start of each item, or member with its key."""

    def find(self, key: str) -> Value | None:
        """Return the last member with this name, as JSON readers do."""
        return self.items[self.index(key)] if self.items and self.keys and key in self.keys else None

    def index(self, key: str) -> int:
        """Return the index of a key."""
        keys = self.keys or []
        return len(keys) - 1 - keys[::-1].index(key)

    def plain(self) -> Any:
        """Return the value as plain Python."""
        if self.items is None:
            return self.value
        values = [item.plain() for item in self.items]
        return dict(zip(self.keys, values, strict=True)) if self.keys is not None else values


def parse_json(text: str, problems: Problems) -> Node | None:
    """Parse one value, adding to `problems`; None when it cannot be read to its end."""
    reader = JsonReader(text)
    try:
        return reader.node(reader.read())
    except JsonFault as fault:
        reader.odd.append((fault.at, str(fault)))
        return None
    finally:
        for at, message in reader.odd:
            problems.add(*reader.place(at), message)


class JsonReader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self._values = text, 0, 0
        self.odd: list[tuple[int, str]] = []
        """Skipped oddities that are not JSON or ambiguous, with positions."""
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def read(self) -> Value:
        """Return the text's value. Raises: JsonFault."""
        value = self._value(1)
        if self._next():
            self._stop("the file goes on after its value: remove the rest")
        return value

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column of a character, from 1."""
        line = bisect.bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def node(self, value: Value) -> Node:
        """Return a value as `strict_yaml` does: scalars as written, and the first of equal keys."""
        place = self.place(value.start)
        if value.items is None:
            text = value.value if isinstance(value.value, str) else self.text[value.start : value.end]
            return Node(None if value.value is None else text, *place)
        items = [self.node(item) for item in value.items]
        if value.keys is None:
            return Node(tuple(items), *place)
        members = dict[str, Node]()
        for key, item in zip(value.keys, items, strict=True):
            members.setdefault(key, item)
        return Node(members, *place)

    def _stop(self, message: str, at: int | None = None) -> NoReturn:
        raise JsonFault(message, self.at if at is None else at)

    def _next(self) -> str:
        """Skip blanks and comments; return the next character, empty at the end."""
        while True:
            blanks = _BLANKS.match(self.text, self.at)
            self.at = blanks.end() if blanks else self.at
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return self.text[self.at : self.at + 1]
            self.odd.append((self.at, "JSON has no comments: remove it"))
            self.at = comment.end()

    def _value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            self._stop(f"nested more than {MAX_DEPTH} deep")
        self._values += 1
        if self._values > limits.VALUES:
            self._stop(f"more than {limits.VALUES} values: divide the file")
        first, start = self._next(), self.at
        if first and first in "{[":
            return self._container(first, depth)
        if first == '"':
            text = self._string()
            return Value(start, self.at, text)
        scalar = _SCALAR.match(self.text, start)
        if scalar is None:
            self._stop(_what_is_wrong(first))
        self.at = scalar.end()
        try:
            return Value(start, self.at, json.loads(scalar[0]))
        except ValueError:  # more digits than Python reads
            self._stop("a number has too many digits", start)

    def _container(self, first: str, depth: int) -> Value:
        node = Value(self.at, self.at, items=[], keys=[] if first == "{" else None)
        items, known = list[Value](), set[str]()
        while self._more("]" if node.keys is None else "}", first=not items):
            node.begins.append(self.at)
            if node.keys is not None:
                node.keys.append(self._key(known))
                known.add(node.keys[-1])
            items.append(self._value(depth + 1))
        node.items, node.end = items, self.at
        return node

    def _key(self, known: set[str]) -> str:
        if self._next() != '"':
            self._stop("a key must be text in double quotes")
        at, key = self.at, self._string()
        if self._next() != ":":
            self._stop(f"a colon is missing after the key {key[:40]!r}")
        self.at += 1
        if key in known:
            self.odd.append((at, f"{key[:40]!r} is given twice: keep one"))
        return key

    def _more(self, end: str, *, first: bool) -> bool:
        """Skip the delimiters of a list or an object; return whether another item follows."""
        at = self.at
        if not first:
            if self._next() == ",":
                at = self.at
                self.at += 1
                if self._next() == end:
                    self.odd.append((at, f"a comma before the '{end}': remove it"))
            elif self._next() != end:
                missing = "a comma" if self._next() else f"the '{end}' at the end"
                self._stop(f"{missing} is missing")
        else:
            self.at += 1
        if self._next() == end:
            self.at += 1
            return False
        return True

    def _string(self) -> str:
        begin = self.at
        try:
            found, self.at = _DECODER.raw_decode(self.text, begin)
        except json.JSONDecodeError as error:
            problem = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
            if problem.startswith("unterminated"):
                self._stop("the text that begins here is never closed: close it with a double quote", begin)
            if problem.startswith("invalid control"):
                self._stop("a text goes over one line only: write \\n for a new line, \\t for a tab", error.pos)
            self._stop(f"{problem}: write \\\\ for a backslash", error.pos)
        text = str(found)
        if CONTROL.search(text):
            self.odd.append((begin, NO_TEXT))
        return text


def _what_is_wrong(first: str) -> str:
    if not first:
        return "a value is missing: the file ends here"
    if first in "'`“”‘’":
        return "text must be in double quotes"
    return "a value is missing" if first in ",]}:" else "expected a value: text must be in double quotes"
