"""Text with styles, put on a terminal in colour and into a pipe plain.

rich is imported only for a terminal: agents call these verbs hundreds of times a day, through pipes. Whatever came
from a repository passes `printable` on its way out, so that no control character reaches a terminal.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

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


@dataclass
class Document:
    """Lines and tables in order."""

    parts: list[list[Span] | Table] = field(default_factory=list)

    def line(self, *spans: Span) -> Document:
        """Add a line; none is an empty one."""
        self.parts.append(list(spans))
        return self

    def lines(self, texts: Iterable[str]) -> Document:
        """Add plain lines."""
        for text in texts:
            self.line(text)
        return self

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[Span]]) -> Document:
        """Add a table."""
        self.parts.append(Table(tuple(headings), tuple(tuple(row) for row in rows)))
        return self

    def plain(self) -> str:
        """Return it without styles, each line ended."""
        out = io.StringIO()
        for part in self.parts:
            for line in _rows(part) if isinstance(part, Table) else [part]:
                out.write("".join(printable(text) for text, _ in map(_pair, line)).rstrip() + "\n")
        return out.getvalue()

    def write(self, stream: TextIO, *, colour: bool) -> None:
        """Print it to `stream`."""
        if not colour:
            stream.write(self.plain())
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(file=stream, force_terminal=True, highlight=False, soft_wrap=True)
        for part in self.parts:
            for line in _rows(part) if isinstance(part, Table) else [part]:
                spans = [(printable(text), _STYLES.get(style, "")) for text, style in map(_pair, line)]
                console.print(Text.assemble(*spans), soft_wrap=True)


def printable(text: str) -> str:
    """Return `text` with every character that a terminal may obey made visible, line ends and tabs apart."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t" else _visible(character) for character in text
    )


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _pair(span: Span) -> tuple[str, str]:
    return (span, "") if isinstance(span, str) else span


def _rows(table: Table) -> list[list[Span]]:
    heads: list[Sequence[Span]] = [[(heading, "dim") for heading in table.headings]]
    rows = [[_pair(cell) for cell in row] for row in [*heads, *table.rows]]
    widths = [max(len(printable(row[index][0])) for row in rows) for index in range(len(table.headings))]
    return [
        [
            piece
            for index, (text, style) in enumerate(row)
            for piece in ((text, style), " " * (widths[index] - len(printable(text)) + 2))
        ]
        for row in rows
    ]
