"""The proof of commits: what was found, commit by commit, and why; every reason has a stable code."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, field
from git_taskctx.situation import ASIDE, Situation


class Proven(StrEnum):
    """The verdict on a commit; `unproven` is never shown as a pass."""

    VERIFIED = "verified"
    VIOLATED = "violated"
    UNPROVEN = "unproven"


class Weight(StrEnum):
    """The effect of a reason on the verdict."""

    VIOLATED = "violated"
    UNPROVEN = "unproven"
    NOTICE = "notice"


class Code(StrEnum):
    """Why a commit is not proved, or a notice about a proved one. The values never change."""

    TREE_DIFFERS = "tree-differs"
    PARENT_DIFFERS = "parent-differs"
    COMMIT_BAD = "commit-bad"
    RECORD_EDITED = "record-edited"
    RECORD_MISSING = "record-missing"
    RECORD_BAD = "record-bad"
    FORK = "fork"
    ORDER = "order"
    NOT_DONE = "not-done"
    STALE = "stale"
    OUT_OF_TURN = "out-of-turn"
    EDITED_BY = "edited-by"
    FINDING_OPEN = "finding-open"
    BUDGET_OPEN = "budget-open"
    NO_NOTE = "no-note"
    QA_MISSING = "qa-missing"
    QA_FAILED = "qa-failed"
    BYPASS = "bypass"
    AGENTS_DIFFER = "agents-differ"
    SAME_ACTOR = "same-actor"
    UNSIGNED = "unsigned"
    SIGNATURE_BAD = "signature-bad"
    SIGNER_UNKNOWN = "signer-unknown"
    ACTOR_FORGED = "actor-forged"
    NO_RECORD = "no-record"
    NO_NOTES = "no-notes"
    NOT_SEALED = "not-sealed"
    MISPLACED = "misplaced"
    OTHER_PARENT = "other-parent"
    BASE_NOT_ANCESTOR = "base-not-ancestor"
    PART_OPEN = "part-open"
    MERGE_EDITED = "merge-edited"
    MERGE_UNCHECKED = "merge-unchecked"
    PARENT_UNPROVEN = "parent-unproven"
    POLICY_MISSING = "policy-missing"
    SIGNATURE_UNCHECKED = "signature-unchecked"
    OBJECTS_MISSING = "objects-missing"
    TOO_LARGE = "too-large"
    RECORD_NEWER = "record-newer"
    EMPTY_RANGE = "empty-range"
    DROPS_COMMITS = "drops-commits"
    FOREIGN_LINES = "foreign-lines"
    UNKNOWN_FIELDS = "unknown-fields"
    BYPASS_ALLOWED = "bypass-allowed"
    BYPASS_UNDONE = "bypass-undone"
    BY_PATCH = "by-patch"
    VOLATILE_KEYS = "volatile-keys"
    NOT_IN_TREE = "not-in-tree"


MEANINGS: Mapping[Code, tuple[Weight, str]] = {
    Code.TREE_DIFFERS: (Weight.VIOLATED, "the record names this commit, but not the tree that was validated"),
    Code.PARENT_DIFFERS: (Weight.VIOLATED, "the record names this commit, which sits on another parent than it must"),
    Code.COMMIT_BAD: (Weight.VIOLATED, "git does not write such a commit header, and tools may read it differently"),
    Code.RECORD_EDITED: (Weight.VIOLATED, "a record was edited: the next one carries another hash"),
    Code.RECORD_MISSING: (Weight.VIOLATED, "a record is missing in the middle of the chain, or its beginning"),
    Code.RECORD_BAD: (Weight.VIOLATED, "a record does not read, or cannot follow the one before"),
    Code.FORK: (Weight.VIOLATED, "two records follow the same one, and nobody said which holds"),
    Code.ORDER: (Weight.VIOLATED, "the records are not in the order of their times"),
    Code.NOT_DONE: (Weight.VIOLATED, "an agent of the chain has not approved"),
    Code.STALE: (Weight.VIOLATED, "an approval was for a tree or a text that was replaced"),
    Code.OUT_OF_TURN: (Weight.VIOLATED, "a record says what was not for its agent to do, by the rules of the chain"),
    Code.EDITED_BY: (Weight.VIOLATED, "an agent approved its own edits, which chain.may_edit does not allow"),
    Code.FINDING_OPEN: (Weight.VIOLATED, "a finding is open"),
    Code.BUDGET_OPEN: (Weight.VIOLATED, "drift was found, and not resolved"),
    Code.NO_NOTE: (Weight.VIOLATED, "drift was resolved, or attested, without saying why"),
    Code.QA_MISSING: (Weight.VIOLATED, "a command has no run on record for the validated tree (qa.require)"),
    Code.QA_FAILED: (Weight.VIOLATED, "the last run of a command on record is not a pass (qa.require)"),
    Code.BYPASS: (Weight.VIOLATED, "a check was bypassed in a way that commit.allow_bypass leaves out"),
    Code.AGENTS_DIFFER: (Weight.VIOLATED, "the chain is not made of the agents that the policy names"),
    Code.SAME_ACTOR: (Weight.VIOLATED, "who edited acted for a later agent (chain.distinct_actors)"),
    Code.UNSIGNED: (Weight.VIOLATED, "a record is not signed (proof.require_signed)"),
    Code.SIGNATURE_BAD: (Weight.VIOLATED, "the signature of a record does not fit it, or its key did not count then"),
    Code.SIGNER_UNKNOWN: (Weight.VIOLATED, "a record is signed with a key that the allowed signers do not have"),
    Code.ACTOR_FORGED: (Weight.VIOLATED, "a record is signed by somebody else than the actor it names"),
    Code.NO_RECORD: (Weight.UNPROVEN, "no record is about this commit or its tree"),
    Code.NO_NOTES: (Weight.UNPROVEN, "no records at all are in this clone"),
    Code.NOT_SEALED: (Weight.UNPROVEN, "the records end before the commit was sealed"),
    Code.MISPLACED: (Weight.UNPROVEN, "the records are about another tree: they were carried or moved here"),
    Code.OTHER_PARENT: (Weight.UNPROVEN, "the tree is the validated one, but it sits on another parent"),
    Code.BASE_NOT_ANCESTOR: (Weight.UNPROVEN, "the base of the reviewed diffs is not an ancestor of the commit"),
    Code.PART_OPEN: (Weight.UNPROVEN, "a part of a task whose last commit is not in the range"),
    Code.MERGE_EDITED: (Weight.UNPROVEN, "the merge holds more than git's automatic merge of its parents"),
    Code.MERGE_UNCHECKED: (Weight.UNPROVEN, "the merge cannot be made again here"),
    Code.PARENT_UNPROVEN: (Weight.UNPROVEN, "a parent of the merge is not proved"),
    Code.POLICY_MISSING: (Weight.UNPROVEN, "the commit that the policy is read from is not in this clone"),
    Code.SIGNATURE_UNCHECKED: (Weight.UNPROVEN, "the key or the program to check a signature with is missing here"),
    Code.OBJECTS_MISSING: (Weight.UNPROVEN, "objects that the answer rests on are missing or damaged"),
    Code.TOO_LARGE: (Weight.UNPROVEN, "a note or a record is larger than any that is ever written"),
    Code.RECORD_NEWER: (Weight.UNPROVEN, "a record was written by a later version of this program"),
    Code.EMPTY_RANGE: (Weight.UNPROVEN, "the range holds no commit"),
    Code.DROPS_COMMITS: (Weight.NOTICE, "the end of the range does not contain its start: a push there drops commits"),
    Code.FOREIGN_LINES: (Weight.NOTICE, "lines that are not records, or that nobody signed who may; they do not count"),
    Code.UNKNOWN_FIELDS: (Weight.NOTICE, "a record holds fields that only a later version knows; they do not count"),
    Code.BYPASS_ALLOWED: (Weight.NOTICE, "a check was bypassed, and commit.allow_bypass tolerates it"),
    Code.BYPASS_UNDONE: (Weight.NOTICE, "a commit bypassed the gate, and is not in the history of this one"),
    Code.BY_PATCH: (Weight.NOTICE, "the tree is another one; the patch is equal (proof.by_patch)"),
    Code.VOLATILE_KEYS: (Weight.NOTICE, "the task file differs in keys that may change (task.volatile)"),
    Code.NOT_IN_TREE: (Weight.NOTICE, "a dirty submodule, or a hidden edit, was there at the last approval"),
}
"""Every code with its weight and meaning, as in the manual."""


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
        return MEANINGS[self.code][0]


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
