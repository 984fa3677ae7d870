"""Before a push: the proof of the commits about to leave, where `hooks.pre_push` asks for it."""

from __future__ import annotations

from git_taskctx.context.caller import Caller
from git_taskctx.errors import CouldNotTell, Refused
from git_taskctx.hooks.bodies import Line, Situation
from git_taskctx.model.proof import Proven
from git_taskctx.proof.push import prove_push, read_updates


def before_push(caller: Caller, situation: Situation) -> list[Line]:
    """Let only proved commits leave, where the policy of HEAD or of what they are added to asks for it.

    Raises: Refused for commits that are not what was validated; CouldNotTell where nothing proves them.
    """
    repository = caller.repository
    remote = situation.args[0] if situation.args else ""
    always = situation.rules(repository.find_commit("HEAD")).policy.hooks.pre_push
    proofs = prove_push(repository, remote, read_updates(situation.stdin()), situation.rules, always=always)
    for wanted, error in ((Proven.VIOLATED, Refused), (Proven.UNPROVEN, CouldNotTell)):
        for proof in proofs:
            if proof.verdict is wanted:
                tip = proof.commits[0].commit[:12] if proof.commits else "HEAD"
                range_ = f"{proof.policy[:12]}..{tip}" if proof.policy is not None else tip
                hint = proof.hints[0] if proof.hints else f"git taskctx verify {range_}"
                raise error(f"this push is not proved: {proof.summary}", hint=hint)
    return [Line(f"proved: {proof.summary}") for proof in proofs]
