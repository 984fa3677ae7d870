"""Verbs of the chain: start, snapshot, verify, diff, update, block, unblock, resolve-drift, restore."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
import os
from typing import Annotated, Literal

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import AgentOption, Argument, Option
from git_taskctx.cli.proof import ProofFormat, prove, prove_job, refuse_for_worktree
from git_taskctx.errors import Usage
from git_taskctx.situation import Situation


def start(
    call: Call,
    agent: AgentOption,
    take_over: Annotated[str | None, Option("--take-over NOTE", "The owner died or gave up; say why.")] = None,
) -> Answer:
    """Hand the tree to an agent once it is verified.

    The worktree must match its owner's last snapshot; any difference is drift, and is reported path by path.
    """
    from git_taskctx.handoff.start import start
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import next_steps

    with call.open(write=True) as session:
        started = start(session, agent, take_over=take_over)
        steps = next_steps(session)
        warnings = (*session.warnings, *(started.took_over.warnings if started.took_over else ()))
    return Answer(
        {
            "agent": started.agent,
            "resumed": started.resumed,
            "back": started.back,
            "previous": started.previous,
            "round": started.round,
            "verdict": started.verdict,
        },
        text=lambda document: text.started(document, started),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def snapshot(
    call: Call,
    agent: AgentOption,
    done: Annotated[bool, Option("--done", "Approve this tree; the last agent has to.", excludes="--wip")] = False,
    wip: Annotated[bool, Option("--wip", "Record a checkpoint and keep working.", excludes="--done")] = False,
    allow_clean: Annotated[bool, Option("--allow-clean", "Record even that nothing changed.")] = False,
    attest: Annotated[
        str | None, Option("--attest NOTE", "Attest that the unverified changes are this agent's own.")
    ] = None,
) -> Answer:
    """Record the worktree at the end of an agent's turn."""
    from git_taskctx.handoff.record import record_snapshot
    from git_taskctx.handoff.snapshot import Options
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import next_steps

    options = Options(done=done, wip=wip, allow_clean=allow_clean, attest=attest)
    with call.open(write=True) as session:
        recorded = record_snapshot(session, agent, options)
        steps = next_steps(session)
        warnings = (*session.warnings, *recorded.warnings)
    return Answer(
        {
            "agent": agent,
            "snapshot": recorded.taken.snapshot,
            "started": recorded.started,
            "reopened": recorded.taken.reopened,
            "done": recorded.done,
            "validated": recorded.validated,
            "warnings": warnings,
        },
        text=lambda document: text.recorded(document, recorded),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def verify(
    call: Call,
    revision: Annotated[
        str | None,
        Argument("[REV|A..B]", "Prove this commit, or each of a range, from its records.", complete="<revisions>"),
    ] = None,
    expect: Annotated[
        str | None, Option("--expect A", "Compare with A's last snapshot.", complete="<agents>", excludes="--for")
    ] = None,
    start_for: Annotated[
        str | None,
        Option("--for B", "Hand over to B, as `start --agent B` does.", complete="<agents>", excludes="--expect"),
    ] = None,
    strict: Annotated[bool, Option("--strict", "Staged changes count too.")] = False,
    exact: Annotated[bool, Option("--exact", "Read every file again, whatever its timestamps.")] = False,
    verbose: Annotated[bool, Option("--verbose", "Also show the hash of each path, recorded and current.")] = False,
    policy: Annotated[
        str | None,
        Option("--policy COMMIT", "Judge REV by the policy of this commit, not of its base.", complete="<revisions>"),
    ] = None,
    commit_map: Annotated[
        str | None, Option("--commit-map FILE", "Old and new commit names, from git-filter-repo.", complete="<files>")
    ] = None,
    ci: Annotated[bool, Option("--ci", "Prove what this CI job is about, or REV; fetch what its clone lacks.")] = False,
    reports: Annotated[
        str | None,
        Option("--reports DIR", "Also write the proof to DIR, as json, gitlab, sarif and junit.", complete="<folders>"),
    ] = None,
    format: Annotated[
        ProofFormat | None, Option("--format FORMAT", "text, json; for a proof also github, gitlab, sarif, junit.")
    ] = None,
) -> Answer:
    """Check the worktree or a commit against the records.

    Exit code 0: it matches; 1: it does not, with every cause; 3: could not tell, or unproven.
    """
    form = format or call.format
    call.format = form if form in ("text", "json") else "text"
    asked = {"--expect": expect, "--for": start_for, "--strict": strict, "--exact": exact, "--verbose": verbose}
    given = [name for name, value in asked.items() if value not in (None, False)]
    if revision is None and not ci:
        call.require_worktree("git taskctx verify HEAD")
    if revision is None and not given and not ci:
        from git_taskctx.drift.count import is_at_rest

        revision = "HEAD" if is_at_rest(call.caller()) else None
    if revision is not None or ci:
        about = " ".join(["--ci"] * ci + ([revision] if revision is not None else []))
        if given:
            raise Usage(f"{given[0]} is about the worktree, not about {about}", hint=f"git taskctx verify {about}")
        if reports == "":
            raise Usage("the name of the folder is empty", hint=f"git taskctx verify {about} --reports DIR")
        if ci and commit_map is not None:
            raise Usage("--ci and --commit-map cannot be used together", hint=f"git taskctx verify {about}")
    if ci:
        return prove_job(call, revision, policy=policy, form=form, reports=reports)
    if revision is not None:
        return prove(call, revision, policy=policy, commit_map=commit_map, form=form, reports=reports)
    refuse_for_worktree(policy, commit_map, form, reports)
    if start_for is not None:
        if expect is not None:
            raise Usage(
                "--for and --expect cannot be used together",
                hint=f"git taskctx verify --expect {expect}\ngit taskctx start --agent {start_for}   # or start it",
            )
        return start(call, start_for)
    from git_taskctx.handoff.verify import verify
    from git_taskctx.report import text

    verdict = verify(call.caller(), expect=expect, strict=strict, cold=exact)
    if verdict.situation is not None:
        from git_taskctx.report.advice import advised

        verdict = advised(verdict)
    return Answer(
        verdict,
        text=lambda document: text.verdict(document, verdict, hashes=verbose),
        notes=lambda document: text.notes(document, verdict.warnings, verdict.hints),
        code=verdict.outcome.exit_code,
        reason=verdict.summary,
        hints=verdict.hints,
        paths=tuple(cause.path for cause in verdict.causes if cause.path),
    )


def diff(
    call: Call,
    agent: Annotated[
        str | None, Option("--agent A", "Whose snapshot; by default the last one.", complete="<agents>")
    ] = None,
    number: Annotated[int | None, Option("--round N", "Which of its snapshots; by default the last.", min=1)] = None,
    kind: Annotated[
        Literal["from-base", "incremental"],
        Option("--type from-base|incremental", "Since the base commit, or since the previous owner."),
    ] = "incremental",
    path: Annotated[bool, Option("--path", "Print the absolute path of the stored diff instead.")] = False,
) -> Answer:
    """Show what an agent changed.

    With --agent and the agent at work, it shows what that agent has not recorded yet.
    """
    from git_taskctx.context.diffs import find_diff
    from git_taskctx.report import text
    from git_taskctx.report.colours import shown_diff

    with call.open(write=False) as session:
        found = find_diff(session, agent, number, kind)
    place = os.fspath(call.repository.toplevel / found.path) if found.path is not None else None
    if path:
        if place is None:
            words = ("diff", "--agent", found.agent, "--type", kind)
            raise Usage(
                f"what {found.agent} has not recorded yet is stored nowhere", Situation("clone.type", words=words)
            )
        return Answer({"path": place}, text=lambda document: document.line(place))
    data = None
    if call.format == "json":
        whole = found.patch.data.decode("utf-8", "replace")
        data = {"agent": found.agent, "round": found.n, "type": kind, "path": place, "sha256": found.patch.sha}
        data["diff"] = whole
    return Answer(
        data,
        raw=found.patch.pieces(),
        screen=lambda palette: shown_diff(found.patch.lines(), palette),
        paged="diff",
        notes=lambda document: text.beside_diff(document, found, kind),
    )


def update(
    call: Call,
    agent: AgentOption,
    status: Annotated[
        Literal["pending", "in_progress", "done", "blocked"] | None,
        Option("--status pending|in_progress|done|blocked", "Its own status."),
    ] = None,
    qa_log: Annotated[str | None, Option("--qa-log PATH", "Its QA log, to be kept.", complete="<files>")] = None,
    session_id: Annotated[str | None, Option("--session-id ID", "Its session, to resume it.")] = None,
) -> Answer:
    """Record an agent's status, QA log or session."""
    from git_taskctx.context.evidence import read_source
    from git_taskctx.handoff.coordinate import update
    from git_taskctx.report import text

    log = read_source(call.repository, call.folder, qa_log) if qa_log is not None else None
    with call.open(write=True) as session:
        update(session, agent, status=status, qa_log=log, session_id=session_id)
        seat = session.context.coordination[agent]
    return Answer(
        seat,
        text=lambda document: document.line(f"{agent}: ", (seat.status, "ok")),
        notes=lambda document: text.warnings(document, session.warnings),
    )


def block(
    call: Call, agent: AgentOption, finding: Annotated[str, Option("--finding TEXT", "What is wrong.")]
) -> Answer:
    """Record a finding that blocks the chain."""
    from git_taskctx.handoff.coordinate import block
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import blocked

    with call.open(write=True) as session:
        found = block(session, agent, finding)
        steps = blocked(session, found)
    return Answer(
        found,
        text=lambda document: document.line((found.id, "bad"), f" by {agent}: {found.text}"),
        notes=lambda document: text.notes(document, session.warnings, steps),
    )


def unblock(
    call: Call,
    agent: AgentOption,
    finding: Annotated[str, Option("--finding ID", "Id of the finding, such as F1.", complete="<findings>")],
) -> Answer:
    """Close a finding; only the agent that found it may."""
    from git_taskctx.handoff.coordinate import unblock
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import next_steps

    with call.open(write=True) as session:
        closed = unblock(session, agent, finding)
        still = len(session.chain.open_findings)
        steps = next_steps(session)
    return Answer(
        {"closed": closed.id, "open": still},
        text=lambda document: document.line((f"{closed.id} closed", "ok"), f", {still} open"),
        notes=lambda document: text.notes(document, session.warnings, steps),
    )


def resolve_drift(
    call: Call,
    note: Annotated[str, Option("--note TEXT", "What happened.")],
    accept: Annotated[bool, Option("--accept", "Take the current tree as the owner's snapshot.")] = False,
    holds: Annotated[str | None, Option("--holds RECORD", "Which side of a fork is valid.")] = None,
) -> Answer:
    """Acknowledge drift, so that the chain can go on.

    If two clones continued the same task, --holds picks the side that has that record.
    """
    from git_taskctx.context.opening import open_session
    from git_taskctx.handoff.resolve import choose_side, resolve_drift
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import next_steps
    from git_taskctx.report.overview import steps_here

    if holds is not None:
        with open_session(call.caller(), write=True, holds=holds) as session:
            aside = choose_side(session, holds, note=note)
            steps = steps_here(session)
            warnings = tuple(session.warnings)
        return Answer(
            {"holds": holds, "aside": aside},
            text=lambda document: text.side_chosen(document, holds, len(aside)),
            notes=lambda document: text.notes(document, warnings, steps),
        )
    with call.open(write=True) as session:
        resolved = resolve_drift(session, note=note, accept=accept)
        steps = next_steps(session)
        warnings = (*session.warnings, *(resolved.accepted.warnings if resolved.accepted else ()))
    return Answer(
        {
            "owner": resolved.owner,
            "budget": resolved.budget,
            "accepted": resolved.accepted.snapshot if resolved.accepted else None,
            "paths": resolved.paths,
            "voided": resolved.voided,
        },
        text=lambda document: text.resolved(document, resolved),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def restore(
    call: Call,
    agent: Annotated[str, Option("--agent A", "Whose snapshot; or init, or saved.", complete="<agents> init saved")],
    number: Annotated[int | None, Option("--round N", "Which of its snapshots; by default the last.", min=1)] = None,
    paths: Annotated[
        list[str] | None,
        Option(
            "--paths PATTERN",
            "Only these: a path, a folder, or a glob such as 'src/**/*.py', from the current folder (':/...' from the top); may be repeated.",
            complete="<files>",
        ),
    ] = None,
) -> Answer:
    """Restore the files of a snapshot, saving what is there.

    Nothing unsaved is deleted, and no ignored file is overwritten.
    """
    from git_taskctx.handoff.restore import restore
    from git_taskctx.model.step import taskctx
    from git_taskctx.model.values import replace
    from git_taskctx.report import text
    from git_taskctx.report.advice.chain import next_steps, undo

    with call.open(write=True) as session:
        restored = restore(session, agent, round_number=number, paths=tuple(map(call.from_top, paths or ())))
        warnings, chain = tuple(session.warnings), session.chain
        last = agent == chain.owner and restored.round == len(chain.owner_seat.snapshots)
        settled = chain.at_work or (last and restored.exact)
        steps = next_steps(session) if settled else (taskctx("verify", why="what still differs"),)
        steps = () if session.archived else steps
        restored = replace(restored, undo=undo(session.context.context_id, restored.saved).line)
    count = len(restored.left)
    return Answer(
        restored,
        text=lambda document: text.restored(document, restored),
        notes=lambda document: text.notes(document, warnings, steps),
        code=restored.code,
        reason=f"{count} path{'s' * (count > 1)} could not be restored" if count else None,
        paths=tuple(one.path for one in restored.left),
    )
