"""Which state of a history brought each line of a tree: `git blame` for trees.

One `git diff-tree`, independent of configuration and attributes, compares each state with those before it, and hunks
are followed backwards as in blame.c: first an identical file, then the same path, then the old name of a rename. A file
copied to several is followed to one of them.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import ABSENT, SUBMODULE, diff_pairs, split_raw
from git_taskctx.git.patch import bare_git
from git_taskctx.git.private import private_folder
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import NamedTuple, dataclass

LARGE = 32 * 1024 * 1024
"""Bytes; larger files have no lines here, as git takes them for binary (`THRESHOLD` in `patch`)."""
BINARY = 8000
"""Bytes in which git looks for a NUL, to detect binary files (xdiff-interface.c)."""
_OPTIONS = (
    "-r", "--raw", "--patch", "--full-index", "--find-renames=50%", "-l1000",
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--diff-algorithm=myers", "--indent-heuristic",
    "--unified=0", "--inter-hunk-context=0", "--ignore-submodules=none", "--submodule=short",
)  # fmt: skip
_HEADERS = (
    b"diff --git ", b"old mode ", b"new mode ", b"deleted file mode ", b"new file mode ", b"similarity index ",
    b"dissimilarity index ", b"rename from ", b"rename to ", b"index ", b"--- ", b"+++ ", b"Binary files ", b"@@ ",
)  # fmt: skip
"""Prefixes of patch lines that are not lines of a file."""
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class TreeState:
    """A tree and the states before it; lines of one without are nobody's."""

    tree: TreeOid
    before: tuple[int, ...] = ()
    """Their indices, all smaller; the first is asked first."""


class Lines(NamedTuple):
    """Lines of a file that one state brought."""

    first: int
    """From 1."""
    last: int
    state: int
    """Its index."""
    sha256: str
    """Of their bytes with line ends."""


@dataclass(frozen=True)
class Traced:
    """A file of the last tree."""

    path: bytes
    lines: tuple[Lines, ...]
    """In order, without nobody's lines; none for a binary file."""
    states: tuple[int, ...]
    """The states that changed its content or mode, oldest first."""


@dataclass(frozen=True)
class Trace:
    """The differences between a tree and the last one of a history."""

    files: tuple[Traced, ...]
    """Changed and added files, by path."""
    deleted: tuple[bytes, ...]


class _Hunk(NamedTuple):
    """Lines of the old file, from 0, and their replacement."""

    old: int
    old_count: int
    new: int
    new_count: int


class _Delta(NamedTuple):
    """The change of one path."""

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
    """Lines of the last tree's file, and their place in an earlier one."""

    final: int
    at: int
    size: int


_Diff = Mapping[bytes, _Delta]
"""A diff by path in the second tree."""
_Diffs = Mapping[tuple[TreeOid, TreeOid], _Diff]


def trace_lines(repository: Repository, histories: Sequence[tuple[TreeOid, Sequence[TreeState]]]) -> list[Trace]:
    """Find which state of a history brought each line of its last tree that the other tree lacks.

    Only those lines, by the diff of the two, are followed. The number of git processes is constant. Raises:
    CouldNotTell when an object is missing.
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
    """Return a file's lines with their ends; none for a binary or large file, or a submodule."""
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
    """Return the state that brought each line of a file, and all states that changed it.

    Only the `brought` lines are followed, not those removed and restored on the way.
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
    """Return the first earlier state with the same file, under its name or its old one."""
    for status in "MR":
        for before, came in steps:
            if (came is None and status == "M") or (came and came.status == status and came.old_oid == came.oid):
                return before, came
    return None


def _divide(pieces: Sequence[_Piece], hunks: Sequence[_Hunk] | None) -> tuple[list[_Piece], list[_Piece]]:
    """Return the pieces that hunks brought, and those from before, with their old places."""
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
    """Yield the stretches of the new file: begin, end, and offset in the old one, None if new."""
    at = shift = 0
    for hunk in hunks:
        yield at, hunk.new, shift
        at = hunk.new + hunk.new_count
        yield hunk.new, at, None
        shift = hunk.old + hunk.old_count - at
    yield at, sys.maxsize, shift


def _runs(owners: Sequence[int], text: Sequence[bytes], history: Sequence[TreeState]) -> Iterator[Lines]:
    """Yield runs of lines with the same owner."""
    at = 0
    for owner, group in itertools.groupby(owners):
        first, at = at, at + len(list(group))
        if history[owner].before:
            yield Lines(first + 1, at, owner, hashlib.sha256(b"".join(text[first:at])).hexdigest())


def _compare(repository: Repository, pairs: Sequence[tuple[TreeOid, TreeOid]]) -> _Diffs:
    """Return the differences in each pair of trees, in one process. Raises: CouldNotTell."""
    with private_folder(repository) as folder:
        answers = diff_pairs(repository, bare_git(repository, folder), _OPTIONS, pairs)
        return {pair: _read_diff(b"".join(lines)) for pair, lines in answers}


def _read_diff(answer: bytes) -> _Diff:
    """Read one comparison: raw lines, an empty line, then patches."""
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
        if delta.status == "T":  # listed as a deletion and an addition
            hunks, at = _read_patch(answer, at)
        diff[delta.path] = delta._replace(hunks=hunks)
    return diff


def _read_patch(out: bytes, at: int) -> tuple[list[_Hunk] | None, int]:
    """Read a file's patch; content lines are skipped by count, whatever they hold."""
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
