"""What a proof costs: as many git processes for many commits as for few, and nothing heavy is loaded."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from gitrepo import GitRepo, modules_after, run_taskctx
from proof.many import validated_commits

NOT_NEEDED = (
    "dataclasses", "inspect", "datetime", "random", "secrets", "shutil", "tempfile", "tomllib",
    "git_taskctx.cli.contexts", "git_taskctx.git.worktree", "git_taskctx.git.patch", "git_taskctx.git.signing",
    "git_taskctx.context.session", "git_taskctx.store",
)  # fmt: skip
"""What this Python and we have beside, and a proof of plain commits has no use for."""
HEAVY = ("pydantic", "rich", "ruamel", "markdown_it", "jinja2", "typer", "filelock", "pygit2", "asyncio")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """Three hundred validated commits."""
    repo = GitRepo.init(tmp_path / "repo")
    repo.git("fast-import", "--quiet", input=b"".join(validated_commits(300)))
    repo.git("config", "taskctx.proof.scope", "every")
    repo.checkout("main")
    return repo


def processes(repo: GitRepo, *words: str, code: int = 0) -> list[str]:
    """Return the git processes that a verb starts and waits for, as the trace names them."""
    trace = repo.path.parent / "trace"
    trace.unlink(missing_ok=True)
    said = run_taskctx(*words, cwd=repo.path, env={"GIT_TASKCTX_TRACE": os.fspath(trace)})
    assert said[0] == code, said
    lines = trace.read_text().splitlines()
    return [re.sub(r"^taskctx: *[0-9.]+ ms *|[0-9a-f]{8,}", "", line) for line in lines]


def test_the_number_of_processes_does_not_grow(repo: GitRepo) -> None:
    """Two hundred and ninety commits take the processes of two, verified or not."""
    few = processes(repo, "verify", "main~2..main")
    assert processes(repo, "verify", "main~290..main") == few
    assert len(few) <= 8
    repo.git("update-ref", "-d", "refs/notes/taskctx")
    few = processes(repo, "verify", "main~2..main", code=3)
    assert len(processes(repo, "verify", "main~290..main", code=3)) == len(few)


def test_all_are_verified(repo: GitRepo) -> None:
    """What is measured is the whole work: every commit of the range is proved by its own chain."""
    code, out, err = run_taskctx("verify", "main~290..main", cwd=repo.path)
    assert (code, err) == (0, "")
    assert out.count(", by the records of this commit  ") == 290


def test_a_proof_loads_nothing_heavy(repo: GitRepo) -> None:
    """`sys.modules` after a proof holds none of the heavy libraries, and nothing of the worktree's engine."""
    code, loaded = modules_after("verify", "main~9..main", cwd=repo.path)
    assert code == 0
    assert loaded.isdisjoint(HEAVY)
    assert loaded.isdisjoint(NOT_NEEDED)
