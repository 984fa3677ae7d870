"""What differs between two trees, by path, whatever the user has configured."""

from __future__ import annotations

import os
from collections.abc import Sequence

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.change import Change
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import replace

ABSENT = "000000"
LINK = "120000"
SUBMODULE = "160000"
NO_INDEX = f"/nonexistent-{os.urandom(8).hex()}"
"""No file has this name: git compares two trees without reading an index first."""
_RAW = (
    "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-relative", "--ignore-submodules=none",
)  # fmt: skip


def compare_trees(repository: Repository, old: TreeOid, new: TreeOid) -> list[Change]:
    """Return the paths that differ between two trees, in byte order; the same two are compared once.

    Raises: CouldNotTell when an object on the way is missing.
    """
    if old == new:
        return []
    if (old, new) not in repository.compared:
        repository.objects.flush()
        repository.compared[old, new] = _compare(repository, old, new)
    return list(repository.compared[old, new])


def _compare(repository: Repository, old: TreeOid, new: TreeOid) -> list[Change]:
    raw = repository.git.with_env(GIT_INDEX_FILE=NO_INDEX, GIT_NO_REPLACE_OBJECTS="1").run(
        "-c", "diff.orderFile=/dev/null", "diff-tree", *_RAW, "--end-of-options", old, new, ok=(0, 128)
    )
    if raw.code != 0:
        raise CouldNotTell(f"cannot compare the trees {old[:12]} and {new[:12]}: {raw.complaint}", hint="git fsck")
    fields = raw.out.split(b"\0")[:-1]
    changes = [_change(meta, path) for meta, path in zip(fields[::2], fields[1::2], strict=True)]
    return sorted(changes, key=lambda change: change.path)


def compare_many(repository: Repository, pairs: Sequence[tuple[TreeOid, TreeOid]]) -> list[list[Change]]:
    """Return the paths that differ between the two trees of each pair, all in one process.

    Raises: CouldNotTell when an object on the way is missing.
    """
    if not pairs:
        return []
    repository.objects.flush()
    questions = b"".join(b"%s %s\n" % (old.encode(), new.encode()) for old, new in pairs)
    raw = repository.git.with_env(GIT_INDEX_FILE=NO_INDEX, GIT_NO_REPLACE_OBJECTS="1").run(
        "-c", "diff.orderFile=/dev/null", "diff-tree", "--stdin", *_RAW, stdin=questions, ok=(0, 128)
    )
    if raw.code != 0:
        raise CouldNotTell(f"cannot compare trees: {raw.complaint}", hint="git fsck")
    found, at = [], 0
    for head in questions.splitlines(keepends=True):  # git says each pair again before what differs
        if not raw.out.startswith(head, at):
            raise CouldNotTell("cannot compare trees: git answered something else than was asked", hint="git fsck")
        changes, at = [], at + len(head)
        while raw.out.startswith(b":", at):
            middle = raw.out.index(b"\0", at)
            end = raw.out.index(b"\0", middle + 1)
            changes.append(_change(raw.out[at:middle], raw.out[middle + 1 : end]))
            at = end + 1
        found.append(changes)
    return found


def _change(meta: bytes, path: bytes) -> Change:
    old_mode, mode, old_oid, oid, status = meta[1:].decode().split(" ")
    return Change(path, status[0], old_mode, mode, old_oid, oid)  # type: ignore[arg-type]


def pair_renames(changes: list[Change]) -> list[Change]:
    """Mark each added path that holds exactly what a deleted one held."""
    deleted: dict[tuple[str, str], list[bytes]] = {}
    for change in changes:
        if change.status == "D" and change.old_mode != SUBMODULE:
            deleted.setdefault((change.old_oid, change.old_mode), []).append(change.path)
    return [
        replace(change, renamed_from=deleted[change.oid, change.mode].pop(0))
        if change.status == "A" and deleted.get((change.oid, change.mode))
        else change
        for change in changes
    ]
