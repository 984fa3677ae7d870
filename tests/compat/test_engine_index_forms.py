"""Forms of the index that are seldom seen, and what of the store an index may name that is not there."""

from __future__ import annotations

import hashlib
from pathlib import Path

from engine import Cases, agree, git_refuses, refuse
from gitrepo import GitRepo

formed = Cases()
refused = Cases()


def two_files(repo: GitRepo) -> None:
    repo.write("a", "a\n")
    repo.write("d/b", "b\n")
    repo.commit()


def rewrite_index(repo: GitRepo, old: bytes, new: bytes, *, extension: bytes = b"") -> None:
    """Replace bytes of the index, append an extension, and hash it anew."""
    index = repo.git_dir() / "index"
    data = index.read_bytes()[:-20].replace(old, new, 1) + extension
    index.write_bytes(data + hashlib.sha1(data).digest())


@formed
def unknown_extension_that_one_may_skip(repo: GitRepo) -> None:
    two_files(repo)
    rewrite_index(repo, b"", b"", extension=b"ZZZZ\0\0\0\4data")
    repo.write("a", "changed\n")


@formed.declined("damaged")
def checksum_that_is_wrong(repo: GitRepo) -> None:
    two_files(repo)
    index = repo.git_dir() / "index"
    index.write_bytes(index.read_bytes()[:-1] + b"?")
    repo.write("a", "changed\n")


@formed.fast
def checksum_of_zeros(repo: GitRepo) -> None:
    two_files(repo)
    index = repo.git_dir() / "index"
    index.write_bytes(index.read_bytes()[:-20] + bytes(20))
    repo.write("a", "changed\n")


@formed.fast
def behind_a_link(repo: GitRepo) -> None:
    two_files(repo)
    index = repo.git_dir() / "index"
    index.rename(index.with_name("real-index"))
    index.symlink_to("real-index")
    repo.write("a", "changed\n")


@formed.fast
def read_by_threads(repo: GitRepo) -> None:
    repo.config("index.threads", "4")
    repo.config("index.recordEndOfIndexEntries", "true")
    repo.config("index.recordOffsetTable", "true")
    two_files(repo)
    repo.write("a", "changed\n")


@formed.fast
def after_a_conflict_was_resolved(repo: GitRepo) -> None:
    two_files(repo)
    repo.checkout("-b", "side")
    repo.write("a", "side\n")
    repo.commit()
    repo.checkout("main")
    repo.write("a", "main\n")
    repo.commit()
    repo.git("merge", "side", check=False)
    repo.write("a", "both\n")
    repo.add("a")
    repo.write("d/new", "x")


@formed.fast
def intent_to_add_of_links_and_programs(repo: GitRepo) -> None:
    two_files(repo)
    repo.symlink("link", "a")
    repo.write("run", "x", mode=0o755)
    repo.write("d/empty", "")
    repo.git("add", "-N", ".")
    repo.write("run", "changed", mode=0o755)


@formed.fast
def intent_to_add_in_a_folder_that_is_gone(repo: GitRepo) -> None:
    two_files(repo)
    repo.write("n/e/w", "x")
    repo.git("add", "-N", ".")
    repo.remove("n")


@formed
def assume_unchanged_but_a_folder_now(repo: GitRepo) -> None:
    two_files(repo)
    repo.git("update-index", "--assume-unchanged", "a")
    repo.remove("a")
    repo.write("a/new", "x")


@formed
def skip_worktree_but_a_folder_now(repo: GitRepo) -> None:
    two_files(repo)
    repo.git("update-index", "--skip-worktree", "a", "d/b")
    repo.remove("a", "d")
    repo.write("a/new", "x")
    repo.symlink("d", "a")


@formed
def skip_worktree_of_a_file_that_is_staged_otherwise(repo: GitRepo) -> None:
    two_files(repo)
    repo.write("a", "staged\n")
    repo.add()
    repo.git("update-index", "--skip-worktree", "a")
    repo.write("a", "edited\n")


@formed.declined("sparse")
def sparse_files_that_are_expected_outside(repo: GitRepo) -> None:
    two_files(repo)
    repo.git("sparse-checkout", "set", "--no-cone", "/a")
    repo.config("sparse.expectFilesOutsideOfPatterns", "true")
    repo.write("d/b", "there after all\n")


@formed.declined("sparse")
def sparse_with_staged_changes_outside(repo: GitRepo) -> None:
    two_files(repo)
    repo.git("sparse-checkout", "set", "--cone", "e")
    repo.git("rm", "-q", "--cached", "--sparse", "d/b")
    repo.write("e/new", "x")


@formed.declined("sparse")
def sparse_index_in_conflict(repo: GitRepo) -> None:
    repo.write("out/a", "base\n")
    repo.write("in/a", "base\n")
    base = repo.commit()
    repo.checkout("-b", "side")
    repo.write("out/a", "side\n")
    repo.commit()
    repo.checkout("-B", "main", base)
    repo.write("out/a", "main\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    repo.git("merge", "side", check=False)
    repo.write("in/a", "edited\n")


@formed
def folder_missing_from_the_store(repo: GitRepo) -> None:
    two_files(repo)
    oid = repo.git("rev-parse", "HEAD:d")
    (repo.git_dir() / "objects" / oid[:2] / oid[2:]).unlink()
    repo.write("d/b", "changed\n")


@formed
def folder_missing_from_the_store_and_staged(repo: GitRepo) -> None:
    folder_missing_from_the_store(repo)
    repo.add()
    repo.write("d/b", "changed again\n")


@formed
def commit_missing_from_the_store(repo: GitRepo) -> None:
    two_files(repo)
    oid = repo.head()
    (repo.git_dir() / "objects" / oid[:2] / oid[2:]).unlink()
    repo.write("d/b", "changed\n")


@formed.fast
def staged_blob_missing_and_edited_since(repo: GitRepo) -> None:
    two_files(repo)
    repo.write("a", "staged\n")
    repo.add()
    oid = repo.git("rev-parse", ":a")
    (repo.git_dir() / "objects" / oid[:2] / oid[2:]).unlink()
    repo.write("d/b", "changed\n")


@formed.fast
def index_of_another_commit(repo: GitRepo) -> None:
    two_files(repo)
    repo.write("d/b", "second\n")
    repo.write("e/f", "second\n")
    repo.commit()
    repo.git("read-tree", "HEAD~1")


@formed.fast
def emptied(repo: GitRepo) -> None:
    two_files(repo)
    repo.git("rm", "-q", "--cached", "-r", ".")
    repo.write("d/b", "changed\n")


@formed.fast
def lock_that_is_a_folder(repo: GitRepo) -> None:
    two_files(repo)
    (repo.git_dir() / "index.lock").mkdir()
    repo.write("d/b", "changed\n")


@refused
def empty_file(repo: GitRepo) -> None:
    two_files(repo)
    (repo.git_dir() / "index").write_bytes(b"")


@refused
def version_of_old(repo: GitRepo) -> None:
    two_files(repo)
    rewrite_index(repo, b"DIRC\0\0\0\2", b"DIRC\0\0\0\1")


@refused
def unknown_extension_that_one_must_know(repo: GitRepo) -> None:
    two_files(repo)
    rewrite_index(repo, b"", b"", extension=b"zzzz\0\0\0\4data")


@refused
def more_entries_than_there_are(repo: GitRepo) -> None:
    two_files(repo)
    rewrite_index(repo, b"\0\0\0\2\0\0\0\2", b"\0\0\0\2\0\0\0\x09")


@refused
def shared_half_missing(repo: GitRepo) -> None:
    two_files(repo)
    repo.git("update-index", "--split-index")
    repo.write("a", "changed\n")
    repo.add()
    for shared in repo.git_dir().glob("sharedindex.*"):
        shared.unlink()


@formed.table
def test_index_read_as_git_does(repo: GitRepo, build) -> None:
    """The tree depends on the index as git's own would, and the index is never written."""
    build(repo)
    agree(repo, declines=build.declines)


@refused.table
def test_refused_where_git_refuses(repo: GitRepo, build) -> None:
    """An index that git does not read is refused in one line."""
    build(repo)
    git_refuses(repo)
    refuse(repo)


def test_kept_objects_are_shared_as_git_shares_them(tmp_path: Path) -> None:
    """New objects, and the folders that hold them, get the modes that git's own would get."""
    repo = GitRepo.init(tmp_path / "work", "--shared=0660")
    repo.write("a", "one\n")
    (ours,) = repo.git("ls-tree", "--object-only", agree(repo)).splitlines()
    theirs = repo.git("hash-object", "-w", "--stdin", input="another\n")
    found = []
    for oid in (ours, theirs):
        folder = repo.git_dir() / "objects" / oid[:2]
        found.append([place.stat().st_mode for place in (folder, folder / oid[2:])])
    assert found[0] == found[1]
