"""Verbs for coding agents: agent-hook, which they call by themselves, and agent-setup, which makes them do it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call, shared
from git_taskctx.cli.options import Argument, Option
from git_taskctx.errors import Fatal, Usage

if TYPE_CHECKING:
    from git_taskctx.agents import setup
    from git_taskctx.model.step import Step

Agent = Literal["claude", "codex", "gemini", "cursor"]


def agent_hook(
    call: Call,
    event: Annotated[str, Argument("EVENT", "The event, by the agent's own name, such as PreToolUse.")],
    vendor: Annotated[Agent, Option("--agent claude|codex|gemini|cursor", "The agent that calls.")],
    role: Annotated[
        str | None,
        Option("--role R", "Who it acts as; by default GIT_TASKCTX_AGENT, then the owner.", complete="<agents>"),
    ] = None,
) -> Answer:
    """Answer a coding agent's hook; its payload is on stdin.

    Agents call it by themselves once `agent-setup` is done. It exits with 0 whatever it answers.
    """
    from git_taskctx.cli.agenthook import run_hook

    return Answer(raw=b"", code=run_hook(event, vendor, role))


def mcp(call: Call) -> Answer:
    """Serve what an agent needs as MCP tools, on stdin and stdout.

    For agents that run no commands; it needs the extra `mcp`, and ends when its client does.
    """
    import git_taskctx
    from git_taskctx.agents.libgit import look_inside
    from git_taskctx.agents.mcp import serve
    from git_taskctx.cli.plain import answer_here
    from git_taskctx.git.repository import Repository

    call.repository.close()
    for name in ("GIT_PAGER_IN_USE", "FORCE_COLOR"):
        os.environ.pop(name, None)
    Repository.inside = look_inside

    def installed() -> tuple[int, int]:
        try:
            found = Path(git_taskctx.__file__).stat()
        except OSError:  # a process of its own says that it is gone
            return 0, 0
        return found.st_ino, found.st_mtime_ns

    def read(words: Sequence[str]) -> str | None:  # what is loaded here answers for no other version
        return answer_here(words) if installed() == loaded else None

    loaded = installed()
    serve(read)
    return Answer(raw=b"")


def agent_setup(
    call: Call,
    vendor: Annotated[Agent, Argument("claude|codex|gemini|cursor", "The agent.")],
    project: Annotated[
        bool, Option("--project", "For everyone in this repository; the default.", excludes="--user")
    ] = False,
    user: Annotated[bool, Option("--user", "For the current user, in every repository.", excludes="--project")] = False,
    role: Annotated[
        str | None, Option("--role R", "Make the hooks act as R, whatever the session is.", complete="<agents>")
    ] = None,
    show: Annotated[
        bool, Option("--print", "Only print the hooks, to add them by hand.", excludes="--dry-run --remove --check")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", "Only show what would change, as a diff.", excludes="--print --check")
    ] = False,
    remove: Annotated[
        bool, Option("--remove", "Remove what was added, and nothing else.", excludes="--print --check")
    ] = False,
    check: Annotated[
        bool,
        Option(
            "--check",
            "Check whether hooks, prompts and commands use the context.",
            excludes="--print --dry-run --remove",
        ),
    ] = False,
) -> Answer:
    """Make a coding agent use the context.

    Adds hooks to its own configuration, a skill, and a block in AGENTS.md. Everything else in those files stays as it is, comments and layout included.
    """
    from git_taskctx.agents import setup, wiring
    from git_taskctx.agents.dialects import DIALECTS
    from git_taskctx.agents.jsontext import render
    from git_taskctx.model.oids import check_agent_name

    _require_one(vendor, {"--project": project, "--user": user})
    _require_one(vendor, {"--print": show, "--dry-run": dry_run and not remove, "--remove": remove, "--check": check})
    dialect, role = DIALECTS[vendor], check_agent_name(role) if role is not None else None
    if show:
        hooks = wiring.document(dialect, role)
        return Answer(hooks, raw=render(hooks).encode())
    place = _place(call, vendor, user=user)
    if check:
        return _checked(call, vendor, place)
    texts = {"skill": shared("agents/SKILL.md").decode(), "block": shared("agents/AGENTS.md").decode()}
    with contextlib.nullcontext() if dry_run else setup.held(place):
        plan = setup.plan_removing(dialect, place) if remove else setup.plan_adding(dialect, place, role, **texts)
        if not dry_run:
            setup.apply(plan, place)
    return _planned(call, vendor, place, plan, dry_run=dry_run, remove=remove)


def _require_one(agent: str, given: dict[str, bool]) -> None:
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        raise Usage(
            f"{' and '.join(chosen)} cannot be used together", hint=f"git taskctx agent-setup {agent} {chosen[0]}"
        )


def _place(call: Call, agent: Agent, *, user: bool) -> setup.AgentPlace:
    from git_taskctx.agents import setup
    from git_taskctx.agents.dialects import DIALECTS

    if not user:
        return setup.place_of(DIALECTS[agent], call.repository.toplevel, user=False)
    home = os.environ.get("HOME")
    if not home:
        raise Fatal(
            "HOME is not set, so there is no place for a user's settings",
            hint=f"git taskctx agent-setup {agent} --project",
        )
    variable = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(agent)
    return setup.place_of(DIALECTS[agent], Path(home), user=True, moved=os.environ.get(variable or ""))


def _planned(
    call: Call, agent: Agent, place: setup.AgentPlace, plan: setup.SetupPlan, *, dry_run: bool, remove: bool
) -> Answer:
    from git_taskctx.report import agents, text

    changes = [
        {
            "path": str(one.path) if place.user else one.name,
            "action": "add" if one.before is None else "remove" if one.after is None else "change",
        }
        for one in plan.changes
    ]
    warnings = list(plan.warnings)
    done = bool(changes) and not dry_run and not place.user
    active = done and call.caller().store.active() is not None
    if active:
        warnings.append("a task is active here, and these files are a change of its worktree")
    if changes and not remove and agent == "codex":
        warnings.append("Codex runs a new hook only once it has been looked at: type /hooks there")
    steps = _commits(call, agent, [one.name for one in plan.changes]) if done and not active and not remove else ()
    return Answer(
        {"agent": agent, "dry_run": dry_run, "changes": changes, "warnings": warnings},
        text=lambda document: agents.planned(document, agent, plan.changes, dry_run=dry_run, remove=remove),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def _commits(call: Call, agent: Agent, names: list[str]) -> tuple[Step, ...]:
    """Advise to commit the files before a task begins, except ignored ones."""
    from git_taskctx.agents.dialects import DIALECTS
    from git_taskctx.model.step import Step

    asked = b"".join(os.fsencode(name) + b"\0" for name in names)
    ignored = call.repository.git.run("check-ignore", "-z", "--stdin", stdin=asked, ok=(0, 1)).out.split(b"\0")
    top = "" if call.folder.resolve() == call.repository.toplevel.resolve() else ":/"
    shared = [f"{top}{name}" for name in names if os.fsencode(name) not in ignored]
    if not shared:
        return ()
    add = Step(("git", "add", "--", *shared), "before a task begins, so that they are not part of it")
    staged = call.repository.git.run("diff", "--cached", "--quiet", ok=(0, 1)).code
    rest = ("--", *shared) if staged else ()  # so that nothing else is committed with them
    return (add.then("git", "commit", "-m", f"Have {DIALECTS[agent].title} follow tasks", *rest),)


def _checked(call: Call, agent: Agent, place: setup.AgentPlace) -> Answer:
    from git_taskctx.agents import preflight, setup
    from git_taskctx.agents.dialects import DIALECTS
    from git_taskctx.cli.verbs import VERBS
    from git_taskctx.report import agents, text

    dialect = DIALECTS[agent]
    places = [place]
    if not place.user and os.environ.get("HOME"):
        places.append(_place(call, agent, user=True))
    wired = [found for one in places if (found := setup.find_wired(dialect, one)) is not None]
    old = not wired and any(setup.is_there(dialect, one) for one in places)
    policy = call.config(call.repository.head().commit).policy
    checked = preflight.check_prompts(dialect, call.repository.toplevel, policy.agents, tuple(VERBS))
    good = bool(wired) and not checked.lacks
    steps = () if wired else (f"git taskctx agent-setup {agent}{' --user' if place.user else ''}",)
    return Answer(
        {"agent": agent, "wired": bool(wired), "prompts": checked.prompts, "lacks": checked.lacks},
        text=lambda document: agents.checked(document, dialect.title, wired=wired, old=old, checked=checked),
        notes=lambda document: text.notes(document, (), steps),
        code=0 if good else 1,
        reason=None if good else f"{dialect.title} does not use the context everywhere",
        hints=steps,
        paths=tuple(dict.fromkeys(lack.path for lack in checked.lacks)),
    )
