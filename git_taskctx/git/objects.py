"""Objects: read through one `git cat-file --batch`, written through one `git unpack-objects` or `git index-pack`.

So every store works: packed, alternate, quarantined, sha256, shared between users, partial. The number of processes
does not depend on the number of objects.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Literal

from git_taskctx.errors import CouldNotTell, GitFailed
from git_taskctx.files import ReadOnly
from git_taskctx.git.ahead import AS_WRITTEN, READER, WINDOWS, Process
from git_taskctx.git.process import Git, stop, way_out
from git_taskctx.lean import WIDTH, digest, regex
from git_taskctx.limits import PIECE
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid
from git_taskctx.model.values import NamedTuple
from git_taskctx.shell import shell_word

Kind = Literal["commit", "tree", "blob", "tag"]
FOLDER = "40000"
"""The mode of a tree in a tree."""

_PACK_TYPE = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}

DURABLE = ("core.fsync=committed,loose-object,reference",)
"""Loose objects and refs are not durable by default."""
QUESTIONS = 500
"""Maximum number of names in a pipe at once, to avoid a deadlock."""
HELD = 16 * 1024 * 1024
"""Bytes of new objects in memory, before they are put aside."""
OBJECT = 400
"""Overhead of an object in bytes."""
TINY = 300
"""Smaller objects are not compressed."""
STORED = 4096
"""Nor are smaller trees: they are names of objects, which do not compress."""
_BLOCK = 65535
"""The longest stored block of RFC 1951."""
FEW = 100
"""Maximum number of objects written loose; more stay in a pack, as in git (`transfer.unpackLimit`)."""
_HEX = regex(rb"[0-9a-fA-F]+")
_ONCE = regex(rb"^(?:tree|parent|author|committer)\b", re.IGNORECASE | re.MULTILINE)
_WHO = regex(rb"author [^\n]*\ncommitter ([^\n]*)(?:\n|\Z)")
_TIME = regex(rb".*> ([0-9]{1,12}) [+-][0-9]{4}")
_OID = regex(r"[0-9a-f]+")
_READ_ONLY = regex(rb"insufficient permission|Permission denied|Read-only file system")


class Object(NamedTuple):
    oid: str
    kind: Kind
    data: bytes
    whole: bool = True
    """False if larger than the limit; `data` is empty then."""


Look = Callable[[str, int | None], Object | None]
"""Returns the object of a name, above so many bytes without its data; None where git is to be asked."""


class _Missing(CouldNotTell):
    """git has no such object."""


class TreeEntry(NamedTuple):
    mode: str
    """As in a raw tree: `40000`, `100644`."""
    name: bytes
    oid: str


class RawCommit(NamedTuple):
    """The header of a raw commit; shallow history, grafts and replacements have no effect."""

    tree: TreeOid
    parents: tuple[CommitOid, ...]
    """Those that git reads."""
    time: int | None
    """Committer date, in seconds since the epoch; None if malformed."""
    odd: str | None
    """What git would not have written."""
    message: bytes


class ObjectStore:
    """Reads objects, and collects new ones until they are written together."""

    def __init__(
        self,
        git: Git,
        algorithm: str,
        *,
        durable: bool = True,
        young: bool = True,
        scratch: Path | None = None,
        behind: ObjectStore | None = None,
        look: Look | None = None,
    ) -> None:
        """`scratch` is a folder for new objects that exceed memory.

        `young`: of many objects, existing ones too are given a new time, so that no gc takes them away.

        `behind` reads existing objects, and its process is used until the first write. `look` is asked before git.
        """
        self.look = look
        self._behind = behind
        self._git = git.with_env(**AS_WRITTEN)
        self._writer = self._git.with_settings(DURABLE if durable else ("core.fsync=none",))
        self._young = young
        self._algorithm = algorithm
        self._width = WIDTH[algorithm]
        self._entry = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % self._width, re.DOTALL)
        """An entry of a raw tree (git's user manual, "The Object Database")."""
        self.empty_tree = TreeOid(self.hash("tree", b""))
        """Oid of the empty tree."""
        self.zero = "0" * (2 * self._width)
        """The null oid."""
        self._reader: Process | None = None
        self._measurer: Process | None = None
        self._pending: dict[str, tuple[Kind, bytes]] = {}
        self._ahead: dict[str, Object | None] = {}
        self._held = 0
        """Pending bytes, overhead included."""
        self._scratch = scratch
        self._spilled: _Body | None = None

    def hash(self, kind: Kind, data: bytes) -> str:
        return digest(self._algorithm, b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()

    def find(self, name: str, *, limit: int | None = None) -> Object | None:
        """Return the object that `name` (an oid, or `REV:path`) names, if any; above `limit` bytes without its data."""
        if name in self._pending:
            kind, data = self._pending[name]
            return Object(name, kind, data)
        if self._spilled is not None and name in self._spilled:
            self.flush()
        if "\n" in name:  # `cat-file --batch` takes a name a line
            return None
        if name == self.empty_tree:  # git knows it where nobody has written it
            return Object(name, "tree", b"")
        if name in self._ahead:
            return self._ahead.pop(name)
        if self.look is not None and (found := self.look(name, limit)) is not None:
            return found
        self._ask([name])
        return self._answer(name, limit)

    def has(self, name: str) -> bool:
        """Return whether an object exists, without reading it."""
        return self.find(name, limit=0) is not None

    def is_stored(self, oid: str) -> bool:
        """Return whether an object exists, queued or not."""
        self._ask([oid])
        return self._answer(oid, 0) is not None

    def read_ahead(self, oids: Sequence[str], *, limit: int | None = None) -> None:
        """Read objects needed next, in batches. Raises: CouldNotTell."""
        if self.look is not None:  # one by one is as fast
            return
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._pending and oid != self.empty_tree]
        for start in range(0, len(wanted), QUESTIONS):
            some = wanted[start : start + QUESTIONS]
            self._ask(some)
            self._ahead |= {oid: self._answer(oid, limit) for oid in some}

    def begin(self) -> Process:
        """Start the reading process, unless it runs."""
        if self._behind is not None:
            self._reader = self._behind.begin()
        self._reader = self._reader or self._git.with_settings(WINDOWS).start(*READER, quiet=True)
        return self._reader

    def stand_alone(self) -> None:
        """Stop using the store behind, which does not see new objects."""
        if self._behind is not None:
            self._reader = self._behind = None

    def _ask(self, names: Sequence[str]) -> None:
        into = self.begin().stdin
        with contextlib.suppress(BrokenPipeError):  # its answer says it
            into.write(b"".join(name.encode("utf-8", "surrogateescape") + b"\n" for name in names))
            into.flush()

    @property
    def _out(self) -> IO[bytes]:
        """What the reading process answers; nothing once it has ended."""
        return self._reader.stdout if self._reader is not None else io.BytesIO()

    def _answer(self, name: str, limit: int | None = None) -> Object | None:
        try:
            oid, kind, size = self._header(name)
        except _Missing:
            return None
        if limit is not None and size > limit:
            while size > 0:
                size -= len(self._out.read(min(size, PIECE))) or size
            self._end_of(name)
            return Object(oid, kind, b"", whole=False)
        data = self._out.read(size)
        self._end_of(name)
        return Object(oid, kind, data)

    def _header(self, name: str) -> tuple[str, Kind, int]:
        """Read the first line of an answer. Raises: CouldNotTell."""
        line = self._out.readline()
        if line.rstrip(b"\n").endswith((b" missing", b" ambiguous", b" submodule")):
            raise _Missing(f"the object {name} is not in this repository", hint="git fsck")
        words = line.decode("utf-8", "replace").split()
        if len(words) != 3:
            self._end()
            if not line and "@{" in name:  # git ends at what a reflog does not have
                raise _Missing(f"the object {name} is not in this repository", hint="git log -g")
            raise CouldNotTell(f"git could not read the object {name}", hint="git fsck")
        return words[0], words[1], int(words[2])  # type: ignore[return-value]

    def _end_of(self, name: str) -> None:
        """Read the newline after an object; git dies if it finds damage while printing."""
        if self._out.read(1) != b"\n":
            self._end()
            raise CouldNotTell(f"the object {name} is damaged", hint="git fsck")

    def get(self, name: str, kind: Kind) -> bytes:
        """Return an object's content. Raises: CouldNotTell when it is missing or of another kind."""
        found = self.find(name)
        if found is None:
            raise CouldNotTell(f"the {kind} {name} is not in this repository", hint="git fsck")
        if found.kind != kind:
            raise CouldNotTell(
                f"{name} is not a {kind}, but a {found.kind}", hint=f"git cat-file -p {shell_word(name)}"
            )
        return found.data

    def sizes(self, oids: Collection[str]) -> dict[str, int]:
        """Return the size in bytes of each existing object, in one process."""
        self.flush()
        return self._look_up(oids) if oids else {}

    def size(self, oid: str) -> int | None:
        """Return an object's size in bytes, if it exists; one process answers all calls."""
        if oid in self._pending:
            return len(self._pending[oid][1])
        if self._measurer is None:
            self._measurer = self._git.start("cat-file", "--batch-check", quiet=True)
        ask, answer = self._measurer.stdin, self._measurer.stdout
        with contextlib.suppress(BrokenPipeError):
            ask.write(oid.encode() + b"\n")
            ask.flush()
        words = answer.readline().split()
        return int(words[2]) if len(words) == 3 else None

    def read_pieces(self, oid: str) -> Iterator[bytes]:
        """Yield an object's content in pieces of at most `PIECE` bytes. Raises: CouldNotTell."""
        self.flush()
        self._ask([oid])
        left = self._header(oid)[2]
        try:
            while left > 0:
                piece = self._out.read(min(left, PIECE))
                left -= len(piece)
                if not piece:
                    raise CouldNotTell(f"the object {oid} is damaged", hint="git fsck")
                yield piece
            self._end_of(oid)
        finally:
            if left:
                self._end()  # what is not read yet would be taken for the next answer

    def add(self, kind: Kind, data: bytes) -> str:
        """Queue an object for the next `flush`; return its oid."""
        oid = self.hash(kind, data)
        if oid not in self._pending and (self._spilled is None or oid not in self._spilled):
            self._pending[oid] = (kind, data)
            self._held += len(data) + OBJECT
            if self._held > HELD and self._scratch is not None:
                self._spill()
        return oid

    def add_blob(self, data: bytes) -> BlobOid:
        """Queue a blob; return its oid."""
        return BlobOid(self.add("blob", data))

    def add_tree(self, entries: list[TreeEntry]) -> TreeOid:
        """Queue a tree, with `entries` in any order."""
        return TreeOid(self.add("tree", _raw_tree(entries)))

    def name_tree(self, entries: list[TreeEntry]) -> TreeOid:
        """Return a tree's oid without writing it."""
        return TreeOid(self.hash("tree", _raw_tree(entries)))

    def read_tree(self, oid: str, names: Collection[bytes] | None = None) -> list[TreeEntry]:
        """Return a tree's entries, not recursively; `names` selects some.

        Raises: CouldNotTell, also for another object.
        """
        data = self.get(oid, "tree")
        entries: list[tuple[bytes, bytes, bytes]] = self._entry.findall(data)
        if self._entry.sub(b"", data):
            raise CouldNotTell(f"the tree {oid} is damaged", hint="git fsck")
        return [
            TreeEntry(mode.decode(), name, raw.hex()) for mode, name, raw in entries if names is None or name in names
        ]

    def find_entry(self, tree: str, name: bytes) -> TreeEntry | None:
        """Return one entry of a tree, if any. Raises: CouldNotTell."""
        return next(iter(self.read_tree(tree, (name,))), None)

    def tree_of(self, commit: str) -> TreeOid:
        """Return the tree of a commit. Raises: CouldNotTell."""
        data = self.get(commit, "commit")
        return TreeOid(data[5 : data.index(b"\n")].decode())

    def missing(self, oids: Collection[str]) -> set[str]:
        """Return which objects do not exist, neither queued nor stored."""
        return {*oids} - self._pending.keys() - self._look_up(oids).keys()

    def discard(self) -> None:
        """Drop every queued object: all exist."""
        self._pending.clear()
        self._held = 0
        if self._spilled is not None:
            self._spilled.close()
            self._spilled = None

    def flush(self) -> None:
        """Write every queued object in one process, durably unless in quarantine. Raises: ReadOnly, GitFailed."""
        if not self._pending and self._spilled is None:
            return
        body, self._spilled = self._spilled, None
        loose: Collection[str] = self._pending
        if body is not None or len(self._pending) > FEW:
            there = self._look_up(self._pending).keys()
            new = self._pending.keys() - there
            if body is not None or len(new) > FEW:
                loose = there if self._young else ()
                body = body if body is not None else _Body(self._algorithm, None)
                self._add_to(body, new)
                with contextlib.closing(body):
                    if len(body):
                        self._write("index-pack", "--stdin", stdin=body.pieces())
        if loose:  # git makes those young again that are there already
            self._write("unpack-objects", "-q", stdin=self._pack(loose))
        self._pending.clear()
        self._held = 0

    def _spill(self) -> None:
        """Put pending objects aside, compressed, without existing ones. Raises: ReadOnly, GitFailed."""
        self._spilled = self._spilled if self._spilled is not None else _Body(self._algorithm, self._scratch)
        there = self._look_up(self._pending).keys()
        self._add_to(self._spilled, self._pending.keys() - there)
        if there and self._young:
            self._write("unpack-objects", "-q", stdin=self._pack(there))
        self._pending.clear()
        self._held = 0

    def _add_to(self, body: _Body, oids: Collection[str]) -> None:
        for oid in oids:
            body.add(oid, *self._pending[oid])

    def _write(self, *command: str, stdin: Iterable[bytes]) -> None:
        self.stand_alone()
        done = self._writer.feed(*command, stdin=stdin, ok=(0, 1, 128))
        if done.code != 0:
            refused = f"`git {command[0]}`: {done.complaint}"
            if _READ_ONLY.search(done.err):
                raise ReadOnly(refused)
            raise GitFailed(refused, hint=way_out(done, self._writer.cwd))

    def _look_up(self, oids: Collection[str]) -> dict[str, int]:
        names = b"".join(b"%s\n" % oid.encode() for oid in oids)
        done = self._git.run("cat-file", "--batch-check", stdin=names, ok=(0, 128))
        if (
            done.code != 0
        ):  # before git 2.44 it asks a promisor, whatever GIT_NO_LAZY_FETCH says, and dies of the answer
            whole = "git fetch --refetch --no-filter origin HEAD refs/notes/taskctx   # what a partial clone leaves out"
            raise CouldNotTell(f"objects are not in this repository: {done.complaint}", hint=whole)
        lines = done.out.splitlines()
        words = (line.split() for line in lines if not line.endswith(b" missing"))
        return {oid.decode(): int(size) for oid, _, size in words}

    def _pack(self, oids: Collection[str]) -> Iterator[bytes]:
        body = _Body(self._algorithm, None)
        self._add_to(body, oids)
        return body.pieces()

    def close(self) -> None:
        """End the reading processes, and discard queued objects."""
        self.stand_alone()
        self._end()
        if self._spilled is not None:
            self._spilled.close()

    def _end(self) -> None:
        for process in (self._reader, self._measurer):
            if process is not None:
                stop(process)
        self._reader = self._measurer = None
        if self._behind is not None:
            self._behind._reader = None


class _Body:
    """The growing objects of a pack, on disk where a folder is given (its owner removes it)."""

    def __init__(self, algorithm: str, folder: Path | None) -> None:
        self._algorithm = algorithm
        self._file: IO[bytes] = (folder / f"objects-{os.urandom(4).hex()}").open("x+b") if folder else io.BytesIO()
        self._oids = set[bytes]()

    def __len__(self) -> int:
        return len(self._oids)

    def __contains__(self, oid: str) -> bool:
        return len(oid) % 2 == 0 and _OID.fullmatch(oid) is not None and bytes.fromhex(oid) in self._oids

    def add(self, oid: str, kind: Kind, data: bytes) -> None:
        is_stored = len(data) < (STORED if kind == "tree" else TINY)
        self._file.write(
            _pack_header(_PACK_TYPE[kind], len(data)) + (stored(data) if is_stored else zlib.compress(data, 1))
        )
        self._oids.add(bytes.fromhex(oid))

    def pieces(self) -> Iterator[bytes]:
        """Yield the whole pack (gitformat-pack)."""
        hashed = digest(self._algorithm, more=self._file.tell())
        self._file.seek(0)
        piece = b"PACK" + (2).to_bytes(4, "big") + len(self._oids).to_bytes(4, "big")
        while piece:
            hashed.update(piece)
            yield piece
            piece = self._file.read(PIECE)
        yield hashed.digest()

    def close(self) -> None:
        self._file.close()


def stored(data: bytes) -> bytes:
    """Return a zlib stream of stored blocks (RFC 1950, 1951): the same bytes with every zlib, and no set-up."""
    body = bytearray()
    for start in range(0, len(data) or 1, _BLOCK):
        block = data[start : start + _BLOCK]
        size, is_last = len(block), start + _BLOCK >= len(data)
        body += b"%c%b%b%b" % (is_last, size.to_bytes(2, "little"), (size ^ 0xFFFF).to_bytes(2, "little"), block)
    return b"\x78\x01" + body + zlib.adler32(data).to_bytes(4, "big")


def _raw_tree(entries: list[TreeEntry]) -> bytes:
    ordered = sorted(entries, key=lambda entry: entry.name + (b"/" if entry.mode == FOLDER else b""))
    return b"".join(entry.mode.encode() + b" " + entry.name + b"\0" + bytes.fromhex(entry.oid) for entry in ordered)


def _pack_header(kind: int, size: int) -> bytes:
    """Encode a pack entry's type and size (gitformat-pack: n-byte type and length)."""
    byte = (kind << 4) | (size & 15)
    size >>= 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    header.append(byte)
    return bytes(header)


def read_head(data: bytes, *, digits: int) -> RawCommit:
    """Read a raw commit with oids of `digits` digits. Raises: CouldNotTell for what git cannot read.

    git takes the `parent` lines directly after `tree`, in either case, and no others (`parse_commit_buffer` in
    commit.c, up to git 2.54; `git fsck --strict` passes both). What git would not have written makes the commit odd; an
    unreadable parent ends the list.
    """
    at, tree = len(b"tree ") + digits + 1, data[5 : 5 + digits]
    if not data.startswith(b"tree ") or data[at - 1 : at] != b"\n" or not _HEX.fullmatch(tree):
        raise CouldNotTell("the commit is damaged", hint="git fsck")
    parents: list[bytes] = []
    odd = "its tree is not in lower case" if tree != tree.lower() else None
    width = len(b"parent ") + digits
    while data.startswith(b"parent ", at) and len(data) > at + width:
        parent = data[at + len(b"parent ") : at + width]
        if not _HEX.fullmatch(parent) or data[at + width : at + width + 1] != b"\n":
            odd = "a parent of it cannot be read"
            break
        if parent != parent.lower():
            odd = "a parent of it is not in lower case"
        parents.append(parent.lower())
        at += width + 1
    head, _, message = data[at:].partition(b"\n\n")
    who = _WHO.match(head)
    if odd is None and (who is None or b"\0" in head):
        odd = "its header is not one that git writes"
    if odd is None and who is not None and (more := _ONCE.search(head, who.end())):
        odd = f"its header has another {more[0].decode().lower()}, which git does not read"
    time = _TIME.match(who[1]) if who is not None else None
    return RawCommit(
        tree=TreeOid(tree.lower().decode()),
        parents=tuple(CommitOid(parent.decode()) for parent in parents),
        time=int(time[1]) if time is not None else None,
        odd=odd,
        message=message,
    )
