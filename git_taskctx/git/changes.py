"""Differences between trees by path, independent of the user's configuration."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from typing import IO

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.objects import QUESTIONS
from git_taskctx.git.process import Git, Result, stop
from git_taskctx.git.quoting import unquote
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import Change

ABSENT = "000000"
LINK = "120000"
SUBMODULE = "160000"
NO_INDEX = f"/nonexistent-{os.urandom(8).hex()}"
"""A missing file: git compares two trees without reading an index first."""
BLOCK = 256 * 1024
"""Bytes of a diff that are read at once."""
_RAW = ("-r", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-relative", "--ignore-submodules=none")


def compare_trees(repository: Repository, old: TreeOid, new: TreeOid) -> list[Change]:
    """Return the paths that differ between two trees, in byte order; results are cached. Raises: CouldNotTell."""
    if old == new:
        return []
    if (old, new) not in repository.compared:
        (repository.compared[old, new],) = compare_many(repository, [(old, new)])
    return list(repository.compared[old, new])


def compare_many(repository: Repository, pairs: Sequence[tuple[TreeOid, TreeOid]]) -> list[list[Change]]:
    """Return the paths that differ in each pair of trees, in one process. Raises: CouldNotTell."""
    git = repository.git.with_env(GIT_INDEX_FILE=NO_INDEX, GIT_NO_REPLACE_OBJECTS="1")
    git = git.with_settings(("diff.orderFile=/dev/null",))
    found = []
    for _, pieces in diff_pairs(repository, git, _RAW, pairs):
        changes = [_change(*split_raw(line)) for piece in pieces for line in piece.split(b"\n")[:-1]]
        found.append(sorted(changes, key=lambda change: change.path))
    return found


def diff_pairs(
    repository: Repository,
    git: Git,
    options: Sequence[str],
    pairs: Sequence[tuple[TreeOid, TreeOid]],
    *,
    apart: Collection[bytes] = (),
) -> Iterator[tuple[tuple[TreeOid, TreeOid], Iterator[bytes]]]:
    """Yield each pair of trees with its `git diff-tree`, in pieces of whole lines, to be read before the next pair's.

    One process handles up to `QUESTIONS` pairs; the paths `apart` are not compared. Raises: CouldNotTell when an object
    is missing.
    """
    repository.objects.flush()
    paths: list[str | bytes] = ["--", *(b":(exclude,top,literal)" + path for path in apart)] if apart else []
    for start in range(0, len(pairs), QUESTIONS):
        command: list[str | bytes] = ["diff-tree", *options, "--stdin", *paths]
        yield from _ask(repository, git, command, pairs[start : start + QUESTIONS])


def _ask(
    repository: Repository, git: Git, command: Sequence[str | bytes], pairs: Sequence[tuple[TreeOid, TreeOid]]
) -> Iterator[tuple[tuple[TreeOid, TreeOid], Iterator[bytes]]]:
    heads = [b"%s %s\n" % (old.encode(), new.encode()) for old, new in pairs]
    process, began = git.start(*command), time.perf_counter()
    try:
        with contextlib.suppress(BrokenPipeError):  # its exit code says it
            process.stdin.write(b"".join(heads))
            process.stdin.close()
        said = _Said(process.stdout)
        known = 0
        while known < len(heads) and said.takes(heads[known]):
            pieces = said.until(heads[known + 1] if known + 1 < len(heads) else None)
            yield pairs[known], pieces
            for _ in pieces:  # what was not read
                pass
            known += 1
        complaint = process.stderr.read()
        # git 2.39 passes over a pair of which a tree is missing, and ends with 0 (`diff_tree_stdin`).
        code = process.wait()
        passed_over = code == 0 and known != len(pairs)
        git.trace(began, code, command)
        if code != 0 or passed_over:
            old, new = pairs[known if passed_over else max(known - 1, 0)]
            why = "one of them is missing" if passed_over else Result(code, b"", complaint).complaint
            # Of a reading the second tree is in quarantine, where nobody else sees it.
            trees = old if "GIT_OBJECT_DIRECTORY" in repository.git.overlay else f"{old} {new}"
            fetch = f"git diff --stat {trees}   # lets git fetch what this partial clone left out"
            hint = fetch if repository.is_partial else "git fsck"
            raise CouldNotTell(f"cannot compare the trees {old[:12]} and {new[:12]}: {why}", hint=hint)
    finally:
        stop(process)


class _Said:
    """git's output: each pair, then its diff."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._held = b""
        """The beginning of a line, or more."""

    def takes(self, head: bytes) -> bool:
        """Return whether this line follows, and pass over it."""
        while len(self._held) < len(head) and self._read():
            pass
        found = self._held.startswith(head)
        self._held = self._held[len(head) * found :]
        return found

    def until(self, head: bytes | None) -> Iterator[bytes]:
        """Yield whole lines, many at once, up to the line `head` (no line of a diff is like one), or to the end."""
        while True:
            at = -1
            if head is not None:
                at = 0 if self._held.startswith(head) else self._held.find(b"\n" + head) + 1 or -1
            end = at if at >= 0 else self._held.rfind(b"\n") + 1
            piece, self._held = self._held[:end], self._held[end:]
            if piece:
                yield piece
            if at >= 0 or not self._read():
                return

    def _read(self) -> bool:
        """Read on, faster within a long line; return whether there was more."""
        piece = self._out.read(max(BLOCK, len(self._held)))
        self._held += piece
        return bool(piece)


def split_raw(line: bytes) -> tuple[list[str], list[bytes]]:
    """Return the fields and the paths of a `--raw` line; git quotes unusual characters (diff-format)."""
    meta, *paths = line.split(b"\t")
    return meta[1:].decode().split(" "), [
        unquote(path.decode("utf-8", "surrogateescape")) if path.startswith(b'"') else path for path in paths
    ]


def _change(fields: list[str], paths: list[bytes]) -> Change:
    old_mode, mode, old_oid, oid, status = fields
    old_mode, mode = sys.intern(old_mode), sys.intern(mode)
    if old_mode == ABSENT:  # the same text for all of them
        old_oid = sys.intern(old_oid)
    return Change(paths[0], status[0], old_mode, mode, old_oid, oid)  # type: ignore[arg-type]


def pair_renames(changes: list[Change]) -> list[Change]:
    """Mark each added path with the content of a deleted one."""
    if not any(change.status == "D" for change in changes):
        return changes
    deleted: dict[tuple[str, str], list[bytes]] = {}
    for change in changes:
        if change.status == "D" and change.old_mode != SUBMODULE:
            deleted.setdefault((change.old_oid, change.old_mode), []).append(change.path)
    return [
        change._replace(renamed_from=deleted[change.oid, change.mode].pop(0))
        if change.status == "A" and deleted.get((change.oid, change.mode))
        else change
        for change in changes
    ]
