"""Match a claim with a commit: by its tree, its parent, or its patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from git_taskctx.errors import BadData, CouldNotTell
from git_taskctx.git.changes import compare_many, compare_trees
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import Tree
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Seal
from git_taskctx.model.policy import Policy
from git_taskctx.model.proof import Code, Reason
from git_taskctx.model.values import dataclass
from git_taskctx.proof.claims import Claim, ForbiddenBypass
from git_taskctx.proof.range import Commit, find_commit, reaches, read_commit

if TYPE_CHECKING:
    from git_taskctx.ledger.chain import Chain
    from git_taskctx.ledger.patches import PatchPlace
    from git_taskctx.model.snapshot import Change

SHOWN = 20


@dataclass(frozen=True)
class ClaimMatch:
    """How a claim and a commit match."""

    is_same_tree: bool
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Reason, ...] = ()


class ClaimMatcher:
    """Matches claims with commits."""

    def __init__(self, repository: Repository, policy: Policy, renamed: Mapping[CommitOid, CommitOid]) -> None:
        self.policy = policy
        self._repository = repository
        self._renamed = renamed
        self._other: dict[tuple[TreeOid, Reason], TreeOid] = {}
        """The claimed trees that differ from the commit's, by the commit's tree and the reason given."""
        self._reached: dict[tuple[CommitOid, CommitOid | None], bool | None] = {}
        self._held: dict[tuple[CommitOid, CommitOid], bool | None] = {}
        self._parts: dict[str, tuple[Reason, ...]] = {}

    def fit(self, commit: Commit, claim: Claim) -> ClaimMatch:
        """Return whether a claim is about a commit, and what is wrong with it."""
        notices: tuple[Reason, ...] = ()
        record = claim.record
        if commit.tree != claim.tree:
            put_back = self._is_put_back(commit, claim)
            if put_back is None:
                lost = (
                    f"the task file as it was validated is not in this clone, and {record.id} is by an actor who edited"
                )
                return ClaimMatch(True, (Reason(Code.OBJECTS_MISSING, lost, record.id),))
            if not put_back:
                return ClaimMatch(False, (self._other_tree(commit, claim),))
            notices = (Reason(Code.VOLATILE_KEYS, f"{record.id} allows for keys that may change", record.id),)
        if claim.chain is None:  # the chain does not hold, and says nothing of the parent that could be believed
            return ClaimMatch(True, (), notices)
        if commit.parent is None and claim.parent is None and not self._names(record.commit, commit):
            alone = f"{record.id} names another commit; one without parents is proved by its own record alone"
            return ClaimMatch(True, (Reason(Code.OTHER_PARENT, alone, record.id),), notices)
        if not self._is_parent(commit, claim):
            at = f"{(claim.parent or 'no commit')[:12]}, and it sits on {(commit.parent or 'no commit')[:12]}"
            code = Code.PARENT_DIFFERS if record.commit == commit.oid else Code.OTHER_PARENT
            return ClaimMatch(True, (Reason(code, f"the task's commit must sit on {at}", record.id),), notices)
        if (other := self._dropped(commit, claim.chain)) is not None:
            more = f"it merges {other[:12]}, whose changes may not be in the tree; no merge was approved"
            return ClaimMatch(True, (Reason(Code.OTHER_PARENT, more, record.id),), notices)
        if claim.is_part:
            goes_on = Reason(Code.PART_OPEN, "the task goes on after this commit", record.id)
            return ClaimMatch(True, (*self._beyond(commit, claim), goes_on), notices)
        around, undone = self.judge_bypasses(commit, claim)
        reasons, also = self._judge_handed(claim)
        notices = (*notices, *also)
        rests = (reason for part in claim.rests_on for reason in self._judge_part(part))
        return ClaimMatch(True, (*self._base(commit, claim), *reasons, *rests, *around), (*notices, *undone))

    def is_patch(self, claim: Claim, place: PatchPlace) -> bool:
        """Return whether a patch is the one between the parent and the tree of a task's commit.

        Where these objects are missing, the record is believed if its author is trusted.
        """
        from git_taskctx.ledger.patches import find_patches

        parent = find_commit(self._repository, claim.parent) if claim.parent else None
        made = find_patches(self._repository, [(parent.tree, claim.tree)])[0] if parent is not None else None
        return claim.trusted if made is None else made == place

    def _judge_part(self, part: Claim) -> tuple[Reason, ...]:
        """Return what is wrong with an earlier part of the task."""
        record = part.record
        if record.id not in self._parts:
            name = record.commit
            commit = find_commit(self._repository, self._renamed.get(name, name)) if name is not None else None
            lost = Reason(
                Code.OBJECTS_MISSING, f"{(name or '')[:12]}, a part of the task, is not in this clone", record.id
            )
            reasons = self.fit(commit, part).reasons if commit is not None else (lost,)
            self._parts[record.id] = tuple(one for one in (*part.reasons, *reasons) if one.code is not Code.PART_OPEN)
        return self._parts[record.id]

    def _judge_handed(self, claim: Claim) -> tuple[list[Reason], list[Reason]]:
        """Return what is wrong with trees handed over or approved, and what cannot be checked here.

        They may differ from what was left only in volatile keys of the task file.
        """
        reasons, notices = list(self._judge_commit_tree(claim)), list[Reason]()
        for record, left in claim.handed:
            try:
                changes = compare_trees(self._repository, left, TreeOid(record.tree or ""))
            except CouldNotTell:
                what = f"{record.id} was handed a tree with other keys, which is not in this clone"
                notices.append(Reason(Code.VOLATILE_KEYS, what, record.id))
                continue
            if not all(self._is_same_text(change, claim) for change in changes):
                other = f"{record.agent} began with another tree than was left"
                reasons.append(Reason(Code.EDITED_BY, other, record.id))
        return reasons, notices

    def _judge_commit_tree(self, claim: Claim) -> Iterator[Reason]:
        """Yield if the commit tree differs from the approved tree though nothing was dirty at `init`."""
        chain = claim.chain
        if chain is None or chain.expected is None or chain.expected.commit_tree == chain.expected.tree:
            return
        began = find_commit(self._repository, chain.init_head) if chain.init_head else None
        before = began.tree if began is not None else self._repository.objects.empty_tree
        if before == chain.init_tree:
            what = f"{claim.record.id} names a tree beside the one that was approved, and nothing was dirty at init"
            yield Reason(Code.TREE_DIFFERS, what, claim.record.id)

    def _beyond(self, commit: Commit, claim: Claim) -> Iterator[Reason]:
        """Yield what a part changes beyond the agents' tree."""
        record, objects = claim.record, self._repository.objects
        expected = claim.chain.expected if claim.chain is not None else None
        if expected is None:
            yield Reason(Code.NOT_DONE, "nobody had left a tree for it", record.id)
            return
        try:
            start = read_commit(self._repository, commit.parent).tree if commit.parent else objects.empty_tree
            pairs = [(start, commit.tree), (expected.commit_tree, commit.tree)]
            touched, missing = compare_many(self._repository, pairs)
        except CouldNotTell as error:
            if self.policy.commit.require == "validated":  # else what a part must be was nobody's to approve
                yield Reason(Code.OBJECTS_MISSING, error.message, record.id)
            return
        mine = {change.path for change in touched}
        odd = [one for one in missing if one.path in mine and not self._is_same_text(one, claim)]
        if odd:
            verb = "is" if len(odd) == 1 else "are"
            what = f"{len(odd)} path{'s' * (len(odd) != 1)} of it {verb} not as the agents left the tree"
            yield Reason(Code.TREE_DIFFERS, what, record.id, tuple(quote(one.path) for one in odd[:SHOWN]))

    def judge_bypasses(self, commit: Commit, claim: Claim) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
        """Return reasons and notices about commits that bypassed the gate; undone ones are not in the history."""
        reasons, notices = list[Reason](), list[Reason]()
        for one in claim.around:
            name = (one.commit or "")[:12]
            held = self._holds(commit, claim, one)
            if held is None:
                cut_off = f"history is cut, and {name}, which bypassed the gate, may be below"
                reasons.append(Reason(Code.OBJECTS_MISSING, cut_off, one.reason.record))
            elif held:
                reasons.append(one.reason)
            else:
                undone = f"{one.reason.message}: {name} is not in this history"
                notices.append(Reason(Code.BYPASS_UNDONE, undone, one.reason.record))
        return tuple(reasons), tuple(notices)

    def patch_places(self, commits: Iterable[Commit]) -> dict[CommitOid, PatchPlace]:
        """Return the blobs whose notes record the commits' patches; commits whose parent is missing are left out."""
        from git_taskctx.ledger.patches import find_patches

        pairs: dict[CommitOid, tuple[TreeOid, TreeOid]] = {}
        for commit in commits:
            parent = find_commit(self._repository, commit.parent) if commit.parent else None
            if len(commit.parents) == 1 and parent is not None:  # one without parents would bring everything back
                pairs[commit.oid] = (parent.tree, commit.tree)
        places = find_patches(self._repository, list(pairs.values()))
        return {oid: place for oid, place in zip(pairs, places, strict=True) if place is not None}

    def _other_tree(self, commit: Commit, claim: Claim) -> Reason:
        """Return the reason that a claim is about another tree; its paths are found later, for many at once."""
        record = claim.record
        reason = Reason(Code.TREE_DIFFERS, f"{record.id} names the tree {claim.tree[:12]}", record.id)
        if record.commit != commit.oid:
            about = f"{record.id} is about the tree {claim.tree[:12]} of {record.task}"
            reason = Reason(Code.MISPLACED, about, record.id)
        self._other[commit.tree, reason] = claim.tree
        return reason

    def find_paths(self, asked_of: Iterable[tuple[TreeOid, Reason]]) -> dict[tuple[TreeOid, Reason], tuple[str, ...]]:
        """Return the paths that differ from the claimed tree, for many at once; empty where a tree is missing here."""
        asked = {one: (self._other[one], one[0]) for one in asked_of if one in self._other}
        if not asked:
            return {}
        there = self._repository.objects.sizes({tree for pair in asked.values() for tree in pair})
        asked = {one: pair for one, pair in asked.items() if all(tree in there for tree in pair)}
        try:
            changes = compare_many(self._repository, list(asked.values()))
        except CouldNotTell:
            return {}
        return {
            one: tuple(quote(change.path) for change in some[:SHOWN]) for one, some in zip(asked, changes, strict=True)
        }

    def _names(self, name: CommitOid | None, commit: Commit) -> bool:
        """Return whether a record names this commit, or the one that it was rewritten from."""
        return name is not None and commit.oid in (name, self._renamed.get(name))

    def _is_parent(self, commit: Commit, claim: Claim) -> bool:
        """Return whether a commit has the right first parent: the named one, its rewrite, or one with its tree."""
        if commit.parent is None or claim.parent is None:
            return commit.parent == claim.parent
        if commit.parent in (claim.parent, self._renamed.get(claim.parent)):
            return True
        actual = find_commit(self._repository, commit.parent)
        if actual is None:
            return False
        wanted = find_commit(self._repository, claim.parent)
        said = claim.record.payload
        on_record = said.parent_tree if isinstance(said, Seal) and claim.trusted else None
        return actual.tree == (wanted.tree if wanted else on_record)

    def _dropped(self, commit: Commit, chain: Chain) -> CommitOid | None:
        """Return a merged commit whose content may be lost; None where it is kept, or a merge was in progress."""
        if chain.expected is not None and chain.expected.in_progress == "merge":
            return None
        below = find_commit(self._repository, commit.parents[0]) if len(commit.parents) > 1 else None
        for oid in commit.parents[1:]:
            other = find_commit(self._repository, oid)
            is_held = other is not None and other.tree == commit.tree
            if not is_held and (below is None or not self._has(below, oid)):
                return oid
        return None

    def _base(self, commit: Commit, claim: Claim) -> list[Reason]:
        """Warn when the base of the reviewed diffs is known not to be an ancestor."""
        base = claim.record.base
        if base is None or base in (commit.parent, claim.parent) or self._renamed.get(base) is not None:
            return []
        if commit.parent != claim.parent:  # history was rewritten, and the old names are gone
            return []
        key = (base, commit.parent)
        if key not in self._reached:
            self._reached[key] = reaches(self._repository, commit, base)
        if self._reached[key] is not False:
            return []
        return [Reason(Code.BASE_NOT_ANCESTOR, f"the reviewed diffs begin at {base[:12]}", claim.record.id)]

    def _holds(self, commit: Commit, claim: Claim, one: ForbiddenBypass) -> bool | None:
        """Return whether a bypassing commit is an ancestor; None where history is too short to tell.

        Commits that the task was based on at the time of the bypass are older and do not count.
        """
        if one.commit == commit.oid:
            return True
        if one.moved and commit.parent != claim.parent:
            below = find_commit(self._repository, claim.parent) if claim.parent else None
            held = self._has(below, one.commit) if below else True  # history was rewritten, and the old one is gone
            if held is not False:
                return held
        if not one.moved and commit.parents == ((claim.parent,) if claim.parent else ()):
            return False
        names = {one.commit, self._renamed.get(one.commit) if one.commit else None} - {None}
        answers = {self._has(commit, name) for name in names}
        return True if True in answers else None if None in answers else False

    def _has(self, commit: Commit, wanted: CommitOid | None) -> bool | None:
        """Return whether `wanted` is the commit or an ancestor; None where history is cut before."""
        if wanted is None or commit.oid == wanted:
            return commit.oid == wanted
        key = (wanted, commit.oid)
        if key not in self._held:
            answer = reaches(self._repository, commit, wanted)
            if answer is None and not self._repository.is_shallow:
                # Nothing is cut, so that a commit that is not here is in no history.
                answer = False if find_commit(self._repository, wanted) is None else None
            self._held[key] = answer
        return self._held[key]

    def _is_put_back(self, commit: Commit, claim: Claim) -> bool | None:
        """Return whether the trees are equal once the task file's volatile keys are put back.

        The record names the blob; policy names the keys. None where the blob is missing and the record's author is not
        trusted to state its hash.
        """
        said = claim.record.payload
        file = said.task_file if isinstance(said, Seal) else None
        if file is None or file.volatile != self.policy.task.volatile or not _is_task_file(claim, file.path):
            return False
        tree, raw = Tree(self._repository.objects, commit.tree), unquote(file.path)
        try:
            held = tree.find(raw)
            if held is None:
                return False
            tree.put(raw, held.oid, held.mode)
            if tree.name() != commit.tree:  # not as git writes trees: a name may stand twice in one
                return False
            tree.put(raw, file.blob, held.mode)
            if tree.name() != claim.tree:
                return False
            text, wanted = (self._text_sha(oid, file.path, claim) for oid in (held.oid, file.blob))
        except (BadData, CouldNotTell, ValueError):  # a record may name a blob by what is no oid
            return False
        if wanted is None and not claim.trusted:
            return None
        return text == (wanted or file.text_sha)

    def _text_sha(self, blob: str, path: str, claim: Claim) -> str | None:
        """Return the hash of a task file without volatile keys; None where it is missing. Raises: BadData."""
        from git_taskctx.capture.taskfile import lasting_sha

        found = self._repository.objects.find(blob, limit=TEXT_FILE)
        if found is None or found.kind != "blob" or not found.whole:
            return None
        return lasting_sha(found.data, self.policy.task.volatile, name=path, task=claim.record.task)

    def _is_same_text(self, change: Change, claim: Claim) -> bool:
        """Return whether a change affects only volatile keys of the task file."""
        path = quote(change.path)
        if change.status != "M" or change.mode != change.old_mode or not _is_task_file(claim, path):
            return False
        try:
            text, wanted = (self._text_sha(oid, path, claim) for oid in (change.oid, change.old_oid))
        except (BadData, CouldNotTell):
            return False
        return text is not None and text == wanted


def _is_task_file(claim: Claim, path: str) -> bool:
    """Return whether a path is the task file; older records do not name it."""
    capture = claim.chain.capture if claim.chain is not None else None
    return capture is None or not capture.tools or path in capture.oids("task")
