"""Whether a tool has put unstaged changes aside while it runs us, so that the worktree is not as anybody left it.

pre-commit and prek say so to every hook. lint-staged and lefthook write the changes into a file in the git dir, and
make a stash as a backup. The file alone is no sign: lint-staged leaves it there when it is done (16.4), and a tool
that was killed too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from git_taskctx.git.repository import Repository
from git_taskctx.hooks.above import command_lines_above

_TOOLS = (
    ("lint-staged_unstaged.patch", b"lint-staged", b"lint-staged automatic backup"),
    ("info/lefthook-unstaged*.patch", b"lefthook", b"lefthook auto backup"),
)
"""The file, what the tool is called, and what its stash is. lefthook names a linked worktree in its file (2.2)."""


def is_put_aside(repository: Repository, environ: Mapping[str, str]) -> bool:
    """Tell whether the worktree holds only what is staged."""
    if environ.get("PRE_COMMIT") == "1":
        return True
    places = (repository.git_dir, repository.common_dir)
    return any(
        any(found for place in places for found in place.glob(file))
        and (_is_above(name) or _is_stashed(repository, stash))
        for file, name, stash in _TOOLS
    )


def _is_above(name: bytes) -> bool:
    words = (word for line in command_lines_above() for word in line[:2])
    return any(os.path.basename(word).startswith(name) for word in words)  # noqa: PTH119 - bytes


def _is_stashed(repository: Repository, words: bytes) -> bool:
    """Tell whether the last stash is so called; a system without /proc has no other sign."""
    return words in repository.git.run("stash", "list", "-n", "1", "--format=%gs", ok=(0, 1, 128)).out
