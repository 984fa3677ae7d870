"""Verbs for scripts and for finding one's way: fingerprint, config, schema, completion, help, demo."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call, shared, use_colour
from git_taskctx.cli.options import Argument, Option, Verb
from git_taskctx.errors import Usage


def fingerprint(
    call: Call,
    exact: Annotated[bool, Option("--exact", help="Read every file again, whatever its times say.")] = False,
    write: Annotated[bool, Option("--write", help="Keep the objects in the repository.")] = False,
) -> Answer:
    """Print the oid of the worktree's tree.

    That is the tracked files plus the untracked ones that are not ignored, as `git add -A` would have them.
    """
    from git_taskctx.git.worktree import read_worktree
    from git_taskctx.store import Store

    Store(call.repository).check()
    with read_worktree(call.repository, keep=write, cold=exact) as reading:
        tree = reading.tree
    return Answer({"tree": tree}, text=lambda document: document.line(tree))


def config(
    call: Call,
    show_origin: Annotated[bool, Option("--show-origin", help="Say where each value comes from.")] = False,
) -> Answer:
    """Show the policy and the settings in force."""
    from git_taskctx.config import flatten
    from git_taskctx.report import text

    commit = call.repository.head().commit
    loaded = call.config(commit)
    policy = loaded.policy
    actor, said_by = call.find_actor()
    may_edit = [agent for agent in policy.agents if policy.may_edit(agent, policy.agents)]
    values = {**flatten(policy), "chain.may_edit": may_edit, "actor": actor}
    values |= {"lifecycle.on_complete": loaded.on_complete}
    origins = {**loaded.origins, "actor": said_by}
    data: Any = (
        {key: {"value": value, "origin": origins.get(key, "default")} for key, value in values.items()}
        if show_origin
        else values
    )
    apart = "as it is in the worktree does not count: policy is read as it is committed"
    warnings = (*loaded.warnings, *(f"{name} {apart}" for name in call.uncommitted_policy(commit)))
    rows = [
        (key, json.dumps(value, ensure_ascii=False), *((origins.get(key, "default"),) if show_origin else ()))
        for key, value in values.items()
    ]
    headings = ("key", "value", "origin") if show_origin else ("key", "value")
    return Answer(
        data,
        text=lambda document: document.table(headings, rows),
        notes=lambda document: text.warnings(document, warnings),
    )


def schema(
    call: Call,
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Which file; without it, all of them in one document.")
    ] = None,
) -> Answer:
    """Print the JSON schemas of the files we write."""
    from git_taskctx.cli.corrections import nearest
    from git_taskctx.model.schema import SCHEMAS, build_schema

    if name is not None and name not in SCHEMAS:
        near = nearest(name, SCHEMAS)
        raise Usage(
            f"there is no schema {name!r}, only {', '.join(SCHEMAS)}",
            hint=f"git taskctx schema {near}" if near else "git taskctx schema",
        )
    document: Any = build_schema(name) if name else {one: build_schema(one) for one in SCHEMAS}
    return Answer(document, raw=json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")


def completion(
    call: Call, shell: Annotated[Literal["bash", "zsh", "fish"], Argument(metavar="bash|zsh|fish", help="The shell.")]
) -> Answer:
    """Print the completion script for a shell."""
    place = {
        "bash": "bash-completion/completions/git-taskctx",
        "zsh": "zsh/site-functions/_git-taskctx",
        "fish": "fish/vendor_completions.d/git-taskctx.fish",
    }[shell]
    script = shared(place)
    return Answer({"shell": shell, "script": script.decode()}, raw=script)


def demo(
    call: Call,
    keep: Annotated[bool, Option("--keep", help="Leave the throw-away repository to look at.")] = False,
) -> Answer:
    """Show a full handoff in a throw-away repository."""
    import os
    import sys

    from git_taskctx.demo import play

    stream = sys.stdout if call.format == "text" else sys.stderr
    code = play(stream, environ=os.environ, colour=use_colour(stream), keep=keep)
    return Answer({"played": code == 0}, code=code, reason="the demo did not go as its story says" if code else None)


def show_help(call: Call, name: Annotated[str | None, Argument(metavar="[VERB]", help="A verb.")] = None) -> Answer:
    """Show the manual without `man`."""
    from git_taskctx.cli import plain
    from git_taskctx.cli.app import usage_of
    from git_taskctx.cli.corrections import nearest

    if name is None:
        from git_taskctx.report.manual import render_manual

        manual = render_manual(shared("man/man1/git-taskctx.1").decode("utf-8"))
        return Answer({"manual": manual}, raw=f"{manual}\n".encode())
    if name not in plain.NAMES:
        near = nearest(name, plain.NAMES)
        raise Usage(f"there is no verb {name!r}", hint=f"git taskctx help {near}" if near else "git taskctx -h")
    manual = usage_of(name)
    return Answer({"verb": name, "manual": manual}, raw=f"{manual}\n".encode())


VERBS = (
    Verb("fingerprint", fingerprint, common=("format",)),
    Verb("config", config, common=("format",)),
    Verb("schema", schema, common=("format",)),
    Verb("completion", completion, common=("format",)),
    Verb("demo", demo, common=()),
    Verb("help", show_help, common=()),
)
