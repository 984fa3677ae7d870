"""Names of a context's refs, and of fetched refs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import RefMove, Refs
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import CommitOid

CONTEXTS, SNAPSHOTS = "refs/taskctx/contexts", "refs/taskctx/snapshots"
"""Folders of the refs of contexts' files and of snapshots."""


REMOTES = "refs/taskctx/remotes"
"""Folder of fetched refs, by remote; they never overwrite ours."""


SEEN = "seen"
"""Under a remote: its ledger after a look only; other proofs do not believe it."""


def refs_of(repository: Repository, context_id: str) -> Refs:
    """Read the notes ref and a context's own ref."""
    return Refs(repository.git, NOTES_REF, context_ref_name(context_id), snapshots_folder(context_id))


def snapshots_folder(context_id: str) -> str:
    return f"{SNAPSHOTS}/{context_id}"


def commits_folder(context_id: str) -> str:
    """Return the folder of the refs to the trees of commits a context rests on.

    Not to the commits: those would show in everybody's `git log --all`.
    """
    return f"{snapshots_folder(context_id)}/_commits"


def keep_commits(
    repository: Repository, context_id: str, known: Collection[str], commits: Iterable[CommitOid | None]
) -> list[RefMove]:
    """Return the ref moves that keep the trees of `commits`, except those `known`."""
    new = {commit for commit in commits if commit is not None and commit not in known}
    return [
        RefMove(f"{commits_folder(context_id)}/{commit}", repository.tree_of(commit), None)
        for commit in sorted(new)
        if repository.objects.has(commit)
    ]


def context_ref_name(context_id: str) -> str:
    return f"{CONTEXTS}/{context_id}"
