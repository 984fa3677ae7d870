"""Loaded by a Python under test before all else: counts what it is about to change, and stops or fails one step.

The portable half of what `steps.c` does, with the same variables: it sees the verb's own process, and each start of
another one, but nothing of what git does inside. A fault may also be a script, which is run before the step; then
opening to read is a step too.
"""

from __future__ import annotations

import errno
import itertools
import os
import signal
import sys

_OPENING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_ROOM = frozenset({"open", "os.link", "os.mkdir", "os.rename", "os.symlink"})
"""What a full disk refuses."""
_ANY = (errno.EIO, errno.EACCES, errno.EROFS)
"""What can come of any step."""
_STARTS = frozenset({"os.posix_spawn", "subprocess.Popen"})
_EVENTS = _ROOM | _STARTS | {"os.chmod", "os.remove", "os.rmdir", "os.truncate", "os.utime"}


def _watch() -> None:
    root, at = os.environ["STEPS_ROOT"], int(os.environ["STEPS_AT"])
    fault, lasts = os.environ["STEPS_FAULT"], os.environ["STEPS_LASTS"] == "1"
    reads = os.environ["STEPS_READS"] == "1"
    log = os.open(os.environ["STEPS"] + ".log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    numbers = itertools.count(1)

    def see(event: str, args: tuple[object, ...]) -> None:
        if event not in _EVENTS:
            return
        place: object = args[1] if event in ("os.rename", "os.link", "os.symlink") else args[0]
        if event in _STARTS:
            place = ""
        if not isinstance(place, str | bytes | os.PathLike):
            return
        path = os.fsdecode(place)
        if path.startswith("/") and not path.startswith(root + "/"):
            return
        if event == "open" and not (reads or (isinstance(args[2], int) and args[2] & _OPENING)):
            return
        number = next(numbers)
        due = at > 0 and (number == at or (lasts and number > at))
        fails = due and fault.isdigit() and (event in _ROOM or int(fault) in _ANY) and event not in _STARTS
        os.write(log, f"{event} {path.removeprefix(root)}{' FAILS' if fails else ' DUE' if due else ''}\n".encode())
        if due and fault.startswith("/"):
            os.system(fault)
        elif due and fault.startswith("-"):
            os.killpg(0, -int(fault))
        elif due and not fault.isdigit():
            os.kill(os.getpid(), signal.SIGKILL)
        if fails:
            raise OSError(int(fault), os.strerror(int(fault)), path)

    sys.addaudithook(see)


if "STEPS" in os.environ:
    _watch()
