"""Our temporary folder in the git dir: never in the worktree, swept after a kill."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from git_taskctx.files import begin_with, lock_folder, sync_all, undisturbed
from git_taskctx.git.repository import Repository

ROOM = 16 * 1024 * 1024
"""Free bytes needed to use the git dir."""
INODES = 256
"""Free inodes needed there."""
FEW = 256
"""Objects made durable one by one; for more, one sync of the system is faster."""


def quarantine(repository: Repository, folder: Path) -> dict[str, str]:
    """Make `folder`; return the environment that writes objects there and reads existing ones."""
    folder.mkdir()
    real = os.fspath(repository.object_dir)
    more = repository.git.environment().get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    return {
        "GIT_OBJECT_DIRECTORY": os.fspath(folder),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, (_c_quote(real), more))),
    }


def release(quarantined: Path, store: Path) -> None:
    """Move all objects out of quarantine, durably; existing ones get a new time.

    As git does for a push (`tmp_objdir_migrate`): packs before their indexes, so that nobody sees half.
    """
    names = [
        path
        for path in quarantined.rglob("*")
        if path.is_file() and path.parent.name != "info" and not path.name.startswith("tmp_")
    ]
    names.sort(key=lambda path: (path.suffix == ".idx", path))
    moves = dict[Path, Path]()
    for path in names:
        target = store / path.relative_to(quarantined)
        if target.exists():
            os.utime(target)
        else:
            moves[path] = target
    one_by_one = len(moves) <= FEW
    if one_by_one:
        sync_all(moves)
    for path, target in moves.items():
        if not target.parent.is_dir():
            target.parent.mkdir()
            target.parent.chmod(stat.S_IMODE(store.stat().st_mode))
        _move(path, target)
    if one_by_one:
        sync_all({target.parent for target in moves.values()})
    else:
        os.sync()


def _move(path: Path, target: Path) -> None:
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil

        copy = target.with_name(f"tmp_obj_{os.urandom(6).hex()}")
        shutil.copy2(path, copy)
        sync_all([copy])
        copy.rename(target)


@contextlib.contextmanager
def private_folder(repository: Repository) -> Iterator[Path]:
    """Create a temporary folder of ours, in the git dir if writable, never in the worktree.

    Folders of killed runs are swept: the kernel's lock on a folder dies with its process.
    """
    folder = repository.private_dir / f"tmp-{os.urandom(8).hex()}"
    descriptor = None
    try:  # an interrupt may come as soon as the folder is there
        try:
            descriptor = make_held_folder(folder)
        except OSError:
            import tempfile

            folder = Path(tempfile.mkdtemp(prefix="git-taskctx-", dir=_outside(repository)))
            descriptor = lock_folder(folder, flags=os.O_NOFOLLOW)
        yield folder
    finally:
        with undisturbed():
            remove_folder(folder)
            if descriptor is not None:
                os.close(descriptor)


def make_held_folder(folder: Path) -> int:
    """Create a folder in ours; return its lock. Raises: OSError.

    Sweeping waits: it would remove a folder not yet locked. Names begin with `tmp-`; those of killed processes are
    removed.
    """
    home = folder.parent
    home.mkdir(mode=0o700, exist_ok=True)
    _require_room(home)
    held = lock_folder(home, flags=os.O_NOFOLLOW)
    try:
        folder.mkdir(mode=0o700)
        descriptor = lock_folder(folder, flags=os.O_NOFOLLOW)
        sweep_folders(home, but=folder)
    finally:
        os.close(held)
    return descriptor


def _require_room(home: Path) -> None:
    """Check that the disk has room for a reading. Raises: OSError."""
    found = os.statvfs(home)
    if found.f_bavail * found.f_frsize < ROOM or (found.f_files and found.f_favail < INODES):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), home)


def _outside(repository: Repository) -> str | None:
    """Choose a temporary folder outside the worktree; None is the system's."""
    import tempfile

    top = repository.toplevel.resolve()
    if top not in (Path(tempfile.gettempdir()).resolve(), *Path(tempfile.gettempdir()).resolve().parents):
        return None
    return next((place for place in ("/dev/shm", "/var/tmp", "/tmp") if top not in Path(place).resolve().parents), None)  # noqa: S108


def remove_folder(folder: Path) -> None:
    """Remove a folder as far as possible, also with write permissions removed inside."""
    if folder.is_symlink() or not folder.is_dir():
        return
    with contextlib.suppress(OSError):
        for place, names, others in os.walk(folder, topdown=False):
            for name in others:
                os.unlink(f"{place}/{name}")  # noqa: PTH108 - there may be many
            for name in names:
                os.rmdir(f"{place}/{name}")  # noqa: PTH106
        folder.rmdir()
    if folder.is_dir():  # a link to a folder, or something that may not be written
        import shutil

        for place, names, _ in os.walk(folder):
            for below in (Path(place), *(Path(place) / name for name in names)):
                if not below.is_symlink():
                    with contextlib.suppress(OSError):
                        below.chmod(0o700)  # before it is entered
        shutil.rmtree(folder, ignore_errors=True)


def sweep_folders(home: Path, *, but: Path | None = None) -> None:
    """Remove folders of killed processes, by the kernel's lock."""
    for folder in begin_with(home, "tmp-"):
        if folder == but:
            continue
        try:
            descriptor = lock_folder(folder, wait=False, flags=os.O_NOFOLLOW)
        except OSError:
            continue  # in use, gone already, or not ours
        remove_folder(folder)
        os.close(descriptor)


def _c_quote(path: str) -> str:
    """Quote a path for GIT_ALTERNATE_OBJECT_DIRECTORIES if it has the separator or a quote."""
    if os.pathsep in path or path.startswith('"') or "\n" in path:
        return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return path
