"""Files written whole or not at all, behind the kernel's lock, and never through a link."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gitrepo import ROOT

from git_taskctx.errors import BadData, Fatal, TryAgain
from git_taskctx.files import (
    ReadOnly,
    held_lock,
    make_folder,
    read_plain,
    require_plain,
    sweep_beside,
    sweep_temporaries,
    temporary_of,
    write_atomic,
)

Make = Callable[[Path], None]


def link_to_file(path: Path) -> None:
    path.with_name("target").write_bytes(b"secret")
    path.symlink_to(path.with_name("target"))


def link_to_folder(path: Path) -> None:
    path.with_name("target").mkdir()
    path.symlink_to(path.with_name("target"))


def dangling_link(path: Path) -> None:
    path.symlink_to(path.with_name("target"))


def looping_link(path: Path) -> None:
    path.symlink_to(path)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(path))
    listener.close()


def folder(path: Path) -> None:
    path.mkdir()


def plain_file(path: Path) -> None:
    path.write_bytes(b"x")


odd = pytest.mark.parametrize(
    "make", [link_to_file, link_to_folder, dangling_link, looping_link, fifo, a_socket, folder]
)


def census(place: Path) -> dict[str, object]:
    return {
        path.name: (path.lstat().st_mode, path.lstat().st_ino, path.read_bytes() if is_file(path) else None)
        for path in place.iterdir()
    }


def is_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


@odd
@pytest.mark.parametrize(
    "door",
    [
        require_plain,
        read_plain,
        lambda path: write_atomic(path, b"new"),
        lambda path: held_lock(path, seconds=0.1).__enter__(),
    ],
    ids=["require_plain", "read_plain", "write_atomic", "held_lock"],
)
def test_odd_files_are_refused_at_each_door(tmp_path: Path, make: Make, door: Callable[[Path], object]) -> None:
    """A link, a FIFO, a socket or a folder where a file should be is refused, and nothing changes."""
    make(tmp_path / "file")
    before = census(tmp_path)
    with pytest.raises(Fatal) as caught:
        door(tmp_path / "file")
    assert caught.value.message.isprintable()
    assert not isinstance(caught.value, ReadOnly)
    assert census(tmp_path) == before


@pytest.mark.parametrize(
    "make", [link_to_file, link_to_folder, dangling_link, looping_link, fifo, a_socket, plain_file]
)
@pytest.mark.parametrize(
    "door", [make_folder, lambda path: require_plain(path, folder=True)], ids=["make_folder", "require_plain"]
)
def test_odd_folders_are_refused(tmp_path: Path, make: Make, door: Callable[[Path], object]) -> None:
    """The same where a folder should be."""
    make(tmp_path / "folder")
    before = census(tmp_path)
    with pytest.raises(Fatal):
        door(tmp_path / "folder")
    assert census(tmp_path) == before


def test_nothing_there(tmp_path: Path) -> None:
    """What is missing is missing, also under a file."""
    plain_file(tmp_path / "file")
    for path in (tmp_path / "none", tmp_path / "none/deep", tmp_path / "file/below"):
        assert read_plain(path) is None
        assert require_plain(path) is False


def test_write_and_read(tmp_path: Path) -> None:
    """What was written is read back; private, whatever the umask is."""
    old = os.umask(0)
    try:
        make_folder(tmp_path / "folder")
        write_atomic(tmp_path / "folder/file", b"one")
        write_atomic(tmp_path / "folder/file", b"two")
    finally:
        os.umask(old)
    assert read_plain(tmp_path / "folder/file") == b"two"
    assert stat.S_IMODE((tmp_path / "folder/file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]


def test_folder_that_is_there(tmp_path: Path) -> None:
    """A folder that is there stays as it is; one without a parent is an error in one line."""
    make_folder(tmp_path)
    with pytest.raises(Fatal) as caught:
        make_folder(tmp_path / "none/deep")
    assert caught.value.message.isprintable()


def test_names_at_the_limit(tmp_path: Path) -> None:
    """A name as long as a file system takes, in bytes, can be written."""
    for name in ("n" * 255, "é" * 127):
        write_atomic(tmp_path / name, b"x")
        assert read_plain(tmp_path / name) == b"x"


def test_another_name_of_the_old_file_keeps_the_old_bytes(tmp_path: Path) -> None:
    """A write replaces the name, never the bytes in place: a hard link keeps what it had."""
    plain_file(tmp_path / "file")
    (tmp_path / "other").hardlink_to(tmp_path / "file")
    write_atomic(tmp_path / "file", b"new")
    assert (tmp_path / "other").read_bytes() == b"x"


def test_too_large_to_read(tmp_path: Path) -> None:
    """A file over the limit is bad data, and is not read."""
    (tmp_path / "file").write_bytes(b"12345")
    assert read_plain(tmp_path / "file", limit=5) == b"12345"
    with pytest.raises(BadData):
        read_plain(tmp_path / "file", limit=4)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """A write that cannot be finished leaves the old bytes and no temporary file."""
    write_atomic(tmp_path / "file", b"old")
    run = python(
        """
        import resource, signal
        from git_taskctx.errors import Fatal
        from git_taskctx.files import write_atomic
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_atomic(Path("file"), b"x" * 5000)
        except Fatal as error:
            print(error.message)
        """,
        tmp_path,
    )
    out, _ = run.communicate()
    assert "file too large" in out
    assert census(tmp_path).keys() == {"file"}
    assert read_plain(tmp_path / "file") == b"old"


def test_killed_while_writing(tmp_path: Path) -> None:
    """Killed between any two steps, a write leaves the old bytes or the new ones; the rest is swept."""
    steps = ["os.open", "os.fsync", "Path.replace"]
    for step in steps:
        for after in (False, True):
            write_atomic(tmp_path / "file", b"old")
            run = python(
                f"""
                import signal
                from git_taskctx.files import write_atomic
                real = {step}
                def killed(*args, **options):
                    result = real(*args, **options) if {after} else None
                    os.kill(os.getpid(), signal.SIGKILL)
                    return result
                {step} = killed
                write_atomic(Path("file"), b"new")
                """,
                tmp_path,
            )
            run.communicate()
            assert run.returncode == -signal.SIGKILL
            assert read_plain(tmp_path / "file") == (b"new" if (step, after) == ("Path.replace", True) else b"old")
            sweep_temporaries(tmp_path)
            assert census(tmp_path).keys() == {"file"}


def test_sweeping_takes_only_ours(tmp_path: Path) -> None:
    """Nothing but our own temporary files is swept; a link of that name is not followed."""
    names = ("file", ".tmp", "x.tmp-1")
    for name in (*names, ".tmp-file-1"):
        plain_file(tmp_path / name)
    (tmp_path / ".tmp-folder").mkdir()
    (tmp_path / ".tmp-link").symlink_to(tmp_path / "file")
    sweep_temporaries(tmp_path)
    assert census(tmp_path).keys() == {*names, ".tmp-folder", ".tmp-link"}
    sweep_temporaries(tmp_path / "none")


def test_sweeping_beside_a_file(tmp_path: Path) -> None:
    """What was left by writes to one file goes, whatever its name holds; that of its neighbours stays."""
    for name in ("a[1]", "b"):
        plain_file(temporary_of(tmp_path / name))
    sweep_beside(tmp_path / "a[1]")
    (left,) = census(tmp_path)
    assert left.startswith(".tmp-taskctx-b-")


def test_read_only_folder(tmp_path: Path) -> None:
    """Where nothing can be written at all, that is what is said."""
    for door in (lambda path: write_atomic(path, b"x"), make_folder, lambda path: held_lock(path).__enter__()):
        with pytest.raises(ReadOnly) as caught:
            door(Path("/proc/self/fdinfo/none")) if os.geteuid() != 0 else door(read_only(tmp_path) / "none")
        assert caught.value.message.isprintable()


def read_only(tmp_path: Path) -> Path:
    """Find a place that even root cannot write to."""
    for place in (Path("/sys"), Path("/proc/sys"), Path("/proc")):
        try:
            (place / "taskctx-none").mkdir()
        except OSError as error:
            if error.errno in (1, 13, 30):
                return place
    pytest.skip(f"root may write everywhere here ({tmp_path})")


def python(code: str, cwd: Path) -> subprocess.Popen[str]:
    import textwrap

    head = f"import os, sys\nfrom pathlib import Path\nsys.path.insert(0, {os.fspath(ROOT)!r})\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


HOLDER = """
from git_taskctx.files import held_lock
with held_lock(Path("lock")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_is_exclusive_across_processes(tmp_path: Path) -> None:
    """While one process holds the lock another is told to try again, and gets it when the first lets go."""
    holder = python(HOLDER, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(TryAgain) as caught, held_lock(tmp_path / "lock", seconds=0.01):
        pytest.fail("two hold it")
    assert caught.value.exit_code == 75
    holder.communicate("")
    with held_lock(tmp_path / "lock", seconds=5):
        pass


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    """A killed holder holds nothing: no stale lock, nothing to clean up."""
    holder = python(HOLDER, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    with held_lock(tmp_path / "lock", seconds=5):
        pass


def test_the_lock_is_released_on_failure(tmp_path: Path) -> None:
    """An error inside lets go of the lock."""
    with pytest.raises(RuntimeError), held_lock(tmp_path / "lock"):
        raise RuntimeError
    holder = python(HOLDER, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.communicate("")


def test_a_lock_file_that_was_left(tmp_path: Path) -> None:
    """A lock file is only a file: what counts is who holds it."""
    (tmp_path / "lock").write_bytes(b"left")
    with held_lock(tmp_path / "lock"):
        assert stat.S_ISREG((tmp_path / "lock").stat().st_mode)


def test_the_lock_says_that_it_was_held(tmp_path: Path) -> None:
    """What the file says is another thing after each holder, whether or not it had to wait, and also after an error."""
    said = []
    for _ in range(2):
        with held_lock(tmp_path / "lock"):
            pass
        said.append((tmp_path / "lock").read_bytes())
        holder = python(HOLDER, tmp_path)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waiter = python(HOLDER, tmp_path)
        holder.communicate("")
        said.append((tmp_path / "lock").read_bytes())
        waiter.communicate("")
        said.append((tmp_path / "lock").read_bytes())
        with pytest.raises(RuntimeError), held_lock(tmp_path / "lock"):
            raise RuntimeError
        said.append((tmp_path / "lock").read_bytes())
    assert len(set(said)) == len(said)
    (tmp_path / "lock").unlink()
    with held_lock(tmp_path / "lock"):
        (tmp_path / "lock").unlink()


def test_writers_behind_the_lock_lose_nothing(tmp_path: Path) -> None:
    """Processes that read, add and write behind the lock lose no update."""
    adder = """
    from git_taskctx.files import held_lock, read_plain, write_atomic
    for _ in range(25):
        with held_lock(Path("lock")):
            write_atomic(Path("count"), b"%d" % (int(read_plain(Path("count")) or b"0") + 1))
    """
    running = [python(adder, tmp_path) for _ in range(4)]
    for process in running:
        process.communicate()
    assert [process.returncode for process in running] == [0] * 4
    assert read_plain(tmp_path / "count") == b"100"
