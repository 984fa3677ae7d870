"""The end of a task: its commit is the one that was validated, and the whole chain goes with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from git_taskctx.errors import CouldNotTell, Fatal
from git_taskctx.files import ReadOnly
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.handoff import ledger
from git_taskctx.handoff.opening import open_session
from git_taskctx.handoff.session import Caller, Event, Session
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import Outcome, Verdict


def is_committed(session: Session) -> bool:
    """Tell whether HEAD is a commit of the validated tree on the parent that the task began on.

    Not while drift is unresolved: the chain would be sealed with a budget that no proof lets pass.
    """
    chain, repository = session.chain, session.repository
    expected = chain.expected
    if session.archived or session.edited or session.over_budget or not chain.validated or expected is None:
        return False
    head = repository.find_commit("HEAD")
    if head is None or head == chain.parent or repository.tree_of(head) != expected.commit_tree:
        return False
    parents = repository.parents_of(head)
    return (parents[0] if parents else None) == chain.parent


@contextlib.contextmanager
def open_task(caller: Caller, *, write: bool) -> Iterator[Session]:
    """Open a context as `open_session` does; one whose validated tree has been committed ends first.

    Raises: Fatal to whoever wants to write to a task that is over.
    """
    with open_session(caller, write=write) as session:
        if not is_committed(session):
            yield session
            return
        if write:
            commit = end(session)
            raise Fatal(
                f"{session.task} is over: commit {commit[:12]} is what was validated",
                hint=f"git taskctx log --task {session.task}",
            )
    sealed = seal(caller)
    with open_session(replace(caller, task=session.task), write=False) as session:
        session.warnings.extend([sealed.summary] if sealed else [])
        yield session


def seal(caller: Caller) -> Verdict | None:
    """End the active task, whose validated tree has been committed: the chain goes on the commit and on its tree.

    Returns: what to say of it; None when there is nothing to end, or nothing can be written here.
    """
    try:
        with open_session(caller, write=True) as session:
            if not is_committed(session):
                return None
            commit = end(session)
    except ReadOnly:
        return None  # the next verb that can write will do it
    return Verdict(
        subject="commit",
        outcome=Outcome.YES,
        summary=f"{session.task} is over: commit {commit[:12]} is what was validated, and its proof is in {NOTES_REF}",
        tree=session.repository.tree_of(commit),
        hints=(f"git taskctx log --task {session.task}",),
    )


def end(session: Session) -> CommitOid:
    """Write the whole chain on HEAD and on its tree, and archive the context. Call it where `is_committed`."""
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
        session.refs,
        {head: whole, expected.commit_tree: whole},
        [],
        context_id=session.context.context_id,
        tip=session.entries[-1].sha,
        reason=f"{session.task}: the chain on {head[:12]}",
    )
    put_away(session, reason="over")
    return head


def put_away(session: Session, *, reason: str) -> None:
    """Archive the active context; its refs stay, and `recover` brings it back. What was interrupted is finished."""
    if session.entries[-1].record.type != "purge":
        session.commit([Event("purge", session.chain.owner)], reason=f"{session.task}: {reason}")
    session.caller.store.archive(session.task, session.context.context_id)
    session.caller.store.deactivate()
