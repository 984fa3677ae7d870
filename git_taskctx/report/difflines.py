"""A diff cut into files and lines, no longer than there is room for on a page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Literal

from git_taskctx.git.quoting import quote, unquote
from git_taskctx.model.values import dataclass, field

FILE_LINES = 400
"""Maximum number of lines of a file, and of files of a diff, that are shown."""
LINE_LENGTH = 600
"""Maximum number of characters of a line."""
LineKind = Literal["same", "added", "deleted", "place"]
_KINDS: dict[bytes, LineKind] = {b"+": "added", b"-": "deleted", b"@": "place"}
_MODES = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) (\d+)\n")


Piece = tuple[str, str]
"""A part of a line: its class in the style sheet, or none, and its text."""


@dataclass
class Line:
    """One line of a hunk, with its sign."""

    kind: LineKind
    text: str
    pieces: tuple[Piece, ...] = ()
    """The same without its sign, where syntax colours are known."""


@dataclass
class FileDiff:
    """What changed in one file."""

    path: str
    """Quoted as git quotes it."""
    added: int = 0
    deleted: int = 0
    facts: list[str] = field(default_factory=list)
    """As in `new file` or `mode 100644 to 100755`."""
    lines: list[Line] = field(default_factory=list)
    left_out: int = 0
    """Lines that are not shown."""


class Room:
    """How many characters a page still has room for."""

    def __init__(self, characters: int) -> None:
        self.left = characters

    def take(self, text: str) -> bool:
        """Take the room for a text, as it is written in HTML; False where there is none left."""
        self.left -= 6 * len(text) + 60
        return self.left > 0


def files_of(data: bytes, room: Room) -> list[FileDiff]:
    """Divide a diff into its files; what there is no room for is counted."""
    return [_file(header, body, room) for header, body in _divide(data)]


def _divide(data: bytes) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield the header lines and the lines of the hunks of each file."""
    header, body = list[bytes](), list[bytes]()
    for line in io.BytesIO(data):  # splits at LF alone: a diff keeps the CRs of its files
        if line.startswith(b"diff --git "):
            if header:
                yield header, body
            header, body = [line], []
        elif body or line.startswith(b"@@ "):
            body.append(line)
        else:
            header.append(line)
    if header:
        yield header, body


def _file(header: list[bytes], body: list[bytes], room: Room) -> FileDiff:
    found = FileDiff(_path(header[0]), facts=list(_facts(header)))
    for line in body:
        kind = _KINDS.get(line[:1], "same")
        found.added += kind == "added"
        found.deleted += kind == "deleted"
        text = line.rstrip(b"\n").decode("utf-8", "backslashreplace")
        text = text if len(text) <= LINE_LENGTH else text[:LINE_LENGTH] + f"… ({len(text)} characters)"
        if len(found.lines) < FILE_LINES and not found.left_out and room.take(text):
            found.lines.append(Line(kind, text))
        else:
            found.left_out += 1
    return found


def _path(line: bytes) -> str:
    """Return the path of a `diff --git` line: both sides name the same one, for nothing is taken as renamed."""
    names = line.removeprefix(b"diff --git ").rstrip(b"\n").decode("utf-8", "surrogateescape")
    return quote(unquote(names[: len(names) // 2]).removeprefix(b"a/"))


def _facts(header: list[bytes]) -> Iterator[str]:
    modes = {match[1].decode(): match[2].decode() for line in header if (match := _MODES.fullmatch(line))}
    if "new file mode" in modes:
        yield f"new file, mode {modes['new file mode']}"
    if "deleted file mode" in modes:
        yield f"deleted, mode was {modes['deleted file mode']}"
    if "old mode" in modes and "new mode" in modes:
        yield f"mode {modes['old mode']} to {modes['new mode']}"
    if any(line.startswith(b"Binary files ") for line in header):
        yield "binary, content not shown"
