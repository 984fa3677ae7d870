"""One budget of bytes, depth and time for everything that others can write.

Limits are checked before the work that they bound. Where a limit has no unit in its name or text, it counts bytes.
Agents' hooks load this module before anything else, so that it loads no other.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Files
MAX_BYTES = 8 * 1024 * 1024
"""A document of ours: nothing we write comes near it."""
MAX_DEPTH = 32
"""Levels of a document or of scope macros, and parts of a key."""
VALUES = 100_000
"""Values of a task file: its parser takes 50 microseconds over each."""
UNPACKED = 2 * 1024 * 1024 * 1024
"""A compressed file's content, which is never in memory as a whole."""
LIST_ROOM, LIST_RATIO = 64 * 1024 * 1024, 64
"""Maximum unpacked size of a list of files: this, and so much for each packed byte; a hash in it hardly packs."""
PIECE = 1024 * 1024
"""Read at once."""
LINE = 64 * 1024
"""A line in our files, or a short file of ours."""
BITS = 63
"""Bits of a number of TOML, beside its sign."""
NAME_FILE = 4096
"""A file of ours with one name or path."""
ANY_FILE = 512 * 1024 * 1024
"""A file without a limit of its own: it is read into memory."""
TEXT_FILE = 1024 * 1024
"""A text that people or agents write: task, standards, macros, signers, hook, prompt, answer."""
LINES_LIMIT = 10_000
"""Lines of a body or a list text: the Markdown parser needs seconds for more."""
POLICY_LIMIT = 256 * 1024
"""A committed policy, of which tomllib reads a MiB in seconds."""
PYPROJECT_LIMIT = 16 * 1024 * 1024
"""A `pyproject.toml`, of which only our table is parsed."""
STAGES_LIMIT = 1000
"""Stages of the pipelines."""
ALTERNATIVES_LIMIT = 1000
"""Patterns that one pattern's braces may stand for."""
PATTERN_LIMIT = 8 * 1024
"""Characters of a pattern."""
PATTERNS_LIMIT = 256 * 1024
"""Characters of all patterns, braces expanded."""

# Evidence and QA logs
EVIDENCE_LIMIT = 16 * 1024 * 1024
"""A piece of evidence, or a log."""
PIECES_LIMIT = 200
"""Pieces of evidence in a context."""
CONTAINERS_LIMIT = 1_000_000
"""JSON objects and lists in a log; a tool's log of 16 MiB has a tenth of that."""
DOCUMENTS_LIMIT = 1000
"""Documents in a log."""
SUITES_DEPTH = 20
"""Nested suites: reports recurse."""
XML_DEPTH = 100
"""Nested elements of JUnit XML."""

# The ledger and the history, which every pusher writes
NOTE_LIMIT = 8 * 1024 * 1024
"""A note that a proof reads; a task of a thousand records has one."""
ANY_NOTE_LIMIT = 64 * 1024 * 1024
"""A note that is copied or merged unread."""
BATCH_LIMIT = 4 * NOTE_LIMIT
"""Notes held at once, unless one commit alone has more."""
RECORD_LIMIT = 1024 * 1024
"""Characters of a record."""
RECORDS_LIMIT = 20_000
"""Records of a note."""
CHAIN_LIMIT = 5_000
"""Records of a context: folding them takes quadratic time."""
BYPASSES_LIMIT = 250
"""Bypasses of a task: each is searched for in the history of each of its commits."""
REASONS_LIMIT = 50
"""Reasons, and notices, of one claim."""
CLAIMS_LIMIT = 1000
"""Commits that the records of a task name; each needs the chain up to it."""
COMMIT_LIMIT = 4 * 1024 * 1024
"""A commit."""
MAP_LIMIT = 256 * 1024 * 1024
"""A list of commits: git's `shallow`, or a map of rewritten ones."""
MERGES_LIMIT = 100
"""Nested merges that are proved one by one, each by the rules before it."""
MERGED_FILE = 16 * 1024 * 1024
"""A file whose conflict is described."""
SIGNATURE_LIMIT = 64 * 1024
"""Characters of a signature."""

# Agents and CI
SETTINGS_LIMIT = 4 * 1024 * 1024
"""An agent's settings."""
PROMPTS_LIMIT = 2000
"""Prompts that are checked."""
PAYLOAD_LIMIT = 32 * 1024 * 1024
"""What an agent sends to a hook; larger writes are not source code."""
STREAM_LINE = 1024 * 1024
"""Characters of a line of an agent's output that is examined."""
STREAM_END = 4 * 1024 * 1024
"""The end of each stream that a worker sends back, and that goes on record."""
JOURNAL_LIMIT = 256 * 1024 * 1024
"""The events of a run."""
EVENT_LIMIT = 64 * 1024 * 1024
"""An event; GitHub sends at most 25 MB."""

# Time
LOCK_SECONDS = 10.0
"""For the lock of a worktree."""
DISCOVERY_SECONDS = 20.0
"""For git to find the repository, which takes three small files."""
GIT_SECONDS = 600.0
"""After which git counts as stuck if it takes no CPU time (a FIFO, a dead network file system)."""
NETWORK_SECONDS = 3600.0
"""The same, where git uses the network or asks a person."""
SIGNING_SECONDS = 120.0
"""For a person to type a passphrase."""
HOOK_SECONDS = 60.0
"""For one git command with its hooks, when they are tried."""
VERSION_SECONDS = 30
"""For a program to print its version."""
CLUSTER_SECONDS = 10
"""For a connection to a cluster."""
_BETWEEN_KEYS = r"[^A-Za-z0-9_.\- \t]+|\.{2,}|(?<=[\w-])[ \t]+(?=[\w-])"
_STRING = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'"


class TooLarge(Exception):
    """Something exceeds its limit."""


def unpacked(packed: bytes, *, limit: int = UNPACKED) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces.

    Raises: zlib.error if damaged or cut; TooLarge above `limit` bytes.
    """
    import zlib

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
    import re

    return max(run.count(".") for run in re.split(_BETWEEN_KEYS, re.sub(_STRING, "q", line))) + 1
