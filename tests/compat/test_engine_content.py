"""What becomes of a file's bytes on the way into a tree: line ends, encodings, attributes and filters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine import Cases, agree, read, refuse
from gitrepo import GitRepo

from git_taskctx.errors import TryAgain
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

converted = Cases()
refused = Cases()

CRLF = b"one\r\ntwo\r\n"
MIXED = b"one\r\ntwo\nthree\r\n"


def home(path: str, text: str) -> None:
    place = Path(os.environ["HOME"], path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def some_line_ends(repo: GitRepo) -> None:
    repo.write("crlf", CRLF)
    repo.write("mixed", MIXED)
    repo.write("lf", b"one\ntwo\n")
    repo.write("lone-cr", b"one\rtwo\r")
    repo.write("binary", b"one\r\n\0two\r\n")
    repo.write("nul-late", b"x\r\n" * 4000 + b"\0")
    repo.write("control", b"\x01\x02\x03\x04\r\nabc\r\n")


@converted
def autocrlf_true(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "true")
    some_line_ends(repo)


@converted
def autocrlf_input(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "input")
    some_line_ends(repo)


@converted
def autocrlf_of_the_user(repo: GitRepo) -> None:
    repo.git("config", "--global", "core.autocrlf", "true")
    some_line_ends(repo)


@converted
def autocrlf_on_the_command_line(repo: GitRepo) -> None:
    some_line_ends(repo)
    repo.env["GIT_CONFIG_PARAMETERS"] = "'core.autocrlf'='true'"


@converted
def autocrlf_counted_in_the_environment(repo: GitRepo) -> None:
    some_line_ends(repo)
    repo.env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.autocrlf", "GIT_CONFIG_VALUE_0": "input"}


@converted
def autocrlf_in_a_config_of_its_own(repo: GitRepo) -> None:
    some_line_ends(repo)
    home("other", "[core]\n\tautocrlf = true\n")
    repo.env["GIT_CONFIG_GLOBAL"] = os.path.expandvars("$HOME/other")


@converted
def crlf_already_in_the_index_stays(repo: GitRepo) -> None:
    repo.write("a", CRLF)
    repo.commit()
    repo.config("core.autocrlf", "true")
    repo.write("a", CRLF + b"three\r\n")


@converted
def crlf_in_the_index_under_text(repo: GitRepo) -> None:
    repo.write("a", CRLF)
    repo.commit()
    repo.write(".gitattributes", "* text\n")
    repo.write("a", CRLF + b"three\r\n")


@converted
def safecrlf_that_would_refuse(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "input")
    repo.write("a", MIXED)


@converted
def safecrlf_warn(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "true")
    repo.config("core.safecrlf", "warn")
    some_line_ends(repo)


@converted
def text_auto(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text=auto\n")
    some_line_ends(repo)


@converted
def text_set_unset_and_eol(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\nlf -text\nmixed eol=crlf\ncrlf text eol=lf\nbinary binary\n")
    some_line_ends(repo)


@converted
def macro_attributes(repo: GitRepo) -> None:
    repo.write(".gitattributes", "[attr]mine text eol=lf\n* mine\nmixed -mine binary\n")
    some_line_ends(repo)


@converted
def nested_attributes(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    repo.write("d/.gitattributes", "*.bin -text\n")
    repo.write("d/a.bin", CRLF)
    repo.write("d/a.txt", CRLF)
    repo.write("d/e/.gitattributes", "*.bin text\n")
    repo.write("d/e/a.bin", CRLF)


@converted
def info_attributes(repo: GitRepo) -> None:
    (repo.git_dir() / "info").mkdir(exist_ok=True)
    (repo.git_dir() / "info/attributes").write_text("* text\n")
    repo.write(".gitattributes", "* -text\n")
    some_line_ends(repo)


@converted
def attributes_file_of_the_user(repo: GitRepo) -> None:
    home("attrs", "* text\n")
    repo.git("config", "--global", "core.attributesFile", "~/attrs")
    some_line_ends(repo)


@converted
def attributes_of_the_user_in_xdg(repo: GitRepo) -> None:
    home(".config/git/attributes", "* text\n")
    some_line_ends(repo)


@converted
def attributes_behind_a_link_are_ignored(repo: GitRepo) -> None:
    repo.write("real", "* text\n")
    repo.symlink(".gitattributes", "real")
    some_line_ends(repo)


@converted
def attributes_changed_in_the_same_step(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* -text\n")
    some_line_ends(repo)
    repo.commit()
    repo.write(".gitattributes", "* text\n")


@converted
def attributes_deleted_in_the_same_step(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    some_line_ends(repo)
    repo.commit()
    repo.remove(".gitattributes")
    repo.write("crlf", CRLF + b"three\r\n")


@converted
def attributes_changed_and_the_files_touched(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* -text\n")
    some_line_ends(repo)
    repo.commit()
    repo.write(".gitattributes", "* text\n")
    for name in ("crlf", "mixed", "binary"):
        os.utime(repo.at(name), (1_700_000_000, 1_700_000_000))


@converted
def attributes_with_crlf_and_comments(repo: GitRepo) -> None:
    repo.write(".gitattributes", b'# all\r\n\r\n"cr\\154f" text\r\nlf text\r\n')
    some_line_ends(repo)


@converted
def attributes_staged_and_deleted(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    repo.add()
    repo.remove(".gitattributes")
    some_line_ends(repo)


@converted
def working_tree_encoding(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding=UTF-16\nb working-tree-encoding=ISO-8859-1\n")
    repo.write("a", "über\n".encode("utf-16"))
    repo.write("b", "über\n".encode("latin-1"))


@converted
def working_tree_encoding_with_line_ends(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a text eol=crlf working-tree-encoding=UTF-16LE\n")
    repo.write("a", "one\r\nüber\r\n".encode("utf-16-le"))


@refused
def undecodable(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding=UTF-16\n")
    repo.write("a", b"\xff\xfe\x00\xd8")


@refused
def unknown_encoding(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding=KLINGON\n")
    repo.write("a", "x")


@converted
def ident(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* ident\n")
    repo.write("a", "$Id: 1234567890123456789012345678901234567890 $\n$Id$\n$Id: foo bar $\n$Id:\n")


@converted
def clean_filter(repo: GitRepo) -> None:
    repo.config("filter.up.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.write("a.up", "shout\n")
    repo.write("b", "quiet\n")


@converted
def clean_filter_that_is_told_the_path(repo: GitRepo) -> None:
    repo.config("filter.name.clean", "printf %s %f; cat")
    repo.write(".gitattributes", "* filter=name\n.gitattributes -filter\n")
    repo.write("a b'c", "text")
    repo.write("d/e", "text")


@converted
def optional_filter_that_fails(repo: GitRepo) -> None:
    repo.config("filter.bad.clean", "false")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "as it is\n")


@converted
def optional_filter_that_is_missing(repo: GitRepo) -> None:
    repo.config("filter.bad.clean", "/nonexistent/filter")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "as it is\n")


@converted
def filter_named_but_not_configured(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.x filter=lfs\n")
    repo.write("a.x", "as it is\n")


@refused
def required_filter_that_fails(repo: GitRepo) -> None:
    repo.config("filter.bad.clean", "false")
    repo.config("filter.bad.required", "true")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "text\n")


@refused
def required_filter_that_is_missing(repo: GitRepo) -> None:
    repo.config("filter.bad.required", "true")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "text\n")


@refused
def required_filter_that_fails_over_a_tracked_file(repo: GitRepo) -> None:
    repo.write("a.x", "text\n")
    repo.write("b", "text\n")
    repo.commit()
    repo.config("filter.bad.clean", "false")
    repo.config("filter.bad.required", "true")
    repo.config("add.ignoreErrors", "true")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "other\n")
    repo.write("b", "other\n")


@converted
def filter_on_the_command_line(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.write("a.up", "shout\n")
    repo.env["GIT_CONFIG_PARAMETERS"] = "'filter.up.clean'='tr a-z A-Z'"


@converted
def filter_and_line_ends(repo: GitRepo) -> None:
    repo.config("filter.up.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.up filter=up text\n")
    repo.write("a.up", CRLF)


@converted
def filter_that_reads_its_locale(repo: GitRepo) -> None:
    repo.config("filter.lc.clean", 'cat; printf "%s" "$LC_ALL"')
    repo.write(".gitattributes", "*.x filter=lc\n")
    repo.write("a.x", "text\n")


PROCESS = r"""#!/usr/bin/env python3
import sys
def read():
    lines = []
    while (size := sys.stdin.buffer.read(4)) and (count := int(size, 16)):
        lines.append(sys.stdin.buffer.read(count - 4))
    return lines if size else None
def write(*lines, flush=True):
    for line in lines:
        sys.stdout.buffer.write(b"%04x" % (len(line) + 4) + line)
    if flush:
        sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()
read(); write(b"git-filter-server\n", b"version=2\n"); read(); write(b"capability=clean\n")
while read() is not None:
    data = b"".join(read() or [])
    write(b"status=success\n"); write(data.swapcase()); write()
"""


@converted
def long_running_filter(repo: GitRepo) -> None:
    script = Path(os.environ["HOME"], "filter")
    script.write_text(PROCESS)
    script.chmod(0o755)
    repo.config("filter.swap.process", os.fspath(script))
    repo.config("filter.swap.required", "true")
    repo.write(".gitattributes", "*.x filter=swap\n")
    for number in range(3):
        repo.write(f"{number}.x", f"Text {number}\n")


@converted
def include_if_gitdir(repo: GitRepo) -> None:
    home("more", "[core]\n\tautocrlf = true\n")
    repo.git("config", "--global", f"includeIf.gitdir:{repo.path}/.path", "~/more")
    some_line_ends(repo)


@converted
def include_if_on_branch(repo: GitRepo) -> None:
    home("more", "[core]\n\tautocrlf = true\n")
    repo.git("config", "--global", "includeIf.onbranch:main.path", "~/more")
    some_line_ends(repo)


@converted
def large_text_file(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text=auto\n")
    repo.write("a", b"line\r\n" * 200_000)


@converted
def big_file_threshold(repo: GitRepo) -> None:
    repo.config("core.bigFileThreshold", "1k")
    repo.write("a", b"0123456789" * 1000)


@converted.table
def test_converted_as_git_does(repo: GitRepo, build) -> None:
    """Content is converted exactly as git converts it, whatever says so and wherever it says so."""
    build(repo)
    agree(repo)


@refused.table
def test_refused_where_git_refuses(repo: GitRepo, build) -> None:
    """Content that git cannot convert is no content: nothing half-read is ever called a tree."""
    build(repo)
    assert "git cannot read the whole worktree" in refuse(repo)


EDITOR = """#!/bin/sh
cat
if test "$1" = first.x; then
    test "$(cat second.x)" = new || printf mid >second.x
else
    touch -r second.x "$HOME/time"
    printf new >second.x
    touch -r "$HOME/time" second.x
fi
"""


@pytest.mark.parametrize("cold", [False, True])
def test_a_worktree_that_keeps_changing_is_no_tree(repo: GitRepo, cold: bool) -> None:
    """A worktree that changes whenever it is read is told, never recorded."""
    repo.config("filter.grow.clean", "cat; head -c 16 /dev/urandom >>%f")
    repo.write(".gitattributes", "*.x filter=grow\n")
    repo.write("a.x", "text\n")
    with pytest.raises(TryAgain, match="keeps changing"):
        read(repo, cold=cold)


def test_a_file_written_while_it_is_read_is_read_again(repo: GitRepo) -> None:
    """An edit that comes while a file is read, and leaves its size and its time as they were, is in the tree."""
    script = Path(os.environ["HOME"], "filter")
    script.write_text(EDITOR)
    script.chmod(0o755)
    repo.config("core.trustctime", "false")
    repo.config("filter.edit.clean", f"'{script}' %f")
    repo.write(".gitattributes", "*.x filter=edit\n")
    repo.write("first.x", "x")
    repo.write("second.x", "old")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.objects.get(f"{reading.tree}:second.x", "blob") == b"new"
    repository.close()


@pytest.mark.needs_lfs
def test_lfs_pointers(repo: GitRepo) -> None:
    """A file under git-lfs is its pointer."""
    repo.git("lfs", "install", "--local")
    repo.git("lfs", "track", "*.bin")
    repo.write("a.bin", b"\0" * 5000)
    assert repo.git("cat-file", "blob", f"{agree(repo)}:a.bin").startswith("version https://git-lfs")
