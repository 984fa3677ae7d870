"""Commands as tasks: a process group of its own, its whole output in files, and no more of it in memory than a tail."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from git_taskctx.runner.faults import BadValue, Cancelled, CommandFailed, TimedOut
from git_taskctx.runner.frozen import digest
from git_taskctx.runner.job import TICK
from git_taskctx.runner.task import Task, TaskContext

TAIL = 64 * 1024
"""Bytes of each stream that are kept in the store."""
GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL."""
_PIECE = 64 * 1024
_LEFT = 1024 * 1024
"""Bytes that are still read when the command has ended: more than a pipe holds."""


class CommandTask(Task):
    """A command as a task: `<id>.stdout`, `<id>.stderr` and `<id>.exit_code` are set whatever it ends with.

    argv is never a shell line. wall, idle: seconds in all, and without output, until it is ended as `timed out`.
    The options are those of Task.
    """

    def __init__(
        self,
        id: str,
        argv: Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        wall: float | None = None,
        idle: float | None = None,
        grace: float = GRACE,
        **options: Any,
    ) -> None:
        if isinstance(argv, str) or not argv or not all(isinstance(word, str) for word in argv):
            raise BadValue(f"the command of {id} must be a list of strings, and not an empty one")
        what = {"command": list(argv), "cwd": None if cwd is None else os.fspath(cwd), "env": env and dict(env)}
        options.setdefault("definition", what)
        run = partial(run_command, argv=tuple(argv), cwd=cwd, env=env, wall=wall, idle=idle, grace=grace)
        super().__init__(id, run, **options)


def run_command(
    ctx: TaskContext,
    argv: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    wall: float | None = None,
    idle: float | None = None,
    grace: float = GRACE,
) -> None:
    """Run a command, set its three keys, and send its output as events; nothing of its process group outlives it.

    Raises: CommandFailed, TimedOut, Cancelled; OSError where it cannot be started.
    """
    folder = ctx.log_folder()
    with (
        _Stream("stdout", folder, ctx) as out,
        _Stream("stderr", folder, ctx) as err,
        _started(argv, cwd, env) as process,
    ):
        end = _Watch(process, ctx, wall, idle, grace).read({process.stdout: out, process.stderr: err})
        code = process.returncode
    for stream in (out, err):
        value = stream.value()
        identity = {name: value[name] for name in ("size", "sha256")}
        ctx.outputs.set(stream.name, value, keep=True, identity=identity)
    ctx.outputs.set("exit_code", code, keep=True)
    line = shlex.join(argv)
    if end is not None:
        raise end
    if code:
        how = f"ended with {code}" if code > 0 else f"was killed by {_signal_name(-code)}"
        raise CommandFailed(f"{line} {how}", code, digest([line, code, out.sha.hexdigest(), err.sha.hexdigest()]))


class _Stream:
    """One stream of a process: all of it in a file, a digest of all, and the tail."""

    def __init__(self, name: str, folder: Path, ctx: TaskContext) -> None:
        self.name = name
        self.path = folder / name
        self.size = 0
        self.sha = hashlib.sha256()
        self._tail = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._emit = ctx.emit

    def __enter__(self) -> _Stream:
        self._file = self.path.open("wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def feed(self, piece: bytes) -> None:
        self.size += len(piece)
        self.sha.update(piece)
        left = memoryview(piece)
        while left:  # a write may take a part, when the disk is nearly full
            left = left[self._file.write(left) :]
        self._tail += piece
        del self._tail[:-TAIL]
        self._send(self._decoder.decode(piece))

    def end(self) -> None:
        self._send(self._decoder.decode(b"", final=True))

    def _send(self, text: str) -> None:
        if text:
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
    """Start a process in a session of its own; what is left of its group is killed before it is reaped.

    Until then no other group can get its number.
    """
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, bufsize=0,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            _signal_group(process, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        _wait_for_group(process.pid)


def _wait_for_group(group: int) -> None:
    """Wait until the kernel has ended what was killed: its files are closed then. A zombie that nobody reaps stays."""
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except OSError:
            return
        time.sleep(0.001)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
        os.killpg(process.pid, number)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    if hasattr(os, "waitid"):  # leaves it to be reaped, so that its group's number stays taken
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Watch:
    """Reads what a process writes until it ends, and ends it when its time is over."""

    def __init__(
        self, process: subprocess.Popen[bytes], ctx: TaskContext, wall: float | None, idle: float | None, grace: float
    ) -> None:
        self.process, self.ctx = process, ctx
        self.wall, self.idle, self.grace = wall, idle, grace
        self.began = self.heard = time.monotonic()
        self.kill_at: float | None = None
        self.why: Exception | None = None

    def read(self, streams: Mapping[IO[bytes] | None, _Stream]) -> Exception | None:
        """Return why the process was ended; None where it ended by itself."""
        with selectors.DefaultSelector() as selector, _exit_watched(self.process, selector) as tick:
            for pipe, stream in streams.items():
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, selectors.EVENT_READ, stream)
            while not _has_ended(self.process):
                for key, _ in selector.select(tick):
                    if isinstance(key.data, _Stream) and self._take(key.fd, key.data) == 0:
                        selector.unregister(key.fileobj)
                self._look()
            _signal_group(self.process, signal.SIGKILL)
            for key in list(selector.get_map().values()):
                if isinstance(key.data, _Stream):
                    self._drain(key.fd, key.data)
        self.process.wait()
        for stream in streams.values():
            stream.end()
        return self.why

    def _take(self, descriptor: int, stream: _Stream) -> int | None:
        """Read a piece. Returns: its length, 0 at the end, None where there is nothing now."""
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return None
        if piece:
            stream.feed(piece)
            self.heard = time.monotonic()
        return len(piece)

    def _drain(self, descriptor: int, stream: _Stream) -> None:
        """Read what is left in the pipe; one who left the group may hold it open, and write for ever."""
        left = _LEFT
        while left > 0 and (size := self._take(descriptor, stream)):
            left -= size

    def _look(self) -> None:
        """End the process when its time is over: SIGTERM first, SIGKILL when that did not help."""
        now = time.monotonic()
        if self.kill_at is not None:
            if now >= self.kill_at:
                _signal_group(self.process, signal.SIGKILL)
            return
        self.why = self._reason(now)
        if self.why is not None:
            self.kill_at = now + self.grace
            _signal_group(self.process, signal.SIGTERM)

    def _reason(self, now: float) -> Exception | None:
        if self.ctx.is_cancelled:
            return Cancelled(f"{self.ctx.task} was cancelled")
        if self.wall is not None and now - self.began >= self.wall:
            return TimedOut(f"{self.ctx.task} took more than {self.wall:g} s")
        if self.idle is not None and now - self.heard >= self.idle:
            return TimedOut(f"{self.ctx.task} wrote nothing for {self.idle:g} s")
        return None


@contextlib.contextmanager
def _exit_watched(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> Iterator[float]:
    """Let the selector wake when the process ends, where the kernel can do that; yields how long it may sleep."""
    watch: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    try:
        descriptor = watch(process.pid) if watch is not None else None
    except OSError:  # Linux before 5.3, and sandboxes that forbid it
        descriptor = None
    if descriptor is None:
        yield TICK / 10
        return
    selector.register(descriptor, selectors.EVENT_READ)
    try:
        yield TICK
    finally:
        os.close(descriptor)
