"""What lies in a worktree: links, modes, swaps, special files, odd names."""

from __future__ import annotations

import os
import shutil
import socket
import unicodedata
from pathlib import Path

import pytest
from engine import Cases, agree, git_refuses, read, refuse
from gitrepo import GitRepo

from git_taskctx.errors import TaskctxError

plain = Cases()
refused = Cases()


@plain.fast
def nothing_at_all(repo: GitRepo) -> None:
    pass


@plain.fast
def clean(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.commit()


@plain.fast
def added_modified_deleted(repo: GitRepo) -> None:
    for name in ("a", "b", "d/c", "d/e"):
        repo.write(name, name)
    repo.commit()
    repo.write("b", "changed")
    repo.remove("d/c")
    repo.write("n/e/w", "new")
    repo.write("empty")


@plain.fast
def renamed(repo: GitRepo) -> None:
    repo.write("old/a", "text\n" * 50)
    repo.commit()
    repo.at("new").mkdir()
    repo.at("old/a").rename(repo.at("new/a"))


@plain.fast
def all_deleted(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.write("d/b", "x")
    repo.commit()
    repo.remove("a", "d")


@plain.fast
def staged_then_edited(repo: GitRepo) -> None:
    repo.write("a", "one")
    repo.commit()
    repo.write("a", "two")
    repo.add()
    repo.write("a", "three")


@plain.fast
def staged_then_deleted(repo: GitRepo) -> None:
    repo.write("a", "one")
    repo.add()
    repo.remove("a")


@plain.fast
def removed_from_the_index_only(repo: GitRepo) -> None:
    repo.write("a", "one")
    repo.commit()
    repo.git("rm", "-q", "--cached", "a")


@plain.fast
def links(repo: GitRepo) -> None:
    repo.write("file", "x")
    repo.write("folder/file", "x")
    for name, target in {
        "to-file": "file", "to-folder": "folder", "dangling": "nowhere", "absolute": "/etc/passwd", "loop": "loop",
        "outside": "../../outside", "into-git": ".git/config", "newline": "a\nb",
    }.items():  # fmt: skip
        repo.symlink(name, target)
    repo.symlink("latin-1", b"caf\xe9")


@plain.fast
def link_retargeted(repo: GitRepo) -> None:
    repo.symlink("link", "one")
    repo.commit()
    repo.remove("link")
    repo.symlink("link", "two")


@plain.fast
def file_becomes_link(repo: GitRepo) -> None:
    repo.write("a", "target")
    repo.commit()
    repo.remove("a")
    repo.symlink("a", "target")


@plain.fast
def link_becomes_file(repo: GitRepo) -> None:
    repo.symlink("a", "target")
    repo.commit()
    repo.remove("a")
    repo.write("a", "target")


@plain.fast
def folder_becomes_link_to_a_copy(repo: GitRepo) -> None:
    repo.write("d/a", "x")
    repo.commit()
    repo.at("d").rename(repo.at("e"))
    repo.symlink("d", "e")


@plain.declined("symlinks")
def links_are_files_here(repo: GitRepo) -> None:
    repo.symlink("link", "one")
    repo.commit()
    repo.config("core.symlinks", "false")
    repo.remove("link")
    repo.write("link", "two")


@plain.fast
def executable_bit(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.write("b", "x", mode=0o755)
    repo.commit()
    repo.chmod("a", 0o755)
    repo.chmod("b", 0o644)


@plain.fast
def executable_for_others_only(repo: GitRepo) -> None:
    repo.write("a", "x", mode=0o611)
    repo.write("b", "x", mode=0o644)
    repo.write("c", "x", mode=0o700)
    repo.write("d", "x", mode=0o4755)


@plain.declined("filemode")
def file_mode_off(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.write("b", "x", mode=0o755)
    repo.commit()
    repo.config("core.fileMode", "false")
    repo.chmod("a", 0o755)
    repo.write("b", "y", mode=0o644)
    repo.write("new", "x", mode=0o755)


@plain.fast
def file_becomes_folder(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.commit()
    repo.remove("a")
    repo.write("a/b", "x")


@plain.fast
def folder_becomes_file(repo: GitRepo) -> None:
    repo.write("a/b", "x")
    repo.write("a/c/d", "x")
    repo.commit()
    repo.remove("a")
    repo.write("a", "x")


@plain.fast
def case_only_rename(repo: GitRepo) -> None:
    repo.write("readme", "x")
    repo.write("Dir/a", "x")
    repo.commit()
    repo.at("readme").rename(repo.at("README"))
    repo.at("Dir").rename(repo.at("dir"))


@plain.fast
def hard_links(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.at("b").hardlink_to(repo.at("a"))


@plain
def names_that_are_bytes(repo: GitRepo) -> None:
    repo.write(b"caf\xe9", "latin-1")
    repo.write(b"d\xff/\x80", "x")
    repo.commit()
    repo.write(b"caf\xe9", "changed")
    repo.write(b"new-\xfe", "x")


@plain
def names_that_need_quoting(repo: GitRepo) -> None:
    for name in (
        "new\nline",
        "tab\t",
        'quo"te',
        "back\\slash",
        "'",
        " lead",
        "trail ",
        "cr\r",
        "\x01\x7f",
        "$HOME`id`",
    ):
        repo.write(name, name)
        repo.write(f"d-{name}/{name}", name)


@plain
def names_that_look_like_options_and_pathspecs(repo: GitRepo) -> None:
    for name in ("-n", "--all", ":(glob)x", ":!x", ":/", "*", "[a]", "a:b", "HEAD", "@{0}", "~", "^x", "%f", "--"):
        repo.write(name, name)
        repo.write(f"sub/{name}/f", name)
    repo.commit()
    repo.write(":(glob)x", "changed")
    repo.remove("*")


@plain
def names_in_two_normal_forms(repo: GitRepo) -> None:
    repo.write(unicodedata.normalize("NFC", "é"), "composed")
    repo.write(unicodedata.normalize("NFD", "é"), "decomposed")
    repo.write("日本語/😀", "x")


@plain.fast
def names_that_sort_oddly(repo: GitRepo) -> None:
    for name in ("a/b", "a.b", "a-b", "a0", "ab", "A"):
        repo.write(name, name)


@plain
def names_of_255_bytes(repo: GitRepo) -> None:
    repo.write("n" * 255, "x")
    repo.write("é" * 127, "x")


@plain.fast
def long_paths(repo: GitRepo) -> None:
    deep = "/".join(["d" * 250] * 15)
    folder = os.open(repo.path, os.O_RDONLY)
    for part in deep.split("/"):
        os.mkdir(part, dir_fd=folder)
        below = os.open(part, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)


@plain
def names_that_windows_forbids(repo: GitRepo) -> None:
    for name in ("aux", "con.txt", "a.", "b ", "c:d", "lpt1"):
        repo.write(name, "x")


@plain.fast
def fifo_and_socket_untracked(repo: GitRepo) -> None:
    repo.write("a", "x")
    os.mkfifo(repo.at("fifo"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(repo.at("socket")))
    listener.close()


@plain.fast
def fifo_deep_and_ignored(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.pipe\n")
    repo.write("d/a", "x")
    os.mkfifo(repo.at("d/b.pipe"))


@refused
def fifo_over_a_tracked_file(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.commit()
    repo.remove("a")
    os.mkfifo(repo.at("a"))


@refused
def socket_over_a_tracked_file(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.commit()
    repo.remove("a")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(repo.at("a")))
    listener.close()


@refused
def name_that_git_forbids(repo: GitRepo) -> None:
    repo.config("core.protectNTFS", "true")
    repo.write("git~1", "x")


@refused
def dot_git_in_capitals(repo: GitRepo) -> None:
    repo.config("core.protectHFS", "true")
    repo.write("d/.GIT", "x")


@refused
def path_over_the_limit(repo: GitRepo) -> None:
    folder = os.open(repo.path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=folder)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)


@plain.table
def test_files_as_git_sees_them(repo: GitRepo, build) -> None:
    """Whatever kind of file it is and whatever it is called, it is in the tree as git would put it there."""
    build(repo)
    agree(repo, declines=build.declines)


@refused.table
def test_refused_where_git_refuses(repo: GitRepo, build) -> None:
    """Where git refuses a file, or leaves it out with a warning, there is no tree."""
    build(repo)
    try:
        git_refuses(repo)
        refuse_quietly(repo)
    finally:
        shutil.rmtree(repo.path, ignore_errors=True)


def refuse_quietly(repo: GitRepo) -> None:
    for keep in (False, True):
        with pytest.raises(TaskctxError) as caught:
            read(repo, keep=keep)
        assert caught.value.message.isprintable()


def test_every_file_is_in_the_tree(repo: GitRepo) -> None:
    """The tree holds the names byte for byte (the oracle is git; this is the model)."""
    names = [b"caf\xe9", b"new\nline", b"-n", b"a\\b", b'"', "é".encode(), b":(top)x"]
    for name in names:
        repo.write(name, name)
    listed = repo.run("ls-tree", "-r", "-z", "--name-only", read(repo, keep=True)).stdout.split(b"\0")[:-1]
    assert sorted(listed) == sorted(names)


def test_device_where_a_tracked_file_was(repo: GitRepo) -> None:
    """A device is no content; git refuses it."""
    repo.write("a", "x")
    repo.commit()
    repo.remove("a")
    try:
        os.mknod(repo.at("a"), 0o020644, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made here")
    refuse(repo)


def test_unpacked_into_the_worktree_of_a_link(repo: GitRepo, tmp_path: Path) -> None:
    """A worktree reached through a symbolic link is the worktree itself."""
    repo.write("d/a", "x")
    (tmp_path / "link").symlink_to(repo.path)
    assert agree(repo) == agree(repo, cwd=tmp_path / "link") == agree(repo, cwd=tmp_path / "link/d")
