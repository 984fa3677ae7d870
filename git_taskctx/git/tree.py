"""A tree by path: changed, where only folders on the way are read and written anew, or searched for a file.

After git-revise's trees, which compute their own oid.
"""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Callable, Iterable

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import LINK, SUBMODULE
from git_taskctx.git.objects import FOLDER, ObjectStore, TreeEntry
from git_taskctx.model.oids import BlobOid, TreeOid

FILE, PROGRAM = "100644", "100755"
MAX_LINKS = 8
"""Links followed before it counts as a loop."""
_WRITTEN = frozenset({FILE, PROGRAM, FOLDER, LINK, SUBMODULE})
_Naming = Callable[[list[TreeEntry]], TreeOid]


class Tree:
    """A folder with its changes; new without an oid."""

    __slots__ = ("_objects", "_oid", "entries")

    def __init__(self, objects: ObjectStore, oid: str | None = None) -> None:
        """Read one folder. Raises: CouldNotTell."""
        self._objects = objects
        self._oid = oid
        self.entries: dict[bytes, TreeEntry | Tree] = {
            entry.name: entry if entry.mode in _WRITTEN else _as_git_writes(entry)
            for entry in (objects.read_tree(oid) if oid else ())
        }
        """By name; an opened folder is a tree itself."""

    def open(self, name: bytes) -> Tree:
        """Return a folder, new if there is none. Raises: CouldNotTell."""
        entry = self.entries.get(name)
        if isinstance(entry, Tree):
            return entry
        self.entries[name] = folder = Tree(self._objects, entry.oid if entry and entry.mode == FOLDER else None)
        return folder

    def enter(self, path: bytes) -> Tree:
        """Return the folder `path` with its folders above, all to be changed. Raises: CouldNotTell."""
        tree = self
        for name in path.split(b"/") if path else ():
            tree._oid = None
            tree = tree.open(name)
        return tree

    def read_ahead(self, paths: Iterable[bytes]) -> None:
        """Read the folders on the way to many paths, one batch a level. Raises: CouldNotTell."""
        level = [(self, {tuple(path.split(b"/")[:-1]) for path in paths})]
        while level:
            below: dict[tuple[Tree, bytes], set[tuple[bytes, ...]]] = {}
            for tree, ways in level:
                for name, *rest in filter(None, ways):
                    entry = tree.entries.get(name)
                    if isinstance(entry, TreeEntry) and entry.mode == FOLDER:
                        below.setdefault((tree, name), set()).add(tuple(rest))
            self._objects.read_ahead([tree.entries[name].oid for tree, name in below])  # type: ignore[union-attr]
            level = [(tree.open(name), ways) for (tree, name), ways in below.items()]

    def find(self, path: bytes) -> TreeEntry | None:
        """Return the entry of a file, a link or a submodule, if any. Raises: CouldNotTell."""
        name, _, rest = path.partition(b"/")
        entry = self.entries.get(name)
        if rest:
            return self.open(name).find(rest) if _is_folder(entry) else None
        return entry if isinstance(entry, TreeEntry) and entry.mode != FOLDER else None

    def put(self, path: bytes, oid: str, mode: str = FILE) -> None:
        """Set an entry, replacing what is in its way, as git's index does (`add_index_entry`).

        Raises: CouldNotTell where that is an opened folder that is not empty.
        """
        self._oid = None
        name, _, rest = path.partition(b"/")
        old = self.entries.get(name)
        if rest:
            self.open(name).put(rest, oid, mode)
        elif isinstance(old, Tree) and not old.is_empty:
            raise CouldNotTell(f"{name!r} is in the place of a folder that still holds something")
        else:
            self.entries[name] = TreeEntry(mode, name, oid)

    def remove(self, path: bytes) -> None:
        """Remove an entry, if any, with folders left empty. Raises: CouldNotTell."""
        self._oid = None
        name, _, rest = path.partition(b"/")
        if rest and _is_folder(self.entries.get(name)):
            self.open(name).remove(rest)
        elif not rest:
            self.entries.pop(name, None)

    def seal(self, path: bytes) -> None:
        """Write a finished folder to free its memory. Raises: CouldNotTell."""
        name, _, rest = path.partition(b"/")
        entry = self.entries.get(name)
        if not isinstance(entry, Tree):
            return
        if rest:
            entry.seal(rest)
        elif entry.is_empty:
            del self.entries[name]
        else:
            self.entries[name] = TreeEntry(FOLDER, name, entry.write())

    @property
    def is_empty(self) -> bool:
        """Whether it has only empty folders."""
        return all(isinstance(entry, Tree) and entry.is_empty for entry in self.entries.values())

    def name(self) -> TreeOid:
        """Return its oid without writing it."""
        return self._named(self._objects.name_tree)

    def write(self) -> TreeOid:
        """Queue it and everything new below; return its oid."""
        return self._named(self._objects.add_tree)

    def _named(self, naming: _Naming) -> TreeOid:
        if self._oid is not None:
            return TreeOid(self._oid)
        entries = list[TreeEntry]()
        for name, entry in self.entries.items():
            if isinstance(entry, TreeEntry):
                entries.append(entry)
            elif not entry.is_empty:  # git has no empty folders
                entries.append(TreeEntry(FOLDER, name, entry._named(naming)))
        return naming(entries)


def _is_folder(entry: TreeEntry | Tree | None) -> bool:
    return isinstance(entry, Tree) or (entry is not None and entry.mode == FOLDER)


def _as_git_writes(entry: TreeEntry) -> TreeEntry:
    """Return an entry with a mode that git still writes (`canon_mode` in cache.h).

    Old tools wrote 100664 and 040000; git normalizes them in folders that it rewrites.
    """
    mode = int(entry.mode, 8)
    if stat.S_ISREG(mode):
        return entry._replace(mode=PROGRAM if mode & 0o100 else FILE)
    return entry._replace(mode=LINK if stat.S_ISLNK(mode) else FOLDER if stat.S_ISDIR(mode) else SUBMODULE)


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
            if entry.mode == LINK:
                path = posixpath.join(*parts[:index], b"", objects.get(oid, "blob"), *parts[index + 1 :])
                break
            if last or entry.mode != FOLDER:
                return (path, BlobOid(oid)) if last and entry.mode.startswith("100") else None
    return None


def read_blob(objects: ObjectStore, oid: BlobOid, *, limit: int) -> bytes | None:
    """Return a file's content, None above `limit` bytes without reading it. Raises: CouldNotTell when it is missing."""
    found = objects.find(oid, limit=limit)
    if found is None or found.kind != "blob":
        raise CouldNotTell(f"the blob {oid} is not in this repository", hint="git fsck")
    return found.data if found.whole else None
