"""Names of the refs that keep a context's objects alive, and of those that were fetched."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import RefMove, Refs
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import CommitOid

CONTEXTS, SNAPSHOTS = "refs/taskctx/contexts", "refs/taskctx/snapshots"
"""Folders of the refs that keep the contexts' own files, and the trees of their snapshots."""


REMOTES = "refs/taskctx/remotes"
"""Folder of the refs that were fetched, by remote: they are looked at, and never written over ours."""


SEEN = "seen"
"""Under a remote: its ledger, where it was only looked at. No other proof believes what it says."""


def refs_of(repository: Repository, context_id: str) -> Refs:
    """Read the refs that a context is about: the notes, and its own."""
    return Refs(repository.git, NOTES_REF, context_ref_name(context_id), snapshots_folder(context_id))


def snapshots_folder(context_id: str) -> str:
    """Name the folder of refs that keep a context's trees."""
    return f"{SNAPSHOTS}/{context_id}"


def commits_folder(context_id: str) -> str:
    """Name the folder of refs that keep the trees of the commits a context rests on.

    Nothing keeps the commits: a ref to one would show in everybody's `git log --all`. Their trees are all we need.
    """
    return f"{snapshots_folder(context_id)}/_commits"


def keep_commits(
    repository: Repository, context_id: str, known: Collection[str], commits: Iterable[CommitOid | None]
) -> list[RefMove]:
    """Return the moves that keep the trees of `commits`, but of those that are `known`."""
    new = {commit for commit in commits if commit is not None and commit not in known}
    return [
        RefMove(f"{commits_folder(context_id)}/{commit}", repository.tree_of(commit), None)
        for commit in sorted(new)
        if repository.objects.has(commit)
    ]


def context_ref_name(context_id: str) -> str:
    """Name the ref that keeps a context's own files."""
    return f"{CONTEXTS}/{context_id}"
