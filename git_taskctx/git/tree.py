"""A tree changed by path: only folders on the way are read, and only those are written anew.

After git-revise's trees, which compute their own oid.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import LINK, SUBMODULE
from git_taskctx.git.objects import FOLDER, ObjectStore, TreeEntry
from git_taskctx.model.oids import TreeOid

FILE, PROGRAM = "100644", "100755"
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
