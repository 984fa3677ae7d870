"""Stale text: the task was captured once, and its file may have moved on since."""

from __future__ import annotations

from git_taskctx.errors import BadData
from git_taskctx.files import read_plain
from git_taskctx.git.quoting import unquote
from git_taskctx.git.repository import Repository
from git_taskctx.handoff.session import Session

LIMIT = 1024 * 1024
"""A task file is at most this long, in bytes."""


def stale_text(session: Session) -> str | None:
    """Say how the task file differs from the text that was captured; None while it does not.

    Keys that may change while the task runs (`task.volatile`) do not count.
    """
    state = session.context.git
    if state.task_file is None or state.task_file_sha is None:
        return None
    try:
        data = read_task_file_bytes(session.repository, state.task_file)
    except BadData as error:
        return error.message
    if data is None:
        return f"the task file {state.task_file} is gone"
    if session.repository.objects.hash("blob", data) == state.task_file_sha:
        return None
    from git_taskctx.capture.taskfile import without_volatile

    volatile = session.context.policy.task.volatile
    then = session.repository.objects.find(state.task_file_sha)
    try:
        if then is not None:
            told = (
                without_volatile(one, volatile, name=state.task_file, task=session.task) for one in (data, then.data)
            )
            if next(told) == next(told):
                return None
    except BadData:
        return f"the task file {state.task_file} no longer reads"
    return f"the task file {state.task_file} has changed since the context began"


def read_task_file_bytes(repository: Repository, path: str) -> bytes | None:
    """Read a task file, named from the top of the worktree; None where there is none. Raises: BadData."""
    import os

    full = repository.toplevel / os.fsdecode(unquote(path))
    if full.is_symlink():
        full = full.resolve()
        if not full.is_relative_to(repository.toplevel.resolve()):
            raise BadData(f"{path} is a link out of the worktree")
    return read_plain(full, limit=LIMIT)
