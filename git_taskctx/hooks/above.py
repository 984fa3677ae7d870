"""The processes above a hook of ours, where the system shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_taskctx.system import process

_DEPTH = 12
"""Maximum number of processes examined: shims, hook managers and shells come between git and us."""


def command_lines_above() -> Iterator[list[bytes]]:
    """Yield the command lines of the processes above us, nearest first."""
    return (words for words, _ in _above())


def commit_above() -> tuple[list[bytes], float] | None:
    """Return the command line of the `git commit` that runs us, and its minimum age in seconds; None if not shown."""
    for words, age in _above():
        if os.path.basename(words[0]) == b"git" and b"commit" in words[1:]:  # noqa: PTH119 - bytes
            return words, age
    return None


def _above() -> Iterator[tuple[list[bytes], float]]:
    """Yield each command line, and its age in seconds."""
    pid = os.getppid()
    for _ in range(_DEPTH):
        found = process(pid)
        if found is None:
            return
        pid = found.parent
        if found.words:
            yield found.words, found.age
