"""Whether a tool has put unstaged changes aside while it runs us, so that they are missing in the worktree.

pre-commit and prek set a variable for every hook. lint-staged and lefthook write the changes to a file in the git dir,
with a stash as a backup. The file alone proves nothing: lint-staged 16.4 leaves it, and so does a killed tool.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from git_taskctx.git.repository import Repository
from git_taskctx.hooks.above import command_lines_above, commit_above

_TOOLS = (
    ("lint-staged_unstaged.patch", b"lint-staged", b"lint-staged automatic backup"),
    ("info/lefthook-unstaged*.patch", b"lefthook", b"lefthook auto backup"),
)
"""The file, the tool's name and its stash. lefthook 2.2 names a linked worktree in its file."""


def is_put_aside(repository: Repository, environ: Mapping[str, str]) -> bool:
    """Return whether the worktree holds only what is staged."""
    if environ.get("PRE_COMMIT") == "1":
        return True
    return any(
        any(_patches(repository, file)) and (_is_above(name) or _is_stashed(repository, stash))
        for file, name, stash in _TOOLS
    )


def began(repository: Repository, *, put_aside: bool) -> float | None:
    """Return when the commit above us began, in seconds since the epoch, if later file changes are a hook's.

    None where the system does not show it, or a tool has put changes back.
    """
    above = commit_above()
    if above is None:
        return None
    since = time.time() - above[1]
    patches = [patch for file, *_ in _TOOLS for patch in _patches(repository, file)]
    try:
        is_put_back = any(patch.lstat().st_ctime >= since for patch in patches)
    except FileNotFoundError:  # just now
        is_put_back = True
    return None if is_put_back and not put_aside else since


def _patches(repository: Repository, file: str) -> Iterator[Path]:
    return (found for place in (repository.git_dir, repository.common_dir) for found in place.glob(file))


def _is_above(name: bytes) -> bool:
    words = (word for line in command_lines_above() for word in line[:2])
    return any(os.path.basename(word).startswith(name) for word in words)  # noqa: PTH119 - bytes


def _is_stashed(repository: Repository, words: bytes) -> bool:
    """Return whether the last stash has this message, the only sign on a system without /proc."""
    return words in repository.git.run("stash", "list", "-n", "1", "--format=%gs", ok=(0, 1, 128)).out
