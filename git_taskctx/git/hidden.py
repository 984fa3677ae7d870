"""What no tree shows: dirty submodules, edits under assume-unchanged or skip-worktree, and editors' own files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from git_taskctx.git.changes import LINK, SUBMODULE
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.lean import digest, regex
from git_taskctx.model.snapshot import HiddenChange
from git_taskctx.model.values import dataclass

REGULAR = ("100644", "100755")

_FLAGGED = regex(rb"\0([a-zS]) ([0-7]{6}) ([0-9a-f]+) [0-3]\t([^\0]+)")
"""Entries of a NUL and `git ls-files -v -s -z` whose tag is lower case (assume-unchanged) or S (skip-worktree)."""

_SUBMODULES = regex(rb"(?:(?<=\0)|^)(?:\? [^\0]*/|[1u] .. S[^\0]*)(?=\0|\Z)")
"""Entries of repositories in the worktree."""
_UNTRACKED = regex(rb"(?:^|(?<=\0))\? ([^\0]+)")
_EDITORS = regex(
    rb"(?:^|(?<=\0))\? ((?:[^\0]*/)?(?:"
    rb"\.(?:[^/\0]+\.)?sw[a-px]|4913|"  # Vim: swap files, and the file with which it tries a folder
    rb"[^/\0]+~|\.#[^/\0]+|#[^/\0]+#|"  # backups; Emacs: locks and auto-saves
    rb"\.~lock\.[^/\0]+#|~\$[^/\0]+|"  # LibreOffice and Office: locks
    rb"\.[^/\0]+\.kate-swp|\.goutputstream-[^/\0]{6}|[^/\0]+___jb_(?:tmp|old)___"  # Kate, GNOME, JetBrains
    rb"))(?=\0|\Z)"
)
_EDITORS_MARKS = (b"~", b"#", b".sw", b"4913", b".kate-swp", b".goutputstream-", b"___jb_")
"""Each of those names holds one: without any, nothing need be compiled."""

StateOf = Callable[[Repository], str]
"""Returns a name for a worktree's whole state, hidden changes included."""


def list_index(repository: Repository) -> bytes:
    """Return the index entries with flags, for `find_hidden`."""
    return repository.git.run("ls-files", "-v", "-s", "-z").out


def find_temporary(status: bytes) -> frozenset[bytes]:
    """Return the untracked files that editors keep beside open ones; `status` is git's."""
    begin = 0
    while status.startswith(b"# ", begin):
        begin = status.find(b"\0", begin) + 1 or len(status)
    return frozenset(_EDITORS.findall(status) if any(status.find(mark, begin) > 0 for mark in _EDITORS_MARKS) else ())


def find_left_out(repository: Repository, status: bytes) -> frozenset[bytes]:
    """Return the untracked files that no tree of ours has: editors' files, and files ignored but for case.

    Where `core.ignorecase` is set on a case-sensitive disk, git is asked without it, as it loses files renamed in case
    alone (2.39); ignore rules still apply as for the user's git.
    """
    left_out = find_temporary(status)
    if not repository.ignores_known_case or not (untracked := _UNTRACKED.findall(status)):
        return left_out
    git = repository.git.with_settings(("core.ignorecase=true",))
    asked = b"".join(path + b"\0" for path in untracked)
    ignored = git.run("check-ignore", "--stdin", "-z", stdin=asked, ok=(0, 1)).out
    return left_out | frozenset(filter(None, ignored.split(b"\0")))


def find_flagged(index: bytes) -> frozenset[bytes]:
    """Return the paths under assume-unchanged or skip-worktree; `index` is from `list_index`."""
    if not re.match(rb"[a-zS] ", index) and not re.search(rb"\0[a-zS] ", index):
        return frozenset()  # most often, and found without another copy of a large listing
    return frozenset(match[4] for match in _FLAGGED.finditer(b"\0" + index))


def find_hidden(repository: Repository, status: bytes, index: bytes, state_of: StateOf) -> tuple[HiddenChange, ...]:
    """Return the hidden changes, sorted by path.

    `status` is porcelain v2 with NULs, `index` is from `list_index`, `state_of` reads a submodule.
    """
    found = (*_dirty_submodules(repository, status, state_of), *_flagged(repository, index))
    return tuple(sorted(found, key=lambda change: change.path))


def _dirty_submodules(repository: Repository, status: bytes, state_of: StateOf) -> Iterator[HiddenChange]:
    for found in _SUBMODULES.finditer(status):
        entry = found[0]
        fields = {b"1": 9, b"u": 11}.get(entry[:1], 0)
        words = entry.split(b" ", fields - 1)
        embedded = entry.startswith(b"? ") and entry.endswith(b"/")  # a repository that is not staged yet
        if embedded or (len(words) == fields and words[2][:1] == b"S" and (b"M" in words[2] or b"U" in words[2])):
            path = entry[2:-1] if embedded else words[-1]
            inner = {key: value for key, value in repository.git.environ.items() if not _is_local(key)}
            submodule = open_repository(repository.toplevel / os.fsdecode(path), inner)
            clean = embedded and not submodule.git.run("status", "--porcelain", "--untracked-files=all").out
            state = "" if clean else state_of(submodule)
            submodule.close()
            if clean:
                continue
            yield HiddenChange(quote(path), "submodule dirty", state)


@dataclass(frozen=True)
class _Flagged:
    """A file under assume-unchanged or skip-worktree, in the index and in the worktree."""

    path: bytes
    kind: Literal["assume-unchanged", "skip-worktree"]
    mode: str
    oid: str
    found_mode: str | None
    """None where there is no file that git could add."""
    link_oid: str
    """Blob oid of a link's target."""
    state: str


def _flagged(repository: Repository, index: bytes) -> Iterator[HiddenChange]:
    """Yield flagged files that differ from the index.

    A file missing under skip-worktree is no change in a sparse checkout; elsewhere somebody deleted it.
    """
    files = list(_list_flagged(repository, index))
    regular = [file.path for file in files if file.found_mode in REGULAR]
    # hash-object --stdin-paths reads a path in quotes as C has them; its help does not say so (2.39).
    names = b"".join(b'"' + _escaped(path) + b'"\n' for path in regular)
    hashed = repository.git.run("hash-object", "--stdin-paths", stdin=names).out.decode().split() if regular else []
    oids = dict(zip(regular, hashed, strict=True))
    wanted = _modes_that_count(repository)
    sparse = (repository.core.get("core.sparsecheckout", "false") or "true").lower() in ("true", "yes", "on", "1")
    for file in files:
        if sparse and file.found_mode is None and file.kind == "skip-worktree":
            continue
        found = wanted(file), oids.get(file.path, file.link_oid)
        if found != (file.mode, file.oid):
            yield HiddenChange(quote(file.path), file.kind, file.state)


def _list_flagged(repository: Repository, index: bytes) -> Iterator[_Flagged]:
    for match in _FLAGGED.finditer(b"\0" + index) if index else ():
        tag, mode, oid, path = match[1], match[2].decode(), match[3].decode(), match[4]
        if mode == SUBMODULE:
            continue
        found_mode, data = _look(repository.toplevel / os.fsdecode(path))
        state = digest("sha256", f"{found_mode} ".encode() + data).hexdigest()
        link_oid = repository.objects.hash("blob", data) if found_mode == LINK else ""
        kind: Literal["assume-unchanged", "skip-worktree"] = "skip-worktree" if tag == b"S" else "assume-unchanged"
        yield _Flagged(path, kind, mode, oid, found_mode, link_oid, state)


def _modes_that_count(repository: Repository) -> Callable[[_Flagged], str | None]:
    """Return a function for a file's mode: the real one, or the index's on file systems without modes."""
    off = {key for key, value in repository.core.items() if (value or "true").lower() in ("false", "no", "off", "0")}

    def see(file: _Flagged) -> str | None:
        blind = file.mode in REGULAR if "core.filemode" in off else False
        blind = blind or (file.mode == LINK and "core.symlinks" in off)
        return file.mode if blind and file.found_mode in REGULAR else file.found_mode

    return see


def _look(file: Path) -> tuple[str | None, bytes]:
    """Return git's mode for a file and its bytes; None if git could not add it."""
    try:
        found = file.lstat()
        if stat.S_ISLNK(found.st_mode):
            return LINK, os.fsencode(file.readlink())
        if stat.S_ISREG(found.st_mode):
            return ("100755" if found.st_mode & 0o100 else "100644"), file.read_bytes()
    except OSError:
        return None, b""
    return None, b""


def _escaped(path: bytes) -> bytes:
    return path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _is_local(variable: str) -> bool:
    """Return whether a variable concerns one repository only (`git rev-parse --local-env-vars`)."""
    return variable in {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX",
    }  # fmt: skip
