"""What is remembered from one reading to the next makes it quicker, and never wrong."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from compat.engine import agree, read
from gitrepo import GitRepo

from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

Step = Callable[[GitRepo], object]


@pytest.fixture
def warm(repo: GitRepo) -> GitRepo:
    """A repository that was read often enough for everything to be remembered."""
    repo.write(".gitignore", "*.log\n")
    for folder in ("a", "a/b", "a/b/c", "d"):
        repo.write(f"{folder}/file", folder)
        repo.write(f"{folder}/new.log", "ignored")
    repo.commit()
    repo.write("a/b/untracked", "x")
    expected = repo.oracle()
    for _ in range(3):
        assert read(repo) == expected
    assert flagged(repo) == frozenset()
    assert _memory(repo).read_bytes()[:20] == (repo.git_dir() / "index").read_bytes()[-20:]
    return repo


def _memory(repo: GitRepo) -> Path:
    return repo.git_dir() / "taskctx/unflagged"


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


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_memory_is_only_slower(warm: GitRepo, damage: Callable[[Path], object]) -> None:
    """Whatever became of our private file, the tree is git's, and a flag is found."""
    damage(_memory(warm))
    warm.write("d/file", "more")
    agree(warm)
    warm.git("update-index", "--assume-unchanged", "a/file")
    assert flagged(warm) == {b"a/file"}


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
