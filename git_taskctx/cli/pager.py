"""Page long answers on a terminal as git would (pager.c).

The pager replaces stdout, and stderr if that is the terminal too; `GIT_PAGER_IN_USE` says that a pipe is shown on a
screen.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping

IN_USE = "GIT_PAGER_IN_USE"
_SHELL = frozenset("|&;<>()$`\\\"' \t\n*?[#~=%")
"""Characters that make a command the shell's (git's run-command.c)."""
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}
"""git's default settings for pagers."""


@contextlib.contextmanager
def paged(name: str, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Send output through the pager, if stdout is a terminal."""
    pager = _start(name, settings) if name and sys.stdout.isatty() else None
    if pager is None or pager.stdin is None:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ.setdefault("COLUMNS", str(shutil.get_terminal_size().columns))
    os.environ[IN_USE] = "true"
    replaced = [(number, os.dup(number)) for number in (1, 2) if os.isatty(number)]
    for number, _ in replaced:
        os.dup2(pager.stdin.fileno(), number)
    pager.stdin.close()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
    try:
        with contextlib.suppress(BrokenPipeError):  # whoever reads has seen enough
            yield
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        _end(pager, replaced)
        signal.signal(signal.SIGINT, before)


def _start(name: str, settings: Mapping[str, str | None]) -> subprocess.Popen[bytes] | None:
    command = _command(name, settings)
    if command in ("", "cat"):
        return None
    shell = not _SHELL.isdisjoint(command)
    try:
        return subprocess.Popen(
            command if shell else [command], shell=shell, stdin=subprocess.PIPE, env={**_DEFAULTS, **os.environ}
        )
    except OSError:
        return None


def _command(name: str, settings: Mapping[str, str | None]) -> str:
    """Return git's pager for a command (git-config, `pager.<cmd>`): its own, none, or the general one."""
    chosen = settings.get(f"pager.{name}", "true")
    if chosen is not None and chosen.lower() in ("false", "no", "off", "0", ""):
        return ""
    if chosen is not None and chosen.lower() not in ("true", "yes", "on", "1"):
        return os.environ.get("GIT_PAGER", chosen)
    found = subprocess.run(["git", "var", "GIT_PAGER"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def _end(pager: subprocess.Popen[bytes], replaced: list[tuple[int, int]]) -> None:
    """Wait for the pager to end, and restore the terminal."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number, _ in replaced:
        os.dup2(nowhere, number)
    os.close(nowhere)
    with contextlib.suppress(OSError):  # what was left after a closed pipe
        sys.stdout.flush()
    pager.wait()
    for number, kept in replaced:
        os.dup2(kept, number)
        os.close(kept)
