"""The patch of a task's commit, which still identifies it after a squash or a rebase changed its tree."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.patch import make_patches
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class PatchPlace:
    """A patch, and the blob whose notes are about it."""

    sha: str
    """Patch id: independent of line numbers."""
    blob: BlobOid


@dataclass(frozen=True)
class Facts:
    """What a seal records of its commit besides the tree."""

    parent_tree: TreeOid | None = None
    """It stays valid when the parent is rewritten."""
    patch: str | None = None
    """Patch id."""
    places: tuple[BlobOid, ...] = ()
    """Other blobs that get the records."""


def find_patches(repository: Repository, pairs: Sequence[tuple[TreeOid, TreeOid]]) -> list[PatchPlace | None]:
    """Return the patch between each pair of trees, None where objects are missing; usually in one git process."""
    try:
        shas = [patch.identity for patch in make_patches(repository, list(pairs))]
    except CouldNotTell:
        return [None] if len(pairs) == 1 else [find_patches(repository, [pair])[0] for pair in pairs]
    return [PatchPlace(sha, BlobOid(repository.objects.hash("blob", _content(sha)))) for sha in shas]


def facts_of(repository: Repository, parent: CommitOid | None, tree: TreeOid) -> Facts:
    """Return what a seal records of a commit with `tree` on `parent`; queues the patch's blob."""
    try:
        before = repository.tree_of(parent)
    except CouldNotTell:
        return Facts()
    (place,) = find_patches(repository, [(before, tree)])
    if place is None:
        return Facts(before)
    repository.objects.add_blob(_content(place.sha))
    return Facts(before, place.sha, (place.blob,))


def _content(sha: str) -> bytes:
    return f"taskctx patch {sha}".encode()
