"""What the repository is in the middle of: conflicts, rebases, bisects, detached and unborn branches."""

from __future__ import annotations

import os

import pytest
from engine import Cases, agree
from gitrepo import GitRepo

from git_taskctx.errors import Fatal
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

states = Cases()


def two_branches(repo: GitRepo, ours: str | None = "ours\n", theirs: str | None = "theirs\n") -> None:
    """Make `main` and `side` differ in `a`; None deletes it."""
    repo.write("a", "base\n")
    repo.write("b", "base\n")
    base = repo.commit("base")
    repo.checkout("-b", "side")
    change(repo, theirs)
    repo.commit("theirs")
    repo.checkout("-B", "main", base)
    change(repo, ours)
    repo.commit("ours")


def change(repo: GitRepo, text: str | None) -> None:
    if text is None:
        repo.remove("a")
        repo.write("c", "not empty")
    else:
        repo.write("a", text)


@states.declined("unmerged")
def unmerged_content(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("merge", "side", check=False)


@states.declined("unmerged")
def unmerged_and_half_resolved(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("merge", "side", check=False)
    repo.write("a", "resolved\n")


@states.declined("unmerged")
def deleted_by_us(repo: GitRepo) -> None:
    two_branches(repo, ours=None)
    repo.git("merge", "side", check=False)


@states.declined("unmerged")
def deleted_by_them_and_by_hand(repo: GitRepo) -> None:
    two_branches(repo, theirs=None)
    repo.git("merge", "side", check=False)
    repo.remove("a")


@states.declined("unmerged")
def folder_against_file(repo: GitRepo) -> None:
    repo.write("b", "base\n")
    base = repo.commit()
    repo.checkout("-b", "side")
    repo.write("a/f", "folder")
    repo.commit()
    repo.checkout("-B", "main", base)
    repo.write("a", "file")
    repo.commit()
    repo.git("merge", "side", check=False)


@states.declined("unmerged")
def mid_rebase(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("rebase", "side", check=False)


@states.declined("unmerged")
def mid_rebase_by_apply(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("rebase", "--apply", "side", check=False)


@states.fast
def mid_interactive_rebase(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("rebase", "-i", "HEAD~1", env={"GIT_SEQUENCE_EDITOR": "sed -i s/^pick/edit/"})
    repo.write("a", "edited in the stop\n")


@states.declined("unmerged")
def mid_cherry_pick(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("cherry-pick", "side", check=False)


@states.declined("unmerged")
def mid_revert(repo: GitRepo) -> None:
    two_branches(repo)
    repo.write("a", "later\n")
    repo.commit()
    repo.git("revert", "--no-edit", "HEAD~1", check=False)


@states.fast
def mid_bisect(repo: GitRepo) -> None:
    for number in range(5):
        repo.write("a", f"{number}\n")
        repo.commit()
    repo.git("bisect", "start", "HEAD", "HEAD~4")
    repo.write("b", "dirty")


@states.fast
def mid_am(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("am", input=repo.git("format-patch", "--stdout", "main..side"), check=False)


@states.declined("unmerged")
def stash_with_conflicts(repo: GitRepo) -> None:
    two_branches(repo)
    repo.write("a", "stashed\n")
    repo.git("stash")
    repo.checkout("side")
    repo.git("stash", "pop", check=False)


@states.fast
def detached(repo: GitRepo) -> None:
    two_branches(repo)
    repo.checkout("--detach", "side")
    repo.write("a", "dirty\n")


@states.fast
def unborn(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.git("add", "a")
    repo.write("b", "x")


@states.fast
def orphan(repo: GitRepo) -> None:
    two_branches(repo)
    repo.checkout("--orphan", "new")
    repo.write("b", "dirty\n")


@states.fast
def branch_that_is_broken(repo: GitRepo) -> None:
    two_branches(repo)
    (repo.git_dir() / "HEAD").write_text("ref: refs/heads/gone\n")


@states.declined("replaced")
def replaced_and_grafted(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("replace", "HEAD", "side")
    repo.git("replace", "-f", repo.git("rev-parse", "main:a"), repo.git("rev-parse", "side:a"))
    (repo.git_dir() / "info").mkdir(exist_ok=True)
    repo.write("b", "dirty\n")


@states.declined("unmerged")
def added_by_both(repo: GitRepo) -> None:
    two_branches(repo)
    base = repo.head()
    repo.checkout("-b", "one", base)
    repo.write("new", "one\n", mode=0o755)
    repo.symlink("link", "one")
    repo.commit()
    repo.checkout("-b", "two", base)
    repo.write("new", "two\n")
    repo.symlink("link", "two")
    repo.commit()
    repo.git("merge", "one", check=False)


@states.declined("unmerged")
def renamed_on_both_sides(repo: GitRepo) -> None:
    repo.write("a", "text\n" * 20)
    base = repo.commit()
    for name in ("one", "two"):
        repo.checkout("-B", name, base)
        repo.git("mv", "a", name)
        repo.commit(name)
    repo.git("merge", "one", check=False)
    repo.write("two", "edited\n")


@states.declined("unmerged")
def folder_against_file_and_ignored(repo: GitRepo) -> None:
    folder_against_file(repo)
    repo.write(".gitignore", "a*\n")


@states.fast
def merge_that_waits_for_its_message(repo: GitRepo) -> None:
    two_branches(repo, theirs=None)
    repo.git("merge", "-q", "--no-commit", "-s", "ours", "side")
    repo.write("b", "dirty\n")


@states.fast
def resolved_and_staged(repo: GitRepo) -> None:
    unmerged_content(repo)
    repo.write("a", "resolved\n")
    repo.add()
    repo.write("b", "dirty\n")


@states.declined("unmerged")
def sequence_of_picks(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("cherry-pick", "side", "side~1", check=False)


@states.fast
def break_in_a_rebase(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("rebase", "-i", "HEAD~1", env={"GIT_SEQUENCE_EDITOR": "sed -i 1ibreak"}, check=False)
    repo.write("b", "dirty\n")


@states
def branch_of_a_name_like_a_ref(repo: GitRepo) -> None:
    two_branches(repo)
    repo.git("branch", "refs/heads/main")
    repo.git("update-ref", "refs/tags/HEAD", "side")
    repo.git("tag", "main")
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/side")
    repo.checkout("alias")
    repo.write("b", "dirty\n")


@states.table
def test_tree_in_every_state(repo: GitRepo, build) -> None:
    """Whatever is in progress, the tree is what git would write of the worktree."""
    build(repo)
    agree(repo, declines=build.declines)


@pytest.mark.parametrize(
    ("build", "operation"),
    [
        (detached, None), (unborn, None), (stash_with_conflicts, None), (unmerged_content, "merge"),
        (mid_rebase, "rebase"), (mid_rebase_by_apply, "rebase"), (mid_interactive_rebase, "rebase"),
        (mid_cherry_pick, "cherry-pick"), (mid_revert, "revert"), (mid_bisect, "bisect"), (mid_am, "am"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_operation_in_progress(repo: GitRepo, build, operation: str | None) -> None:
    """The operation in progress has the name that `git status` gives it."""
    build(repo)
    assert open_repository(repo.path, dict(os.environ)).operation() == operation


@pytest.mark.parametrize("build", [unmerged_content, deleted_by_us, folder_against_file])
def test_no_staged_tree_while_unmerged(repo: GitRepo, build) -> None:
    """An unmerged index has no tree; nothing is invented for it."""
    build(repo)
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.index_tree is None
    repository.close()


def test_head(repo: GitRepo) -> None:
    """HEAD is read as git has it: unborn, on a branch, detached."""
    repository = open_repository(repo.path, dict(os.environ))
    assert (repository.head().commit, repository.head().branch) == (None, "main")
    two_branches(repo)
    assert (repository.head().commit, repository.head().branch) == (repo.head(), "main")
    repo.checkout("-b", "topic/é")
    assert repository.head().branch == "topic/é"
    repo.checkout("--detach")
    assert (repository.head().commit, repository.head().branch) == (repo.head(), None)
    assert repository.last_move() == repo.git("reflog", "-1", "--format=%gs")
    repository.close()


def test_broken_head(repo: GitRepo) -> None:
    """A repository whose HEAD is damaged is refused in one line."""
    two_branches(repo)
    (repo.path / ".git/HEAD").write_text("rubbish\n")
    with pytest.raises(Fatal) as caught:
        open_repository(repo.path, dict(os.environ))
    assert caught.value.message.isprintable()
