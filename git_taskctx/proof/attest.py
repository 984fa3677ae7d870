"""What the records say about verified commits, up to the record that claims the commit, for those who see no record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from git_taskctx.config import flatten
from git_taskctx.errors import BadData, CouldNotTell
from git_taskctx.git.notes import NOTES_REF, grep_notes
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import Chain, bypasses_of
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.whereabouts import all_notes
from git_taskctx.model.attestation import Approval, Checked, Found, Handoff, JudgedBy, Noted, Signatures, Taken, Trust
from git_taskctx.model.canonical import dump_canonical, sha256_hex
from git_taskctx.model.codec import to_plain
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.payloads import Resolve
from git_taskctx.model.policy import Policy
from git_taskctx.model.proof import CommitProof, Proof, Proven
from git_taskctx.model.record import Record, load_record
from git_taskctx.model.values import dataclass
from git_taskctx.proof.claims import CLAIMS, Claim
from git_taskctx.proof.found import Candidate, Judged
from git_taskctx.proof.range import Commit
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class Attested:
    """A verified commit and its records."""

    commit: Commit
    claim: Claim
    chain: Chain
    entries: tuple[Entry, ...]
    """The records, up to the one that names the commit."""
    handoff: Handoff


def attest(proof: Proof, found: Mapping[CommitOid, Judged], policy: JudgedBy) -> list[Attested]:
    """Return what is recorded about each verified commit of a range, oldest first; merges have no own records."""
    attested = []
    for one in reversed(proof.commits):
        commit, candidate = found[one.commit].commit, found[one.commit].candidate
        if one.verdict is not Proven.VERIFIED or one.by == "merge" or candidate is None:
            continue
        claim = claim_about(one, candidate)
        if claim is None or claim.chain is None:
            continue
        last = claim.record.seq
        entries = tuple(entry for entry in candidate.recorded.entries if entry.record.seq <= last)
        attested.append(
            Attested(commit, claim, claim.chain, entries, _handoff(one, commit, claim, claim.chain, entries, policy))
        )
    return attested


def claim_about(one: CommitProof, candidate: Candidate) -> Claim | None:
    """Return the claim about a commit that its proof relied on; later records are not considered."""
    if one.by != "part":
        return candidate.claim
    # proved by what the commit that ended the task says of it
    parts = (claim for claim in candidate.recorded.claims if claim.is_part and claim.record.commit == one.commit)
    return next(parts, None)


def judged_by(proof: Proof, policy: Policy) -> JudgedBy:
    """Return the policy that a proof applied."""
    rules = to_plain(flatten(policy))
    return JudgedBy(proof.policy, sha256_hex(dump_canonical(rules)), rules)


def _handoff(
    one: CommitProof, commit: Commit, claim: Claim, chain: Chain, entries: tuple[Entry, ...], policy: JudgedBy
) -> Handoff:
    records = [entry.record for entry in entries]
    signed = sum(record.signature is not None for record in records)
    state: Trust = "verified" if policy.rules["proof.require_signed"] else "unchecked" if signed else "none"
    return Handoff(
        task=claim.record.task,
        context=claim.record.context,
        commit=commit.oid,
        tree=commit.tree,
        parent=commit.parent,
        by=str(one.by),
        policy=policy,
        approvals=tuple(
            Approval(agent, seat.actor, seat.rounds, seat.done_tree, seat.completed_at if seat.done_tree else None)
            for agent, seat in chain.seats.items()
        ),
        snapshots=tuple(_snapshots(chain, records)),
        findings=tuple(
            Found(finding.id, finding.by, finding.at, finding.closed_at)
            for seat in chain.seats.values()
            for finding in seat.findings
        ),
        events=tuple(_events(records)),
        checks=tuple(_checks(chain)),
        signatures=Signatures(state, signed, len(records)),
        notices=tuple(dict.fromkeys(notice.code.value for notice in one.notices)),
        record=claim.record.id,
        sha256=entries[-1].sha,
    )


def _snapshots(chain: Chain, records: Iterable[Record]) -> Iterator[Taken]:
    ids = {record.seq: record.id for record in records}
    taken = sorted((one for seat in chain.seats.values() for one in seat.snapshots), key=lambda one: one.seq)
    for one in taken:
        yield Taken(ids[one.seq], one.agent, one.actor, one.time, one.tree, one.commit_tree, one.edits, one.accepted)


def _events(records: Iterable[Record]) -> Iterator[Noted]:
    for record in records:
        kinds = bypasses_of(record)
        if record.type == "drift":
            kinds = ("drift", *kinds)
        if isinstance(record.payload, Resolve):
            kinds = ("accepted" if record.payload.accepted else "resolved", *kinds)
        yield from (Noted(record.id, kind, record.actor, record.time) for kind in kinds)


def _checks(chain: Chain) -> Iterator[Checked]:
    """Yield the QA runs in the order in which they were recorded."""
    logs = {one.id: one.sha256 for one in chain.evidence}
    for run in chain.runs:
        failures = tuple(dict.fromkeys(name for report in run.reports for name in report.failures))
        yield Checked(run.key, run.agent, run.actor, run.at, run.tree, run.status, logs.get(run.log), failures)


def find_range(repository: Repository, task: str) -> str:
    """Return the commits of a task, as `REV` or `A..B`, according to the notes alone. Raises: CouldNotTell.

    Anybody can write notes: whether this is true is for the proof to decide.
    """
    notes = all_notes(repository)
    if not notes:
        raise CouldNotTell(f"there is no {NOTES_REF} in this clone", Situation("proof.no_notes"))
    about = f'"context":"[0-9a-f]{{16}}","task":"{task.replace(".", "[.]")}"'
    lines = grep_notes(repository, notes, f'"type":"({"|".join(CLAIMS)})",{about}')
    records = sorted((record for line in lines if (record := _claim_in(line)) is not None), key=lambda one: one.id)
    here = [one for one in records if one.commit is not None and repository.find_commit(one.commit) is not None]
    if not here:
        raise CouldNotTell(f"no commit of {task} is on record here", Situation("proof.none_of_task"))
    last = next((one for one in reversed(here) if one.type != "part"), here[-1])
    first = next((one for one in here if one.type == "part" and one.context == last.context), last)
    parents = repository.parents_of(CommitOid(str(first.commit)))
    return f"{parents[0]}..{last.commit}" if first is not last and parents else str(last.commit)


def _claim_in(line: str) -> Record | None:
    try:
        return load_record(line)
    except BadData:
        return None
