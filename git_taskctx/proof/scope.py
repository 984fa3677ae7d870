"""Which commits of a range must be proved (`proof.scope`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from git_taskctx.capture.lookup import is_task_file
from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import compare_many
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.policy import Policy
from git_taskctx.proof.range import Range, read_commit

if TYPE_CHECKING:
    from git_taskctx.proof.found import Judged


def required_commits(
    repository: Repository, what: Range, found: Mapping[CommitOid, Judged], policy: Policy
) -> frozenset[CommitOid]:
    """Return the commits that must be proved: the tip, those of tasks, or all.

    A commit belongs to a task when a record is about it, or when it changes a task file or a path that a task of the
    range changed. If that is unknown it must be proved.
    """
    if policy.proof.scope == "every":
        return frozenset(found)
    if policy.proof.scope == "tip":
        return frozenset({what.tip} & found.keys())
    mine = {oid for oid, one in found.items() if one.task is not None}
    if mine == found.keys():
        return frozenset(mine)
    try:
        changed = _changed_paths(repository, found)
    except CouldNotTell:
        return frozenset(found)
    touched, roots = {path for oid in mine for path in changed[oid]}, policy.task.roots
    return frozenset(
        oid
        for oid, paths in changed.items()
        if oid in mine or any(path in touched or is_task_file(os.fsdecode(path), roots) for path in paths)
    )


def _changed_paths(repository: Repository, found: Mapping[CommitOid, Judged]) -> dict[CommitOid, list[bytes]]:
    """Return what each commit changed since its first parent, in one process. Raises: CouldNotTell."""
    pairs: dict[CommitOid, tuple[TreeOid, TreeOid]] = {}
    for oid, one in found.items():
        parent = one.commit.parent
        before = repository.objects.empty_tree
        if parent is not None:
            before = (found[parent].commit if parent in found else read_commit(repository, parent)).tree
        pairs[oid] = (before, one.commit.tree)
    changes = compare_many(repository, list(pairs.values()))
    return {oid: [change.path for change in some] for oid, some in zip(pairs, changes, strict=True)}
