"""Limits for untrusted files: bytes, depth and so time.

Limits are checked before the work that they bound.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from git_taskctx.lean import regex

MAX_BYTES = 8 * 1024 * 1024
"""Larger documents of ours are not read: nothing we write comes near it."""
MAX_DEPTH = 32
"""Levels of a document, and parts of a key."""
VALUES = 100_000
"""Values of a task file: its parser takes 50 microseconds over each."""
UNPACKED = 2 * 1024 * 1024 * 1024
"""Bytes in a compressed file, which are never in memory together."""
PIECE = 1024 * 1024
"""Bytes read at once."""
LINE = 64 * 1024
"""Bytes of a line in our files."""
BITS = 63
"""Bits of a number of TOML, beside its sign."""

_BETWEEN_KEYS = regex(r"[^A-Za-z0-9_.\- \t]+|\.{2,}|(?<=[\w-])[ \t]+(?=[\w-])")
_STRING = regex(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


class TooLarge(Exception):
    """Something exceeds its limit."""


def unpacked(packed: bytes, *, limit: int = UNPACKED) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces.

    Raises: zlib.error if damaged or cut; TooLarge above `limit` bytes.
    """
    unpacker, total = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), 0
    data = packed
    while not unpacker.eof:
        piece = unpacker.decompress(data, PIECE)
        data = unpacker.unconsumed_tail
        total += len(piece)
        if total > limit:
            raise TooLarge(f"more than {limit} bytes")
        if not piece and not data and not unpacker.eof:
            raise zlib.error("the end is missing")
        yield piece


def lines_of(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of pieces, without their ends. Raises: TooLarge for a line over `LINE` bytes."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > LINE:
            raise TooLarge(f"a line of more than {LINE} bytes")
    if rest:
        yield rest


def load_toml(text: str) -> dict[str, Any]:
    """Read TOML. Raises: ValueError for what is no TOML, or nested deeper than `MAX_DEPTH` allows.

    So it does for a number over 64 bits, which TOML does not have. Python writes no number of more than 4,300 digits,
    and of reading one the parser makes a plain ValueError.

    The parser's time grows with the square of a key's parts (tomllib of Python 3.11 to 3.13).
    """
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= MAX_DEPTH and _parts(line) > MAX_DEPTH:
            raise ValueError(f"A key has more than {MAX_DEPTH} parts (at line {number}, column 1)")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        raise ValueError("a number has too many digits") from error
    values: list[Any] = [table]
    while values:
        value = values.pop()
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and value.bit_length() > BITS:
            raise ValueError("a number has too many digits")
    return table


def _parts(line: str) -> int:
    """Return the number of parts in a line's longest dotted key."""
    return max(run.count(".") for run in _BETWEEN_KEYS.split(_STRING.sub("q", line))) + 1
