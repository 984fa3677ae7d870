"""The ledger of another repository merged into ours: lines are only ever added, and our ref moves atomically."""

from __future__ import annotations

import random
import time

from git_taskctx.errors import CouldNotTell, TryAgain
from git_taskctx.git.notes import NOTES_REF, append_notes, new_lines
from git_taskctx.git.refs import RefConflict, RefMove, find_ref, move_refs
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.entries import ATTEMPTS


def merge_ledger(repository: Repository, fetched: str, remote: str) -> dict[str, list[str]]:
    """Add the lines of a fetched ledger to ours; return those that are new.

    Our ledger ends on a commit that has theirs among its parents, so that theirs follows it by a plain push.
    """
    theirs = find_ref(repository.git, fetched)
    if theirs is None:
        raise CouldNotTell(f"what was fetched from {remote} is gone", hint="run the same command again")
    found: dict[str, list[str]] = {}
    for attempt in range(ATTEMPTS):
        time.sleep(random.uniform(0, 0.002 * attempt))  # noqa: S311 - so that two writers do not keep step
        ours = find_ref(repository.git, NOTES_REF)
        lines = new_lines(repository, ours, theirs)
        for target, some in lines.items():
            found.setdefault(target, []).extend(line for line in some if line not in found.get(target, ()))
        if ours is not None and _is_ancestor(repository, theirs, ours):
            if not lines:
                return found
        elif ours is None or (_is_ancestor(repository, ours, theirs) and not new_lines(repository, theirs, ours)):
            if _moved(repository, theirs, ours, remote):
                return found
            continue
        commit = append_notes(repository.objects, ours, lines, message=f"taskctx: merged with {remote}", merged=theirs)
        repository.objects.flush()
        if _moved(repository, commit, ours, remote):
            return found
    raise TryAgain("others keep writing to the ledger", hint="run the same command again")


def _moved(repository: Repository, new: str, old: str | None, remote: str) -> bool:
    try:
        move_refs(repository.git, [RefMove(NOTES_REF, new, old)], reason=f"merged with {remote}")
    except RefConflict:
        return False
    return True


def _is_ancestor(repository: Repository, one: str, other: str) -> bool:
    return repository.git.run("merge-base", "--is-ancestor", one, other, ok=(0, 1)).code == 0
