"""The ledger as a history that a person reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from git_taskctx.report.document import Document, Span

if TYPE_CHECKING:
    from git_taskctx.model.record import Record


def history(document: Document, records: Sequence[Record]) -> None:
    """Write the ledger as a history, newest first."""
    several = in_several_clones(records)
    for record in reversed(records):
        document.line(*line_of(record, several=several))
        document.lines(f"                                 {line}" for line in notes_of(record))


def in_several_clones(records: Sequence[Record]) -> bool:
    """Tell whether records were written in more than one clone, so that each must say in which."""
    return len({record.extra.get("clone") for record in records}) > 1


def line_of(record: Record, *, several: bool) -> list[Span]:
    """Say a record in one line; `several` names the clone."""
    who = f"{record.agent} " if record.agent else ""
    return [
        (record.time, "dim"),
        "  ",
        (f"{record.type:<9}", "bold"),
        f" {who}",
        (f"({record.actor}) ", "dim"),
        event_of(record),
        " (secrets forced)" if record.extra.get("force_secrets") else "",
        (f" (clone {record.extra.get('clone')})", "dim") if several else "",
    ]


def notes_of(record: Record) -> list[str]:
    """Return what whoever wrote a record had to say, line by line."""
    note = record.extra.get("note") or record.extra.get("attest")
    return str(note).split("\n") if note else []


def event_of(record: Record) -> str:
    """Say what happened, without who did it when."""
    tell = _EVENTS.get(record.type)
    try:
        return tell(record) if tell is not None else ""
    except (AttributeError, KeyError, TypeError):  # what only others than us write
        return "does not hold what it should"


def _snapshot_event(record: Record) -> str:
    extra = record.extra
    flags = [flag for flag in ("done", "wip", "accepted", "takeover", "allow_clean") if extra.get(flag)]
    if extra.get("reopened"):
        flags.append("reopened: " + ", ".join(extra["reopened"][:5]))
    told = f" [{', '.join(flags)}]" if flags else ""
    return f"{extra.get('n')}: tree {_short(record.tree)} {extra.get('stat', '')}{told}"


def _start_event(record: Record) -> str:
    if record.extra.get("resume"):
        return "goes on"
    back = "back " if record.extra.get("back") else ""
    return f"{back}from {record.extra.get('previous')}, round {record.extra.get('round')}, tree {_short(record.tree)}"


def _drift_event(record: Record) -> str:
    causes = record.extra.get("causes", [])
    told = ", ".join(f"{cause['path'] or 'worktree'} {cause['kind']}" for cause in causes[:3])
    more = record.extra.get("count", 0) - 3
    return told + (f" and {more} more" if more > 0 else "")


def _qa_event(record: Record) -> str:
    run = record.extra.get("run", {})
    code = "" if run.get("exit_code") is None else f", exit code {run['exit_code']}"
    what = " ".join(str(run.get("command") or "a log").split())
    kind = " (baseline)" if record.extra.get("baseline") else ""
    return f"{what}: {run.get('status')}{code}, {run.get('log')}{kind}"


def _attach_event(record: Record) -> str:
    taken = record.extra.get("evidence", {})
    lines = f":{taken['lines']}" if taken.get("lines") else ""
    return f"{taken.get('id')}: {taken.get('path')}{lines} ({taken.get('type')})"


def _resolve_event(record: Record) -> str:
    if record.extra.get("holds"):
        return f"the side with {_short(record.extra['holds'])} holds"
    return "accepted" if record.extra.get("accepted") else "as expected again"


def _bypass_event(record: Record) -> str:
    how, reason = record.extra.get("how"), record.extra.get("reason")
    about = f"commit {_short(record.commit)}" if record.commit else "a commit"
    return f"{about} went around the gate{f' ({how})' if how else ''}{f': {reason}' if reason else ''}"


_EVENTS: dict[str, Callable[[Record], str]] = {
    "init": lambda record: f"began at {_short(record.base)}, tree {_short(record.tree)}",
    "start": _start_event,
    "takeover": _start_event,
    "snapshot": _snapshot_event,
    "drift": _drift_event,
    "resolve": _resolve_event,
    "restore": lambda record: f"snapshot {record.extra.get('n')} of {record.extra.get('from')}",
    "block": lambda record: f"{record.extra.get('finding')}: {record.extra.get('text')}",
    "unblock": lambda record: f"{record.extra.get('finding')} closed",
    "update": lambda record: str(record.extra.get("status") or "details"),
    "qa": _qa_event,
    "attach": _attach_event,
    "rebuild": lambda record: "task text: " + ", ".join(record.extra.get("fields", [])[:5]),
    "rebase": lambda record: f"HEAD moved: {_short(record.extra.get('from'))} to {_short(record.commit)}",
    "part": lambda record: f"commit {_short(record.commit)} is a part of it",
    "bypass": _bypass_event,
    "seal": lambda record: f"commit {_short(record.commit)} is what was validated",
    "adopt": lambda record: f"commit {_short(record.commit)} has the validated tree",
    "purge": lambda record: "put away",
    "recover": lambda record: "brought back",
}


def _short(oid: Any) -> str:
    return str(oid)[:12] if oid else "nothing"
