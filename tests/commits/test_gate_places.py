"""The gate in other worktrees, with other indexes, names and kinds of repositories."""

from __future__ import annotations

from pathlib import Path

import pytest
from gated import Gated, put_hooks
from gitrepo import GitRepo

ALL = "git add -A && git commit"


def test_in_a_linked_worktree_and_a_sub_folder(validated: Gated, tmp_path: Path) -> None:
    """Each worktree has its own task: one does not block the other, and the folder does not matter."""
    validated.passes("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    linked = Gated(GitRepo(tmp_path / "linked", env=validated.repo.env))
    linked.repo.write("parser.py", "other\n")
    linked.passes("commit", "-q", "-a", "-m", "no task here")
    linked.ok("init", "TASK-2", "--title", "Another")
    linked.repo.write("sub/file", "x\n")
    assert "implementer has been at work" in linked.blocked("commit", "-a", "-m", "x")[0]
    linked.ok("snapshot", "--agent", "implementer")
    linked.ok("snapshot", "--agent", "reviewer")
    linked.ok("snapshot", "--agent", "validator", "--done")
    linked.passes("add", "-A", ".", cwd=linked.repo.at("sub"))
    linked.passes("commit", "-q", "-m", "x", cwd=linked.repo.at("sub"))
    assert linked.is_over()
    assert validated.data("status")["validated"]


def test_another_index_is_honoured(validated: Gated, tmp_path: Path) -> None:
    """`GIT_INDEX_FILE` names the index that is committed; the user's own does not count."""
    env = {"GIT_INDEX_FILE": str(tmp_path / "other")}
    validated.repo.git("read-tree", "HEAD", env=env)
    assert "only a part of the task" in validated.blocked("commit", "--allow-empty", "-m", "x", env=env)[0]
    validated.repo.git("add", "-A", env=env)
    validated.passes("commit", "-q", "-m", "x", env=env)
    assert validated.is_over()


def test_a_first_commit(repo: GitRepo, tmp_path: Path, desk: Gated) -> None:
    """On an unborn branch the task's commit has no parent."""
    unborn = Gated(GitRepo.init(tmp_path / "unborn"))
    unborn.repo.env = desk.repo.env
    put_hooks(unborn.repo)
    unborn.init()
    unborn.repo.write("one", "x\n")
    unborn.repo.add()
    assert unborn.blocked("commit", "-m", "x")[1] == "paths: one"
    unborn.validate()
    unborn.repo.add()
    unborn.passes("commit", "-q", "-m", "x")
    assert unborn.is_over()


def test_files_that_are_gone_block_with_the_way_to_mend_it(validated: Gated) -> None:
    """After `git clean -fdx` the gate still knows of the task."""
    validated.repo.git("add", "-A")
    validated.repo.git("clean", "-q", "-fdx")
    assert validated.blocked("commit", "-m", "x") == [
        "error: the files of the active context, TASK-1, are gone",
        "paths: deep/lexer.py, new.py, parser.py",
        "hint: git taskctx recover TASK-1",
    ]
    validated.ok("recover", "TASK-1")
    validated.passes("commit", "-q", "-m", "x")
    assert validated.is_over()


def test_odd_names_are_shown_as_git_shows_them(validated: Gated) -> None:
    """Paths of any bytes reach neither the terminal raw nor the shell unquoted."""
    validated.repo.add()
    blob = validated.repo.git("hash-object", "-w", "--stdin", input="x\n")
    entry = b"100644 " + blob.encode() + b"\tl\xe4tin\x1b[31m\0"
    validated.repo.git("update-index", "-z", "--index-info", input=entry)
    lines = validated.blocked("commit", "-m", "x")
    assert lines[1:] == [
        'paths: "l\\344tin\\033[31m"',
        "hint: git reset -q -- $':(top,literal)l\\344tin\\033[31m'   # then commit again",
    ]


@pytest.mark.parametrize("form", ["split", "version 4", "sha256", "sparse", "untracked cache"])
def test_other_forms_of_index_and_repository(desk: Gated, tmp_path: Path, form: str) -> None:
    """What is committed is read as git reads it, wherever git keeps a part of it."""
    if form == "sha256":
        repo = GitRepo.init(tmp_path / "sha256", "--object-format=sha256")
        repo.env = desk.repo.env
        repo.write("parser.py", "broken\n")
        repo.write("README", "broken\n")
        repo.commit("base")
        put_hooks(repo)
        desk = Gated(repo)
    if form == "split":
        desk.repo.config("core.splitIndex", "true")
        desk.repo.git("update-index", "--split-index")
    elif form == "version 4":
        desk.repo.git("update-index", "--index-version", "4")
    elif form == "untracked cache":
        desk.repo.config("core.untrackedCache", "true")
    elif form == "sparse":
        desk.repo.git("sparse-checkout", "set", "--no-cone", "/*.py", "/README")
    desk.init()
    desk.validate()
    desk.repo.write("README", "stray\n")
    assert "drift since" in desk.blocked("commit", "-a", "-m", "x")[0]
    desk.ok("restore", "--agent", "validator")
    desk.ok("resolve-drift", "--note", "put back")
    assert "only a part" in desk.blocked("commit", "--allow-empty", "-m", "x")[0]
    desk.passes("commit", "-q", "-a", "-m", "x")
    assert desk.is_over()
