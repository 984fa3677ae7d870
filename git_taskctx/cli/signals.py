"""Ctrl-C and its like: what goes on is taken back in order, and the process ends as git's own would."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from git_taskctx.files import ENDING


def catch_signals() -> None:
    """Let signals that ask for an end raise KeyboardInterrupt with their number; for a process that is all ours."""
    for one in ENDING:
        if signal.getsignal(one) is not signal.SIG_IGN:  # as under nohup
            signal.signal(one, _stop)


def ignore_signals() -> None:
    """Let nothing disturb the process any more: it tidies up, or has nothing left to take back."""
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
