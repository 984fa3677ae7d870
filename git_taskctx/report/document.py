"""Text with styles, put on a terminal in colour and into a pipe plain.

rich is imported only for a terminal: agents call these verbs hundreds of times a day, through pipes. Whatever came
from a repository passes `printable` on its way out, so that no control character reaches a terminal.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from git_taskctx.model.values import dataclass, field

Span = str | tuple[str, str]
"""Text, or text with a style: ok, bad, warn, dim, bold, path, command."""

_STYLES = {
    "ok": "bold green",
    "bad": "bold red",
    "warn": "yellow",
    "dim": "dim",
    "bold": "bold",
    "path": "cyan",
    "command": "bold blue",
    "added": "green",
    "deleted": "red",
}


@dataclass(frozen=True)
class Table:
    """Rows under headings, in columns as wide as they need."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Span, ...], ...]
    cut: bool = False
    """Whether the last column ends at the edge of a terminal; in a pipe it is whole."""


@dataclass(frozen=True)
class Paragraph:
    """A sentence, broken between words at the edge of a terminal; one line in a pipe."""

    spans: tuple[Span, ...]


@dataclass
class Document:
    """Lines, sentences and tables in order."""

    parts: list[list[Span] | Paragraph | Table] = field(default_factory=list)

    def line(self, *spans: Span) -> Document:
        """Add a line; none is an empty one."""
        self.parts.append(list(spans))
        return self

    def lines(self, texts: Iterable[str]) -> Document:
        """Add plain lines."""
        for text in texts:
            self.line(text)
        return self

    def sentence(self, *spans: Span) -> Document:
        """Add a line that may be broken between words; never one that is to be copied."""
        self.parts.append(Paragraph(spans))
        return self

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[Span]], *, cut: bool = False) -> Document:
        """Add a table."""
        self.parts.append(Table(tuple(headings), tuple(tuple(row) for row in rows), cut))
        return self

    def plain(self, width: int | None = None) -> str:
        """Return it without styles, each line ended; `width` is the terminal's, None where there is none."""
        out = io.StringIO()
        for line in self._lines(width):
            out.write("".join(text for text, _ in line).rstrip() + "\n")
        return out.getvalue()

    def write(self, stream: TextIO, *, colour: bool, width: int | None = None) -> None:
        """Print it to `stream`; `width` is the terminal's, None where there is none."""
        if not colour:
            stream.write(self.plain(width))
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(file=stream, force_terminal=True, highlight=False, soft_wrap=True)
        for line in self._lines(width):
            console.print(Text.assemble(*((text, _STYLES.get(style, "")) for text, style in line)), soft_wrap=True)

    def _lines(self, width: int | None) -> Iterator[list[tuple[str, str]]]:
        for part in self.parts:
            if isinstance(part, Table):
                yield from _rows(part, width)
            elif isinstance(part, Paragraph):
                yield from _broken(_printable(part.spans), width)
            else:
                yield _printable(part)


def printable(text: str) -> str:
    """Return `text` with every character that a terminal may obey made visible; line ends, tabs and blanks stay."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in _HARMLESS else _visible(character) for character in text
    )


_HARMLESS = "\n\t\xa0\u3000"
"""Line ends, tabs, and the blanks that people write beside the plain one (in French, in Japanese)."""


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _printable(spans: Iterable[Span]) -> list[tuple[str, str]]:
    pairs = ((span, "") if isinstance(span, str) else span for span in spans)
    return [(printable(text), style) for text, style in pairs]


def _rows(table: Table, width: int | None) -> list[list[tuple[str, str]]]:
    heads: Sequence[Span] = [(heading, "dim") for heading in table.headings]
    rows = [_printable(row) for row in [heads, *table.rows]]
    widths = [max(len(row[index][0]) for row in rows) for index in range(len(table.headings))]
    if table.cut and width is not None:
        widths[-1] = min(widths[-1], max(width - sum(widths[:-1]) - 2 * (len(widths) - 1), _LEAST))
    return [
        [
            piece
            for index, (text, style) in enumerate(row)
            for piece in ((_cut(text, widths[index]), style), (" " * (widths[index] - len(text) + 2), ""))
        ]
        for row in rows
    ]


_LEAST = 12
"""Columns that are left of a cut column on the narrowest terminal."""


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _broken(line: list[tuple[str, str]], width: int | None) -> Iterator[list[tuple[str, str]]]:
    """Divide a line between words; what follows the first line is indented by two."""
    whole, start = "".join(text for text, _ in line), 0
    while width is not None and len(whole) - start > (room := max(width - 2 * (start > 0), 1)):
        end = whole.rfind(" ", start + 1, start + room + 1)
        if end < 0:
            end = whole.find(" ", start + room)
        if end < 0:
            break
        yield _between(line, start, end)
        start = end + 1
    yield _between(line, start, len(whole))


def _between(line: list[tuple[str, str]], start: int, end: int) -> list[tuple[str, str]]:
    found, at = [("  ", "")] if start else [], 0
    for text, style in line:
        found.append((text[max(start - at, 0) : max(end - at, 0)], style))
        at += len(text)
    return found
