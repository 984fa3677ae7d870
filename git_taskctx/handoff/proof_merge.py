"""Merges: proved by their parents where they are what git makes of them, with nothing put in by hand."""

from __future__ import annotations

import os

from git_taskctx.git.patch import bare_git
from git_taskctx.git.private import private_folder
from git_taskctx.git.repository import Repository
from git_taskctx.handoff.proof_range import Commit, find_commit
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.proof import Code, Reason

WAYS = ((), ("merge.directoryRenames=false",))
"""How merges are made: by git as it comes, and by servers, which do not follow renamed folders."""


def check_merge(repository: Repository, merge: Commit) -> Reason | None:
    """Return why a merge is not the automatic one of its parents; None where it is.

    git runs over our own empty git dir, so that no configuration, attribute or driver has a say, and what it writes is
    thrown away.
    """
    if len(merge.parents) != 2:
        return Reason(Code.MERGE_UNCHECKED, f"a merge of {len(merge.parents)} parents is not made again")
    ours, theirs = (find_commit(repository, parent) for parent in merge.parents)
    if ours is None or theirs is None:
        return Reason(Code.MERGE_UNCHECKED, "a parent of the merge is not in this clone")
    if ours.oid in theirs.parents and theirs.tree == merge.tree:
        return None  # nothing had happened on the other side: no history is needed to see that
    with private_folder(repository) as folder:
        (folder / "bare").mkdir()
        git = bare_git(repository, folder / "bare", new=folder / "new")
        shallow = repository.common_dir / "shallow"
        if shallow.exists():
            git = git.with_env(GIT_SHALLOW_FILE=os.fspath(shallow))
        for settings in WAYS:
            with_settings = git.with_settings(settings)
            done = with_settings.run("merge-tree", "--write-tree", ours.oid, theirs.oid, ok=(0, 1, 128, 129))
            if done.code > 1:
                return Reason(Code.MERGE_UNCHECKED, f"git cannot make the merge again: {done.complaint}")
            if done.code == 0 and TreeOid(done.out.decode().strip()) == merge.tree:
                return None
    if shallow.exists():
        return Reason(Code.MERGE_UNCHECKED, "history is cut, and the merge base with it")
    return Reason(Code.MERGE_EDITED, "it is not the automatic merge of its parents")
