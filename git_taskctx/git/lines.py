"""Which state of a history brought each line of a tree: what `git blame` would answer, of trees alone.

The states need no commits. One `git diff-tree`, blind to configuration and attributes, compares each with those before
it, and its hunks are followed back from the last state to the first, the way blame.c does: an identical file is passed
on whole, then the same path, then what the file was renamed from. Only a file that became several at once is followed
to one of them.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import ABSENT, SUBMODULE, diff_pairs, split_raw
from git_taskctx.git.patch import bare_git
from git_taskctx.git.private import private_folder
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass

LARGE = 32 * 1024 * 1024
"""A file of more bytes has no lines here; git takes one for binary (`THRESHOLD` in `patch`)."""
BINARY = 8000
"""Bytes of a file in which git looks for a NUL, to tell binary from text (xdiff-interface.c)."""
_OPTIONS = (
    "-r", "--raw", "--patch", "--full-index", "--find-renames=50%", "-l1000",
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--diff-algorithm=myers", "--indent-heuristic",
    "--unified=0", "--inter-hunk-context=0", "--ignore-submodules=none", "--submodule=short",
)  # fmt: skip
_HEADERS = (
    b"diff --git ", b"old mode ", b"new mode ", b"deleted file mode ", b"new file mode ", b"similarity index ",
    b"dissimilarity index ", b"rename from ", b"rename to ", b"index ", b"--- ", b"+++ ", b"Binary files ", b"@@ ",
)  # fmt: skip
"""How the lines of a patch begin that are not lines of a file."""
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class TreeState:
    """A tree, and the states that it came from; lines of one that came from none are nobody's."""

    tree: TreeOid
    before: tuple[int, ...] = ()
    """Their places in the history, all of them earlier; the first is asked first."""


class Lines(NamedTuple):
    """Lines of a file that one state brought."""

    first: int
    """From 1."""
    last: int
    state: int
    """Its place in the history."""
    sha256: str
    """Of their bytes, line ends included."""


@dataclass(frozen=True)
class Traced:
    """A file of the last tree."""

    path: bytes
    lines: tuple[Lines, ...]
    """In order; without those that are nobody's, and none where the file is no text."""
    states: tuple[int, ...]
    """The states that changed it on its way, content or mode, oldest first."""


@dataclass(frozen=True)
class Trace:
    """What is between a tree and the last one of a history."""

    files: tuple[Traced, ...]
    """What was changed or added, by path."""
    deleted: tuple[bytes, ...]


class _Hunk(NamedTuple):
    """Lines of the old file, counted from 0, and the lines of the new one that stand in their place."""

    old: int
    old_count: int
    new: int
    new_count: int


class _Delta(NamedTuple):
    """How one path came to be what it is."""

    status: Literal["A", "D", "M", "R", "T"]
    old_path: bytes
    path: bytes
    old_mode: str
    mode: str
    old_oid: str
    oid: str
    hunks: list[_Hunk] | None
    """None where there are no lines to compare."""


class _Piece(NamedTuple):
    """Some lines of the last tree's file, and where they stand in an earlier one."""

    final: int
    at: int
    size: int


_Diff = Mapping[bytes, _Delta]
"""What differs between two trees, by the path in the second one."""
_Diffs = Mapping[tuple[TreeOid, TreeOid], _Diff]


def trace_lines(repository: Repository, histories: Sequence[tuple[TreeOid, Sequence[TreeState]]]) -> list[Trace]:
    """Find in several histories which state brought each line of its last tree that another tree has not.

    Which lines those are the diff between the two says; no other file and no other line is looked at. The number of git
    processes is the same however many there are. Raises: CouldNotTell when an object is missing.
    """
    pairs = {(old, history[-1].tree) for old, history in histories}
    for _, history in histories:
        pairs |= {(history[before].tree, state.tree) for state in history for before in state.before}
    diffs = _compare(repository, sorted(pairs))
    return [_trace(repository, diffs[old, history[-1].tree], diffs, history) for old, history in histories]


def _trace(repository: Repository, changed: _Diff, diffs: _Diffs, history: Sequence[TreeState]) -> Trace:
    there = [delta for delta in changed.values() if delta.mode != ABSENT]
    repository.objects.read_ahead([one.oid for one in there if one.mode != SUBMODULE], limit=LARGE)
    files = []
    for delta in sorted(there, key=lambda delta: delta.path):
        text = _split(repository, delta)
        brought, _ = _divide([_Piece(0, 0, len(text))] if text else [], delta.hunks)
        owners, states = _follow(history, diffs, delta.path, len(text), brought)
        files.append(Traced(delta.path, tuple(_runs(owners, text, history)), states))
    gone = sorted(delta.path for delta in changed.values() if delta.mode == ABSENT)
    return Trace(tuple(files), tuple(gone))


def _split(repository: Repository, delta: _Delta) -> list[bytes]:
    """Return the lines of a file, each with its end; none where it is binary, too large, or a submodule."""
    if delta.mode == SUBMODULE:
        return []
    found = repository.objects.find(delta.oid, limit=LARGE)
    if found is None:
        fetch = f"git cat-file -t {delta.oid}   # lets git fetch what this partial clone left out"
        raise CouldNotTell(
            f"the blob {delta.oid} is not in this repository", hint=fetch if repository.is_partial else "git fsck"
        )
    if not found.whole or b"\0" in found.data[:BINARY]:
        return []
    *lines, rest = found.data.split(b"\n")
    return [line + b"\n" for line in lines] + ([rest] if rest else [])


def _follow(
    history: Sequence[TreeState], diffs: _Diffs, path: bytes, count: int, brought: list[_Piece]
) -> tuple[list[int], tuple[int, ...]]:
    """Return the state that brought each line of a file of the last tree, and all that changed the file.

    Only the lines that are `brought` are followed. What was taken away and put back on the way is none of them.
    """
    owners = [0] * count
    touched: set[int] = set()
    left = [(len(history) - 1, path, brought)]
    while left:
        place, name, pieces = left.pop()
        state = history[place]
        steps = [(before, diffs[history[before].tree, state.tree].get(name)) for before in state.before]
        same = _find_same(steps)
        if same is not None:
            before, came = same
            left.append((before, came.old_path if came else name, pieces))
            touched |= {place} if came else set()
            continue
        seen: set[str] = set()
        for before, came in steps:
            if came is None or came.status not in "MR" or came.old_oid in seen:
                continue
            pieces, passed = _divide(pieces, came.hunks)
            if passed or not seen:  # also without lines: to see who else changed the file
                left.append((before, came.old_path, passed))
            seen.add(came.old_oid)
        if pieces or len(steps) < 2 or not count:  # what only puts two states together changes nothing itself
            touched.add(place)
        for piece in pieces:
            owners[piece.final : piece.final + piece.size] = [place] * piece.size
    return owners, tuple(sorted(place for place in touched if history[place].before))


def _find_same(steps: Sequence[tuple[int, _Delta | None]]) -> tuple[int, _Delta | None] | None:
    """Return the first state before that has the very same file: under its name, else under the one it had."""
    for status in "MR":
        for before, came in steps:
            if (came is None and status == "M") or (came and came.status == status and came.old_oid == came.oid):
                return before, came
    return None


def _divide(pieces: Sequence[_Piece], hunks: Sequence[_Hunk] | None) -> tuple[list[_Piece], list[_Piece]]:
    """Return the pieces that hunks brought, and those that were there before, with their places there."""
    if hunks is None:
        return list(pieces), []
    kept: list[_Piece] = []
    passed: list[_Piece] = []
    spans = list(_spans(hunks))
    number = 0
    for final, at, size in pieces:
        end = at + size
        while spans[number][1] <= at:
            number += 1
        for first, last, shift in itertools.islice(spans, number, None):
            if first >= end:
                break
            start, stop = max(first, at), min(last, end)
            if start < stop and shift is None:
                kept.append(_Piece(final + start - at, start, stop - start))
            elif start < stop and shift is not None:
                passed.append(_Piece(final + start - at, start + shift, stop - start))
    return kept, passed


def _spans(hunks: Sequence[_Hunk]) -> Iterator[tuple[int, int, int | None]]:
    """Yield the new file from end to end: where each stretch begins and ends, and how far it was moved, None if new."""
    at = shift = 0
    for hunk in hunks:
        yield at, hunk.new, shift
        at = hunk.new + hunk.new_count
        yield hunk.new, at, None
        shift = hunk.old + hunk.old_count - at
    yield at, sys.maxsize, shift


def _runs(owners: Sequence[int], text: Sequence[bytes], history: Sequence[TreeState]) -> Iterator[Lines]:
    """Yield the lines of a file that are somebody's, those that follow each other together."""
    at = 0
    for owner, group in itertools.groupby(owners):
        first, at = at, at + len(list(group))
        if history[owner].before:
            yield Lines(first + 1, at, owner, hashlib.sha256(b"".join(text[first:at])).hexdigest())


def _compare(repository: Repository, pairs: Sequence[tuple[TreeOid, TreeOid]]) -> _Diffs:
    """Return what differs between the two trees of each pair, all in one process. Raises: CouldNotTell."""
    with private_folder(repository) as folder:
        answers = diff_pairs(repository, bare_git(repository, folder), _OPTIONS, pairs)
        return {pair: _read_diff(b"".join(lines)) for pair, lines in answers}


def _read_diff(answer: bytes) -> _Diff:
    """Read one comparison: all paths in raw form, an empty line, then the patch of each."""
    deltas: list[_Delta] = []
    at = 0
    while answer.startswith(b":", at):
        end = answer.index(b"\n", at)
        (old_mode, mode, old_oid, oid, status), paths = split_raw(answer[at:end])
        deltas.append(_Delta(status[0], paths[0], paths[-1], old_mode, mode, old_oid, oid, None))  # type: ignore[arg-type]
        at = end + 1
    at += bool(deltas)
    diff = {}
    for delta in deltas:
        hunks, at = _read_patch(answer, at)
        if delta.status == "T":  # told as a deletion and an addition
            hunks, at = _read_patch(answer, at)
        diff[delta.path] = delta._replace(hunks=hunks)
    return diff


def _read_patch(out: bytes, at: int) -> tuple[list[_Hunk] | None, int]:
    """Read the patch of one file; its lines themselves are passed over by their number, whatever is in them."""
    hunks: list[_Hunk] | None = []
    while out.startswith(_HEADERS, at):
        if out.startswith(b"Binary files ", at):
            hunks = None
        match = _HUNK.match(out, at)
        at = out.index(b"\n", at) + 1
        if match is not None and hunks is not None:
            old_count, new_count = (int(match[group] or b"1") for group in (2, 4))
            old, new = int(match[1]) - bool(old_count), int(match[3]) - bool(new_count)
            hunks.append(_Hunk(old, old_count, new, new_count))
            for _ in range(old_count + new_count):
                at = out.index(b"\n", at) + 1
                if out.startswith(b"\\ ", at):
                    at = out.index(b"\n", at) + 1
        if out.startswith(b"diff --git ", at):
            break
    return hunks, at
