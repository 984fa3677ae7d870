"""Where a repository can be, and how git is told about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine import agree, read
from gitrepo import GitRepo

from git_taskctx.errors import Fatal
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree


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


def opening_fails(folder: Path, **env: str) -> Fatal:
    with pytest.raises(Fatal) as caught:
        open_repository(folder, {**os.environ, **env})
    assert caught.value.message.isprintable()
    return caught.value


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
    agree(fill(GitRepo.init(tmp_path / os.fsdecode(name))))


@pytest.mark.parametrize("name", ["new\nline", b"caf\xe9:x", 'quo"te'])
def test_git_dirs_with_odd_names(tmp_path: Path, name: str | bytes) -> None:
    """So may its git dir."""
    place = tmp_path / os.fsdecode(name)
    agree(fill(GitRepo.init(tmp_path / "work", "--separate-git-dir", os.fspath(place))))


def test_linked_worktree(repo: GitRepo, tmp_path: Path) -> None:
    """A linked worktree has a tree of its own, and the main one is not touched by reading it."""
    other = linked(fill(repo), tmp_path / "other")
    before = repo.census()
    assert agree(other) != agree(repo)
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
    agree(other)


def test_worktree_of_a_bare_repository(repo: GitRepo, tmp_path: Path) -> None:
    """A bare repository's linked worktree works like any other."""
    fill(repo)
    repo.git("clone", "-q", "--bare", ".", os.fspath(tmp_path / "bare.git"))
    GitRepo(tmp_path / "bare.git").git("worktree", "add", "-q", os.fspath(tmp_path / "work"))
    work = GitRepo(tmp_path / "work")
    work.write("new", "x")
    agree(work)


def test_worktree_of_a_bare_repository_that_says_bare_per_worktree(repo: GitRepo, tmp_path: Path) -> None:
    """core.bare may be in the main worktree's configuration only."""
    fill(repo)
    repo.config("extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.bare", "true")
    repo.git("config", "--unset", "core.bare")
    repo.git("worktree", "add", "-q", os.fspath(tmp_path / "work"))
    work = GitRepo(tmp_path / "work")
    work.write("new", "x")
    agree(work)


def test_separate_git_dir(tmp_path: Path) -> None:
    """The git dir may lie elsewhere, named by a file."""
    agree(fill(GitRepo.init(tmp_path / "work", "--separate-git-dir", os.fspath(tmp_path / "store"))))


def test_git_dir_behind_a_link(repo: GitRepo, tmp_path: Path) -> None:
    """.git may be a symbolic link."""
    fill(repo)
    repo.at(".git").rename(tmp_path / "store")
    repo.symlink(".git", os.fspath(tmp_path / "store"))
    agree(repo)


def test_core_worktree(repo: GitRepo, tmp_path: Path) -> None:
    """core.worktree says where the files are, also when one stands in the git dir's own folder."""
    fill(repo)
    (tmp_path / "files").mkdir()
    repo.config("core.worktree", os.fspath(tmp_path / "files"))
    files = GitRepo(tmp_path / "files", env={"GIT_DIR": os.fspath(repo.path / ".git")})
    files.write("elsewhere", "x")
    tree = agree(files)
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
    agree(view)


def test_git_dir_and_work_tree(repo: GitRepo, tmp_path: Path) -> None:
    """GIT_DIR and GIT_WORK_TREE, absolute, from anywhere."""
    fill(repo)
    env = {"GIT_DIR": os.fspath(repo.path / ".git"), "GIT_WORK_TREE": os.fspath(repo.path)}
    assert agree(GitRepo(tmp_path, env=env), cwd=tmp_path) == agree(repo)


def test_git_dir_and_work_tree_relative(repo: GitRepo) -> None:
    """Relative ones are relative to where the caller stands, not to the top."""
    fill(repo)
    view = GitRepo(repo.at("d"), env={"GIT_DIR": "../.git", "GIT_WORK_TREE": ".."})
    assert agree(view) == agree(repo)


def test_work_tree_alone(repo: GitRepo) -> None:
    """GIT_WORK_TREE alone moves the worktree of the repository that is found."""
    fill(repo)
    agree(GitRepo(repo.path, env={"GIT_WORK_TREE": os.fspath(repo.at("d"))}))


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
    assert agree(view) != agree(repo)


def test_index_file_that_does_not_exist(repo: GitRepo, tmp_path: Path) -> None:
    """An index that is not there yet is an empty one."""
    fill(repo)
    agree(GitRepo(repo.path, env={"GIT_INDEX_FILE": os.fspath(tmp_path / "none")}))
    assert not (tmp_path / "none").exists()


def test_object_directory_elsewhere(repo: GitRepo, tmp_path: Path) -> None:
    """GIT_OBJECT_DIRECTORY and its alternates hold, also when relative."""
    fill(repo)
    (tmp_path / "new").mkdir()
    env = {
        "GIT_OBJECT_DIRECTORY": os.fspath(tmp_path / "new"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fspath(repo.path / ".git/objects"),
    }
    agree(GitRepo(repo.path, env=env))
    assert list((tmp_path / "new").iterdir())


def test_object_directory_relative(repo: GitRepo) -> None:
    """A relative GIT_OBJECT_DIRECTORY is what git takes it for, from the top of the worktree."""
    fill(repo)
    agree(GitRepo(repo.path, env={"GIT_OBJECT_DIRECTORY": ".git/objects"}))


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
    agree(copy)


def test_shallow(repo: GitRepo, tmp_path: Path) -> None:
    """A shallow clone is as good as a whole one."""
    fill(repo).commit()
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", os.fspath(tmp_path / "copy"))
    copy = GitRepo(tmp_path / "copy")
    copy.write("new", "x")
    agree(copy)


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
    agree(copy)


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


def test_packed(repo: GitRepo) -> None:
    """Packed objects and refs make no difference."""
    fill(repo)
    repo.git("gc", "-q")
    repo.git("pack-refs", "--all")
    agree(repo)


def test_store_without_any_object(repo: GitRepo) -> None:
    """The first tree of a repository is the empty one."""
    assert agree(repo) == repo.git("mktree", input="")


def test_bare_repository_is_refused(repo: GitRepo, tmp_path: Path) -> None:
    """There is no worktree in a bare repository."""
    repo.git("init", "-q", "--bare", os.fspath(tmp_path / "bare"))
    assert "work tree" in opening_fails(tmp_path / "bare").message


def test_inside_the_git_dir_is_refused(repo: GitRepo) -> None:
    """Nor is there one inside .git."""
    assert "work tree" in opening_fails(fill(repo).path / ".git").message


def test_outside_any_repository_is_refused(tmp_path: Path) -> None:
    """Outside a repository the message is git's, and a hint says what to do."""
    error = opening_fails(tmp_path)
    assert "not a git repository" in error.message
    assert error.hint


def test_git_dir_that_is_not_there(repo: GitRepo) -> None:
    """A GIT_DIR that names nothing is an error, not a search."""
    assert "not a git repository" in opening_fails(fill(repo).path, GIT_DIR="/nonexistent").message


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    """A folder that does not exist is told as such."""
    assert "no such folder" in opening_fails(tmp_path / "gone").message


def test_git_dir_in_the_worktree_under_another_name(repo: GitRepo) -> None:
    """git would add such a git dir as content; we refuse."""
    fill(repo)
    repo.at(".git").rename(repo.at("store"))
    env = {"GIT_DIR": os.fspath(repo.at("store")), "GIT_WORK_TREE": os.fspath(repo.path)}
    assert "another name than .git" in opening_fails(repo.path, **env).message


def test_separate_git_dir_inside_the_worktree(tmp_path: Path) -> None:
    """The same through a .git file."""
    repo = GitRepo.init(tmp_path / "work", "--separate-git-dir", os.fspath(tmp_path / "work/.store"))
    assert "another name than .git" in opening_fails(repo.path).message


def test_linked_worktree_over_its_own_repository(repo: GitRepo, tmp_path: Path) -> None:
    """A worktree that holds the store that all worktrees share, under another name, is refused too."""
    (tmp_path / "all").mkdir()
    repo.write("a", "x")
    repo.commit()
    repo.git("clone", "-q", "--bare", ".", os.fspath(tmp_path / "all/store"))
    bare = GitRepo(tmp_path / "all/store")
    bare.git("worktree", "add", "-q", os.fspath(tmp_path / "all/work"))
    env = {
        "GIT_DIR": os.fspath(tmp_path / "all/store/worktrees/work"),
        "GIT_WORK_TREE": os.fspath(tmp_path / "all"),
    }
    opening_fails(tmp_path / "all", **env)


def test_temporary_folder_inside_the_worktree(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing temporary of ours is ever content."""
    fill(repo)
    repo.at("tmp").mkdir()
    monkeypatch.setenv("TMPDIR", os.fspath(repo.at("tmp")))
    (repo.path / ".git/taskctx").write_text("in the way")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.tree == repo.oracle()
        assert repo.git("ls-files", "--others", "tmp") == ""
    repository.close()


def test_folders_of_killed_runs_are_swept(repo: GitRepo) -> None:
    """What a killed run left in the git dir is gone after the next; what is in use is not."""
    fill(repo)
    repository = open_repository(repo.path, dict(os.environ))
    left = repository.private_dir / "tmp-0000000000000000"
    left.mkdir(parents=True)
    (left / "index").write_text("x")
    with read_worktree(repository, keep=False):
        assert not left.exists()
        with read_worktree(repository, keep=False):
            assert len(list(repository.private_dir.glob("tmp-*"))) == 2
        assert len(list(repository.private_dir.glob("tmp-*"))) == 1
    assert not list(repository.private_dir.glob("tmp-*"))
    repository.close()


def test_private_folder_that_is_a_link(repo: GitRepo, tmp_path: Path) -> None:
    """A link in the place of our folder in the git dir is not followed."""
    fill(repo)
    (repo.path / ".git/taskctx").symlink_to(tmp_path)
    agree(repo)
    assert not list(tmp_path.iterdir())


def test_reading_serves_what_was_read(repo: GitRepo) -> None:
    """Inside the reading its objects and its changes can be read, kept or not."""
    fill(repo)
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        head = repository.tree_of(repository.head().commit)
        changes = [(change.path, change.status) for change in reading.changes_since(head)]
        assert changes == [(b"a", "M"), (b"d/new", "A")]
        assert reading.objects.find(f"{reading.tree}:a").data == b"changed"  # type: ignore[union-attr]
        assert reading.changes_since(reading.tree) == []
    assert repository.objects.find(reading.tree) is None
    repository.close()


def test_nothing_is_refused_by_a_hook(repo: GitRepo) -> None:
    """No hook of the repository runs while we read."""
    fill(repo)
    for name in ("pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        hook = repo.path / ".git/hooks" / name
        hook.write_text("#!/bin/sh\ntouch fired\n")
        hook.chmod(0o755)
    read(repo, keep=True)
    assert not repo.at("fired").exists()


def test_refuse_reports_in_one_line(repo: GitRepo) -> None:
    """A configuration that does not read is told in one line."""
    fill(repo)
    config = repo.path / ".git/config"
    config.write_text(config.read_text() + "[broken\n")
    with pytest.raises(Fatal) as caught:
        open_repository(repo.path, dict(os.environ))
    assert caught.value.message.isprintable()


def test_bad_index_version_setting(repo: GitRepo) -> None:
    """So is a bad value in it."""
    fill(repo)
    repo.config("core.compression", "many")
    refuse_any(repo)


def refuse_any(repo: GitRepo) -> None:
    with pytest.raises(Fatal) as caught:
        read(repo)
    assert caught.value.message.isprintable()
