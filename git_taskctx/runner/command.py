"""Commands as tasks: a process group of its own, its whole output in files, and no more of it in memory than a tail."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from git_taskctx.runner.faults import BadValue, Cancelled, CommandFailed, TimedOut
from git_taskctx.runner.frozen import hash_json
from git_taskctx.runner.job import TICK
from git_taskctx.runner.task import Task, TaskContext

TAIL = _PIECE = 64 * 1024
"""Bytes of each stream that are kept in the store; and that are read at once."""
GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL."""
_LEFT = 1024 * 1024
"""Bytes that are still read when the command has ended: more than a pipe holds."""


class CommandTask(Task):
    """A command as a task, with the arguments of `run_command` and the options of Task."""

    def __init__(
        self, id: str, argv: Sequence[str], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
        wall: float | None = None, idle: float | None = None, grace: float = GRACE, **options: Any,
    ) -> None:  # fmt: skip
        if isinstance(argv, str) or not argv or not all(isinstance(word, str) for word in argv):
            raise BadValue(f"the command of {id} must be a list of strings, and not an empty one")
        what = {"command": list(argv), "cwd": None if cwd is None else os.fspath(cwd), "env": env and dict(env)}
        options.setdefault("definition", what)
        run = partial(run_command, argv=tuple(argv), cwd=cwd, env=env, wall=wall, idle=idle, grace=grace)
        super().__init__(id, run, **options)


def run_command(
    ctx: TaskContext, argv: Sequence[str], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
    wall: float | None = None, idle: float | None = None, grace: float = GRACE,
) -> None:  # fmt: skip
    """Run a command and set `<id>.stdout`, `<id>.stderr` and `<id>.exit_code`, whatever it ends with.

    Its output also goes out as events; nothing of its process group outlives it. argv is never a shell line. wall,
    idle: seconds in all, and without output, until it is ended.
    Raises: CommandFailed, TimedOut, Cancelled; OSError where it cannot be started.
    """
    folder = ctx.log_folder()
    with contextlib.ExitStack() as stack:
        out, err = (stack.enter_context(_Stream(name, folder, ctx)) for name in ("stdout", "stderr"))
        watch = _Watch(stack.enter_context(_started(argv, cwd, env)), ctx, wall, idle, grace)
        watch.read(out, err)
    for stream in (out, err):
        value = stream.value()
        identity = {name: value[name] for name in ("size", "sha256")}
        ctx.outputs.set(stream.name, value, keep=True, identity=identity)
    code = watch.process.returncode
    ctx.outputs.set("exit_code", code, keep=True)
    if watch.why is not None:
        raise watch.why
    if code:
        how = f"ended with {code}" if code > 0 else f"was killed by {signal.Signals(-code).name}"
        signature = hash_json([list(argv), code, out.sha.hexdigest(), err.sha.hexdigest()])
        raise CommandFailed(f"{shlex.join(argv)} {how}", signature, code if code > 0 else 128 - code)


class _Stream:
    """One stream of a process: all of it in a file, a digest of all, and the tail."""

    def __init__(self, name: str, folder: Path, ctx: TaskContext) -> None:
        self.name, self.path, self.size, self.sha = name, folder / name, 0, hashlib.sha256()
        self._tail, self._decoder, self._emit = bytearray(), codecs.getincrementaldecoder("utf-8")("replace"), ctx.emit

    def __enter__(self) -> _Stream:
        self._file = self.path.open("wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def feed(self, piece: bytes, *, final: bool = False) -> None:
        self.size += len(piece)
        self.sha.update(piece)
        left = memoryview(piece)
        while left:  # a write may take a part, when the disk is nearly full
            left = left[self._file.write(left) :]
        self._tail += piece
        del self._tail[:-TAIL]
        if text := self._decoder.decode(piece, final):
            self._emit("output", stream=self.name, text=text)

    def value(self) -> dict[str, Any]:
        tail = bytes(self._tail)
        if self.size > TAIL:  # what is left of a letter that was cut
            tail = tail.lstrip(bytes(range(0x80, 0xC0)))
        text = tail.decode("utf-8", "replace")
        return {"tail": text, "size": self.size, "sha256": self.sha.hexdigest(), "path": os.fspath(self.path)}


@contextlib.contextmanager
def _started(
    argv: Sequence[str], cwd: str | Path | None, env: Mapping[str, str] | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a session of its own; at the end kill what is left of its group, and reap it."""
    process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True, bufsize=0)  # fmt: skip
    try:
        with process:
            try:
                yield process
            finally:  # before it is reaped: until then no other group can get its number
                _signal_group(process.pid, signal.SIGKILL)
    finally:
        end = time.monotonic() + 0.1
        while time.monotonic() < end and _signal_group(process.pid, 0):  # a zombie that nobody reaps stays
            time.sleep(0.001)


def _signal_group(group: int, number: int) -> bool:
    """Send a signal. Returns: whether anybody is there."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
        return False
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    if hasattr(os, "waitid"):  # leaves it to be reaped
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


class _Watch:
    """Reads what a process writes until it ends, and ends it when its time is over."""

    def __init__(
        self, process: subprocess.Popen[bytes], ctx: TaskContext, wall: float | None, idle: float | None, grace: float
    ) -> None:
        self.process, self.ctx, self.wall, self.idle, self.grace = process, ctx, wall, idle, grace
        self.began = self.heard = time.monotonic()
        self.kill_at: float | None = None
        self.why: Exception | None = None
        """Why it was ended; None where it ended by itself."""

    def read(self, out: _Stream, err: _Stream) -> None:
        """Read to the end; one who left the group may hold the pipe open then, and write for ever."""
        pipes = {
            pipe.fileno(): stream for pipe, stream in ((self.process.stdout, out), (self.process.stderr, err)) if pipe
        }
        poll = select.poll()  # of so few descriptors it costs less than epoll(7), which is one more
        with _exit_watched(self.process, poll) as tick:
            for pipe in pipes:
                os.set_blocking(pipe, False)
                poll.register(pipe, select.POLLIN)
            while not _has_ended(self.process):
                for descriptor, _ in poll.poll(1000 * tick):
                    if descriptor in pipes and self._take(descriptor, pipes[descriptor]) == 0:
                        poll.unregister(descriptor)
                self._look()
        _signal_group(self.process.pid, signal.SIGKILL)
        for pipe, stream in pipes.items():
            left = _LEFT
            while left > 0 and (size := self._take(pipe, stream)):
                left -= size
            stream.feed(b"", final=True)

    def _take(self, pipe: int, stream: _Stream) -> int | None:
        """Read a piece. Returns: its length, 0 at the end, None where there is nothing now."""
        try:
            piece = os.read(pipe, _PIECE)
        except BlockingIOError:
            return None
        if piece:
            stream.feed(piece)
            self.heard = time.monotonic()
        return len(piece)

    def _look(self) -> None:
        """End the process when its time is over: SIGTERM first, SIGKILL when that did not help."""
        now = time.monotonic()
        if self.kill_at is not None:
            if now >= self.kill_at:
                _signal_group(self.process.pid, signal.SIGKILL)
            return
        if self.ctx.is_cancelled:
            self.why = Cancelled(f"{self.ctx.task} was cancelled")
        elif self.wall is not None and now - self.began >= self.wall:
            self.why = TimedOut(f"{self.ctx.task} took more than {self.wall:g} s")
        elif self.idle is not None and now - self.heard >= self.idle:
            self.why = TimedOut(f"{self.ctx.task} wrote nothing for {self.idle:g} s")
        else:
            return
        self.kill_at = now + self.grace
        _signal_group(self.process.pid, signal.SIGTERM)


@contextlib.contextmanager
def _exit_watched(process: subprocess.Popen[bytes], poll: select.poll) -> Iterator[float]:
    """Let the poll wake when the process ends, where the kernel can do that; yields how long it may sleep."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # no Linux, Linux before 5.3, and sandboxes that forbid it
        yield TICK / 10
        return
    poll.register(descriptor, select.POLLIN)
    try:
        yield TICK
    finally:
        os.close(descriptor)
