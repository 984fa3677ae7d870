"""Files written whole or not at all, behind one lock, and never through a link.

A hostile repository may have put links, FIFOs or devices where we expect our files; nothing here follows or opens one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from git_taskctx.errors import BadData, Fatal, TryAgain, find_refusal
from git_taskctx.limits import ANY_FILE, LOCK_SECONDS, MAX_DEPTH, PIECE
from git_taskctx.shell import shell_word
from git_taskctx.system import sync

LANES = 4
"""Threads that wait for the disk."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask for an end: work in progress is undone in order, as in git."""
TEMPORARY = ".tmp-taskctx-"
"""Prefix of temporary files."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ReadOnly(Fatal):
    """The place cannot be written."""

    code = "read-only"


@contextlib.contextmanager
def held_lock(path: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the kernel's lock on `path`, which dies with its process; the file's text changes each time.

    Raises: TryAgain after `seconds`; Fatal where `path` is not a regular file; ReadOnly.
    """
    require_plain(path)
    descriptor = _lock_at_once(path)
    if descriptor is not None:
        try:
            yield
        finally:
            _mark(descriptor)
        return
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=seconds, poll_interval=0.002, mode=0o600)
    try:
        lock.acquire()
    except Timeout as error:
        raise TryAgain(
            f"another git-taskctx holds {path.name} for more than {seconds:g} s", hint="try again when it has finished"
        ) from error
    except OSError as error:
        raise _as_error(error, path) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it may be gone
            _mark(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC))
        lock.release()


def _mark(descriptor: int) -> None:
    """Write something new into a lock and close it; on a full disk its time shows that it was held."""
    try:
        os.pwrite(descriptor, os.urandom(16), 0)
    except OSError:
        with contextlib.suppress(OSError):
            os.utime(descriptor)
    finally:
        os.close(descriptor)


def _lock_at_once(path: Path) -> int | None:
    """Take filelock's lock if it is free; return its descriptor, None where filelock must wait or report.

    Loading filelock 4.3 takes 110 ms of CPU, a whole `status` 71.
    """
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink == 1:
            return descriptor
    except OSError:
        pass
    if descriptor is not None:
        os.close(descriptor)
    return None


@contextlib.contextmanager
def held_folder(path: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the kernel's lock on a folder, without a lock file. Raises: TryAgain after `seconds`; Fatal, ReadOnly."""
    end, descriptor = time.monotonic() + seconds, None
    while descriptor is None:
        try:
            descriptor = lock_folder(path, wait=False)
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise TryAgain(
                    f"another git-taskctx works on {path} for more than {seconds:g} s",
                    hint="try again when it has finished",
                ) from error
            time.sleep(0.005)
        except OSError as error:
            raise _as_error(error, path) from error
    try:
        yield
    finally:
        os.close(descriptor)


def lock_folder(path: Path, *, wait: bool = True, flags: int = 0) -> int:
    """Return the kernel's lock on a folder, held until it is closed or its process ends.

    `flags` are for `open`. Raises: OSError; BlockingIOError if it is held, without `wait`.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def require_plain(path: Path, *, folder: bool = False) -> bool:
    """Return whether `path` exists, as a regular file or a folder. Raises: Fatal for anything else."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return True
    raise Fatal(
        f"{path} is {_kind(mode)}, and git-taskctx opens none there",
        hint=f"ls -ld {shell_word(path)}   # look at it, then move it away",
    )


def make_folder(path: Path) -> None:
    """Create `path` (0700) if missing; its parent must exist. Raises: Fatal, ReadOnly."""
    if not require_plain(path, folder=True):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            require_plain(path, folder=True)
        except OSError as error:
            raise _as_error(error, path) from error


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace `path` by `data` as `write_all` does."""
    write_all({path: data}, mode=mode)


def write_all(contents: Mapping[Path, bytes], *, mode: int = 0o600) -> None:
    """Replace files: temporary files beside them, fsync, rename, fsync of the folders.

    A crash leaves the old bytes or the new ones of each; the umask applies to `mode`. Raises: Fatal, ReadOnly.
    """
    for path in contents:
        require_plain(path)
    with naming(path if len(contents) == 1 else path.parent):
        replace_files(contents, mode=mode)
        sync_all({path.parent for path in contents})


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, exact: bool = False) -> None:
    """Replace whatever is at `path` as `replace_files` does."""
    replace_files({path: data}, mode=mode, exact=exact)


def replace_files(contents: Mapping[Path, bytes], *, mode: int = 0o600, exact: bool = False) -> None:
    """Replace whatever is at these paths, unless one fails; `sync_all` makes it durable. Raises: OSError.

    `exact` ignores the umask.
    """
    temporaries = {path: temporary_of(path) for path in contents}
    try:  # an interrupt may come as soon as a file is there
        for path, temporary in temporaries.items():
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as file:
                if exact:
                    os.fchmod(descriptor, mode)
                file.write(contents[path])
        sync_all(temporaries.values())
        for path, temporary in temporaries.items():
            temporary.replace(path)
    except BaseException:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
        raise


def temporary_of(path: Path) -> Path:
    """Return an unused name beside `path`."""
    return path.with_name(f"{_left_by(path)}{os.urandom(6).hex()}")


def sweep_beside(path: Path) -> None:
    """Remove leftovers of writes to `path`, while nobody writes there. Raises: OSError."""
    sweep_temporaries(path.parent, _left_by(path))


def _left_by(path: Path) -> str:
    return f"{TEMPORARY}{path.name[:100]}-"


def read_plain(path: Path, *, limit: int = ANY_FILE) -> bytes | None:
    """Return the bytes of a regular file, if any.

    Raises: Fatal for a link or a special file, BadData over `limit` bytes.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        require_plain(path)
        raise _as_error(error, path) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Fatal(f"{path} is {_kind(found.st_mode)}, and git-taskctx opens none there")
        if found.st_size > limit:
            raise BadData(f"{path} has {found.st_size} bytes, more than {limit}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(found.st_size + 1)  # `limit` at once would take that much memory first
            while len(data) <= limit and (more := file.read(PIECE)):
                data += more
    except OSError as error:
        raise _as_error(error, path) from error
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise BadData(f"{path} grew over {limit} bytes while it was read")
    return data


def give_back(top: Path, *names: str) -> None:
    """Give what root made below `top`, under these names, to whoever owns `top`: 0600 would lock the owner out.

    git trusts a repository of somebody else's for `sudo`, and where safe.directory names it. Nothing that is reached
    through a link, or that has another name elsewhere, is given away.
    """
    if os.geteuid() != 0 or not top.exists() or (owner := top.stat()).st_uid == 0:
        return
    for name in names:
        *folders, last = Path(name).parts
        with contextlib.suppress(OSError), contextlib.ExitStack() as opened:  # not there, or reached through a link
            folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, folder)
            for part in folders:
                _give(folder, part, owner, depth=0)
                folder = os.open(part, _FOLDER, dir_fd=folder)
                opened.callback(os.close, folder)
            _give(folder, last, owner, depth=MAX_DEPTH)


def give_as(folder: int, name: bytes | str, owner: os.stat_result) -> None:
    """Give one file or folder that root made in `folder`, a descriptor, to an owner."""
    if os.geteuid() == 0 and owner.st_uid:
        _give(folder, os.fsdecode(name), owner, depth=0)


def _give(folder: int, name: str, owner: os.stat_result, *, depth: int) -> None:
    found = os.lstat(name, dir_fd=folder)
    is_folder = stat.S_ISDIR(found.st_mode)
    if not is_folder and (found.st_uid or not stat.S_ISREG(found.st_mode)):
        return
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        for below in os.listdir(descriptor) if is_folder and depth else ():  # noqa: PTH208 - a descriptor
            with contextlib.suppress(FileNotFoundError):
                _give(descriptor, below, owner, depth=depth - 1)
        found, now = os.fstat(descriptor), os.lstat(name, dir_fd=folder)
        # Of a second name, which only some systems refuse, nobody knows whose it is (fs.protected_hardlinks).
        if found.st_uid == 0 and os.path.samestat(found, now) and (is_folder or now.st_nlink == 1):
            with contextlib.suppress(OSError):  # in a user namespace the owner may have no number
                os.fchown(descriptor, owner.st_uid, owner.st_gid if found.st_gid == os.getegid() else -1)
    finally:
        os.close(descriptor)


def begin_with(folder: Path, prefix: str) -> list[Path]:
    """Return what begins with `prefix` in a folder that may be missing; a glob would be compiled first."""
    with contextlib.suppress(OSError):
        return [folder / name for name in os.listdir(folder) if name.startswith(prefix)]  # noqa: PTH208 - only names
    return []


def sweep_temporaries(folder: Path, begins: str = ".tmp-") -> None:
    """Remove leftovers of interrupted writes; requires the lock."""
    for entry in begin_with(folder, begins):
        if entry.is_file() and not entry.is_symlink():
            entry.unlink(missing_ok=True)


def sync_all(paths: Iterable[Path]) -> None:
    """Make files, or renames in folders, durable. Raises: OSError.

    In a few threads: a file system commits together what waits for it at once (jbd2 in Linux).
    """
    waiting, failed = [*paths], list[OSError]()
    left = iter(waiting)

    def sync_some() -> None:
        for path in left:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    sync(descriptor)
                finally:
                    os.close(descriptor)
            except OSError as error:
                failed.append(error)

    lanes = []
    if len(waiting) > 1:
        from threading import Thread

        lanes = [Thread(target=sync_some) for _ in range(min(LANES, len(waiting)) - 1)]
    for lane in lanes:
        lane.start()
    sync_some()
    for lane in lanes:
        lane.join()
    if failed:
        raise failed[0]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Delay the signals that ask for an end until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name `path` in errors of the system. Raises: Fatal, ReadOnly."""
    try:
        yield
    except OSError as error:
        raise _as_error(error, path) from error


def _as_error(error: OSError, path: Path) -> Fatal:
    reason, known = (error.strerror or str(error)).lower(), find_refusal(error)
    hint = known.hint if known else None
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return ReadOnly(f"cannot write {path}: {reason}", hint=hint)
    return Fatal(f"{path}: {reason}", hint=hint)


def _kind(mode: int) -> str:
    for test, name in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISREG, "a file"),
    ):
        if test(mode):
            return name
    return "a device"
