"""A worktree with a task, and agents that call their hooks in it."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("callers")

from callers import Hooked  # noqa: E402 - found beside the tests
from gitrepo import GitRepo  # noqa: E402
from prepared import fill  # noqa: E402


@pytest.fixture
def hooked(repo: GitRepo) -> Hooked:
    """A worktree with one commit; a task may be begun with `begin`."""
    fill(repo, three_files)
    return Hooked(repo)


def three_files(repo: GitRepo) -> None:
    """Commit three files."""
    repo.write("src/parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.write(".gitignore", "build/\n")
    repo.commit("base")
