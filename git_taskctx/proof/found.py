"""What was found about one commit: the claims that may apply, with reasons."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Code, Proof, Reason
from git_taskctx.model.values import dataclass, replace
from git_taskctx.proof.claims import Claim, RecordedContext
from git_taskctx.proof.range import Commit
from git_taskctx.situation import Situation

NO_RECORDS = {Code.NO_NOTES, Code.NO_RECORD, Code.NOT_SEALED}
CUT_OFF = {Code.POLICY_MISSING, Code.OBJECTS_MISSING, Code.MERGE_UNCHECKED, Code.BASE_NOT_ANCESTOR, Code.OTHER_PARENT}
"""Reasons that may go away with more history."""


@dataclass(frozen=True)
class Candidate:
    """A claim that may apply to a commit, and what is wrong with it."""

    recorded: RecordedContext
    claim: Claim | None
    by: str
    reasons: tuple[Reason, ...]
    notices: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Judged:
    """What was found about one commit."""

    commit: Commit
    reasons: tuple[Reason, ...]
    notices: tuple[Reason, ...] = ()
    by: str | None = None
    """How it is proved; None while it is not."""
    task: str | None = None
    context: str | None = None
    parts: tuple[tuple[CommitOid, TreeOid], ...] = ()
    """The task's commits before this one, each with its tree."""
    candidate: Candidate | None = None
    """The records about it, where they are kept."""


def is_open(reasons: Sequence[Reason]) -> bool:
    """Return whether a commit is a part of a task and lacks only the commit that ends it."""
    return {reason.code for reason in reasons} == {Code.PART_OPEN}


def having_asked(proof: Proof, remote: str, *, beside: Sequence[Situation] = ()) -> Proof:
    """Return a proof whose advice considers that `remote` was asked for records."""
    if proof.situation is None or proof.situation.kind != "proof.not_proved":
        return proof
    return replace(proof, situation=proof.situation.knowing(asked=(remote,), beside=tuple(beside)))
