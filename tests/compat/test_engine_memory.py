"""What is remembered from one reading to the next makes it quicker, and never wrong."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from compat.engine import agree, read
from gitrepo import GitRepo

from git_taskctx.git import fast, index
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

Step = Callable[[GitRepo], object]


@pytest.fixture
def warm(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A repository that was read often enough for everything to be remembered, whatever its number and age."""
    monkeypatch.setattr(index, "MANY", 1)
    monkeypatch.setattr(fast, "MANY", 1)
    monkeypatch.setattr(index, "RACY", -(10**18))
    repo.write(".gitignore", "*.log\n")
    for folder in ("a", "a/b", "a/b/c", "d"):
        repo.write(f"{folder}/file", folder)
        repo.write(f"{folder}/new.log", "ignored")
    repo.commit()
    repo.write("a/b/untracked", "x")
    repo.write("a/b/c/file", "edited")
    read(repo, keep=True)
    expected = repo.oracle()
    for _ in range(3):
        assert read(repo) == expected
    assert len(_blobs(repo).read_bytes()) == 32 + 2 * 36
    assert flagged(repo) == frozenset()
    assert _memory(repo).read_bytes()[:20] == (repo.git_dir() / "index").read_bytes()[-20:]
    return repo


def _memory(repo: GitRepo) -> Path:
    return repo.git_dir() / "taskctx/unflagged"


def _blobs(repo: GitRepo) -> Path:
    return repo.git_dir() / "taskctx/read"


def flagged(repo: GitRepo) -> frozenset[bytes]:
    """Return the paths that a reading finds under a flag."""
    repository = open_repository(repo.path, dict(os.environ))
    try:
        with read_worktree(repository, keep=False) as reading:
            return reading.flagged
    finally:
        repository.close()


def _restore_times(repo: GitRepo) -> None:
    """Put a file into a folder and give the folder its times back."""
    found = repo.at("a/b").stat()
    repo.write("a/b/sneaked", "x")
    os.utime(repo.at("a/b"), ns=(found.st_atime_ns, found.st_mtime_ns))


def _same_size_and_time(repo: GitRepo) -> None:
    """Write a file as long as before in the moment that it has already."""
    found = repo.at("d/file").stat()
    repo.write("d/file", "e")
    os.utime(repo.at("d/file"), ns=(found.st_atime_ns, found.st_mtime_ns))


def _excludes(repo: GitRepo) -> None:
    repo.write("a/more.txt", "x")
    read(repo)
    (repo.git_dir() / "info").mkdir(exist_ok=True)
    (repo.git_dir() / "info/exclude").write_text("more.txt\n")


STEPS: dict[str, Step] = {
    "an untracked file deep down": lambda repo: repo.write("a/b/c/new", "x"),
    "an untracked folder": lambda repo: repo.write("x/y/z/new", "x"),
    "an untracked file gone": lambda repo: repo.remove("a/b/untracked"),
    "an untracked file edited": lambda repo: repo.write("a/b/untracked", "other"),
    "a tracked file edited": lambda repo: repo.write("a/b/file", "other"),
    "a tracked file gone": lambda repo: repo.remove("d/file"),
    "a tracked folder gone": lambda repo: repo.remove("a"),
    "a folder renamed": lambda repo: repo.at("a/b").rename(repo.at("a/q")),
    "a file for a folder": lambda repo: (repo.remove("a/b"), repo.write("a/b", "x")),
    "a link for a folder": lambda repo: (repo.remove("d"), repo.symlink("d", "a")),
    "nothing ignored any more": lambda repo: repo.remove(".gitignore"),
    "other things ignored": lambda repo: repo.write(".gitignore", "untracked\n"),
    "a nested ignore file": lambda repo: repo.write("a/.gitignore", "!*.log\nuntracked\n"),
    "an exclude file": _excludes,
    "global excludes": lambda repo: (
        repo.write("../excluded", "untracked\n"),
        repo.config("core.excludesFile", os.fspath(repo.at("../excluded"))),
    ),
    "something staged": lambda repo: (repo.write("a/file", "staged"), repo.add("a/file")),
    "staged, then edited": lambda repo: (repo.write("a/file", "s"), repo.add("a/file"), repo.write("a/file", "t")),
    "an ignored file added": lambda repo: repo.git("add", "-f", "d/new.log"),
    "no longer tracked": lambda repo: repo.git("rm", "--cached", "-q", "d/file"),
    "a commit": lambda repo: repo.commit("more"),
    "another branch": lambda repo: (repo.commit("more"), repo.checkout("-b", "other", "HEAD~1")),
    "a hard reset": lambda repo: repo.git("reset", "-q", "--hard"),
    "cleaned": lambda repo: repo.git("clean", "-q", "-f", "-d", "-x"),
    "a stash": lambda repo: (repo.write("d/file", "x"), repo.git("stash", "push", "-q", "-u")),
    "no file to ignore by mode": lambda repo: repo.chmod("d/file", 0o755),
    "a flag": lambda repo: (repo.git("update-index", "--assume-unchanged", "d/file"), repo.write("d/file", "h")),
    "an attribute": lambda repo: repo.write(".gitattributes", "* text=auto\n"),
    "everything touched": lambda repo: [
        os.utime(path) for path in repo.path.rglob("*") if ".git" not in path.parts and path.is_file()
    ],
    "a repository inside": lambda repo: GitRepo.init(repo.at("inner")).commit(),
    "a file under restored times": _restore_times,
    "a file of the same size and time": _same_size_and_time,
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_change_is_seen_whatever_is_remembered(warm: GitRepo, step: Step) -> None:
    """After each kind of change the next readings give git's tree, and so does the one after it is undone."""
    step(warm)
    agree(warm)
    warm.write("a/after", "more")
    agree(warm)


@pytest.mark.parametrize("key", ["core.trustctime=false", "core.checkStat=minimal"])
def test_folders_are_not_remembered_where_their_times_can_be_put_back(repo: GitRepo, key: str) -> None:
    """A file that comes into a folder whose times are restored is found as git finds it."""
    repo.config(*key.split("="))
    repo.write("a/b/file", "x")
    repo.commit()
    for _ in range(3):
        read(repo)
    _restore_times(repo)
    agree(repo)


def _flagged_ignore(repo: GitRepo) -> None:
    repo.git("update-index", "--assume-unchanged", ".gitignore")
    read(repo)
    repo.write(".gitignore", "untracked\n")


def _becomes_a_repository(repo: GitRepo) -> None:
    """A folder that git has looked at becomes a repository by what comes below its `.git`."""
    repo.write("inner/file", "x")
    repo.at("inner/.git").mkdir()
    for _ in range(3):
        read(repo)
    other = GitRepo.init(repo.git_dir() / "other")
    other.commit()
    shutil.copytree(other.path / ".git", repo.at("inner/.git"), dirs_exist_ok=True)


def _another_filter(repo: GitRepo) -> None:
    """A file that was found unchanged goes through a filter from now on."""
    os.utime(repo.at("a/file"))
    for _ in range(3):
        read(repo)
    repo.config("filter.q.clean", "tr a c")
    (repo.git_dir() / "info").mkdir(exist_ok=True)
    (repo.git_dir() / "info/attributes").write_text("a/file filter=q\n")


LATER: dict[str, Step] = {
    "an ignore file under a flag": _flagged_ignore,
    "a folder that becomes a repository": _becomes_a_repository,
    "another filter": _another_filter,
}


@pytest.mark.parametrize("step", LATER.values(), ids=LATER)
def test_git_remembers_nothing_for_us(warm: GitRepo, step: Step) -> None:
    """What git would note in an index of its own, and trust later, is not trusted here."""
    step(warm)
    assert read(warm) == warm.oracle()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda memory: memory.write_bytes(memory.read_bytes()[:-3]),
    "longer": lambda memory: memory.write_bytes(b"x" * 5000),
    "empty": lambda memory: memory.write_bytes(b""),
    "of another index": lambda memory: memory.write_bytes(b"x" * 20),
    "gone": lambda memory: memory.unlink(),
    "a folder": lambda memory: (memory.unlink(), memory.mkdir()),
    "a link": lambda memory: (memory.unlink(), memory.symlink_to("/etc/passwd")),
    "a FIFO": lambda memory: (memory.unlink(), os.mkfifo(memory)),
}


@pytest.mark.parametrize("memory", [_memory, _blobs])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_memory_is_only_slower(
    warm: GitRepo, damage: Callable[[Path], object], memory: Callable[[GitRepo], Path]
) -> None:
    """Whatever became of our private file, the tree is git's, and a flag is found."""
    damage(memory(warm))
    warm.write("d/file", "more")
    agree(warm)
    warm.git("update-index", "--assume-unchanged", "a/file")
    assert flagged(warm) == {b"a/file"}


def test_a_file_of_the_same_stat_is_not_read_again(warm: GitRepo) -> None:
    """Its blob is the remembered one, as another in its place shows; a reading that is kept reads it all the same."""
    true = warm.oracle()
    found = _blobs(warm).read_bytes()[32:]
    swapped = found[:16] + found[-20:] + found[36:]  # the first file as the second
    _blobs(warm).write_bytes(hashlib.sha256(swapped).digest() + swapped)
    assert read(warm) != true
    assert read(warm, keep=True) == true
    assert read(warm) == true


def test_a_file_that_changed_just_now_is_not_remembered(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may change again within the tick of a clock; nor is one that is not in the repository, or one of a few."""
    repo.write("file", "x")
    repo.commit()
    repo.write("file", "edited")
    monkeypatch.setattr(fast, "MANY", 1)
    monkeypatch.setattr(index, "RACY", -(10**18))
    read(repo, keep=True)
    assert not _blobs(repo).exists()
    monkeypatch.setattr(index, "MANY", 1)
    repo.write("file", "edited again")
    read(repo)
    assert not _blobs(repo).exists()
    monkeypatch.undo()
    monkeypatch.setattr(index, "MANY", 1)
    read(repo, keep=True)
    assert not _blobs(repo).exists()


def test_a_reading_that_was_not_held_is_not_kept(repo: GitRepo) -> None:
    """It may lack the objects of files that were not read."""
    repo.commit()
    repository = open_repository(repo.path, {**os.environ, **repo.env})
    try:
        with read_worktree(repository, keep=False) as reading, pytest.raises(ValueError, match="without `hold`"):
            reading.keep()
    finally:
        repository.close()


def _declined(repo: GitRepo, trace: Path) -> bool:
    """Read as the oracle; return whether git had to read anything."""
    view = GitRepo(repo.path, env={**repo.env, "GIT_TASKCTX_TRACE": os.fspath(trace)})
    trace.write_text("")
    assert read(view) == repo.oracle()
    return "declines" in trace.read_text()


def test_a_large_file_is_read_by_git_once(warm: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is remembered with the small files, until it changes; git reads it for as long as nobody has its blob."""
    trace = tmp_path / "trace"
    monkeypatch.setattr(fast, "MOST", 10)
    warm.write("a/b/large", "0123456789abc")
    warm.write("large", "0123456789")
    assert _declined(warm, trace)
    assert _declined(warm, trace)
    read(warm, keep=True)
    assert not _declined(warm, trace)
    warm.write("a/b/large", "0123456789abd")
    assert _declined(warm, trace)
    warm.config("core.autocrlf", "true")
    warm.write("a/b/large", "0123456789\r\n")
    read(warm, keep=True)
    assert _declined(warm, trace)


@pytest.mark.needs_lfs
def test_git_lfs_is_run_once_for_one_content(warm: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a snapshot no other reading runs it, until a file changes, its configuration, or itself."""
    trace, log, program = tmp_path / "trace", tmp_path / "log", tmp_path / "bin/git-lfs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho \"$1\" >>'{log}'\nexec '{shutil.which('git-lfs')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    warm.git("lfs", "install", "--local", "--skip-repo")
    warm.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    warm.commit("attributes")
    for number in range(3):
        warm.write(f"d/{number}.bin", bytes([number]) * 5000)
    read(warm, keep=True)
    log.unlink()
    warm.write("a/beside", "no filter")
    tree = read(warm)
    assert not log.exists()
    assert tree == warm.oracle()
    for step in (
        lambda: warm.write("d/1.bin", b"x" * 5000),
        lambda: warm.config("lfs.extension.case.clean", "tr a-z A-Z"),
        lambda: (
            warm.git("config", "--unset", "lfs.extension.case.clean"),
            program.write_text(program.read_text() + "#\n"),
        ),
        lambda: warm.config("filter.lfs.clean", "tr a-z A-Z"),
    ):
        read(warm, keep=True)
        step()
        assert _declined(warm, trace)


def test_a_remembered_blob_that_is_gone_is_made_again(warm: GitRepo) -> None:
    """Where the tree is new all its blobs are there for who asks, also those of files that were not read."""
    blob = warm.git("hash-object", "a/b/untracked")
    (warm.git_dir() / "objects" / blob[:2] / blob[2:]).unlink()
    warm.write("d/file", "more")
    repository = open_repository(warm.path, {**os.environ, **warm.env})
    try:
        with read_worktree(repository, keep=False) as reading:
            assert reading.objects.get(blob, "blob") == b"x"
            assert reading.tree == warm.oracle()
    finally:
        repository.close()


def test_a_flag_is_found_whatever_is_remembered(warm: GitRepo) -> None:
    """A flag that comes is another index, and so is one that goes."""
    for flag in ("assume-unchanged", "skip-worktree"):
        warm.git("update-index", f"--{flag}", "d/file")
        assert flagged(warm) == flagged(warm) == {b"d/file"}
        warm.git("update-index", f"--no-{flag}", "d/file")
        assert flagged(warm) == flagged(warm) == frozenset()


def test_two_readings_at_once_agree(warm: GitRepo) -> None:
    """Readings side by side all give git's tree."""
    warm.write("d/file", "more")
    trees: list[str] = []
    threads = [threading.Thread(target=lambda: trees.append(read(warm))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trees == [warm.oracle()] * 4


def test_an_odd_tree_in_head_is_never_taken_for_what_git_writes(repo: GitRepo) -> None:
    """A tree with a mode that git no longer writes is written anew at every reading, not only at the first."""
    blob = repo.git("hash-object", "-w", "--stdin", input="x")
    raw = b"100664 a\0" + bytes.fromhex(blob)
    tree = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=raw)
    repo.git("update-ref", "HEAD", repo.git("commit-tree", "-m", "odd", tree))
    repo.git("reset", "-q", "--hard")
    repo.write("b", "new")
    for _ in range(3):
        assert read(repo) == repo.oracle()
