"""The processes that a hook of ours runs under, where the system shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_taskctx.system import process

_DEPTH = 12
"""Maximum number of processes looked up: shims, hook managers and shells stand between git and us."""


def command_lines_above() -> Iterator[list[bytes]]:
    """Yield the command lines of the processes above us, nearest first, as far as the system shows them."""
    return (words for words, _ in _above())


def commit_above() -> tuple[list[bytes], float] | None:
    """Return the command line of the `git commit` that runs us, and for how many seconds at least it has run.

    None where the system does not show it.
    """
    for words, age in _above():
        if os.path.basename(words[0]) == b"git" and b"commit" in words[1:]:  # noqa: PTH119 - bytes
            return words, age
    return None


def _above() -> Iterator[tuple[list[bytes], float]]:
    """Yield the command line of each, and its age in seconds."""
    pid = os.getppid()
    for _ in range(_DEPTH):
        found = process(pid)
        if found is None:
            return
        pid = found.parent
        if found.words:
            yield found.words, found.age
