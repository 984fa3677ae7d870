"""What the index says and does not say: racy edits, flags, sparse and split forms, locks and damage."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

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


@indexed
def same_size_at_once(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("a", "b\n")
    repo.write("d/b", "x/y\n")


@indexed
def same_size_after_add(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("a", "1\n")
    repo.add()
    repo.write("a", "2\n")


@indexed
def racy_in_one_second(repo: GitRepo) -> None:
    repo.write("a", "1\n")
    os.utime(repo.at("a"), (1_700_000_000, 1_700_000_000))
    repo.commit()
    os.utime(repo.git_dir() / "index", (1_700_000_000, 1_700_000_000))
    repo.config("core.trustctime", "false")
    repo.write("a", "2\n")
    os.utime(repo.at("a"), (1_700_000_000, 1_700_000_000))


@indexed
def restored_times_without_ctime(repo: GitRepo) -> None:
    repo.config("core.trustctime", "false")
    repo.config("core.checkStat", "minimal")
    three_files(repo)
    index = repo.git_dir() / "index"
    os.utime(repo.at("a"), (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "--refresh", check=False)
    os.utime(index, (1_700_000_100, 1_700_000_100))
    keep_times(repo, "a", "b\n")


@indexed
def intent_to_add(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("new", "x")
    repo.write("gone", "x")
    repo.git("add", "-N", "new", "gone")
    repo.remove("gone")


@indexed
def assume_unchanged(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--assume-unchanged", "a", "d/b")
    repo.write("a", "hidden")
    repo.remove("d/b")


@indexed
def skip_worktree_missing(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--skip-worktree", "a")
    repo.remove("a")


@indexed
def skip_worktree_edited(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--skip-worktree", "a")
    repo.write("a", "hidden")


@indexed
def sparse_by_pattern(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("sparse-checkout", "set", "--no-cone", "/a", "/d/e/")
    repo.write("a", "changed")


@indexed
def sparse_cone(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("sparse-checkout", "set", "--cone", "d/e")
    repo.write("d/e/c", "changed")


@indexed
def sparse_index(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("f/g/h", "x")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "d/e")
    repo.write("d/e/c", "changed")


@indexed
def file_outside_the_cone(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("f/g/h", "x")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "d/e")
    repo.write("f/g/h", "back again")
    repo.write("f/new", "never tracked")


@indexed
def file_outside_a_sparse_index(repo: GitRepo) -> None:
    sparse_index(repo)
    repo.write("f/g/h", "back again")
    repo.write("f/new", "never tracked")


@indexed
def split_index(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--split-index")
    repo.write("a", "changed")
    repo.git("add", "a")
    repo.write("d/b", "changed")


@indexed
def split_index_by_configuration(repo: GitRepo) -> None:
    repo.config("core.splitIndex", "true")
    three_files(repo)
    repo.write("new", "x")


@indexed
def version_4(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--index-version", "4")
    repo.write("d/b", "changed")


@indexed
def version_4_by_configuration(repo: GitRepo) -> None:
    repo.config("index.version", "4")
    repo.config("feature.manyFiles", "true")
    three_files(repo)
    repo.write("d/b", "changed")


@indexed
def skip_hash(repo: GitRepo) -> None:
    repo.config("index.skipHash", "true")
    three_files(repo)
    repo.write("d/b", "changed")


@indexed
def missing(repo: GitRepo) -> None:
    three_files(repo)
    (repo.git_dir() / "index").unlink()


@indexed
def locked_by_another_git(repo: GitRepo) -> None:
    three_files(repo)
    repo.write("a", "changed")
    (repo.git_dir() / "index.lock").write_bytes(b"")


@indexed
def monitor_that_lies(repo: GitRepo) -> None:
    three_files(repo)
    hook = repo.git_dir() / "lie"
    hook.write_text("#!/bin/sh\nprintf 'token\\0'\n")
    hook.chmod(0o755)
    repo.config("core.fsmonitor", os.fspath(hook))
    repo.git("update-index", "--fsmonitor", check=False)
    repo.git("status")
    repo.write("a", "changed")


@indexed
def file_system_cache_of_bits(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--really-refresh")
    repo.config("core.ignoreStat", "true")
    repo.write("a", "changed")


@indexed
def cache_tree_absent(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("read-tree", "--empty")
    repo.git("read-tree", "HEAD")
    repo.write("d/e/new", "x")


@indexed
def objects_missing_from_the_store(repo: GitRepo) -> None:
    three_files(repo)
    repo.git("update-index", "--add", "--cacheinfo", "100644,ce013625030ba8dba906f756967f9e9ca394464a,d/gone")
    repo.git("update-index", "--skip-worktree", "d/gone")


@indexed
def objects_missing_and_rehashed(repo: GitRepo) -> None:
    three_files(repo)
    oid = repo.git("rev-parse", "HEAD:a")
    (repo.git_dir() / "objects" / oid[:2] / oid[2:]).unlink()
    repo.write("d/b", "changed")


@indexed.table
def test_index_read_as_git_does(repo: GitRepo, build) -> None:
    """The tree depends on the index as git's own would, and the index is never written."""
    build(repo)
    agree(repo)


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


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
def test_hidden_edits_are_told(repo: GitRepo, flag: str) -> None:
    """What flags hide from every tree is told, but not files that are as the index has them."""
    three_files(repo)
    repo.git("update-index", f"--{flag}", "a", "d/b", "d/e/c")
    repo.write("a", "hidden")
    repo.remove("d/e/c")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        told = [(change.path, change.kind) for change in reading.hidden]
    repository.close()
    assert told == [("a", flag)] + ([("d/e/c", flag)] if flag == "assume-unchanged" else [])


def hidden(repo: GitRepo) -> list[tuple[str, str]]:
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        found = [(change.path, change.kind) for change in reading.hidden]
    repository.close()
    return found


ODD_NAMES = [b"caf\xe9", b"new\nline", b'"quoted"', b"back\\slash", b" lead", "é".encode(), b"-n"]


def test_hidden_edits_of_files_with_odd_names(repo: GitRepo) -> None:
    """Names are bytes here too, and unchanged files stay untold."""
    for name in ODD_NAMES:
        repo.write(name, "x")
    repo.commit()
    repo.git("update-index", "-z", "--assume-unchanged", "--stdin", input=b"\0".join(ODD_NAMES))
    assert hidden(repo) == []
    for name in ODD_NAMES:
        repo.write(name, "y")
    assert len(hidden(repo)) == len(ODD_NAMES)


def test_hidden_changes_of_kind_and_mode(repo: GitRepo) -> None:
    """A mode, a link with the bytes of the file, and a FIFO are changes as well; nothing waits for the FIFO."""
    for name in ("fifo", "folder", "kind", "link", "mode", "same"):
        repo.write(name, "target")
    repo.remove("link")
    repo.symlink("link", "target")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "fifo", "folder", "kind", "link", "mode", "same")
    assert hidden(repo) == []
    repo.remove("fifo", "folder", "kind", "link")
    os.mkfifo(repo.at("fifo"))
    repo.at("folder").mkdir()
    repo.symlink("kind", "target")
    repo.write("link", "target")
    repo.chmod("mode", 0o755)
    told = [path for path, _ in hidden(repo)]
    assert told == ["fifo", "folder", "kind", "link", "mode"]
    repo.config("core.fileMode", "false")
    repo.config("core.symlinks", "false")
    assert [path for path, _ in hidden(repo)] == ["fifo", "folder", "kind"]


def test_hidden_edits_take_no_process_each(repo: GitRepo, tmp_path: Path) -> None:
    """The number of git processes does not grow with the files under a flag."""
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/git"
    script.write_text(f'#!/bin/sh\necho call >>"{log}"\nexec "{shutil.which("git")}" "$@"\n')
    script.chmod(0o755)
    for number in range(50):
        repo.write(str(number), "x")
    repo.commit()
    counts = []
    for flagged in (["0"], [str(number) for number in range(50)]):
        repo.git("update-index", "--assume-unchanged", *flagged)
        log.write_text("")
        environ = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        repository = open_repository(repo.path, environ)
        with read_worktree(repository, keep=False) as reading:
            assert reading.hidden == ()
        repository.close()
        counts.append(len(log.read_text().splitlines()))
    assert counts[0] >= counts[1]


def test_hidden_edits_are_converted_before_they_are_judged(repo: GitRepo) -> None:
    """A file under a flag that differs only as its filter says is no edit."""
    repo.config("core.autocrlf", "true")
    repo.write("a", "one\r\n")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "a")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.hidden == ()
    repository.close()


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
