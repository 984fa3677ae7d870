"""The one property of all engine tests: our tree is git's, or we refuse where git does; and nobody else is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from gitrepo import GitRefused, GitRepo

from git_taskctx.errors import TaskctxError
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

MODES = ({"keep": False}, {"keep": True}, {"keep": False, "cold": True}, {"keep": False, "exact": True})
Build = Callable[[GitRepo], object]


class Cases(list[Build]):
    """A table of small functions that each build one repository."""

    def __call__(self, build: Build) -> Build:
        """Add a function to the table, as its decorator."""
        self.append(build)
        return build

    @property
    def table(self) -> pytest.MarkDecorator:
        """The mark that runs a test once for each function."""
        return pytest.mark.parametrize("build", self, ids=[build.__name__ for build in self])


def read(repo: GitRepo, *, keep: bool = False, cold: bool = False, exact: bool = False, cwd: Path | None = None) -> str:
    """Return the tree that we read, as a verb would from `cwd`."""
    repository = open_repository(cwd or repo.path, {**os.environ, **repo.env})
    try:
        with read_worktree(repository, keep=keep, cold=cold, exact=exact) as reading:
            return reading.tree
    finally:
        repository.close()


def agree(repo: GitRepo, *, cwd: Path | None = None) -> str:
    """Hold that every way of reading gives git's tree, touches nothing, and leaves objects only when told to."""
    before, store = repo.census(), _objects(repo)
    trees = [read(repo, **MODES[0], cwd=cwd), read(repo, **MODES[2], cwd=cwd)]
    assert read(repo, **MODES[3], cwd=cwd) == trees[0], "the engines disagree"
    assert _objects(repo) == store, "an object was left behind"
    assert {read(repo, cwd=cwd) for _ in range(2)} == {trees[0]}, "what is remembered misleads"
    trees.insert(1, read(repo, **MODES[1], cwd=cwd))
    assert _differences(before, repo.census()) == []
    assert trees == [repo.oracle(), repo.oracle(), repo.oracle(cold=True)]
    repo.git("ls-tree", "-r", trees[1])  # it was kept: it can be read without us
    return trees[0]


def refuse(repo: GitRepo, *, cwd: Path | None = None) -> str:
    """Hold that every way of reading is refused in one line, and touches nothing; return what was said."""
    before = repo.census()
    said = ""
    for mode in MODES:
        with pytest.raises(TaskctxError) as caught:
            read(repo, **mode, cwd=cwd)
        said = caught.value.message
        assert said.strip() and said.isprintable()
    assert _differences(before, repo.census()) == []
    return said


def git_refuses(repo: GitRepo) -> str:
    """Hold that git itself refuses, or says on stderr that it leaves something out; return what it said."""
    with pytest.raises(GitRefused) as caught:
        repo.oracle()
    return str(caught.value)


def _objects(repo: GitRepo) -> set[Path]:
    return {path for path in (repo.common_dir() / "objects").rglob("*") if path.is_file()}


def _differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
