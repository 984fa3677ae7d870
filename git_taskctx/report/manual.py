"""The manual page as plain text, where there is no `man`: the few requests of roff that our own page uses."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable

from git_taskctx.model.values import dataclass, field

WIDTH = 80
_STEP = 7
"""How far text is indented, as man(7) has it."""
_FONT = re.compile(r"\\f[BIRP]")
_ESCAPES = {"\\-": "-", "\\&": "", "\\e": "\\"}
_HYPHEN = re.compile(r"\\.")


def render_manual(page: str) -> str:
    """Return a page written with man(7) as plain text, 80 columns wide.

    Raises: ValueError for a request that it does not know; a test holds our page to those that it does.
    """
    writer = _Writer()
    for line in page.splitlines():
        writer.read(line)
    writer.end_paragraph()
    return "\n".join(writer.lines).strip("\n") + "\n"


def topics_of(manual: str) -> dict[str, str]:
    """Return the parts of a manual page in plain text by their headings, as in `exit-status`."""
    parts = re.split(r"^(?=[A-Z][A-Z ]*$)", manual, flags=re.MULTILINE)
    return {part.partition("\n")[0].lower().replace(" ", "-"): part.rstrip("\n") + "\n" for part in parts[1:]}


@dataclass
class _Writer:
    """Where on the page one is."""

    lines: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """Of the paragraph that is being filled."""
    margins: list[int] = field(default_factory=lambda: [_STEP])
    indent: int = _STEP
    tag: str | None = None
    """Of the item that the paragraph belongs to, with the column that it begins in."""
    awaits_tag: bool = False
    fills: bool = True
    heading_end: int = 0
    """How many lines there were after the last heading."""

    def read(self, line: str) -> None:
        """Take one line of the source."""
        if line.startswith(".") and not line.startswith('.\\"'):
            name, *arguments = shlex.split(line[1:].replace("\\", "\\\\"), posix=True)
            request = _REQUESTS.get(name)
            if request is None:
                raise ValueError(f"the manual page uses .{name}, which this renderer does not know")
            request(self, arguments)
        elif line.startswith('.\\"'):
            return
        elif self.awaits_tag:
            self.tag, self.awaits_tag = _plain(line), False
        elif self.fills:
            self.words.append(_plain(line))
        else:
            self.lines.append((" " * self.indent + _plain(line)).rstrip())

    def end_paragraph(self) -> None:
        """Set what has been gathered."""
        text = " ".join(self.words)
        margin, self.words = self.margins[-1], []
        if self.tag is not None:
            first = " " * margin + self.tag
            if len(first) < self.indent and text:
                self._fill(text, first=first.ljust(self.indent))
            else:
                self.lines.append(first)
                self._fill(text, first=" " * self.indent)
        elif text:
            self._fill(text, first=" " * self.indent)
        self.tag = None

    def skip(self) -> None:
        """Leave a line empty, unless one is, and not right after a heading."""
        if len(self.lines) != self.heading_end and self.lines[-1]:
            self.lines.append("")

    def _fill(self, text: str, *, first: str) -> None:
        if text:
            self.lines += textwrap.wrap(
                text,
                WIDTH,
                initial_indent=first,
                subsequent_indent=" " * self.indent,
                break_long_words=False,
                break_on_hyphens=False,
            )


def _plain(text: str) -> str:
    return _HYPHEN.sub(lambda found: _ESCAPES.get(found[0], found[0]), _FONT.sub("", text))


def _title(writer: _Writer, arguments: list[str]) -> None:
    name, section, _, _, manual = map(_plain, [*arguments, "", "", "", "", ""][:5])
    side = f"{name}({section})"
    writer.lines += [side + manual.center(WIDTH - 2 * len(side)) + side, ""]


def _heading(column: int) -> Callable[[_Writer, list[str]], None]:
    def write(writer: _Writer, arguments: list[str]) -> None:
        writer.end_paragraph()
        writer.skip()
        writer.margins, writer.indent = [_STEP], _STEP
        writer.lines.append(" " * column + _plain(" ".join(arguments)))
        writer.heading_end = len(writer.lines)

    return write


def _paragraph(writer: _Writer, _: list[str]) -> None:
    writer.end_paragraph()
    writer.skip()
    writer.indent = writer.margins[-1]


def _item(writer: _Writer, _: list[str]) -> None:
    _paragraph(writer, [])
    writer.indent, writer.awaits_tag = writer.margins[-1] + _STEP, True


def _tagged(writer: _Writer, arguments: list[str]) -> None:
    _item(writer, [])
    tag, width = [*arguments, str(_STEP)][:2]
    writer.tag, writer.awaits_tag, writer.indent = _plain(tag), False, writer.margins[-1] + int(width)


def _begin_block(writer: _Writer, arguments: list[str]) -> None:
    writer.end_paragraph()
    writer.margins.append(writer.margins[-1] + int(arguments[0] if arguments else _STEP))
    writer.indent = writer.margins[-1]


def _end_block(writer: _Writer, _: list[str]) -> None:
    writer.end_paragraph()
    writer.margins.pop()
    writer.indent = writer.margins[-1]


def _literal(writer: _Writer, _: list[str]) -> None:
    writer.end_paragraph()
    writer.fills = False


def _filled(writer: _Writer, _: list[str]) -> None:
    writer.fills = True


_REQUESTS: dict[str, Callable[[_Writer, list[str]], None]] = {
    "TH": _title,
    "SH": _heading(0),
    "SS": _heading(3),
    "PP": _paragraph,
    "TP": _item,
    "IP": _tagged,
    "RS": _begin_block,
    "RE": _end_block,
    "nf": _literal,
    "fi": _filled,
}
