"""A repository with one commit, and `git taskctx` in it."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("desk")

from desk import Desk  # noqa: E402 - found beside the tests
from gitrepo import GitRepo  # noqa: E402


@pytest.fixture
def desk(repo: GitRepo) -> Desk:
    """A worktree with one commit and nothing dirty."""
    repo.write("parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.commit("base")
    return Desk(repo)


@pytest.fixture
def begun(desk: Desk) -> Desk:
    """The same, with a context begun and the implementer at work."""
    desk.init()
    return desk
