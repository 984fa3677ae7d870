"""What a person reads: every sentence that a verb says about contexts, chains and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from git_taskctx.model.step import WHY, Step, taskctx
from git_taskctx.model.verdict import Cause, CauseKind, News, Outcome, Verdict, count_of
from git_taskctx.report.document import Document, Span

if TYPE_CHECKING:
    from git_taskctx.context.diffs import StoredDiff
    from git_taskctx.handoff.begin import BegunContext
    from git_taskctx.handoff.rebuild import Rebuilt
    from git_taskctx.handoff.record import Recorded
    from git_taskctx.handoff.resolve import Resolved
    from git_taskctx.handoff.restore import Restored
    from git_taskctx.handoff.start import Started
    from git_taskctx.model.context import Context, Coordination
    from git_taskctx.report.overview import Overview

SHOWN = 20
"""How many paths a list shows before it only counts."""

OUTCOME_STYLE = {Outcome.YES: "ok", Outcome.NO: "bad", Outcome.COULD_NOT_TELL: "warn"}
_STATUS_STYLE = {"done": "ok", "blocked": "bad", "in_progress": "bold", "pending": "dim"}


def warnings(document: Document, texts: Sequence[str]) -> None:
    """Write warnings as git does, and good news among them as it is."""
    for text in texts:
        document.sentence(*([] if isinstance(text, News) else [("warning: ", "warn")]), text)


def hints(document: Document, steps: Sequence[Step | str]) -> None:
    """Write the commands to type next, each line as it can be copied."""
    for step in steps:
        for line in str(step).split("\n"):
            document.line(("hint: ", "warn"), *_command(line))


def notes(document: Document, texts: Sequence[str], steps: Sequence[Step | str]) -> None:
    """Write what is said beside an answer: warnings, and the commands to type next."""
    warnings(document, texts)
    hints(document, steps)


def _command(line: str) -> list[Span]:
    """Divide a command from the shell comment behind it."""
    command, mark, why = line.partition(WHY)
    return [(command, "command"), (mark + why, "dim")]


def _listing(document: Document, items: Sequence[Sequence[Span]], *, total: int | None = None) -> None:
    """Write the first items of a list, and how many more there are."""
    for item in items[:SHOWN]:
        document.line("  ", *item)
    count = len(items) if total is None else total
    if count > SHOWN:
        document.line(f"  and {count - SHOWN} more")


def begun(document: Document, what: BegunContext) -> None:
    """Show what `init` captured, from where."""
    context = what.context
    where = _where(context.git.branch, context.git.head)
    document.sentence(("began ", "ok"), (context.task_id, "bold"), f" {where} (context {context.context_id})")
    document.line()
    document.table(("field", "captured", "source"), _captured(context))
    document.line()
    chain = " -> ".join(context.agents)
    document.line(f"agents: {chain}; ", (context.agents[0], "bold"), " is at work")


def begun_notes(document: Document, what: BegunContext, steps: Sequence[Step]) -> None:
    """Show what was odd about the start, and what comes next."""
    if what.dirty:
        count = len(what.dirty)
        shown = ", ".join(what.dirty[:5]) + (", …" if count > 5 else "")
        document.sentence(
            ("warning: ", "warn"),
            f"{count} path{'s were' if count > 1 else ' was'} already dirty, and "
            f"{'are' if count > 1 else 'is'} not part of the task: {shown}",
        )
    notes(document, what.warnings, steps)


def _where(branch: str | None, commit: str | None, *, began_on: str | None = None) -> str:
    """Show which branch and commit something is on."""
    if commit is None:
        return f"on the unborn branch {branch}" if branch else "on an unborn branch"
    aside = f" (the task began on {began_on})" if began_on and began_on != branch else ""
    on = f"on {branch}" if branch else "on a detached HEAD" if aside else ""
    return f"{on}{aside} at {commit[:12]}".strip()


def context(document: Document, what: Context) -> None:
    """Write the whole context for a person."""
    task = what.immutable.task_snapshot
    document.sentence((what.task_id, "bold"), f"  {task.title}")
    facts = [("priority", task.priority), ("area", task.area), ("outcome", task.outcome)]
    for name, value in facts:
        if value:
            document.line((f"{name}: ", "dim"), value)
    if task.description:
        document.line().lines(f"  {line}" for line in task.description.rstrip("\n").split("\n"))
    baseline = what.immutable.validation_baseline
    commands = [
        command.command + (f"   # {command.description}" if command.description else "")
        for command in baseline.commands
    ]
    standards = [
        f"{one.file}#{one.section.removeprefix('#')}, {one.line_span}: {one.requirement}"
        for one in what.immutable.standards_citations
    ]
    for name, items in (
        ("in scope", task.scope_in),
        ("out of scope", task.scope_out),
        ("acceptance criteria", task.acceptance_criteria),
        ("quality gates", task.quality_gates),
        ("plan", task.plan),
        ("standards", standards),
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
        document.sentence((seen.task, "bold"), f"  {seen.title}")
        where = _where(seen.branch, seen.parent, began_on=seen.init_branch)
        document.sentence((f"{where}, context {seen.context_id}{', archived' if seen.archived else ''}", "dim"))
        document.line()
        document.table(("", "agent", "status", "round", "snapshot", "since base", "drifts"), _overview_rows(seen))
        document.line()
        if seen.verdict is not None:
            verdict(document, seen.verdict)
        for line in seen.qa:
            document.line(("qa ", "dim"), line)
        for finding in seen.findings:
            document.line(("finding ", "bad"), f"{finding.id} by {finding.by}: {finding.text}")
        if seen.validated and seen.verdict is not None and seen.verdict.outcome is Outcome.YES:
            document.line(("validated: ", "ok"), "every agent approved this tree")
    if seen.run is not None:
        document.sentence(("run: ", "dim"), seen.run)
    from git_taskctx.report.hooks import health

    health(document, seen.hooks)
    for number, line in enumerate("\n".join(seen.next).split("\n") if seen.next else ()):
        command, mark, why = line.partition(WHY + "or ")
        head = "  or: " if mark and number else "      " if number else "next: "
        document.line((head, "dim"), *_command(command + WHY + why if mark else line))


def started(document: Document, what: Started) -> None:
    """Show who owns the tree now, and why it may."""
    if what.resumed:
        document.line((what.agent, "bold"), " is at work again")
        return
    if what.verdict is not None:
        document.sentence(("verified: ", "ok"), what.verdict.summary)
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
    """Show what a snapshot recorded."""
    snapshot = what.taken.snapshot
    kind = "checkpoint" if what.wip else "snapshot"
    document.sentence(
        (f"{kind} {snapshot.n} ", "ok"),
        f"of {what.agent}: tree {snapshot.tree[:12]}, {snapshot.diff_stat} in {snapshot.files_count} "
        f"path{'s' * (snapshot.files_count != 1)} since the base",
    )
    if what.started:
        document.line(f"{what.agent} owns the tree now", "" if snapshot.verified_start else ", on its word alone")
    if what.taken.reopened:
        document.sentence(("reopened: ", "warn"), "changed after its own snapshot, without a start")
        _listing(document, [[(path, "path")] for path in what.taken.reopened])
    untracked: list[list[Span]] = [["new, untracked: ", (path, "path")] for path in snapshot.untracked]
    _listing(document, untracked, total=snapshot.untracked_count)
    if what.validated:
        then = f"commit {what.committed[:12]} holds it already" if what.committed else "commit it"
        document.line(("validated: ", "ok"), f"every agent approved this tree; {then}")
    elif what.done:
        document.line(f"{what.agent} approved it")


def verdict(document: Document, what: Verdict, *, hashes: bool = False) -> None:
    """Write a verdict with every cause; with `hashes` what each path was recorded with, and what it holds."""
    document.line((f"{what.subject}: ", "dim"), (word_of(what), OUTCOME_STYLE[what.outcome]))
    document.sentence(what.summary)
    _listing(document, [line for cause in what.causes for line in (_cause(cause), *_hashes(cause, hashes))])
    for notice in what.notices:
        document.line(("  notice: ", "dim"), *_cause(notice))
    if what.outcome is Outcome.NO and what.budget:
        document.line(count_of(what.budget, what.allowance))


def word_of(what: Verdict) -> str:
    """Return a verdict in plain words."""
    if what.in_use:
        return f"in use by {what.expected_agent}"
    different = "drifted" if what.subject == "worktree" else "differs"
    return {Outcome.YES: "matches", Outcome.NO: different}.get(what.outcome, "could not tell")


def resolved(document: Document, what: Resolved) -> None:
    """Show how drift was resolved."""
    if what.accepted is None:
        document.line(("resolved: ", "ok"), "no unresolved drift is left")
        return
    snapshot = what.accepted.snapshot
    document.sentence(
        ("accepted: ", "ok"),
        f"today's tree {snapshot.tree[:12]} is {what.owner}'s snapshot {snapshot.n}, by {snapshot.actor}",
    )
    _listing(document, [[(path, "path")] for path in what.paths])
    if what.voided:
        document.line(("void: ", "warn"), f"the approval of {', '.join(what.voided)} was for another tree")


def side_chosen(document: Document, holds: str, aside: int) -> None:
    """Show which side of a fork holds."""
    others = f"{aside} record{'s' * (aside != 1)}"
    document.sentence(("resolved: ", "ok"), f"the side with {holds} holds; {others} of the other do not count")


def restored(document: Document, what: Restored) -> None:
    """Show what `restore` wrote."""
    exact = "the worktree is exactly that tree" if what.exact else "other paths differ from that tree"
    nothing = not (what.written or what.deleted)
    word = "nothing to restore from " if nothing and not what.left else "restored "
    document.line((word, "ok"), f"{what.agent}'s snapshot {what.round}; {exact}")
    for verb, style, paths in (
        ("wrote", "added", what.written),
        ("deleted", "deleted", what.deleted),
        ("left alone, a submodule:", "warn", what.skipped),
    ):
        _listing(document, [[(verb, style), " ", (path, "path")] for path in paths])
    _listing(document, [[("left as it is: ", "bad"), (one.path, "path"), f": {one.why}"] for one in what.left])
    if not nothing:
        document.line(("undo: ", "dim"), (what.undo, "command"))


def rebuilt(document: Document, what: Rebuilt) -> None:
    """Show field by field what changed in the task's text."""
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


def beside_diff(document: Document, found: StoredDiff, kind: str) -> None:
    """Name what a diff does not show, and why it is empty."""
    agent, number = found.agent, found.n
    warnings(document, [f"{change.path}: {change.kind}; its content is not in the diff" for change in found.hidden])
    if found.patch.size or (found.hidden and number is None):
        return
    if number is None:
        document.line(f"{agent} has changed nothing yet")
        hints(document, (taskctx("diff", why="what the last snapshot recorded"),) if kind == "incremental" else ())
    elif kind == "incremental":
        document.line(f"{agent} changed nothing in its snapshot {number}")
        words = ("diff", "--agent", agent, "--round", str(number), "--type", "from-base")
        hints(document, (taskctx(*words, why="the whole work"),))
    else:
        document.line(f"{agent}'s snapshot {number} is the base itself")


def _hashes(cause: Cause, wanted: bool) -> Iterator[list[Span]]:
    if wanted and (cause.expected or cause.present):
        for name, value in (("expected", cause.expected), ("present ", cause.present)):
            yield [(f"  {name} ", "dim"), value or "nothing"]


def _cause(cause: Cause) -> list[Span]:
    if cause.kind is CauseKind.VOLATILE_KEYS:
        keys = f" ({cause.detail})" if cause.detail else ""
        return [
            (cause.path or "the task file", "path"),
            f": only keys that may change while the task runs{keys} differ",
        ]
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
        "in scope": ("task_snapshot.scope_in", task.scope_in),
        "out of scope": ("task_snapshot.scope_out", task.scope_out),
        "acceptance criteria": ("task_snapshot.acceptance_criteria", task.acceptance_criteria),
        "quality gates": ("task_snapshot.quality_gates", task.quality_gates),
        "plan": ("task_snapshot.plan", task.plan),
        "standards": ("standards_citations", what.immutable.standards_citations),
        "commands": ("validation_baseline.commands", baseline.commands),
        "manual checks": ("validation_baseline.manual_checks", baseline.manual_checks),
        "path patterns": ("scope_patterns", what.immutable.scope_patterns),
        "matching paths": ("repo_paths", what.immutable.repo_paths),
    }
    rows += [(name, str(len(items)), key) for name, (key, items) in counted.items() if items]
    sources = what.immutable.sources
    cited = (text.partition(":L")[0] for key, text in sources.items() if key.startswith("standards_citations."))
    fallback = {"validation_baseline.commands": "configuration", "standards_citations": ", ".join(sorted(set(cited)))}
    other = "" if what.git.task_file else "command line"
    return [(name, value, (sources.get(key, fallback.get(key, other)), "path")) for name, value, key in rows]


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
