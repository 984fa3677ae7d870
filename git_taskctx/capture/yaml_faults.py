"""Common YAML mistakes: where the fault is, how to fix it, and how to read on.

A parser stops at the first fault, often after its cause. Here the surrounding text explains it, and corrected lines let
the rest be read too.
"""

from __future__ import annotations

import re
from typing import Any

from git_taskctx.model.values import dataclass, field


@dataclass(frozen=True)
class Fault:
    """One fault of syntax."""

    line: int
    """From 0."""
    column: int
    """From 0."""
    message: str
    instead: dict[int, str] = field(default_factory=dict)
    """Corrected lines, by number."""


_LINE = re.compile(
    r"(?P<dashes>\s*(?:- +)*)(?:(?P<key>\"[^\"]*\"|'[^']*'|[^\s#\[{&*!|>%@`\"'].*?):[ \t]+)?(?P<value>\S.*)?$"
)
"""A line with `- `, with a key and a value, or with both."""
_NO_SPACE = re.compile(r"\s*(?:- +)*[\w.-]+(?P<colon>:)[^\s/:]")
_NO_SPACE_AFTER_DASH = re.compile(r"\s*-[^\s-]")
_CONFLICT = re.compile(r"(?:<{7} |>{7} |\|{7} |={7}$)")
_BEYOND = re.compile(r"\\U(?!00(?:0[0-9A-Fa-f]|10))[0-9A-Fa-f]{8}")
"""An escape beyond Unicode."""
_STARTERS = "`@%[]{}&*!|>\"'?,-#"
"""Characters that cannot begin a plain scalar (a dash and a question mark only before a blank)."""
_ONLY_SO_LONG = 72


def find_conflicts(lines: list[str]) -> list[Fault]:
    """Return the conflict markers of a merge; the corrected lines leave out one side."""
    faults: list[Fault] = []
    instead: dict[int, str] = {}
    start: int | None = None
    theirs = False
    for number, line in enumerate(lines):
        if _CONFLICT.match(line) and (start is not None or line.startswith("<")):
            instead[number] = ""
            if line.startswith("<"):
                start, theirs = number, False
            elif line.startswith(">") and start is not None:
                message = f"a merge conflict, to line {number + 1}: keep one side, and remove the marks"
                faults.append(Fault(start, 0, message, instead))
                start, theirs, instead = None, False, {}
            else:
                theirs = True
        elif theirs:
            instead[number] = ""
    return faults


def explain(lines: list[str], error: Any) -> Fault:
    """Return the fault behind an error of ruamel's scanner or parser.

    ruamel passes numbers to Python, whose errors have no position.
    """
    if isinstance(error, ValueError | OverflowError):
        return _number(lines)
    mark = error.problem_mark or error.context_mark
    line, column = (min(mark.line, len(lines) - 1), mark.column) if mark else (0, 0)
    start = min(error.context_mark.line, len(lines) - 1) if error.context_mark else line
    problem = " ".join(str(error.problem or error.context).split())
    if error.context_mark and ("scalar" in error.context or "flow" in error.context):
        fault = _unclosed(lines, line, start, error.context_mark.column, problem)
        if fault:
            return fault
    for recognize in (_tab, _escape, _left_out_space, _quoted_start, _colon, _stray_key, _indentation):
        fault = recognize(lines, line, column, start, problem)
        if fault:
            return fault
    where = f" ({error.context}, from line {start + 1})" if start != line else ""
    return Fault(line, column, problem + where, blank(lines, line))


def _number(lines: list[str]) -> Fault:
    for number, line in enumerate(lines):
        found = _BEYOND.search(line)
        if found:
            message = f"{found[0]} is not a character: the last one is \\U0010FFFF"
            return Fault(number, found.start(), message, {number: _BEYOND.sub("\ufffd", line)})
    return Fault(0, 0, "no YAML that can be read")


def blank(lines: list[str], number: int) -> dict[int, str]:
    """Remove a line and everything indented below it."""
    return dict.fromkeys(range(number, _end_of(lines, number, _depth(lines[number]))), "")


def _end_of(lines: list[str], number: int, depth: int) -> int:
    """Return the first line after `number` with text indented no deeper than `depth`."""
    below = range(number + 1, len(lines))
    return next((one for one in below if lines[one].strip() and _depth(lines[one]) <= depth), len(lines))


def blank_key(lines: list[str], number: int) -> dict[int, str]:
    """Remove everything under the top-level key of a line."""
    first, end = number, number + 1
    while first > 0 and (not lines[first].strip() or lines[first][0] in " \t#-"):
        first -= 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t#-"):
        end += 1
    return dict.fromkeys(range(first, end), "")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _write(text: str) -> str:
    """Quote a text that is short enough to be shown."""
    return f": write {_quote(text)}" if len(text) <= _ONLY_SO_LONG else ""


def _quoted(lines: list[str], number: int, start: int, message: str) -> Fault:
    """Return the fault of a text from `start` on that can be read once quoted."""
    text = lines[number][start:].rstrip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    first = _LINE.match(lines[number])
    depth = len(first["dashes"]) if first and first["key"] else _depth(lines[number])
    instead = dict.fromkeys(range(number + 1, _end_of(lines, number, depth)), "")
    return Fault(number, start, message + _write(text), {number: lines[number][:start] + _quote(text), **instead})


def _tab(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    if "found character '\\t'" not in problem:
        return None
    if lines[line][:column].strip():
        return Fault(line, column, "a tab: write a blank", {line: lines[line].replace("\t", " ")})
    tabbed = [number for number, text in enumerate(lines) if re.match(r" *\t", text)]
    more = f" ({len(tabbed)} lines begin with tabs)" if len(tabbed) > 1 else ""
    return Fault(
        line, column, f"a tab: indent with spaces{more}",
        {number: re.sub(r"^[ \t]+", lambda found: found[0].replace("\t", "  "), lines[number]) for number in tabbed},
    )  # fmt: skip


def _unclosed(lines: list[str], line: int, start: int, at: int, problem: str) -> Fault | None:
    """Recognize a quote or bracket, opened in column `at` of line `start`, that is not closed."""
    opening = lines[start][at : at + 1]
    closing = {"'": "'", '"': '"', "[": "]", "{": "}"}.get(opening)
    if closing is None or line == start or (opening in "[{" and not problem.startswith("expected ',' or")):
        return None
    found = _LINE.match(lines[start].rstrip())
    begin = found.start("value") if found and found["value"] else at
    instead = blank(lines, start) | {start: lines[start][:begin] + _quote(lines[start][begin:].rstrip().strip("'\""))}
    what = "quote" if opening in "'\"" else opening
    return Fault(start, at, f"the {what} that opens here is never closed: close it with {closing}", instead)


def _escape(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    if not problem.startswith("found unknown escape character") or line != start:
        return None
    text = lines[line]
    inner = re.sub(r'"((?:[^"\\]|\\.)*)"', lambda found: _quote(found[1]), text)
    return Fault(
        line, max(0, column - 1), r"a backslash within double quotes: use single quotes, or write \\", {line: inner}
    )


def _left_out_space(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    """Recognize `key:text` and `-text`, which are not a key or item and break what follows."""
    if not problem.startswith(("mapping values are not allowed", "could not find expected ':'")):
        return None
    for number in range(line, max(-1, start - 2, line - 3), -1):
        text = lines[number]
        colon = _NO_SPACE.match(text)
        if colon and not re.search(r":(?:\s|$)", text):
            at = colon.end("colon")
            return Fault(number, at - 1, "no blank after the colon: write one", {number: f"{text[:at]} {text[at:]}"})
        if _NO_SPACE_AFTER_DASH.match(text):
            at = text.index("-") + 1
            return Fault(number, at - 1, "no blank after the dash: write one", {number: f"{text[:at]} {text[at:]}"})
    return None


def _quoted_start(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    found = _LINE.match(lines[line].rstrip())
    if not found or not found["value"] or found.start("value") > column:
        return None
    text, at = found["value"], found.start("value")
    if text[0] in "'\"" and at < column:
        rest = "text goes on after the closing quote: put all of it in one pair of quotes"
        return _quoted(lines, line, at, rest)
    if text[0] in _STARTERS and not (found["key"] is None and at > column):
        if text[0] in "|>" and re.match(r"expected a comment or a line break|expected chomping", problem):
            return _quoted(lines, line, at, f"text after {text[0]!r}: begin it on the next line, indented, or quote it")
        return _quoted(lines, line, at, f"text that begins with {text[0]} must be in quotes")
    return None


def _colon(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    if not problem.startswith("mapping values are not allowed"):
        return None
    found = _LINE.match(lines[line].rstrip())
    if found is None:
        return None
    at = found.start("value")
    if found["value"] and found["key"] is not None and column >= at:
        below = next((text for text in lines[line + 1 :] if text.strip()), "")
        if found["dashes"].strip() and _depth(below) != len(found["dashes"]):
            at = len(found["dashes"])
        return _quoted(lines, line, at, "text that holds ': ' must be in quotes")
    above = next((number for number in range(line - 1, -1, -1) if lines[number].strip()), None)
    if above is None:
        return None
    at = _depth(lines[line])
    if lines[above].lstrip().startswith("- "):
        return Fault(line, at, _key_among_items(lines[above]), blank(lines, line))
    message = f"indented deeper than line {above + 1}, which has text already: align the two, or put the text in quotes"
    return Fault(line, at, message, blank(lines, line))


def _key_among_items(item: str) -> str:
    found = _LINE.match(item)
    message = "a key among list items: put the items above it under a key of their own"
    if found is None or not found["dashes"].strip() or found["key"] is None:
        return message  # the last one is a text, which has no keys
    return f"{message}, or begin it in column {len(found['dashes']) + 1} to make it part of the last one"


def _stray_key(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    if not problem.startswith("expected <block end>, but found"):
        return None
    if problem.endswith("'?'"):
        above = next((text for text in reversed(lines[:line]) if text.lstrip().startswith("- ")), "- ")
        return Fault(line, column, _key_among_items(above), blank(lines, line))
    if problem.endswith("'-'"):
        message = "a list item among keys: indent it below its key, or give the list a key of its own"
        return Fault(line, column, message, blank(lines, line))
    return None


def _indentation(lines: list[str], line: int, column: int, start: int, problem: str) -> Fault | None:
    if problem.startswith("expected '<document start>'"):
        first = next((number for number, text in enumerate(lines) if text.strip() and text.lstrip()[0] != "#"), 0)
        depth = _depth(lines[first])
        message = f"indented less than the first key, on line {first + 1}: begin both in the same column"
        dedented = {n: lines[n][depth:] if not lines[n][:depth].strip() else lines[n] for n in range(line)}
        return Fault(line, column, message, dedented)
    if problem.startswith("expected <block end>, but found"):
        if lines[line][:column].strip():
            return None
        above = next((n for n in range(line - 1, -1, -1) if lines[n].strip() and _depth(lines[n]) < column), None)
        message = "indented like nothing above it: align it with the line that it belongs to"
        if above is not None and re.search(r":\s+[|>][+-]?[0-9]?\s*$", lines[above]):
            message = f"indented less than the text that begins below line {above + 1}: indent it as far"
        return Fault(line, column, message, blank(lines, line))
    if problem.startswith("could not find expected ':'"):
        message = "text that is not a key: indent it below its key, after '|' where it goes over several lines"
        return Fault(start, 0 if start != line else column, message, blank(lines, start))
    return None
