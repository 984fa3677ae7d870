"""A file in a tree by its path, through the links on the way as the file system would go, and what it says."""

from __future__ import annotations

import posixpath

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.objects import ObjectStore
from git_taskctx.model.oids import BlobOid, TreeOid

MAX_LINKS = 8
"""Links on one way, before it is taken for a circle."""


def find_file(objects: ObjectStore, tree: TreeOid, path: bytes) -> tuple[bytes, BlobOid] | None:
    """Return where a file of a tree really lies, and its blob; None where there is no file, or it lies outside.

    `path` is relative to the tree; `..` in it, or in a link, means the folder above. Raises: CouldNotTell.
    """
    for _ in range(MAX_LINKS):
        path = posixpath.normpath(path)
        if path.startswith((b"/", b"../")) or path in (b".", b"..") or b"\0" in path:
            return None
        parts, oid = path.split(b"/"), str(tree)
        for index, name in enumerate(parts):
            entry = objects.find_entry(oid, name)
            if entry is None:
                return None
            oid, last = entry.oid, index == len(parts) - 1
            if entry.mode == "120000":
                path = posixpath.join(*parts[:index], b"", objects.get(oid, "blob"), *parts[index + 1 :])
                break
            if last or entry.mode != "40000":
                return (path, BlobOid(oid)) if last and entry.mode.startswith("100") else None
    return None


def read_blob(objects: ObjectStore, oid: BlobOid, *, limit: int) -> bytes | None:
    """Return the content of a file; None, and nothing held in memory, where it has more than `limit` bytes.

    Raises: CouldNotTell when it is missing.
    """
    found = objects.find(oid, limit=limit)
    if found is None or found.kind != "blob":
        raise CouldNotTell(f"the blob {oid} is not in this repository", hint="git fsck")
    return found.data if found.whole else None
