"""Rewritten commits: what stands in the notes of one also holds for what it became, where the tree is the same."""

from __future__ import annotations

from collections.abc import Iterable

from git_taskctx.errors import CouldNotTell, TryAgain
from git_taskctx.git.notes import NOTES_REF, append_notes, read_note
from git_taskctx.git.refs import RefConflict, RefMove, find_ref, move_refs
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.entries import ATTEMPTS
from git_taskctx.model.oids import CommitOid


def carry_notes(repository: Repository, pairs: Iterable[tuple[CommitOid, CommitOid]]) -> int:
    """Add the ledger's lines on each old commit to the new one, in one step; return how many commits got some.

    Raises: TryAgain when the notes never stood still; ReadOnly, GitFailed.
    """
    objects, pairs = repository.objects, list(pairs)
    for _ in range(ATTEMPTS):
        notes = find_ref(repository.git, NOTES_REF)
        additions: dict[str, list[str]] = {}
        for old, new in pairs:
            lines = read_note(objects, notes, old)
            if lines and _is_same_tree(repository, old, new) and not set(lines) <= set(read_note(objects, notes, new)):
                additions[new] = lines
        if not additions:
            return 0
        commit = append_notes(objects, notes, additions, message="taskctx: carried to rewritten commits")
        objects.flush()
        try:
            move_refs(repository.git, [RefMove(NOTES_REF, commit, notes)], reason="carried to rewritten commits")
        except RefConflict:
            continue
        return len(additions)
    raise TryAgain(f"{NOTES_REF} never stood still", hint="git notes --ref=taskctx list   # then rewrite again")


def _is_same_tree(repository: Repository, old: CommitOid, new: CommitOid) -> bool:
    try:
        return repository.tree_of(old) == repository.tree_of(new)
    except CouldNotTell:
        return False
