"""Acknowledge drift: it was undone, or it is accepted."""

from __future__ import annotations

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.context.caller import check_text
from git_taskctx.context.session import Event, Session
from git_taskctx.drift.count import judge_session
from git_taskctx.errors import Refused
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import RefMove, move_refs
from git_taskctx.git.worktree import read_worktree
from git_taskctx.handoff.snapshot import Options, PreparedSnapshot, take_snapshot
from git_taskctx.handoff.start import require_distinct
from git_taskctx.ledger.forks import find_named
from git_taskctx.ledger.travel import fetched_refs, follow_ledger
from git_taskctx.model.payloads import Purge, Resolve
from git_taskctx.model.values import dataclass
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class Resolved:
    owner: str
    budget: int
    """Sum of the drift budgets before."""
    accepted: PreparedSnapshot | None
    paths: tuple[str, ...] = ()
    """Accepted paths."""
    voided: tuple[str, ...] = ()
    """Agents whose approval was of the replaced tree."""
    verdict: Verdict | None = None


def resolve_drift(session: Session, *, note: str, accept: bool = False) -> Resolved:
    """Acknowledge drift with a note.

    Without `accept`, worktree and HEAD must be as the owner's snapshot has them. With it today's tree becomes the
    owner's snapshot, recorded by the accepting actor, and approvals of the replaced tree are void. Raises: Refused when
    there is nothing to acknowledge, the owner is at work, or the drift remains.
    """
    note = check_text(note, what="note")
    session.require_open(may_be_blocked=True)
    chain = session.chain
    words = ("resolve-drift", "--note", note, *(("--accept",) if accept else ()))
    require_distinct(session, chain, chain.owner, words=words)
    budget = sum(seat.budget for seat in chain.seats.values())
    if chain.at_work:
        if not budget:
            raise Refused(
                f"{chain.owner} is at work: what changes now is its own", Situation("chain.at_work", chain=chain)
            )
        session.commit([Event(Resolve(note), chain.owner)], reason=f"{session.task}: drift resolved")
        return Resolved(chain.owner, budget, None)
    with read_worktree(session.repository, keep=False, hold=True) as reading:
        verdict = judge_session(session, reading)
        if verdict.outcome is Outcome.YES:
            if not budget:
                raise Refused("there is no drift to resolve", Situation("chain.look"))
            event = Event(Resolve(note), chain.owner, tree=reading.tree)
            session.commit([event], reason=f"{session.task}: drift resolved")
            return Resolved(chain.owner, budget, None, verdict=verdict)
        if not accept:
            raise Refused(
                f"{verdict.summary}; a note alone does not resolve it",
                verdict.situation,
                hint="\n".join(verdict.hints) or None,
                paths=tuple(cause.path for cause in verdict.causes if cause.path),
            )
        paths = tuple(quote(change.path) for change in reading.changes_since(chain.settled_tree))
        taken = take_snapshot(session, reading, chain.owner, Options(accepted=True), chain=chain)
        approved = {agent for agent, seat in chain.seats.items() if seat.done_tree and not seat.stale}
        resolve = Event(Resolve(note, accepted=True), chain.owner, tree=reading.tree)
        session.commit(
            [*taken.events, resolve],
            snapshot=(chain.owner, taken.snapshot),
            files=taken.files,
            moves=taken.moves,
            reason=f"{session.task}: drift accepted by {session.caller.actor}",
        )
    around = find_bypassed(session, session.repository.find_commit("HEAD"))
    session.warnings += [around.text] if around is not None else []
    after = session.chain.seats
    voided = tuple(
        agent for agent in chain.agents if agent in approved and (after[agent].stale or not after[agent].done_tree)
    )
    return Resolved(chain.owner, budget, taken, paths, voided, verdict)


def choose_side(session: Session, holds: str, *, note: str) -> tuple[str, ...]:
    """Record that the side of a fork with the record `holds` holds; return the ids of the others.

    The session must be open on that side. Raises: Refused without a fork; CouldNotTell where the side's trees are
    missing.
    """
    note = check_text(note, what="note")
    chain = session.chain
    require_distinct(session, chain, chain.agents[-1], words=("resolve-drift", "--note", note, "--holds", holds))
    named = find_named(session.entries, holds)
    if not session.aside or named is None:
        raise Refused(f"no record {holds} is on a side of a fork", Situation("clone.log_of", task=session.task))
    if not session.archived:
        session.require_open(may_be_blocked=True)
    repository, context_id = session.repository, session.context.context_id
    fetched = fetched_refs(repository, context_id)
    moves = follow_ledger(repository, context_id, session.chain, fetched)
    events = [Event(Resolve(note, holds=named.sha), session.chain.owner)]
    if session.archived:  # another clone went on with a task that was over here: its proof waits for the answer
        session.caller.store.unarchive(session.task, context_id)
        events.append(Event(Purge(), session.chain.owner))
    session.commit(events, moves=moves, reason=f"{session.task}: a side of a fork chosen")
    if session.archived:
        session.caller.store.archive(session.task, context_id)
    move_refs(repository.git, [RefMove(ref, None, oid) for ref, oid in fetched.items()], reason="a side was chosen")
    return tuple(entry.record.id for entry in session.aside)
