"""Verbs about contexts as a whole: init, get, status, list, log, rebuild, purge, complete, recover, sweep."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Argument, Option
from git_taskctx.errors import BadConfig, Usage
from git_taskctx.model.values import replace

if TYPE_CHECKING:
    from git_taskctx.report.document import Document


def init(
    call: Call,
    task: Annotated[str, Argument("TASK", "Id of the task, such as TASK-0824.", complete="<tasks> <task-files>")],
    title: Annotated[str | None, Option("--title TEXT", "What to do; instead of a task file.")] = None,
    description: Annotated[str | None, Option("--description TEXT", "More about it; - reads standard input.")] = None,
    criterion: Annotated[
        list[str] | None,
        Option("--criterion TEXT", "An acceptance criterion, after those of the task file; may be repeated."),
    ] = None,
    task_file: Annotated[
        str | None, Option("--task-file FILE", "The task file, if its name does not match.", complete="<files>")
    ] = None,
    base_commit: Annotated[
        str | None,
        Option("--base-commit REV", "Where diffs from the base start; by default HEAD.", complete="<revisions>"),
    ] = None,
    agents: Annotated[
        str | None, Option("--agents A,B,C", "The chain of agents, in order.", complete="<agent-list>")
    ] = None,
    any_status: Annotated[bool, Option("--any-status", "Take a task file whatever its status is.")] = False,
) -> Answer:
    """Capture a task and start work on it.

    The task file is found by its name, as ID*.task.yaml; without one, --title is enough. The first agent is then at work.
    """
    from git_taskctx.handoff.begin import InitRequest, begin
    from git_taskctx.limits import TEXT_FILE
    from git_taskctx.model.oids import check_agent_name
    from git_taskctx.report import text
    from git_taskctx.report.advice import steps_for
    from git_taskctx.shell import shell_words
    from git_taskctx.situation import Situation

    names = tuple(check_agent_name(name.strip()) for name in agents.split(",")) if agents else None
    if title is not None and not title.strip():
        raise Usage("the title is empty", hint=f'git taskctx init {shell_words([task])} --title "what is to be done"')
    if names and len(set(names)) != len(names):
        words = ["init", task, *(["--title", title] if title else []), "--agents", ",".join(dict.fromkeys(names))]
        raise Usage("an agent is named twice in --agents", hint=f"git taskctx {shell_words(words)}")
    if description == "-":
        description = sys.stdin.read(TEXT_FILE)  # far more than is taken
    request = InitRequest(
        task=task,
        title=title,
        description=description,
        criteria=tuple(criterion or ()),
        task_file=task_file,
        folder=call.folder,
        base_commit=base_commit,
        agents=names,
        any_status=any_status,
    )
    begun = begin(call.caller(), request, call.config)
    has_pipeline = begun.context.pipelines is not None
    then = steps_for(Situation("chain.working", agent=begun.context.agents[0], has_pipeline=has_pipeline))
    if begun.uncommitted and base_commit is None:
        first = Situation("clone.commit_policy", names=begun.uncommitted, again=request.words())
        then = (*steps_for(first), *(one.instead() for one in then))
    return Answer(
        {"context": begun.context, "dirty": begun.dirty, "warnings": begun.warnings},
        text=lambda document: text.begun(document, begun),
        notes=lambda document: text.begun_notes(document, begun, then),
    )


def get(
    call: Call,
    role: Annotated[str | None, Option("--role R", "Only what this agent needs.", complete="<agents>")] = None,
    format: Annotated[
        Literal["text", "json", "md"] | None,
        Option("--format text|json|md", "Print for people, for programs, or as a brief for any agent."),
    ] = None,
    tokens: Annotated[bool, Option("--tokens", "Show the size of the brief, section by section.")] = False,
) -> Answer:
    """Show the task as captured, and the agents.

    With --role, only what that agent needs; with --format md, as a brief to give to any agent as it is.
    """
    from git_taskctx.context.roles import build_export
    from git_taskctx.context.staleness import compare_head, compare_text
    from git_taskctx.report import brief, text

    call.format = format or call.format
    if tokens and call.format == "md":
        raise Usage("--tokens prints text or json", hint="git taskctx get --tokens")
    with call.open(write=False) as session:
        if role is not None:
            session.require_agent(role)
        warnings = (*session.warnings, *compare_text(session).warnings, *compare_head(session))
        context, chain = session.context, session.chain

    def notes(document: "Document") -> None:
        text.warnings(document, warnings)

    if tokens:
        sizes = brief.sizes_of(
            {one: build_export(context, chain, one) for one in ((role,) if role else context.agents)}
        )
        return Answer(sizes, text=lambda document: brief.write_sizes(document, sizes), notes=notes)
    if role is None and call.format != "md":
        return Answer(context, text=lambda document: text.context(document, context), notes=notes)
    export = build_export(context, chain, role)
    raw = brief.render_brief(export, warnings).encode() if call.format == "md" else None
    return Answer(export, text=lambda document: brief.write_brief(document, export), notes=notes, raw=raw)


def rebuild(
    call: Call,
    policy: Annotated[
        str | None, Option("--policy COMMIT", "Also take the team's policy as of this commit.", complete="<revisions>")
    ] = None,
    any_status: Annotated[bool, Option("--any-status", "Take a task file whatever its status is.")] = False,
) -> Answer:
    """Capture the task again from its file and standards.

    The work of the agents stays; their approvals of the old text become void.
    """
    from git_taskctx.context.opening import open_session
    from git_taskctx.handoff.rebuild import Newer, rebuild
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import next_steps

    commit = call.repository.resolve_commit(policy) if policy is not None else None
    newer = Newer(commit, call.config(commit)) if commit is not None else None
    with open_session(call.caller(), write=True) as session:
        rebuilt = rebuild(session, any_status=any_status, newer=newer)
        steps = next_steps(session)
        warnings = (*session.warnings, *rebuilt.warnings)
    return Answer(
        rebuilt,
        text=lambda document: text.rebuilt(document, rebuilt),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def status(
    call: Call, short: Annotated[bool, Option("--short", "One line for a prompt; nothing without a task.")] = False
) -> Answer:
    """Show who owns the tree and what to type next."""
    if short:
        from git_taskctx.agents.prompt import glance, line_of

        known = glance(os.fspath(call.folder))
        line = line_of(known)
        return Answer(known, text=lambda document: document.line(line) if line else None)
    from git_taskctx.hooks.health import judge, look
    from git_taskctx.hooks.place import place_of
    from git_taskctx.report import text
    from git_taskctx.report.overview import overview

    seen = overview(call.caller())
    wrong = _wrong_settings(call)
    seen = replace(seen, hooks=judge(look(place_of(call.repository))).line, warnings=(*seen.warnings, *wrong))
    return Answer(
        seen,
        text=lambda document: text.status(document, seen),
        notes=lambda document: text.warnings(document, seen.warnings),
    )


def _wrong_settings(call: Call) -> Iterator[str]:
    """Report unreadable personal settings, which an active task does not use."""
    if any(key.startswith("taskctx.") for key, *_ in call.repository.settings):
        try:
            call.config(call.repository.head().commit)
        except BadConfig as error:
            yield "; ".join([error.message, *(error.hint or "").split("\n")[:1]]).removesuffix("; ")


def list_contexts(call: Call) -> Answer:
    """List the contexts known here."""
    from git_taskctx.handoff.lifecycle import list_contexts
    from git_taskctx.report import kept

    caller = call.caller()
    listed = list_contexts(caller)
    task = caller.store.active()
    if task is not None and caller.store.runs(task):
        from git_taskctx.pipeline.journal import open_run

        last = open_run(caller.store, task)
        waits = last.run if last is not None and last.state == "waiting" else None
        listed = [replace(one, run=waits if one.state == "active" else None) for one in listed]
    return Answer(listed, text=lambda document: kept.listed(document, listed))


def log(
    call: Call, graph: Annotated[bool, Option("--graph", "Draw who had the tree, and both sides of a fork.")] = False
) -> Answer:
    """Show the records of a task, newest first."""
    from git_taskctx.cli.call import can_draw
    from git_taskctx.ledger.forks import Forked, follow_all
    from git_taskctx.report import text
    from git_taskctx.report.advice import lines_for
    from git_taskctx.report.graph import graph as draw
    from git_taskctx.report.history import history
    from git_taskctx.report.records import History, history_of

    steps: tuple[str, ...] = ()
    try:
        found = history_of(call.caller())
    except Forked as error:
        if not graph or call.format == "json":
            raise
        found = History(list(error.entries), warnings=(error.message,))
        steps = lines_for(error.situation)
    records = [entry.record for entry in found.entries]

    def show(document: "Document") -> None:
        if graph:
            draw(document, follow_all([*found.entries, *found.aside]), box=can_draw())
        else:
            history(document, records)

    return Answer(
        [json.loads(record.to_line()) for record in records],
        text=show,
        paged="log",
        notes=lambda document: text.notes(document, found.warnings, steps),
    )


def purge(call: Call, every: Annotated[bool, Option("--all", "Also contexts whose files are gone.")] = False) -> Answer:
    """Put the active context away.

    Nothing is lost: `git taskctx recover TASK` brings it back.
    """
    from git_taskctx.handoff.lifecycle import purge
    from git_taskctx.report import text
    from git_taskctx.report.advice import steps_for
    from git_taskctx.situation import Situation

    put_away = purge(call.caller(), lost=every)
    if not put_away:
        return Answer({"purged": []}, notes=lambda document: document.line("nothing to put away"))
    task, context_id = put_away
    return Answer(
        {"purged": [{"task": task, "context": context_id}]},
        text=lambda document: document.line(("put away ", "ok"), f"{task} (context {context_id})"),
        notes=lambda document: text.hints(
            document, steps_for(Situation("clone.recover", task=task, why="brings it back"))
        ),
    )


def complete(call: Call) -> Answer:
    """End a task that is committed, and run the notifier.

    The notifier is the command in `git config taskctx.lifecycle.onComplete`. This works for a finished task too.
    """
    from git_taskctx.handoff.complete import complete
    from git_taskctx.report import text
    from git_taskctx.report.advice import lines_for

    loaded = call.config(call.repository.head().commit)
    done = complete(call.caller(), notifier=loaded.on_complete)
    steps = lines_for(done.situation)
    done = replace(done, again=steps[0] if done.violated and len(steps) > bool(done.notified) else None, situation=None)
    failed = f"the notifier ended with {done.notified}" if done.notified else None
    return Answer(
        done,
        text=lambda document: document.line(("complete: ", "ok"), f"{done.task} is commit {done.commit[:12]}"),
        notes=lambda document: text.notes(
            document, (*loaded.warnings, *filter(None, (done.violated, failed)), *done.warnings), steps
        ),
        code=1 if failed else 0,
        reason=failed,
        hints=steps[-1:] if failed else (),
    )


def recover(call: Call, task: Annotated[str, Argument("TASK", "The task to recover.", complete="<tasks>")]) -> Answer:
    """Bring a whole context back from the ledger.

    For one that was put away, that lost its files, or whose context.json was edited by hand.
    """
    from git_taskctx.handoff.lifecycle import recover
    from git_taskctx.model.oids import check_task_id
    from git_taskctx.report import text
    from git_taskctx.report.overview import steps_here

    session = recover(call.caller(), check_task_id(task))
    chain, steps = session.chain, steps_here(session)
    return Answer(
        session.context,
        text=lambda document: document.line(
            ("recovered ", "ok"), f"{task} (context {session.context.context_id}), {chain.owner} owns the tree"
        ),
        notes=lambda document: text.notes(document, session.warnings, steps),
    )


def sweep(
    call: Call,
    ttl: Annotated[
        str | None,
        Option("--ttl AGE", "30m, 12h, 7d, 2w or 0; by default lifecycle.archive_days.", complete="30m 12h 7d 2w 0"),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", "Only show what would be removed.")] = False,
) -> Answer:
    """Remove what was put away long ago.

    Archives and refs go once their last record is older than AGE. The ledger stays, and every proof with it.
    """
    from git_taskctx.handoff.sweep import parse_ttl, policy_ttl, sweep
    from git_taskctx.model.step import Step, taskctx
    from git_taskctx.report import kept, text

    if ttl is not None:
        age, warnings = parse_ttl(ttl), tuple[str, ...]()
    else:
        loaded = call.config(call.repository.head().commit)
        age, warnings = policy_ttl(loaded.policy), loaded.warnings
    done = sweep(call.caller(), age, dry_run=dry_run)
    if not done.swept:
        steps: tuple[Step, ...] = ()
    elif dry_run:
        steps = (taskctx("sweep", *(("--ttl", ttl) if ttl else ()), why="removes them"),)
    else:
        why = "gives the space back at once; git's own gc does in two weeks"
        steps = (Step(("git", "gc", "--prune=now"), why),)

    def notes(document: "Document") -> None:
        text.notes(document, (*warnings, *done.warnings), steps)
        if not done.swept:
            document.line("nothing to sweep")

    return Answer(
        {"dry_run": dry_run, "swept": done.swept},
        text=lambda document: kept.swept(document, done, dry_run=dry_run),
        notes=notes,
    )
