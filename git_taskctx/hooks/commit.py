"""The gate before a commit, and the seal after it."""

from __future__ import annotations

import contextlib

from git_taskctx.commits.gate import Attempt, check_commit, staged_paths
from git_taskctx.commits.seal import catch_up
from git_taskctx.context.caller import Caller
from git_taskctx.errors import TaskctxError
from git_taskctx.hooks.attempt import find_start, is_amend, is_put_aside
from git_taskctx.hooks.bodies import HookCall
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import Outcome, Remark
from git_taskctx.situation import Situation


def before_commit(caller: Caller, called: HookCall) -> list[Remark]:
    """Stop a commit that the gate refuses. Raises: TaskctxError, with its paths."""
    # Only `git commit` amends; a merge runs pre-merge-commit in its place (githooks).
    head = caller.repository.find_commit("HEAD") if called.name == "pre-commit" else None
    put_aside = is_put_aside(caller.repository, called.environ)
    attempt = Attempt(
        index=called.index,
        amends=head is not None and is_amend(caller.repository, called.environ, head),
        put_aside=put_aside,
        began=find_start(caller.repository, put_aside=put_aside),
    )
    try:
        return [replace(one, warns=True) for one in check_commit(caller, attempt)]
    except TaskctxError as error:
        if not error.paths:
            with contextlib.suppress(TaskctxError):
                error.paths = staged_paths(caller, attempt)
        raise


def after_commit(caller: Caller, called: HookCall) -> list[Remark]:
    """End the task when its commit was made; record a part of it, or a commit that bypassed the gate."""
    if caller.store.is_idle:
        return []
    caught = catch_up(caller, gated=True)
    lines = [Remark(text, Situation("chain.look"), warns=True) for text in caught.notices]
    if caught.sealed is not None:
        over = caught.sealed
        lines.append(Remark(over.summary, over.situation, warns=over.outcome is not Outcome.YES))
    return lines
