"""Prove that commits are what was validated, for anyone with a clone.

The answer rests on raw commits, tree names and notes; never on the worktree, the index or a branch. A chain is found by
commit, then by tree, then, where policy allows it, by patch. Unproven is never shown as a pass.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.whereabouts import all_notes
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Seal
from git_taskctx.model.proof import Code, CommitProof, Proof, Proven, Reason, Weight, is_violated
from git_taskctx.model.values import replace
from git_taskctx.proof.claims import Note, RecordedContext, cut
from git_taskctx.proof.found import Candidate, Judged, is_open
from git_taskctx.proof.match import ClaimMatcher
from git_taskctx.proof.range import Commit, Range, count_dropped, find_commit, find_cuts, first_parents, list_commits
from git_taskctx.proof.reader import Reader
from git_taskctx.proof.rules import Rules
from git_taskctx.proof.scope import required_commits
from git_taskctx.situation import Situation


def prove(
    repository: Repository,
    what: Range,
    rules: Rules,
    *,
    renamed: Mapping[CommitOid, CommitOid] | None = None,
    beside: Sequence[str] | None = None,
    keep: dict[CommitOid, Judged] | None = None,
) -> Proof:
    """Judge every commit of a range, and the range by those that `proof.scope` requires.

    `renamed` maps old to new names of rewritten commits; `beside` are the notes commits read besides the ledger, by
    default all fetched ones; `keep` receives what was found about each commit. Raises: CouldNotTell when a commit is
    missing.
    """
    commits = list_commits(repository, what)
    known = {commit.oid: commit for commit in commits}
    if beside is None:
        notes = all_notes(repository)
    else:
        ours = find_ref(repository.git, NOTES_REF)
        notes = tuple(dict.fromkeys((*((ours,) if ours else ()), *beside)))
    renamed = renamed or {}
    former = {new: old for old, new in renamed.items()}
    matcher, reader = ClaimMatcher(repository, rules.policy, renamed), Reader(repository, notes, rules)
    places = {commit.oid: _places(commit, former.get(commit.oid)) for commit in commits}
    reader.look_up([name for some in places.values() for _, name in some])
    found: dict[CommitOid, Judged] = {}
    for batch in reader.batches(commits, places):
        judged = _judge_batch(batch, places, reader, matcher)
        if keep is None:  # the records of many commits are more than a memory holds
            judged = {oid: replace(one, candidate=None) for oid, one in judged.items()}
        found |= judged
    _prove_parts(found, known)
    cuts = [] if what.is_alone else find_cuts(repository, what, known)
    merges = [commit for commit in reversed(commits) if len(commit.parents) > 1 and found[commit.oid].by is None]
    if merges:
        from git_taskctx.proof.merges import prove_first, prove_merges

        prove_merges(repository, merges, found, cuts)
        again = functools.partial(prove, repository, renamed=renamed, beside=beside)
        prove_first(repository, what, found, lambda one: again(one, rules.of(one)))
    if keep is not None:
        keep |= found
    required = required_commits(repository, what, found, rules.policy)
    paths = matcher.find_paths((one.commit.tree, reason) for one in found.values() for reason in one.reasons)
    shown = tuple(_proof_of(found[commit.oid], commit.oid in required, rules, paths) for commit in commits)
    cut_at = next(iter(cuts), None) if rules.policy.proof.scope != "tip" else None
    return _conclude(repository, what, rules, shown, cut_at, count_dropped(repository, what, commits))


def _places(commit: Commit, former: CommitOid | None) -> list[tuple[str, str]]:
    """Return where records about a commit may be, and how they are found; `former` is its name before a rewrite."""
    names = (("commit", commit.oid), ("commit", former), ("tree", commit.tree))
    return [(by, name) for by, name in names if name is not None]


def _judge_batch(
    commits: Sequence[Commit],
    places: Mapping[CommitOid, Sequence[tuple[str, str]]],
    reader: Reader,
    matcher: ClaimMatcher,
) -> dict[CommitOid, Judged]:
    """Judge commits, each on its own."""
    reader.read_ahead([name for commit in commits for _, name in places[commit.oid]])
    candidates: dict[CommitOid, list[Candidate]] = {}
    notices: dict[CommitOid, tuple[Reason, ...]] = {}
    for commit in commits:
        found: dict[tuple[str, ...], str] = {}  # the same note, on the commit and on its tree, is asked once
        for by, name in places[commit.oid]:
            found.setdefault(reader.blobs_of(name), by)
        candidates[commit.oid] = [
            candidate
            for blobs, by in found.items()
            for recorded in reader.read(blobs).contexts
            for candidate in _candidates(matcher, commit, recorded, by)
        ]
        notices[commit.oid] = tuple(dict.fromkeys(_oddities(map(reader.read, found))))
    if reader.signers is not None:
        for commit in commits:
            when = _when(reader, commit)
            candidates[commit.oid] = [
                replace(one, reasons=(*one.reasons, *reader.signers.against(one.recorded, one.claim, when)))
                for one in candidates[commit.oid]
            ]
    if matcher.policy.proof.by_patch:
        unproved = [
            commit
            for commit in commits
            if all(one.reasons and not is_violated(one.reasons) for one in candidates[commit.oid])
        ]
        for oid, candidate in _by_patch(matcher, reader, unproved).items():
            candidates[oid].insert(0, candidate)
    return {commit.oid: _choose(reader, commit, candidates[commit.oid], notices[commit.oid]) for commit in commits}


def _when(reader: Reader, commit: Commit) -> int | None:
    """Return when a commit was made, at the latest time its own and its parents' dates give.

    The committer chose its date, but less likely those of its parents.
    """
    parents = (find_commit(reader.repository, parent) for parent in commit.parents)
    times = [commit.time, *(parent.time for parent in parents if parent is not None)]
    return None if None in times else max(time for time in times if time is not None)


def _oddities(notes: Iterable[Note]) -> list[Reason]:
    some = list(notes)
    reasons = [reason for note in some for reason in note.reasons]
    foreign = max((note.foreign for note in some), default=0)
    if foreign:
        lines = "1 line that is no record" if foreign == 1 else f"{foreign} lines that are no records"
        reasons.append(Reason(Code.FOREIGN_LINES, f"the note holds {lines}"))
    return reasons


def _candidates(matcher: ClaimMatcher, commit: Commit, recorded: RecordedContext, by: str) -> list[Candidate]:
    """Return what a chain may say about a commit; nothing where it only began there."""
    if not recorded.claims:
        if all(entry.record.type == "init" for entry in recorded.entries):
            return []
        missing = Reason(Code.NOT_SEALED, f"the records of {recorded.task} say of no commit that it is the task's")
        return [Candidate(recorded, None, by, (*recorded.reasons, missing))]
    fits = [(claim, matcher.fit(commit, claim)) for claim in recorded.claims]
    right = [(claim, fit) for claim, fit in fits if fit.is_same_tree] or fits[-1:]
    return [
        Candidate(
            recorded,
            claim,
            by,
            fit.reasons if not fit.is_same_tree else (*recorded.reasons, *claim.reasons, *fit.reasons),
            (*claim.notices, *fit.notices),
        )
        for claim, fit in right
    ]


def _choose(reader: Reader, commit: Commit, candidates: Sequence[Candidate], notices: tuple[Reason, ...]) -> Judged:
    """Return the candidate that proves a commit, else the one with the clearest reasons.

    A commit whose header other tools may read differently from git is never proved.
    """
    if commit.odd is not None:
        task, context = next(((one.recorded.task, one.recorded.context) for one in candidates), (None, None))
        return Judged(commit, (Reason(Code.COMMIT_BAD, commit.odd),), task=task, context=context)
    proving = next((one for one in candidates if not one.reasons), None)
    known = tuple(notice for notice in notices if notice.weight is Weight.NOTICE)
    wrong = tuple(notice for notice in notices if notice.weight is not Weight.NOTICE)
    if proving is not None:
        some = proving.claim.parts if proving.claim is not None else ()
        parts = tuple((one.record.commit, one.tree) for one in some if one.record.commit is not None)
        notices = (*proving.notices, *known)
        return Judged(commit, (), notices, proving.by, proving.recorded.task, proving.recorded.context, parts, proving)
    chosen = min(candidates, key=lambda one: (not is_violated(one.reasons), not is_open(one.reasons)), default=None)
    if chosen is not None:
        reasons, notices = (*chosen.reasons, *wrong), (*chosen.notices, *known)
        return Judged(commit, reasons, notices, None, chosen.recorded.task, chosen.recorded.context, candidate=chosen)
    reasons = wrong or ((reader.error,) if reader.error else ())
    if not reasons:
        code = Code.NO_RECORD if reader.notes else Code.NO_NOTES
        missing = (
            "no record mentions this commit or its tree" if reader.notes else f"there is no {NOTES_REF} in this clone"
        )
        reasons = (Reason(code, missing),)
    return Judged(commit, reasons, known)


def _by_patch(matcher: ClaimMatcher, reader: Reader, commits: Sequence[Commit]) -> dict[CommitOid, Candidate]:
    """Return for each commit whose patch equals that of a task's commit the claim about it."""
    places, known = matcher.patch_places(commits), {commit.oid: commit for commit in commits}
    reader.look_up([place.blob for place in places.values()])
    reader.read_ahead([place.blob for place in places.values()])
    chains = {oid: reader.read(reader.blobs_of(place.blob)).contexts for oid, place in places.items()}
    found: dict[CommitOid, Candidate] = {}
    for oid, some in chains.items():
        for recorded in some:
            for claim in recorded.claims:
                said = claim.record.payload
                patch = said.patch if isinstance(said, Seal) else None
                if claim.is_part or patch != places[oid].sha or recorded.reasons or claim.reasons:
                    continue
                if not matcher.is_patch(claim, places[oid]):
                    continue
                if reader.signers is not None and reader.signers.against(recorded, claim, _when(reader, known[oid])):
                    continue
                around, undone = matcher.judge_bypasses(known[oid], claim)
                if around:
                    continue
                equal = Reason(Code.BY_PATCH, f"the patch is the one that made {(claim.record.commit or '')[:12]}")
                found.setdefault(oid, Candidate(recorded, claim, "patch", (), (*claim.notices, *undone, equal)))
    return found


def _prove_parts(found: dict[CommitOid, Judged], known: Mapping[CommitOid, Commit]) -> None:
    """Accept parts of a task that lack only the final commit, if that is in the range and proved."""
    for one in list(found.values()):
        parts = dict(one.parts)
        for commit in first_parents(known, one.commit) if parts else ():
            if parts.get(commit.oid) == commit.tree and is_open(found[commit.oid].reasons):
                part = replace(found[commit.oid], task=one.task, context=one.context, candidate=one.candidate)
                found[commit.oid] = replace(part, reasons=(), by="part")


def _proof_of(
    one: Judged, required: bool, rules: Rules, paths: Mapping[tuple[TreeOid, Reason], tuple[str, ...]]
) -> CommitProof:
    once = dict.fromkeys(one.reasons)
    reasons = tuple(replace(reason, paths=paths.get((one.commit.tree, reason), reason.paths)) for reason in once)
    verdict = Proven.VERIFIED if one.by is not None else Proven.UNPROVEN
    if is_violated(reasons):
        verdict = Proven.VIOLATED
    elif rules.missing:
        verdict = Proven.UNPROVEN
        reasons = (*reasons, Reason(Code.POLICY_MISSING, "the commit that the policy is read from is not here"))
    return CommitProof(
        commit=one.commit.oid,
        tree=one.commit.tree,
        verdict=verdict,
        required=required,
        subject=cut(one.commit.subject),
        by=one.by if verdict is Proven.VERIFIED else None,
        task=one.task,
        context=one.context,
        reasons=reasons,
        notices=tuple(dict.fromkeys(one.notices)),
    )


def _conclude(
    repository: Repository,
    what: Range,
    rules: Rules,
    commits: tuple[CommitProof, ...],
    cut_at: CommitOid | None,
    dropped: int | None,
) -> Proof:
    required = [one for one in commits if one.required]
    verdicts = {one.verdict for one in required}
    worst = next((one for one in (Proven.VIOLATED, Proven.UNPROVEN) if one in verdicts), Proven.VERIFIED)
    reasons: tuple[Reason, ...] = ()
    if not commits:
        worst, reasons = Proven.UNPROVEN, (Reason(Code.EMPTY_RANGE, f"{what.name} holds no commit"),)
    if cut_at is not None:
        reasons = (Reason(Code.OBJECTS_MISSING, f"history is cut at {cut_at[:12]}, and commits of the range with it"),)
        worst = Proven.UNPROVEN if worst is Proven.VERIFIED else worst
    proof = Proof(
        subject="commit",
        range=what.name,
        verdict=worst,
        summary="; ".join(_summary(what, worst, commits, cut_at, dropped)),
        scope=rules.policy.proof.scope,
        policy=what.policy,
        commits=commits,
        reasons=reasons,
        notices=tuple(_dropped(what, dropped)),
        warnings=rules.warnings,
    )
    if proof.verdict is Proven.VERIFIED:  # nothing is missing, and asking would load the worktree's engine
        return proof
    return replace(proof, situation=Situation("proof.not_proved", repository=repository, what=what, found=proof))


def _summary(
    what: Range, worst: Proven, commits: Sequence[CommitProof], cut_at: CommitOid | None, dropped: int | None
) -> Iterator[str]:
    """Yield the verdict in words, what the range leaves out, and how many commits nobody proved."""
    required, total = [one for one in commits if one.required], len(commits)
    bad = sum(one.verdict is worst for one in required)
    if cut_at is not None and not bad:
        yield f"the commits before {cut_at[:12]} are not here"
    elif not commits:
        yield f"{cut(what.name)} holds no commit"
    elif total == 1:
        yield f"{commits[0].commit[:12]} is {worst.value}"
    elif not required:
        yield f"none of {total} commits must be proved"
    else:
        yield f"{bad} of {len(required)} that must be proved {'is' if bad == 1 else 'are'} {worst.value}"
    if dropped:
        yield f"without {dropped} commit{'s' * (dropped != 1)} of {_start(what)}"
    if total > 1:
        left = sum(one.verdict is not Proven.VERIFIED for one in commits)
        yield f"{left} of {total} commits not proved" if left else f"all {total} commits proved"


def _dropped(what: Range, dropped: int | None) -> Iterator[Reason]:
    """Yield what pushing the tip over the start of its range would drop."""
    if dropped:
        is_one = dropped == 1
        them = f"{dropped} commit{'s' * (not is_one)} of {_start(what)} {'is' if is_one else 'are'} not in it"
        yield Reason(Code.DROPS_COMMITS, f"{them}: a push there would drop {'it' if is_one else 'them'}")
    elif dropped is None:
        yield Reason(Code.DROPS_COMMITS, f"history is cut: it may not hold all of {_start(what)}")


def _start(what: Range) -> str:
    """Return the name of a range's start."""
    return cut(what.name.partition("..")[0]) or (what.start or "")[:12]
