"""The fast engine: git says which paths changed, and only those are read and hashed.

The new tree is HEAD's with changed folders replaced. Wherever git might convert or skip a path, the engine declines and
never guesses.
"""

from __future__ import annotations

import bisect
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from git_taskctx.errors import CouldNotTell
from git_taskctx.git import ahead
from git_taskctx.git.background import Background
from git_taskctx.git.changes import LINK, NO_INDEX
from git_taskctx.git.hidden import find_left_out
from git_taskctx.git.index import MANY, IndexCopy, Remembered
from git_taskctx.git.objects import ObjectStore, TreeEntry
from git_taskctx.git.process import Git, stop
from git_taskctx.git.repository import Head, Repository
from git_taskctx.git.tree import FILE, PROGRAM, Tree
from git_taskctx.lean import digest, regex
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass

MOST = 64 * 1024 * 1024
"""Bytes; larger changed files are left to git, which reads them in pieces."""
_LATER = "a changed path is large, or goes through a filter"
BATCH = 20_000
"""Blobs that are looked for at once."""
LINE_ENDS = b"line ends"
"""How git may convert a file that holds a CR."""
FILTER = b"filter "
"""How a filter converts a file, with all that decides its result."""
_LFS = {
    b"filter.lfs.clean": (b"git-lfs clean -- %f",),
    b"filter.lfs.process": (b"git-lfs filter-process", b"git-lfs filter-process --skip"),
}
"""What `git lfs install` configures."""
_CONVERTING = frozenset({b"filter", b"ident", b"working-tree-encoding"})
_ATTRIBUTES = _CONVERTING | {b"text", b"eol", b"crlf"}
_UNSAFE_NAME = regex(rb"(?i)(?:^|/)(?:\.git$|\.git[ .:]|git~)|[\\:\x80-\xff]|(?:^|/)\.git(?:/|$)")
"""Names that git may refuse or treat specially on some file systems (`verify_path`)."""


class Declined(Exception):
    """Left to the exact engine, and why."""

    status: bytes | None = None
    """git's status, if asked; asking again would run filters again."""
    later: Sequence[Later] = ()
    """Paths that git must read; all others are plain."""


Later = tuple[bytes, bytes, int]
"""A path, how it is converted, and its place in what is remembered."""


class Hashes:
    """Compact sha256 and sizes of files by path, for hundreds of thousands."""

    def __init__(self) -> None:
        self._paths: list[bytes] = []
        self._data = bytearray()

    def add(self, path: bytes, data: bytes) -> None:
        """Add a file's content; in path order."""
        self._paths.append(path)
        self._data += digest("sha256", data).digest() + len(data).to_bytes(8, "big")

    def find(self, path: bytes) -> tuple[str, int] | None:
        """Return sha256 and size of a file, if known."""
        at = bisect.bisect_left(self._paths, path)
        if at == len(self._paths) or self._paths[at] != path:
            return None
        found = self._data[at * 40 : at * 40 + 40]
        return found[:32].hex(), int.from_bytes(found[32:], "big")


@dataclass(frozen=True)
class Scan:
    """git's status, and the trees that follow from it."""

    raw: bytes
    """Porcelain v2 with NULs."""
    head: Head
    index_tree: TreeOid
    """What is staged."""
    tree: TreeOid
    hashes: Hashes | None
    """Of the changed files, where they were all read."""
    stored: bool
    """Whether the tree exists outside the reading."""


def read_fast(
    repository: Repository,
    git: Git,
    status: tuple[str, ...],
    objects: ObjectStore,
    index: IndexCopy,
    staged: Background[TreeOid | None],
    listing: Background[bytes],
    remembered: Remembered,
    *,
    hold: bool,
) -> Scan:
    """Return the worktree's tree, its new objects queued in `objects`. Raises: Declined.

    `status` gives the differences to the staged tree, the base. HEAD's tree would not do: git rewrites trees of odd old
    tools. `staged` and `listing` are started while git scans, where they will be needed.
    """
    _require_plain_repository(repository)
    process = ahead.take_status(git.argv(status), git.environment(), os.fspath(git.cwd), index.found)
    was_begun = process is not None
    process = process or git.start(*status)
    try:
        if not index.unflagged:
            listing.start()  # while git scans
        _require_whole(index)
        base = index.known_tree
        if base is None or not objects.has(base):
            objects.stand_alone()  # a tree is written
            staged.start()
            base = None
    except BaseException:
        stop(process)
        raise
    scanned = git.finish(process, *status, ok=(0, 128))
    if was_begun and index.has_moved:  # it may have read another one
        scanned = git.run(*status, ok=(0, 128))
    if scanned.code or scanned.err:
        raise Declined(f"git status complains: {scanned.complaint}")
    try:
        files = _Files(repository, objects, remembered, Hashes() if hold else None)
        return _read_changes(files, scanned.out, index, base or staged.result())
    except Declined as declined:
        declined.status = scanned.out
        raise


def _read_changes(files: _Files, status: bytes, index: IndexCopy, base: TreeOid | None) -> Scan:
    repository, objects = files.repository, files.objects
    left_out = find_left_out(repository, status)
    new_below = not repository.ignores_case  # there git takes a folder's name from the index
    paths = sorted(path for path in _paths(_entries(status), new_below=new_below) if path[0] not in left_out)
    head = _head(repository, status)
    if base is None:
        raise Declined("the index has no tree")
    files.ways = _ways(repository, index, [path for path, gone in paths if not gone])
    tree = _with_changes(objects, base, paths, files.entry)
    if files.later:
        declined = Declined(_LATER)
        declined.later = files.later
        raise declined
    stored = (len(paths) >= MANY or files.recalled > 0) and objects.is_stored(tree)
    if stored and files.hashes is None:
        objects.discard()  # with all that it holds
    else:
        files.read_missing()
    return Scan(status, head, base, tree, files.hashes, stored)


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
    "core.sparsecheckout": _TRUE,
    "core.splitindex": _TRUE,
    "index.sparse": _TRUE,
}


def _entries(status: bytes) -> Iterator[bytes]:
    return (match[0] for match in re.finditer(rb"[^\0]+", status))


def _head(repository: Repository, status: bytes) -> Head:
    answer = dict(entry[2:].split(b" ", 1) for entry in _entries(status) if entry.startswith(b"# branch."))
    oid, branch = answer.get(b"branch.oid", b""), answer.get(b"branch.head", b"")
    if not oid or not branch:
        raise Declined("git status does not name HEAD")
    commit = None if oid == b"(initial)" else CommitOid(oid.decode())
    if commit is None:
        repository.require_unborn()
    if branch not in (b"(detached)", b"(unknown)"):  # the latter where HEAD did not read for once
        return Head(commit, branch.decode("utf-8", "replace"))
    head = repository.head()
    if head.commit != commit:
        raise Declined("HEAD moved meanwhile")
    return head


def _paths(entries: Iterable[bytes], *, new_below: bool) -> Iterator[tuple[bytes, bool]]:
    """Yield each path that differs from the index, and whether it is gone. Raises: Declined."""
    for entry in entries:
        kind = entry[:1]
        if kind == b"#":
            continue
        if kind == b"?":
            path = entry[2:]
            _require_plain_name(path)
            if path.endswith(b"/"):
                raise Declined("there is a repository in the worktree")
            if b"/" in path and not new_below:
                raise Declined("a new file lies in a folder, where the disk does not know case")
            yield path, False
        elif kind == b"1":
            _, xy, submodule, _, _, mode, _, _, path = entry.split(b" ", 8)
            _require_plain_name(path)
            if submodule != b"N...":
                raise Declined("a submodule changed")
            if xy[1:] == b".":
                continue  # the worktree is as the index
            if xy[1:] != b"D" and mode.decode() not in (FILE, PROGRAM, LINK):
                raise Declined("a path is neither file nor link")
            yield path, xy[1:] == b"D"
        else:
            raise Declined("the index is unmerged")


def _require_plain_name(path: bytes) -> None:
    if _UNSAFE_NAME.search(path):
        raise Declined("a changed path has an unusual name")
    if path.rsplit(b"/", 1)[-1] == b".gitattributes":
        raise Declined(".gitattributes changed")
    if path.rsplit(b"/", 1)[-1] == b".gitmodules":
        raise Declined(".gitmodules changed")


def _ways(repository: Repository, index: IndexCopy, paths: list[bytes]) -> Mapping[bytes, bytes]:
    """Return how git may convert paths: line ends, or a known filter. Raises: Declined for any other conversion."""
    if not paths:
        return {}
    asked = b"".join(path + b"\0" for path in paths)
    git = repository.git
    if not index.gives_attributes(os.fsencode(repository.toplevel), paths):
        git = git.with_env(GIT_INDEX_FILE=NO_INDEX)  # it would be read whole
    answer = git.run("check-attr", "--stdin", "-z", "-a", stdin=asked).out  # of most files nothing
    converts_all = repository.core.get("core.autocrlf", "false") not in ("false", "no", "off", "0")
    ways: dict[bytes, bytes] = dict.fromkeys(paths, LINE_ENDS) if converts_all else {}
    filtered = set[bytes]()
    fields = answer.split(b"\0")[:-1]
    for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if attribute not in _ATTRIBUTES or value in (b"unspecified", b"unset"):
            continue
        if attribute == b"filter" and value == b"lfs":
            filtered.add(path)
        elif attribute in _CONVERTING:
            raise Declined(f"a changed path has the attribute {attribute.decode()}")
        else:
            ways[path] = LINE_ENDS
    if filtered:
        way = _lfs(repository.git)
        if way is None or not filtered.isdisjoint(ways):
            raise Declined("a changed path has the attribute filter")
        ways |= dict.fromkeys(filtered, way)
    return ways


def _lfs(git: Git) -> bytes | None:
    """Return what decides the result of git-lfs beside a file's content; None where another program may run.

    Of all filters only this one is known to depend on nothing else, but for its extensions.
    """
    import shutil

    program = shutil.which("git-lfs", path=git.environ.get("PATH"))
    settings = git.run("config", "-z", "--get-regexp", r"^(filter\.lfs|lfs)\.", ok=(0, 1)).out
    pairs = [entry.partition(b"\n") for entry in settings.split(b"\0")]
    known = all(value in _LFS.get(key, (value,)) and not key.startswith(b"lfs.extension.") for key, _, value in pairs)
    if program is None or not known or not {key for key, _, _ in pairs} & _LFS.keys():
        return None
    found = ahead.identity(os.stat(program))  # noqa: PTH116 - as the others here
    return FILTER + digest("sha256", settings + repr(found).encode()).digest()


class _Files:
    """Reads changed files, each once, for its blob and its hash, or recalls its blob."""

    def __init__(
        self, repository: Repository, objects: ObjectStore, remembered: Remembered, hashes: Hashes | None
    ) -> None:
        self.repository = repository
        self.objects = objects
        self.hashes = hashes
        self.ways: Mapping[bytes, bytes] = {}
        """How paths are converted, in path order as all others are asked for."""
        self.later: list[Later] = []
        """What git must read; from the first one on nothing else is read."""
        self._remembered = remembered
        self._top = os.fsencode(repository.toplevel) + b"/"
        self._recalled_paths: list[bytes] = []
        self._recalled_oids = bytearray()

    @property
    def recalled(self) -> int:
        """Number of files that were not read."""
        return len(self._recalled_paths)

    def entry(self, path: bytes) -> TreeEntry:
        """Return a file's entry. Raises: Declined."""
        name = path.rsplit(b"/", 1)[-1]
        try:
            before = os.lstat(self._top + path)
            if stat.S_ISLNK(before.st_mode):
                target = os.readlink(self._top + path)  # noqa: PTH115 - paths are bytes here
                if self.hashes is not None:
                    self.hashes.add(path, target)
                return TreeEntry(LINK, name, self.objects.add("blob", target))
        except OSError as error:
            raise Declined(f"a changed path cannot be read: {error.strerror}") from error
        if not stat.S_ISREG(before.st_mode):
            raise Declined("a changed path is not a plain file")
        mode = PROGRAM if before.st_mode & 0o100 else FILE
        way = self.ways.get(path, b"")
        key = self._remembered.key(path, before, way)
        oid = self._remembered.find(key)
        if oid is not None:
            self._recalled_paths.append(path)
            self._recalled_oids += bytes.fromhex(oid)
        elif before.st_size > MOST and way == LINE_ENDS:
            raise Declined("the line ends of a large file may be converted")
        elif before.st_size > MOST or way.startswith(FILTER):
            self.later.append((path, way, self._remembered.leave_open(key)))
        elif not self.later:
            oid = self._read(path, before, way)
            self._remembered.add(key, before, oid)
        return TreeEntry(mode, name, oid or self.objects.zero)

    def read_missing(self) -> None:
        """Read recalled files whose blobs do not exist. Raises: Declined."""
        width = len(self._recalled_oids) // max(1, self.recalled)
        for start in range(0, self.recalled, BATCH):
            some = self._recalled_paths[start : start + BATCH]
            raw = memoryview(self._recalled_oids)[start * width : (start + len(some)) * width]
            oids = [raw[at : at + width].hex() for at in range(0, len(raw), width)]
            missing = self.objects.missing(oids)
            for path, oid in zip(some, oids, strict=True) if missing else ():
                if oid in missing and self._read_again(path) != oid:
                    raise Declined("a file changed while it was read")

    def _read_again(self, path: bytes) -> str:
        try:
            before = os.lstat(self._top + path)
        except OSError as error:
            raise Declined(f"a changed path cannot be read: {error.strerror}") from error
        way = self.ways.get(path, b"")
        if before.st_size > MOST or way.startswith(FILTER):
            raise Declined(_LATER)
        return self._read(path, before, way)

    def _read(self, path: bytes, before: os.stat_result, way: bytes) -> str:
        """Read a file for its blob, queued, and its hash. Raises: Declined."""
        try:
            descriptor = os.open(self._top + path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                data = _read(descriptor, before.st_size)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise Declined(f"a changed path cannot be read: {error.strerror}") from error
        if (before.st_ino, before.st_size, before.st_mtime_ns) != (after.st_ino, len(data), after.st_mtime_ns):
            raise Declined("a file changed while it was read")
        if way == LINE_ENDS and b"\r" in data:
            raise Declined("line ends may be converted")
        if self.hashes is not None:
            self.hashes.add(path, data)
        return self.objects.add("blob", data)


def _read(descriptor: int, size: int) -> bytes:
    """Read `size` bytes of a file, and one more if it has grown."""
    data = os.read(descriptor, size + 1)
    while len(data) < size and (more := os.read(descriptor, size + 1 - len(data))):
        data += more
    return data


def _with_changes(
    objects: ObjectStore,
    base: TreeOid,
    paths: Sequence[tuple[bytes, bool]],
    entry_of: Callable[[bytes], TreeEntry],
) -> TreeOid:
    """Return the tree with the present paths, in order, so that a folder left is complete."""
    if not paths:
        return base
    try:
        tree, folder = Tree(objects, base), b""
        tree.read_ahead(path for path, _ in paths)
        for path, gone in paths:
            if gone:
                tree.remove(path)
        inside: Tree | None = None
        for path, gone in paths:
            left, folder = folder, path.rpartition(b"/")[0]
            if left != folder:
                _seal(tree, left, folder)
                inside = None
            if not gone:
                entry = entry_of(path)
                inside = inside or tree.enter(folder)
                inside.put(entry.name, entry.oid, entry.mode)
        return tree.write()
    except CouldNotTell as error:  # git takes an untouched folder's oid on trust, so its tree may be missing
        raise Declined(error.message) from error


def _seal(tree: Tree, left: bytes, folder: bytes) -> None:
    """Write the outermost folder of `left` outside `folder`."""
    for one in itertools.accumulate(left.split(b"/"), lambda above, name: above + b"/" + name) if left else ():
        if not (folder + b"/").startswith(one + b"/"):
            tree.seal(one)
            break
