"""Reading from inside git's own hooks, where git has set its variables and holds its locks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from gitrepo import ROOT, GitRepo

READER = f"""#!{sys.executable}
import os, sys
sys.path.insert(0, {os.fspath(ROOT)!r})
from pathlib import Path
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree
repository = open_repository(Path.cwd(), dict(os.environ))
with read_worktree(repository, keep=True) as reading:
    with open(os.environ["SEEN"], "a") as seen:
        print(reading.tree, reading.index_tree, file=seen)
repository.close()
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the hook writes what it read."""
    monkeypatch.setenv("SEEN", os.fspath(tmp_path / "seen"))
    return tmp_path / "seen"


def hooked(repo: GitRepo, name: str) -> None:
    """Commit some files, make the worktree dirty, and put the reader in a hook."""
    repo.write(".gitignore", "*.o\n")
    for path in ("a", "b", "d/c"):
        repo.write(path, "one\n")
    repo.commit()
    repo.write("a", "two\n")
    repo.write("b", "two\n")
    repo.write("new", "x")
    hook = repo.common_dir() / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(READER)
    hook.chmod(0o755)


def read_in_hook(seen: Path) -> list[str]:
    lines = seen.read_text().splitlines()
    assert len(lines) == 1
    return lines[0].split()


@pytest.mark.parametrize("args", [("--allow-empty",), ("-a",), ("a",), ("-i", "a"), ("--amend",), ("-o", "a")])
def test_in_pre_commit(repo: GitRepo, seen: Path, args: tuple[str, ...]) -> None:
    """In pre-commit the tree is the worktree's, the staged tree what is about to be committed."""
    hooked(repo, "pre-commit")
    expected = repo.oracle()
    repo.git("commit", "-q", "-m", "x", *args)
    assert read_in_hook(seen) == [expected, repo.tree()]
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_in_post_commit(repo: GitRepo, seen: Path) -> None:
    """In post-commit too."""
    hooked(repo, "post-commit")
    expected = repo.oracle()
    repo.git("commit", "-q", "-a", "-m", "x")
    assert read_in_hook(seen) == [expected, repo.tree()]


def test_in_post_checkout(repo: GitRepo, seen: Path) -> None:
    """And in post-checkout, where git sets no index."""
    hooked(repo, "post-checkout")
    repo.checkout("-b", "topic")
    assert read_in_hook(seen)[0] == repo.oracle()


@pytest.mark.parametrize("args", [(), ("-a",), ("a",)])
def test_in_a_linked_worktree(repo: GitRepo, seen: Path, tmp_path: Path, args: tuple[str, ...]) -> None:
    """git sets GIT_DIR alone in the hooks of a linked worktree; the worktree is still the right one."""
    hooked(repo, "pre-commit")
    repo.git("worktree", "add", "-q", os.fspath(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    other.write("a", "linked\n")
    other.write("d/new", "x")
    expected = other.oracle()
    before = repo.census()
    other.git("commit", "-q", "--allow-empty", "-m", "x", *args)
    assert read_in_hook(seen) == [expected, other.tree()]
    after = repo.census()
    assert before["index"] == after["index"]


def test_from_a_sub_folder(repo: GitRepo, seen: Path) -> None:
    """A commit begun in a sub-folder is read from the top."""
    hooked(repo, "pre-commit")
    expected = repo.oracle()
    GitRepo(repo.at("d")).git("commit", "-q", "-a", "-m", "x")
    assert read_in_hook(seen)[0] == expected


def test_in_rebase_exec(repo: GitRepo, seen: Path) -> None:
    """`git rebase --exec` is a state like any other."""
    hooked(repo, "unused")
    base = repo.commit("one")
    repo.write("a", "three\n")
    repo.commit("two")
    script = repo.common_dir() / "hooks/unused"
    repo.git("rebase", "-q", "--exec", f"'{script}'", base)
    assert read_in_hook(seen)[0] == repo.tree()


def test_in_an_alias(repo: GitRepo, seen: Path) -> None:
    """An alias runs at the top with GIT_PREFIX set."""
    hooked(repo, "unused")
    repo.config("alias.read", f"!'{repo.common_dir() / 'hooks/unused'}'")
    GitRepo(repo.at("d")).git("read")
    assert read_in_hook(seen)[0] == repo.oracle()


def test_in_pre_merge_commit(repo: GitRepo, seen: Path) -> None:
    """A merge without conflict runs pre-merge-commit."""
    hooked(repo, "pre-merge-commit")
    repo.checkout("-b", "side")
    repo.commit("side")
    repo.checkout("main")
    repo.write("d/c", "main\n")
    repo.commit("main")
    repo.git("merge", "-q", "--no-edit", "side")
    assert read_in_hook(seen) == [repo.tree(), repo.tree()]
