"""The proof of commits: what was found, commit by commit, and why; every reason has a stable code."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, field
from git_taskctx.situation import ASIDE, Situation


class Proven(StrEnum):
    """The verdict on a commit; `unproven` is never shown as a pass."""

    VERIFIED = "verified"
    VIOLATED = "violated"
    UNPROVEN = "unproven"

    @property
    def exit_code(self) -> int:
        return {"verified": 0, "violated": 1, "unproven": 3}[self]


class Weight(StrEnum):
    """The effect of a reason on the verdict."""

    VIOLATED = "violated"
    UNPROVEN = "unproven"
    NOTICE = "notice"


VIOLATED, UNPROVEN, NOTICE = Weight


class Code(StrEnum):
    """Why a commit is not proved, or a notice about a proved one. The values never change."""

    weight: Weight
    meaning: str
    """As in the manual."""

    def __new__(cls, value: str, weight: Weight, meaning: str) -> Code:
        made = str.__new__(cls, value)
        made._value_, made.weight, made.meaning = value, weight, meaning
        return made

    TREE_DIFFERS = "tree-differs", VIOLATED, "the record names this commit, but not the tree that was validated"
    PARENT_DIFFERS = "parent-differs", VIOLATED, "the record names this commit, which has another parent than it must"
    COMMIT_BAD = "commit-bad", VIOLATED, "git does not write such a commit header, and tools may read it differently"
    RECORD_EDITED = "record-edited", VIOLATED, "a record was edited: the next one carries another hash"
    RECORD_MISSING = "record-missing", VIOLATED, "a record is missing in the middle of the chain, or its beginning"
    RECORD_BAD = "record-bad", VIOLATED, "a record cannot be read, or cannot follow the one before"
    FORK = "fork", VIOLATED, "two records follow the same one, and nobody said which holds"
    ORDER = "order", VIOLATED, "the records are not in the order of their times"
    NOT_DONE = "not-done", VIOLATED, "an agent of the chain has not approved"
    STALE = "stale", VIOLATED, "an approval was for a tree or a text that was replaced"
    OUT_OF_TURN = "out-of-turn", VIOLATED, "a record says what was not for its agent to do, by the rules of the chain"
    EDITED_BY = "edited-by", VIOLATED, "an agent approved its own edits, which chain.may_edit does not allow"
    FINDING_OPEN = "finding-open", VIOLATED, "a finding is open"
    BUDGET_OPEN = "budget-open", VIOLATED, "drift was found, and not resolved"
    NO_NOTE = "no-note", VIOLATED, "drift was resolved, or attested, without saying why"
    QA_MISSING = "qa-missing", VIOLATED, "a command has no run on record for the validated tree (qa.require)"
    QA_FAILED = "qa-failed", VIOLATED, "the last run of a command on record is not a pass (qa.require)"
    BYPASS = "bypass", VIOLATED, "a check was bypassed in a way that commit.allow_bypass leaves out"
    AGENTS_DIFFER = "agents-differ", VIOLATED, "the chain is not made of the agents that the policy names"
    SAME_ACTOR = "same-actor", VIOLATED, "who edited acted for a later agent (chain.distinct_actors)"
    UNSIGNED = "unsigned", VIOLATED, "a record is not signed (proof.require_signed)"
    SIGNATURE_BAD = "signature-bad", VIOLATED, "a record's signature does not fit it, or its key did not count then"
    SIGNER_UNKNOWN = "signer-unknown", VIOLATED, "a record is signed with a key that the allowed signers do not have"
    ACTOR_FORGED = "actor-forged", VIOLATED, "a record is signed by somebody else than the actor it names"
    NO_RECORD = "no-record", UNPROVEN, "no record is about this commit or its tree"
    NO_NOTES = "no-notes", UNPROVEN, "no records at all are in this clone"
    NOT_SEALED = "not-sealed", UNPROVEN, "the records end before the commit was sealed"
    MISPLACED = "misplaced", UNPROVEN, "the records are about another tree: they were carried or moved here"
    OTHER_PARENT = "other-parent", UNPROVEN, "the tree is the validated one, but it sits on another parent"
    BASE_NOT_ANCESTOR = "base-not-ancestor", UNPROVEN, "the base of the reviewed diffs is not an ancestor of the commit"
    PART_OPEN = "part-open", UNPROVEN, "a part of a task whose last commit is not in the range"
    MERGE_EDITED = "merge-edited", UNPROVEN, "the merge holds more than git's automatic merge of its parents"
    MERGE_UNCHECKED = "merge-unchecked", UNPROVEN, "the merge cannot be made again here"
    PARENT_UNPROVEN = "parent-unproven", UNPROVEN, "a parent of the merge is not proved"
    POLICY_MISSING = "policy-missing", UNPROVEN, "the commit that the policy is read from is not in this clone"
    SIGNATURE_UNCHECKED = "signature-unchecked", UNPROVEN, "the key or program to check a signature is missing here"
    OBJECTS_MISSING = "objects-missing", UNPROVEN, "objects that the answer rests on are missing or damaged"
    TOO_LARGE = "too-large", UNPROVEN, "a note or a record is larger than any that is ever written"
    RECORD_NEWER = "record-newer", UNPROVEN, "a record was written by a later version of this program"
    EMPTY_RANGE = "empty-range", UNPROVEN, "the range holds no commit"
    DROPS_COMMITS = "drops-commits", NOTICE, "the range's end does not contain its start: a push there drops commits"
    FOREIGN_LINES = "foreign-lines", NOTICE, "lines that are not records, or are not validly signed; they do not count"
    UNKNOWN_FIELDS = "unknown-fields", NOTICE, "a record has fields that only a later version knows; they do not count"
    BYPASS_ALLOWED = "bypass-allowed", NOTICE, "a check was bypassed, and commit.allow_bypass tolerates it"
    BYPASS_UNDONE = "bypass-undone", NOTICE, "a commit bypassed the gate, and is not in the history of this one"
    BY_PATCH = "by-patch", NOTICE, "the tree is another one; the patch is equal (proof.by_patch)"
    VOLATILE_KEYS = "volatile-keys", NOTICE, "the task file differs in keys that may change (task.volatile)"
    NOT_IN_TREE = "not-in-tree", NOTICE, "a dirty submodule, or a hidden edit, was there at the last approval"


@dataclass(frozen=True)
class Reason:
    """One reason, about one commit."""

    code: Code
    message: str
    """One sentence; what came from a note in it is cut to a line."""
    record: str | None = None
    """Id of the record that it is about."""
    paths: tuple[str, ...] = ()
    """Paths that it is about, quoted as git quotes them; not all where there are many."""

    @property
    def weight(self) -> Weight:
        """What it does to the verdict."""
        return self.code.weight


def is_violated(reasons: Iterable[Reason]) -> bool:
    """Return whether something is wrong, not only missing."""
    return any(reason.weight is VIOLATED for reason in reasons)


@dataclass(frozen=True)
class CommitProof:
    """The verdict on one commit."""

    commit: CommitOid
    tree: TreeOid | None
    verdict: Proven
    required: bool
    """Whether `proof.scope` says that it must be proved."""
    subject: str = ""
    """The first line of its message."""
    by: str | None = None
    """How it was found: `commit`, `tree`, `patch`, `part`, `merge`; null while it is not verified."""
    task: str | None = None
    context: str | None = None
    reasons: tuple[Reason, ...] = ()
    """Why it is not verified."""
    notices: tuple[Reason, ...] = ()
    """Notices, which do not count."""


@dataclass(frozen=True)
class Proof:
    """The verdict on a commit or a range of commits."""

    subject: str
    """`commit`."""
    range: str
    """As it was asked."""
    verdict: Proven
    """The worst of the commits that must be proved."""
    summary: str
    """One sentence."""
    scope: str
    """`proof.scope`: `tip`, `tasks` or `every`."""
    policy: CommitOid | None
    """The commit that the policy was read from; null where there is none, and the defaults hold."""
    commits: tuple[CommitProof, ...] = ()
    """Newest first."""
    reasons: tuple[Reason, ...] = ()
    """Why the whole cannot be proved."""
    notices: tuple[Reason, ...] = ()
    """Notices about the whole."""
    hints: tuple[str, ...] = ()
    """Commands to type next."""
    warnings: tuple[str, ...] = ()
    situation: Situation | None = field(default=None, repr=False, compare=False, metadata=ASIDE)
    """Input of `report.advice`; None once `hints` has the answer."""

    @property
    def required(self) -> tuple[CommitProof, ...]:
        """The commits that must be proved."""
        return tuple(one for one in self.commits if one.required)

    @property
    def codes(self) -> frozenset[Code]:
        """Why it is not verified; for a merge also the reasons of its unproved parents."""
        codes = {reason.code for reason in self.reasons}
        codes |= {reason.code for one in self.required for reason in one.reasons}
        if Code.PARENT_UNPROVEN in codes:
            codes |= {reason.code for one in self.commits for reason in one.reasons}
        return frozenset(codes)
