"""Before a push, prove the commits about to leave, where `hooks.pre_push` asks for it.

Which records and snapshots leave with a push is decided in `sharing.leaving`.
"""

from __future__ import annotations

from git_taskctx.context.caller import Caller
from git_taskctx.errors import CouldNotTell, Refused
from git_taskctx.hooks.bodies import HookCall, HookMessage
from git_taskctx.model.proof import Proven
from git_taskctx.model.values import replace
from git_taskctx.proof.push import prove_push, read_updates
from git_taskctx.situation import Situation


def before_push(caller: Caller, called: HookCall) -> list[HookMessage]:
    """Let only proved commits leave, where the policy of HEAD or of what they are added to asks for it.

    Raises: Refused for commits that are not what was validated; CouldNotTell where nothing proves them.
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
    return [HookMessage(f"proved: {proof.summary}") for proof in proofs]
