"""Choose the context where a task has several."""

from __future__ import annotations

from collections.abc import Mapping

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import find_contexts
from git_taskctx.errors import BadData, Fatal, TaskctxError
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.entries import find_last, is_named, read_entries
from git_taskctx.model.context import Context
from git_taskctx.situation import Situation


def choose_context(caller: Caller, task: str) -> str:
    """Choose a context of `task`: the named, the active, else the newest. Raises: Fatal, BadData, CouldNotTell."""
    known = find_contexts(caller.repository)
    if caller.context_id is not None:
        if caller.context_id not in known:
            last = find_last(caller.repository, caller.context_id)
            if last is not None:
                raise only_ledger(last.task)
            raise Fatal(f"there is no context {caller.context_id}", Situation("clone.known"))
        return caller.context_id
    marker = caller.store.marker()
    active = known.get(marker) if marker is not None and caller.store.active() == task else None
    if isinstance(active, TaskctxError):
        raise active
    contexts = {one: context for one, context in known.items() if isinstance(context, Context)}
    mine = _begun_of(caller, task, contexts)
    if marker in mine and marker is not None:
        return marker
    if not mine:
        if is_named(caller.repository, task):
            raise only_ledger(task)
        raise Fatal(f"no context of {task} is known here", Situation("clone.not_known", repository=caller.repository))
    return mine[-1]


def _begun_of(caller: Caller, task: str, contexts: Mapping[str, Context]) -> list[str]:
    """Return a task's contexts with any record, newest last."""
    mine = [one for one, context in contexts.items() if context.task_id == task]
    mine = [one for one in mine if one == caller.store.marker() or was_begun(caller.repository, contexts[one])]
    return sorted(mine, key=lambda one: (contexts[one].audit.last_updated_at, contexts[one].created_at, one))


def other_contexts(caller: Caller, task: str, chosen: str) -> list[str]:
    """Report other contexts of a task if the newest was chosen by default."""
    if caller.context_id is not None:
        return []
    known = find_contexts(caller.repository).items()
    others = _begun_of(caller, task, {one: found for one, found in known if isinstance(found, Context)})
    return [f"{task} has another context: {one}, which --context names" for one in others if one != chosen]


def was_begun(repository: Repository, context: Context) -> bool:
    """Return whether a context has any record: an `init` may be killed before that."""
    try:
        return context.audit.update_count > 1 or bool(read_entries(repository, context.context_id))
    except BadData:  # there is something: opening this context reports the error
        return True


def only_ledger(task: str) -> Fatal:
    """Return the error that a context cannot come back: it was swept, or only its notes were fetched."""
    return Fatal(
        f"only the ledger of {task} is here: the context itself was swept, or never fetched",
        Situation("clone.only_ledger", task=task),
    )
