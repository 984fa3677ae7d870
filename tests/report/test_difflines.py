"""Diffs as pages show them: the files and the counts are git's, and nothing is longer than there is room for."""

from __future__ import annotations

import os

import pytest
from gitrepo import GitRepo

from git_taskctx.git.patch import make_patches
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import open_repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.report.difflines import FILE_LINES, LINE_LENGTH, FileDiff, Line, Room, files_of

NAMES = (
    b"plain.py", b"with a blank", b" b/ and a/ b", b'quoted"\\', b"new\nline\ttab", b"latin-\xe9", "größe".encode(),
    b"dir/a/b/c", "\u202eright.py".encode(),
)  # fmt: skip


def between(repo: GitRepo, old: str, new: str, *, room: int = 10**6) -> list[FileDiff]:
    """Return the files of the diff that a report shows between two revisions."""
    repository = open_repository(repo.path, dict(os.environ))
    try:
        trees = TreeOid(repo.tree(old)), TreeOid(repo.tree(new))
        (patch,) = make_patches(repository, [trees], binaries=False)
    finally:
        repository.close()
    return files_of(patch.data, Room(room))


def told_by_git(repo: GitRepo, old: str, new: str) -> list[tuple[str, int, int]]:
    """Return path, added and deleted lines of each file, as git counts them; none of those that are binary."""
    fields = repo.run("diff", "--numstat", "-z", "--no-renames", old, new).stdout.split(b"\0")[:-1]
    words = [field.split(b"\t", 2) for field in fields]
    return [(quote(path), *(0 if one == b"-" else int(one) for one in (added, gone))) for added, gone, path in words]


def test_files_and_counts_are_gits(repo: GitRepo) -> None:
    """Whatever a file is called, and whatever its lines begin with, path and counts are those of `git diff`."""
    odd = (
        b"--- a/x\n+++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\nindex 1..2\nBinary files a and b differ\n\x1b[31m\xff\r\n"
    )
    for name in NAMES:
        repo.write(name, b"same\n" + odd)
    repo.write("gone", odd)
    repo.write("mode", "x\n")
    repo.write("binary", b"\0old")
    repo.commit()
    for name in NAMES:
        repo.write(name, odd * 2 + b"no newline at the end")
    repo.remove("gone")
    repo.chmod("mode", 0o755)
    repo.write("binary", b"\0new")
    repo.symlink("link", "target")
    repo.write("empty", "")
    repo.commit()
    found = between(repo, "HEAD~1", "HEAD")
    assert [(one.path, one.added, one.deleted) for one in found] == told_by_git(repo, "HEAD~1", "HEAD")
    facts = {one.path: one.facts for one in found if one.facts}
    assert facts == {
        "binary": ["binary, content not shown"],
        "empty": ["new file, mode 100644"],
        "gone": ["deleted, mode was 100644"],
        "link": ["new file, mode 120000"],
        "mode": ["mode 100644 to 100755"],
    }
    (link,) = [one for one in found if one.path == "link"]
    assert [line.text for line in link.lines] == ["@@ -0,0 +1 @@", "+target", "\\ No newline at end of file"]


def test_what_is_long_is_cut_and_counted(repo: GitRepo) -> None:
    """Lines beyond the limit, and beyond the room of the page, are counted; a long line says how long it is."""
    repo.write("a", "")
    repo.commit()
    repo.write("a", "".join(f"{number}\n" for number in range(2 * FILE_LINES)))
    repo.write("b", "x" * 10_000 + "\n")
    repo.commit()
    first, second = between(repo, "HEAD~1", "HEAD")
    assert (first.added, len(first.lines), first.left_out) == (2 * FILE_LINES, FILE_LINES, FILE_LINES + 1)
    assert second.lines[1] == Line("added", "+" + "x" * (LINE_LENGTH - 1) + "… (10001 characters)")
    for room in (0, 1_000, 10_000):
        files = between(repo, "HEAD~1", "HEAD", room=room)
        assert sum(6 * len(line.text) + 60 for one in files for line in one.lines) <= room
        assert [one.added for one in files] == [2 * FILE_LINES, 1]
        assert all(len(one.lines) + one.left_out == one.added + 1 for one in files)


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_no_file(repo: GitRepo, count: int) -> None:
    """Equal trees have no files."""
    repo.write("a", "a\n")
    repo.commit()
    repo.write("a", "b\n" if count else "a\n")
    repo.commit()
    assert len(between(repo, "HEAD~1", "HEAD")) == count
