"""The proof that a CI job gives: fetch what its clone lacks, and report what cannot be fetched.

A CI clone has one commit, no notes and often no write access. Nothing is checked out, pushed or written except objects
and refs under `refs/taskctx/remotes`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from git_taskctx.errors import CouldNotTell, GitFailed
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import BRANCHES, find_ref
from git_taskctx.git.remote import fetch_ref, fetch_refs, list_remote, remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.whereabouts import place_of
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.proof import Code, Proof, Proven, Reason
from git_taskctx.model.values import replace
from git_taskctx.proof.found import CUT_OFF, having_asked
from git_taskctx.proof.job import WHOLE, CiJob, Named
from git_taskctx.proof.prove import prove
from git_taskctx.proof.range import Range, find_commit, find_short, lone_range, read_commit, split_name
from git_taskctx.proof.rules import Rules
from git_taskctx.situation import Situation

DEEPER = ("--deepen=50", "--deepen=250", "--deepen=1250", "--unshallow")
"""How deep history is fetched, step by step, while more of it may change the answer."""


def prove_job(
    repository: Repository, job: CiJob, rules: Callable[[CommitOid | None], Rules], *, policy: Named | None = None
) -> Proof:
    """Fetch what a job's clone lacks, and prove its commits; whatever cannot be fetched makes the proof unproven.

    `rules` reads the policy of a commit; `policy` overrides the job's. Only the history needed is fetched.
    """
    try:
        return _Clone(repository, job).prove(rules, policy)
    except (CouldNotTell, GitFailed) as error:
        return unproven_job(job.what, error)


def unproven_job(what: str, error: CouldNotTell | GitFailed) -> Proof:
    """Return an unproven proof: what the job is about is unknown or cannot be fetched."""
    return Proof(
        subject="commit",
        range=what,
        verdict=Proven.UNPROVEN,
        summary=error.message,
        scope="tip",
        policy=None,
        reasons=(Reason(Code.OBJECTS_MISSING, error.message),),
        hints=(error.hint,) if error.hint else (),
        situation=error.situation,
    )


def borrow_notes(repository: Repository, remote: str, *words: str, name: str = "notes") -> str | None:
    """Fetch a remote's ledger beside ours; return its commit, None if it has none. Raises: GitFailed.

    `words` limit its history. Other proofs read only what is stored under the name `notes`.
    """
    place = f"{place_of(repository.git, remote)}/{name}"
    theirs = list_remote(repository.git, remote, NOTES_REF).get(NOTES_REF)
    if theirs is not None and find_ref(repository.git, place) != theirs:
        fetch_ref(repository.git, remote, NOTES_REF, place, words=words)
        theirs = find_ref(repository.git, place)
    return theirs


class _Clone:
    """The clone of a CI job."""

    def __init__(self, repository: Repository, job: CiJob) -> None:
        self.repository = repository
        self.git = repository.git
        self.job = job
        names = remotes_of(self.git)
        if not names and not job.home:
            raise CouldNotTell("this clone has no remote to fetch from", hint="git remote add origin ADDRESS")
        self.origin = "origin" if "origin" in names or not names else names[0]
        self.home = job.home or self.origin
        """The remote that the change should go to; only those who may push write there."""
        self.warnings: list[str] = []
        self.beside: list[Situation] = []
        """The state of the remotes' notes."""

    def prove(self, rules: Callable[[CommitOid | None], Rules], policy: Named | None) -> Proof:
        """Fetch and prove, then fetch deeper while that may change the answer."""
        what = self._range(policy)
        judged = rules(what.policy)
        beside = list(self._notes(signed=judged.policy.proof.require_signed))
        found = prove(self.repository, what, judged, beside=beside)
        if not found.commits:  # nothing in it is new
            what = self._alone(what.tip, what.policy)
            found = prove(self.repository, what, judged, beside=beside)
        for step in DEEPER:
            if not self.repository.is_shallow or not self._may_lie_deeper(found, what):
                break
            self._deepen(what, step)
            found = prove(self.repository, what, judged, beside=beside)
        return self._with_advice(found)

    def _range(self, policy: Named | None) -> Range:
        tip = self._commit(self.job.tip, self.origin, depth=2)
        trusted = self._commit(self.job.trusted, self.home) if self.job.trusted is not None else None
        base = self._base(tip) if self.job.bases else None
        rules = self._commit(policy, self.home) if policy is not None else None
        if base is None or tip in (base, trusted):
            return self._alone(tip, rules or (trusted if trusted != tip else None))
        without = (base, trusted) if trusted not in (None, base) else (base,)
        start = base if base == self.job.before else None
        return Range(f"{base[:12]}..{tip[:12]}", tip, without, rules or trusted or base, start=start)

    def _alone(self, tip: CommitOid, rules: CommitOid | None) -> Range:
        """Return the range of one commit, judged by `rules`, else by its first parent."""
        parents = read_commit(self.repository, tip).parents
        if parents:
            self._commit(Named(parents[0]), self.origin)
        what = lone_range(self.repository, tip[:12], tip)
        return replace(what, policy=rules or what.policy)

    def _base(self, tip: CommitOid) -> CommitOid | None:
        """Return the first of the job's bases that can be fetched. Raises: CouldNotTell if none can."""
        failed: CouldNotTell | None = None
        if self.job.merge is not None:
            with contextlib.suppress(CouldNotTell):  # no longer there; the next best base is
                merge = read_commit(self.repository, self._commit(self.job.merge, self.origin))
                if merge.parents[1:] == (tip,):
                    return self._commit(Named(merge.parents[0]), self.home)
        for named in self.job.bases:
            try:
                return self._commit(named, self.home)
            except CouldNotTell as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return None

    def _commit(self, named: Named, remote: str, *, depth: int = 1) -> CommitOid:
        """Return a commit, fetched if it is missing. Raises: CouldNotTell."""
        found, why = self._here(named), ""
        if found is not None:
            return found
        for wanted in (named.oid, named.ref):
            if wanted is None:
                continue
            place = f"{place_of(self.git, remote)}/commits/{sha256_hex(wanted.encode('utf-8', 'surrogateescape'))[:12]}"
            try:
                self._fetch(remote, f"+{wanted}:{place}", f"--depth={depth}")
            except GitFailed as error:
                why = why or error.message
                continue
            found = self.repository.find_commit(named.oid or place)
            if found is not None:
                return found
        reason = why or f"{remote} does not have it any more"
        is_tag = named.words is not None and find_ref(self.git, f"refs/tags/{named.words}") is not None
        raise CouldNotTell(
            f"the commit {named} is not in this clone, and cannot be fetched: {reason}",
            Situation(
                "proof.cannot_fetch",
                remote=remote,
                wanted=named.oid or named.ref or "REF",
                tag=named.words if is_tag else None,
            ),
        )

    def _here(self, named: Named) -> CommitOid | None:
        """Return a commit of the clone, a branch by its full name (no tag can take it).

        Raises: Fatal for a local-only name.
        """
        if named.oid is not None or named.words is None:
            return self.repository.find_commit(named.oid) if named.oid is not None else None
        name, rest = split_name(named.words)
        if name in ("", "@", "HEAD"):
            return self.repository.resolve_commit(named.words)
        for ref in self._refs_of(name):
            if find_ref(self.git, ref) is not None:
                return self.repository.find_commit(ref + rest)
        return find_short(self.repository, name, rest)

    def _refs_of(self, name: str) -> Iterator[str]:
        """Yield the refs that a name may stand for."""
        if name.startswith(("refs/", *WHOLE)):
            yield name if name.startswith("refs/") else f"refs/{name}"
        elif any(name.startswith(f"{remote}/") for remote in ("origin", *remotes_of(self.git))):
            yield f"refs/remotes/{name}"
        else:
            yield from (f"refs/remotes/{self.origin}/{name}", BRANCHES + name)

    def _fetch(self, remote: str, refspec: str, *words: str) -> None:
        """Fetch as little history as the clone has; `--depth` would truncate a full clone."""
        fetch_refs(self.git, remote, [refspec], *(words if self.repository.is_shallow else ()))

    def _notes(self, *, signed: bool) -> Iterator[str]:
        """Yield the notes of the target, and those of a fork if signatures are required."""
        yield from self._notes_of(self.home)
        other = self.job.fork or (self.origin if self.job.home else None)
        if other is not None and signed:
            yield from self._notes_of(other, name="signed")
        elif other is not None:
            self.beside.append(Situation("proof.on_a_fork", fork=other, home=self.home))

    def _notes_of(self, remote: str, name: str = "notes") -> Iterator[str]:
        words = ("--depth=1",) if self.repository.is_shallow else ()
        try:
            theirs = borrow_notes(self.repository, remote, *words, name=name)
            if theirs is None:
                self.warnings.append(f"no records are on {remote} ({NOTES_REF})")
                self.beside.append(Situation("proof.none_there", remote=remote))
                return
            self.beside.append(Situation("proof.not_enough_there", remote=remote))
            yield theirs
        except GitFailed as error:
            self.warnings.append(f"the records on {remote} cannot be fetched: {error.message}")
            self.beside.append(Situation("proof.does_not_answer", remote=remote))

    def _may_lie_deeper(self, found: Proof, what: Range) -> bool:
        if found.verdict is not Proven.UNPROVEN:
            return False
        parents = read_commit(self.repository, what.tip).parents
        return bool(found.codes & CUT_OFF) or any(find_commit(self.repository, one) is None for one in parents)

    def _deepen(self, what: Range, step: str) -> None:
        wanted = {self.origin: [what.tip]}
        wanted.setdefault(self.home, []).extend(what.without)
        for remote, commits in wanted.items():
            try:
                fetch_refs(self.git, remote, commits, step)
            except GitFailed as error:
                self.warnings.append(f"no more history can be fetched from {remote}: {error.message}")

    def _with_advice(self, found: Proof) -> Proof:
        """Return a proof with advice once everything possible has been fetched."""
        warnings = (*found.warnings, *dict.fromkeys(self.warnings))
        return replace(having_asked(found, self.origin, beside=self.beside), warnings=warnings)
