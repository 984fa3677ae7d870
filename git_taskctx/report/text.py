"""What a person reads: every sentence that a verb says about contexts, chains and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from git_taskctx.model.verdict import Cause, Outcome, Verdict
from git_taskctx.report.document import Document, Span

if TYPE_CHECKING:
    from git_taskctx.handoff.begin import Begun
    from git_taskctx.handoff.lifecycle import Listed
    from git_taskctx.handoff.overview import Overview
    from git_taskctx.handoff.rebuild import Rebuilt
    from git_taskctx.handoff.record import Recorded
    from git_taskctx.handoff.resolve import Resolved
    from git_taskctx.handoff.restore import Restored
    from git_taskctx.handoff.start import Started
    from git_taskctx.model.context import Context, Coordination
    from git_taskctx.model.record import Record

SHOWN = 50
"""How many paths a list shows before it only counts."""

_STATUS_STYLE = {"done": "ok", "blocked": "bad", "in_progress": "bold", "pending": "dim"}


def warnings(document: Document, texts: Sequence[str]) -> None:
    """Write warnings as git does."""
    for text in texts:
        document.line(("warning: ", "warn"), text)


def hints(document: Document, commands: Sequence[str]) -> None:
    """Write the commands to type next."""
    for command in commands:
        document.line(("hint: ", "warn"), (command, "command"))


def begun(document: Document, what: Begun) -> None:
    """Say what `init` captured, from where."""
    context = what.context
    where = f" on {context.git.branch}" if context.git.branch else ""
    base = context.git.head[:12] if context.git.head else "an unborn branch"
    document.line(("began ", "ok"), (context.task_id, "bold"), f"{where} at {base} (context {context.context_id})")
    document.line()
    document.table(("field", "captured", "source"), _captured(context))
    document.line()
    chain = " -> ".join(context.agents)
    document.line(f"agents: {chain}; ", (context.agents[0], "bold"), " is at work")


def begun_notes(document: Document, what: Begun) -> None:
    """Say what was odd about the start, and what comes next."""
    if what.dirty:
        count = len(what.dirty)
        shown = ", ".join(what.dirty[:5]) + (", …" if count > 5 else "")
        document.line(
            ("warning: ", "warn"),
            f"{count} path{'s were' if count > 1 else ' was'} dirty before the task and "
            f"{'are' if count > 1 else 'is'} nobody's work: {shown}",
        )
    warnings(document, what.warnings)
    hints(document, (f"git taskctx snapshot --agent {what.context.agents[0]}   (when its work is done)",))


def context(document: Document, what: Context) -> None:
    """Write the whole context for a person."""
    task = what.immutable.task_snapshot
    document.line((what.task_id, "bold"), f"  {task.title}")
    facts = [("priority", task.priority), ("area", task.area), ("outcome", task.outcome)]
    for name, value in facts:
        if value:
            document.line((f"{name}: ", "dim"), value)
    if task.description:
        document.line().lines(task.description.rstrip("\n").split("\n"))
    baseline = what.immutable.validation_baseline
    commands = [
        command.command + (f"   # {command.description}" if command.description else "")
        for command in baseline.commands
    ]
    for name, items in (
        ("in scope", task.scope_in),
        ("out of scope", task.scope_out),
        ("acceptance criteria", task.acceptance_criteria),
        ("quality gates", task.quality_gates),
        ("plan", task.plan),
        ("commands", commands),
        ("manual checks", baseline.manual_checks),
        ("paths", what.immutable.scope_patterns),
    ):
        if items:
            document.line().line((f"{name}:", "dim"))
            for item in items:
                first, *more = item.rstrip("\n").split("\n")
                document.line(f"  - {first}").lines(f"    {line}" for line in more)
    document.line()
    document.table(("agent", "status", "since", "snapshot"), _seats(what))
    for seat in what.coordination.values():
        for finding in seat.blocking_findings:
            if finding.closed_at is None:
                document.line((finding.id, "bad"), f" by {finding.by}: {finding.text}")


def status(document: Document, seen: Overview) -> None:
    """Write the one screen."""
    if seen.task is None:
        text = seen.verdict.summary if seen.verdict else "no task context is active here"
        document.line(text)
    else:
        document.line((seen.task, "bold"), f"  {seen.title}")
        on = f"on {seen.branch} " if seen.branch else ""
        at = f"at {seen.parent[:12]}" if seen.parent else "on an unborn branch"
        document.line((f"{on}{at}, context {seen.context_id}{', archived' if seen.archived else ''}", "dim"))
        document.line()
        document.table(("", "agent", "status", "round", "snapshot", "changes", "drift budget"), _overview_rows(seen))
        document.line()
        if seen.verdict is not None:
            verdict(document, seen.verdict)
        for finding in seen.findings:
            document.line(("finding ", "bad"), f"{finding.id} by {finding.by}: {finding.text}")
        if seen.validated:
            document.line(("validated: ", "ok"), "every agent approved this tree")
    if seen.next:
        document.line(("next: ", "dim"), (seen.next[0], "command"))
        for command in seen.next[1:]:
            document.line(("      ", "dim"), (command, "command"))


def listed(document: Document, contexts: Sequence[Listed]) -> None:
    """Write the contexts that are known here."""
    if not contexts:
        document.line("no contexts here")
        return
    document.table(
        ("", "task", "state", "owner", "last written", "context", "title"),
        [
            (
                ("*", "ok") if one.state == "active" else " ",
                (one.task, "bold"),
                one.state + (f" ({one.place})" if one.place else ""),
                one.owner,
                one.updated,
                (one.context_id, "dim"),
                one.title,
            )
            for one in contexts
        ],
    )


def started(document: Document, what: Started) -> None:
    """Say who owns the tree now, and why it may."""
    if what.resumed:
        document.line((what.agent, "bold"), " is at work again")
        return
    if what.verdict is not None:
        document.line(("verified: ", "ok"), what.verdict.summary)
        for notice in what.verdict.notices:
            document.line(("notice: ", "dim"), *_cause(notice))
    elif what.took_over is not None:
        snapshot = what.took_over.snapshot
        document.line(
            ("taken over: ", "warn"),
            f"{what.previous}'s changes are its snapshot {snapshot.n} ({snapshot.diff_stat})",
        )
    else:
        document.line(("unchanged: ", "ok"), f"{what.previous} changed nothing since its start")
    how = f" (back, round {what.round})" if what.back else f" (round {what.round})" if what.round > 1 else ""
    document.line((what.agent, "bold"), f" owns the tree{how}")


def recorded(document: Document, what: Recorded) -> None:
    """Say what a snapshot recorded."""
    snapshot = what.taken.snapshot
    kind = "checkpoint" if what.wip else "snapshot"
    document.line(
        (f"{kind} {snapshot.n} ", "ok"),
        f"of {what.agent}: tree {snapshot.tree[:12]}, {snapshot.files_count} "
        f"path{'s' * (snapshot.files_count != 1)} changed since the base ({snapshot.diff_stat})",
    )
    if what.started:
        document.line(f"{what.agent} owns the tree now", "" if snapshot.verified_start else ", on its word alone")
    if what.taken.reopened:
        document.line(("reopened: ", "warn"), ", ".join(what.taken.reopened[:SHOWN]))
    for path in snapshot.untracked[:SHOWN]:
        document.line("  new, untracked: ", (path, "path"))
    if snapshot.untracked_count > len(snapshot.untracked):
        document.line(f"  and {snapshot.untracked_count - len(snapshot.untracked)} more")
    if what.validated:
        document.line(("validated: ", "ok"), "every agent approved this tree; commit it")
    elif what.done:
        document.line(f"{what.agent} approved it")


def verdict(document: Document, what: Verdict) -> None:
    """Write a verdict with every cause."""
    word, style = {
        Outcome.YES: ("yes", "ok"),
        Outcome.NO: ("no", "bad"),
        Outcome.COULD_NOT_TELL: ("could not tell", "warn"),
    }[what.outcome]
    document.line((f"{what.subject}: ", "dim"), (word, style), f": {what.summary}")
    for cause in what.causes[:SHOWN]:
        document.line("  ", *_cause(cause))
    if len(what.causes) > SHOWN:
        document.line(f"  and {len(what.causes) - SHOWN} more")
    for notice in what.notices:
        document.line(("  notice: ", "dim"), *_cause(notice))
    if what.outcome is Outcome.NO and what.budget:
        document.line(("drift budget of ", "dim"), f"{what.expected_agent}: {what.budget}")


def resolved(document: Document, what: Resolved) -> None:
    """Say how drift was resolved."""
    if what.accepted is None:
        document.line(("resolved: ", "ok"), f"the drift budget was {what.budget} and is 0")
        return
    snapshot = what.accepted.snapshot
    document.line(
        ("accepted: ", "ok"),
        f"today's tree {snapshot.tree[:12]} is {what.owner}'s snapshot {snapshot.n}, by {snapshot.actor}",
    )
    for path in what.paths[:SHOWN]:
        document.line("  ", (path, "path"))
    if len(what.paths) > SHOWN:
        document.line(f"  and {len(what.paths) - SHOWN} more")
    if what.voided:
        document.line(("void: ", "warn"), f"the approval of {', '.join(what.voided)} was for another tree")


def restored(document: Document, what: Restored) -> None:
    """Say what `restore` wrote."""
    exact = "the worktree is exactly that tree" if what.exact else "other paths differ from that tree"
    document.line(("restored ", "ok"), f"{what.agent}'s snapshot {what.round}; {exact}")
    for verb, style, paths in (("wrote", "added", what.written), ("deleted", "deleted", what.deleted)):
        for path in paths[:SHOWN]:
            document.line("  ", (verb, style), " ", (path, "path"))
        if len(paths) > SHOWN:
            document.line(f"  and {len(paths) - SHOWN} more")
    for path in what.skipped:
        document.line(("  left alone ", "warn"), (path, "path"), " (a submodule: git submodule update)")
    document.line(("undo: ", "dim"), (f"git taskctx restore --agent saved --round {what.saved}", "command"))


def rebuilt(document: Document, what: Rebuilt) -> None:
    """Say field by field what changed in the task's text."""
    if not what.changes:
        document.line("the task's text is as it was captured")
        return
    document.line(("rebuilt: ", "ok"), f"{len(what.changes)} field{'s' * (len(what.changes) != 1)} changed")
    for change in what.changes:
        document.line("  ", (change.field, "bold"))
        document.line(("    - ", "deleted"), _one_line(change.old)).line(("    + ", "added"), _one_line(change.new))
    if what.voided:
        document.line(("void: ", "warn"), f"the approval of {', '.join(what.voided)} was for the old text")


def _one_line(value: Any) -> str:
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value or "nothing")
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:99] + "…"


def nothing_changed(document: Document, agent: str, number: int, kind: str) -> None:
    """Say why a diff is empty."""
    if kind == "incremental":
        document.line(
            ("hint: ", "warn"),
            f"{agent} changed nothing in its snapshot {number}; the whole work: ",
            ("git taskctx diff --type from-base", "command"),
        )
    else:
        document.line(("hint: ", "warn"), f"{agent}'s snapshot {number} is the base itself")


def history(document: Document, records: Sequence[Record]) -> None:
    """Write the ledger as a history, newest first."""
    for record in reversed(records):
        who = f"{record.agent} " if record.agent else ""
        tell = _EVENTS.get(record.type)
        document.line(
            (record.time, "dim"),
            "  ",
            (f"{record.type:<9}", "bold"),
            f" {who}",
            (f"({record.actor}) ", "dim"),
            tell(record) if tell is not None else "",
        )
        note = record.extra.get("note") or record.extra.get("attest")
        if note:
            document.lines(f"                                 {line}" for line in str(note).split("\n"))


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


_EVENTS: dict[str, Callable[[Record], str]] = {
    "init": lambda record: f"began at {_short(record.base)}, tree {_short(record.tree)}",
    "start": _start_event,
    "takeover": _start_event,
    "snapshot": _snapshot_event,
    "drift": _drift_event,
    "resolve": lambda record: "accepted" if record.extra.get("accepted") else "as expected again",
    "restore": lambda record: f"snapshot {record.extra.get('n')} of {record.extra.get('from')}",
    "block": lambda record: f"{record.extra.get('finding')}: {record.extra.get('text')}",
    "unblock": lambda record: f"{record.extra.get('finding')} closed",
    "update": lambda record: str(record.extra.get("status") or "details"),
    "rebuild": lambda record: "task text: " + ", ".join(record.extra.get("fields", [])[:5]),
    "rebase": lambda record: f"HEAD moved: {_short(record.extra.get('from'))} to {_short(record.commit)}",
    "seal": lambda record: f"commit {_short(record.commit)} is what was validated",
    "purge": lambda record: "put away",
    "recover": lambda record: "brought back",
}


def _short(oid: Any) -> str:
    return str(oid)[:12] if oid else "nothing"


def _cause(cause: Cause) -> list[Span]:
    spans: list[Span] = [(cause.path, "path"), ": "] if cause.path else []
    spans.append((cause.kind.value, "bad"))
    if cause.detail:
        spans.append(f" ({cause.detail})")
    return spans


def _captured(what: Context) -> list[tuple[Span, ...]]:
    task, baseline = what.immutable.task_snapshot, what.immutable.validation_baseline
    rows: list[tuple[str, str, str]] = []
    for name in ("title", "priority", "area", "outcome"):
        value = getattr(task, name)
        if value:
            rows.append((name, value if len(value) <= 60 else value[:59] + "…", f"task_snapshot.{name}"))
    if task.description:
        rows.append(("description", f"{len(task.description)} characters", "task_snapshot.description"))
    counted = {
        "scope in": ("task_snapshot.scope_in", task.scope_in),
        "scope out": ("task_snapshot.scope_out", task.scope_out),
        "acceptance criteria": ("task_snapshot.acceptance_criteria", task.acceptance_criteria),
        "quality gates": ("task_snapshot.quality_gates", task.quality_gates),
        "plan": ("task_snapshot.plan", task.plan),
        "commands": ("validation_baseline.commands", baseline.commands),
        "manual checks": ("validation_baseline.manual_checks", baseline.manual_checks),
        "path patterns": ("scope_patterns", what.immutable.scope_patterns),
        "paths now": ("repo_paths", what.immutable.repo_paths),
    }
    rows += [(name, str(len(items)), key) for name, (key, items) in counted.items() if items]
    sources = what.immutable.sources
    fallback = "" if what.git.task_file else "command line"
    return [(name, value, (sources.get(key, fallback), "path")) for name, value, key in rows]


def _seats(what: Context) -> list[tuple[Span, ...]]:
    return [
        (agent, _status(seat), seat.started_at or "-", f"{seat.worktree_snapshot.n}" if seat.worktree_snapshot else "-")
        for agent, seat in what.coordination.items()
    ]


def _status(seat: Coordination) -> Span:
    return f"{seat.status}{' (stale)' if seat.stale else ''}", "warn" if seat.stale else _STATUS_STYLE[seat.status]


def _overview_rows(seen: Overview) -> list[tuple[Span, ...]]:
    rows: list[tuple[Span, ...]] = []
    for agent in seen.agents:
        seat = (seen.coordination or {})[agent]
        snapshot = seat.worktree_snapshot
        rows.append(
            (
                ("*", "ok") if agent == seen.owner else " ",
                (agent, "bold") if agent == seen.owner else agent,
                _status(seat),
                str((seen.rounds or {}).get(agent) or "-"),
                f"{snapshot.n}: {snapshot.tree[:12]}" if snapshot else "-",
                snapshot.diff_stat if snapshot else "-",
                (str(seat.drift_budget), "bad" if seat.drift_budget else "dim"),
            )
        )
    return rows
