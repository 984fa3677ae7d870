"""Normalize text, so that the same words are the same bytes.

The seven rules are the project's; wrapping follows Markdown, where a line that begins with certain words would start a
list, a heading or a quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NORMALIZER = ("normalize_multiline", "1.1.0")
"""Recorded with the text."""
WIDTH = 120
"""Characters in a line of a paragraph."""

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+[^\s#]")
_COMMENT = re.compile(r"[ \t]*#(?![0-9])")
"""A line of a YAML comment: a `#` that begins neither a heading nor a reference such as `#12`."""
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_RULE = re.compile(r"[ \t]*(?:=+|-+|(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})[ \t]*$")
"""A thematic break, or the underline of a heading."""
_KEPT = re.compile(r"[ \t]*[>|<]")
"""Quotes, tables and HTML: lines that are kept."""
_TABLE = re.compile(r"[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$")
_STARTER = re.compile(r"#(?![0-9])|`{3}|~{3}|[>|<]|[-*_=+]+$|[0-9]{1,9}[.)]$")
"""A word that would start another block if a line began with it."""


def normalize_multiline(text: str, *, wrap: bool = True) -> str:
    """Return normalized `text`; without `wrap` paragraphs keep their lines.

    1. Line ends are LF. 2. YAML comment lines are removed; Markdown headings stay. 3. No blank lines within a
    paragraph, one between two; several between list items become one. 4. Paragraphs are wrapped at 120 characters,
    never within a word, at a hyphen, in a code span, or before a word that would start another block. 5. Lists and 6.
    code, fenced or indented, stay. 7. One newline ends the text.
    """
    lines: list[str] = []
    for kind, block in _blocks(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")):
        is_table = any(map(_TABLE.match, block))
        lines += _wrap(block) if kind == "prose" and wrap and not is_table else block
    return "\n".join(lines).strip("\n") + "\n"


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield a text's blocks: paragraphs whole as `prose`, all else by line, with `gap`s between."""
    prose: list[str] = []
    before, blanks = "gap", 0
    for kind, line in _classify(lines):
        if kind == "gap":
            blanks += 1
            continue
        if prose and (blanks or kind != "prose"):
            yield "prose", prose
            prose = []
        if blanks:
            yield "gap", [""] * (blanks if kind == before == "code" else 1)
        if kind == "prose":
            prose.append(line.rstrip(" \t"))
        else:
            yield kind, [line if kind in ("code", "list") else line.rstrip(" \t")]
        before, blanks = kind, 0
    if prose:
        yield "prose", prose


def _classify(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with its kind: `gap`, `code`, `list`, `line` (kept) or `prose`; comments are left out."""
    fence, before, after_gap = "", "gap", True
    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            kind = "list" if before == "list" else "code"
            if opening and opening[1].startswith(fence) and opening[1] == line.strip(" \t"):
                fence = ""
        elif not line.strip(" \t"):
            kind = "gap"
        elif before != "list" and _INDENTED.match(line) and (after_gap or before == "code"):
            kind = "code"
        elif _COMMENT.match(line) and not _HEADING.match(line) and (before != "list" or line[0] == "#"):
            continue
        elif opening:
            fence = opening[1]
            kind = "list" if before == "list" and line[0] in " \t" else "code"
        else:
            kind = _kind(line, before, after_gap=after_gap)
        yield kind, line
        after_gap = kind == "gap"
        before = before if after_gap else kind


def _kind(line: str, before: str, *, after_gap: bool) -> str:
    """Return the kind of a line that is not blank, code or comment."""
    if _HEADING.match(line) or _RULE.match(line):
        return "line"
    if _BULLET.match(line) or (before == "list" and (not after_gap or line[0] in " \t")):
        return "list"
    return "line" if _KEPT.match(line) else "prose"


def _wrap(lines: list[str]) -> list[str]:
    wrapped: list[str] = []
    for word in _words(" ".join(line.strip(" \t") for line in lines)):
        if wrapped and (len(wrapped[-1]) + 1 + len(word) <= WIDTH or _STARTER.match(word)):
            wrapped[-1] += f" {word}"
        else:
            wrapped.append(word)
    return wrapped


def _words(text: str) -> Iterator[str]:
    """Yield words, not split within code spans."""
    spans = _code_spans(text)
    start, end = next(spans, (len(text), len(text)))
    begin = 0
    for gap in re.finditer(r"[ \t]+", text):
        while end <= gap.start() < len(text) and end < len(text):
            start, end = next(spans, (len(text), len(text)))
        if gap.start() < start:
            yield text[begin : gap.start()]
            begin = gap.end()
    yield text[begin:]


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of code spans, from a run of backticks to the next one of the same length."""
    runs = [match.span() for match in re.finditer("`+", text)]
    following: dict[int, int] = {}
    closing: list[int | None] = [None] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        closing[index] = following.get(length)
        following[length] = index
    index = 0
    while index < len(runs):
        close = closing[index]
        if close is not None:
            yield runs[index][0], runs[close][1]
        index = (index if close is None else close) + 1
