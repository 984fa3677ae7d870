"""A repository whose hooks are tried: with a stand-in for `git-taskctx` that writes down how it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("desk", "bench")

from bench import Bench  # noqa: E402 - found beside the tests
from gitrepo import GitRepo  # noqa: E402
from tools import TOOL_PATH  # noqa: E402


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
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    return Bench(repo, programs)
