"""The diffs of a context, stored or recomputed from the trees."""

from __future__ import annotations

import zlib
from typing import Literal

from git_taskctx.context.committree import commit_tree_of
from git_taskctx.context.session import Session
from git_taskctx.errors import CouldNotTell, Fatal
from git_taskctx.git.patch import Patch, make_patches
from git_taskctx.git.worktree import read_worktree
from git_taskctx.ledger.seats import Expectation
from git_taskctx.limits import TooLarge, unpacked
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import HiddenChange
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation
from git_taskctx.store import FOLDER

DiffKind = Literal["from-base", "incremental"]


@dataclass(frozen=True)
class StoredDiff:
    """A diff of one snapshot, or of an agent's unrecorded work."""

    agent: str
    n: int | None
    """None for unrecorded work."""
    path: str | None
    """The gzipped file, from the top of the worktree; None where nothing is stored."""
    patch: Patch
    hidden: tuple[HiddenChange, ...]
    """What changed beside it, where no tree shows it."""


def find_diff(session: Session, agent: str | None, number: int | None, kind: DiffKind) -> StoredDiff:
    """Return a snapshot's diff, by default the last agent's, or what an agent at work has not recorded.

    Raises: Fatal where there is no such snapshot; CouldNotTell when neither the file nor the trees are there.
    """
    if number is None and _is_pending(session, agent):
        return _pending(session, kind)
    taken = _find_snapshot(session, agent, number)
    name = f"{taken.agent}-{taken.n}-{kind}.diff.gz"
    folder = f"{FOLDER}/archive/{session.context.context_id}" if session.archived else f"{FOLDER}/tasks/{session.task}"
    sha = taken.diff_sha if kind == "from-base" else _incremental_sha(session, taken)
    patch = _read(session, name, sha) if sha is not None else None
    if patch is None:
        patch = _make(session, taken, kind)
    return StoredDiff(taken.agent, taken.n, f"{folder}/{name}", patch, taken.hidden)


def _is_pending(session: Session, agent: str | None) -> bool:
    chain = session.chain
    if session.archived or not chain.at_work:
        return False
    return agent == chain.owner or (agent is None and not any(seat.snapshots for seat in chain.seats.values()))


def _pending(session: Session, kind: DiffKind) -> StoredDiff:
    """Return what the owner changed since the handoff, or the whole task since the base."""
    chain = session.chain
    with read_worktree(session.repository, keep=False) as reading:
        since, tree = chain.tenure_tree, reading.tree
        if kind == "from-base":
            since = session.repository.tree_of(chain.base)
            tree = commit_tree_of(reading.repository, chain, tree, chain.parent)
        patch = make_patches(reading.repository, [(since, tree)])[0]
        return StoredDiff(chain.owner, None, None, patch, reading.hidden)


def _find_snapshot(session: Session, agent: str | None, number: int | None) -> Expectation:
    if agent is None:
        every = [taken for seat in session.chain.seats.values() for taken in seat.snapshots]
        if not every:
            then = Situation("chain.no_snapshot", agent=session.chain.owner)
            raise Fatal(f"{session.task} has no snapshot yet", then)
        agent = max(every, key=lambda taken: taken.seq).agent
    return session.find_snapshot(agent, number)


def _incremental_sha(session: Session, taken: Expectation) -> str | None:
    """Return the recorded hash of an agent's last incremental diff; None for an earlier one."""
    last = session.context.coordination[taken.agent].worktree_snapshot
    return last.incremental_diff_sha if last is not None and last.n == taken.n else None


def _read(session: Session, name: str, sha: str) -> Patch | None:
    """Return the stored diff; None if it is missing or not as recorded."""
    store = session.caller.store
    data = store.read_archived(session.context.context_id, name) if session.archived else store.read(session.task, name)
    if data is None:
        return None
    try:
        size = sum(map(len, unpacked(data)))
    except (TooLarge, zlib.error):
        return None
    patch = Patch(packed=data, size=size)
    return patch if patch.sha == sha else None


def _make(session: Session, taken: Expectation, kind: DiffKind) -> Patch:
    repository = session.repository
    since: TreeOid | None = repository.tree_of(taken.base) if kind == "from-base" else taken.previous_tree
    if since is None:
        raise CouldNotTell(f"the tree before {taken.agent}'s snapshot {taken.n} is not on record")
    tree = taken.commit_tree if kind == "from-base" else taken.tree
    return make_patches(repository, [(since, tree)])[0]
