"""What a stage started and left behind, found by a variable that all of its processes inherit, and ended.

The engine ends the process group of a command. What left the group is found on Linux: by the variable, also after the
runner was killed; and, where it dropped the variable too, as a child that was handed to the runner as a subreaper.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator

MARK = "TASKCTX_RUN"
"""The variable: context, run, stage and attempt."""
_SET_CHILD_SUBREAPER = 36
"""Of prctl(2), Linux 3.4."""
_PROC = "/proc"
_ROUNDS = 100
"""How often what forks meanwhile is looked for again."""


def become_subreaper() -> None:
    """Let orphans below this process become its children, where the kernel can do that."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """Return the processes whose parent this one is; none where there is no /proc."""
    own = os.getpid()
    return {pid for pid in _pids() if _parent_of(pid) == own}


def end_marked(mark: str) -> None:
    """Kill every process whose mark begins so, and what it forks meanwhile."""
    wanted = f"{MARK}={mark}".encode()
    for _ in range(_ROUNDS):
        found = [pid for pid in _pids() if pid != os.getpid() and _has(pid, wanted)]
        if not found:
            return
        _kill(found)


def end_children(known: set[int]) -> None:
    """Kill the children that are none of those `known`: nothing that a stage started is to stay."""
    _kill(list(children() - known))


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ChildProcessError):  # somebody else's, who reaps it
            os.waitpid(pid, 0)


def _pids() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for name in os.listdir(_PROC):  # noqa: PTH208 - thousands of names, of which numbers are wanted
            if name.isdecimal():
                yield int(name)


def _has(pid: int, wanted: bytes) -> bool:
    """Return whether a process that is no zombie has the variable; others' processes do not read."""
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as file:  # noqa: PTH123
            return any(one.startswith(wanted) for one in file.read().split(b"\0"))
    except OSError:
        return False


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None
