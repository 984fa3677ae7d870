"""What was found out about one commit: the claims that may be about it, and the reasons for and against."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Code, Proof, Reason, Weight
from git_taskctx.model.values import dataclass, replace
from git_taskctx.proof.claims import Claim, RecordedContext
from git_taskctx.proof.range import Commit
from git_taskctx.situation import Situation

NO_RECORDS = {Code.NO_NOTES, Code.NO_RECORD, Code.NOT_SEALED}
CUT_OFF = {Code.POLICY_MISSING, Code.OBJECTS_MISSING, Code.MERGE_UNCHECKED, Code.BASE_NOT_ANCESTOR, Code.OTHER_PARENT}
"""Reasons that may go away with more history."""


@dataclass(frozen=True)
class Candidate:
    """A claim that may be about a commit, and what stands against that."""

    told: RecordedContext
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


def is_open(reasons: Sequence[Reason]) -> bool:
    """Return whether a commit is a part of a task that lacks nothing but the one that ends it."""
    return {reason.code for reason in reasons} == {Code.PART_OPEN}


def having_asked(proof: Proof, remote: str, *, beside: Sequence[Situation] = ()) -> Proof:
    """Return a proof whose advice knows that `remote` was asked for records, and what else was seen on the way."""
    if proof.situation is None or proof.situation.kind != "proof.not_proved":
        return proof
    return replace(proof, situation=proof.situation.knowing(asked=(remote,), beside=tuple(beside)))
