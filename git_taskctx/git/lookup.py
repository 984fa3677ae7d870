"""Find a file in a tree by path, following links like a file system, and read it."""

from __future__ import annotations

import posixpath

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.objects import ObjectStore
from git_taskctx.model.oids import BlobOid, TreeOid

MAX_LINKS = 8
"""Links followed before it counts as a loop."""


def find_file(objects: ObjectStore, tree: TreeOid, path: bytes) -> tuple[bytes, BlobOid] | None:
    """Return a file's real path and blob, None if it is missing or outside. Raises: CouldNotTell.

    `path` is relative to the tree; `..` in it, or in a link, is the folder above.
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
    """Return a file's content, None above `limit` bytes without reading it. Raises: CouldNotTell when it is missing."""
    found = objects.find(oid, limit=limit)
    if found is None or found.kind != "blob":
        raise CouldNotTell(f"the blob {oid} is not in this repository", hint="git fsck")
    return found.data if found.whole else None
