"""Where a path lies, found without git: hooks are called at every tool call, mostly without an active task.

Only `os` is imported here.
"""

from __future__ import annotations

import os

FOLDER = ".agent-output"
LONGEST = 4096
"""Bytes of a path, and of a gitfile that are read."""


def find_worktree(folder: str) -> tuple[str, str] | None:
    """Return the worktree that contains `folder`, and its git dir. Raises: ValueError for an impossible path.

    A submodule counts as part of its superproject; a linked worktree inside another one stands for itself.
    """
    place = os.path.realpath(folder)
    while True:
        git_dir = _git_dir_of(place)
        if git_dir is not None:
            return place, git_dir
        above = os.path.dirname(place)  # noqa: PTH120 - no pathlib on this path
        if above == place:
            return None
        place = above


def is_active(top: str, git_dir: str) -> bool:
    """Return whether a worktree may have an active context, by either of its two notes."""
    return os.path.lexists(f"{top}/{FOLDER}/active") or os.path.lexists(f"{git_dir}/taskctx/context")


def refs_of(git_dir: str) -> tuple[str, ...]:
    """Return the refs that opening the active context asks for, as `ledger.refs` names them; none without one."""
    try:
        with open(f"{git_dir}/taskctx/context", "rb") as file:  # noqa: PTH123 - no pathlib here
            name = file.read(64).decode("ascii").strip()  # `encodings.ascii` would be one more to load
    except (OSError, ValueError):  # none, or whoever reads it reports why
        return ()
    return ("refs/notes/taskctx", f"refs/taskctx/contexts/{name}", f"refs/taskctx/snapshots/{name}")


def places_of(path: str, cwd: str) -> list[str]:
    """Return every place that a write to `path` may mean, without links in its folders.

    Some tools resolve `..` first and some do not; a link as the last component is written through, or replaced. Raises:
    ValueError for an impossible path.
    """
    length = len(os.fsencode(path))
    if "\0" in path:
        raise ValueError("the path holds a NUL byte")
    whole = os.path.join(cwd, path)  # noqa: PTH118 - as it is written
    plain = os.path.normpath(whole)
    if len(os.fsencode(plain)) > LONGEST:
        raise ValueError(f"the path has more than {LONGEST} bytes")
    itself = os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain))  # noqa: PTH118, PTH119, PTH120
    written = os.path.realpath(whole if length <= LONGEST else plain)  # nobody can open a longer one as it is
    return list(dict.fromkeys((itself, os.path.realpath(plain), written)))


def begins_in(path: str, cwd: str) -> str:
    """Return the part of an impossible path that is possible."""
    whole = os.path.normpath(os.path.join(cwd, path))[:LONGEST]  # noqa: PTH118
    end = next((at for at, char in enumerate(whole) if char == "\0" or not _is_of_a_path(char)), len(whole))
    return os.path.dirname(whole[:end])  # noqa: PTH120


def _is_of_a_path(char: str) -> bool:
    try:
        os.fsencode(char)
    except ValueError:
        return False
    return True


def inside(top: str, place: str) -> bytes | None:
    """Return a place as git names it from the worktree's top; None outside, and for the top itself."""
    root = top.rstrip("/") + "/"
    return os.fsencode(place[len(root) :]) if place.startswith(root) else None


def is_ours(name: bytes) -> bool:
    """Return whether a path is in `.agent-output`, on any file system."""
    return name.split(b"/", 1)[0].lower() == FOLDER.encode()


def _git_dir_of(place: str) -> str | None:
    """Return the git dir of a worktree with its top at `place`, but not of a submodule."""
    dot_git = f"{place}/.git"
    if os.path.lexists(f"{dot_git}/HEAD"):
        return dot_git
    try:
        descriptor = os.open(dot_git, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, LONGEST)
    except OSError:  # a folder
        return None
    finally:
        os.close(descriptor)
    if not data.startswith(b"gitdir: "):
        return None
    named = os.fsdecode(data.removeprefix(b"gitdir: ").rstrip(b"\n"))
    git_dir = os.path.realpath(f"{place}/{named}" if not named.startswith("/") else named)
    return None if _is_submodule(git_dir) else git_dir


def _is_submodule(git_dir: str) -> bool:
    """Return whether a git dir is a submodule's, by its place (git-submodule(1))."""
    parts = git_dir.rpartition("/.git/")[2].split("/")
    inner = parts[2:] if parts[0] == "worktrees" else parts
    return inner[:1] == ["modules"] and inner[-2:-1] != ["worktrees"]
