"""Commits that bypassed the gate and are in the history of the next one, whose proof will be violated."""

from __future__ import annotations

from git_taskctx.context.session import Session
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.policy import NO_VERIFY
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class BypassedHistory:
    """Why the proof fails as long as the history stays as it is."""

    commits: tuple[CommitOid, ...]
    """Those that bypassed the gate, oldest first."""
    head: CommitOid
    """The commit with this history."""
    below: CommitOid | None
    """The parent of the oldest one."""

    @property
    def is_head(self) -> bool:
        """True when only the head bypassed the gate."""
        return self.commits == (self.head,)

    @property
    def text(self) -> str:
        names = " and ".join(commit[:12] for commit in self.commits)
        one = len(self.commits) == 1
        return (
            f"commit{'s' * (not one)} {names} bypassed the gate: as long as {'it is' if one else 'they are'} in the "
            "history, the proof will be violated (bypass)"
        )

    @property
    def reason(self) -> str:
        """Why the proof of an existing commit is violated."""
        names = " and ".join(commit[:12] for commit in self.commits)
        who = "it" if self.is_head else names
        return f"{who} bypassed the gate, so that its proof is violated (bypass)"


def find_bypassed(session: Session, head: CommitOid | None) -> BypassedHistory | None:
    """Return the bypasses in the history of `head` that a proof does not tolerate."""
    chain, repository = session.chain, session.repository
    if not chain.bypassed or head is None or NO_VERIFY in session.context.policy.commit.allow_bypass:
        return None
    without = [f"^{chain.init_head}"] if chain.init_head else []
    listed = repository.as_written.run("rev-list", "--topo-order", "--reverse", head, *without, ok=(0, 128)).out
    found = tuple(CommitOid(oid) for oid in listed.decode().split() if oid in chain.bypassed)
    if not found:
        return None
    return BypassedHistory(found, head, repository.parent_of(found[0]))
