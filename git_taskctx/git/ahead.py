"""git processes, some started before our own modules are loaded, so that git works meanwhile.

An answer is used only for the same words, variables and folder. A worktree status is used only if the index is the file
that it read, and no verb of ours wrote into the worktree since. Everything else is asked again; unused processes are
killed.

Nothing heavier than `os` is imported here: that is the point.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # typing itself takes as long to load as git to answer
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

STATUS = (
    "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none",
    "--branch", "--no-ahead-behind",
)  # fmt: skip
SETTINGS = (
    "config", "-z", "--show-origin", "--get-regexp",
    r"^(core|index|extensions|taskctx|color|pager)\.|^user\.name$|^hook\..*\.(command|event|enabled)$|"
    r"^remote\..*\.promisor$",
)  # fmt: skip
PLACES_OF = (
    ("--show-toplevel",),
    ("--absolute-git-dir",),
    ("--path-format=absolute", "--git-common-dir"),
    ("--path-format=absolute", "--git-path", "index"),
    ("--show-object-format",),
)
"""Questions to `git rev-parse` about places."""
READER = ("cat-file", "--batch")
REFS = ("for-each-ref", "--format=%(objectname) %(refname)")
WINDOWS = ("core.packedGitWindowSize=16m", "core.packedGitLimit=64m")
"""Limits how much of its packs the reading process maps; git would map large ones whole (git-config)."""

QUIET = (
    "core.hooksPath=/dev/null",
    "hook.post-index-change.enabled=false",
    "hook.reference-transaction.enabled=false",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.safecrlf=false",
    "add.ignoreErrors=false",
    "advice.addEmbeddedRepo=false",
    "diff.ignoreSubmodules=none",
    "gc.auto=0",
    "maintenance.auto=false",
)
"""Settings without hooks or monitors of the repository, and without silently omitted files."""
UNORDERED = ("diff.orderFile=/dev/null",)
AS_WRITTEN = {"GIT_NO_REPLACE_OBJECTS": "1"}
"""Replacements would make git compare with another tree than HEAD's, and read other objects than named."""

PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
"""Variables that locate one repository, and must not apply to another."""
_OWN = ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""Variables for our copy of the index and for new objects: status answers the same without."""
_SET = {
    "LANGUAGE": "en",
    # `git status` writes the index it has refreshed, and that of each submodule; see git(1).
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
}
# In a server's hooks git sets GIT_QUARANTINE_PATH, and then refuses to move any ref (git-receive-pack, QUARANTINE).
_DROP = frozenset({
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS", "GIT_PREFIX", "GIT_REFLOG_ACTION", "GIT_QUARANTINE_PATH",
})  # fmt: skip
_IGNORED = (13, 25)
"""SIGPIPE and SIGXFSZ, which Python ignores and git must not; `signal` takes a while to load."""
PIPE = 4096
"""Bytes that a new pipe takes at once, whether or not anybody reads (the least that Linux gives it)."""
PIECE = 1 << 16
"""Bytes that are read at once: what a pipe holds."""
RACY = 100_000_000
"""Nanoseconds: a younger index may be rewritten with the same time (clocks tick every 1 to 10 ms)."""


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of all our git processes, based on the caller's."""
    kept = {key: value for key, value in environ.items() if key not in _DROP and not key.startswith("GIT_TRACE")}
    return kept | _SET


def command_line(settings: Sequence[str], args: Sequence[str | bytes]) -> list[bytes]:
    """Return the whole command line for `args`."""
    head = [b"git", b"--no-pager"]
    for setting in settings:
        head += [b"-c", os.fsencode(setting)]
    return head + [os.fsencode(arg) for arg in args]


def identity(found: os.stat_result) -> tuple[int, ...]:
    """Return what identifies a file with its content, unless racy."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class TimedOut(Exception):
    """A process did not end in time."""


class Process:
    """A process with pipes: the used part of `subprocess.Popen`, which takes long to load."""

    def __init__(
        self, argv: list[bytes], env: dict[str, str], folder: str, *, quiet: bool = False, foreground: bool = False
    ) -> None:
        """Start git in `folder`; `quiet` discards its complaints, `foreground` leaves it in our process group.

        Raises: OSError.
        """
        self.asked = (argv, env, folder)
        self.index: tuple[int, ...] | None = None
        """The identity of the index before."""
        self.returncode: int | None = None
        self._read: dict[IO[bytes], bytearray] | None = None
        """What `communicate` has read."""
        ours, theirs = zip(*(os.pipe()[::-1], os.pipe(), os.pipe()), strict=True)
        words = [argv[0], b"-C", os.fsencode(folder), *argv[1:]]
        actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs)]
        if quiet:
            actions[2] = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        group = {} if foreground else {"setpgroup": 0}
        try:
            program = _find(os.fsdecode(argv[0]), env)
            self.pid = os.posix_spawn(program, words, env, setsigdef=_IGNORED, file_actions=actions, **group)  # type: ignore[arg-type]
        except OSError:
            for end in ours:
                os.close(end)
            raise
        finally:
            for end in theirs:
                os.close(end)
        self.stdin: IO[bytes] = os.fdopen(ours[0], "wb")
        self.stdout: IO[bytes] = os.fdopen(ours[1], "rb")
        self.stderr: IO[bytes] = os.fdopen(ours[2], "rb")

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises: TimedOut."""
        if timeout is None:
            self._reap(0)
        end = time.monotonic() + (timeout or 0)
        while self.poll() is None:
            self._left(end)
            time.sleep(0.001)
        return self.returncode or 0

    def communicate(self, data: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Send `data`, read all output and wait for the end. Raises: TimedOut; the next call goes on, without data."""
        import select

        end = None if timeout is None else time.monotonic() + timeout
        if self._read is None:
            self._read = {self.stdout: bytearray(), self.stderr: bytearray()}
            self._send(data)
        streams = {stream.fileno(): stream for stream in self._read if not stream.closed}
        poll = select.poll()
        for descriptor in streams:
            poll.register(descriptor, select.POLLIN)
        while streams:
            for descriptor, _ in poll.poll(None if end is None else 1000 * self._left(end)):
                piece = os.read(descriptor, PIECE)
                self._read[streams[descriptor]] += piece
                if not piece:
                    poll.unregister(descriptor)
                    streams.pop(descriptor).close()
        self.wait(None if end is None else max(0.001, end - time.monotonic()))
        return bytes(self._read[self.stdout]), bytes(self._read[self.stderr])

    def _send(self, data: bytes) -> None:
        """Write all input: in a thread of its own what may fill the pipe before git reads."""

        def send() -> None:
            try:
                with self.stdin as stream:
                    stream.write(data)
            except BrokenPipeError:  # its exit code says it
                pass

        if len(data) <= PIPE:
            send()
        else:
            import threading

            threading.Thread(target=send, daemon=True).start()

    def send_signal(self, number: int) -> None:
        """Send a signal if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _left(self, end: float) -> float:
        left = end - time.monotonic()
        if left <= 0:
            raise TimedOut
        return left

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _find(program: str, env: Mapping[str, str]) -> str:
    """Return a program's file by the PATH that it gets. Raises: FileNotFoundError."""
    path = env.get("PATH", os.defpath)
    key = (program, path)
    if key not in _found:
        for folder in path.split(os.pathsep):
            file = f"{folder or '.'}/{program}"
            if os.access(file, os.X_OK) and not os.path.isdir(file):  # noqa: PTH112 - no pathlib here
                _found[key] = file
                break
        else:
            raise FileNotFoundError(program)
    return _found[key]


_found: dict[tuple[str, str], str] = {}
_begun: list[Process] = []
_mark: tuple[str, object] | None = None


def begin(
    folder: str,
    environ: Mapping[str, str],
    worktree: tuple[str, str] | None,
    *,
    settings: bool = True,
    objects: bool = True,
    scan: str | None = None,
    refs: Sequence[str] = (),
) -> None:
    """Start what a verb asks first; `worktree` is the presumed top and git dir.

    `settings` and `objects` are read besides. With `scan` git also scans the worktree; `scan` is a file whose content
    changes whenever a verb of ours may have written there. `refs` are for a verb that takes no lock first.
    """
    global _mark  # one process runs one verb
    env = environment(environ)
    named = any(name in environ for name in (*_OWN, *PLACES))
    try:
        if worktree is not None and not named:
            top, git_dir = worktree
            if scan is not None and (index := _stat(f"{git_dir}/index")) is not None and not is_racy(index):
                _mark = scan, read_mark(scan)
                _add((*QUIET, *UNORDERED), STATUS, env | AS_WRITTEN, top).index = identity(index)
            if settings:
                _add(QUIET, SETTINGS, env, top)
            if objects:
                _add((*QUIET, *WINDOWS), READER, env | AS_WRITTEN, top)
            if refs:
                _add(QUIET, (*REFS, *refs), env, top)
        _add((), ("rev-parse", *(word for question in PLACES_OF for word in question)), env, folder)
    except OSError:  # whoever asks for it finds out why
        return


def take(argv: list[bytes], env: Mapping[str, str], folder: str) -> Process | None:
    """Return a process started with the same words, variables and folder, once."""
    for at, begun in enumerate(_begun):
        if begun.index is None and begun.asked == (argv, env, folder):
            return _begun.pop(at)
    return None


def take_status(argv: list[bytes], env: Mapping[str, str], folder: str, index: os.stat_result | None) -> Process | None:
    """Return the status started for this index; None where it must be asked now.

    The caller must compare `identity` of the index with this once the process has ended.
    """
    plain = {key: value for key, value in env.items() if key not in _OWN}
    for at, begun in enumerate(_begun):
        if begun.index is not None and begun.asked == (argv, plain, folder) and _mark is not None:
            if index is not None and begun.index == identity(index) and read_mark(_mark[0]) == _mark[1]:
                return _begun.pop(at)
            return None
    return None


def end() -> None:
    """Kill unused processes."""
    while _begun:
        begun = _begun.pop()
        try:  # noqa: SIM105 - contextlib would be one more to load
            os.killpg(begun.pid, 9)
        except OSError:  # it has ended
            pass
        begun.wait()
        for stream in (begun.stdin, begun.stdout, begun.stderr):
            stream.close()


def read_mark(path: str) -> object:
    """Return a file's content and time."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 64), identity(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _add(settings: Sequence[str], args: Sequence[str], env: dict[str, str], folder: str) -> Process:
    begun = Process(command_line(settings, args), env, folder)
    _begun.append(begun)
    return begun


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - no pathlib here
    except OSError:
        return None


def is_racy(found: os.stat_result) -> bool:
    """Return whether a file may be written again with the same times."""
    return max(found.st_mtime_ns, found.st_ctime_ns) > time.time_ns() - RACY
