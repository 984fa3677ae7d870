"""The ledger drawn: a lane for each agent, with the line in the lane of whoever has the tree, newest record first.

As `git log --graph` draws branches: a handoff is where the line changes its lane, and the other side of a fork of the
ledger is a lane of its own, right of the agents', that leaves the line at the record that both sides were built upon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from git_taskctx.ledger.chain import fold
from git_taskctx.model.values import dataclass
from git_taskctx.report.document import Document, Span
from git_taskctx.report.history import INDENT, in_several_clones, line_of, notes_of

if TYPE_CHECKING:
    from git_taskctx.ledger.forks import Sides
    from git_taskctx.model.record import Record

_ASCII = str.maketrans("│╭─╯╰╮├●○✗▲■◌", "|.-'`.|*ox!#+")
"""What is drawn where the terminal has no characters for boxes."""
_MARKS = {
    "init": ("●", "bold"),
    "snapshot": ("●", "bold"),
    "seal": ("■", "ok"),
    "adopt": ("■", "ok"),
    "drift": ("✗", "bad"),
    "block": ("▲", "bad"),
    "bypass": ("▲", "bad"),
    "resolve": ("○", "ok"),
    "unblock": ("○", "ok"),
}
_ASIDE = "◌"
_Cells = dict[int, tuple[str, str]]
"""What stands in some columns, with its style."""


@dataclass(frozen=True)
class _Row:
    """A record of the path, and whose lane the line is in after it."""

    record: Record
    owner: int
    lane: int
    """The lane of whoever wrote it."""


def graph(document: Document, sides: Sides, *, box: bool) -> None:
    """Draw the ledger, with every side of its forks; with characters of ASCII alone where not `box`."""
    path = [entry.record for entry in sides.path]
    others = [[entry.record for entry in side] for side in sides.others]
    several = in_several_clones([*path, *(record for side in others for record in side)])
    rows, width = _rows(path)
    drawing = _Drawing(document, width, several=several, box=box)
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        is_open = sides.undecided is not None and number >= sides.undecided
        for side in others:
            if side[0].seq == number + 2:
                drawing.side(side, row.owner, is_open=sides.undecided == number + 1)
        drawing.record(row, is_open=is_open)
        if number and rows[number - 1].owner != row.owner:
            drawing.handoff(rows[number - 1].owner, row.owner)


def _rows(path: Sequence[Record]) -> tuple[list[_Row], int]:
    """Return the rows, oldest first, and how many agents there are."""
    chain = fold(path[:1])
    lanes = {agent: lane for lane, agent in enumerate(chain.agents)}
    rows = []
    for number, record in enumerate(path):
        chain = chain.apply(record) if number else chain
        owner = lanes[chain.owner]
        rows.append(_Row(record, owner, lanes.get(record.agent or "", owner)))
    return rows, len(lanes)


class _Drawing:
    """Writes lanes, each two columns wide, and what happened beside them."""

    def __init__(self, document: Document, agents: int, *, several: bool, box: bool) -> None:
        self._document, self._agents = document, agents
        self._several, self._box = several, box

    def record(self, row: _Row, *, is_open: bool) -> None:
        """Write one record of the path."""
        line: _Cells = {2 * row.owner: ("│", "path")}
        mark = _MARKS.get(row.record.type, ("○", "dim"))
        self._write({**line, 2 * row.lane: mark}, row.record, line, aside=" (undecided)" if is_open else "")

    def side(self, records: Sequence[Record], owner: int, *, is_open: bool) -> None:
        """Write the other side of a fork, down to where it leaves the line."""
        column = 2 * self._agents
        line: _Cells = {2 * owner: ("│", "path"), column: ("│", "dim")}
        for record in reversed(records):
            aside = " (undecided)" if is_open else " (set aside)"
            self._write({**line, column: (_ASIDE, "warn" if is_open else "dim")}, record, line, aside=aside)
        self._join(2 * owner, column, ("├", "╯"), "dim")

    def handoff(self, below: int, above: int) -> None:
        """Write where the line changes its lane."""
        forward = above > below
        left, right = sorted((2 * below, 2 * above))
        self._join(left, right, ("╭", "╯") if forward else ("╰", "╮"), "path")

    def _join(self, left: int, right: int, ends: tuple[str, str], style: str) -> None:
        words = " " * left + ends[0] + "─" * (right - left - 1) + ends[1]
        self._document.line((self._drawn(words), style))

    def _write(self, cells: _Cells, record: Record, after: _Cells, *, aside: str) -> None:
        indent = [*self._lanes(after), INDENT]
        self._document.sentence(
            *self._lanes(cells), *line_of(record, several=self._several), (aside, "dim"), indent=indent
        )
        for line in notes_of(record):
            self._document.sentence(*indent, line, indent=indent)

    def _lanes(self, cells: _Cells) -> Iterator[Span]:
        for column in range(2 * self._agents + 2):
            mark, style = cells.get(column, (" ", ""))
            yield (self._drawn(mark), style)

    def _drawn(self, text: str) -> str:
        return text if self._box else text.translate(_ASCII)
