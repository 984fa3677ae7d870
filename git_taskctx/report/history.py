"""The ledger as a history that a person reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from git_taskctx.model import payloads
from git_taskctx.report.document import Document, Span

if TYPE_CHECKING:
    from git_taskctx.model.record import Record


INDENT = " " * 33
"""Columns of a record's time and type."""


def history(document: Document, records: Sequence[Record]) -> None:
    """Write the ledger as a history, newest first."""
    several = in_several_clones(records)
    for record in reversed(records):
        document.sentence(*line_of(record, several=several), indent=(INDENT,))
        for line in notes_of(record):
            document.sentence(f"{INDENT}{line}", indent=(INDENT,))


def in_several_clones(records: Sequence[Record]) -> bool:
    """Return whether records were written in more than one clone, so that each must say in which."""
    return len({record.origin.clone for record in records}) > 1


def line_of(record: Record, *, several: bool) -> list[Span]:
    """Show a record in one line; `several` names the clone."""
    who = f"{record.agent} " if record.agent else ""
    return [
        (record.time, "dim"),
        "  ",
        (f"{record.type:<9}", "bold"),
        f" {who}",
        (f"({record.actor}) ", "dim"),
        event_of(record),
        " (secrets forced)" if record.origin.force_secrets else "",
        (f" ({stage})" if (stage := stage_of(record)) else "", "dim"),
        (f" (clone {record.origin.clone})", "dim") if several else "",
        f" (a later version also says: {', '.join(record.unknown)})" if record.unknown else "",
    ]


def stage_of(record: Record) -> str:
    """Show which stage of a pipeline wrote a record, and what that cost; nothing for any other."""
    stage = record.origin.stage
    if stage is None:
        return ""
    cost = f", ${stage.usage.usd}" if stage.usage is not None and stage.usage.usd is not None else ""
    attempt = f", attempt {stage.attempt}" if stage.attempt > 1 else ""
    return f"run {stage.run}, {stage.stage}{attempt}{cost}"


def cost_of(records: Sequence[Record]) -> str | None:
    """Return what all attempts on record cost, in dollars, each counted once; None where none says."""
    stages = (record.origin.stage for record in records)
    used = {(one.run, one.stage, one.attempt): one.usage.usd for one in stages if one is not None and one.usage}
    given = [Decimal(usd) for usd in used.values() if usd is not None]
    return format(sum(given, Decimal(0)), "f") if given else None


def notes_of(record: Record) -> list[str]:
    """Return what whoever wrote a record had to say, line by line."""
    said = record.payload
    notes = (getattr(said, name, None) for name in ("note", "attest"))
    note = next(filter(None, notes), None)
    return note.split("\n") if note else []


def event_of(record: Record) -> str:
    """Show what happened, without who did it when."""
    show = _EVENTS.get(type(record.payload))
    return show(record, record.payload) if show is not None else ""


def _snapshot_event(record: Record, said: payloads.Snapshot) -> str:
    flags = [flag for flag in ("done", "wip", "accepted", "takeover", "allow_clean") if getattr(said, flag)]
    if said.reopened:
        flags.append("reopened: " + ", ".join(said.reopened[:5]))
    text = f" [{', '.join(flags)}]" if flags else ""
    return f"{said.n}: tree {_short(record.tree)} {said.diff_stat}{text}"


def _start_event(record: Record, said: payloads.Start) -> str:
    if said.resume:
        return "goes on"
    back = "back " if said.back else ""
    return f"{back}from {said.previous_owner}, round {said.round}, tree {_short(record.tree)}"


def _drift_event(_: Record, said: payloads.Drift) -> str:
    text = ", ".join(f"{cause.path or 'worktree'} {cause.kind}" for cause in said.causes[:3])
    more = said.count - 3
    return text + (f" and {more} more" if more > 0 else "")


def _qa_event(_: Record, said: payloads.Qa) -> str:
    run = said.run
    code = "" if run.exit_code is None else f", exit code {run.exit_code}"
    what = " ".join((run.command or "a log").split())
    kind = " (baseline)" if said.baseline else ""
    return f"{what}: {run.status}{code}, {run.log}{kind}"


def _attach_event(_: Record, said: payloads.Attach) -> str:
    taken = said.evidence
    lines = f":{taken.lines}" if taken.lines else ""
    return f"{taken.id}: {taken.path}{lines} ({taken.type})"


def _resolve_event(_: Record, said: payloads.Resolve) -> str:
    if said.holds:
        return f"the side with {_short(said.holds)} holds"
    return "accepted" if said.accepted else "as expected again"


def _bypass_event(record: Record, said: payloads.Bypass) -> str:
    about = f"commit {_short(record.commit)}" if record.commit else "a commit"
    how, reason = f" ({said.how})" if said.how else "", f": {said.reason}" if said.reason else ""
    return f"{about} bypassed the gate{how}{reason}"


_EVENTS: dict[type[payloads.Payload], Callable[[Record, Any], str]] = {
    payloads.Init: lambda record, _: f"began at {_short(record.base)}, tree {_short(record.tree)}",
    payloads.Start: _start_event,
    payloads.Takeover: _start_event,
    payloads.Snapshot: _snapshot_event,
    payloads.Drift: _drift_event,
    payloads.Resolve: _resolve_event,
    payloads.Restore: lambda _, said: f"snapshot {said.n} of {said.snapshot_of}",
    payloads.Block: lambda _, said: f"{said.finding}: {said.text}",
    payloads.Unblock: lambda _, said: f"{said.finding} closed",
    payloads.Update: lambda _, said: said.status or "details",
    payloads.Qa: _qa_event,
    payloads.Attach: _attach_event,
    payloads.Rebuild: lambda _, said: "task text: " + ", ".join(said.fields[:5]),
    payloads.Rebase: lambda record, said: f"HEAD moved: {_short(said.previous_parent)} to {_short(record.commit)}",
    payloads.Part: lambda record, _: f"commit {_short(record.commit)} is a part of it",
    payloads.Bypass: _bypass_event,
    payloads.Seal: lambda record, _: f"commit {_short(record.commit)} is what was validated",
    payloads.Adopt: lambda record, _: f"commit {_short(record.commit)} has the validated tree",
    payloads.Purge: lambda *_: "put away",
    payloads.Recover: lambda *_: "brought back",
    payloads.Misfit: lambda _, said: f"does not hold what it should: {said.why}",
}


def _short(oid: Any) -> str:
    return str(oid)[:12] if oid else "nothing"
