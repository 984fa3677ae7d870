"""The tree that a commit of the task must have: the snapshot, without the dirt that was there before the task."""

from __future__ import annotations

import os

from git_taskctx.git.changes import ABSENT, Change, compare_trees
from git_taskctx.git.private import private_folder
from git_taskctx.git.repository import Repository
from git_taskctx.handoff.chain import Chain
from git_taskctx.model.oids import CommitOid, TreeOid


def commit_tree_of(repository: Repository, chain: Chain, tree: TreeOid, parent: CommitOid | None) -> TreeOid:
    """Return `tree` with every path that was dirty at init, and is still as it was then, as `parent` has it.

    After a clean start that is `tree` itself. Where the task put a file in the place of a folder, or a folder in that
    of a file, what was below or there before it does not come back. The new trees are written to the repository.
    """
    dirt = {change.path for change in compare_trees(repository, repository.tree_of(chain.init_head), chain.init_tree)}
    if not dirt:
        return tree
    touched = {change.path for change in compare_trees(repository, chain.init_tree, tree)}
    old = dirt - touched
    differs = compare_trees(repository, tree, repository.tree_of(parent))
    kept = {change.path for change in differs if change.mode == ABSENT and change.path not in old}
    changes = [change for change in differs if change.path in old and _has_room(change, kept)]
    if not changes:
        return tree
    zero = repository.objects.zero
    gone = b"".join(b"0 %s\t%s\0" % (zero.encode(), change.path) for change in changes)
    back = b"".join(
        b"%s %s\t%s\0" % (change.mode.encode(), change.oid.encode(), change.path)
        for change in changes
        if change.mode != ABSENT
    )
    with private_folder(repository) as folder:
        git = repository.git.with_env(GIT_INDEX_FILE=os.fspath(folder / "index"))
        git.run("read-tree", tree)
        git.run("update-index", "-z", "--index-info", stdin=gone + back)
        return TreeOid(git.run("write-tree", "--missing-ok").out.decode().strip())


def _has_room(change: Change, kept: set[bytes]) -> bool:
    """Tell whether a path can be as in the parent beside the files that the task keeps."""
    if change.mode == ABSENT:
        return True
    parts = change.path.split(b"/")
    above = {b"/".join(parts[:depth]) for depth in range(1, len(parts))}
    return kept.isdisjoint(above) and not any(path.startswith(change.path + b"/") for path in kept)
