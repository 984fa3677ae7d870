"""What the index says and does not say: racy edits, flags, sparse and split forms, locks and damage."""

from __future__ import annotations

import os

import pytest
from engine import Cases, agree, git_refuses, read, refuse
from gitrepo import GitRepo

from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

indexed = Cases()


def three_files(repo: GitRepo) -> None:
    for name in ("a", "d/b", "d/e/c"):
        repo.write(name, f"{name}\n")
    repo.commit()


def keep_times(repo: GitRepo, path: str, data: str) -> None:
    found = repo.at(path).stat()
    repo.write(path, data)
    os.utime(repo.at(path), ns=(found.st_atime_ns, found.st_mtime_ns))


@indexed.fast
def same_size_at_once(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("a", "b\n")
    repo.write("d/b", "x/y\n")


@indexed.fast
def same_size_after_add(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("a", "1\n")
    repo.add()
    repo.write("a", "2\n")


@indexed.fast
def racy_in_one_second(repo: GitRepo) -> None:
    repo.write("a", "1\n")
    os.utime(repo.at("a"), (1_700_000_000, 1_700_000_000))
    repo.commit()
    os.utime(repo.git_dir() / "index", (1_700_000_000, 1_700_000_000))
    repo.config("core.trustctime", "false")
    repo.write("a", "2\n")
    os.utime(repo.at("a"), (1_700_000_000, 1_700_000_000))


@indexed.fast
def restored_times_without_ctime(repo: GitRepo) -> None:
    repo.config("core.trustctime", "false")
    repo.config("core.checkStat", "minimal")
    three_files(repo)
    index = repo.git_dir() / "index"
    os.utime(repo.at("a"), (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "--refresh", check=False)
    os.utime(index, (1_700_000_100, 1_700_000_100))
    keep_times(repo, "a", "b\n")


@indexed.fast
def intent_to_add(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("new", "x")
    repo.write("gone", "x")
    repo.git("add", "-N", "new", "gone")
    repo.remove("gone")


def _swap_flagged(repo: GitRepo, flag: str, flagged: str, gone: str, added: str) -> None:
    repo.write("d/b", "b")
    repo.write("d/e/c", "c")
    repo.write("f", "f")
    repo.commit()
    repo.git("update-index", flag, flagged)
    repo.remove(gone)
    repo.write(added, "in its place")


@indexed.declined("in the place of a folder")
def file_over_an_assumed_one(repo: GitRepo) -> None:
    _swap_flagged(repo, "--assume-unchanged", "d/b", "d", "d")


@indexed.declined("in the place of a folder")
def file_over_a_skipped_one(repo: GitRepo) -> None:
    _swap_flagged(repo, "--skip-worktree", "d/e/c", "d", "d")


@indexed.fast
def file_over_skipped_ones_alone(repo: GitRepo) -> None:
    _swap_flagged(repo, "--skip-worktree", "d/e/c", "d/e", "d/e")


@indexed.fast
def folder_over_a_skipped_file(repo: GitRepo) -> None:
    _swap_flagged(repo, "--skip-worktree", "f", "f", "f/g")


@indexed.fast
def folder_over_an_assumed_file(repo: GitRepo) -> None:
    _swap_flagged(repo, "--assume-unchanged", "f", "f", "f/g/h")


@indexed.fast
def assume_unchanged(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--assume-unchanged", "a", "d/b")
    repo.write("a", "hidden")
    repo.remove("d/b")


@indexed.fast
def skip_worktree_missing(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--skip-worktree", "a")
    repo.remove("a")


@indexed.fast
def skip_worktree_edited(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--skip-worktree", "a")
    repo.write("a", "hidden")


@indexed.declined("sparse")
def sparse_by_pattern(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("sparse-checkout", "set", "--no-cone", "/a", "/d/e/")
    repo.write("a", "changed")


@indexed.declined("sparse")
def sparse_cone(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("sparse-checkout", "set", "--cone", "d/e")
    repo.write("d/e/c", "changed")


@indexed.declined("sparse")
def sparse_index(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("f/g/h", "x")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "d/e")
    repo.write("d/e/c", "changed")


@indexed.declined("sparse")
def file_outside_the_cone(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("f/g/h", "x")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "d/e")
    repo.write("f/g/h", "back again")
    repo.write("f/new", "never tracked")


@indexed.declined("sparse")
def file_outside_a_sparse_index(repo: GitRepo) -> None:
    sparse_index(repo)
    repo.write("f/g/h", "back again")
    repo.write("f/new", "never tracked")


@indexed.declined("split")
def split_index(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--split-index")
    repo.write("a", "changed")
    repo.git("add", "a")
    repo.write("d/b", "changed")


@indexed.declined("split")
def split_index_by_configuration(repo: GitRepo) -> None:
    repo.config("core.splitIndex", "true")
    three_files(repo)
    repo.write("new", "x")


@indexed.fast
def version_4(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--index-version", "4")
    repo.write("d/b", "changed")


@indexed.fast
def version_4_by_configuration(repo: GitRepo) -> None:
    repo.config("index.version", "4")
    repo.config("feature.manyFiles", "true")
    three_files(repo)
    repo.write("d/b", "changed")


@indexed.fast
def skip_hash(repo: GitRepo) -> None:
    repo.config("index.skipHash", "true")
    three_files(repo)
    repo.write("d/b", "changed")


@indexed.fast
def missing(repo: GitRepo) -> None:
    three_files(repo)
    (repo.git_dir() / "index").unlink()


@indexed.fast
def locked_by_another_git(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("a", "changed")
    (repo.git_dir() / "index.lock").write_bytes(b"")


@indexed.fast
def monitor_that_lies(repo: GitRepo) -> None:
    three_files(repo)
    hook = repo.git_dir() / "lie"
    hook.write_text("#!/bin/sh\nprintf 'token\\0'\n")
    hook.chmod(0o755)
    repo.config("core.fsmonitor", os.fspath(hook))
    repo.git("update-index", "--fsmonitor", check=False)
    repo.git("status")
    repo.write("a", "changed")


@indexed.fast
def file_system_cache_of_bits(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--really-refresh")
    repo.config("core.ignoreStat", "true")
    repo.write("a", "changed")


@indexed.fast
def cache_tree_absent(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("read-tree", "--empty")
    repo.git("read-tree", "HEAD")
    repo.write("d/e/new", "x")


@indexed.fast
def objects_missing_from_the_store(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--add", "--cacheinfo", "100644,ce013625030ba8dba906f756967f9e9ca394464a,d/gone")
    repo.git("update-index", "--skip-worktree", "d/gone")


@indexed.fast
def objects_missing_and_rehashed(repo: GitRepo) -> None:
    three_files(repo)
    oid = repo.git("rev-parse", "HEAD:a")
    (repo.git_dir() / "objects" / oid[:2] / oid[2:]).unlink()
    repo.write("d/b", "changed")


@indexed.table
def test_index_read_as_git_does(repo: GitRepo, build) -> None:
    """The tree depends on the index as git's own would, and the index is never written."""
    build(repo)
    agree(repo, declines=build.declines)


def test_cold_reading_sees_what_times_hide(repo: GitRepo) -> None:
    """An edit whose size and times were put back is invisible to git; a cold reading sees it."""
    restored_times_without_ctime(repo)
    assert read(repo) == repo.tree()
    assert read(repo, cold=True) == repo.oracle(cold=True) != repo.tree()


def test_racy_edit_is_seen(repo: GitRepo) -> None:
    """An edit in the same second, of the same size, is in the tree (the copy of the index keeps its time)."""
    racy_in_one_second(repo)
    assert read(repo) != repo.tree()


def test_corrupt_index(repo: GitRepo) -> None:
    """A damaged index is refused in one line."""
    three_files(repo)
    index = repo.git_dir() / "index"
    index.write_bytes(index.read_bytes().replace(b"DIRC\0\0\0\2", b"DIRC\0\0\0\x09"))
    git_refuses(repo)
    refuse(repo)


def test_truncated_index(repo: GitRepo) -> None:
    """An index that was cut is refused in one line."""
    three_files(repo)
    index = repo.git_dir() / "index"
    index.write_bytes(index.read_bytes()[:50])
    refuse(repo)


def test_index_that_is_no_file(repo: GitRepo) -> None:
    """A folder in the index's place is refused in one line."""
    (repo.git_dir() / "index").mkdir()
    refuse(repo)


def test_index_that_is_a_fifo(repo: GitRepo) -> None:
    """A FIFO in the index's place does not make us wait."""
    three_files(repo)
    index = repo.git_dir() / "index"
    index.unlink()
    os.mkfifo(index)
    repository = open_repository(repo.path, dict(os.environ))
    with pytest.raises(Exception, match="index"), read_worktree(repository, keep=False):
        pass


def test_index_tree_is_what_is_staged(repo: GitRepo) -> None:
    """The staged tree is git's own `write-tree`, and none while the index is unmerged."""
    three_files(repo)
    repo.write("a", "staged")
    repo.add()
    repo.write("a", "not staged")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.index_tree == repo.git("write-tree")
        assert reading.tree != reading.index_tree
    repository.close()


def test_index_tree_without_an_index(repo: GitRepo) -> None:
    """Where there is no index, the staged tree is the empty one."""
    repo.write("a", "x")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.index_tree == repository.objects.empty_tree
    repository.close()
