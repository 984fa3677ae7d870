"""Files that are seldom seen: names that git forbids, special files where git reads, swaps of every kind."""

from __future__ import annotations

import contextlib
import os
import socket

import pytest
from engine import MODES, Cases, agree, git_refuses, read, refuse
from gitrepo import GitRepo

from git_taskctx.errors import TaskctxError
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree
from git_taskctx.model.values import replace
from git_taskctx.report.advice import advise

odd = Cases()
refused = Cases()


@odd.fast
def plain_names_where_case_is_ignored_and_names_are_composed(repo: GitRepo) -> None:
    repo.write("readme", "x")
    repo.write("d/e", "x")
    repo.commit()
    repo.config("core.ignoreCase", "true")
    repo.config("core.precomposeUnicode", "true")
    repo.write("readme", "z")
    repo.write("d/new", "y")
    repo.remove("d/e")


@odd.declined("unusual name")
def names_composed_by_git(repo: GitRepo) -> None:
    repo.config("core.precomposeUnicode", "true")
    repo.write("e\u0301", "decomposed")


@odd
def forbidden_names_that_are_allowed_here(repo: GitRepo) -> None:
    repo.config("core.protectNTFS", "false")
    repo.config("core.protectHFS", "false")
    for name in ("git~1", "d/.gi\u200ct", "a\\b", ".git::$INDEX_ALLOCATION", "d/.git "):
        repo.write(name, "x")


@odd
def names_that_nearly_are_forbidden(repo: GitRepo) -> None:
    for name in (".gitx", ".git-", "git~2x", "xgit~1", ".gitmodulesx", "d/.gitignore.", ".g", "..git", "...", ".. "):
        repo.write(name, "x")


@odd.fast
def file_swapped_with_a_folder(repo: GitRepo) -> None:
    repo.write("a", "file")
    repo.write("d/b", "x")
    repo.commit()
    repo.at("a").rename(repo.at("t"))
    repo.at("d").rename(repo.at("a"))
    repo.at("t").rename(repo.at("d"))


@odd.fast
def two_files_swapped(repo: GitRepo) -> None:
    repo.write("a", "one")
    repo.write("b", "two", mode=0o755)
    repo.commit()
    for old, new in (("a", "t"), ("b", "a"), ("t", "b")):
        repo.at(old).rename(repo.at(new))


@odd.fast
def file_becomes_empty_folder(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.write("d/b", "x")
    repo.commit()
    repo.remove("a", "d/b")
    repo.at("a").mkdir()


@odd.fast
def file_becomes_folder_of_ignored_files(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\n")
    repo.write("a", "x")
    repo.commit()
    repo.remove("a")
    repo.write("a/b.o", "ignored")


@odd.fast
def tracked_folder_behind_a_link_to_an_ignored_one(repo: GitRepo) -> None:
    repo.write(".gitignore", "/real/\n")
    repo.write("d/a", "x")
    repo.commit()
    repo.at("d").rename(repo.at("real"))
    repo.symlink("d", "real")


@odd
def folder_becomes_dangling_link(repo: GitRepo) -> None:
    repo.write("d/a", "x")
    repo.commit()
    repo.remove("d")
    repo.symlink("d", "d")


@odd.fast
def link_becomes_folder(repo: GitRepo) -> None:
    repo.symlink("d", "elsewhere")
    repo.commit()
    repo.remove("d")
    repo.write("d/a", "x")


@odd.fast
def link_with_a_long_target(repo: GitRepo) -> None:
    repo.symlink("link", ("t" * 199 + "/") * 19)


@odd.fast
def modes_of_every_kind(repo: GitRepo) -> None:
    for mode in (0o000, 0o400, 0o444, 0o600, 0o711, 0o766, 0o677, 0o1644, 0o2755, 0o4711, 0o100, 0o010, 0o001):
        repo.write(f"{mode:o}", "x", mode=mode)


@odd.fast
def times_out_of_range(repo: GitRepo) -> None:
    for number, time in enumerate((0, 1, -1, 2**31, 2**32 + 5, 2**33)):
        repo.write(str(number), "x")
        os.utime(repo.at(str(number)), (time, time))
    repo.commit()
    for number, time in enumerate((0, 1, -1, 2**31, 2**32 + 5, 2**33)):
        repo.write(str(number), "yy")
        os.utime(repo.at(str(number)), (time, time))


@odd.fast
def three_hundred_files(repo: GitRepo) -> None:
    for number in range(300):
        repo.write(f"d{number % 7}/{number}", str(number))


@odd.fast
def files_that_hold_the_same(repo: GitRepo) -> None:
    for name in ("a", "b", "d/c", "d/e"):
        repo.write(name, "same")
    repo.commit()
    repo.remove("a")
    repo.write("z", "same")


@odd
def git_file_of_rubbish_in_a_folder(repo: GitRepo) -> None:
    repo.write("d/.git", "rubbish\n")
    repo.write("d/a", "x")


@odd
def empty_git_folder_in_a_folder(repo: GitRepo) -> None:
    repo.at("d/.git").mkdir(parents=True)
    repo.write("d/a", "x")


@refused
def dot_git_in_capitals_by_default(repo: GitRepo) -> None:
    repo.write("d/.GIT", "x")


@refused
def short_name_of_dot_git_by_default(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.write("git~1", "x")


@refused
def dot_git_with_a_stream(repo: GitRepo) -> None:
    repo.write("d/.git::$INDEX_ALLOCATION", "x")


@refused
def dot_git_with_characters_that_hfs_ignores(repo: GitRepo) -> None:
    repo.config("core.protectHFS", "true")
    repo.write("d/.gi\u200ct", "x")


@refused
def link_that_is_called_gitmodules(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.symlink(".gitmodules", "a")


@refused
def fifo_over_a_tracked_link(repo: GitRepo) -> None:
    repo.symlink("a", "x")
    repo.commit()
    repo.remove("a")
    os.mkfifo(repo.at("a"))


@refused
def socket_over_a_file_that_is_to_be_added(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.git("add", "-N", "a")
    repo.remove("a")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(repo.at("a")))


@odd.table
def test_files_as_git_sees_them(repo: GitRepo, build) -> None:
    """Whatever kind of file it is and whatever it is called, it is in the tree as git would put it there."""
    build(repo)
    agree(repo, declines=build.declines)


@refused.table
def test_refused_where_git_refuses(repo: GitRepo, build) -> None:
    """Where git refuses a file there is no tree."""
    build(repo)
    git_refuses(repo)
    refuse(repo)


def test_case_only_rename_where_case_is_ignored(repo: GitRepo) -> None:
    """One `git add -A` loses such a file from the index, the next finds it again; the tree is what git settles on."""
    repo.write("readme", "x")
    repo.write("Dir/a", "x")
    repo.commit()
    repo.config("core.ignoreCase", "true")
    repo.at("readme").rename(repo.at("README"))
    repo.at("Dir").rename(repo.at("dir"))
    trees = {read(repo, **mode) for mode in MODES}
    repo.git("add", "-A")
    repo.git("add", "-A")
    assert trees == {repo.git("write-tree")}


IN_THE_GIT_DIR = (
    "refs/heads/main", "packed-refs", "shallow", "index", "info/attributes", "info/exclude", "info/grafts",
    "objects/info/alternates", "refs/notes/taskctx",
)  # fmt: skip


def fifo_in_the_place_of(repo: GitRepo, name: str) -> None:
    repo.write("a", "x")
    repo.commit()
    repo.write("a", "y")
    place = repo.git_dir() / name
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize("name", IN_THE_GIT_DIR)
def test_fifo_in_the_git_dir_is_refused_at_once(repo: GitRepo, name: str) -> None:
    """git waits for ever for a FIFO in its own folder; we do not even begin."""
    fifo_in_the_place_of(repo, name)
    with pytest.raises(TaskctxError, match="is not a regular file") as caught:
        read_worktree(open_repository(repo.path, dict(os.environ)), keep=False).__enter__()
    assert caught.value.exit_code == 128
    assert caught.value.message.isprintable()


@pytest.mark.deep
@pytest.mark.parametrize("name", ["HEAD", "config", "commondir"])
def test_fifo_where_git_looks_for_a_repository(repo: GitRepo, name: str) -> None:
    """Where git waits before it says where the repository is, it gets seconds, not minutes."""
    fifo_in_the_place_of(repo, name)
    with pytest.raises(TaskctxError, match=f"{name} is a FIFO, and git waits for it") as caught:
        open_repository(repo.path, dict(os.environ))
    assert caught.value.exit_code == 128


@pytest.mark.parametrize("name", [".gitignore", "d/.gitignore", ".gitattributes", "d/.gitattributes"])
@pytest.mark.parametrize("exact", [False, True])
def test_fifo_where_git_looks_for_rules(repo: GitRepo, name: str, exact: bool) -> None:
    """In the worktree a FIFO is found as soon as git takes long, whichever engine reads."""
    repo.write("d/a", "x")
    os.mkfifo(repo.at(name))
    repository = open_repository(repo.path, dict(os.environ))
    repository.git = replace(repository.git, patience=0.3)
    with pytest.raises(TaskctxError, match=f"{name} is a FIFO, and git waits for it") as caught:
        read_worktree(repository, keep=False, exact=exact).__enter__()
    assert advise(caught.value).hint == f"rm {repo.at(name)}"
    repository.close()
    assert not list(repository.private_dir.glob("tmp-*"))


@pytest.mark.deep
def test_files_too_large_for_us_are_left_to_git(repo: GitRepo) -> None:
    """A file beyond 64 MiB is git's to read, in pieces; of smaller ones we hold one at a time."""
    with repo.at("large").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    agree(repo, declines="large")
    repo.remove("large")
    for number in range(3):
        with repo.at(f"half-{number}").open("wb") as file:
            file.truncate(30 * 1024 * 1024)
    agree(repo, declines="")


def test_names_that_differ_in_case_alone_where_the_disk_knows_case(repo: GitRepo) -> None:
    """git itself loses them there (2.39): a renamed file is gone, a second one unseen. Our tree holds what lies there.

    What is ignored but for its case stays ignored, as for the user's git.
    """
    repo.write("readme", "x")
    repo.write("Src/file", "x")
    repo.write("twin", "x")
    repo.write(".gitignore", "*.LOG\n")
    repo.commit()
    repo.config("core.ignoreCase", "true")
    repo.at("readme").rename(repo.at("README"))
    repo.at("Src").rename(repo.at("src"))
    repo.write("Twin", "y")
    tree = read(repo, keep=True)
    held = repo.git("ls-tree", "-r", "--name-only", tree).split()
    assert held == [".gitignore", "README", "Twin", "src/file", "twin"]
    repo.write("build.log", "x")
    assert {read(repo), read(repo, exact=True)} == {tree}


EDITORS = (
    ".parser.py.swp", ".parser.py.swo", ".swp", "d/4913", "parser.py~", ".#parser.py", "#parser.py#", "d/.~lock.x.odt#",
    "~$x.docx", ".parser.py.kate-swp", ".goutputstream-AB12CD", "d/x.py___jb_tmp___",
)  # fmt: skip


def test_what_editors_keep_beside_open_files_is_in_no_tree(repo: GitRepo) -> None:
    """By either engine; a file of such a name that git tracks is a file as any other."""
    repo.write("notes~", "tracked\n")
    repo.write("d/file", "x\n")
    repo.commit()
    repo.write("notes~", "changed\n")
    repo.write("swp", "no editor's\n")
    wanted = repo.oracle()
    for name in EDITORS:
        repo.write(name, "x")
    for exact in (False, True):
        repository = open_repository(repo.path, dict(os.environ))
        with contextlib.closing(repository), read_worktree(repository, keep=False, exact=exact) as reading:
            assert (reading.tree, len(reading.temporary)) == (wanted, len(EDITORS))
