"""The end of a task: its commit is the one that was validated, and the whole chain goes with it."""

from __future__ import annotations

from git_taskctx.errors import CouldNotTell
from git_taskctx.files import ReadOnly
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.handoff import ledger
from git_taskctx.handoff.session import Caller, Event, Session, open_session
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.verdict import Outcome, Verdict


def is_committed(session: Session) -> bool:
    """Tell whether HEAD is a commit of the validated tree on the parent that the task began on."""
    chain, repository = session.chain, session.repository
    expected = chain.expected
    if session.archived or session.edited or not chain.validated or expected is None:
        return False
    head = repository.find_commit("HEAD")
    if head is None or head == chain.parent or repository.tree_of(head) != expected.commit_tree:
        return False
    parents = repository.parents_of(head)
    return (parents[0] if parents else None) == chain.parent


def seal(caller: Caller) -> Verdict | None:
    """End the active task, whose validated tree has been committed: the chain goes on the commit and on its tree.

    Returns: what to say of it; None when there is nothing to end, or nothing can be written here.
    """
    try:
        with open_session(caller, write=True) as session:
            if not is_committed(session):
                return None
            commit = _seal(session)
    except ReadOnly:
        return None  # the next verb that can write will do it
    return Verdict(
        subject="commit",
        outcome=Outcome.YES,
        summary=f"{session.task} is over: commit {commit[:12]} is what was validated, and its proof is in {NOTES_REF}",
        tree=session.repository.tree_of(commit),
        hints=(f"git taskctx log --task {session.task}",),
    )


def _seal(session: Session) -> CommitOid:
    chain, repository = session.chain, session.repository
    expected, head = chain.expected, repository.find_commit("HEAD")
    if expected is None or head is None:
        raise CouldNotTell("HEAD moved meanwhile")
    if chain.sealed != head:
        event = Event(
            "seal", chain.owner, tree=expected.tree, commit_tree=expected.commit_tree, commit=head, base=chain.base
        )
        session.commit([event], reason=f"{session.task}: sealed with {head[:12]}")
    whole = [entry.line for entry in session.entries]
    ledger.append(
        repository,
        {head: whole, expected.commit_tree: whole},
        [],
        anchor=ledger.anchor_of(repository, session.context.context_id),
        tip=session.entries[-1].sha,
        reason=f"{session.task}: the chain on {head[:12]}",
    )
    put_away(session, reason="over")
    return head


def put_away(session: Session, *, reason: str) -> None:
    """Archive the active context; its refs stay, and `recover` brings it back."""
    session.commit([Event("purge", session.chain.owner)], reason=f"{session.task}: {reason}")
    session.caller.store.archive(session.task, session.context.context_id)
    session.caller.store.deactivate()
