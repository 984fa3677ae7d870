"""Verification: the verdict on the worktree, and the budget it costs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from git_taskctx.commits.seal import CaughtUp, open_current
from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Session
from git_taskctx.drift.count import count_drift, judge_session, with_budget
from git_taskctx.git.worktree import read_worktree
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.situation import Situation


def verify(caller: Caller, *, expect: str | None = None, strict: bool = False, cold: bool = False) -> Verdict:
    """Return whether the worktree matches the last snapshot of the owner, or of `expect`.

    A no about the owner's snapshot adds one to its drift budget, once per difference. Where nothing can be written the
    verdict says that it was not counted. A task whose validated tree has been committed is sealed.
    """
    if caller.task is None and caller.store.is_idle:
        caller.store.check()
        return Verdict(
            subject="worktree",
            outcome=Outcome.COULD_NOT_TELL,
            summary="no task context is active here, so there is nothing to compare with",
            situation=Situation("clone.nothing_active", caller=caller),
        )
    with _opened(caller, expect) as (session, caught):
        if caught.sealed is not None:
            return caught.sealed
        with read_worktree(session.repository, keep=False, cold=cold) as reading:
            verdict = judge_session(session, reading, expect=expect, strict=strict)
            if expect in (None, session.chain.owner):
                counted = count_drift(session, reading, verdict)
            else:
                counted = with_budget(session, verdict)
            if counted is not None:
                return counted
    return verify(caller, expect=expect, strict=strict, cold=cold)


@contextlib.contextmanager
def _opened(caller: Caller, expect: str | None) -> Iterator[tuple[Session, CaughtUp]]:
    if expect is None:
        with open_current(caller) as opened:
            yield opened
        return
    with open_session(caller, write=False) as session:
        session.require_agent(expect)
        yield session, CaughtUp()
