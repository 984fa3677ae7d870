"""One process that has loaded the package, and forks for each call of `git taskctx`: a fifth of what a new one costs.

A call has the arguments, the environment, the folder, the streams, the process group and the parent that a new process
would have. Whatever a loaded process cannot have (other variables of Python's or of the loader's, another session or
user, closed streams, ignored signals) has the caller start Python itself. So do the tests of start-up, of what is
loaded, of kills and of faults: what is sent to the caller alone does not reach the fork.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import marshal
import os
import pkgutil
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_CLIENT = """\
import _signal, _socket, marshal, posix, sys
place, python, *words = sys.argv[1:]
try:
    for number in 0, 1, 2:
        posix.fstat(number)
    if _signal.SIG_IGN in map(_signal.getsignal, (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM)):
        raise OSError
    umask = posix.umask(0o77)
    posix.umask(umask)
    files = [0, 1, 2, posix.open(".", posix.O_RDONLY)]
    call = marshal.dumps((words, posix.environ, umask, posix.getppid(), posix.getpgrp(), posix.getsid(0)))
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    line.connect(place)
    rights = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    line.sendmsg([len(call).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    line.sendall(call)
    taken = line.recv(1)
except OSError:
    taken = b""
if not taken:
    posix.execv(python, [python, "-P", "-m", "git_taskctx", *words])
told = line.recv(2)
if len(told) < 2:
    sys.exit("the process that forks is gone")
status = int.from_bytes(told, "big")
if status > 255:
    _signal.signal(status - 256, _signal.SIG_DFL)
    posix.kill(posix.getpid(), status - 256)
posix._exit(status)
"""
_FIXED = (b"PYTHON", b"LC_", b"LANG", b"LD_", b"DYLD_", b"TYPER_")
"""Variables that are read when a process starts, or a module is loaded."""
_USUAL = {"PYTHONPATH": os.fspath(ROOT), "LC_ALL": "C.UTF-8"}


def command() -> list[str]:
    """Return the words that run `git taskctx`; PYTHONPATH must have the package."""
    if not hasattr(os, "pidfd_open"):  # Linux 5.3
        return [sys.executable, "-P", "-m", "git_taskctx"]
    folder = _served()
    client = (os.fspath(folder / name) for name in ("client.py", "socket"))
    return [sys.executable, "-I", "-S", *client, sys.executable]


@functools.cache
def _served() -> Path:
    """Start the process that forks; return the folder of its socket and of the program that calls there."""
    folder = Path(tempfile.mkdtemp(prefix="taskctx-warm-"))
    (folder / "client.py").write_text(_CLIENT)
    server = subprocess.Popen(
        [sys.executable, "-P", __file__, folder / "socket"],
        cwd="/",
        env={name: value for name, value in os.environ.items() if not name.encode().startswith(_FIXED)} | _USUAL,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )

    def end() -> None:
        with server:
            server.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return folder


def serve(place: str) -> None:
    """Answer calls until stdin is closed."""
    import git_taskctx

    for module in pkgutil.walk_packages(git_taskctx.__path__, "git_taskctx."):
        importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    fixed = _fixed(os.environb)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(64)
    running: dict[int, tuple[int, socket.socket]] = {}
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([0, listener, *running], [], [])
        if 0 in ready:
            return
        for handle in set(ready) & set(running):
            pid, line = running.pop(handle)
            os.close(handle)
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            with line, contextlib.suppress(OSError):  # of a caller that was killed
                line.sendall((code if code >= 0 else 256 - code).to_bytes(2, "big"))
        if listener in ready:
            line, _ = listener.accept()
            call, files = _called(line)
            if call is None or call[-1] != os.getsid(0) or _fixed(call[1]) != fixed:
                line.close()
            elif pid := os.fork():
                with contextlib.suppress(OSError):  # the caller was killed
                    line.sendall(b"y")
                running[os.pidfd_open(pid)] = pid, line
            else:
                for handle in (listener.fileno(), line.fileno(), *running):
                    os.close(handle)
                for _, other in running.values():
                    os.close(other.fileno())
                _answer(files, *call[:-1])
            for file in files:
                os.close(file)


def _called(line: socket.socket) -> tuple[tuple[Any, ...] | None, list[int]]:
    """Return a call, and the files that came with it; no call of a caller that was killed meanwhile."""
    files: list[int] = []
    try:
        size, files, _, _ = socket.recv_fds(line, 4, 4)
        return marshal.loads(_read(line, int.from_bytes(size, "big"))), files
    except (OSError, EOFError):
        return None, files


def _read(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := line.recv(size - len(data))):
        data += piece
    return data


def _fixed(environ: Any) -> dict[bytes, bytes]:
    return {name: value for name, value in environ.items() if name.startswith(_FIXED)}


def _answer(
    files: list[int], words: list[str], environ: dict[bytes, bytes], umask: int, parent: int, group: int
) -> None:
    """Become the process that was called for."""
    from git_taskctx.__main__ import run

    os.setpgid(0, group)
    os.fchdir(files[3])
    os.umask(umask)
    for number in range(3):
        os.dup2(files[number], number)
    for file in files:
        os.close(file)
    os.environb.clear()
    os.environb.update(environ)
    time.tzset()
    os.getppid = lambda: parent
    sys.argv = ["git-taskctx", *words]
    sys.stdin = sys.__stdin__ = os.fdopen(0, errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", errors="surrogateescape", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    run()


if __name__ == "__main__":
    serve(sys.argv[1])
