"""Refs by compare-and-swap."""

from __future__ import annotations

import os
import threading

import pytest
from gitrepo import GitRepo

from git_taskctx.errors import GitFailed
from git_taskctx.git.process import Git
from git_taskctx.git.refs import RefConflict, RefMove, find_ref, move_refs, read_refs
from git_taskctx.report.advice import advise

X, Y = "refs/taskctx/x", "refs/taskctx/deep/y"


@pytest.fixture
def git(repo: GitRepo) -> Git:
    """A repository with two commits, `HEAD~1` and `HEAD`."""
    repo.commit("one")
    repo.commit("two")
    return Git(repo.path, dict(os.environ))


@pytest.fixture
def two(repo: GitRepo, git: Git) -> tuple[str, str]:
    """The oids of the two commits."""
    return repo.git("rev-parse", "HEAD~1"), repo.head()


def test_created_moved_deleted(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    """A ref is created from nothing, moved from where it is, and deleted."""
    one, other = two
    assert find_ref(git, X) is None
    move_refs(git, [RefMove(X, one, None)], reason="create")
    assert (find_ref(git, X), repo.git("rev-parse", X)) == (one, one)
    move_refs(git, [RefMove(X, other, one)], reason="move")
    assert find_ref(git, X) == other
    move_refs(git, [RefMove(X, None, other)], reason="delete")
    assert find_ref(git, X) is None


@pytest.mark.parametrize("old", ["other", None, "missing"])
def test_never_moved_from_another_value(git: Git, two: tuple[str, str], old: str | None) -> None:
    """A ref that is not where it was expected stays where it is."""
    one, other = two
    move_refs(git, [RefMove(X, one, None)], reason="create")
    with pytest.raises(RefConflict) as caught:
        move_refs(git, [RefMove(X, other, {"other": other, "missing": "1" * 40}.get(old or ""))], reason="move")
    assert caught.value.message.isprintable()
    assert find_ref(git, X) == one


def test_never_created_where_it_was_expected(git: Git, two: tuple[str, str]) -> None:
    """A ref that is gone is not brought back by who still saw it."""
    with pytest.raises(RefConflict):
        move_refs(git, [RefMove(X, two[0], two[1])], reason="move")
    with pytest.raises(RefConflict):
        move_refs(git, [RefMove(X, None, two[1])], reason="delete")
    assert find_ref(git, X) is None


def test_all_or_none(git: Git, two: tuple[str, str]) -> None:
    """When one ref of several cannot move, none does."""
    one, other = two
    move_refs(git, [RefMove(X, one, None)], reason="create")
    with pytest.raises(RefConflict):
        move_refs(git, [RefMove(Y, other, None), RefMove(X, other, other)], reason="both")
    assert read_refs(git, "refs/taskctx") == {X: one}
    move_refs(git, [RefMove(Y, other, None), RefMove(X, other, one)], reason="both")
    assert read_refs(git, "refs/taskctx") == {X: other, Y: other}
    assert read_refs(git, "refs/taskctx/deep", "refs/none") == {Y: other}


def test_packed_refs(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    """Packing changes nothing."""
    one, other = two
    move_refs(git, [RefMove(X, one, None)], reason="create")
    repo.git("pack-refs", "--all", "--prune")
    with pytest.raises(RefConflict):
        move_refs(git, [RefMove(X, other, None)], reason="create")
    move_refs(git, [RefMove(X, other, one)], reason="move")
    assert find_ref(git, X) == other


def test_trees_and_blobs(repo: GitRepo, git: Git) -> None:
    """Refs may point at trees and blobs; the history shows none of them."""
    blob = repo.git("hash-object", "-w", "--stdin", input="x")
    move_refs(git, [RefMove(X, repo.tree(), None), RefMove(Y, blob, None)], reason="keep")
    assert read_refs(git, "refs/taskctx") == {X: repo.tree(), Y: blob}
    assert repo.git("log", "--all", "--format=%s").split() == ["two", "one"]
    assert repo.git("fsck", "--strict") == ""


def test_locked_by_another(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    """A lock that another git holds is a conflict: try again."""
    move_refs(git, [RefMove(X, two[0], None)], reason="create")
    (repo.path / ".git/refs/taskctx/x.lock").write_text("")
    with pytest.raises(RefConflict):
        move_refs(git, [RefMove(X, two[1], two[0])], reason="move")


def test_in_the_way_for_good(git: Git, two: tuple[str, str]) -> None:
    """A ref where a folder is needed is no conflict that a retry would mend."""
    move_refs(git, [RefMove(X, two[0], None)], reason="create")
    with pytest.raises(GitFailed) as caught:
        move_refs(git, [RefMove(f"{X}/below", two[0], None)], reason="create")
    assert not isinstance(caught.value, RefConflict)


def test_a_lock_that_a_killed_git_left_is_broken(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    """A lock that nobody can hold any more is in nobody's way; all that are left are broken at once."""
    locks = [repo.git_dir() / f"{ref}.lock" for ref in (X, Y)]
    for lock in locks:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text("half")
        os.utime(lock, (1, 1))
    move_refs(git, [RefMove(X, two[0], None), RefMove(Y, two[1], None)], reason="after the kill")
    assert (find_ref(git, X), find_ref(git, Y)) == two
    assert not any(lock.exists() for lock in locks)


def test_a_young_lock_is_held_and_named(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    """Somebody may be at it: the lock stays, and the hint is the command that removes it."""
    lock = repo.git_dir() / f"{X}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("half")
    with pytest.raises(RefConflict) as caught:
        move_refs(git, [RefMove(X, two[0], None)], reason="x")
    assert (advise(caught.value).hint or "").startswith(f"rm {lock}   # if no git is running")
    assert lock.read_text() == "half"


@pytest.mark.parametrize("name", ["refs/taskctx/a..b", "refs/taskctx/a b", "refs/taskctx/x.lock"])
def test_names_that_git_forbids(git: Git, two: tuple[str, str], name: str) -> None:
    """A name that git forbids is an error, not a conflict."""
    with pytest.raises(GitFailed) as caught:
        move_refs(git, [RefMove(name, two[0], None)], reason="create")
    assert not isinstance(caught.value, RefConflict)
    assert find_ref(git, name) is None


def test_missing_object(git: Git) -> None:
    """A ref never points at what is not there."""
    with pytest.raises(GitFailed) as caught:
        move_refs(git, [RefMove(X, "1" * 40, None)], reason="create")
    assert not isinstance(caught.value, RefConflict)
    assert find_ref(git, X) is None


def test_nothing_to_move(git: Git) -> None:
    """No move is no error."""
    move_refs(git, [], reason="nothing")


def test_no_hook_runs_and_nobody_else_moves(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    """Our refs move without hooks, without an identity, and with nothing else."""
    hook = repo.path / ".git/hooks/reference-transaction"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    repo.git("config", "--global", "--remove-section", "user")
    repo.git("config", "--global", "user.useConfigOnly", "true")
    before = repo.census()
    move_refs(git, [RefMove(X, two[0], None)], reason="create")
    assert repo.census() == before


def test_a_short_name_is_no_ref_of_ours(repo: GitRepo, git: Git) -> None:
    """A ref is named whole; a branch of the same name elsewhere is not found in its stead."""
    repo.git("branch", "refs/taskctx/x")
    assert find_ref(git, X) is None


def test_parallel_writers_lose_nothing(git: Git, repo: GitRepo) -> None:
    """Of many writers from one value exactly one wins, every time."""
    commits = [repo.git("commit-tree", "-m", str(number), repo.tree()) for number in range(8)]
    won: list[str] = []

    def write(commit: str) -> None:
        try:
            move_refs(git, [RefMove(X, commit, None)], reason="race")
        except RefConflict:
            return
        won.append(commit)

    threads = [threading.Thread(target=write, args=(commit,)) for commit in commits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [find_ref(git, X)]
