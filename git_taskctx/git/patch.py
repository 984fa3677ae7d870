"""A diff between two trees that is the same bytes on every machine, under every configuration.

git runs over our own empty git dir (no configuration, attributes, replacements or grafts) and the repository's
objects, so that nothing can change its output; and binary files are written as stored literals by our own hand,
because the bytes of a compressed one depend on the zlib at hand. The patch applies with `git apply --binary`.
"""

from __future__ import annotations

import base64
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import diff_pairs
from git_taskctx.git.objects import ObjectStore
from git_taskctx.git.private import private_folder, quarantine
from git_taskctx.git.process import Git
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.repository import Repository
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass

LARGE = 10 * 1024 * 1024
"""A diff over this many bytes usually means a binary that nobody meant to add. The content of a binary file over it
is left out: git applies such a patch where the blob is there, which our refs see to."""
THRESHOLD = "32m"
"""Files over this are binary, whatever is in them (`core.bigFileThreshold`)."""

_OPTIONS = (
    "-r", "-p", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
    "--diff-algorithm=myers", "--no-indent-heuristic", "--unified=3", "--inter-hunk-context=0", "--no-relative",
    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none",
)  # fmt: skip
_INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_BINARY = re.compile(rb"^index ([0-9a-f]+)\.\.([0-9a-f]+)(?: [0-7]+)?\nBinary files ", re.MULTILINE)
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_PLACE = re.compile(rb"(?<=[-+])\d+(?=[, ])")
"""The line at which a side of a hunk begins."""
_KEPT = ("GIT_EXEC_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""All that the caller's environment may tell the git that makes diffs."""
_BATCH = 52 * 4096
"""Bytes that are encoded at once: whole lines of a binary patch, and whole groups of base85."""
_BLOCK = 65535
"""The longest stored block of RFC 1951."""


@dataclass(frozen=True)
class Added:
    """The lines that one file's change adds."""

    name: str
    """Quoted path."""
    old: str
    """Oid of the blob before; zeros where there was none."""
    new: str
    lines: list[tuple[int, bytes]]
    """By their number in the new file."""


@dataclass(frozen=True)
class Patch:
    """A diff as text, with the numbers that people look at."""

    data: bytes
    added: int
    deleted: int
    binaries: frozenset[str] = frozenset()
    """New blobs that are in it as binary literals."""

    @property
    def sha(self) -> str:
        """sha256 of the diff with LF line ends and a final newline, as two platforms agree on it."""
        text = self.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return sha256_hex(text if not text or text.endswith(b"\n") else text + b"\n")

    @property
    def identity(self) -> str:
        """sha256 of the diff without the places where it applies, as `git patch-id --verbatim` sees it.

        The names of blobs go with them, but for files whose content is not in the diff.
        """
        return sha256_hex(b"".join(_without_places(self.data)))

    @property
    def stat(self) -> str:
        """Lines added and deleted, as in `+145 -32`."""
        return f"+{self.added} -{self.deleted}"

    def compressed(self) -> bytes:
        """Return the gzipped diff; the same diff is the same file."""
        return compress(self.data)

    def added_lines(self) -> Iterator[Added]:
        """Yield each file that has new lines, with those lines."""
        name, number, lines = "", 0, list[tuple[int, bytes]]()
        in_hunk, old, new = False, "", ""
        for line in io.BytesIO(self.data):
            if line.startswith(b"diff --git "):
                if lines:
                    yield Added(name, old, new, lines)
                lines, in_hunk = [], False
            elif not in_hunk and (index := _INDEX.match(line)):
                old, new = index[1].decode(), index[2].decode()
            elif not in_hunk and line.startswith(b"+++ "):
                name = _new_name(line)
            elif match := _HUNK.match(line):
                number, in_hunk = int(match[1]), True
            elif in_hunk and line[:1] in b"+ ":
                if line[:1] == b"+":
                    lines.append((number, line[1:]))
                number += 1
        if lines:
            yield Added(name, old, new, lines)


def compress(data: bytes) -> bytes:
    """Gzip without a time or a name in the header, so that equal data makes equal files; large data in a hurry."""
    buffer = io.BytesIO()
    level = 6 if len(data) <= LARGE else 1
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=level) as file:
        file.write(data)
    return buffer.getvalue()


def make_patches(repository: Repository, pairs: list[tuple[TreeOid, TreeOid]], *, binaries: bool = True) -> list[Patch]:
    """Return the diff of each pair of trees; the same pair is compared once, and all of them in one process.

    Without `binaries` the content of binary files is left out: such a patch is to be read, not applied.

    Raises: CouldNotTell when objects are missing.
    """
    made = dict.fromkeys(pairs, Patch(b"", 0, 0))
    wanted = [(old, new) for old, new in made if old != new]
    if wanted:
        with private_folder(repository) as folder:
            git = bare_git(repository, folder)
            for pair, raw in diff_pairs(repository, git, _OPTIONS, wanted):
                made[pair] = _parse(raw, repository.objects if binaries else None)
    return [made[pair] for pair in pairs]


def bare_git(repository: Repository, folder: Path, *, new: Path | None = None) -> Git:
    """Return a git that sees the repository's objects and nothing else of it; what it writes goes to a new folder."""
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


def _parse(raw: bytes, objects: ObjectStore | None) -> Patch:
    out: list[bytes] = []
    added = deleted = 0
    oids = (b"", b"")
    in_hunk = False
    binaries = set[str]()
    sizes = objects.sizes(_binaries_in(raw)) if objects is not None else {}
    for line in io.BytesIO(raw):  # splits at LF alone: a diff keeps the CRs of its files
        if line.startswith(b"diff --git "):
            in_hunk = False
        elif line.startswith(b"@@ "):
            in_hunk = True
        elif in_hunk:
            added += line[:1] == b"+"
            deleted += line[:1] == b"-"
        elif match := _INDEX.match(line):
            oids = (match[1], match[2])
        elif line.startswith(b"Binary files "):
            binaries.add(oids[1].decode())
            if objects is not None and all(sizes.get(oid.decode(), 0) <= LARGE for oid in oids):
                out += (b"GIT binary patch\n", _literal(objects, oids[1]), _literal(objects, oids[0]))
                continue
        out.append(line)
    return Patch(b"".join(out), added, deleted, frozenset(binaries))


def _without_places(data: bytes) -> Iterator[bytes]:
    held, in_hunk = b"", False
    for line in io.BytesIO(data):
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


def _binaries_in(raw: bytes) -> set[str]:
    """Return the oids, old and new, of the files that a diff says are binary."""
    found = (oid.decode() for match in _BINARY.finditer(raw) for oid in match.groups())
    return {oid for oid in found if set(oid) != {"0"}}


def _new_name(line: bytes) -> str:
    """Return the quoted path of a `+++` line; git ends one that holds a blank with a tab."""
    name = line.removeprefix(b"+++ ").rstrip(b"\n").removesuffix(b"\t")
    return quote(unquote(name.decode("utf-8")).removeprefix(b"b/"))


def _literal(objects: ObjectStore, oid: bytes) -> bytes:
    """Write a blob as a literal of a binary patch: zlib, stored uncompressed, in base85 lines of 52 bytes."""
    name = oid.decode()
    if set(name) == {"0"}:
        data = b""
    else:
        found = objects.find(name)
        if found is None:
            raise CouldNotTell(f"the blob {name} is not in this repository", hint="git fsck")
        data = found.data
    stream = _stored(data)
    text = bytearray(b"literal %d\n" % len(data))
    for start in range(0, len(stream), _BATCH):
        batch = stream[start : start + _BATCH]
        encoded = base64.b85encode(batch, pad=True)
        for line in range(0, len(batch), 52):
            length = min(52, len(batch) - line)
            text.append(length + (64 if length <= 26 else 70))
            text += encoded[line // 4 * 5 : (line + 52) // 4 * 5]
            text += b"\n"
    return bytes(text) + b"\n"


def _stored(data: bytes) -> bytes:
    """Return `data` as a zlib stream (RFC 1950) of stored blocks: the same bytes under every zlib."""
    blocks = [data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK)] or [b""]
    body = b"".join(
        bytes([index == len(blocks) - 1])
        + len(block).to_bytes(2, "little")
        + (len(block) ^ 0xFFFF).to_bytes(2, "little")
        + block
        for index, block in enumerate(blocks)
    )
    return b"\x78\x01" + body + zlib.adler32(data).to_bytes(4, "big")
