"""What is known here of a task: from an active or archived context, or from a commit's notes alone.

Everything missing in this clone is reported as a gap, and never counts as good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from git_taskctx.commits.seal import open_current
from git_taskctx.context.caller import Caller
from git_taskctx.context.choose import choose_context
from git_taskctx.context.compare import Comparison, compare_runs, named_failures, stored_failures
from git_taskctx.context.opening import find_context, find_contexts, load_from_ref
from git_taskctx.context.qa import is_tree_of
from git_taskctx.context.session import Session
from git_taskctx.drift.count import judge_session
from git_taskctx.errors import BadData, CouldNotTell, Fatal, TaskctxError
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.patch import Patch, make_patches
from git_taskctx.git.refs import find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import read_worktree
from git_taskctx.ledger.chain import Chain, fold
from git_taskctx.ledger.entries import find_context_ids, read_entries, read_ledger
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.refs import refs_of
from git_taskctx.model.context import Context
from git_taskctx.model.oids import CommitOid, TreeOid, is_task_id
from git_taskctx.model.proof import Code, CommitProof, Proof, Proven
from git_taskctx.model.qa import QaRun
from git_taskctx.model.record import Record
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.proof.attest import claim_about
from git_taskctx.proof.claims import CLAIMS, RecordedContext
from git_taskctx.proof.found import Judged
from git_taskctx.proof.prove import prove
from git_taskctx.proof.range import resolve_range
from git_taskctx.proof.rules import Rules
from git_taskctx.proof.signers import Signers
from git_taskctx.report.advice import lines_for
from git_taskctx.report.turns import Bypassed, Drifted, Raised, Turn, all_bypasses, drifts_of, findings_of, turns_of
from git_taskctx.situation import Situation

STEPS = 40
"""Maximum number of steps shown with diffs, the last ones."""
DIFF_LIMIT = 2 * 1024 * 1024
"""Bytes kept of a diff."""
AT_ONCE = 8
"""Maximum number of diffs made by one git process."""
Trees = tuple[TreeOid, TreeOid]
RulesAt = Callable[[CommitOid | None], Rules]


@dataclass(frozen=True)
class Difference:
    """A diff to be read; binary files are only named."""

    data: bytes
    is_whole: bool
    """False where it was cut."""
    added: int
    deleted: int


@dataclass(frozen=True)
class Account:
    """Everything known of a task."""

    task: str
    context_id: str
    records: tuple[Record, ...]
    """Oldest first; as in the note where they do not form one chain."""
    context: Context | None = None
    """With the task's text; None where only the records are here."""
    chain: Chain | None = None
    """None where the records cannot be folded."""
    aside: tuple[Record, ...] = ()
    """Records on losing sides of forks."""
    later: tuple[Record, ...] = ()
    """Records after the one that claims the task's commit; no proof considers them."""
    proof: Proof | None = None
    """Of the task's commit, if it is here."""
    verdict: Verdict | None = None
    """On the worktree, while the task goes on in it."""
    signatures: Mapping[str, str | None] = field(default_factory=dict)
    """What is wrong with each record's signature, None where it is good; empty without signatures."""
    qa: Comparison | None = None
    turns: tuple[Turn, ...] = ()
    shown: frozenset[Trees] = frozenset()
    """The trees of the steps shown with diffs."""
    differences: Mapping[Trees, Difference] = field(default_factory=dict)
    """Those diffs; missing where objects are."""
    drifts: tuple[Drifted, ...] = ()
    bypasses: tuple[Bypassed, ...] = ()
    findings: tuple[Raised, ...] = ()
    gaps: tuple[str, ...] = ()
    """What is unknown."""
    warnings: tuple[str, ...] = ()
    """What is odd."""
    hints: tuple[str, ...] = ()
    """Commands that may bring what is missing."""


def account_of(caller: Caller, asked: str | None, rules: RulesAt) -> Account:
    """Return the account of a task or commit, by default of the active task, else of HEAD.

    Raises: Fatal for an unknown name; CouldNotTell where a commit has no record.
    """
    if asked is not None and _is_task(caller, asked):
        caller, asked = replace(caller, task=asked), None
    if asked is None and (caller.task or caller.store.active() or caller.store.marker()):
        return _of_task(caller, rules)
    return _of_commit(caller, "HEAD" if asked is None else asked, rules)


def _is_task(caller: Caller, word: str) -> bool:
    """Return whether a word names a task known here.

    A word that also names a commit is a task only if a context has this name, and no other task is named.
    """
    if not is_task_id(word):
        return False
    repository = caller.repository
    is_commit = repository.find_commit(word) is not None
    known = (one.task_id for one in find_contexts(repository).values() if isinstance(one, Context))
    if word == caller.store.active() or word in known:
        return caller.task in (None, word) or not is_commit
    return not is_commit and bool(find_context_ids(repository, word))


def _of_task(caller: Caller, rules: RulesAt) -> Account:
    store, repository = caller.store, caller.repository
    store.check()
    if caller.task is None or (caller.task == store.active() and caller.context_id in (None, store.marker())):
        return _of_files(caller, rules)
    try:
        context_id = choose_context(caller, caller.task)
    except Fatal:
        known = [caller.context_id] if caller.context_id else find_context_ids(repository, caller.task)
        if not known:
            raise
        return _of_ledger(caller, known[-1], rules)
    if context_id in store.archived():
        return _of_files(replace(caller, context_id=context_id), rules)
    context = find_context(repository, context_id)
    if context is None:
        raise Fatal(f"no context of {caller.task} is here", Situation("clone.known"))
    read = read_ledger(repository, context_id, find_ref(repository.git, NOTES_REF))
    return _of_session(_session(caller, context, read.entries, tuple(read.aside)), rules)


def _of_ledger(caller: Caller, context_id: str, rules: RulesAt) -> Account:
    """Return the account of a context that only the ledger knows."""
    repository = caller.repository
    read = read_ledger(repository, context_id, find_ref(repository.git, NOTES_REF))
    if not read.entries or read.entries[0].record.task != caller.task:
        raise Fatal(f"no record of context {context_id} of {caller.task} is here", Situation("clone.known"))
    recorded = RecordedContext(context_id, read.entries[0].record.task, tuple(read.entries), ())
    chain, gaps = fold(entry.record for entry in read.entries), [_no_text(recorded)]
    proof, recorded, later = _prove_sealed(repository, chain, recorded, rules, gaps)
    account = _account(caller, recorded, None, rules(proof.policy if proof is not None else chain.base), gaps)
    return replace(account, proof=proof, aside=_records(read.aside), later=_records(later))


def _of_files(caller: Caller, rules: RulesAt) -> Account:
    with open_current(caller) as (session, caught):
        # what was put on record just now stands in the records, and the next report is to say the same
        session.warnings = [warning for warning in session.warnings if warning not in caught.notices]
        return _of_session(session, rules)


def _session(caller: Caller, context: Context, entries: list[Entry], aside: tuple[Entry, ...] = ()) -> Session:
    """Return a context that only the refs keep, as archived."""
    refs = refs_of(caller.repository, context.context_id)
    chain = fold(entry.record for entry in entries)
    return Session(caller, context, chain, entries, refs, aside=aside, archived=True)


def _of_session(session: Session, rules: RulesAt) -> Account:
    chain, gaps, verdict, later = session.chain, list[str](), None, tuple[Entry, ...]()
    recorded = RecordedContext(session.context.context_id, session.task, tuple(session.entries), ())
    if session.archived or chain.sealed is not None:
        proof, recorded, later = _prove_sealed(session.repository, chain, recorded, rules, gaps)
    else:
        proof, verdict = None, _judge(session, gaps)
    policy = proof.policy if proof is not None else chain.base
    context = None
    if later:
        context = _context_of(session.repository, recorded, later, gaps)
        gaps += [_later_text(recorded)] if context is None else []
    present = verdict.tree if verdict is not None and verdict.outcome is not Outcome.YES else None
    account = _account(session.caller, recorded, session, rules(policy), gaps, present=present)
    account = replace(account, context=context or account.context, proof=proof, verdict=verdict)
    return replace(account, aside=_records(session.aside), later=_records(later))


def _records(entries: Iterable[Entry]) -> tuple[Record, ...]:
    return tuple(entry.record for entry in entries)


def _prove_sealed(
    repository: Repository, chain: Chain, recorded: RecordedContext, rules: RulesAt, gaps: list[str]
) -> tuple[Proof | None, RecordedContext, tuple[Entry, ...]]:
    """Return the proof of a task's commit, the records up to the one that names it, and those after."""
    if chain.sealed is None:
        gaps.append("no commit of the task is on record, so there is nothing to prove")
        return None, recorded, ()
    claims = (one.record for one in recorded.entries if one.record.type in CLAIMS and one.record.commit == chain.sealed)
    last = next(claims).seq
    if not repository.objects.has(chain.sealed):
        gaps.append(f"the task's commit {chain.sealed[:12]} is not in this clone, so it is not proved here")
        return None, *_divide(recorded, last)
    found: dict[CommitOid, Judged] = {}
    proof = _prove(repository, chain.sealed, rules, found)
    candidate = found[chain.sealed].candidate
    claim = claim_about(proof.commits[0], candidate) if candidate is not None else None
    if candidate is not None and claim is not None and proof.verdict is Proven.VERIFIED:
        last, lines = claim.record.seq, [entry.line for entry in candidate.recorded.entries[: claim.record.seq]]
        if [entry.line for entry in recorded.entries[:last]] != lines:
            gaps.append(f"the proof of {chain.sealed[:12]} went by other records than these")
    return proof, *_divide(recorded, last)


def _divide(recorded: RecordedContext, last: int) -> tuple[RecordedContext, tuple[Entry, ...]]:
    """Return the records up to one of them, and those after it."""
    return replace(recorded, entries=recorded.entries[:last]), recorded.entries[last:]


def _no_text(recorded: RecordedContext) -> str:
    return f"the text of {recorded.task} is not in this clone, only its records"


def _judge(session: Session, gaps: list[str]) -> Verdict | None:
    try:
        with read_worktree(session.repository, keep=False) as reading:
            return judge_session(session, reading)
    except TaskctxError as error:
        gaps.append(f"the worktree could not be read: {error.message}")
        return None


def _prove(repository: Repository, revision: str, rules: RulesAt, keep: dict[CommitOid, Judged] | None = None) -> Proof:
    what = resolve_range(repository, revision)
    return prove(repository, what, rules(what.policy), keep=keep)


def _of_commit(caller: Caller, revision: str, rules: RulesAt) -> Account:
    repository = caller.repository
    if repository.find_commit(revision) is None:
        raise Fatal(f"'{revision}' is neither a commit nor a task that is known here", Situation("clone.known"))
    found: dict[CommitOid, Judged] = {}
    proof = _prove(repository, revision, rules, found)
    one = _commit_with_records(caller, proof)
    candidate = found[one.commit].candidate
    if candidate is None:
        raise CouldNotTell(f"no record is about {revision}", Situation("clone.fetch", repository=repository))
    held, gaps, later, session = rules(proof.policy), list[str](), tuple[Entry, ...](), None
    claim = claim_about(one, candidate)
    forks = tuple(reason for reason in one.reasons if reason.code is Code.FORK)
    recorded = replace(candidate.recorded, reasons=(*candidate.recorded.reasons, *forks))
    if recorded.reasons:
        gaps.append("the records do not make one chain, so nothing that depends on them is shown")
    else:
        if claim is not None:
            recorded, later = _divide(recorded, claim.record.seq)
        context = _context_of(repository, recorded, later, gaps)
        if context is None:
            gaps.append(_no_text(recorded))
        else:
            session = _session(caller, context, list(recorded.entries))
    return replace(_account(caller, recorded, session, held, gaps), proof=proof, later=_records(later))


def _commit_with_records(caller: Caller, proof: Proof) -> CommitProof:
    """Return a proof's commit that has records. Raises: CouldNotTell without any."""
    tip = proof.commits[0]
    if tip.context is None:  # a merge rests on what it merges
        others = [one for one in proof.commits if one.context is not None and caller.task in (None, one.task)]
        if len({one.context for one in others}) != 1:
            missing = "no record mentions this commit or its tree" if not others else "it merges several tasks"
            reason = next((reason.message for reason in tip.reasons), missing)
            raise CouldNotTell(
                f"nothing is known of {tip.commit[:12]}: {reason if not others else missing}",
                Situation("proof.several_tasks", commits=others[:5])
                if others
                else Situation("proof.nothing_recorded", repository=caller.repository, found=proof),
            )
        tip = others[0]
    if caller.task not in (None, tip.task):
        raise CouldNotTell(
            f"the records about {tip.commit[:12]} are of {tip.task}", Situation("proof.other_task", task=caller.task)
        )
    return tip


def _context_of(
    repository: Repository, recorded: RecordedContext, later: Sequence[Entry], gaps: list[str]
) -> Context | None:
    """Return the context that the records confirm, from the refs; else, with a gap, that of a later record."""
    last = recorded.entries[-1]
    try:
        known = read_entries(repository, recorded.context)
    except BadData:
        known = []
    if [entry.line for entry in known[: len(recorded.entries)]] == [entry.line for entry in recorded.entries]:
        later = known[len(recorded.entries) :]
    for entry in (last, *later[-1:]):
        try:
            found = load_from_ref(repository, recorded.context, entry.record.context_sha)
        except (BadData, CouldNotTell):
            return None
        if found is not None:
            gaps += [_later_text(recorded)] if entry is not last else []
            return found
    return None


def _later_text(recorded: RecordedContext) -> str:
    return f"the text of {recorded.task} is as a record after the commit has it, and no proof has looked at that"


def _account(
    caller: Caller,
    recorded: RecordedContext,
    session: Session | None,
    rules: Rules,
    gaps: list[str],
    *,
    present: TreeOid | None = None,
) -> Account:
    """Return the account of these records, with the diffs between trees that are here."""
    repository, records = caller.repository, tuple(entry.record for entry in recorded.entries)
    account = Account(
        recorded.task,
        recorded.context,
        records,
        context=session.context if session is not None else None,
        signatures=_signatures(repository, recorded, rules),
        bypasses=tuple(all_bypasses(records)),
        drifts=drifts_of(records),
    )
    if not recorded.reasons:
        try:
            account = _add_up(account, repository, session, gaps, present)
        except BadData as error:
            gaps.append(f"the records do not add up: {error.message}")
    ways = lines_for(Situation("clone.not_all_here", repository=repository)) if gaps else ()
    warnings = tuple(session.warnings) if session is not None else ()
    return replace(account, gaps=tuple(dict.fromkeys(gaps)), hints=ways, warnings=warnings)


def _add_up(
    account: Account, repository: Repository, session: Session | None, gaps: list[str], present: TreeOid | None
) -> Account:
    """Complete the account from all records; `present` is the worktree's tree if it is this task's.

    Raises: BadData where they cannot be folded.
    """
    chain, turns = fold(account.records), turns_of(account.records)
    tree = present or chain.settled_tree
    same = is_tree_of(session, repository, tree) if session is not None else None
    shown = tuple(step.trees for turn in turns for step in turn.steps)[-STEPS:]
    differences = _differences(repository, shown)
    if set(shown) - set(differences):
        gaps.append("trees of some snapshots are not in this clone, so what changed between them cannot be shown")
    return replace(
        account,
        chain=chain,
        turns=turns,
        shown=frozenset(shown),
        differences=differences,
        findings=findings_of(chain, account.records),
        qa=compare_runs(chain, lambda run: _failures(session, run), tree=tree, same=same),
    )


def _differences(repository: Repository, shown: Sequence[Trees]) -> dict[Trees, Difference]:
    """Return the diff of each pair of trees that are here, a few from each git process, as they may be large."""
    here = repository.objects.sizes({tree for pair in shown for tree in pair})
    wanted = [pair for pair in dict.fromkeys(shown) if pair[0] == pair[1] or here.keys() >= set(pair)]
    found: dict[Trees, Difference] = {}
    for start in range(0, len(wanted), AT_ONCE):
        found |= _some_differences(repository, wanted[start : start + AT_ONCE])
    return found


def _some_differences(repository: Repository, pairs: list[Trees]) -> dict[Trees, Difference]:
    try:
        patches = make_patches(repository, pairs, binaries=False)
    except CouldNotTell:
        alone = [] if len(pairs) == 1 else [_some_differences(repository, [pair]) for pair in pairs]
        return {pair: one for some in alone for pair, one in some.items()}
    return {pair: _cut(patch) for pair, patch in zip(pairs, patches, strict=True)}


def _cut(patch: Patch) -> Difference:
    shown = bytearray()
    for line in patch.lines():
        if len(shown) + len(line) > DIFF_LIMIT:
            break
        shown += line
    return Difference(bytes(shown), len(shown) == patch.size, patch.added, patch.deleted)


def _failures(session: Session | None, run: QaRun) -> Counter[str]:
    """Return the failures of a run, from its log, else from the record."""
    return stored_failures(session, run) if session is not None else named_failures(run.reports)


def _signatures(repository: Repository, recorded: RecordedContext, rules: Rules) -> dict[str, str | None]:
    if not any(entry.record.signature for entry in recorded.entries):
        return {}
    signers = Signers(repository, rules.signers)
    signers.check(recorded.entries)
    judged = {entry.record.id: signers.judge(entry) for entry in recorded.entries}
    return {name: reason.message if reason is not None else None for name, reason in judged.items()}
