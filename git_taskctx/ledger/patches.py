"""The patch of a task's commit, by which it can be found again where its tree is gone: after a squash or a rebase."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.patch import make_patches
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class PatchPlace:
    """A patch, and the blob that stands for it, so that notes can be on it."""

    sha: str
    """Its identity: where in its files it applies does not matter."""
    blob: BlobOid


@dataclass(frozen=True)
class Facts:
    """What a seal says of its commit beside its tree."""

    parent_tree: TreeOid | None = None
    """Which holds also where the parent gets another name."""
    patch: str | None = None
    """Identity of its patch."""
    places: tuple[BlobOid, ...] = ()
    """What else the chain goes on."""


def find_patches(repository: Repository, pairs: Sequence[tuple[TreeOid, TreeOid]]) -> list[PatchPlace | None]:
    """Return the patch between the trees of each pair; None where one of them is not here whole.

    All come from one git process, unless one of them does not.
    """
    try:
        shas = [patch.identity for patch in make_patches(repository, list(pairs))]
    except CouldNotTell:
        return [None] if len(pairs) == 1 else [find_patches(repository, [pair])[0] for pair in pairs]
    return [PatchPlace(sha, BlobOid(repository.objects.hash("blob", _content(sha)))) for sha in shas]


def facts_of(repository: Repository, parent: CommitOid | None, tree: TreeOid) -> Facts:
    """Return what a seal says of a commit with `tree` on `parent`; the blob of the patch is taken to be written."""
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
