"""Many and large changes: the same tree as git's, whatever is put aside meanwhile, and every file is read once."""

from __future__ import annotations

import hashlib
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from compat.engine import agree, read
from gitrepo import GitRepo
from tiers import some

from git_taskctx.git import objects
from git_taskctx.git.fast import Hashes
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

NAMES = ("a", "a.b", "a-b", "a0", "b", "A", "ab", "z")


def shuffle(repo: GitRepo, draw: random.Random, *, count: int) -> None:
    """Write, delete and swap files and folders at paths that sort in odd ways."""
    for _ in range(count):
        path = "/".join(draw.choices(NAMES, k=draw.randint(1, 4)))
        parents = [path[:at] for at, one in enumerate(path) if one == "/"]
        for parent in parents:
            if repo.at(parent).is_file():
                repo.remove(parent)
        if repo.at(path).exists():
            repo.remove(path)
        if draw.random() < 0.7 or not parents:
            repo.write(path, f"{draw.randint(0, 40)}\n" * draw.randint(1, 90), mode=draw.choice((0o644, 0o755)))


@pytest.mark.parametrize("seed", range(6))
def test_trees_are_git_s_when_objects_are_put_aside(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Folders are written as soon as they are left, and objects put aside every few, in whatever order names sort."""
    draw = random.Random(seed)
    shuffle(repo, draw, count=40)
    repo.commit()
    shuffle(repo, draw, count=60)
    if seed % 2:
        repo.add(*draw.sample([path.name for path in repo.path.iterdir() if path.name != ".git"], 2))
    monkeypatch.setattr(objects, "HELD", 3 * objects.OBJECT)
    monkeypatch.setattr(objects, "FEW", 5)
    agree(repo, declines="")
    repo.git("fsck", "--strict", "--no-dangling")


def test_all_that_is_new_is_one_pack(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often objects were put aside; the next reading writes none of them again."""
    repo.write("file", "x\n")
    repo.commit()
    for number in range(300):
        repo.write(f"folder-{number % 7}/file-{number}", f"{number // 2}\n")
    monkeypatch.setattr(objects, "HELD", 20 * objects.OBJECT)
    packs = repo.git_dir() / "objects" / "pack"
    tree = read(repo, keep=True)
    assert len(list(packs.glob("*.pack"))) == 1
    before = sorted(path.name for path in packs.iterdir())
    assert read(repo, keep=True) == tree == repo.oracle()
    assert sorted(path.name for path in packs.iterdir()) == before


def test_no_more_is_held_than_a_part(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty MiB in files of any size leave the memory where it was."""
    repo.write("file", "x\n")
    repo.commit()
    draw = random.Random(1)
    for number in range(80):
        repo.write(f"file-{number}", draw.randbytes(512 * 1024))
    monkeypatch.setattr(objects, "HELD", 2 * 1024 * 1024)
    tracemalloc.start()
    try:
        tree = read(repo, keep=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tree == repo.oracle()
    assert peak < 12 * 1024 * 1024


def test_every_file_is_read_once_for_both_hashes(repo: GitRepo) -> None:
    """The sha256 that is recorded is of the bytes that the blob was made of."""
    repo.write("gone", "x\n")
    repo.write("same", "x\n")
    repo.commit()
    repo.remove("gone")
    repo.write("new", b"\0bytes\r\n")
    repo.write("a/b", "")
    repo.symlink("link", "elsewhere")
    repository = open_repository(repo.path, {**os.environ, **repo.env})
    try:
        with read_worktree(repository, keep=False, hold=True) as reading:
            found = {path: reading.find_hash(path) for path in (b"a/b", b"gone", b"link", b"new", b"same", b"zz")}
    finally:
        repository.close()
    assert found == {
        b"a/b": (hashlib.sha256().hexdigest(), 0),
        b"gone": None,
        b"link": (hashlib.sha256(b"elsewhere").hexdigest(), 9),
        b"new": (hashlib.sha256(b"\0bytes\r\n").hexdigest(), 8),
        b"same": None,
        b"zz": None,
    }
    assert Hashes().find(b"") is None


def test_a_filter_is_not_run_again_for_what_status_says(repo: GitRepo) -> None:
    """Where the fast engine leaves it to git, what status said is kept: it may run filters, and so does `git add`."""
    log = repo.git_dir() / "cleaned"
    repo.write(".gitattributes", "*.u filter=up\n")
    repo.config("filter.up.clean", f"echo %f >>'{log}'; tr a-z A-Z")
    for number in range(3):
        repo.write(f"file-{number}.u", f"{number}\n")
    repo.commit()
    repo.write("file-0.u", "longer\n")
    repo.write("file-1.u", "x\n")
    for path in repo.path.glob("file-*"):  # none of them is of the same moment as the index
        os.utime(path, (1_700_000_000 + int(path.stem[-1]), 1_700_000_000))
    log.unlink(missing_ok=True)
    repository = open_repository(repo.path, {**os.environ, **repo.env})
    try:
        with read_worktree(repository, keep=False) as reading:
            assert b"file-0.u" in reading.status
            _ = reading.hidden
    finally:
        repository.close()
    runs = log.read_text().split()
    assert runs.count("file-0.u") == 1
    assert runs.count("file-1.u") == 2


@pytest.mark.parametrize("packed", some((False, True), (True,)))
def test_a_large_blob_is_mapped_in_parts(repo: GitRepo, packed: bool) -> None:
    """The process that reads it for us holds no more than its windows, however large the pack."""
    size = 160 * 1024 * 1024
    with repo.at("large").open("wb") as file:
        for _ in range(size // (1024 * 1024)):
            file.write(os.urandom(1024 * 1024))
    settings = ["-c", f"core.bigFileThreshold={'1m' if packed else '1g'}"]
    blob = repo.git(*settings, "-c", "core.compression=0", "hash-object", "-w", "large")
    repository = open_repository(repo.path, {**os.environ, **repo.env, "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bigFileThreshold", "GIT_CONFIG_VALUE_0": "1m"})  # fmt: skip
    try:
        assert sum(map(len, repository.objects.read_pieces(blob))) == size
        status = Path(f"/proc/{repository.objects.begin().pid}/status")
        if packed and status.exists():
            peak = int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1])
            assert peak < 100 * 1024
    finally:
        repository.close()
