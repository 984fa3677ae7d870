"""The fast engine: git says which paths changed, and only those are read and hashed.

The new tree is spliced from HEAD's, reading only the folders touched. Wherever a path is not plain, so that git might
see its content otherwise than the bytes that lie there, the engine declines and never guesses.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.background import Background
from git_taskctx.git.changes import LINK
from git_taskctx.git.index import IndexCopy
from git_taskctx.git.objects import ObjectStore, TreeEntry
from git_taskctx.git.process import Git, stop
from git_taskctx.git.repository import Head, Repository
from git_taskctx.git.tree import FILE, PROGRAM, Tree
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass

MOST = 64 * 1024 * 1024
"""Changed files with more bytes than this, together, are left to git, which reads them in pieces."""
_ATTRIBUTES = ("filter", "ident", "working-tree-encoding", "text", "eol", "crlf")
_CONVERTING = frozenset({b"filter", b"ident", b"working-tree-encoding"})
_UNSAFE_NAME = re.compile(rb"(?i)(?:^|/)(?:\.git$|\.git[ .:]|git~)|[\\:\x80-\xff]|(?:^|/)\.git(?:/|$)")
"""Names that git may refuse, or see otherwise on some file systems (`verify_path`)."""


class Declined(Exception):
    """The exact engine must do it; the text says why."""


@dataclass(frozen=True)
class Scan:
    """What git's status said, and the trees that follow from it."""

    raw: bytes
    """The status itself: porcelain v2 with NULs."""
    head: Head
    index_tree: TreeOid
    """What is staged."""
    tree: TreeOid


class _Path(NamedTuple):
    path: bytes
    gone: bool = False


def read_fast(
    repository: Repository,
    git: Git,
    status: tuple[str, ...],
    objects: ObjectStore,
    index: IndexCopy,
    staged: Background[TreeOid | None],
    listing: Background[bytes],
) -> Scan:
    """Return the worktree's tree; its new objects are taken by `objects`, and not written yet.

    What is staged is the base, and `status` says where the worktree differs. HEAD's tree would not do: git writes the
    trees of an odd old tool anew. `staged` and `listing` are begun while git scans, where they will be asked for.

    Raises: Declined.
    """
    _require_plain_repository(repository)
    process = git.start(*status)
    try:
        staged.start()  # while git scans
        if not index.unflagged:
            listing.start()
        _require_whole(index)
    except BaseException:
        stop(process)
        raise
    scanned = git.finish(process, *status, ok=(0, 128))
    if scanned.code or scanned.err:
        raise Declined(f"git status complains: {scanned.complaint}")
    entries = scanned.out.split(b"\0")[:-1]
    paths = list(_paths(entries))
    head = _head(repository, entries)
    base = staged.result()
    if base is None:
        raise Declined("the index has no tree")
    converted = _attributes(repository, [path.path for path in paths if not path.gone])
    changes, total = dict[bytes, TreeEntry | None](), 0
    for path, gone in paths:
        entry, size = (None, 0) if gone else _entry(repository, path, objects, converted)
        changes[path] = entry
        total += size
        if total > MOST:
            raise Declined("the changed files are large")
    tree = _with_changes(objects, base, changes) if changes else base
    return Scan(scanned.out, head, base, tree)


def _require_whole(index: IndexCopy) -> None:
    if not index.is_whole:
        raise Declined("the index is damaged")


def _require_plain_repository(repository: Repository) -> None:
    for key, value in repository.core.items():
        refused = _REFUSED_SETTINGS.get(key)
        if refused is not None and (value or "true").lower() in refused:
            raise Declined(f"{key} is {value}")
    if repository.has_split_index:
        raise Declined("the index is split")
    if repository.has_replacements:  # the index may hold the entries of one tree under the name of another
        raise Declined("objects are replaced")


_FALSE, _TRUE = ("false", "no", "off", "0", ""), ("true", "yes", "on", "1")
_REFUSED_SETTINGS = {
    "core.filemode": _FALSE,
    "core.symlinks": _FALSE,
    "core.ignorecase": _TRUE,
    "core.precomposeunicode": _TRUE,
    "core.sparsecheckout": _TRUE,
    "core.splitindex": _TRUE,
    "index.sparse": _TRUE,
}


def _head(repository: Repository, entries: list[bytes]) -> Head:
    told = dict(entry[2:].split(b" ", 1) for entry in entries if entry.startswith(b"# branch."))
    oid, branch = told.get(b"branch.oid", b""), told.get(b"branch.head", b"")
    if not oid or not branch:
        raise Declined("git status does not tell HEAD")
    commit = None if oid == b"(initial)" else CommitOid(oid.decode())
    if commit is None:
        repository.require_unborn()
    if branch not in (b"(detached)", b"(unknown)"):  # the latter where HEAD did not read for once
        return Head(commit, branch.decode("utf-8", "replace"))
    head = repository.head()
    if head.commit != commit:
        raise Declined("HEAD moved meanwhile")
    return head


def _paths(entries: list[bytes]) -> Iterator[_Path]:
    for entry in entries:
        kind = entry[:1]
        if kind == b"#":
            continue
        if kind == b"?":
            path = entry[2:]
            _require_plain_name(path)
            if path.endswith(b"/"):
                raise Declined("there is a repository in the worktree")
            yield _Path(path)
        elif kind == b"1":
            _, xy, submodule, _, _, mode, _, _, path = entry.split(b" ", 8)
            _require_plain_name(path)
            if submodule != b"N...":
                raise Declined("a submodule changed")
            if xy[1:] == b".":
                continue  # the worktree is as the index
            if xy[1:] != b"D" and mode.decode() not in (FILE, PROGRAM, LINK):
                raise Declined("a path is neither file nor link")
            yield _Path(path, gone=xy[1:] == b"D")
        else:
            raise Declined("the index is unmerged")


def _require_plain_name(path: bytes) -> None:
    if _UNSAFE_NAME.search(path):
        raise Declined("a changed path has an unusual name")
    if path.rsplit(b"/", 1)[-1] == b".gitattributes":
        raise Declined(".gitattributes changed")
    if path.rsplit(b"/", 1)[-1] == b".gitmodules":
        raise Declined(".gitmodules changed")


def _attributes(repository: Repository, paths: list[bytes]) -> frozenset[bytes]:
    """Return the paths whose line ends git may convert. Raises: Declined for any other conversion."""
    if not paths:
        return frozenset()
    told = repository.git.run("check-attr", "--stdin", "-z", *_ATTRIBUTES, stdin=b"\0".join(paths) + b"\0").out.split(
        b"\0"
    )[:-1]
    converted = set()
    for path, attribute, value in zip(told[::3], told[1::3], told[2::3], strict=True):
        if value in (b"unspecified", b"unset"):
            continue
        if attribute in _CONVERTING:
            raise Declined(f"a changed path has the attribute {attribute.decode()}")
        converted.add(path)
    if repository.core.get("core.autocrlf", "false") not in ("false", "no", "off", "0"):
        return frozenset(paths)
    return frozenset(converted)


def _entry(
    repository: Repository, path: bytes, objects: ObjectStore, converted: frozenset[bytes]
) -> tuple[TreeEntry, int]:
    name = path.rsplit(b"/", 1)[-1]
    file = os.fsencode(repository.toplevel) + b"/" + path
    try:
        before = os.lstat(file)
        if stat.S_ISLNK(before.st_mode):
            target = os.readlink(file)  # noqa: PTH115 - paths are bytes here
            return TreeEntry(LINK, name, objects.add("blob", target)), len(target)
        if not stat.S_ISREG(before.st_mode) or before.st_size > MOST:
            raise Declined("a changed path is no plain file, or a large one")
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            data = opened.read()
            after = os.fstat(opened.fileno())
    except OSError as error:
        raise Declined(f"a changed path does not read: {error.strerror}") from error
    if (before.st_ino, before.st_size, before.st_mtime_ns) != (after.st_ino, len(data), after.st_mtime_ns):
        raise Declined("a file changed while it was read")
    if path in converted and b"\r" in data:
        raise Declined("line ends may be converted")
    mode = PROGRAM if before.st_mode & 0o100 else FILE
    return TreeEntry(mode, name, objects.add("blob", data)), len(data)


def _with_changes(objects: ObjectStore, base: TreeOid, changes: Mapping[bytes, TreeEntry | None]) -> TreeOid:
    try:
        tree = Tree(objects, base)
        tree.read_ahead(changes)
        for path, entry in changes.items():
            if entry is None:
                tree.remove(path)
            else:
                tree.put(path, entry.oid, entry.mode)
        return tree.write()
    except CouldNotTell as error:  # git takes an untouched folder's oid on trust, so its tree may be missing
        raise Declined(error.message) from error
