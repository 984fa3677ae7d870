"""Branch switches: a context stays with its branch, and waits there to be brought back."""

from __future__ import annotations

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.commits.commits import keep_up
from git_taskctx.commits.seal import end, is_committed, put_away
from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Event, Session
from git_taskctx.git.repository import Head
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.payloads import Rebase
from git_taskctx.model.verdict import Remark
from git_taskctx.situation import Situation


def follow_switch(caller: Caller, old: CommitOid | None) -> list[Remark]:
    """Archive the active context if HEAD went from `old` to another commit; return messages.

    Nothing happens inside a rebase or a bisect. At the same commit the context comes along.
    """
    repository, store = caller.repository, caller.store
    if repository.operation() in ("rebase", "am", "bisect"):
        return []
    if (repository.last_move() or "").startswith("rebase"):  # its folder is made after the first checkout
        return []
    head, notices = repository.head(), []
    if store.active() is not None or store.marker() is not None:
        with open_session(caller, write=True) as session:
            if not session.archived:
                notices = _follow(session, old, head)
    if store.is_idle:
        waiting = store.find_left(_place(head.branch, head.commit))
        if waiting is not None:
            then = Situation("clone.recover", task=waiting)
            notices.append(Remark(f"{waiting} was put away when this branch was left", then))
    return notices


def _follow(session: Session, old: CommitOid | None, head: Head) -> list[Remark]:
    if not session.edited:
        log = Situation("clone.log_of", task=session.task)
        notices = [Remark(text, log) for text in keep_up(session, gated=True)]
        if old is not None and is_committed(session, old):
            commit = end(session, old)
            then = Situation("chain.over", session=session, found=find_bypassed(session, commit))
            return [*notices, Remark(f"{session.task} is over: commit {commit[:12]} is what was validated", then)]
        if old == head.commit:
            return notices + _come_along(session, head)
    place = _place(session.chain.branch, old)
    session.caller.store.remember_left(place, session.task, session.context.context_id)
    where = session.chain.branch or (old or "")[:12]
    put_away(session, reason=f"left {where}")
    then = Situation("clone.recover", task=session.task, why="there")
    return [Remark(f"{session.task} is put away: it belongs to {where}", then)]


def _come_along(session: Session, head: Head) -> list[Remark]:
    chain = session.chain
    if head.branch == chain.branch:
        return []
    payload = Rebase(parent=chain.parent, branch=head.branch, previous_branch=chain.branch)
    event = Event(payload, chain.owner, tree=chain.settled_tree, commit=chain.head, base=chain.base)
    session.commit([event], reason=f"{session.task}: on {head.branch or 'a detached HEAD'} at the same commit")
    return []


def _place(branch: str | None, commit: CommitOid | None) -> str:
    """Name where a context waits: its branch, or the commit of a detached HEAD."""
    return f"branch {branch}" if branch else f"commit {commit}"
