"""The records of a task: of the context that is here, or where there is none, as the ledger alone has them."""

from __future__ import annotations

from git_taskctx.errors import BadData, Fatal, Usage
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import find_ref
from git_taskctx.handoff import ledger
from git_taskctx.handoff.session import Caller
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class History:
    """What happened in one context."""

    entries: list[ledger.Entry]
    """Its records, oldest first."""
    aside: tuple[ledger.Entry, ...] = ()
    """Those of the side of a fork that does not hold."""
    warnings: tuple[str, ...] = ()
    """What to say beside them."""


def history_of(caller: Caller) -> History:
    """Return what is on record of the task that is meant.

    A task of which only the notes were fetched, or whose context was swept, has them too; that takes no worktree.

    Raises: Fatal where neither a context nor the ledger knows the task; BadData where a chain is broken.
    """
    if caller.repository.has_worktree:
        from git_taskctx.handoff.seal import open_task

        try:
            with open_task(caller, write=False) as session:
                return History(session.entries, session.aside, tuple(session.warnings))
        except BadData:
            raise
        except Fatal as error:
            if caller.task is None or caller.task == caller.store.active():
                raise
            missing = error
    elif caller.task is None:
        raise Usage("there is no worktree here, and no task is named", hint="git taskctx log --task TASK-1")
    else:
        missing = Fatal(f"no record of {caller.task} is here", hint="git taskctx fetch   # brings what others recorded")
    known = [caller.context_id] if caller.context_id else ledger.find_contexts(caller.repository, caller.task or "")
    read = (
        ledger.read_ledger(caller.repository, known[-1], find_ref(caller.repository.git, NOTES_REF)) if known else None
    )
    if read is None or not read.entries or read.entries[0].record.task != caller.task:
        raise missing
    others = tuple(
        f"{caller.task} has another context: git taskctx log --task {caller.task} --context {one}" for one in known[:-1]
    )
    return History(read.entries, tuple(read.aside), others)
