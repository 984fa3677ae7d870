"""Before a push, prove the commits about to leave (`hooks.pre_push`)."""

from __future__ import annotations

from git_taskctx.context.caller import Caller
from git_taskctx.errors import CouldNotTell, Refused
from git_taskctx.hooks.bodies import HookCall
from git_taskctx.model.proof import Proven
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import Remark
from git_taskctx.proof.push import prove_push, read_updates
from git_taskctx.situation import Situation


def before_push(caller: Caller, called: HookCall) -> list[Remark]:
    """Let only proved commits leave, where the policy of HEAD or the remote branch says so.

    Raises: Refused, CouldNotTell.
    """
    repository = caller.repository
    remote = called.args[0] if called.args else ""
    policy = called.rules(repository.find_commit("HEAD")).policy.hooks
    repository.git = replace(repository.git, network_limit=policy.remote_seconds)
    updates = read_updates(called.stdin())
    proofs = prove_push(
        repository, remote, updates, called.rules, always=policy.pre_push, on_progress=caller.on_progress
    )
    for wanted, error in ((Proven.VIOLATED, Refused), (Proven.UNPROVEN, CouldNotTell)):
        for proof in proofs:
            if proof.verdict is wanted:
                raise error(
                    f"this push is not proved: {proof.summary}", Situation("proof.not_proved_push", found=proof)
                )
    return [Remark(f"proved: {proof.summary}") for proof in proofs]
