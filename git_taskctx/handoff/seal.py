"""The end of a task: its commit is the one that was validated, and the whole chain goes with it."""

from __future__ import annotations

from git_taskctx.files import ReadOnly
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.handoff import ledger
from git_taskctx.handoff.session import Caller, Event, Session, open_session
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.verdict import Outcome, Verdict


def seal_if_committed(session: Session) -> CommitOid | None:
    """End the task when HEAD is the commit that was validated: the whole chain goes on the commit and on its tree.

    Returns: the commit, None when HEAD is anything else.
    """
    chain, repository = session.chain, session.repository
    expected = chain.expected
    head = repository.find_commit("HEAD")
    if session.archived or session.edited or not chain.validated or expected is None:
        return None
    if head is None or head == chain.parent or repository.tree_of(head) != expected.commit_tree:
        return None
    parents = repository.parents_of(head)
    if (parents[0] if parents else None) != chain.parent:
        return None
    event = Event(
        "seal", chain.owner, tree=expected.tree, commit_tree=expected.commit_tree, commit=head, base=chain.base
    )
    if chain.sealed != head:
        session.commit([event], reason=f"{session.task}: sealed with {head[:12]}")
    whole = [entry.record for entry in session.entries]
    anchor = ledger.anchor_of(repository, session.context.context_id)
    ledger.append(
        repository,
        {head: whole, expected.commit_tree: whole},
        [],
        anchor=anchor,
        tip=session.entries[-1].sha,
        reason=f"{session.task}: the chain on {head[:12]}",
    )
    session.commit([Event("purge", chain.owner)], reason=f"{session.task}: over")
    session.caller.store.archive(session.task, session.context.context_id)
    session.caller.store.deactivate()
    return head


def seal_or_none(caller: Caller) -> Verdict | None:
    """End the active task when HEAD is its validated commit, and say so; None when there is nothing to end."""
    store = caller.store
    if store.marker() is None or caller.task not in (None, store.active()):
        return None
    with open_session(caller, write=False) as session:
        if not session.chain.validated or session.repository.find_commit("HEAD") == session.chain.parent:
            return None
    try:
        with open_session(caller, write=True) as session:
            sealed = seal_if_committed(session)
    except ReadOnly:
        return None  # the next verb that can write will do it
    if sealed is None:
        return None
    return Verdict(
        subject="commit",
        outcome=Outcome.YES,
        summary=f"{session.task} is over: commit {sealed[:12]} is what was validated, and its proof is in {NOTES_REF}",
        hints=(f"git notes --ref=taskctx show {sealed[:12]}",),
    )
