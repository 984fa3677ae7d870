"""What a stage started and left behind, found by a variable that all of its processes inherit, and ended.

The engine ends the process group of a command. What left the group is found on Linux: by the variable, also after the
runner was killed; and, where it dropped the variable too, as a child that was handed to the runner as a subreaper.
"""

from __future__ import annotations

import contextlib
import os
import signal

from git_taskctx.system import below, has_variable, parents

MARK = "TASKCTX_RUN"
"""The variable: context, run, stage and attempt."""
_ROUNDS = 100
"""How often what forks meanwhile is looked for again."""


def children() -> set[int]:
    """Return the processes whose parent this one is; none where none is shown."""
    own = os.getpid()
    return {pid for pid, parent in parents().items() if parent == own}


def end_marked(mark: str, *, mine: bool = False) -> None:
    """Kill every process whose mark begins so, and what it forks meanwhile; of `mine`, those below this process."""
    wanted, own = f"{MARK}={mark}".encode(), os.getpid()
    for _ in range(_ROUNDS):
        found = [pid for pid in (below(own) if mine else parents()) if pid != own and has_variable(pid, wanted)]
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
