"""The proof of the commits about to leave: what git tells its pre-push hook, judged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitrepo import GitRepo
from proof.scene import Scene

from git_taskctx.config import load_config
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.model.oids import CommitOid
from git_taskctx.proof.push import RefUpdate, prove_push, read_updates
from git_taskctx.proof.rules import Rules, rules_of

ZERO = "0" * 40


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A validated commit on `topic`, and a remote that has `main` alone."""
    scene = Scene(tmp_path)
    GitRepo.init(tmp_path / "remote", "--bare")
    scene.repo.git("remote", "add", "origin", os.fspath(tmp_path / "remote"))
    scene.repo.git("push", "-q", "origin", "main")
    assert scene.done
    return scene


@pytest.fixture
def repository(scene: Scene) -> Iterator[Repository]:
    """The same, as the code sees it."""
    repository = open_repository(scene.repo.path, dict(os.environ))
    yield repository
    repository.close()


def push(repository: Repository, scene: Scene, *refspecs: str, remote: str = "origin") -> list[str]:
    """Have git say what it would push, and return the verdict on each branch."""
    hook = scene.repo.common_dir() / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\ncat >"{scene.folder}/stdin"\nexit 1\n')
    hook.chmod(0o755)
    scene.repo.git("push", remote, *refspecs, check=False)
    updates = read_updates((scene.folder / "stdin").read_bytes())

    def rules(commit: CommitOid | None) -> Rules:
        policy = repository.find_blob(commit, ".taskctx.toml")
        return rules_of(load_config(taskctx_toml=policy, pyproject=None, committed_name="x", personal=[]), None)

    return [
        f"{proof.range} {proof.verdict.value} {len(proof.commits)}"
        for proof in prove_push(repository, remote, updates, rules)
    ]


def test_a_new_branch(scene: Scene, repository: Repository) -> None:
    """Of a branch that the remote does not have, what it has not is proved."""
    assert push(repository, scene, "topic") == ["refs/heads/topic verified 1"]


def test_a_branch_that_goes_on(scene: Scene, repository: Repository) -> None:
    """Of a branch that the remote has, what comes new is proved, and the last commit decides."""
    assert push(repository, scene, "topic:main") == ["refs/heads/main verified 1"]
    scene.repo.write("more.py", "more\n")
    scene.repo.commit("more")
    assert push(repository, scene, "topic:main") == ["refs/heads/main unproven 2"]


def test_nothing_to_prove(scene: Scene, repository: Repository) -> None:
    """Tags, notes, deletions and what is there already are not judged."""
    scene.repo.git("tag", "v1", "topic")
    scene.repo.git("branch", "same", "main")
    assert push(repository, scene, "v1", "refs/notes/taskctx:refs/notes/taskctx", "same") == []
    assert prove_push(repository, "origin", [RefUpdate("(delete)", ZERO, "refs/heads/main", scene.base)], _none) == []
    assert read_updates(b"nonsense\n\xff a b\n") == []


def test_an_address(scene: Scene, repository: Repository) -> None:
    """A push to an address knows nothing of remote branches but what git says is there."""
    address = os.fspath(scene.folder / "remote")
    assert push(repository, scene, "topic:main", remote=address) == ["refs/heads/main verified 1"]
    assert push(repository, scene, "topic:new", remote=address) == ["refs/heads/new verified 2"]


def _none(commit: CommitOid | None) -> Rules:
    raise AssertionError(commit)
