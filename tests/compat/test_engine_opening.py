"""What opening a repository refuses, and what lies in our folder in its git dir while we read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine import agree, read
from gitrepo import GitRepo

from git_taskctx.errors import Fatal
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree
from git_taskctx.report.advice import advise


def fill(repo: GitRepo) -> GitRepo:
    repo.write("a", "x")
    repo.write("d/b", "x")
    repo.commit()
    repo.write("a", "changed")
    repo.write("d/new", "x")
    return repo


def opening_fails(folder: Path, **env: str) -> Fatal:
    with pytest.raises(Fatal) as caught:
        open_repository(folder, {**os.environ, **env})
    assert caught.value.message.isprintable()
    return caught.value


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
    assert advise(error).hint


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
