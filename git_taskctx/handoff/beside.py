"""What a saved tree lacks of the files that `restore` replaces: bytes that a filter removes, and permissions.

Kept as a tree of its own: `bytes/<path>` for files that git would not check out with the same bytes (a clean filter,
`ident`, mixed line ends), and `modes` for permissions that differ from the umask's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from git_taskctx.git.changes import ABSENT
from git_taskctx.git.checkout import Seen, Worktree, check_out
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import Reading
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import Change
from git_taskctx.model.values import dataclass, field

_BYTES, _MODES = b"bytes/", b"modes"


@dataclass(frozen=True)
class Beside:
    """What is kept beside one saved tree."""

    blobs: Mapping[bytes, str] = field(default_factory=dict)
    """Blobs with the exact bytes, by path."""
    bits: Mapping[bytes, int] = field(default_factory=dict)
    """Permissions that differ from the umask's, by path."""

    def write(self, repository: Repository, index: Path) -> TreeOid | None:
        """Write it as a tree; None where there is nothing to keep."""
        if not self.blobs and not self.bits:
            return None
        modes = b"".join(b"%o %s\0" % (bits, path) for path, bits in sorted(self.bits.items()))
        entries: dict[bytes, str] = {_MODES: repository.objects.add_blob(modes)}
        entries |= {_BYTES + path: oid for path, oid in self.blobs.items()}
        repository.objects.flush()
        git = repository.git.with_env(GIT_INDEX_FILE=os.fspath(index))
        lines = b"".join(b"100644 %s\t%s\0" % (oid.encode(), path) for path, oid in entries.items())
        git.run("update-index", "-z", "--index-info", stdin=lines)
        return TreeOid(git.run("write-tree").out.decode().strip())


def read_beside(repository: Repository, tree: str | None) -> Beside:
    """Read what was saved. Raises: CouldNotTell."""
    if tree is None:
        return Beside()
    blobs, bits = dict[bytes, str](), dict[bytes, int]()
    for entry in repository.git.run("ls-tree", "-r", "-z", tree).out.split(b"\0")[:-1]:
        head, _, path = entry.partition(b"\t")
        oid = head.split(b" ")[2].decode()
        if path == _MODES:
            lines = (line.partition(b" ") for line in repository.objects.get(oid, "blob").split(b"\0")[:-1])
            bits = {path: int(mode, 8) & 0o777 for mode, _, path in lines}
        else:
            blobs[path.removeprefix(_BYTES)] = oid
    return Beside(blobs, bits)


def gather(reading: Reading, changes: Sequence[Change], seen: dict[bytes, Seen | None], stage: Path) -> Beside:
    """Return what the tree lacks of the files that `changes` replace, with blobs written. Raises: OSError, GitFailed.

    `seen` is updated where a file changed since.
    """
    repository, worktree = reading.repository, Worktree(reading.repository.toplevel, reading.repository.algorithm)
    files = {path: one for path, one in seen.items() if one is not None and stat.S_ISREG(one.mode)}
    converted = [
        change._replace(mode=change.old_mode, oid=change.old_oid)
        for change in changes
        if change.old_mode != ABSENT and change.path in files and files[change.path].blob != change.old_oid
    ]
    copies = dict[bytes, Path]()
    if converted:
        given = stage / "given"
        check_out(repository, converted, given)
        back = Worktree(given, repository.algorithm)
        for change in converted:
            again = back.look(change.path)
            if again is None or again.blob != files[change.path].blob:
                copy = stage / f"raw-{len(copies)}"
                seen[change.path] = worktree.copy(change.path, copy)
                if seen[change.path] is not None:
                    copies[change.path] = copy
    names = "".join(f"{os.path.relpath(copy, repository.toplevel)}\n" for copy in copies.values())
    command = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    oids = reading.git.run(*command, stdin=names.encode()).out.decode().split() if copies else []
    made = _umask()
    return Beside(
        dict(zip(copies, oids, strict=True)),
        {
            path: stat.S_IMODE(one.mode) & 0o777
            for path, one in files.items()
            if stat.S_IMODE(one.mode) & 0o777 != (0o777 if one.mode & 0o100 else 0o666) & ~made
        },
    )


def _umask() -> int:
    """Return the umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
