"""What an export costs: as many git processes for many commits as for few, and nothing heavy is loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from gitrepo import GitRepo, modules_after, run_taskctx
from proof.many import validated_commits
from proof.test_cost import HEAVY


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """Sixty validated commits."""
    repo = GitRepo.init(tmp_path / "repo")
    repo.git("fast-import", "--quiet", input=b"".join(validated_commits(60)))
    repo.checkout("main")
    return repo


def revision_of(document: Any) -> str:
    """Return the commit that a document is about."""
    return str(document["vcs"]["revision"] if "vcs" in document else document["subject"][0]["digest"]["gitCommit"])


@pytest.mark.parametrize(("form", "lines"), [("agent-trace", 1), ("in-toto", 2)])
def test_the_number_of_processes_does_not_grow(repo: GitRepo, form: str, lines: int) -> None:
    """Every commit of a range is told about, oldest first, in the processes of two."""
    counts = []
    for number in (2, 50):
        trace = repo.path.parent / "trace"
        trace.unlink(missing_ok=True)
        env = {"GIT_TASKCTX_TRACE": os.fspath(trace)}
        code, out, err = run_taskctx("export", f"main~{number}..main", "--format", form, cwd=repo.path, env=env)
        assert (code, err) == (0, "")
        commits = repo.git("rev-list", "--reverse", f"main~{number}..main").splitlines()
        told = [revision_of(json.loads(line)) for line in out.splitlines()]
        assert told == [commit for commit in commits for _ in range(lines)]
        counts.append(len(trace.read_text().splitlines()))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("form", ["agent-trace", "in-toto"])
def test_nothing_heavy_is_loaded(repo: GitRepo, form: str) -> None:
    """`sys.modules` after an export holds none of the heavy libraries."""
    code, loaded = modules_after("export", "main~3..main", "--format", form, cwd=repo.path)
    assert code == 0
    assert loaded.isdisjoint(HEAVY)
