"""Handoffs: the table that decides who may own the tree next (first match wins), by row."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.context.caller import check_secrets, check_text
from git_taskctx.context.session import Event, Session
from git_taskctx.context.staleness import TextState, compare_text
from git_taskctx.drift.count import describe_work, drift_refusal, judge_session, record_drift
from git_taskctx.errors import Refused
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.snapshot import Options, PreparedSnapshot, take_snapshot
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.rules import refuse_actor, refuse_handover, refuse_turn
from git_taskctx.model.payloads import Start, Takeover
from git_taskctx.model.values import dataclass, replace
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class Started:
    agent: str
    resumed: bool = False
    back: bool = False
    """True when the tree went to an earlier agent: a new round."""
    previous: str | None = None
    round: int = 1
    verdict: Verdict | None = None
    took_over: PreparedSnapshot | None = None


def start(session: Session, agent: str, *, take_over: str | None = None) -> Started:
    """Hand the tree to `agent` if it is as its owner left it.

    Raises: Refused, by the matching row; drift is counted.
    """
    session.require_agent(agent)
    chain, words = session.chain, ("start", "--agent", agent)
    session.require_open()  # row 1
    note = check_text(take_over, what="note") if take_over is not None else None
    if agent == chain.owner:  # row 2
        require_distinct(session, chain, agent, words=words)
        return _resume(session, agent, note)
    require_turn(session, agent)  # row 3
    with read_worktree(session.repository, keep=False, hold=note is not None) as reading:
        require_current_text(session, reading)
        if chain.at_work:
            require_distinct(session, chain, agent, words=words)
            if is_handing_back_unchanged(session, agent, reading):  # row 4
                return _hand_over(session, agent, reading, verdict=None)
            if note is None:  # row 5
                raise Refused(describe_work(chain, reading), Situation("chain.turn", session=session, agent=agent))
            return _take_over(session, agent, reading, note)
        verdict = judge_session(session, reading)
        if verdict.outcome is not Outcome.YES:  # row 6
            raise drift_refusal(record_drift(session, reading, verdict))
        require_handover(session, chain, agent)  # rows 7 and 8
        require_distinct(session, chain, agent, words=words)
        return _hand_over(session, agent, reading, verdict=verdict)  # row 9


def require_turn(session: Session, agent: str) -> None:
    """Row 3: refuse an agent that is more than one ahead of the owner. Raises: Refused."""
    refused = refuse_turn(session.chain, agent)
    if refused is not None:
        raise Refused(refused.text, Situation("chain.turn", session=session, agent=agent))


def require_handover(session: Session, chain: Chain, agent: str) -> None:
    """Rows 7 and 8: refuse open findings, and edits of an agent that may not edit. Raises: Refused."""
    refused = refuse_handover(chain, agent, session.context.policy)
    if refused is None:
        return
    raise Refused(refused.text, Situation("chain.turn", session=session, agent=agent, chain=chain))


def require_current_text(session: Session, reading: Reading | None = None) -> TextState:
    """Refuse a task or standards text that changed since its capture; else return its state. Raises: Refused."""
    text = compare_text(session, reading)
    if text.reason is not None:
        raise Refused(text.reason, Situation("chain.stale_text"))
    return text


def _resume(session: Session, agent: str, note: str | None) -> Started:
    if not session.chain.at_work or note is not None:
        payload = Start(resume=True, note=note)
        event = Event(payload, agent, tree=session.chain.settled_tree, commit=session.chain.head)
        session.commit([event], reason=f"{session.task}: {agent} goes on")
    return Started(agent, resumed=True, round=session.chain.seats[agent].rounds)


def _hand_over(session: Session, agent: str, reading: Reading, *, verdict: Verdict | None) -> Started:
    event = handover_event(session.chain, agent, reading, implied=verdict is None)
    previous, back = session.chain.owner, not session.chain.is_later(agent, session.chain.owner)
    session.commit([event], reason=f"{session.task}: {previous} hands over to {agent}")
    return Started(agent, back=back, previous=previous, round=session.chain.seats[agent].rounds, verdict=verdict)


def handover_event(
    chain: Chain,
    agent: str,
    reading: Reading,
    *,
    implied: bool = False,
    attest: str | None = None,
    take_over: str | None = None,
) -> Event:
    """Return the record that hands the tree to `agent`; `take_over` is the note of a take-over."""
    payload = (Takeover if take_over is not None else Start)(
        previous_owner=chain.owner,
        round=chain.seats[agent].rounds + 1,
        back=not chain.is_later(agent, chain.owner),
        implied=implied,
        attest=attest,
        note=take_over,
    )
    return Event(payload, agent, tree=reading.tree, commit=chain.head)


def _take_over(session: Session, agent: str, reading: Reading, note: str) -> Started:
    check_secrets(session.caller, note, name="--take-over")
    previous = session.chain.owner
    require_handover(session, session.chain, agent)
    taken = take_snapshot(session, reading, previous, Options(takeover=True), chain=session.chain)
    after = preview(session, taken.events)
    require_handover(session, after, agent)
    require_distinct(session, after, agent, words=("start", "--agent", agent, "--take-over", note))
    event = handover_event(after, agent, reading, take_over=note)
    event = replace(event, commit=taken.snapshot.head)
    back = not session.chain.is_later(agent, previous)
    session.commit(
        [*taken.events, event],
        snapshot=(previous, taken.snapshot),
        files=taken.files,
        moves=taken.moves,
        reason=f"{session.task}: {agent} takes over from {previous}",
    )
    return Started(agent, back=back, previous=previous, round=session.chain.seats[agent].rounds, took_over=taken)


def preview(session: Session, events: list[Event]) -> Chain:
    """Return the chain after `events`, without recording them."""
    chain = session.chain
    for event in events:
        chain = chain.apply(session.draft(event, chain.since, 0))
    return chain


def is_handing_back_unchanged(session: Session, agent: str, reading: Reading) -> bool:
    """Row 4: return whether the owner, at work, has changed nothing and `agent` is earlier."""
    chain = session.chain
    if chain.is_later(agent, chain.owner):
        return False
    return reading.tree == chain.start_tree and session.repository.head().commit == chain.head


def require_distinct(session: Session, chain: Chain, agent: str, *, words: Sequence[str]) -> None:
    """Refuse an actor that edited as an earlier agent (`chain.distinct_actors`). Raises: Refused.

    `words` are what was typed, up to its `--actor`.
    """
    refused = refuse_actor(chain, agent, (session.caller.actor,), session.context.policy)
    if refused is not None:
        then = Situation("chain.distinct", session=session, chain=chain, agent=agent, words=tuple(words))
        raise Refused(refused.text, then)
