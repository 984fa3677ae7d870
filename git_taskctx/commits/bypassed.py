"""Commits that went around the gate and are still in the history of the next one: its proof will be violated."""

from __future__ import annotations

from git_taskctx.context.session import Session
from git_taskctx.drift.mend import ACCEPT
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.policy import NO_VERIFY
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Standing:
    """What stands against the proof, as long as the history is as it is."""

    commits: tuple[CommitOid, ...]
    """Those that went around the gate, oldest first."""
    head: CommitOid
    """The commit in whose history they are."""
    below: CommitOid | None
    """What the oldest of them sits on; None for the first commit of all."""

    @property
    def is_head(self) -> bool:
        """True when nothing but the head went around the gate."""
        return self.commits == (self.head,)

    @property
    def text(self) -> str:
        """What to say of it."""
        names = " and ".join(commit[:12] for commit in self.commits)
        one = len(self.commits) == 1
        return (
            f"commit{'s' * (not one)} {names} went around the gate: as long as {'it is' if one else 'they are'} in the "
            "history, the proof will be violated (bypass)"
        )

    @property
    def reason(self) -> str:
        """Why the proof of a commit that was made is violated."""
        names = " and ".join(commit[:12] for commit in self.commits)
        who = "it" if self.is_head else names
        return f"{who} went around the gate, so that its proof is violated (bypass)"

    @property
    def commit_again(self) -> str:
        """The command that makes the commit anew of a task that is over: what every agent approved is proved."""
        return f"{self.take_back} && git commit   # the same tree, committed once it was approved, is proved"

    @property
    def take_back(self) -> str:
        """The command that takes them out of the history, and leaves the files as they are.

        `git reset` has nothing to go back to before a first commit.
        """
        return f"git reset --soft {self.below[:12]}" if self.below else "git update-ref -d HEAD"


def standing(session: Session, head: CommitOid | None) -> Standing | None:
    """Return what went around the gate in the history of `head`, where a proof does not tolerate it; None without."""
    chain, repository = session.chain, session.repository
    if not chain.bypassed or head is None or NO_VERIFY in session.context.policy.commit.allow_bypass:
        return None
    without = [f"^{chain.init_head}"] if chain.init_head else []
    told = repository.git.run("rev-list", "--topo-order", "--reverse", head, *without, ok=(0, 128)).out
    found = tuple(CommitOid(oid) for oid in told.decode().split() if oid in chain.bypassed)
    if not found:
        return None
    return Standing(found, head, next(iter(repository.parents_of(found[0])), None))


def way_back(session: Session, found: Standing) -> str:
    """Return how to go on without what went around the gate; who is at work has nothing to acknowledge."""
    if session.chain.at_work:
        return found.take_back
    return f"{found.take_back} && {ACCEPT}"
