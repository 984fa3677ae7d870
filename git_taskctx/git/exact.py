"""The exact engine: git itself reads the worktree into a private copy of the index.

Always right, and the oracle of the fast one. It refuses wherever git would leave something out.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from git_taskctx.errors import GitFailed, TryAgain
from git_taskctx.git.index import IndexCopy
from git_taskctx.git.process import Git, Result
from git_taskctx.lean import regex
from git_taskctx.model.oids import TreeOid

PASSES = 4
"""Maximum number of passes, until two trees in a row are equal."""

_LEFT_OUT = regex(rb"^(?:warning: )?(?:could not open directory .*|.*: Permission denied)$", re.MULTILINE)
"""git warns so, exits with 0, and leaves files out."""


def read_exact(copy: IndexCopy, git: Git, folder: Path, *, cold: bool) -> TreeOid:
    """Return the worktree's tree, its objects written where `git` writes them; `cold` reads every file again.

    Raises: GitFailed where git refuses or would leave files out; TryAgain while the worktree keeps changing.
    """
    index = folder / "index"
    began = folder.stat().st_mtime_ns
    copy.write(index, cold=cold)
    return _settle(git.with_env(GIT_INDEX_FILE=os.fspath(index)), index, began)


def _settle(git: Git, index: Path, began: int) -> TreeOid:
    """Read until two trees in a row are equal.

    After each pass the index gets the time of our start, so that git reads files written since again, even if size and
    time (a clock that ticks every 4 ms) are unchanged.
    """
    previous = None
    for _ in range(PASSES):
        # Without `--sparse` git leaves out what lies outside a sparse-checkout cone (git-add).
        added = git.run("--literal-pathspecs", "add", "-A", "--sparse", ok=(0, 1, 128))
        _refuse_left_out(added)
        with contextlib.suppress(FileNotFoundError):
            os.utime(index, ns=(began, began))
        # git refuses a tree with a blob that is not here, as in a partial clone, but for `--missing-ok`.
        tree = TreeOid(git.run("write-tree", "--missing-ok").out.decode().strip())
        if tree == previous:
            return tree
        previous = tree
    raise TryAgain("the worktree keeps changing while it is read", hint="stop what writes into it, then try again")


def _refuse_left_out(added: Result) -> None:
    left_out = _LEFT_OUT.search(added.err)
    if added.code == 0 and left_out is None:
        return
    reason = left_out[0].decode("utf-8", "replace").removeprefix("warning: ") if left_out else added.complaint
    raise GitFailed(
        f"git cannot read the whole worktree: {reason}", hint="git add -A --dry-run   # fix what it complains about"
    )
