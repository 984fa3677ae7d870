"""One verb's view of a context: read from the ledger, checked against the file, written back in one step.

The ledger is the truth. A `context.json` that differs is replayed from the refs (a crash), or becomes a blocking
finding (somebody edited it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from git_taskctx.context.caller import Caller, check_records
from git_taskctx.errors import Fatal, Refused
from git_taskctx.git.refs import RefMove, Refs
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.entries import append_records, drifted_paths
from git_taskctx.ledger.entry import Entry, on_anchors
from git_taskctx.ledger.refs import commits_folder, context_ref_name, keep_commits, snapshots_folder
from git_taskctx.ledger.seats import Expectation
from git_taskctx.model.context import Audit, Context, Immutable
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Payload, Recover
from git_taskctx.model.policy import Policy
from git_taskctx.model.qa import QaResults
from git_taskctx.model.record import Record, RecordType, draft_record, link, type_of
from git_taskctx.model.snapshot import WorktreeSnapshot, describe_unfinished
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.model.verdict import count_of
from git_taskctx.situation import Situation
from git_taskctx.store import CONTEXT

if TYPE_CHECKING:
    from git_taskctx.model.payloads import StageRun

SAVED = "saved"
"""Name, beside agents, of the states that `restore` saves."""


@dataclass(frozen=True)
class Event:
    """A new record."""

    payload: Payload
    agent: str | None = None
    tree: TreeOid | None = None
    commit_tree: TreeOid | None = None
    commit: CommitOid | None = None
    base: CommitOid | None = None
    diff_sha: str | None = None
    stage: StageRun | None = None
    """Its stage, if not the caller's."""

    @property
    def type(self) -> RecordType:
        return type_of(self.payload)


@dataclass
class Session:
    """A context's present state; `commit` updates it."""

    caller: Caller
    context: Context
    chain: Chain
    entries: list[Entry]
    refs: Refs
    """The notes ref and the context's own."""
    aside: tuple[Entry, ...] = ()
    """The records on losing sides of forks."""
    archived: bool = False
    edited: bool = False
    """True when `context.json` was edited by hand; `context` is the ledger's."""
    behind: bool = False
    """True when the file is an earlier record's: an interrupted or concurrent write."""
    warnings: list[str] = field(default_factory=list)

    @property
    def repository(self) -> Repository:
        return self.caller.repository

    @property
    def task(self) -> str:
        return self.context.task_id

    def require_open(self, *, may_be_blocked: bool = False, put_right: bool = False) -> None:
        """Refuse changes while a drift budget is above the allowance or the file was edited.

        `put_right`: the worktree is as expected again, so only the note is missing. Raises: Refused, Fatal for an
        archived context.
        """
        if self.archived:
            if over := self.over:
                raise self.ended(over)
            raise Fatal(f"{self.task} is archived", Situation("chain.recover", session=self))
        if self.edited:
            raise Refused(
                f"finding by taskctx: context.json of {self.task} was edited by hand",
                Situation("chain.recover", session=self),
            )
        blocked = self.over_budget
        if blocked and not may_be_blocked:
            agent, budget = blocked
            raise Refused(
                f"{count_of(budget, self.context.policy.drift.allowance)} since {agent}'s snapshot",
                Situation("drift.noted" if put_right else "drift.unresolved"),
                paths=drifted_paths(self.entries) if put_right else (),
            )

    @property
    def over(self) -> CommitOid | None:
        """The commit that ended the task, if it is in HEAD's history."""
        sealed, head = self.chain.sealed, self.repository.find_commit("HEAD")
        if sealed is None or head is None:
            return None
        return sealed if sealed == head or self.repository.is_ancestor(sealed, head) else None

    @property
    def saved(self) -> int:
        """Number of the last state that `restore` saved, for a finished task also without record."""
        folder = self.snapshot_ref(SAVED, 0).rpartition("/")[0]
        return max(self.chain.saved, *(int(name) for name in self.refs.under(folder) if name.isdecimal()), 0)

    def ended(self, commit: CommitOid) -> Fatal:
        """Return the error that a commit has ended the task."""
        text = f"{self.task} is over: commit {commit[:12]} is what was validated"
        return Fatal(text, Situation("chain.ended", session=self))

    @property
    def over_budget(self) -> tuple[str, int] | None:
        """The first agent whose drift budget is above the allowance, with that budget."""
        allowance = self.context.policy.drift.allowance
        return next(((name, seat.budget) for name, seat in self.chain.seats.items() if seat.budget > allowance), None)

    def require_agent(self, agent: str) -> None:
        if agent not in self.chain.seats:
            raise Fatal(
                f"{agent!r} is not an agent of {self.task}", Situation("chain.no_agent", agents=self.chain.agents)
            )

    def require_snapshot(self) -> Expectation:
        """Return the owner's last snapshot. Raises: Refused without one."""
        chain = self.chain
        if chain.expected is None:
            raise Refused(f"{chain.owner} has no snapshot yet", Situation("chain.no_snapshot", agent=chain.owner))
        return chain.expected

    def find_snapshot(self, agent: str, number: int | None) -> Expectation:
        """Return an agent's snapshot, by default its last one. Raises: Fatal."""
        self.require_agent(agent)
        taken = self.chain.seats[agent].snapshots
        if not 1 <= (wanted := number or len(taken)) <= len(taken):
            name = f"snapshot {wanted}" if number else "snapshot yet"
            raise Fatal(f"{agent} has no {name}", Situation("clone.records", session=self))
        return taken[wanted - 1]

    def snapshot_ref(self, agent: str, n: int) -> str:
        """Return the ref of a snapshot's tree."""
        return f"{snapshots_folder(self.context.context_id)}/{agent}/{n}"

    def keep(self, agent: str, n: int, tree: TreeOid) -> RefMove:
        """Return the ref move that keeps a tree, replacing a killed write's leftover."""
        ref = self.snapshot_ref(agent, n)
        return RefMove(ref, tree, self.refs.find(ref))

    def _keep_commits(self, chain: Chain) -> list[RefMove]:
        known = self.refs.under(commits_folder(self.context.context_id))
        needed = (chain.base, chain.parent, chain.init_head, chain.head)
        return keep_commits(self.repository, self.context.context_id, known, needed)

    def details(self) -> dict[str, WorktreeSnapshot | None]:
        """Return each agent's last snapshot in the context."""
        return {agent: seat.worktree_snapshot for agent, seat in self.context.coordination.items()}

    def unfinished(self) -> tuple[str, ...]:
        """Return git's unfinished operation, and conflicts in the recorded snapshot."""
        tree, every = self.chain.settled_tree, self.details().values()
        taken = next((one for one in every if one is not None and one.tree == tree), None)
        conflicts, unmerged = (taken.conflicts, taken.index_tree is None) if taken is not None else ((), False)
        return describe_unfinished(self.repository.operation(), conflicts, unmerged=unmerged)

    def commit(
        self,
        events: Sequence[Event],
        *,
        snapshot: tuple[str, WorktreeSnapshot] | None = None,
        files: Mapping[str, bytes] | None = None,
        changes: Mapping[str, Any] | None = None,
        kept: Mapping[str, bytes] | None = None,
        moves: Sequence[RefMove] = (),
        on: Sequence[str] = (),
        reason: str,
    ) -> None:
        """Record events and write objects, refs with the ledger, and files, in this order.

        `files` go beside `context.json`, `kept` only into the ref's tree, `changes` are other fields of the context.
        The whole chain is also written on the objects `on`. Killed between two steps, the context is as before or
        after, and the next verb continues. Raises: Refused for a secret; TryAgain, ReadOnly.
        """
        from git_taskctx.context.roles import context_files
        from git_taskctx.ledger.kept import add_kept

        if self.put_away and events[0].type != "recover":
            events = [Event(Recover(), self.chain.owner), *events]
        details = self.details()
        if snapshot is not None:
            details[snapshot[0]] = snapshot[1]
        time, drafts, chain = self._next_time(), [], self.chain
        for number, event in enumerate(events, len(self.entries) + 1):
            draft = self.draft(event, time, number)
            self._require_allowed(chain, draft)
            chain = chain.apply(draft)
            drafts.append(draft)
        check_records(self.caller, drafts)
        context = self._context_after(chain, details, time, changes or {})
        self.warnings += size_warning(context)
        sha = context.sha
        drafts = [replace(draft, context_sha=sha) for draft in drafts]
        records = link(drafts, self._tip, signer_of(self.repository, context.policy))
        self._require_other_keys(records)
        entries = [Entry(record, record.to_line()) for record in records]
        contents = {**(files or {}), CONTEXT: context.to_bytes()}
        ref = context_ref_name(context.context_id)
        old = self.refs.find(ref)
        tree = add_kept(self.repository, old, {**contents, **(kept or {})}, previous=self.context, records=records)
        whole = [entry.line for entry in (*self.entries, *entries)]
        append_records(
            self.repository,
            self.refs,
            on_anchors(self.repository, context.context_id, records) | dict.fromkeys(on, whole),
            [*moves, *self._keep_commits(chain), RefMove(ref, tree, old)],
            context_id=context.context_id,
            tip=self._tip,
            reason=reason,
        )
        self.caller.store.write(self.task, {**contents, **context_files(context, chain)})
        self.context, self.chain = context, chain
        self.warnings += self.caller.forced
        self.caller.forced.clear()
        self.entries += entries

    def _require_allowed(self, chain: Chain, record: Record) -> None:
        """Refuse to write what no proof would accept. Raises: Refused."""
        from git_taskctx.ledger.rules import refuse_record

        refused = refuse_record(chain, record, self.context.policy)
        if refused is not None:
            raise Refused(refused.text, Situation("chain.look"))

    def _require_other_keys(self, records: Sequence[Record]) -> None:
        """Refuse records signed with the key of an earlier agent's editor, under whatever name. Raises: Refused."""
        policy, chain = self.context.policy, self.chain
        if not (policy.proof.require_signed and policy.chain.distinct_actors):
            return
        from git_taskctx.git.signing import key_in
        from git_taskctx.ledger.rules import editors_of, refuse_record

        keys = {one.seq: key_in(one.signature) for one in (*(e.record for e in self.entries), *records)}
        for record in records:
            refused = refuse_record(chain, record, policy, who=keys[record.seq], editors=editors_of(chain, keys))
            if refused is not None:
                hint = "git -c user.signingKey=KEY taskctx status   # with a key of somebody else's, as is the rest"
                raise Refused(refused.text, hint=hint)
            chain = chain.apply(record)

    @property
    def put_away(self) -> bool:
        """True when the last record is a purge.

        A context brought back is recorded as `recover` only with its next record: a mere look in a second clone would
        otherwise fork it.
        """
        return bool(self.entries) and self.entries[-1].record.type == "purge"

    @property
    def only_looks(self) -> bool:
        """True while the last record is another clone's, which optional records would fork."""
        here = self.caller.store.clone()
        return bool(self.entries) and self.entries[-1].record.origin.clone not in (None, here)

    @property
    def _tip(self) -> str | None:
        return self.entries[-1].sha if self.entries else None

    def _next_time(self) -> str:
        last = self.entries[-1].record.time if self.entries else ""
        return max(self.caller.now(), last)

    def draft(self, event: Event, time: str, number: int) -> Record:
        """Return the record of an event, not yet chained."""
        origin = self.caller.origin
        return draft_record(
            event.payload,
            origin if event.stage is None else replace(origin, stage=event.stage),
            time=time,
            context=self.context.context_id,
            task=self.task,
            seq=number,
            agent=event.agent,
            actor=self.caller.actor,
            base=event.base if event.base is not None else self.chain.base,
            tree=event.tree,
            commit_tree=event.commit_tree,
            commit=event.commit,
            diff_sha=event.diff_sha,
        )

    def _context_after(
        self, chain: Chain, details: Mapping[str, WorktreeSnapshot | None], time: str, changes: Mapping[str, Any]
    ) -> Context:
        context = self.context.replace(**changes)
        audit = context.audit
        return context.replace(
            coordination=chain.coordination(details),
            git=replace(context.git, head=chain.base, parent=chain.parent),
            immutable=with_baseline(context.immutable, chain.baseline),
            evidence=chain.evidence,
            audit=Audit(
                created_by=audit.created_by,
                last_updated_at=time,
                last_updated_by=self.caller.actor,
                update_count=audit.update_count + 1,
                git_head=self.repository.find_commit("HEAD"),
            ),
        )


def size_warning(context: Context) -> tuple[str, ...]:
    """Warn of a context larger than policy allows. Raises: Refused if enforced."""
    limits, size = context.policy.limits, len(context.to_bytes())
    allowed = limits.context_kib * 1024
    if size <= allowed:
        return ()
    text = f"the context has {size} bytes, more than {allowed} (limits.context_kib = {limits.context_kib})"
    if limits.enforce:
        raise Refused(text, hint="shorten the task file or the findings, or raise limits.context_kib")
    return (text,)


def with_baseline(block: Immutable, results: QaResults) -> Immutable:
    """Return the block with the recorded baseline."""
    baseline = block.validation_baseline
    if baseline.initial_results == results:
        return block
    return replace(block, validation_baseline=replace(baseline, initial_results=results))


def commands_of(block: Immutable) -> tuple[str, ...]:
    """Return the task's commands, as recorded for `qa.require`."""
    return tuple(one.command for one in block.validation_baseline.commands)


def signer_of(repository: Repository, policy: Policy) -> Callable[[Record], Record] | None:
    """Return what signs records with the user's key, if required (`proof.require_signed`)."""
    if not policy.proof.require_signed:
        return None
    from git_taskctx.git.signing import sign

    return lambda record: record.with_signature(sign(repository, record.signed_text()))
