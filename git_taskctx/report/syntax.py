"""Syntax colours for the lines of a diff, by pygments: every token is text with a class, and nothing is lost.

A hunk is read as two texts, the old side and the new one. It begins in the middle of a file, so that colours are a
help and no more: a docstring that began above it is read as code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from git_taskctx.report.difflines import FileDiff, Line, Piece, Room
from git_taskctx.report.document import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygments.lexer import Lexer

ROOM = 6 * 256 * 1024
"""How much of a page is coloured, as `Room` counts."""
LARGEST = 32 * 1024
"""Maximum number of characters of a hunk that is coloured: no lexer is given more at once."""
_CLASSES = (
    ("Token.Comment", "com"),
    ("Token.Keyword", "key"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Tag", "name"),
    ("Token.Name.Attribute", "name"),
    ("Token.Literal.Number", "num"),
    ("Token.Literal", "str"),
)
"""Kinds of tokens that have a colour, and its class in the style sheet; of two that fit, the first."""


def colour(file: FileDiff, room: Room) -> None:
    """Give each line of a file its pieces, where its name says what language it is in and there is room."""
    lexer = _lexer_of(file.path)
    if lexer is None:
        return
    for hunk in _hunks(file.lines):
        text = "".join(line.text for line in hunk)
        if len(text) > LARGEST or not room.take(text):
            continue
        for side in (" -", " +"):  # the new side last: lines of both are as they are now
            lines = [line for line in hunk if line.text[:1] in side and line.kind != "place"]
            texts = [printable(line.text[1:]) for line in lines]
            for line, pieces in zip(lines, _pieces(lexer, texts), strict=True):
                line.pieces = pieces


def _lexer_of(path: str) -> Lexer | None:
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path.strip('"'), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _hunks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    hunk: list[Line] = []
    for line in lines:
        if line.kind == "place" and hunk:
            yield hunk
            hunk = []
        hunk.append(line)
    yield hunk


def _pieces(lexer: Lexer, texts: Sequence[str]) -> list[tuple[Piece, ...]]:
    """Return the pieces of each line; none where the lexer does not give back what it was given."""
    lines: list[list[Piece]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(texts)):
        known = _class_of(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            last = lines[-1]
            if last and last[-1][0] == known:
                last[-1] = known, last[-1][1] + part
            elif part:
                last.append((known, part))
    is_whole = ["".join(text for _, text in line) for line in lines] == list(texts)
    return [tuple(line) for line in lines] if is_whole else [()] * len(texts)


def _class_of(kind: Any) -> str:
    name = str(kind)
    return next((found for prefix, found in _CLASSES if name.startswith(prefix)), "")
