"""The immutable block captured anew: the only way in which it ever changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from git_taskctx.errors import Refused
from git_taskctx.git.worktree import read_worktree
from git_taskctx.handoff.begin import capture_file, size_warning
from git_taskctx.handoff.kept import TASK_FILE
from git_taskctx.handoff.session import Event, Session, check_secrets, with_baseline
from git_taskctx.handoff.staleness import read_task_file_bytes
from git_taskctx.model.codec import to_plain
from git_taskctx.model.oids import BlobOid
from git_taskctx.model.values import dataclass, replace

UNCOUNTED = ("sources", "repo_paths")
"""Parts of the block that follow from the file's lines and from the tree: no change of the task's text."""


@dataclass(frozen=True)
class FieldChange:
    """One field of the block that is no longer what it was."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Rebuilt:
    """What `rebuild` did."""

    changes: tuple[FieldChange, ...]
    """None where the text is the same, and nothing was written."""
    voided: tuple[str, ...]
    """Agents that had approved under the old text."""
    warnings: tuple[str, ...] = ()


def rebuild(session: Session, *, any_status: bool = False) -> Rebuilt:
    """Capture the task anew from its file; coordination stays, approvals given against the old text are void.

    Raises: Refused where there is no task file, or by its gates; BadData for what does not read.
    """
    session.require_open(may_be_blocked=True)
    context = session.context
    path = context.git.task_file
    data = read_task_file_bytes(session.repository, path) if path is not None else None
    if path is None or data is None:
        what = f"the task file {path} is gone" if path else f"{session.task} was not captured from a file"
        raise Refused(what, hint=f"git taskctx get --task {session.task}")
    with read_worktree(session.repository, keep=False) as reading:
        captured = capture_file(path, data, context.policy, reading, task=session.task, any_status=any_status)
    captured = replace(captured, immutable=with_baseline(captured.immutable, session.chain.baseline))
    changes = tuple(_differences(to_plain(context.immutable), to_plain(captured.immutable)))
    if not changes:
        return Rebuilt((), (), captured.warnings)
    check_secrets(session.caller, to_plain(captured.immutable), name=path)
    warnings = captured.warnings + size_warning(context.replace(immutable=captured.immutable))
    sha = BlobOid(session.repository.objects.hash("blob", data))
    approved = tuple(agent for agent, seat in session.chain.seats.items() if seat.done_tree and not seat.stale)
    fields = [change.field for change in changes]
    session.commit(
        [Event("rebuild", session.chain.owner, extra={"fields": fields, "task_file_sha": sha})],
        changes={"immutable": captured.immutable, "git": replace(context.git, task_file_sha=sha)},
        kept={TASK_FILE: data},
        reason=f"{session.task}: rebuilt",
    )
    return Rebuilt(changes, approved, warnings)


def _differences(old: Any, new: Any, name: str = "") -> Iterator[FieldChange]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield FieldChange(name, old, new)
        return
    for key in sorted(old.keys() | new.keys()):
        if key not in UNCOUNTED or name:
            yield from _differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
