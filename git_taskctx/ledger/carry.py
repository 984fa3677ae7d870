"""Carry the records of rewritten commits along where the tree is the same."""

from __future__ import annotations

from collections.abc import Iterable

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.notes import NOTES_REF, append_notes, read_note, write_notes
from git_taskctx.git.refs import Refs
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import CommitOid

_REASON = "carried to rewritten commits"


def carry_notes(repository: Repository, pairs: Iterable[tuple[CommitOid, CommitOid]]) -> int:
    """Add the records on each old commit to the new one, in one step; return how many commits got some.

    Raises: TryAgain when other writers kept moving the notes; ReadOnly, GitFailed.
    """
    objects, pairs, additions = repository.objects, list(pairs), dict[str, list[str]]()

    def make(notes: str | None) -> str | None:
        additions.clear()
        for old, new in pairs:
            lines = read_note(objects, notes, old)
            if lines and _is_same_tree(repository, old, new) and not set(lines) <= set(read_note(objects, notes, new)):
                additions[new] = lines
        return append_notes(objects, notes, additions, message=f"taskctx: {_REASON}") if additions else None

    write_notes(objects, Refs(repository.git, NOTES_REF), make, reason=_REASON)
    return len(additions)


def _is_same_tree(repository: Repository, old: CommitOid, new: CommitOid) -> bool:
    try:
        return repository.tree_of(old) == repository.tree_of(new)
    except CouldNotTell:
        return False
