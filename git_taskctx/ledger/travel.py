"""Contexts shared between clones: their refs follow the ledger, never the other way round.

Snapshots on both sides of a fork have the same ref names. So a ref moves only to the tree that the complete ledger
records for it, and is forced only if it had another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.refs import RefMove, read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.refs import CONTEXTS, REMOTES, SNAPSHOTS, commits_folder, context_ref_name, snapshots_folder

_FETCHED = re.compile(r"/((?:contexts|snapshots)/[0-9a-f]{16}(?:/.*)?)")


def refs_of_context(repository: Repository, context_id: str) -> dict[str, str]:
    return read_refs(repository.git, context_ref_name(context_id), snapshots_folder(context_id))


def contexts_apart(repository: Repository, theirs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the contexts of which `theirs` has refs that are missing or different here."""
    ids = {ref: found[1].split("/")[1] for ref in theirs if (found := _FETCHED.search(ref))}
    ours = read_refs(repository.git, CONTEXTS, SNAPSHOTS) if ids else {}
    return tuple(sorted({context_id for ref, context_id in ids.items() if ours.get(ref) != theirs[ref]}))


def fetched_refs(repository: Repository, context_id: str, place: str = f"{REMOTES}/**") -> dict[str, str]:
    """Return the fetched refs of a context with their oids, from everywhere or one place."""
    return read_refs(repository.git, f"{place}/contexts/{context_id}", f"{place}/snapshots/{context_id}/**")


def as_ours(ref: str) -> str:
    """Return the name of a fetched ref at its source."""
    found = _FETCHED.search(ref)
    return f"refs/taskctx/{found[1]}" if found else ref


def trees_on_record(context_id: str, chain: Chain) -> dict[str, str]:
    """Return each snapshot's ref of the chain, with its tree."""
    folder = snapshots_folder(context_id)
    return {
        f"{folder}/{taken.agent}/{taken.n}": taken.tree for seat in chain.seats.values() for taken in seat.snapshots
    }


def follow_ledger(repository: Repository, context_id: str, chain: Chain, fetched: Mapping[str, str]) -> list[RefMove]:
    """Return the moves that bring our snapshot refs to the recorded trees.

    Raises: CouldNotTell where a tree is missing.
    """
    ours, objects, folder = refs_of_context(repository, context_id), repository.objects, snapshots_folder(context_id)
    wanted = trees_on_record(context_id, chain)
    for ref, oid in fetched.items():  # what no snapshot of an agent is: the first tree, and those of commits
        target = as_ours(ref)
        if target.startswith((f"{folder}/init/", f"{commits_folder(context_id)}/")) and target not in ours:
            wanted[target] = oid
    moves = [RefMove(ref, tree, ours.get(ref)) for ref, tree in wanted.items() if ours.get(ref) != tree]
    missing = next((move for move in moves if move.new is None or not objects.has(move.new)), None)
    if missing is not None:
        name = missing.ref.removeprefix(f"{folder}/")
        raise CouldNotTell(f"the tree of snapshot {name} is not here: the clone that took it did not push it")
    return moves
