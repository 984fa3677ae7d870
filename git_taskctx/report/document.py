"""Styled text, coloured on a terminal and plain in a pipe.

rich lays it out for terminals and is imported only there: agents call verbs through pipes, where a table is columns of
text and a sentence is a line. Text from a repository passes `printable`, so that no control character reaches a
terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from git_taskctx.lean import regex
from git_taskctx.model.values import dataclass, field

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

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
    """Whether the last column stays on one line of a terminal, whatever is lost of it; in a pipe it is whole."""


@dataclass(frozen=True)
class Paragraph:
    """A sentence, broken between words at the edge of a terminal; one line in a pipe."""

    spans: tuple[Span, ...]
    indent: tuple[Span, ...] = ("  ",)
    """What its further lines begin with."""


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

    def sentence(self, *spans: Span, indent: Iterable[Span] = ("  ",)) -> Document:
        """Add a line that may be broken between words; never one that is to be copied."""
        self.parts.append(Paragraph(spans, tuple(indent)))
        return self

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[Span]], *, cut: bool = False) -> Document:
        """Add a table."""
        self.parts.append(Table(tuple(headings), tuple(tuple(row) for row in rows), cut))
        return self

    def plain(self) -> str:
        """Return it as a pipe gets it: without styles, each line whole and ended."""
        return "".join(f"{line.rstrip()}\n" for line in self._lines())

    def write(self, stream: TextIO, *, colour: bool, width: int | None = None) -> None:
        """Print it to `stream`; `width` is the terminal's, None where there is none."""
        if width is None and not colour:
            stream.write(self.plain())
            return
        from rich.console import Console

        room = width or _ENDLESS
        console = Console(
            file=stream,
            force_terminal=True,
            color_system="auto" if colour else None,
            highlight=False,
            width=max(room, _LEAST),
        )
        for part in self.parts:
            if isinstance(part, Table):
                _print_table(console, part)
            elif isinstance(part, Paragraph):
                indent = _text(part.indent)
                first, *more = _broken(_text(part.spans), room, len(indent))
                console.print(first, *(indent + line for line in more), sep="\n", soft_wrap=True)
            else:
                console.print(_text(part), soft_wrap=True)

    def _lines(self) -> Iterator[str]:
        for part in self.parts:
            if isinstance(part, Table):
                rows = [[_words(span).replace("\n", " ") for span in row] for row in (part.headings, *part.rows)]
                widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
                for row in rows:
                    yield "  ".join(map(str.ljust, row, widths))
            else:
                yield "".join(map(_words, part.spans if isinstance(part, Paragraph) else part))


_ENDLESS = 100_000
"""Columns of a pipe that wants colour."""
_LEAST = 60
"""Columns of a table on the narrowest terminal, which breaks its lines by itself then."""

_SHORT = 16
"""Columns of a context's id: what is no wider stays on one line."""


def _print_table(console: Console, table: Table) -> None:
    """Print a table whose widest columns give way where it does not fit: they go on in the next line, or end in `…`."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for heading, *column in zip(table.headings, *table.rows, strict=True):
        grid.add_column(
            _text(((heading, "dim"),)), overflow="fold", no_wrap=max(map(len, map(_words, column)), default=0) <= _SHORT
        )
    for row in table.rows:
        cells = [_text((span,)) for span in row]
        if table.cut:
            cells[-1].no_wrap, cells[-1].overflow = True, "ellipsis"
        grid.add_row(*cells)
    for segments in console.render_lines(grid):
        line = Text.assemble(*((one.text, one.style or "") for one in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _broken(text: Text, width: int, indent: int) -> Iterable[Text]:
    """Divide a line between words, all but the first shorter by `indent`.

    Unlike rich, leave a word that is longer whole, as it may be copied.
    """
    import textwrap

    ends, at = list[int](), 0
    for line in textwrap.wrap(
        text.plain,
        max(width, 1),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        expand_tabs=False,
    ):
        line = line[indent:] if ends else line
        at = text.plain.index(line, at) + len(line)
        ends.append(at + 1)
    for piece in (lines := text.divide(ends[:-1])):
        piece.rstrip()
    return lines


def _text(spans: Iterable[Span]) -> Text:
    from rich.text import Text

    pairs = ((span, "") if isinstance(span, str) else span for span in spans)
    return Text.assemble(*((_below(printable(text)), _STYLES.get(style, "")) for text, style in pairs))


def _words(span: Span) -> str:
    return _below(printable(span if isinstance(span, str) else span[0]))


def _below(text: str) -> str:
    """Indent what follows the first line, so that no text that others wrote looks like a line of ours."""
    return text if "\n" not in text else _AT_THE_EDGE.sub("\n  ", text)


_AT_THE_EDGE = regex(r"\n(?=\S)")


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
