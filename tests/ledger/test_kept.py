"""What is recorded hangs on refs of ours: git's housekeeping takes none of it."""

from __future__ import annotations

import shutil

from desk import TASK, Desk


def test_after_gc_everything_still_works(reviewed: Desk) -> None:
    """`git gc --prune=now` keeps every snapshot, `git fsck` has nothing to say, and verify, diff and restore work."""
    reviewed.repo.write("parser.py", "drift\n")
    reviewed.ok("restore", "--agent", "implementer")
    diff = reviewed.ok("diff", "--agent", "implementer", "--type", "from-base").out
    reviewed.repo.git("gc", "--quiet", "--prune=now")
    reviewed.repo.git("reflog", "expire", "--expire=now", "--all")
    reviewed.repo.git("gc", "--quiet", "--prune=now")
    assert reviewed.repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    reviewed.ok("verify")
    shutil.rmtree(reviewed.folder())
    reviewed.ok("recover", TASK)
    for path in reviewed.folder().glob("*.diff.gz"):
        path.unlink()
    assert reviewed.ok("diff", "--agent", "implementer", "--type", "from-base").out == diff
    reviewed.ok("restore", "--agent", "saved")
    assert reviewed.repo.read("parser.py") == b"drift\n"


def test_nothing_that_we_write_is_left_unreachable(begun: Desk) -> None:
    """By design every object hangs on a ref of ours."""
    begun.repo.write("README", "dirt\n")
    begun.ok("purge")
    begun.ok("init", "TASK-2", "--title", "Another")
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    unreachable = begun.repo.git("fsck", "--unreachable", "--no-reflogs").splitlines()
    kinds = {line.split()[1] for line in unreachable}
    assert kinds <= {"commit", "tree", "blob"}
    assert not any(line.split()[1] == "tree" and is_worktree(begun, line.split()[2]) for line in unreachable)


def is_worktree(desk: Desk, tree: str) -> bool:
    """Return whether a tree is one of the worktree."""
    return "parser.py" in desk.repo.git("ls-tree", "--name-only", tree)
