"""The end of a task: its commit is the validated one, and gets the whole chain."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Event, Session
from git_taskctx.errors import CouldNotTell, Fatal, TaskctxError
from git_taskctx.files import ReadOnly
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.payloads import Purge, Seal
from git_taskctx.model.values import dataclass, replace
from git_taskctx.model.verdict import News, Outcome, Verdict
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class CaughtUp:
    """What was recorded about the commits since the last record."""

    sealed: Verdict | None = None
    """The verdict on the task's end; None where it goes on."""
    notices: tuple[str, ...] = ()
    """What to say of the others."""

    @property
    def ended(self) -> tuple[str, ...]:
        """The task's end in a sentence, if it is over."""
        if self.sealed is None:
            return ()
        return ((News if self.sealed.outcome is Outcome.YES else str)(self.sealed.summary),)


def is_committed(session: Session, head: CommitOid | None = None) -> bool:
    """Return whether `head`, or HEAD, has the validated tree on the right parent, volatile keys aside.

    Not while drift is unresolved: no proof would accept the sealed chain.
    """
    chain, repository = session.chain, session.repository
    expected = chain.expected
    if session.archived or session.edited or session.over_budget or not chain.validated or expected is None:
        return False
    head = head or repository.find_commit("HEAD")
    if head is None or head == chain.parent:
        return False
    from git_taskctx.context.volatile import is_same_commit

    return repository.parent_of(head) == chain.parent and is_same_commit(
        session.context, repository, repository.tree_of(head), expected.commit_tree
    )


@contextlib.contextmanager
def open_task(caller: Caller, *, write: bool) -> Iterator[Session]:
    """Open a context as `open_session` does, after recording new commits. Raises: Fatal to write to a finished task."""
    if not write:
        with open_current(caller) as (session, caught):
            session.warnings.extend(caught.ended)
            yield session
        return
    with open_session(caller, write=True) as session:
        if _has_moved(session):
            from git_taskctx.commits.commits import keep_up

            session.warnings.extend(keep_up(session))
        if is_committed(session):
            from git_taskctx.commits.bypassed import find_bypassed

            commit = end(session)
            over = _over(session, commit)
            if over.outcome is Outcome.YES:
                raise session.ended(commit)
            found = find_bypassed(session, commit)
            raise Fatal(over.summary, Situation("chain.over_and_after", session=session, found=found))
        yield session


@contextlib.contextmanager
def open_current(caller: Caller, *, gated: bool | None = None) -> Iterator[tuple[Session, CaughtUp]]:
    """Open a context for reading, after recording new commits; a finished task is archived.

    `gated` as in `unrecorded`.
    """
    with open_session(caller, write=False) as session:
        if not (_is_behind(session, gated=gated) or is_committed(session)):
            yield session, CaughtUp()
            return
    caught = catch_up(caller, gated=gated)
    with open_session(replace(caller, task=session.task), write=False) as session:
        session.warnings.extend(caught.notices)
        yield session, caught


def _has_moved(session: Session) -> bool:
    """Return whether HEAD is another commit than the chain expects; else there is nothing to be put on record."""
    return session.repository.find_commit("HEAD") not in (None, session.chain.head)


def _is_behind(session: Session, *, gated: bool | None) -> bool:
    if not _has_moved(session):
        return False
    from git_taskctx.commits.commits import unrecorded

    return bool(unrecorded(session, gated=gated))


def seal_head(caller: Caller) -> tuple[str, ...]:
    """Seal the active task if HEAD is its commit, for a verb about commits; return messages.

    A task that cannot be read is reported, and does not prevent proofs.
    """
    if not caller.repository.has_worktree or caller.store.is_idle:
        return ()
    try:
        with open_current(replace(caller, task=None, context_id=None)) as (_, caught):
            return (*caught.notices, *caught.ended)
    except TaskctxError as error:
        return (f"the task that is active here was not looked at: {error.message}",)


def catch_up(caller: Caller, *, gated: bool | None = None) -> CaughtUp:
    """Record new commits, and end the task if one has the validated tree.

    Without write access nothing happens: the next verb that can write does it. `gated` as in `unrecorded`.
    """
    from git_taskctx.commits.commits import keep_up

    try:
        with open_session(caller, write=True) as session:
            notices = keep_up(session, gated=gated)
            if not is_committed(session):
                return CaughtUp(notices=notices)
            known = len(session.warnings)
            commit = end(session)
    except ReadOnly:
        return CaughtUp()
    return CaughtUp(_over(session, commit), (*notices, *session.warnings[known:]))


def _over(session: Session, commit: CommitOid) -> Verdict:
    """Report a finished task, and what is known about its proof."""
    from git_taskctx.commits.bypassed import find_bypassed

    around = find_bypassed(session, commit)
    then = Situation("chain.over", session=session, found=around)
    is_it = f"{session.task} is over: commit {commit[:12]} is what was validated"
    tree = session.repository.tree_of(commit)
    if around is None:
        summary = f"{is_it}, and its proof is in {NOTES_REF}"
        return Verdict(subject="commit", outcome=Outcome.YES, summary=summary, tree=tree, situation=then)
    summary = f"{is_it}, but {around.reason}"
    return Verdict(subject="commit", outcome=Outcome.NO, summary=summary, tree=tree, situation=then)


def end(session: Session, head: CommitOid | None = None) -> CommitOid:
    """Seal the task and archive its context; return the commit. Requires `is_committed`.

    If it cannot be archived the session warns, and the next verb tries again.
    """
    commit = seal(session, head)
    try:
        put_away(session, reason="over")
    except TaskctxError as error:
        session.warnings.append(not_put_away(session.task, error))
    return commit


def not_put_away(task: str, error: TaskctxError) -> str:
    """Return the warning that a finished task cannot be archived."""
    return f"{task} is over, but was not put away: {error.message}"


def seal(session: Session, head: CommitOid | None = None) -> CommitOid:
    """Write the whole chain on `head`, or HEAD, and on its tree; return the commit. Requires `is_committed`."""
    chain, repository = session.chain, session.repository
    expected, head = chain.expected, head or repository.find_commit("HEAD")
    if expected is None or head is None:
        raise CouldNotTell("HEAD moved meanwhile")
    if chain.sealed != head:
        from git_taskctx.context.volatile import put_back
        from git_taskctx.ledger.patches import facts_of

        held = repository.tree_of(head)
        found = facts_of(repository, chain.parent, expected.commit_tree)
        payload = Seal(
            task_file=put_back(session.context, repository, held, expected.commit_tree),
            parent_tree=found.parent_tree,
            patch=found.patch,
        )
        event = Event(
            payload, chain.owner, tree=expected.tree, commit_tree=expected.commit_tree, commit=head, base=chain.base
        )
        on = (head, held, *found.places)
        session.commit([event], on=on, reason=f"{session.task}: sealed with {head[:12]}")
    return head


def put_away(session: Session, *, reason: str) -> None:
    """Archive the active context, completing an interrupted attempt; its refs stay for `recover`."""
    if not session.put_away:
        session.commit([Event(Purge(), session.chain.owner)], reason=f"{session.task}: {reason}")
    session.caller.store.archive(session.task, session.context.context_id)
    session.caller.store.deactivate()
