"""A worktree with a task, and agents that call their hooks in it."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("callers")

from callers import Hooked  # noqa: E402 - found beside the tests
from gitrepo import GitRepo  # noqa: E402


@pytest.fixture
def hooked(repo: GitRepo) -> Hooked:
    """A worktree with one commit; a task may be begun with `begin`."""
    repo.write("src/parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.write(".gitignore", "build/\n")
    repo.commit("base")
    return Hooked(repo)
