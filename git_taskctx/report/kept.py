"""What is kept of contexts, for how long, and what a sweep takes away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from git_taskctx.report.document import Document

if TYPE_CHECKING:
    from git_taskctx.handoff.lifecycle import KnownContext
    from git_taskctx.handoff.sweep import Sweeping

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def listed(document: Document, contexts: Sequence[KnownContext]) -> None:
    """Write the contexts that are known here."""
    if not contexts:
        document.line("no contexts here")
        return
    document.table(
        ("", "task", "state", "owner", "age", "refs", "context", "title"),
        [
            (
                ("*", "ok") if one.state == "active" else " ",
                (one.task, "bold"),
                _state(one),
                one.owner,
                age_words(one.age),
                str(one.refs),
                (one.context_id, "dim"),
                one.title,
            )
            for one in contexts
        ],
        cut=True,
    )


def swept(document: Document, what: Sweeping, *, dry_run: bool) -> None:
    """Write what a sweep removed, or would remove."""
    for one in what.swept:
        age = f", last record {one.updated}, {age_words(one.age)} ago" if one.updated else ""
        refs = f", {one.refs} ref{'s' * (one.refs != 1)}"
        verb = "would sweep " if dry_run else "swept "
        document.line((verb, "ok"), f"{one.task} (context {one.context_id}{age}{refs})")


def age_words(seconds: int | None) -> str:
    """Return an age in its largest unit; `?` if unknown."""
    if seconds is None:
        return "?"
    for length, unit in _UNITS:
        count = max(seconds, 0) // length
        if count:
            return f"{count} {unit}{'s' * (count != 1)}"
    return "seconds"


def _state(one: KnownContext) -> str:
    if one.sealed is not None:
        return f"over ({one.sealed[:7]})"
    if one.state == "archived":
        return "put away"
    waits = f", run {one.run} waits" if one.run is not None else ""
    return one.state + (f" ({one.place})" if one.place else "") + waits
