"""What a person reads of a fetch or a push of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from git_taskctx.report.document import Document

if TYPE_CHECKING:
    from git_taskctx.sharing.share import Merged, Pushed


def fetched(document: Document, what: Merged, *, dry_run: bool) -> None:
    """Write what came, or would come."""
    verb = "would fetch " if dry_run else "fetched "
    if not what.there:
        document.line(f"{what.remote} has no ledger")
    elif what.records:
        document.sentence((verb, "ok"), f"{_records(what.records)} of {_tasks(what.tasks)} from {what.remote}")
    else:
        document.line(f"nothing new in the ledger of {what.remote}")
    for task in what.contexts:
        document.line((verb, "ok"), f"the snapshots of {task}")


def pushed(document: Document, what: Pushed, *, dry_run: bool) -> None:
    """Write what left, or would leave, and where it goes."""
    if what.fetched:
        document.line(("fetched ", "ok"), f"{_records(what.fetched)} that {what.remote} had")
    if not (what.records or what.refs or what.notes):
        document.line(f"{what.remote} has everything already")
        return
    verb = "would push " if dry_run else "pushed "
    about = f" of {_tasks(what.tasks)}" if what.tasks else ""
    document.sentence((verb, "ok"), f"{_records(what.records)}{about} to {what.url}")
    if what.refs:
        document.sentence((verb, "ok"), f"{_count(len(what.refs), 'ref')} of contexts and snapshots to {what.url}")


def _records(count: int) -> str:
    return _count(count, "record")


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _tasks(tasks: Sequence[str]) -> str:
    shown = ", ".join(tasks[:5])
    return f"{shown} and {len(tasks) - 5} more" if len(tasks) > 5 else shown or "no task"
