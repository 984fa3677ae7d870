"""The commit tree of a task: the snapshot without dirt from before the task."""

from __future__ import annotations

from git_taskctx.git.changes import ABSENT, compare_trees
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import Tree
from git_taskctx.ledger.chain import Chain
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.snapshot import Change


def commit_tree_of(repository: Repository, chain: Chain, tree: TreeOid, parent: CommitOid | None) -> TreeOid:
    """Return `tree` with every path that was dirty at init, and is unchanged since, as `parent` has it.

    After a clean start that is `tree` itself. Where the task replaced a folder by a file, or a file by a folder, what
    was there does not come back. The new trees are queued for writing.
    """
    dirt = {change.path for change in compare_trees(repository, repository.tree_of(chain.init_head), chain.init_tree)}
    if not dirt:
        return tree
    touched = {change.path for change in compare_trees(repository, chain.init_tree, tree)}
    old = dirt - touched
    base = repository.tree_of(parent)
    changes = compare_trees(repository, base, tree)
    put = {change.path for change in changes if change.path not in old and change.mode != ABSENT}
    new = [change for change in changes if change.path not in old or not _has_room(change, put)]
    if len(new) == len(changes):
        return tree
    made = Tree(repository.objects, base)
    made.read_ahead(change.path for change in new)
    for change in new:  # first what goes: a file may come into the place of a folder
        made.remove(change.path)
    for change in new:
        if change.mode != ABSENT:
            made.put(change.path, change.oid, change.mode)
    return made.write()


def _has_room(change: Change, put: set[bytes]) -> bool:
    """Return whether a path can be as in the parent beside the task's files."""
    if change.old_mode == ABSENT:
        return True
    parts = change.path.split(b"/")
    above = {b"/".join(parts[:depth]) for depth in range(1, len(parts))}
    return put.isdisjoint(above) and not any(path.startswith(change.path + b"/") for path in put)
