"""Replacements for what some systems lack: /proc is Linux's, and macOS syncs in its own way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Mapping

PROC = "/proc"
_SET_CHILD_SUBREAPER = 36
"""prctl(2), Linux 3.4."""
_PS = ("ps", "-A", "-o", "pid=,ppid=,etime=,args=")
"""POSIX; it separates the words of a command line by blanks, whatever they contain."""


class Process:
    """A running process: its parent, its command line, and its minimum age in seconds."""

    __slots__ = ("age", "parent", "words")

    def __init__(self, parent: int, words: list[bytes], age: float) -> None:
        self.parent, self.words, self.age = parent, words, age


def sync(descriptor: int) -> None:
    """Make written data durable."""
    if sys.platform == "darwin":  # fsync(2) there: the drive may still lose it
        with contextlib.suppress(OSError):  # a file system that has no such call
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def become_subreaper() -> None:
    """Make orphans below this process its children, if the kernel can."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents() -> dict[int, int]:
    """Return every visible process with its parent."""
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(PROC) if name.isdecimal()]  # noqa: PTH208 - thousands of names
        found = {int(name): _stat(int(name)) for name in names}
        return {pid: int(fields[1]) for pid, fields in found.items() if fields}
    return {pid: process.parent for pid, process in _listed().items()}


def below(pid: int) -> set[int]:
    """Return what a process started, and what those did; with orphans, where it is a subreaper."""
    found, todo = set[int](), {pid}
    try:  # where nobody has to look at every process there is: CONFIG_PROC_CHILDREN
        while todo := set[int]().union(*map(_children, todo)) - found:
            found |= todo
    except OSError:
        known, found, todo = parents(), set(), {pid}
        while todo := {one for one, parent in known.items() if parent in todo} - found:
            found |= todo
    return found


def _children(pid: int) -> set[int]:
    """Return the children of a process; none of one that has ended since. Raises: OSError where they are not shown."""
    try:
        tasks = os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208 - no pathlib here
        return {int(word) for task in tasks for word in _read(f"{pid}/task/{task}/children").split()}
    except (FileNotFoundError, ProcessLookupError):
        if _stat(os.getpid()) and not _stat(pid):
            return set()
        raise


def process(pid: int) -> Process | None:
    """Return a process, if it is visible."""
    if not os.path.isdir(f"{PROC}/{os.getpid()}"):  # noqa: PTH112
        return _listed().get(pid)
    try:
        words = _read(f"{pid}/cmdline").split(b"\0")[:-1]
        fields = _stat(pid)
        up = float(_read("uptime").split()[0])
        # Rounded down: what is shown is never too old.
        return Process(int(fields[1]), words, up - (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None


def time_spent(pid: int) -> float:
    """Return the CPU seconds of a process and of what it started; 0 where they are not shown."""
    fields = [_stat(one)[11:15] for one in (pid, *below(pid))]
    return sum(int(ticks) for four in fields for ticks in four) / os.sysconf("SC_CLK_TCK")


def has_variable(pid: int, begins: bytes) -> bool:
    """Return whether a process's environment has a variable with this prefix; False if not shown."""
    try:
        return any(one.startswith(begins) for one in _read(f"{pid}/environ").split(b"\0"))
    except OSError:
        return False


def _read(name: str) -> bytes:
    with open(f"{PROC}/{name}", "rb") as file:  # noqa: PTH123 - no pathlib here
        return file.read()


def _stat(pid: int) -> list[bytes]:
    """Return the fields of proc(5) behind the name, state first; none if the process is gone."""
    try:
        return _read(f"{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


def _listed() -> Mapping[int, Process]:
    """Return the processes of ps(1), if any."""
    import subprocess

    try:
        lines = subprocess.run(_PS, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    rows = (line.split() for line in lines.splitlines())
    return {int(pid): Process(int(parent), words, _seconds(age)) for pid, parent, age, *words in rows}


def _seconds(elapsed: bytes) -> float:
    """Return the seconds of ps's `[[dd-]hh:]mm:ss`."""
    days, dash, rest = elapsed.rpartition(b"-")
    total = 0
    for part in rest.split(b":"):
        total = total * 60 + int(part)
    return float(total + (int(days) * 86400 if dash else 0))
