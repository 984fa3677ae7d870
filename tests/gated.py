"""A worktree in which git's hooks call `git taskctx hook`, as the installed ones do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from desk import Desk, Said, executable, plain
from gitrepo import ROOT, GitRepo
from prepared import fill

NAMES = ("pre-commit", "pre-merge-commit", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-push")
_SHIM = """#!/bin/sh
[ "${GIT_TASKCTX-}" != 0 ] || exit 0
exec git taskctx hook NAME "$@"
"""
_BUG = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise RuntimeError("out of order")
sys.meta_path.insert(0, Finder())
"""


def put_hooks(repo: GitRepo) -> None:
    """Put every hook of ours in."""
    folder = repo.common_dir() / "hooks"
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        (folder / name).write_text(_SHIM.replace("NAME", name))
        (folder / name).chmod(0o755)


def broken(folder: Path, name: str) -> dict[str, str]:
    """Return an environment in which one of our modules is a bug."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_BUG.format(name=name))
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@dataclass
class Gated(Desk):
    """A desk whose git has our hooks."""

    repo: GitRepo

    def git(self, *args: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Said:
        """Run git, whatever comes of it; what our hooks say has no traceback in it."""
        done = self.repo.run(*args, cwd=cwd, env=env)
        said = Said(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))
        assert "Traceback" not in said.both, said.both
        assert "has a bug" not in said.both, said.both
        return said

    def passes(self, *args: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Said:
        """Run git, which must not be stopped."""
        said = self.git(*args, cwd=cwd, env=env)
        assert said.code == 0, said.both
        return said

    def blocked(self, *args: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> list[str]:
        """Run git, which must be stopped with no new commit; return the three lines that say why."""
        before = self.repo.git("log", "-1", "--format=%H", "HEAD", "--", check=False)
        said = self.git(*args, cwd=cwd, env=env)
        assert said.code != 0, said.both
        assert self.repo.git("log", "-1", "--format=%H", "HEAD", "--", check=False) == before
        lines = [line for line in plain(said.err).splitlines() if not line.startswith(("warning: ", "Not committing"))]
        assert [line.split(": ")[0] for line in lines] == ["error", "paths", "hint"], said.err
        return lines

    def branch_off(self) -> None:
        """Make a branch `side`, one commit ahead of `main`, and come back; no hook of ours is asked."""
        self.repo.env["GIT_TASKCTX"] = "0"
        self.repo.git("checkout", "-q", "-b", "side")
        self.repo.write("side", "side\n")
        self.repo.commit("side")
        self.repo.git("checkout", "-q", "main")
        del self.repo.env["GIT_TASKCTX"]

    def is_over(self) -> bool:
        """Return whether the task has ended."""
        return self.data("status")["task"] is None and bool(self.records("seal"))


def hooks_put(repo: GitRepo) -> None:
    """Commit three files, and put every hook of ours in."""
    for path in ("parser.py", "README", "deep/lexer.py"):
        repo.write(path, "broken\n")
    repo.commit("base")
    put_hooks(repo)


def task_begun(repo: GitRepo) -> None:
    """Begin a task there."""
    hooks_put(repo)
    Desk(repo).init()


def tree_validated(repo: GitRepo) -> None:
    """Have every agent approve a changed, a new and a deleted file."""
    task_begun(repo)
    repo.write("new.py", "new\n")
    repo.remove("deep/lexer.py")
    Desk(repo).validate()


_STATES = {"begun": task_begun, "validated": tree_validated}


@pytest.fixture
def desk(request: pytest.FixtureRequest, repo: GitRepo, tmp_path: Path) -> Gated:
    """A worktree with one commit and nothing dirty, or in such a state; git asks our hooks from now on."""
    fill(repo, next((_STATES[name] for name in request.fixturenames if name in _STATES), hooks_put))
    repo.env |= executable(tmp_path / "bin")
    return Gated(repo)


@pytest.fixture
def begun(desk: Gated) -> Gated:
    """A context was begun, and the implementer is at work."""
    return desk


@pytest.fixture
def validated(desk: Gated) -> Gated:
    """Every agent approved a changed, a new and a deleted file."""
    return desk


def has_config_hooks(repo: GitRepo) -> bool:
    """Return whether this git runs hooks that its configuration names."""
    version = repo.git("version").split()[2].split(".")
    return (int(version[0]), int(version[1])) >= (2, 54)
