"""A diff between two trees with the same bytes on every machine and configuration.

git runs in an empty git dir (no configuration, attributes, replacements or grafts) with the repository's objects. We
write binary files as stored literals, as compressed bytes depend on the zlib version. The patch applies with `git apply
--binary`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import LINK, compare_trees, diff_pairs
from git_taskctx.git.objects import ObjectStore, stored
from git_taskctx.git.private import private_folder, quarantine
from git_taskctx.git.process import Git
from git_taskctx.git.quoting import quote, quote_ascii, unquote
from git_taskctx.git.repository import Repository
from git_taskctx.lean import digest, regex
from git_taskctx.limits import PIECE, unpacked
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import Change
from git_taskctx.model.values import NamedTuple

if TYPE_CHECKING:
    import gzip

LARGE = 10 * 1024 * 1024
"""Bytes; a larger diff usually has a binary added by mistake.

Larger binary content is left out: git applies such a patch if the blob exists, which our refs ensure.
"""
THRESHOLD = 32 * 1024 * 1024
"""Larger files are binary for git (`core.bigFileThreshold`)."""
LEVEL = 1
"""Compression: twice as fast as the usual level, for a fifth more bytes."""

_OPTIONS = (
    "-r", "-p", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
    "--diff-algorithm=myers", "--no-indent-heuristic", "--unified=3", "--inter-hunk-context=0", "--no-relative",
    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none",
)  # fmt: skip
_FILE = regex(rb"^diff --git [^\n]*\n", re.MULTILINE)
_NAMES = regex(rb"\nindex [^\n]*\n--- ")
_BINARY = regex(rb"^index ([0-9a-f]+)\.\.([0-9a-f]+)[^\n]*\n(Binary files [^\n]*\n)", re.MULTILINE)
_INDEX = regex(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_HUNK = regex(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_PLACE = regex(rb"(?<=[-+])\d+(?=[, ])")
"""The start line of one side of a hunk."""
_KEPT = ("GIT_EXEC_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""The only caller's variables for the git that makes diffs."""
_NEXT = b"\ndiff --git "
_BATCH = 52 * 4096
"""Bytes encoded at once: whole lines of a binary patch, and whole groups of base85."""


class Added(NamedTuple):
    """The lines that one file's change adds."""

    name: str
    """Quoted path."""
    old: str
    """Oid of the blob before; zeros for none."""
    new: str
    lines: list[tuple[int, bytes]]
    """With their number in the new file."""


class Patch:
    """A diff as text with its statistics; a large one is kept compressed."""

    def __init__(
        self,
        data: bytes = b"",
        added: int = 0,
        deleted: int = 0,
        binaries: frozenset[str] = frozenset(),
        *,
        packed: bytes | None = None,
        size: int | None = None,
    ) -> None:
        self.added = added
        self.deleted = deleted
        self.binaries = binaries
        """New blobs included as binary literals."""
        self.size = len(data) if size is None else size
        """Bytes in all."""
        self._data = data
        self._packed = packed

    def pieces(self) -> Iterator[bytes]:
        return iter((self._data,)) if self._packed is None else unpacked(self._packed, limit=self.size)

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces())

    def lines(self) -> Iterator[bytes]:
        """Yield its lines with their ends, split at LF alone: a diff keeps the CRs of its files."""
        if self._packed is None:
            return iter(io.BytesIO(self._data))
        import gzip

        return iter(io.BufferedReader(gzip.GzipFile(fileobj=io.BytesIO(self._packed)), PIECE))

    @functools.cached_property
    def sha(self) -> str:
        """sha256 of the diff with LF and a final newline, equal on all platforms."""
        return sha_of(self.pieces(), self.size)

    @functools.cached_property
    def identity(self) -> str:
        """sha256 of the diff without line numbers, as `git patch-id --verbatim`.

        Blob names are removed too, except of files whose content is left out.
        """
        hashed = digest("sha256", more=self.size)
        for part in _without_places(self.lines()):
            hashed.update(part)
        return hashed.hexdigest()

    @property
    def stat(self) -> str:
        """Lines added and deleted, as in `+145 -32`."""
        return f"+{self.added} -{self.deleted}"

    def compressed(self) -> bytes:
        """Return the gzipped diff, reproducible."""
        return self._gzipped if self._packed is None else self._packed

    @functools.cached_property
    def _gzipped(self) -> bytes:
        return compress(self._data)

    def files(self) -> Iterator[bytes]:
        """Yield the diff of each file."""
        rest = bytearray()
        for piece in self.pieces():
            start, searched = 0, max(0, len(rest) - len(_NEXT))
            rest += piece
            while (at := rest.find(_NEXT, searched)) >= 0:
                yield bytes(rest[start : at + 1])
                start = searched = at + 1
            del rest[:start]
        if rest:
            yield bytes(rest)


def added_lines(lines: Iterable[bytes]) -> Iterator[Added]:
    """Yield each file of a diff with its added lines."""
    name, number, added = "", 0, list[tuple[int, bytes]]()
    in_hunk, old, new = False, "", ""
    for line in lines:
        first = line[:1]
        if in_hunk and first == b"+":
            added.append((number, line[1:]))
            number += 1
        elif in_hunk and first == b" ":
            number += 1
        elif first == b"d" and line.startswith(b"diff --git "):
            if added:
                yield Added(name, old, new, added)
            added, in_hunk = [], False
        elif not in_hunk and (index := _INDEX.match(line)):
            old, new = index[1].decode(), index[2].decode()
        elif not in_hunk and line.startswith(b"+++ "):
            name = _new_name(line)
        elif match := _HUNK.match(line):
            number, in_hunk = int(match[1]), True
    if added:
        yield Added(name, old, new, added)


def conflicted(patch: Patch) -> tuple[str, ...]:
    """Return the paths in which a diff adds conflict markers."""
    tail = b"\n"
    for piece in patch.pieces():
        if b"\n+<<<<<<< " in tail + piece:
            break
        tail = piece[-16:]
    else:
        return ()
    found = []
    for one in added_lines(patch.lines()):
        marks = [line[:8] for _, line in one.lines if line.startswith((b"<<<<<<< ", b">>>>>>> "))]
        if b"<<<<<<< " in marks and b">>>>>>> " in marks:
            found.append(one.name)
    return tuple(found)


def sha_of(pieces: Iterator[bytes], size: int) -> str:
    """Return the sha256 of a diff of `size` bytes in pieces, with LF and a final newline."""
    hashed, held, last = digest("sha256", more=size), b"", b""
    for piece in pieces:
        text = held + piece
        held = b"\r" if text.endswith(b"\r") else b""  # an LF may follow
        text = text.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        hashed.update(text)
        last = text[-1:] or last
    if held or (last and last != b"\n"):
        hashed.update(b"\n")
    return hashed.hexdigest()


class _Growing:
    """A growing diff: plain up to `LARGE` bytes, compressed beyond."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._packed: io.BytesIO | None = None
        self._file: gzip.GzipFile | None = None
        self.size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._data += data
        if len(self._data) > LARGE if self._file is None else len(self._data) > PIECE:
            if self._file is None:
                self._packed = io.BytesIO()
                import gzip

                self._file = gzip.GzipFile(filename="", mode="wb", fileobj=self._packed, mtime=0, compresslevel=LEVEL)
            self._file.write(self._data)
            self._data.clear()

    def finish(self, added: int, deleted: int, binaries: frozenset[str]) -> Patch:
        if self._file is None or self._packed is None:
            return Patch(bytes(self._data), added, deleted, binaries)
        self._file.write(self._data)
        self._file.close()
        return Patch(b"", added, deleted, binaries, packed=self._packed.getvalue(), size=self.size)


def compress(data: bytes) -> bytes:
    """Gzip without time and name, reproducibly."""
    import gzip

    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=LEVEL) as file:
        file.write(data)
    return buffer.getvalue()


def make_patches(
    repository: Repository,
    pairs: list[tuple[TreeOid, TreeOid]],
    *,
    binaries: bool = True,
    apart: Collection[bytes] = (),
) -> list[Patch]:
    """Return the diff of each pair of trees, each once, in one process. Raises: CouldNotTell.

    Without `binaries` binary content is left out: such a patch is to be read, not applied. Paths `apart` are over
    `THRESHOLD`: git would read new and deleted ones whole, only to call them binary.
    """
    made = dict.fromkeys(pairs, Patch())
    wanted = [(old, new) for old, new in made if old != new]
    if wanted:
        with private_folder(repository) as folder:
            git = bare_git(repository, folder)
            for pair, pieces in diff_pairs(repository, git, _OPTIONS, wanted, apart=apart):
                added = _sections(repository, pair, apart) if apart else {}
                made[pair] = _parse(_merged(pieces, added), repository.objects if binaries else None)
    return [made[pair] for pair in pairs]


def find_large(top: Path, changes: Iterable[Change]) -> frozenset[bytes]:
    """Return the new files over `THRESHOLD` in the worktree."""
    found = set[bytes]()
    for change in changes:
        if change.status == "A" and change.mode != LINK:
            with contextlib.suppress(OSError):
                if os.lstat(os.fsencode(top) + b"/" + change.path).st_size > THRESHOLD:
                    found.add(change.path)
    return frozenset(found)


def _sections(repository: Repository, pair: tuple[TreeOid, TreeOid], apart: Collection[bytes]) -> dict[bytes, bytes]:
    """Return git's text about the files left apart, by path."""
    sections = {}
    for change in compare_trees(repository, *pair):
        if change.path in apart and change.status in "AD":
            names = [quote_ascii(side + change.path) for side in (b"a/", b"b/")]
            word, mode = (b"new", change.mode) if change.status == "A" else (b"deleted", change.old_mode)
            shown = (b"/dev/null", names[1]) if change.status == "A" else (names[0], b"/dev/null")
            sections[change.path] = (
                b"diff --git %s %s\n%s file mode %s\n" % (*names, word, mode.encode())
                + b"index %s..%s\n" % (change.old_oid.encode(), change.oid.encode())
                + b"Binary files %s and %s differ\n" % shown
            )
    return sections


def _merged(pieces: Iterable[bytes], added: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Yield a diff in pieces of whole lines, with sections inserted in git's order, by path bytes."""
    waiting = sorted(added)
    for piece in pieces:
        at = 0
        for line in _FILE.finditer(piece) if waiting else ():
            path = _path_of(line[0])
            while waiting and waiting[0] < path:
                yield piece[at : line.start()]
                yield added[waiting.pop(0)]
                at = line.start()
        yield piece[at:]
    yield from map(added.__getitem__, waiting)


def _path_of(line: bytes) -> bytes:
    """Return the path in a `diff --git` line; both are equal without renames."""
    names = line.removeprefix(b"diff --git ").rstrip(b"\n")
    if names.startswith(b'"'):
        return unquote(names[: len(names) // 2].decode()).removeprefix(b"a/")
    return names[2 : len(names) // 2]


def bare_git(repository: Repository, folder: Path, *, new: Path | None = None) -> Git:
    """Return a git that sees only the repository's objects, and writes to a new folder."""
    for name in ("objects", "refs"):
        (folder / name).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    format_version, extensions = 0, ""
    if repository.algorithm != "sha1":
        format_version, extensions = 1, f"[extensions]\n\tobjectformat = {repository.algorithm}\n"
    (folder / "config").write_text(
        f"[core]\n\trepositoryformatversion = {format_version}\n\tbare = true\n"
        f"\tbigFileThreshold = {THRESHOLD}\n{extensions}"
    )
    environment = repository.git.environment()
    objects = environment.get("GIT_OBJECT_DIRECTORY") or os.fspath(repository.common_dir / "objects")
    ours: dict[str, str | None] = {
        **{key: None for key in environment if key.startswith("GIT_") and key not in _KEPT},
        "GIT_DIR": os.fspath(folder),
        "GIT_OBJECT_DIRECTORY": os.fspath(repository.toplevel / objects),
        **(quarantine(repository, new) if new is not None else {}),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "HOME": "/nonexistent",
        "XDG_CONFIG_HOME": "/nonexistent",
        "LC_ALL": "C",
    }
    return repository.git.with_env(**ours)


def _parse(pieces: Iterable[bytes], objects: ObjectStore | None) -> Patch:
    """Count the lines of a diff in pieces of whole lines, and insert binary literals.

    A line of content begins with a blank, a sign or a backslash, so that no other line can be taken for one, nor one
    for another; of those with a sign only `---` and `+++` after `index` are no content.
    """
    out = _Growing()
    added = deleted = 0
    binaries = set[str]()
    held = b""
    for piece in itertools.chain(pieces, (b"",)):
        text = held + piece
        last = text.rfind(b"\ndiff --git ") + 1
        is_whole = not piece or text.find(b"\n@@ ", last) >= 0 or not text.startswith(b"diff --git ", last)
        text, held = (text, b"") if is_whole else (text[:last], text[last:])  # a head is counted with its first hunk
        named = len(_NAMES.findall(text))
        added += _lines_with(b"+", text) - named
        deleted += _lines_with(b"-", text) - named
        at = 0
        for found in _BINARY.finditer(text) if b"\nBinary files " in text else ():
            old, new = found[1], found[2]
            binaries.add(new.decode())
            if objects is not None and all(_size(objects, oid) <= LARGE for oid in (old, new)):
                out.add(text[at : found.start(3)])
                for part in (b"GIT binary patch\n", _literal(objects, new), _literal(objects, old)):
                    out.add(part)
                at = found.end()
        out.add(text[at:] if at else text)
    return out.finish(added, deleted, frozenset(binaries))


def _lines_with(sign: bytes, text: bytes) -> int:
    return text.count(b"\n" + sign) + text.startswith(sign)


def _size(objects: ObjectStore, oid: bytes) -> int:
    """Return a blob's size; 0 if missing."""
    return objects.size(oid.decode()) or 0 if oid.strip(b"0") else 0


def _without_places(lines: Iterable[bytes]) -> Iterator[bytes]:
    held, in_hunk = b"", False
    for line in lines:
        if line.startswith(b"diff --git "):
            yield held  # nothing of the file before followed its names: they are its content
            held, in_hunk = b"", False
        elif line.startswith(b"@@ ") and (match := _HUNK.match(line)):
            in_hunk = True
            yield _PLACE.sub(b"", match[0]) + b"\n"
            continue
        elif not in_hunk and _INDEX.match(line):
            held = line
            continue
        elif not in_hunk and line.startswith(b"--- "):
            held = b""
        yield line
    yield held


def _new_name(line: bytes) -> str:
    """Return the quoted path of a `+++` line; git ends one with a blank by a tab."""
    if line.startswith(b"+++ b/"):  # most often
        return quote(line[6:].rstrip(b"\n").removesuffix(b"\t"))
    name = line.removeprefix(b"+++ ").rstrip(b"\n").removesuffix(b"\t")
    return quote(unquote(name.decode("utf-8")).removeprefix(b"b/"))


def _literal(objects: ObjectStore, oid: bytes) -> bytes:
    """Return a binary patch literal: zlib, stored uncompressed, in base85 lines of 52 bytes."""
    from base64 import b85encode

    name = oid.decode()
    if set(name) == {"0"}:
        data = b""
    else:
        found = objects.find(name)
        if found is None:
            raise CouldNotTell(f"the blob {name} is not in this repository", hint="git fsck")
        data = found.data
    stream = stored(data)
    text = bytearray(b"literal %d\n" % len(data))
    for start in range(0, len(stream), _BATCH):
        batch = stream[start : start + _BATCH]
        encoded = b85encode(batch, pad=True)
        for line in range(0, len(batch), 52):
            length = min(52, len(batch) - line)
            text.append(length + (64 if length <= 26 else 70))
            text += encoded[line // 4 * 5 : (line + 52) // 4 * 5]
            text += b"\n"
    return bytes(text) + b"\n"
