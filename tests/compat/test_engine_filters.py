"""What becomes of a file's bytes on the way into a tree: encodings, idents and filters."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from engine import Cases, agree, git_refuses, refuse, write_home
from gitrepo import GitRepo

converted = Cases()
refused = Cases()

CRLF = b"one\r\ntwo\r\n"


@converted.declined(r"\.gitattributes")
def working_tree_encoding(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding=UTF-16\nb working-tree-encoding=ISO-8859-1\n")
    repo.write("a", "über\n".encode("utf-16"))
    repo.write("b", "über\n".encode("latin-1"))


@converted.declined(r"\.gitattributes")
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


@converted.declined(r"\.gitattributes")
def ident(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* ident\n")
    repo.write("a", "$Id: 1234567890123456789012345678901234567890 $\n$Id$\n$Id: foo bar $\n$Id:\n")


@converted.declined(r"\.gitattributes")
def clean_filter(repo: GitRepo) -> None:
    repo.config("filter.up.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.write("a.up", "shout\n")
    repo.write("b", "quiet\n")


@converted.declined(r"\.gitattributes")
def clean_filter_that_is_told_the_path(repo: GitRepo) -> None:
    repo.config("filter.name.clean", "printf %s %f; cat")
    repo.write(".gitattributes", "* filter=name\n.gitattributes -filter\n")
    repo.write("a b'c", "text")
    repo.write("d/e", "text")


@converted.declined(r"\.gitattributes")
def optional_filter_that_fails(repo: GitRepo) -> None:
    repo.config("filter.bad.clean", "false")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "as it is\n")


@converted.declined(r"\.gitattributes")
def optional_filter_that_is_missing(repo: GitRepo) -> None:
    repo.config("filter.bad.clean", "/nonexistent/filter")
    repo.write(".gitattributes", "*.x filter=bad\n")
    repo.write("a.x", "as it is\n")


@converted.declined(r"\.gitattributes")
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


@converted.declined(r"\.gitattributes")
def filter_on_the_command_line(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.write("a.up", "shout\n")
    repo.env["GIT_CONFIG_PARAMETERS"] = "'filter.up.clean'='tr a-z A-Z'"


@converted.declined(r"\.gitattributes")
def filter_and_line_ends(repo: GitRepo) -> None:
    repo.config("filter.up.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.up filter=up text\n")
    repo.write("a.up", CRLF)


@converted.declined(r"\.gitattributes")
def filter_that_reads_its_locale(repo: GitRepo) -> None:
    repo.config("filter.lc.clean", 'cat; printf "%s" "$LC_ALL"')
    repo.write(".gitattributes", "*.x filter=lc\n")
    repo.write("a.x", "text\n")


PROCESS = (
    f"#!{sys.executable} -IS"
    + r"""
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
)


@converted.declined(r"\.gitattributes")
def long_running_filter(repo: GitRepo) -> None:
    script = Path(os.environ["HOME"], "filter")
    script.write_text(PROCESS)
    script.chmod(0o755)
    repo.config("filter.swap.process", os.fspath(script))
    repo.config("filter.swap.required", "true")
    repo.write(".gitattributes", "*.x filter=swap\n")
    for number in range(3):
        repo.write(f"{number}.x", f"Text {number}\n")


@refused
def encoding_without_a_name(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding\n")
    repo.write("a", "x")


@refused
def utf16_without_a_byte_order_mark(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding=UTF-16\n")
    repo.write("a", "x".encode("utf-16-le"))


@refused
def utf16le_with_a_byte_order_mark(repo: GitRepo) -> None:
    repo.write(".gitattributes", "a working-tree-encoding=UTF-16LE\n")
    repo.write("a", "x".encode("utf-16"))


@converted.declined(r"\.gitattributes")
def more_encodings(repo: GitRepo) -> None:
    repo.write(
        ".gitattributes",
        "a working-tree-encoding=UTF-16LE-BOM\nb working-tree-encoding=UTF-8\n"
        "c working-tree-encoding=SHIFT-JIS\nd -working-tree-encoding\ne working-tree-encoding=\n",
    )
    repo.write("a", "über\n".encode("utf-16"))
    repo.write("b", "über\n")
    repo.write("c", "日本\n".encode("shift-jis"))
    repo.write("d", b"\xff\xfe")
    repo.write("e", b"\xff\xfe")


@converted.declined("ident")
def ident_of_a_committed_file(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* ident\n.gitattributes -ident\n")
    repo.write("a", "$Id$\none\n")
    repo.commit()
    repo.write("a", "$Id: 1234567890123456789012345678901234567890 $\ntwo\n")


@converted.declined("filter")
def filter_with_nothing_to_clean(repo: GitRepo) -> None:
    repo.config("filter.x.smudge", "false")
    repo.write(".gitattributes", "*.x filter=x\n")
    repo.commit()
    repo.write("a.x", "text\n")


@refused
def required_filter_with_nothing_to_clean(repo: GitRepo) -> None:
    repo.config("filter.x.smudge", "cat")
    repo.config("filter.x.required", "true")
    repo.write(".gitattributes", "*.x filter=x\n")
    repo.write("a.x", "text\n")


@converted.declined("filter")
def filter_that_reads_nothing_and_says_nothing(repo: GitRepo) -> None:
    repo.config("filter.x.clean", "true")
    repo.write(".gitattributes", "*.x filter=x\n")
    repo.commit()
    repo.write("a.x", b"line\n" * 100_000)


@converted.declined("filter")
def filter_that_asks_git(repo: GitRepo) -> None:
    repo.config("filter.x.clean", "cat; git rev-parse --show-toplevel HEAD; git show HEAD:.gitattributes")
    repo.write(".gitattributes", "*.x filter=x\n")
    repo.commit()
    repo.write("a.x", "text\n")


@converted.declined("filter")
def filter_that_writes_objects(repo: GitRepo) -> None:
    repo.config("filter.x.clean", "git hash-object -w --stdin")
    repo.write(".gitattributes", "*.x filter=x\n")
    repo.commit()
    repo.write("a.x", "text\n")


@converted.fast
def filtered_file_deleted_and_another_edited(repo: GitRepo) -> None:
    repo.config("filter.up.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.write("a.up", "shout\n")
    repo.write("b", "quiet\n")
    repo.commit()
    repo.remove("a.up")
    repo.write("b", "edited\n")


ANSWER = r'write(b"status=success\n"); write(data.swapcase()); write()'


def long_running(repo: GitRepo, answer: str) -> None:
    """Set up a filter process that answers every file with `answer`."""
    script = write_home("process", PROCESS.replace(ANSWER, answer))
    script.chmod(0o755)
    repo.config("filter.swap.process", os.fspath(script))
    repo.write(".gitattributes", "*.x filter=swap\n")
    repo.write("a.x", "Text\n")


@converted.declined(r"\.gitattributes")
def long_running_filter_that_dies(repo: GitRepo) -> None:
    long_running(repo, "sys.exit(1)")


@converted.declined(r"\.gitattributes")
def long_running_filter_that_fails(repo: GitRepo) -> None:
    long_running(repo, r"write(b'status=error\n')")


@refused
def required_long_running_filter_that_dies(repo: GitRepo) -> None:
    long_running(repo, "sys.exit(1)")
    repo.config("filter.swap.required", "true")


@refused
def required_long_running_filter_that_gives_up(repo: GitRepo) -> None:
    long_running(repo, r"write(b'status=abort\n')")
    repo.config("filter.swap.required", "true")


@refused
def required_long_running_filter_that_fails_at_the_end(repo: GitRepo) -> None:
    long_running(repo, r"write(b'status=success\n'); write(b'half'); write(b'status=error\n')")
    repo.config("filter.swap.required", "true")


@converted.table
def test_converted_as_git_does(repo: GitRepo, build) -> None:
    """Content goes through git's own filters, and through nothing else."""
    build(repo)
    agree(repo, declines=build.declines)


@refused.table
def test_refused_where_git_refuses(repo: GitRepo, build) -> None:
    """Content that git cannot convert is no content: nothing half-read is ever called a tree."""
    build(repo)
    git_refuses(repo)
    assert "git cannot read the whole worktree" in refuse(repo)


@pytest.mark.needs_lfs
def test_lfs_pointers(repo: GitRepo) -> None:
    """A file under git-lfs is its pointer."""
    repo.git("lfs", "install", "--local")
    repo.git("lfs", "track", "*.bin")
    repo.write("a.bin", b"\0" * 5000)
    assert repo.git("cat-file", "blob", f"{agree(repo)}:a.bin").startswith("version https://git-lfs")


@pytest.mark.needs_lfs
def test_lfs_files_edited_and_locked(repo: GitRepo) -> None:
    """A tracked file under git-lfs that was edited is another pointer; its lock file mode is its own affair."""
    repo.git("lfs", "install", "--local")
    repo.git("lfs", "track", "--lockable", "*.bin")
    repo.write("a.bin", b"\0" * 5000)
    repo.write("b.bin", b"\1" * 5000)
    repo.commit()
    repo.chmod("b.bin", 0o444)
    repo.write("a.bin", b"\2" * 5000)
    repo.write("c", "beside it")
    assert "size 5000" in repo.git("cat-file", "blob", f"{agree(repo, declines='filter')}:a.bin")


@pytest.mark.needs_lfs
def test_lfs_files_that_were_never_fetched(repo: GitRepo) -> None:
    """A pointer that lies there in place of its content is that pointer still."""
    repo.git("lfs", "install", "--local", "--skip-smudge")
    repo.git("lfs", "track", "*.bin")
    repo.write("a.bin", b"\0" * 5000)
    repo.commit()
    pointer = repo.git("cat-file", "blob", "HEAD:a.bin")
    repo.write("a.bin", pointer + "\n")
    assert agree(repo) == repo.tree()
