"""What a context's ref keeps: the context's files as a tree, which survives `git clean -fdx`.

Files of snapshots are in folders of `ROUNDS`, so that the tree written with each snapshot stays short; diffs are left
out, as they can be recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from git_taskctx.errors import BadData, CouldNotTell
from git_taskctx.git.damaged import lost
from git_taskctx.git.objects import FOLDER, ObjectStore
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import Tree
from git_taskctx.lean import regex
from git_taskctx.ledger.entry import anchor_data, page_of
from git_taskctx.ledger.refs import context_ref_name
from git_taskctx.model.context import Context
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.record import Record

PREVIOUS = "previous.json"
"""The context before the last write, in case the ledger was not updated."""
TASK_FILE = "task-file"
"""The task file as captured, for comparison."""
ANCHORS = "anchors"
"""Folder of the records' anchors."""
ROUNDS = 32
"""Maximum number of an agent's snapshots in one folder."""
_DIFF = ".diff.gz"
_OF_SNAPSHOT = regex(r"[a-z][a-z0-9-]*-([0-9]+)-[a-z-]+\.json\.gz")
_NAME = regex(rb"[A-Za-z0-9][A-Za-z0-9._-]*")


def add_kept(
    repository: Repository,
    old: str | None,
    contents: Mapping[str, bytes],
    *,
    previous: Context | None,
    records: Sequence[Record],
) -> TreeOid:
    """Queue the tree of a context's files for writing, reusing what is unchanged in `old`.

    `contents` is by path in the context's folder. Raises: BadData where `old` is missing, CouldNotTell where a part of
    it is.
    """
    objects = repository.objects
    blobs = {_place(name): objects.add_blob(data) for name, data in contents.items() if not name.endswith(_DIFF)}
    for record in records:
        page = page_of(record.seq)
        blobs[f"{ANCHORS}/{page}"] = objects.add_blob(anchor_data(record.context, page))
    if previous is not None:
        blobs[PREVIOUS] = objects.add_blob(previous.to_bytes())
    try:
        tree = Tree(objects, old)
        for path, oid in blobs.items():
            tree.put(path.encode(), oid)
        return tree.write()
    except CouldNotTell as error:
        if old is None or objects.has(old):
            raise
        raise lost(context_ref_name(records[0].context), old) from error


def read_kept(objects: ObjectStore, tree: str) -> dict[str, bytes]:
    """Return the files that a tree keeps, by path.

    Raises: CouldNotTell for a missing object; BadData for an unknown name.
    """
    return {
        name: objects.get(oid, "blob")
        for path, oid in _walk(objects, tree)
        if (name := _name(path)) not in (TASK_FILE, PREVIOUS) and not name.startswith(f"{ANCHORS}/")
    }


def _place(name: str) -> str:
    """Return a file's path in the tree."""
    found = _OF_SNAPSHOT.fullmatch(name)
    return f"rounds/{int(found[1]) // ROUNDS}/{name}" if found else name


def _name(path: str) -> str:
    """Undo `_place`."""
    return path.rpartition("/")[2] if path.startswith("rounds/") else path


def _walk(objects: ObjectStore, tree: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in objects.read_tree(tree):
        if not _NAME.fullmatch(entry.name):
            raise BadData(f"the tree {tree} holds a file that git-taskctx does not write", hint=f"git ls-tree {tree}")
        path = prefix + entry.name.decode()
        if entry.mode == FOLDER:
            yield from _walk(objects, entry.oid, f"{path}/")
        else:
            yield path, entry.oid
