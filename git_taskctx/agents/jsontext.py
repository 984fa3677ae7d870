"""Edit JSON with comments: insert and remove values, leaving every other byte alone.

Our values are recognized by their place: a container that was empty gets its first value right behind its bracket, and
one that we made has white space there. `remove` restores the bytes before `insert`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from git_taskctx.capture.strict_json import JsonFault, JsonReader, Value
from git_taskctx.errors import BadData

_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=[\r\n]))")
"""A comment behind a value on the same line, which belongs to it."""
_SKIPPED = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BLANK = " \t\r\n"


def parse(text: str, *, what: str) -> Value:
    """Parse JSON that may have comments and trailing commas. Raises: BadData with line and column."""
    reader = JsonReader(text)
    reader.at = int(text.startswith("\ufeff"))
    try:
        return reader.read()
    except JsonFault as fault:
        line, column = reader.place(fault.at)
        raise BadData(f"{what}:{line}:{column}: {fault}") from fault


def render(value: Any) -> str:
    """Return a new text for a value."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def insert(text: str, node: Value, value: Any, *, key: str | None = None) -> str:
    """Insert a value behind the last one of a container, with its key in an object."""
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


def remove(text: str, node: Value, index: int) -> tuple[str, bool]:
    """Remove an item from a container; return the text, and whether we made the container, which must go too."""
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
    """Render a value; without a step on one line, with white space behind brackets to mark it as ours."""
    if step is not None:
        return json.dumps(value, indent=step, ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)}: {_render(item, None)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[ " + ", ".join(_render(item, None) for item in value) + " ]"
    return json.dumps(value, ensure_ascii=False)


def _step(text: str, node: Value, indent: str) -> str:
    """Return the indentation of a container's items."""
    width = len(indent) - len(_indent(text, node.start))
    return indent[-width:] if 0 < width <= len(indent) else "  "


def _indent(text: str, at: int) -> str:
    """Return the white space at the beginning of a line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
