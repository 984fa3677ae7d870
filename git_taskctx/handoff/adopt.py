"""Adopt a commit: attach a task's records to another commit with the validated tree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import cast

from git_taskctx.context.caller import Caller, check_records
from git_taskctx.context.opening import find_contexts
from git_taskctx.context.session import signer_of
from git_taskctx.context.volatile import put_back, put_back_file
from git_taskctx.errors import BadData, CouldNotTell, Refused, Usage
from git_taskctx.git.notes import NOTES_REF, read_note
from git_taskctx.git.refs import find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import append_records, find_context_ids, pages_of
from git_taskctx.ledger.entry import Entry, anchor_of, page_of
from git_taskctx.ledger.patches import facts_of
from git_taskctx.ledger.refs import refs_of
from git_taskctx.model.context import Context
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.payloads import Adopt, Origin, Seal, TaskFile
from git_taskctx.model.record import Record, body_of, link, record_id
from git_taskctx.model.values import dataclass, replace
from git_taskctx.proof.claims import Claim, RecordedContext, read_claims
from git_taskctx.proof.match import ClaimMatcher
from git_taskctx.proof.range import Commit, read_commit
from git_taskctx.proof.rules import Rules
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class Adopted:
    task: str
    context: str
    commit: CommitOid
    new: bool
    """False where the records already named the commit."""


def adopt(caller: Caller, revision: str, rules: Callable[[CommitOid | None], Rules]) -> Adopted:
    """Write a task's whole chain with a final `adopt` record on a commit that it proves, and on its tree.

    Raises: Refused for another tree or parent, or while the chain does not hold; Usage without a task; CouldNotTell
    where the task is unknown here.
    """
    repository = caller.repository
    commit = read_commit(repository, repository.resolve_commit(revision))
    task = caller.task or caller.store.active()
    if task is None:
        raise Usage("adopt needs to know whose records", Situation("clone.whose_records", revision=revision))
    held, contexts = rules(commit.parent), _contexts(repository, task)
    known = (*contexts, *find_context_ids(repository, task))
    chains = [one for one in _chains(repository, commit, known, held) if one.task == task]
    if caller.context_id is not None:
        chains = [one for one in chains if one.context == caller.context_id]
    if not chains:
        raise CouldNotTell(
            f"no records of {task} are here that could be about {commit.oid[:12]}",
            Situation("clone.fetch", repository=repository),
        )
    chosen, draft = _choose(repository, commit, chains, contexts, held)
    named = any(
        entry.record.commit == commit.oid and entry.record.type in ("seal", "adopt") for entry in chosen.entries
    )
    if not named:
        _write(caller, commit, chosen, draft, held)
    return Adopted(task, chosen.context, commit.oid, not named)


def _contexts(repository: Repository, task: str) -> dict[str, Context]:
    """Return a task's contexts that the refs know, by id."""
    found = find_contexts(repository)
    return {name: one for name, one in found.items() if isinstance(one, Context) and one.task_id == task}


def _chains(repository: Repository, commit: Commit, contexts: Collection[str], rules: Rules) -> list[RecordedContext]:
    """Return the chains that may be about a commit: of these contexts, and in the notes on it and on its tree."""
    notes = find_ref(repository.git, NOTES_REF)
    near = {line for target in (commit.oid, commit.tree) for line in read_note(repository.objects, notes, target)}
    near_contexts = read_claims(sorted(near), rules.policy, rules.agents).contexts
    known = {*contexts, *(one.context for one in near_contexts)}
    pages = (page for name in known for page in pages_of(repository, name, notes))
    lines = near.union(*pages)
    return list(read_claims(sorted(lines), rules.policy, rules.agents).contexts)


def _choose(
    repository: Repository, commit: Commit, chains: list[RecordedContext], contexts: Mapping[str, Context], rules: Rules
) -> tuple[RecordedContext, Record]:
    """Return the chain that proves the commit, and the record that would end it. Raises: Refused, for the nearest."""
    matcher = ClaimMatcher(repository, rules.policy, {})
    refused: list[Refused] = []
    for recorded in chains:
        draft = _draft(repository, commit, recorded, contexts.get(recorded.context), rules)
        claim = _claim(recorded, draft, rules) if draft is not None else None
        if draft is None or claim is None:
            continue
        fit = matcher.fit(commit, claim)
        reasons = (*recorded.reasons, *claim.reasons, *fit.reasons) if fit.is_same_tree else ()
        if fit.is_same_tree and not reasons:
            return recorded, draft
        text = f"{commit.oid[:12]} does not have the tree that was validated for {recorded.task} ({claim.tree[:12]})"
        if reasons:
            against = "; ".join(f"{reason.code.value}: {reason.message}" for reason in reasons[:3])
            text = f"the records of {recorded.task} do not prove {commit.oid[:12]} ({against})"
        differing = matcher.find_paths((commit.tree, reason) for reason in fit.reasons)
        paths = tuple(path for some in differing.values() for path in some)
        refused.append(
            Refused(text, Situation("clone.log_of", task=recorded.task, context=recorded.context), paths=paths)
        )
    if refused:
        raise refused[-1]
    task = chains[0].task
    raise Refused(f"{task} has no snapshot that a commit could be", Situation("clone.log_of", task=task))


def _claim(recorded: RecordedContext, draft: Record, rules: Rules) -> Claim | None:
    """Return the claim that the chain would make with a record at its end."""
    (record,) = link([draft], recorded.entries[-1].sha)
    entries = [*(entry.line for entry in recorded.entries), record.to_line()]
    for again in read_claims(entries, rules.policy, rules.agents).contexts:
        return again.claims[-1] if again.claims else None
    return None


def _draft(
    repository: Repository, commit: Commit, recorded: RecordedContext, context: Context | None, rules: Rules
) -> Record | None:
    """Return the `adopt` record of a commit, without author and time; None without a snapshot."""
    records = (entry.record for entry in recorded.entries if entry.record.type in ("snapshot", "seal", "adopt"))
    validated = [record for record in records if record.commit_tree is not None]
    if not validated:
        return None
    last, before = recorded.entries[-1].record, validated[-1]
    found = _task_file(repository, commit, recorded, before, context, rules)
    return replace(
        last,
        id=record_id(last.time, recorded.context, last.seq + 1),
        type="adopt",
        agent=None,
        seq=last.seq + 1,
        tree=before.tree,
        commit_tree=before.commit_tree,
        commit=commit.oid,
        diff_sha=None,
        prev=None,
        body=body_of(Adopt(found), Origin()),
    )


def _task_file(
    repository: Repository,
    commit: Commit,
    recorded: RecordedContext,
    before: Record,
    context: Context | None,
    rules: Rules,
) -> TaskFile | None:
    """Return how to put back a commit's task file, if only volatile keys differ (`task.volatile`).

    Without the context the ledger names the file: as in an earlier seal, else as captured, if its blob is here.
    """
    tree = before.commit_tree
    if tree is None or tree == commit.tree:
        return None
    if context is not None:
        return put_back(context, repository, commit.tree, tree)
    if isinstance(before.payload, Seal) and before.payload.task_file is not None:
        return before.payload.task_file
    try:
        captured = fold(entry.record for entry in recorded.entries).capture.oids("task")
    except BadData:  # which is a reason against the chain anyway
        return None
    volatile, file = rules.policy.task.volatile, next(iter(captured.items()), None)
    if file is None:
        return None
    return put_back_file(repository, file[0], tree, file[1], volatile=volatile, task=recorded.task)


def _write(caller: Caller, commit: Commit, recorded: RecordedContext, draft: Record, rules: Rules) -> None:
    repository = caller.repository
    time = max(caller.now(), draft.time)
    facts = facts_of(repository, commit.parent, draft.commit_tree or commit.tree)
    file = cast(Adopt, draft.payload).task_file
    origin = replace(caller.origin, force_secrets=False)  # nothing was looked through
    draft = replace(
        draft,
        id=record_id(time, recorded.context, draft.seq),
        actor=caller.actor,
        time=time,
        body=body_of(Adopt(file, facts.parent_tree, facts.patch), origin),
    )
    check_records(caller, [draft])
    (record,) = link([draft], recorded.entries[-1].sha, signer_of(repository, rules.policy))
    entries = (*recorded.entries, Entry(record, record.to_line()))
    lines: dict[str, list[str]] = {}
    for entry in entries:  # also on the anchors: the notes may have come without them
        page = anchor_of(repository, recorded.context, page_of(entry.record.seq))
        for target in (page, commit.oid, commit.tree, *facts.places):
            lines.setdefault(target, []).append(entry.line)
    append_records(
        repository,
        refs_of(repository, recorded.context),
        lines,
        [],
        context_id=recorded.context,
        tip=recorded.entries[-1].sha,
        reason=f"{recorded.task}: {commit.oid[:12]} adopted",
    )
