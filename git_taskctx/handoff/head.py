"""HEAD during a task: it may move while an agent is at work, and the commit's parent must still be right."""

from __future__ import annotations

from git_taskctx.context.committree import commit_tree_of
from git_taskctx.context.session import Event, Session
from git_taskctx.errors import Refused
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Head
from git_taskctx.git.worktree import Reading
from git_taskctx.ledger.chain import Chain
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Rebase


def follow_head(
    session: Session, chain: Chain, reading: Reading, head: Head, *, accepted: bool
) -> tuple[CommitOid | None, CommitOid | None, list[Event]]:
    """Return the base and the commit's parent for the present HEAD, and the record of its move.

    A commit of exactly the worktree is the task's own, made early: the parent stays, and it can be sealed once the
    chain is done; if work goes on, the task's commit will follow it. Raises: Refused when paths still hold what they
    held before HEAD moved, which would revert others' work, unless `accepted`.
    """
    if head.commit == chain.head == chain.parent:
        return chain.base, chain.parent, []
    if head.commit is not None and _is_early(session, chain, reading, head.commit):
        return _moved(chain, reading, head, base=chain.base, parent=session.repository.parent_of(head.commit))
    if head.commit == chain.head:
        return _moved(chain, reading, head, base=chain.base, parent=head.commit)
    from git_taskctx.context.gather import other_agents_at

    other = other_agents_at(session.repository, head.commit, chain.agents)
    session.warnings += [other] if other is not None else []
    if not accepted:
        _refuse_reverting(session, chain, reading, head)
    base = head.commit if chain.base == chain.parent else chain.base
    return _moved(chain, reading, head, base=base, parent=head.commit)


def is_own_commit(session: Session, chain: Chain, tree: TreeOid) -> bool:
    """Return whether HEAD moved by the task's own commit."""
    move = session.repository.last_move() or ""
    return move.startswith("commit") or tree == chain.settled_tree


def _is_early(session: Session, chain: Chain, reading: Reading, commit: CommitOid) -> bool:
    repository = reading.repository  # which sees the objects of the reading, kept or not
    parents = repository.parents_of(commit)
    first = parents[0] if parents else None
    if first not in (chain.parent, chain.head) or len(parents) > 1 or commit == chain.parent:
        return False
    held = repository.tree_of(commit)
    return held == commit_tree_of(repository, chain, reading.tree, first) and is_own_commit(
        session, chain, reading.tree
    )


def _moved(
    chain: Chain, reading: Reading, head: Head, *, base: CommitOid | None, parent: CommitOid | None
) -> tuple[CommitOid | None, CommitOid | None, list[Event]]:
    if (base, parent) == (chain.base, chain.parent):
        return base, parent, []
    payload = Rebase(parent=parent, previous_parent=chain.parent)
    return base, parent, [Event(payload, chain.owner, tree=reading.tree, commit=head.commit, base=base)]


def _refuse_reverting(session: Session, chain: Chain, reading: Reading, head: Head) -> None:
    repository = session.repository
    reverted = _would_revert(reading, repository.tree_of(chain.head), repository.tree_of(head.commit))
    if reverted:
        raise Refused(
            f"HEAD moved, and {len(reverted)} path{'s' * (len(reverted) != 1)} that changed there still "
            "hold the old content: committing them would undo others' work",
            hint="git checkout HEAD -- PATH   # or merge the change in by hand; then snapshot again",
            paths=reverted,
        )


def _would_revert(reading: Reading, old: TreeOid, new: TreeOid) -> tuple[str, ...]:
    """Return the paths that differ between two commits and are in the worktree as in the old one."""
    moved = compare_trees(reading.repository, old, new)
    if not moved:
        return ()
    changes = compare_trees(reading.repository, reading.tree, new)
    differs = {change.path: (change.old_mode, change.old_oid) for change in changes}
    return tuple(
        quote(change.path) for change in moved if differs.get(change.path) == (change.old_mode, change.old_oid)
    )
