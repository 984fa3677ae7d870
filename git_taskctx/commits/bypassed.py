"""Commits that bypassed the gate and are still in the history of the next one: its proof will be violated."""

from __future__ import annotations

from git_taskctx.context.session import Session
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.policy import NO_VERIFY
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class BypassedHistory:
    """What stands against the proof, as long as the history is as it is."""

    commits: tuple[CommitOid, ...]
    """Those that bypassed the gate, oldest first."""
    head: CommitOid
    """The commit in whose history they are."""
    below: CommitOid | None
    """What the oldest of them sits on; None for the first commit of all."""

    @property
    def is_head(self) -> bool:
        """True when nothing but the head bypassed the gate."""
        return self.commits == (self.head,)

    @property
    def text(self) -> str:
        """What to say of it."""
        names = " and ".join(commit[:12] for commit in self.commits)
        one = len(self.commits) == 1
        return (
            f"commit{'s' * (not one)} {names} bypassed the gate: as long as {'it is' if one else 'they are'} in the "
            "history, the proof will be violated (bypass)"
        )

    @property
    def reason(self) -> str:
        """Why the proof of a commit that was made is violated."""
        names = " and ".join(commit[:12] for commit in self.commits)
        who = "it" if self.is_head else names
        return f"{who} bypassed the gate, so that its proof is violated (bypass)"


def standing(session: Session, head: CommitOid | None) -> BypassedHistory | None:
    """Return what bypassed the gate in the history of `head`, where a proof does not tolerate it; None without."""
    chain, repository = session.chain, session.repository
    if not chain.bypassed or head is None or NO_VERIFY in session.context.policy.commit.allow_bypass:
        return None
    without = [f"^{chain.init_head}"] if chain.init_head else []
    told = repository.git.run("rev-list", "--topo-order", "--reverse", head, *without, ok=(0, 128)).out
    found = tuple(CommitOid(oid) for oid in told.decode().split() if oid in chain.bypassed)
    if not found:
        return None
    return BypassedHistory(found, head, next(iter(repository.parents_of(found[0])), None))
