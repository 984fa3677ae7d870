"""Refs, moved by compare-and-swap: concurrent changes are never overwritten."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_taskctx.errors import GitFailed
from git_taskctx.files import ReadOnly, lock_folder
from git_taskctx.git.ahead import REFS
from git_taskctx.git.objects import DURABLE
from git_taskctx.git.process import Git, way_out
from git_taskctx.lean import regex
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word

_READ_ONLY = regex(rb"Permission denied|Read-only file system|[Uu]nable to create directory")
_FOR_GOOD = regex(rb"exists; cannot create|blocking reference|No space left|quota exceeded|Input/output error")
"""Failures that no retry fixes, though git says `cannot lock ref` as for a conflict."""
_CONFLICT = regex(rb"cannot lock ref|\.lock': File exists|reference already exists")
_LOCKED = regex(rb"Unable to create '(.*?\.lock)': File exists", re.DOTALL)
_BROKEN = regex(rb"^warning: ignoring broken ref (.*)$", re.MULTILINE)
BRANCHES = "refs/heads/"
STALE = 10.0
"""Seconds after which a lock of our ref is a killed git's: git holds it for milliseconds."""


ATTEMPTS = 50
"""How often a write is tried while others write."""


class RefConflict(GitFailed):
    """A ref has another value than expected, or is locked; read again and retry."""

    code = "ref-conflict"


@dataclass(frozen=True)
class RefMove:
    """One ref from `old` to `new`; None is no ref."""

    ref: str
    new: str | None
    old: str | None


def read_refs(git: Git, *prefixes: str) -> dict[str, str]:
    """Return every ref under `prefixes` (whole names or folders) with its oid. Raises: BadData for a damaged one.

    git leaves damaged refs out, as if they did not exist.
    """
    found = git.run(*REFS, *prefixes)
    broken = _BROKEN.search(found.err) if found.err else None
    if broken:
        from git_taskctx.git.damaged import damaged

        raise damaged(git, os.fsdecode(broken[1]))
    pairs = (line.split(" ", 1) for line in found.out.decode("utf-8", "replace").splitlines())
    return {ref: oid for oid, ref in pairs}


def find_ref(git: Git, ref: str) -> str | None:
    """Return the oid of a ref by its full name.

    `git rev-parse --verify` would also find a branch called `refs/notes/taskctx`.
    """
    return read_refs(git, ref).get(ref)


def move_refs(git: Git, moves: Sequence[RefMove], *, reason: str) -> None:
    """Move all refs or none, durably, with `reason` in the reflog; leftover locks are broken.

    Raises: RefConflict when a ref is not at `old`, ReadOnly where refs cannot be written, GitFailed.
    """
    if not moves:
        return
    zero = "0" * len(next((move.new or move.old or "") for move in moves))
    lines = b"".join(
        (b"" if move.new else b"option no-deref\0")  # what goes is ours, not the branch that a symbolic one names
        + b"update %s\0%s\0%s\0" % (move.ref.encode(), (move.new or zero).encode(), (move.old or zero).encode())
        for move in moves
    )
    quiet = git.with_settings((*DURABLE, "core.hooksPath=/dev/null")).with_env(
        GIT_COMMITTER_NAME="git-taskctx", GIT_COMMITTER_EMAIL="git-taskctx@localhost"
    )
    done = quiet.run("update-ref", "-m", f"taskctx: {reason}", "--stdin", "-z", stdin=lines, ok=(0, 1, 128))
    if done.code == 0:
        return
    if _READ_ONLY.search(done.err):
        raise ReadOnly(f"cannot write refs: {done.complaint}")
    if not _FOR_GOOD.search(done.err) and _CONFLICT.search(done.err):
        found = _LOCKED.search(done.err)
        lock = Path(os.fsdecode(found[1])) if found else None
        ours = any(os.fspath(lock).endswith(f"/{move.ref}.lock") for move in moves) if lock else False
        if lock is not None and ours and _break(lock):
            move_refs(git, moves, reason=reason)
            return
        when = f"; in {STALE:g} seconds it is done for you" if ours else ""  # packed-refs may be held for the user
        hint = f"rm {shell_word(lock)}   # if no git is running{when}" if lock else None
        raise RefConflict(f"a ref moved meanwhile: {done.complaint}", hint=hint)
    raise GitFailed(f"`git update-ref`: {done.complaint}", hint=way_out(done, git.cwd))


def tries(*, pause: float = 0.002) -> Iterator[None]:
    """Yield `ATTEMPTS` times: at once, then after growing pauses, randomized so that writers get out of step."""
    yield
    for attempt in range(1, ATTEMPTS):
        import random

        time.sleep(random.uniform(0, pause * attempt))  # noqa: S311
        yield


class Refs:
    """Refs as last read or moved; every move is checked against the real ones."""

    def __init__(self, git: Git, *prefixes: str) -> None:
        self._git = git
        self._prefixes = prefixes
        self._known: dict[str, str] = {}
        self.reread()

    def reread(self) -> None:
        self._known = read_refs(self._git, *self._prefixes)

    def find(self, ref: str) -> str | None:
        """Return a ref's oid, if it exists."""
        if any(ref == prefix or ref.startswith(prefix + "/") for prefix in self._prefixes):
            return self._known.get(ref)
        return find_ref(self._git, ref)

    def under(self, folder: str) -> dict[str, str]:
        """Return a folder's refs by the last part of their names, with their oids."""
        place = folder + "/"
        return {ref.removeprefix(place): oid for ref, oid in self._known.items() if ref.startswith(place)}

    def move(self, moves: Sequence[RefMove], *, reason: str) -> None:
        """Move refs as `move_refs` does."""
        move_refs(self._git, moves, reason=reason)
        for move in moves:
            if move.new is not None:
                self._known[move.ref] = move.new
            else:
                self._known.pop(move.ref, None)


def break_left(said: bytes) -> bool:
    """Remove the lock in git's complaint if a killed git left it; return whether it did."""
    found = _LOCKED.search(said)
    return found is not None and b"/refs/taskctx/" in found[1] and _break(Path(os.fsdecode(found[1])))


def sweep_locks(common_dir: Path, *refs: str) -> None:
    """Remove locks that a killed git left on these refs, or in these folders."""
    for ref in refs:
        place = common_dir / ref
        for lock in (place.with_name(f"{place.name}.lock"), *place.rglob("*.lock")):
            _break(lock)


def _break(lock: Path) -> bool:
    """Remove a stale lock; one at a time, so that no newer one is removed instead."""
    try:
        folder = lock_folder(lock.parent)
    except OSError:
        return False
    try:
        if abs(time.time() - lock.lstat().st_mtime) < STALE:
            return False
        lock.unlink()
    except OSError:  # gone already, or not ours to remove
        return False
    else:
        return True
    finally:
        os.close(folder)
