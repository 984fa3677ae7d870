"""A repository with one commit, our hooks in it, and a chain that comes to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("desk", "gated", "around")

from desk import executable  # noqa: E402 - found beside the tests
from gated import Gated, put_hooks  # noqa: E402
from gitrepo import GitRepo  # noqa: E402


@pytest.fixture
def desk(repo: GitRepo, tmp_path: Path) -> Gated:
    """A worktree with one commit and nothing dirty; git asks our hooks from now on."""
    for path in ("parser.py", "README", "deep/lexer.py"):
        repo.write(path, "broken\n")
    repo.commit("base")
    repo.env |= executable(tmp_path / "bin")
    put_hooks(repo)
    return Gated(repo)


@pytest.fixture
def validated(desk: Gated) -> Gated:
    """Every agent approved a changed, a new and a deleted file."""
    desk.init()
    desk.repo.write("new.py", "new\n")
    desk.repo.remove("deep/lexer.py")
    desk.validate()
    return desk
