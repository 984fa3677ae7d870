"""JSON with the place of everything, as `strict_yaml` gives YAML: scalars stay the text that was written.

A comma too many and a comment are told and read over, so that they do not hide what else is wrong.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import NoReturn

from git_taskctx.capture.strict_yaml import CONTROL, MAX_DEPTH, NO_TEXT, Node, Problems

_BLANKS = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_SCALAR = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.])")
_DECODER = json.JSONDecoder()


class _Stop(Exception):
    """The text cannot be read on; the problem has been noted."""


def parse_json(text: str, problems: Problems) -> Node | None:
    """Parse one value, adding to `problems`; None when it cannot be read to its end."""
    parser = _Parser(text, problems)
    try:
        return parser.read()
    except _Stop:
        return None


class _Parser:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str, problems: Problems) -> None:
        self.text, self.problems, self.at = text, problems, 0
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def read(self) -> Node:
        value = self._value(1)
        if self._next():
            self._stop("the file goes on after its value: remove the rest")
        return value

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def _stop(self, message: str, at: int | None = None) -> NoReturn:
        self.problems.add(*self._place(self.at if at is None else at), message)
        raise _Stop

    def _next(self) -> str:
        """Pass over blanks and comments; return the character that stands there, none at the end."""
        while True:
            blanks = _BLANKS.match(self.text, self.at)
            self.at = blanks.end() if blanks else self.at
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return self.text[self.at : self.at + 1]
            self.problems.add(*self._place(self.at), "JSON has no comments: remove it")
            self.at = comment.end()

    def _value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self._stop(f"nested more than {MAX_DEPTH} deep")
        first = self._next()
        place = self._place(self.at)
        if first == "{":
            return Node(self._members(depth), *place)
        if first == "[":
            items: list[Node] = []
            while self._more("]", first=not items):
                items.append(self._value(depth + 1))
            return Node(tuple(items), *place)
        if first == '"':
            return Node(self._string(), *place)
        scalar = _SCALAR.match(self.text, self.at)
        if scalar is None:
            self._stop(_what_is_wrong(self.text[self.at : self.at + 1]))
        self.at = scalar.end()
        return Node(None if scalar[0] == "null" else scalar[0], *place)

    def _members(self, depth: int) -> dict[str, Node]:
        members: dict[str, Node] = {}
        first = True
        while self._more("}", first=first):
            first = False
            if self._next() != '"':
                self._stop("a key must be text in double quotes")
            at, key = self.at, self._string()
            if self._next() != ":":
                self._stop(f"a colon is missing after the key {key[:40]!r}")
            self.at += 1
            value = self._value(depth + 1)
            if key in members:
                self.problems.add(*self._place(at), f"{key[:40]!r} stands twice: keep one")
            else:
                members[key] = value
        return members

    def _more(self, end: str, *, first: bool) -> bool:
        """Pass over what opens, divides or ends a list or an object; tell whether another item follows."""
        at = self.at
        if not first:
            if self._next() == ",":
                at = self.at
                self.at += 1
                if self._next() == end:
                    self.problems.add(*self._place(at), f"a comma before the '{end}': remove it")
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
            self.problems.add(*self._place(begin), NO_TEXT)
        return text


def _what_is_wrong(first: str) -> str:
    if not first:
        return "a value is missing: the file ends here"
    if first in "'`“”‘’":
        return "text must be in double quotes"
    return "a value is missing" if first in ",]}:" else "expected a value: text must be in double quotes"
