"""After a checkout: a context does not follow to another commit."""

from __future__ import annotations

from git_taskctx.context.caller import Caller
from git_taskctx.handoff.switch import follow_switch
from git_taskctx.hooks.bodies import HookCall
from git_taskctx.model.oids import CommitOid, is_oid
from git_taskctx.model.verdict import Remark


def after_checkout(caller: Caller, called: HookCall) -> list[Remark]:
    """Put the context away on a switch to another commit, and report one that waits here."""
    old, _, flag = (*called.args, "", "", "")[:3]
    if flag != "1" or not is_oid(old):  # files were checked out, no branch
        return []
    # After `git clone` and `git worktree add` HEAD was nowhere, which is all zeros (githooks, post-checkout).
    return follow_switch(caller, CommitOid(old) if old.strip("0") else None)
