"""Signals: work in progress is undone in order, and the process ends as git's would."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from git_taskctx.files import ENDING


def catch_signals() -> None:
    """Let signals that ask for an end raise KeyboardInterrupt with their number, in a process of our own."""
    for one in ENDING:
        if signal.getsignal(one) is not signal.SIG_IGN:  # as under nohup
            signal.signal(one, _stop)


def ignore_signals() -> None:
    """Ignore signals while the process cleans up, or has nothing left to undo."""
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)


def end_by(number: int) -> None:
    """End the process by a signal, which informs whoever waits for it; Ctrl-C has a code for that."""
    if number == signal.SIGINT:
        return
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _stop(number: int, _frame: object) -> NoReturn:
    ignore_signals()
    raise KeyboardInterrupt(number)
