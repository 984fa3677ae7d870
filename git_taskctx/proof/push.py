"""The proof of the commits about to be pushed, for the pre-push hook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from git_taskctx.errors import GitFailed, TryAgain
from git_taskctx.git.quoting import shown
from git_taskctx.git.refs import BRANCHES, read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.refs import SEEN
from git_taskctx.ledger.whereabouts import all_notes
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.progress import Progress
from git_taskctx.model.proof import Proof
from git_taskctx.model.values import dataclass
from git_taskctx.proof.clone import borrow_notes
from git_taskctx.proof.found import NO_RECORDS, having_asked
from git_taskctx.proof.prove import prove
from git_taskctx.proof.range import Range, read_commit
from git_taskctx.proof.rules import Rules


@dataclass(frozen=True)
class RefUpdate:
    """One line of the hook's stdin: the local and the remote side of a ref."""

    local_ref: str
    local: str
    remote_ref: str
    remote: str


def read_updates(data: bytes) -> list[RefUpdate]:
    """Read the hook's stdin; malformed lines are ignored."""
    words = (line.split(" ") for line in data.decode("utf-8", "surrogateescape").splitlines())
    return [RefUpdate(*four) for four in words if len(four) == 4]


def prove_push(
    repository: Repository,
    remote: str,
    updates: Sequence[RefUpdate],
    rules: Callable[[CommitOid | None], Rules],
    *,
    always: bool = True,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> list[Proof]:
    """Prove, for each branch of a push, the commits that `remote` lacks. Raises: CouldNotTell when one is missing.

    Deletions and other refs (tags, notes, ours) are not judged. The policy, read by `rules`, is that of the remote's
    branch, else of where the new commits begin; without `always` only what it requires is proved. Missing records are
    looked up on the remote; other proofs do not believe those, as anyone may push there.
    """
    known = _tips_of(repository, remote)
    ranges = [what for update in updates if (what := _range_of(repository, update, known)) is not None]
    judged = [(what, by) for what in ranges if always | (by := rules(what.policy)).policy.hooks.pre_push]
    proofs = [prove(repository, what, by) for what, by in judged]
    if not remote or not any(proof.codes & NO_RECORDS for proof in proofs):
        return proofs
    on_progress(Progress(f"asking {shown(remote)} for records, {repository.git.network_limit:g} s at most", 0, -1))
    try:
        theirs = borrow_notes(repository, remote, name=SEEN)
    except (GitFailed, TryAgain):  # the hint is to fetch them, which says why they do not come
        return proofs
    here = all_notes(repository)
    if theirs is not None and theirs not in here:
        proofs = [prove(repository, what, by, beside=(*here, theirs)) for what, by in judged]
    return [having_asked(proof, remote) for proof in proofs]


def _tips_of(repository: Repository, remote: str) -> tuple[CommitOid, ...]:
    """Return the known tips of a remote's branches; none when pushing to an address."""
    if not remote or "/" in remote or ":" in remote:
        return ()
    found = read_refs(repository.git, f"refs/remotes/{remote}/")
    return tuple(CommitOid(oid) for oid in dict.fromkeys(found.values()))


def _range_of(repository: Repository, update: RefUpdate, known: Sequence[CommitOid]) -> Range | None:
    zero = repository.objects.zero
    if update.local == zero or not update.remote_ref.startswith(BRANCHES):
        return None
    tip = repository.resolve_commit(update.local)
    there = CommitOid(update.remote) if update.remote != zero else None
    has_it = there is not None and repository.objects.has(there)
    without = tuple(dict.fromkeys(([there] if there is not None and has_it else []) + list(known)))
    new = list(_new_commits(repository, tip, without))
    if not new:
        return None
    policy = there if has_it else next(iter(read_commit(repository, new[-1]).parents), None)
    return Range(update.remote_ref, tip, without, policy, start=there if has_it else None)


def _new_commits(repository: Repository, tip: CommitOid, without: Sequence[CommitOid]) -> Iterator[CommitOid]:
    """Yield the commits along first parents that the remote lacks, newest first."""
    git = repository.as_written
    excluded = (f"^{commit}" for commit in without)
    listed = git.run("rev-list", "--first-parent", "--end-of-options", tip, *excluded)
    yield from (CommitOid(oid) for oid in listed.out.decode().split())
