"""What differs between two trees, by path, whatever the user has configured."""

from __future__ import annotations

import os

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import ChangeStatus
from git_taskctx.model.values import dataclass, replace

ABSENT = "000000"
LINK = "120000"
SUBMODULE = "160000"
NO_INDEX = f"/nonexistent-{os.urandom(8).hex()}"
"""No file has this name: git compares two trees without reading an index first."""


@dataclass(frozen=True)
class Change:
    """One path that differs; a side that is absent has mode 000000 and a null oid."""

    path: bytes
    status: ChangeStatus
    old_mode: str
    mode: str
    old_oid: str
    oid: str
    renamed_from: bytes | None = None
    """Another path, deleted in the same step, that held exactly this blob. For display only."""


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
        "-c", "diff.orderFile=/dev/null", "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
        "--no-ext-diff", "--no-relative", "--ignore-submodules=none", "--end-of-options", old, new, ok=(0, 128),
    )  # fmt: skip
    if raw.code != 0:
        raise CouldNotTell(f"cannot compare the trees {old[:12]} and {new[:12]}: {raw.complaint}", hint="git fsck")
    fields = raw.out.split(b"\0")[:-1]
    changes = []
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, mode, old_oid, oid, status = meta[1:].decode().split(" ")
        changes.append(Change(path, status[0], old_mode, mode, old_oid, oid))  # type: ignore[arg-type]
    return sorted(changes, key=lambda change: change.path)


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
