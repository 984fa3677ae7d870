"""The records of a task: of the context that is here, or where there is none, as the ledger alone has them."""

from __future__ import annotations

from collections.abc import Iterator

from git_taskctx.context.caller import Caller
from git_taskctx.errors import BadData, Fatal, Usage
from git_taskctx.ledger.entries import find_context_ids, read_ledger
from git_taskctx.ledger.entry import Entry
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class History:
    """What happened in one context."""

    entries: list[Entry]
    """Its records, oldest first."""
    aside: tuple[Entry, ...] = ()
    """Those of the side of a fork that does not hold."""
    warnings: tuple[str, ...] = ()
    """What to say beside them."""


def history_of(caller: Caller) -> History:
    """Return the records of the task that is meant, also if only its notes were fetched or it was swept.

    Raises: Fatal where neither a context nor the ledger knows the task; BadData where a chain is broken.
    """
    if caller.repository.has_worktree:
        from git_taskctx.commits.seal import open_task

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
        raise Usage("there is no worktree here, and no task is named", Situation("clone.log_of", task="TASK-1"))
    else:
        missing = Fatal(
            f"no record of {caller.task} is here", Situation("clone.no_record", repository=caller.repository)
        )
    found = next(_in_notes(caller, caller.task or ""), None)
    if found is None:
        raise missing
    return found


def _in_notes(caller: Caller, task: str) -> Iterator[History]:
    """Yield what each ledger in this clone has on record of a task, ours first."""
    from git_taskctx.ledger.whereabouts import all_notes

    for notes in all_notes(caller.repository):
        known = [caller.context_id] if caller.context_id else find_context_ids(caller.repository, task, notes)
        read = read_ledger(caller.repository, known[-1], notes) if known else None
        if read is not None and read.entries and read.entries[0].record.task == task:
            warnings = tuple(f"{task} has another context: {one}, which --context names" for one in known[:-1])
            yield History(read.entries, tuple(read.aside), warnings)
