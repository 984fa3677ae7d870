"""Merge another repository's ledger into ours: lines are only added, and our ref moves atomically."""

from __future__ import annotations

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.notes import NOTES_REF, append_notes, new_lines, write_notes
from git_taskctx.git.refs import Refs, find_ref
from git_taskctx.git.repository import Repository


def merge_ledger(repository: Repository, fetched: str, remote: str) -> dict[str, list[str]]:
    """Add a fetched ledger's lines to ours; return the new ones.

    Theirs becomes an ancestor of ours, so that a plain push updates theirs.
    """
    theirs = find_ref(repository.git, fetched)
    if theirs is None:
        raise CouldNotTell(f"what was fetched from {remote} is gone", hint="run the same command again")
    found: dict[str, list[str]] = {}

    def make(ours: str | None) -> str | None:
        lines = new_lines(repository, ours, theirs)
        for target, some in lines.items():
            found.setdefault(target, []).extend(line for line in some if line not in found.get(target, ()))
        if ours is not None and repository.is_ancestor(theirs, ours):
            if not lines:
                return None
        elif ours is None or (repository.is_ancestor(ours, theirs) and not new_lines(repository, theirs, ours)):
            return theirs
        return append_notes(repository.objects, ours, lines, message=f"taskctx: merged with {remote}", merged=theirs)

    write_notes(repository.objects, Refs(repository.git, NOTES_REF), make, reason=f"merged with {remote}")
    return found
