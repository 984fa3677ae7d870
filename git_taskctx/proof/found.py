"""What was found out about one commit: the claims that may be about it, and the reasons for and against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Reason, Weight
from git_taskctx.model.values import dataclass
from git_taskctx.proof.claims import Claim, Told
from git_taskctx.proof.range import Commit

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Candidate:
    """A claim that may be about a commit, and what stands against that."""

    told: Told
    claim: Claim | None
    by: str
    reasons: tuple[Reason, ...]
    notices: tuple[Reason, ...] = ()

    @property
    def is_violated(self) -> bool:
        """True when something is wrong, not only missing."""
        return any(reason.weight is Weight.VIOLATED for reason in self.reasons)


@dataclass(frozen=True)
class Found:
    """What was found out about a commit alone; the records themselves are let go."""

    commit: Commit
    reasons: tuple[Reason, ...]
    notices: tuple[Reason, ...] = ()
    by: str | None = None
    """How it is proved; None while it is not."""
    task: str | None = None
    """The task of the records about it; None where there are none."""
    context: str | None = None
    parts: tuple[tuple[CommitOid, TreeOid], ...] = ()
    """The task's commits before this one, each with its tree."""
    candidate: Candidate | None = None
    """The records about it, where they are kept."""

    @property
    def is_violated(self) -> bool:
        """True when something is wrong, not only missing."""
        return any(reason.weight is Weight.VIOLATED for reason in self.reasons)
