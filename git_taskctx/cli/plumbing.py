"""Verbs for scripts and for finding one's way: fingerprint, config, schema, completion, help, demo."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call, shared, use_colour
from git_taskctx.cli.options import Argument, Option
from git_taskctx.errors import Usage
from git_taskctx.shell import shell_word


def fingerprint(
    call: Call,
    exact: Annotated[bool, Option("--exact", "Read every file again, whatever its timestamps.")] = False,
    write: Annotated[bool, Option("--write", "Keep the objects in the repository.")] = False,
) -> Answer:
    """Print the tree oid of the worktree.

    That covers tracked files, and untracked ones that are not ignored, as `git add -A` would add them.
    """
    from git_taskctx.git.worktree import read_worktree
    from git_taskctx.store import Store

    Store(call.repository).check()
    with read_worktree(call.repository, keep=write, cold=exact) as reading:
        tree = reading.tree
    return Answer({"tree": tree}, text=lambda document: document.line(tree))


def config(
    call: Call, show_origin: Annotated[bool, Option("--show-origin", "Show where each value comes from.")] = False
) -> Answer:
    """Show the policy and settings in force."""
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
        Literal["context", "export", "record", "files", "metrics", "manifest", "proof", "handoff", "run"] | None,
        Argument("[NAME]", "Which file; by default all of them, in one document."),
    ] = None,
) -> Answer:
    """Print the JSON schemas of the files we write."""
    from git_taskctx.model.schema import SCHEMAS, build_schema

    document: Any = build_schema(name) if name else {one: build_schema(one) for one in SCHEMAS}
    return Answer(document, raw=json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")


def completion(
    call: Call, shell: Annotated[Literal["bash", "zsh", "fish"], Argument("bash|zsh|fish", "The shell.")]
) -> Answer:
    """Print the completion script for a shell."""
    from git_taskctx.cli.completion import render_completion

    script = render_completion(shell)
    return Answer({"shell": shell, "script": script}, raw=script.encode())


def demo(
    call: Call,
    keep: Annotated[bool, Option("--keep", "Keep the throw-away repository, to look at.")] = False,
    pipeline: Annotated[bool, Option("--pipeline", "Play a pipeline instead, with scripted agents.")] = False,
) -> Answer:
    """Play a whole handoff in a throw-away repository."""
    import os
    import sys

    from git_taskctx.demo import play

    stream = sys.stdout if call.format == "text" else sys.stderr
    code = play(stream, environ=os.environ, colour=use_colour(stream), keep=keep, pipeline=pipeline)
    return Answer({"played": code == 0}, code=code, reason="the demo did not go as its story says" if code else None)


def show_help(
    call: Call,
    name: Annotated[
        str | None, Argument("[VERB|TOPIC]", "A verb, or a part of the manual such as drift.", complete="<verbs>")
    ] = None,
    every: Annotated[bool, Option("--all", "List every verb, plumbing included, and every topic.")] = False,
) -> Answer:
    """Show the manual, a part of it, or the help of one verb."""
    from git_taskctx.cli.help import render_help, render_verb
    from git_taskctx.cli.verbs import VERBS
    from git_taskctx.report.manual import render_manual, topics_of

    whole = render_manual(shared("man/man1/git-taskctx.1").decode("utf-8"))
    topics = topics_of(whole)

    if every and name is not None:
        raise Usage("--all lists every verb, and takes none", hint=f"git taskctx help {shell_word(name)}")
    if every:
        manual = render_help(topics=topics)
    elif name is None:
        manual = whole
    elif name in VERBS:
        manual = render_verb(VERBS[name])
    elif name.lower() in topics:
        manual = topics[name.lower()]
    else:
        from git_taskctx.cli.corrections import nearest

        near = nearest(name, [*VERBS, *topics])
        raise Usage(
            f"there is no verb or topic {name!r}", hint=f"git taskctx help {near}" if near else "git taskctx -h"
        )
    return Answer({"verb": name, "manual": manual}, raw=manual.encode(), paged="help")
