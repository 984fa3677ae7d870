"""A repository with one commit and our hooks in it; and one whose hooks are tried, with a stand-in for us.

The stand-in takes the place of `git-taskctx`, and writes down how it is called.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("bench")

from bench import Bench  # noqa: E402 - found beside the tests
from gated import begun, desk, validated  # noqa: E402
from gitrepo import GitRepo  # noqa: E402
from prepared import fill  # noqa: E402
from tools import TOOL_PATH  # noqa: E402

__all__ = ["begun", "desk", "validated"]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that comes first on PATH, before the hook managers of the tests' own environment."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{TOOL_PATH}")
    return folder


@pytest.fixture
def bench(repo: GitRepo, programs: Path) -> Bench:
    """A repository with one commit and no hooks."""
    fill(repo, one_file)
    return Bench(repo, programs)


def one_file(repo: GitRepo) -> None:
    """Commit one file."""
    repo.write("parser.py", "broken\n")
    repo.commit("base")
