"""The verb that the hooks of git call."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Argument
from git_taskctx.errors import TaskctxError, Usage, find_refusal

if TYPE_CHECKING:
    from git_taskctx.model.verdict import Remark
    from git_taskctx.report.document import Document

GATES = ("pre-commit", "pre-merge-commit", "pre-push")
"""Hooks that can stop git."""
SHOWN = 5
"""Maximum number of paths that stand in a message."""


def hook(
    call: Call,
    name: Annotated[str, Argument("NAME", "The hook, such as pre-commit.", complete="<hooks>")],
    args: Annotated[list[str] | None, Argument("[ARGS]...", "What git passes to the hook.")] = None,
) -> Answer:
    """Do the work of a git hook.

    The installed hooks call it; GIT_TASKCTX=0 makes it do nothing.
    """
    try:
        lines = _run(call, name, tuple(args or ()))
    except Usage:
        raise
    except TaskctxError as error:
        return _answer(name, error)
    except Exception as error:  # a bug of ours, which must not stand in the way
        refusal = find_refusal(error)
        return _answer(name, refusal) if refusal else _bug(call, name, error)
    said = [(line, _advice(line)) for line in lines]
    return Answer(notes=lambda document: _say(document, said))


def _run(call: Call, name: str, args: tuple[str, ...]) -> list[Remark]:
    from git_taskctx.cli.proof import rules_at
    from git_taskctx.git.repository import open_repository
    from git_taskctx.hooks.bodies import HookCall, run_body

    named = os.environ.get("GIT_INDEX_FILE")
    call._repository = open_repository(call.folder, _with_users_index(os.environ))
    called = HookCall(
        name=name,
        args=args,
        environ=os.environ,
        stdin=_read_stdin,
        index=call.folder / named if named else call.repository.index,
        rules=lambda commit: rules_at(call, commit),
    )
    return run_body(call.caller(named=False), called)


def _read_stdin() -> bytes:
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def _with_users_index(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the user's own index instead of the one being committed.

    git commits from `index.lock` with `commit -a`, from `next-index-PID.lock` with `commit -- path`.
    """
    named = environ.get("GIT_INDEX_FILE", "")
    users = dict(environ)
    if named.endswith(".lock"):
        users.pop("GIT_INDEX_FILE")
        if not Path(named).name.startswith("next-index-"):
            users["GIT_INDEX_FILE"] = named.removesuffix(".lock")
    return users


def _answer(name: str, error: TaskctxError) -> Answer:
    """Report an error with paths and advice; only the gate stops git."""
    from git_taskctx.report.advice import advise

    advise(error)
    stops = name in GATES
    commits = stops and name != "pre-push"  # what a push is about is not paths
    return Answer(
        code=error.exit_code if stops else 0,
        notes=lambda document: _refuse(document, error, stops=stops, commits=commits),
    )


def _refuse(document: Document, error: TaskctxError, *, stops: bool, commits: bool) -> None:
    document.line(("error: ", "bad") if stops else ("warning: ", "warn"), error.message.split("\n")[0])
    if stops and (error.paths or commits):
        document.line("paths: ", (_listed(error.paths), "path"))
    hint = error.hint or ("git taskctx status" if stops else "")
    if hint:
        command, mark, why = _in_one_line(hint).partition("   # ")
        document.line(("hint: ", "warn"), (command, "command"), (mark + why, "dim"))


def _in_one_line(hint: str) -> str:
    """Return a hint's first command, with the others as a comment."""
    first, *others = hint.split("\n")
    for other in others:
        command, _, why = other.partition("   # ")
        first += f"{'; ' if '   # ' in first else '   # '}{why or 'or'}: {command}"
    return first


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - SHOWN
    return ", ".join(paths[:SHOWN]) + (f", and {more} more" if more > 0 else "") or "none"


def _advice(line: Remark) -> str | None:
    """Return the first command of advice on a line."""
    if line.situation is None:
        return None
    from git_taskctx.report.advice import lines_for

    return next(iter(lines_for(line.situation)), None)


def _say(document: Document, lines: Sequence[tuple[Remark, str | None]]) -> None:
    for line, hint in lines:
        document.line(("warning: ", "warn") if line.warns else ("taskctx: ", "dim"), line.text)
        if hint:
            command, mark, why = hint.partition("   # ")
            document.line(("hint: ", "warn"), (command, "command"), (mark + why, "dim"))


def _bug(call: Call, name: str, error: Exception) -> Answer:
    import traceback

    if os.environ.get("GIT_TASKCTX_TRACE", "") not in ("", "0"):
        traceback.print_exception(error)
    stops = name in GATES and _is_closed(call)
    stopped = "push" if name == "pre-push" else "commit"
    what = f"stops this {stopped} (hooks.fail_closed)" if stops else "lets git go on"
    reason = (str(error).splitlines() or [""])[0]
    text = f"git-taskctx has a bug and {what}: {type(error).__name__}: {reason}"
    return Answer(code=TaskctxError.exit_code if stops else 0, notes=lambda document: document.line(text))


def _is_closed(call: Call) -> bool:
    """Return whether a bug of ours stops a commit, by the context's policy or the configuration."""

    def by_context() -> bool:
        from git_taskctx.context.opening import open_session

        with open_session(call.caller(named=False), write=False) as session:
            return session.context.policy.hooks.fail_closed

    def by_config() -> bool:
        return call.config(call.repository.find_commit("HEAD")).policy.hooks.fail_closed

    for ask in (by_context, by_config):
        try:
            if ask():
                return True
        except Exception:  # noqa: S112 - whatever the bug is, it may be here too
            continue
    return False
