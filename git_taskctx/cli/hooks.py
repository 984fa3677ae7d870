"""Verbs about git's hooks: install, uninstall, doctor."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Option
from git_taskctx.errors import TaskctxError, Usage
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.hooks.doctor import Problem
    from git_taskctx.hooks.install import InstallPlan
    from git_taskctx.report.document import Document

_EVERYWHERE = Annotated[
    bool,
    Option("--global", "For all your repositories, through git's global settings.", excludes="--write-tracked --notes"),
]
_TRACKED = Annotated[
    bool, Option("--write-tracked", "Also write to hook files that are in the worktree.", excludes="--global")
]
_NOWHERE = Annotated[bool, Option("--global", "What install --global installed.", excludes="--write-tracked")]
_UNTRACKED = Annotated[
    bool, Option("--write-tracked", "Also remove ours from hook files in the worktree.", excludes="--global")
]
_DRY = Annotated[bool, Option("--dry-run", "Only show what would be done.")]


def install(
    call: Call,
    everywhere: _EVERYWHERE = False,
    write_tracked: _TRACKED = False,
    notes: Annotated[
        str | None,
        Option(
            "--notes REMOTE",
            "Have git fetch bring REMOTE's records too, beside yours.",
            complete="<remotes>",
            excludes="--global",
        ),
    ] = None,
    dry_run: _DRY = False,
) -> Answer:
    """Install the hooks, so that git checks each commit.

    Existing hooks are kept, and run first. Without a task, the hooks do nothing.
    """
    from git_taskctx.hooks import install as hooks
    from git_taskctx.hooks.health import judge, look
    from git_taskctx.hooks.place import find_place
    from git_taskctx.report.hooks import seats

    if everywhere:
        if notes is not None:
            raise Usage("--notes is for one repository", hint=f"git taskctx install --notes {shell_word(notes)}")
        return _everywhere(call, write_tracked=write_tracked, dry_run=dry_run, away=False)
    place = find_place(call.folder, os.environ)
    plan = hooks.install(place, write_tracked=write_tracked, dry_run=dry_run, notes=notes)
    if dry_run:
        return _answer(plan, dry_run=True, again="install")
    found = look(find_place(call.folder, os.environ))
    rows = [(seat.event, seat.state, seat.by) for seat in found]
    holds = judge(found).holds
    why = "proves that each hook fires" if holds else "says what stands in the way"
    return _answer(
        plan,
        dry_run=False,
        again="install",
        hints=(f"git taskctx doctor   # {why}",),
        code=0 if holds else 1,
        text=lambda document: seats(document, rows),
        data={"hooks": [{"hook": event, "state": state, "by": by or None} for event, state, by in rows]},
    )


def uninstall(
    call: Call, everywhere: _NOWHERE = False, write_tracked: _UNTRACKED = False, dry_run: _DRY = False
) -> Answer:
    """Remove the hooks and put back what was there.

    They are restored byte for byte, with their modes.
    """
    from git_taskctx.hooks import install as hooks
    from git_taskctx.hooks.place import find_place

    if everywhere:
        return _everywhere(call, write_tracked=write_tracked, dry_run=dry_run, away=True)
    place = find_place(call.folder, os.environ)
    plan = hooks.uninstall(place, write_tracked=write_tracked, dry_run=dry_run)
    return _answer(plan, dry_run=dry_run, again="uninstall", hints=tuple(_agents_left(place.top)))


def _agents_left(top: Path | None) -> Iterator[str]:
    """Yield the commands that remove our hooks from coding agents' configurations."""
    from git_taskctx.agents import setup
    from git_taskctx.agents.dialects import DIALECTS

    for dialect in DIALECTS.values():
        if top is not None and setup.is_there(dialect, setup.place_of(dialect, top, user=False)):
            yield f"git taskctx agent-setup {dialect.name} --remove   # the hooks of {dialect.title} are still there"


def doctor(call: Call) -> Answer:
    """Prove that each hook fires, and find what is wrong.

    The hooks fire in a throw-away repository; none of your own checks runs, and nothing here changes.
    """
    from git_taskctx.hooks import doctor as examine
    from git_taskctx.hooks.fire import fire
    from git_taskctx.hooks.health import look
    from git_taskctx.hooks.place import find_place
    from git_taskctx.report import hooks as report
    from git_taskctx.report.advice import lines_for

    place = find_place(call.folder, os.environ)
    found = look(place)
    fired = fire(place, found)
    findings = [
        *examine.examine_program(place, found, Path(sys.argv[0])),
        *examine.examine_hooks(place, found, fired),
        *examine.examine_files(place),
        *examine.examine_worktrees(place),
        *examine.examine_notes(place, found),
        *examine.examine_left(place),
        *(_examine_store(call) if place.top is not None else ()),
    ]
    shown = [(one.level, one.what, "\n".join(lines_for(one.situation)) or one.hint) for one in findings]
    errors = list(dict.fromkeys(command for level, _, command in shown if level == "error"))
    rows = [
        (seat.event, "fires" if seat.event in fired.events and seat.state == "in place" else seat.state, seat.by)
        for seat in found
    ]
    verdict = "the gate does not hold" if errors else "the gate holds"

    def write(document: Document) -> None:
        report.seats(document, rows)
        report.findings(document, shown)
        document.line((verdict, "bad" if errors else "ok"))

    return Answer(
        {
            "holds": not errors,
            "hooks": [{"hook": event, "state": state, "by": by or None} for event, state, by in rows],
            "findings": [{"level": level, "what": what, "command": command} for level, what, command in shown],
        },
        text=write,
        code=1 if errors else 0,
        reason=verdict if errors else None,
        hints=tuple(filter(None, errors)),
    )


def _examine_store(call: Call) -> Iterator[Problem]:
    """Find a folder of ours that git tracks, and expired refs."""
    from git_taskctx.handoff.sweep import policy_ttl, sweep
    from git_taskctx.hooks.doctor import Problem, as_finding

    try:
        caller = call.caller()
        caller.store.check()
        ttl = policy_ttl(call.config(call.repository.head().commit).policy)
        stale = sweep(caller, ttl, dry_run=True).swept
    except TaskctxError as error:
        yield as_finding(error)
        return
    if stale:
        count = f"{len(stale)} context{'s' * (len(stale) > 1)}"
        yield Problem(
            "note", f"{count} put away more than {ttl.days} days ago still keep refs", Situation("hooks.sweep")
        )


def _everywhere(call: Call, *, write_tracked: bool, dry_run: bool, away: bool) -> Answer:
    from git_taskctx.hooks.everywhere import Home, install_everywhere, uninstall_everywhere

    verb = "uninstall" if away else "install"
    if write_tracked:
        raise Usage("--write-tracked is for one repository", hint=f"git taskctx {verb} --write-tracked")
    home = Home(os.environ, call.folder)
    plan = (uninstall_everywhere if away else install_everywhere)(home, dry_run=dry_run)
    return _answer(plan, dry_run=dry_run, again=f"{verb} --global")


def _answer(
    plan: InstallPlan,
    *,
    dry_run: bool,
    again: str,
    hints: tuple[str, ...] = (),
    code: int = 0,
    text: object = None,
    data: dict[str, object] | None = None,
) -> Answer:
    from git_taskctx.report import hooks as report
    from git_taskctx.report import text as words

    done = [(step.what, step.target) for step in plan.steps]
    if any("only when asked" in why for _, why in plan.left):
        hints = (
            f"git taskctx {again} --write-tracked --dry-run   # what would be written there",
            f"git taskctx {again} --write-tracked   # writes it",
        )

    def write(document: Document) -> None:
        report.steps(document, done, dry_run=dry_run)
        if callable(text):
            text(document)

    def notes(document: Document) -> None:
        report.left(document, plan.left)
        words.notes(document, plan.notes, hints)
        if not done and not plan.left:
            document.line("nothing to do")

    return Answer(
        {
            "dry_run": dry_run,
            "steps": [{"what": what, "target": target} for what, target in done],
            "left": [{"hook": event, "why": why} for event, why in plan.left],
            "warnings": plan.notes,
            **(data or {}),
        },
        text=write,
        notes=notes,
        code=1 if plan.left else code,
        reason="some hooks are left as they are" if plan.left else "the gate does not hold" if code else None,
        hints=hints if plan.left or code else (),
    )
