"""Run git in an environment without prompts, fetches, pagers and optional locks."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from git_taskctx.errors import Fatal, GitFailed, TryAgain, hint_in
from git_taskctx.git import ahead
from git_taskctx.git.ahead import Process, TimedOut
from git_taskctx.git.quoting import quote, shown
from git_taskctx.lean import regex
from git_taskctx.limits import GIT_SECONDS, NETWORK_SECONDS
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.shell import shell_word
from git_taskctx.system import time_spent

PATIENCE = 5.0
"""Seconds in which nearly every git process ends."""
GRACE = 2.0
"""Seconds that git gets to clean up when asked to end."""

_LOCKED = regex(
    r"^(?!remote: ).*(?:Unable to create '(.*\.lock)': File exists|could not lock config file (.*): File exists)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Result:
    code: int
    out: bytes
    err: bytes

    @property
    def complaint(self) -> str:
        """git's first complaint, without `fatal:`, as one line."""
        for line in self.err.decode("utf-8", "replace").splitlines():
            match = re.match(r"(?:fatal|error): (.*)", line)
            if match:
                return match[1]
        lines = self.err.decode("utf-8", "replace").splitlines()
        return lines[0] if lines else f"git ended with {self.code}"


@dataclass(frozen=True)
class Git:
    """A way to run git in one folder."""

    cwd: Path
    environ: Mapping[str, str]
    overlay: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to set, or to remove (None)."""
    settings: tuple[str, ...] = ()
    """`-c` settings of every call."""
    time_limit: float = GIT_SECONDS
    network_limit: float = NETWORK_SECONDS
    patience: float = PATIENCE
    """Seconds before looking for what git may be waiting for."""
    foreground: bool = False
    """True: it may use the terminal, which only the foreground process group can read."""
    hard_limit: bool = False
    """True: the time limit also ends what works; otherwise only what takes no CPU time."""

    def with_env(self, **variables: str | None) -> Git:
        """Return this git with more environment variables set, or removed (None)."""
        return replace(self, overlay={**self.overlay, **variables})

    def with_settings(self, settings: Iterable[str]) -> Git:
        """Return this git with more `-c` settings."""
        return replace(self, settings=(*self.settings, *settings))

    def in_foreground(self) -> Git:
        """Return this git, allowed to ask for a password and to take as long as a network takes."""
        return replace(self, foreground=True, time_limit=self.network_limit, hard_limit=True)

    def environment(self) -> dict[str, str]:
        result = ahead.environment(self.environ)
        for key, value in self.overlay.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = value
        return result

    def argv(self, args: Sequence[str | bytes]) -> list[bytes]:
        """Return the whole command line for `args`."""
        return ahead.command_line(self.settings, args)

    def run(self, *args: str | bytes, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> Result:
        """Run git to its end.

        Raises: GitFailed for an exit code outside `ok`; TryAgain after the time limit; Fatal when there is no git.
        """
        return self.finish(self.start(*args), *args, stdin=stdin, ok=ok)

    def feed(self, *args: str | bytes, stdin: Iterable[bytes], ok: Sequence[int] = (0,)) -> Result:
        """Run git to its end with input in pieces; raises as `run`."""
        process = self.start(*args)
        try:
            with contextlib.suppress(BrokenPipeError):  # its exit code says it
                for piece in stdin:
                    process.stdin.write(piece)
        except BaseException:
            stop(process, gently=True)
            raise
        return self.finish(process, *args, ok=ok)

    def finish(self, process: Process, *args: str | bytes, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> Result:
        """Wait for a process from `start` with the same `args`; raises as `run`."""
        began = time.perf_counter()
        try:
            out, err = self._wait(process, stdin)
        except TimedOut as error:
            stop(process, gently=True)
            raise TryAgain(
                f"`git {_words(args)}` did not end within {self.time_limit:g} s",
                hint="is there a FIFO in the way, or a file system that does not answer?",
            ) from error
        except BaseException:
            stop(process, gently=True)
            raise
        result = Result(process.wait(), out, err)
        self.trace(began, result.code, args)
        if result.code not in ok:
            raise GitFailed(f"`git {_words(args)}`: {result.complaint}", hint=way_out(result, self.cwd))
        return result

    def trace(self, began: float, code: int, args: Sequence[str | bytes]) -> None:
        """Trace a process's time, by `time.perf_counter`, and exit code."""
        if "GIT_TASKCTX_TRACE" in self.environ:
            trace(self.environ, f"{(time.perf_counter() - began) * 1000:7.1f} ms  {code}  {_words(args)}")

    def _wait(self, process: Process, stdin: bytes) -> tuple[bytes, bytes]:
        """Wait for a process, looking for what blocks it if it takes long. Raises: Fatal, TimedOut."""
        try:
            return process.communicate(stdin, timeout=min(self.patience, self.time_limit))
        except TimedOut:
            from git_taskctx.git.waits import find_fifo

            fifo = find_fifo(self.cwd)
            if fifo is not None:
                reason = f"{quote(os.fsencode(fifo))} is a FIFO, and git waits for it"
                raise Fatal(reason, hint=f"rm {shell_word(fifo)}") from None
        while True:
            spent = time_spent(process.pid)
            try:
                return process.communicate(timeout=max(self.time_limit - self.patience, 0))
            except TimedOut:
                if self.hard_limit or time_spent(process.pid) - spent < self.time_limit / 100:
                    raise  # else it is at work: a file of many GiB takes long

    def start(self, *args: str | bytes, quiet: bool = False) -> Process:
        """Start git with pipes for all streams in its own process group, or take one started ahead.

        `quiet` discards its complaints, so that a full pipe never stops it.
        """
        argv, env = self.argv(args), self.environment()
        begun = ahead.take(argv, env, os.fspath(self.cwd))
        if begun is not None:
            return begun
        try:
            os.stat(f"{os.fspath(self.cwd)}/.")  # noqa: PTH116 - as chdir would find it
        except FileNotFoundError as error:
            raise Fatal(f"cannot change to '{self.cwd}': no such folder") from error
        except OSError as error:
            raise Fatal(f"cannot change to '{self.cwd}': {(error.strerror or '').lower()}") from error
        try:
            return Process(argv, env, os.fspath(self.cwd), quiet=quiet, foreground=self.foreground)
        except FileNotFoundError as error:
            raise Fatal("git is not on PATH", hint="install git 2.31 or newer") from error


def trace(environ: Mapping[str, str], text: str) -> None:
    """Write a trace line where `GIT_TASKCTX_TRACE` says: 1 is stderr, an absolute path a file."""
    target = environ.get("GIT_TASKCTX_TRACE", "")
    if target in ("", "0", "false"):
        return
    plain = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    line = f"taskctx: {plain}\n".encode("utf-8", "backslashreplace")
    with contextlib.suppress(OSError):  # tracing never changes what is done
        _write_line(target, line)


def _write_line(target: str, line: bytes) -> None:
    if target.startswith("/"):
        with Path(target).open("ab") as file:
            file.write(line)
    else:
        os.write(2, line)


def stop(process: Process, *, gently: bool = False) -> None:
    """Kill and reap a git process with its children; `gently` lets it remove its locks first."""
    if gently and process.poll() is None:
        _send(process, signal.SIGTERM)
        with contextlib.suppress(TimedOut):
            process.wait(GRACE)
    if process.poll() is None:
        _send(process, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.close()
    process.wait()


def _send(process: Process, number: int) -> None:
    try:
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:  # in our own group; ssh and the like end with the pipes to it
            process.send_signal(number)
    except ProcessLookupError:
        process.send_signal(number)


def _words(args: Sequence[str | bytes]) -> str:
    words = (quote(os.fsencode(arg)) for arg in args if not os.fsencode(arg).startswith(b"-"))
    return shown(" ".join(words))[:80]


def way_out(result: Result, folder: Path) -> str | None:
    """Return the command for git's complaint; a leftover lock is named, and never removed."""
    text = os.fsdecode(result.err)
    match = re.search(r"git config --global --add safe\.directory .*", text)
    if match:
        return match[0].strip()
    match = _LOCKED.search(text)
    if match is None:
        return None if result.complaint.startswith("remote: ") else hint_in(result.complaint)
    lock = os.path.normpath(folder / (match[1] or f"{match[2]}.lock"))
    return f"rm {shell_word(lock)}   # if no git is running"
