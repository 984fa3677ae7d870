"""Where a repository can be, and how git is told about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine import agree, read
from gitrepo import GitRepo


def fill(repo: GitRepo) -> GitRepo:
    repo.write("a", "x")
    repo.write("d/b", "x")
    repo.commit()
    repo.write("a", "changed")
    repo.write("d/new", "x")
    return repo


def linked(repo: GitRepo, place: Path) -> GitRepo:
    repo.git("worktree", "add", "-q", "-b", "topic", os.fspath(place))
    other = GitRepo(place)
    other.write("a", "other")
    other.write("only-here", "x")
    return other


def test_from_a_sub_folder(repo: GitRepo) -> None:
    """The whole worktree is read from wherever one stands in it."""
    fill(repo)
    repo.write(".gitignore", "ignored\n")
    repo.write("ignored/x", "x")
    assert agree(repo, cwd=repo.at("d")) == agree(repo) == agree(repo, cwd=repo.at("ignored"))


@pytest.mark.parametrize(
    "name", [" spaced  name ", "new\nline", b"caf\xe9", 'quo"te', "co:lon", ":(top)", "-dash", "ü"]
)
def test_in_folders_with_odd_names(tmp_path: Path, name: str | bytes) -> None:
    """A repository may lie in a folder with any name."""
    agree(fill(GitRepo.init(tmp_path / os.fsdecode(name))), declines="")


@pytest.mark.parametrize("name", ["new\nline", b"caf\xe9:x", 'quo"te'])
def test_git_dirs_with_odd_names(tmp_path: Path, name: str | bytes) -> None:
    """So may its git dir."""
    place = tmp_path / os.fsdecode(name)
    agree(fill(GitRepo.init(tmp_path / "work", "--separate-git-dir", os.fspath(place))), declines="")


def test_linked_worktree(repo: GitRepo, tmp_path: Path) -> None:
    """A linked worktree has a tree of its own, and the main one is not touched by reading it."""
    other = linked(fill(repo), tmp_path / "other")
    before = repo.census()
    assert agree(other) != agree(repo, declines="")
    assert repo.census() == before


def test_linked_worktree_with_configuration_of_its_own(repo: GitRepo, tmp_path: Path) -> None:
    """What is set for one worktree holds there alone."""
    repo.config("extensions.worktreeConfig", "true")
    other = linked(fill(repo), tmp_path / "other")
    (tmp_path / "excludes").write_text("only-here\n")
    other.git("config", "--worktree", "core.excludesFile", os.fspath(tmp_path / "excludes"))
    assert "only-here" not in other.git("ls-tree", "--name-only", agree(other))
    repo.write("only-here", "x")
    assert "only-here" in repo.git("ls-tree", "--name-only", agree(repo))


def test_linked_worktree_with_a_locked_and_moved_sibling(repo: GitRepo, tmp_path: Path) -> None:
    """A sibling that was moved away by hand is nobody's concern."""
    other = linked(fill(repo), tmp_path / "other")
    linked_again = tmp_path / "again"
    repo.git("worktree", "add", "-q", os.fspath(linked_again))
    linked_again.rename(tmp_path / "gone")
    agree(other, declines="")


def test_worktree_of_a_bare_repository(repo: GitRepo, tmp_path: Path) -> None:
    """A bare repository's linked worktree works like any other."""
    fill(repo)
    repo.git("clone", "-q", "--bare", ".", os.fspath(tmp_path / "bare.git"))
    GitRepo(tmp_path / "bare.git").git("worktree", "add", "-q", os.fspath(tmp_path / "work"))
    work = GitRepo(tmp_path / "work")
    work.write("new", "x")
    agree(work, declines="")


def test_worktree_of_a_bare_repository_that_says_bare_per_worktree(repo: GitRepo, tmp_path: Path) -> None:
    """core.bare may be in the main worktree's configuration only."""
    fill(repo)
    repo.config("extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.bare", "true")
    repo.git("config", "--unset", "core.bare")
    repo.git("worktree", "add", "-q", os.fspath(tmp_path / "work"))
    work = GitRepo(tmp_path / "work")
    work.write("new", "x")
    agree(work, declines="")


def test_separate_git_dir(tmp_path: Path) -> None:
    """The git dir may lie elsewhere, named by a file."""
    agree(fill(GitRepo.init(tmp_path / "work", "--separate-git-dir", os.fspath(tmp_path / "store"))), declines="")


def test_git_dir_behind_a_link(repo: GitRepo, tmp_path: Path) -> None:
    """.git may be a symbolic link."""
    fill(repo)
    repo.at(".git").rename(tmp_path / "store")
    repo.symlink(".git", os.fspath(tmp_path / "store"))
    agree(repo, declines="")


def test_core_worktree(repo: GitRepo, tmp_path: Path) -> None:
    """core.worktree says where the files are, also when one stands in the git dir's own folder."""
    fill(repo)
    (tmp_path / "files").mkdir()
    repo.config("core.worktree", os.fspath(tmp_path / "files"))
    files = GitRepo(tmp_path / "files", env={"GIT_DIR": os.fspath(repo.path / ".git")})
    files.write("elsewhere", "x")
    tree = agree(files, declines="")
    assert files.git("ls-tree", "--name-only", tree) == "elsewhere"
    assert read(repo) == tree


def test_core_worktree_relative(repo: GitRepo) -> None:
    """core.worktree is relative to the git dir."""
    fill(repo)
    repo.config("core.worktree", "../d")
    assert repo.git("ls-tree", "--name-only", read(repo, keep=True)).split() == ["b", "new"]


@pytest.mark.parametrize("cwd", [".", "d"])
def test_git_dir_alone(repo: GitRepo, cwd: str) -> None:
    """With GIT_DIR alone the current folder is the worktree, as it is for git."""
    fill(repo)
    repo.env["GIT_DIR"] = os.fspath(repo.path / ".git")
    view = GitRepo(repo.at(cwd), env=repo.env)
    agree(view, declines="")


def test_git_dir_and_work_tree(repo: GitRepo, tmp_path: Path) -> None:
    """GIT_DIR and GIT_WORK_TREE, absolute, from anywhere."""
    fill(repo)
    env = {"GIT_DIR": os.fspath(repo.path / ".git"), "GIT_WORK_TREE": os.fspath(repo.path)}
    assert agree(GitRepo(tmp_path, env=env), cwd=tmp_path) == agree(repo, declines="")


def test_git_dir_and_work_tree_relative(repo: GitRepo) -> None:
    """Relative ones are relative to where the caller stands, not to the top."""
    fill(repo)
    view = GitRepo(repo.at("d"), env={"GIT_DIR": "../.git", "GIT_WORK_TREE": ".."})
    assert agree(view) == agree(repo, declines="")


def test_work_tree_alone(repo: GitRepo) -> None:
    """GIT_WORK_TREE alone moves the worktree of the repository that is found."""
    fill(repo)
    agree(GitRepo(repo.path, env={"GIT_WORK_TREE": os.fspath(repo.at("d"))}), declines="")


@pytest.mark.parametrize("relative", [True, False])
def test_index_file(repo: GitRepo, tmp_path: Path, relative: bool) -> None:
    """GIT_INDEX_FILE is the index in force, and is not written either."""
    fill(repo)
    repo.write(".gitignore", "*.o\n")
    repo.write("forced.o", "x")
    place = repo.path / ".git/other-index" if relative else tmp_path / "other index"
    env = {"GIT_INDEX_FILE": ".git/other-index" if relative else os.fspath(place)}
    repo.git("add", "-f", "forced.o", env=env)
    view = GitRepo(repo.path, env=env)
    assert "forced.o" in view.git("ls-tree", "--name-only", agree(view))
    assert agree(view) != agree(repo, declines="")


def test_index_file_that_does_not_exist(repo: GitRepo, tmp_path: Path) -> None:
    """An index that is not there yet is an empty one."""
    fill(repo)
    agree(GitRepo(repo.path, env={"GIT_INDEX_FILE": os.fspath(tmp_path / "none")}), declines="")
    assert not (tmp_path / "none").exists()


def test_object_directory_elsewhere(repo: GitRepo, tmp_path: Path) -> None:
    """GIT_OBJECT_DIRECTORY and its alternates hold, also when relative."""
    fill(repo)
    (tmp_path / "new").mkdir()
    env = {
        "GIT_OBJECT_DIRECTORY": os.fspath(tmp_path / "new"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fspath(repo.path / ".git/objects"),
    }
    agree(GitRepo(repo.path, env=env), declines="")
    assert list((tmp_path / "new").iterdir())


def test_object_directory_relative(repo: GitRepo) -> None:
    """A relative GIT_OBJECT_DIRECTORY is what git takes it for, from the top of the worktree."""
    fill(repo)
    agree(GitRepo(repo.path, env={"GIT_OBJECT_DIRECTORY": ".git/objects"}), declines="")


def test_literal_pathspecs_in_the_environment(repo: GitRepo) -> None:
    """Pathspec settings of the caller change nothing."""
    fill(repo)
    expected = read(repo)
    for name in ("LITERAL", "GLOB", "NOGLOB", "ICASE"):
        assert read(GitRepo(repo.path, env={f"GIT_{name}_PATHSPECS": "1"})) == expected


def test_alternates(repo: GitRepo, tmp_path: Path) -> None:
    """Objects of an alternate store are there, also without keeping."""
    fill(repo)
    repo.git("clone", "-q", "--shared", ".", os.fspath(tmp_path / "co:py"))
    copy = GitRepo(tmp_path / "co:py")
    copy.write("new", "x")
    agree(copy, declines="")


def test_shallow(repo: GitRepo, tmp_path: Path) -> None:
    """A shallow clone is as good as a whole one."""
    fill(repo).commit()
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", os.fspath(tmp_path / "copy"))
    copy = GitRepo(tmp_path / "copy")
    copy.write("new", "x")
    agree(copy, declines="")


def test_partial_clone_with_missing_blobs(repo: GitRepo, tmp_path: Path) -> None:
    """Blobs that a partial clone has not are never fetched for us."""
    fill(repo)
    repo.write("big", "old content")
    repo.commit()
    repo.write("big", "new content")
    repo.commit()
    repo.config("uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=blob:none", "--sparse", f"file://{repo.path}", os.fspath(tmp_path / "copy"))
    copy = GitRepo(tmp_path / "copy")
    copy.config("remote.origin.url", "file:///nonexistent")
    copy.write("a", "changed in the clone")
    agree(copy, declines="sparse")


def test_sha256(tmp_path: Path) -> None:
    """A sha256 repository works like any other."""
    repo = fill(GitRepo.init(tmp_path / "work", "--object-format=sha256"))
    assert len(agree(repo)) == 64


def test_reftable_where_git_has_it(tmp_path: Path) -> None:
    """Refs in a reftable make no difference."""
    repo = GitRepo(tmp_path / "work")
    repo.path.mkdir()
    if repo.run("init", "-q", "--ref-format=reftable").returncode != 0:
        pytest.skip("this git has no reftable")
    agree(fill(repo))


@pytest.mark.parametrize("relative", [True, False])
def test_alternates_in_the_environment(repo: GitRepo, tmp_path: Path, relative: bool) -> None:
    """Stores that the environment names are read where git finds them: relative to the top of the worktree."""
    fill(repo)
    repo.git("clone", "-q", "--shared", ".", os.fspath(tmp_path / "copy"))
    (tmp_path / "copy/.git/objects/info/alternates").unlink()
    store = repo.path / ".git/objects"
    named = os.path.relpath(store, tmp_path / "copy") if relative else os.fspath(store)
    copy = GitRepo(tmp_path / "copy", env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": named})
    copy.write("d/new", "x")
    assert agree(copy, declines="") == agree(copy, cwd=copy.at("d"), declines="")


def test_alternates_of_alternates(repo: GitRepo, tmp_path: Path) -> None:
    """An alternate may have one of its own, relative to itself."""
    fill(repo)
    repo.git("clone", "-q", "--shared", ".", os.fspath(tmp_path / "one"))
    GitRepo(tmp_path / "one").git("clone", "-q", "--shared", ".", os.fspath(tmp_path / "two"))
    copy = GitRepo(tmp_path / "two")
    (copy.path / ".git/objects/info/alternates").write_text("../../../one/.git/objects\n")
    copy.write("d/new", "x")
    agree(copy, declines="")


def test_common_dir_in_the_environment(repo: GitRepo, tmp_path: Path) -> None:
    """GIT_COMMON_DIR beside GIT_DIR makes a worktree that no file links."""
    fill(repo)
    place = tmp_path / "own"
    place.mkdir()
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    env = {"GIT_DIR": os.fspath(place), "GIT_COMMON_DIR": os.fspath(repo.path / ".git")}
    agree(GitRepo(repo.path, env={**env, "GIT_WORK_TREE": os.fspath(repo.path)}), declines="")


def test_treeless_clone(repo: GitRepo, tmp_path: Path) -> None:
    """Trees that a clone has not are never fetched for us either."""
    fill(repo).commit()
    repo.config("uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=tree:0", f"file://{repo.path}", os.fspath(tmp_path / "copy"))
    copy = GitRepo(tmp_path / "copy")
    copy.config("remote.origin.url", "file:///nonexistent")
    copy.write("d/new", "edited")
    agree(copy, declines="")


def test_packed(repo: GitRepo) -> None:
    """Packed objects and refs make no difference."""
    fill(repo)
    repo.git("gc", "-q")
    repo.git("pack-refs", "--all")
    agree(repo, declines="")
    repo.git("repack", "-q", "-a", "-d", "--write-midx", "--write-bitmap-index")
    repo.git("commit-graph", "write", "--reachable")
    agree(repo, declines="")


def test_store_without_any_object(repo: GitRepo) -> None:
    """The first tree of a repository is the empty one."""
    assert agree(repo) == repo.git("mktree", input="")
