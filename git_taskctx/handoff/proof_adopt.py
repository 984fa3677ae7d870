"""A commit adopted: the records of a task attached to a commit of the validated tree that they do not know."""

from __future__ import annotations

from collections.abc import Callable

from git_taskctx.errors import CouldNotTell, Refused, Usage
from git_taskctx.git.notes import NOTES_REF, read_note
from git_taskctx.git.refs import find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.handoff import ledger
from git_taskctx.handoff.ledger import Entry
from git_taskctx.handoff.opening import find_contexts
from git_taskctx.handoff.patches import facts_of
from git_taskctx.handoff.proof import Rules
from git_taskctx.handoff.proof_hints import fetch_command
from git_taskctx.handoff.proof_match import Matcher
from git_taskctx.handoff.proof_range import Commit, read_commit
from git_taskctx.handoff.proof_records import Claim, Told, read_claims
from git_taskctx.handoff.session import Caller, link, signer_of
from git_taskctx.model.context import Context
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.record import Record, record_id
from git_taskctx.model.values import dataclass, replace


@dataclass(frozen=True)
class Adopted:
    """What `adopt` did."""

    task: str
    context: str
    commit: CommitOid
    new: bool
    """False where the records named the commit before."""


def adopt(caller: Caller, revision: str, rules: Callable[[CommitOid | None], Rules]) -> Adopted:
    """Write a task's whole chain, with an `adopt` record at its end, on a commit that it proves, and on its tree.

    Raises: Refused for a commit of another tree, or on another parent, or while the chain does not hold; Usage without
    a task; CouldNotTell where nothing is known of the task here.
    """
    repository = caller.repository
    commit = read_commit(repository, repository.resolve_commit(revision))
    task = caller.task or caller.store.active()
    if task is None:
        raise Usage("adopt needs to know whose records", hint=f"git taskctx adopt {revision} --task TASK-1")
    held = rules(commit.parent)
    chains = [told for told in _chains(repository, commit, held) if told.task == task]
    if caller.context_id is not None:
        chains = [told for told in chains if told.context == caller.context_id]
    if not chains:
        raise CouldNotTell(
            f"no records of {task} are here that could be about {commit.oid[:12]}",
            hint=fetch_command(repository),
        )
    chosen = _choose(repository, commit, chains, held)
    known = any(
        entry.record.commit == commit.oid and entry.record.type in ("seal", "adopt") for entry in chosen.entries
    )
    if not known:
        _write(caller, commit, chosen, held)
    return Adopted(task, chosen.context, commit.oid, not known)


def _chains(repository: Repository, commit: Commit, rules: Rules) -> list[Told]:
    """Return every chain that may be about a commit: of the contexts here, and of the notes on it and on its tree."""
    notes = find_ref(repository.git, NOTES_REF)
    near = {line for target in (commit.oid, commit.tree) for line in read_note(repository.objects, notes, target)}
    told = read_claims(sorted(near), rules.policy, rules.agents).told
    known = {*_contexts(repository), *(one.context for one in told)}
    pages = (page for name in known for page in ledger.pages_of(repository, name, notes))
    lines = near.union(*pages)
    return list(read_claims(sorted(lines), rules.policy, rules.agents).told)


def _contexts(repository: Repository) -> list[str]:
    return [name for name, found in find_contexts(repository).items() if isinstance(found, Context)]


def _choose(repository: Repository, commit: Commit, chains: list[Told], rules: Rules) -> Told:
    """Return the chain that proves the commit. Raises: Refused, with what stands against the nearest."""
    matcher = Matcher(repository, rules.policy, {})
    refused: list[Refused] = []
    for told in chains:
        claim = _claim(told, commit, rules)
        if claim is None:
            continue
        fit = matcher.fit(commit, claim)
        reasons = fit.reasons if not fit.is_same_tree else (*told.reasons, *claim.reasons, *fit.reasons)
        if not reasons:
            return told
        paths = tuple(path for reason in reasons for path in reason.paths)
        hint = f"git taskctx log --task {told.task} --context {told.context}"
        what = "has another tree than was validated" if not fit.is_same_tree else "is not proved by it"
        text = "; ".join(f"{reason.code.value}: {reason.message}" for reason in reasons[:3])
        refused.append(Refused(f"{commit.oid[:12]} {what} for {told.task} ({text})", hint=hint, paths=paths))
    if refused:
        raise refused[-1]
    task = chains[0].task
    raise Refused(f"{task} has no snapshot that a commit could be", hint=f"git taskctx log --task {task}")


def _claim(told: Told, commit: Commit, rules: Rules) -> Claim | None:
    """Return the claim that the chain would make with an `adopt` record at its end."""
    draft = _draft(told, commit, "adopt", told.entries[-1].record.time)
    if draft is None:
        return None
    (record,) = link([draft], told.entries[-1].sha)
    entries = [*(entry.line for entry in told.entries), record.to_line()]
    for again in read_claims(entries, rules.policy, rules.agents).told:
        return again.claims[-1] if again.claims else None
    return None


def _draft(told: Told, commit: Commit, actor: str, time: str) -> Record | None:
    records = (entry.record for entry in told.entries if entry.record.type in ("snapshot", "seal", "adopt"))
    validated = [record for record in records if record.commit_tree is not None]
    if not validated or told.reasons:
        return None
    last, before = told.entries[-1].record, validated[-1]
    number = last.seq + 1
    return replace(
        last,
        id=record_id(time, told.context, number),
        type="adopt",
        agent=None,
        actor=actor,
        time=time,
        seq=number,
        tree=before.tree,
        commit_tree=before.commit_tree,
        commit=commit.oid,
        diff_sha=None,
        prev=None,
        extra={},
    )


def _write(caller: Caller, commit: Commit, told: Told, rules: Rules) -> None:
    repository = caller.repository
    time = max(caller.now(), told.entries[-1].record.time)
    draft = _draft(told, commit, caller.actor, time)
    if draft is None:
        raise Refused(f"the records of {told.task} do not hold", hint=f"git taskctx verify {commit.oid[:12]}")
    facts = facts_of(repository, commit.parent, commit.tree)
    draft = replace(draft, extra={**facts.extra, **caller.place})
    (record,) = link([draft], told.entries[-1].sha, signer_of(repository, rules.policy))
    entries = (*told.entries, Entry(record, record.to_line()))
    lines: dict[str, list[str]] = {}
    for entry in entries:  # also on the anchors: the notes may have come without them
        page = ledger.anchor_of(repository, told.context, ledger.page_of(entry.record.seq))
        for target in (page, commit.oid, commit.tree, *facts.places):
            lines.setdefault(target, []).append(entry.line)
    ledger.append(
        repository,
        ledger.refs_of(repository, told.context),
        lines,
        [],
        context_id=told.context,
        tip=told.entries[-1].sha,
        reason=f"{told.task}: {commit.oid[:12]} adopted",
    )
