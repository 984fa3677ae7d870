"""A task that ends in a repository without hooks: the next verb that meets its commit puts that on record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from desk import TASK, Desk
from gitrepo import GitRepo


@pytest.fixture
def committed(begun: Desk) -> Desk:
    """A validated chain whose commit is made and pushed; nobody has looked at it since."""
    bare = GitRepo.init(begun.repo.path.parent / "hub.git", "--bare")
    begun.repo.git("remote", "add", "origin", os.fspath(bare.path))
    begun.validate()
    begun.repo.commit("mended")
    begun.repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
    assert begun.folder().exists()
    return begun


@pytest.mark.parametrize(
    "verb",
    [
        ("verify", "HEAD"),
        ("verify", "HEAD~1..HEAD"),
        ("push", "origin"),
        ("export", "--format", "in-toto"),
        ("export", "--format", "in-toto", "--task", TASK),
        ("report", "HEAD"),
        ("report",),
        ("log",),
        ("status",),
    ],
    ids=" ".join,
)
def test_whoever_meets_the_commit_seals_it(committed: Desk, tmp_path: Path, verb: tuple[str, ...]) -> None:
    """It answers 0, the chain is on the commit, and after a push a clone with the notes proves it."""
    committed.ok(*verb)
    assert not committed.folder().exists()
    assert len(committed.records("seal")) == 1
    committed.ok("push", "origin")
    committed.repo.git("clone", "-q", f"file://{committed.repo.path.parent / 'hub.git'}", os.fspath(tmp_path / "job"))
    job = Desk(GitRepo(tmp_path / "job"))
    job.ok("fetch")
    assert job.ok("verify", "HEAD").out.startswith("commit: verified\n")


def test_a_damaged_task_keeps_no_commit_from_its_proof(committed: Desk) -> None:
    """What is wrong with the active task is said; the answer about the commit stands."""
    committed.ok("status")
    committed.init()
    (committed.folder() / "context.json").unlink()
    said = committed.ok("verify", "HEAD")
    assert said.out.startswith("commit: verified\n")
    assert f"warning: the task that is active here was not looked at: the files of {TASK} are gone\n" in said.err
