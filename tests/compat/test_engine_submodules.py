"""Repositories inside the worktree: submodules, embedded repositories, linked worktrees."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from engine import Cases, agree, git_refuses, refuse
from gitrepo import GitRepo

from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

inside = Cases()
refused = Cases()


@pytest.fixture
def repo(repo: GitRepo, tmp_path: Path) -> GitRepo:
    """A repository with a submodule at `lib`, committed."""
    library = GitRepo.init(tmp_path / "library")
    library.write("code", "one")
    library.commit()
    library.write("code", "two")
    library.commit()
    repo.write("a", "x")
    repo.git("submodule", "--quiet", "add", os.fspath(library.path), "lib")
    repo.commit()
    return repo


def sub(repo: GitRepo) -> GitRepo:
    return GitRepo(repo.at("lib"))


@inside.fast
def clean(repo: GitRepo) -> None:
    pass


@inside.declined("submodule")
def dirty(repo: GitRepo) -> None:
    sub(repo).write("code", "dirty")
    sub(repo).write("new", "dirty")


@inside.declined("submodule")
def moved_forward(repo: GitRepo) -> None:
    sub(repo).write("code", "three")
    sub(repo).commit()


@inside.declined("submodule")
def moved_back_and_dirty(repo: GitRepo) -> None:
    sub(repo).checkout("HEAD~1")
    sub(repo).write("code", "dirty")


@inside.declined(r"\.gitmodules")
def moved_in_the_worktree(repo: GitRepo) -> None:
    repo.git("mv", "lib", "library")


@inside.fast
def uninitialised(repo: GitRepo) -> None:
    repo.git("submodule", "--quiet", "deinit", "-f", "lib")


@inside.declined("submodule")
def folder_removed(repo: GitRepo) -> None:
    repo.remove("lib")


@inside.declined(r"\.gitmodules")
def removed(repo: GitRepo) -> None:
    repo.git("rm", "-q", "lib")


@inside.declined("submodule")
def replaced_by_a_file(repo: GitRepo) -> None:
    repo.remove("lib")
    repo.write("lib", "a file now")


@inside.fast
def replaced_by_a_folder(repo: GitRepo) -> None:
    repo.remove("lib")
    repo.write("lib/code", "content now")


@inside.declined("submodule")
def replaced_by_a_link(repo: GitRepo) -> None:
    repo.remove("lib")
    repo.symlink("lib", "a")


@inside.declined("submodule")
def ignored_by_configuration(repo: GitRepo) -> None:
    repo.config("submodule.lib.ignore", "all")
    repo.config("diff.ignoreSubmodules", "all")
    sub(repo).write("code", "three")
    sub(repo).commit()


@inside.declined(r"\.gitmodules")
def ignored_in_gitmodules(repo: GitRepo) -> None:
    repo.git("config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
    sub(repo).write("code", "three")
    sub(repo).commit()


@inside.declined("submodule")
def with_a_git_dir_of_its_own(repo: GitRepo) -> None:
    shutil.rmtree(repo.at("lib"))
    repo.git("clone", "-q", os.fspath(repo.path.parent / "nothing"), "lib", check=False)
    GitRepo.init(repo.at("lib")).write("code", "own")
    sub(repo).commit()


@inside.declined("unmerged")
def mid_conflict(repo: GitRepo) -> None:
    base = repo.head()
    sub(repo).checkout("HEAD~1")
    repo.commit()
    repo.checkout("-b", "side", base)
    sub(repo).checkout("-B", "x", "HEAD")
    sub(repo).write("code", "three")
    sub(repo).commit()
    repo.commit()
    repo.git("merge", "main", check=False)


@inside.declined("submodule")
def nested(repo: GitRepo) -> None:
    library = GitRepo(Path(repo.git("config", "submodule.lib.url")))
    sub(repo).git("submodule", "--quiet", "add", os.fspath(library.path), "deep")
    sub(repo).commit()
    repo.commit()
    GitRepo(repo.at("lib/deep")).write("code", "dirty")


@inside.declined("submodule")
def all_submodules_recurse(repo: GitRepo) -> None:
    repo.config("submodule.recurse", "true")
    sub(repo).write("code", "dirty")
    repo.write("a", "y")


@inside.declined("repository")
def embedded_with_a_commit(repo: GitRepo) -> None:
    GitRepo.init(repo.at("embedded")).write("f", "x")
    GitRepo(repo.at("embedded")).commit()


@inside.fast
def embedded_and_ignored(repo: GitRepo) -> None:
    repo.write(".gitignore", "embedded\n")
    GitRepo.init(repo.at("embedded")).write("f", "x")


@inside.fast
def embedded_over_tracked_files(repo: GitRepo) -> None:
    repo.write("d/f", "x")
    repo.commit()
    GitRepo.init(repo.at("d")).commit()
    repo.write("d/new", "x")


@inside.declined("repository")
def linked_worktree_inside(repo: GitRepo) -> None:
    repo.git("worktree", "add", "-q", "other", "-b", "other")


@inside.fast
def bare_repository_inside(repo: GitRepo) -> None:
    repo.git("init", "-q", "--bare", "bare")


@inside.declined(r"\.gitmodules")
def added_and_not_committed(repo: GitRepo) -> None:
    repo.git("submodule", "--quiet", "add", repo.git("config", "submodule.lib.url"), "lib2")
    GitRepo(repo.at("lib2")).write("code", "dirty")


@inside.declined("submodule")
def at_a_commit_that_only_it_has(repo: GitRepo) -> None:
    sub(repo).checkout("--orphan", "other")
    sub(repo).write("code", "of its own")
    sub(repo).commit()


@inside.declined("submodule")
def inactive_and_moved(repo: GitRepo) -> None:
    repo.config("submodule.lib.active", "false")
    moved_forward(repo)


@inside
def hidden_by_assume_unchanged(repo: GitRepo) -> None:
    repo.git("update-index", "--assume-unchanged", "lib")
    moved_forward(repo)


@inside
def hidden_by_skip_worktree(repo: GitRepo) -> None:
    repo.git("update-index", "--skip-worktree", "lib")
    moved_forward(repo)


@inside.fast
def edited_beside_a_clean_one(repo: GitRepo) -> None:
    repo.write("a", "edited")
    repo.write("lib2/code", "no submodule")


@refused
def embedded_bare_and_dotted(repo: GitRepo) -> None:
    repo.git("init", "-q", "--bare", "embedded/.git")
    repo.write("embedded/f", "x")


@inside.declined("repository")
def embedded_at_a_detached_commit(repo: GitRepo) -> None:
    embedded_with_a_commit(repo)
    GitRepo(repo.at("embedded")).checkout("--detach")


@refused
def damaged_index_in_the_submodule(repo: GitRepo) -> None:
    (sub(repo).git_dir() / "index").write_bytes(b"rubbish")


@refused
def embedded_of_another_algorithm(repo: GitRepo) -> None:
    embedded = GitRepo.init(repo.at("embedded"), "--object-format=sha256")
    embedded.write("f", "x")
    embedded.commit()


@refused
def embedded_without_a_commit(repo: GitRepo) -> None:
    GitRepo.init(repo.at("embedded")).write("f", "x")


@refused
def broken_gitfile(repo: GitRepo) -> None:
    repo.write("lib/.git", "gitdir: ../nowhere\n")


@refused
def broken_head_in_the_submodule(repo: GitRepo) -> None:
    (sub(repo).git_dir() / "HEAD").write_text("0" * 39 + "\n")


@inside.table
def test_repositories_inside_as_git_sees_them(repo: GitRepo, build) -> None:
    """A repository inside is one entry of the tree: its commit."""
    build(repo)
    agree(repo, declines=build.declines)


@refused.table
def test_refused_where_git_refuses(repo: GitRepo, build) -> None:
    """A repository inside that git cannot name by a commit is refused."""
    build(repo)
    git_refuses(repo)
    refuse_untouched(repo)


def refuse_untouched(repo: GitRepo) -> None:
    assert "git cannot read the whole worktree" in refuse(repo)


def hidden(repo: GitRepo) -> list[tuple[str, str, str]]:
    before = repo.census()
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        found = [(change.path, change.kind, change.sha256) for change in reading.hidden]
    repository.close()
    assert repo.census() == before
    return found


def test_dirt_in_a_submodule_is_told(repo: GitRepo) -> None:
    """What no tree can show is told beside it, and another dirt is another state."""
    assert hidden(repo) == []
    sub(repo).write("code", "dirty")
    first = hidden(repo)
    sub(repo).write("code", "dirtier")
    second = hidden(repo)
    assert [entry[:2] for entry in first + second] == [("lib", "submodule dirty")] * 2
    assert first != second


def test_dirt_in_a_nested_submodule_is_told(repo: GitRepo) -> None:
    """Dirt two repositories down is still dirt, and still tells one state from another."""
    nested(repo)
    first = hidden(repo)
    GitRepo(repo.at("lib/deep")).write("code", "dirtier")
    assert [entry[:2] for entry in first] == [("lib", "submodule dirty")]
    assert hidden(repo) != first


def test_dirt_in_a_submodule_with_an_odd_name(repo: GitRepo) -> None:
    """A submodule's name is bytes, and leaves quoted."""
    repo.git("mv", "lib", b"l\xe9b\n")
    repo.commit()
    GitRepo(repo.at(b"l\xe9b\n")).write("code", "dirty")
    assert [entry[0] for entry in hidden(repo)] == ['"l\\351b\\n"']


def test_moved_submodule_that_is_dirty_as_well(repo: GitRepo) -> None:
    """A submodule that moved and is dirty is told for its dirt; moved alone it is in the tree."""
    moved_forward(repo)
    assert hidden(repo) == []
    sub(repo).write("code", "dirty")
    assert [entry[:2] for entry in hidden(repo)] == [("lib", "submodule dirty")]


def test_dirty_submodule_of_an_index_in_conflict(repo: GitRepo) -> None:
    """Reading goes on where a submodule is unmerged."""
    mid_conflict(repo)
    sub(repo).write("code", "dirty")
    assert [entry[1] for entry in hidden(repo)] in ([], ["submodule dirty"])
