"""The processes that a hook of ours runs under, where the system shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_DEPTH = 12
"""So many processes up: shims, managers of hooks and shells stand between git and us."""


def command_lines_above() -> Iterator[list[bytes]]:
    """Yield the command lines of the processes above us, nearest first, as far as the system shows them."""
    pid = os.getppid()
    for _ in range(_DEPTH):
        folder = Path(f"/proc/{pid}")
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")[:-1]
            pid = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        if words:
            yield words
