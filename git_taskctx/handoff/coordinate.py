"""Coordination: blocking findings, and an agent's own status."""

from __future__ import annotations

from git_taskctx.context.caller import check_text
from git_taskctx.context.evidence import EvidenceSource, take
from git_taskctx.context.session import Event, Session
from git_taskctx.drift.count import judge_session
from git_taskctx.errors import Fatal, Refused, Usage
from git_taskctx.git.worktree import read_worktree
from git_taskctx.handoff.record import require_done
from git_taskctx.handoff.start import require_current_text, require_distinct
from git_taskctx.ledger.rules import refuse_closing
from git_taskctx.model.context import Finding, Status
from git_taskctx.model.payloads import Attach, Block, Unblock, Update
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import Outcome
from git_taskctx.situation import Situation


def block(session: Session, agent: str, text: str) -> Finding:
    """Record a finding of `agent` that blocks until it is closed. Raises: Refused, Fatal."""
    session.require_agent(agent)
    session.require_open(may_be_blocked=True)
    text = check_text(text, what="finding")
    number = sum(len(seat.findings) for seat in session.chain.seats.values()) + 1
    event = Event(Block(f"F{number}", text), agent)
    session.commit([event], reason=f"{session.task}: {agent} blocks")
    return session.chain.seats[agent].findings[-1]


def unblock(session: Session, agent: str, finding_id: str) -> Finding:
    """Close a finding; only its author may. Raises: Refused, Fatal."""
    session.require_agent(agent)
    session.require_open(may_be_blocked=True)
    everything = {finding.id: finding for seat in session.chain.seats.values() for finding in seat.findings}
    finding = everything.get(finding_id)
    if finding is None:
        known = tuple(open_one.id for open_one in session.chain.open_findings)
        raise Fatal(f"there is no finding {finding_id!r}", Situation("chain.no_finding", known=known))
    refused = refuse_closing(session.chain, agent, finding_id)
    if refused is not None:
        by = Situation("chain.found_by", agent=refused.agent, finding=finding_id)
        raise Refused(refused.text, by if refused.agent else Situation("chain.look"))
    words = ("unblock", "--agent", agent, "--finding", finding_id)
    require_distinct(session, session.chain, agent, words=words)
    session.commit([Event(Unblock(finding_id), agent)], reason=f"{session.task}: {agent} unblocks")
    return finding


def update(
    session: Session, agent: str, *, status: Status | None, qa_log: EvidenceSource | None, session_id: str | None
) -> None:
    """Record an agent's status if the chain allows it, its session, and a log as evidence.

    Raises: Refused, Usage, Fatal.
    """
    session.require_agent(agent)
    if status is None and qa_log is None and session_id is None:
        raise Usage("nothing to update", Situation("chain.nothing_to_update", agent=agent))
    session.require_open()
    said = Update(session_id=check_text(session_id, what="session id") if session_id is not None else None)
    events, contents = list[Event](), None
    if qa_log is not None:
        evidence, contents = take(session, qa_log, "qa_log")
        said = replace(said, qa_log_path=evidence.stored)
        events += [Event(Attach(evidence), agent)] if contents is not None else []
    tree = None
    if status is not None:
        _require_status(session, agent, status)
        done = status == "done" and session.chain.seats[agent].done_tree is None
        if not done and said == Update():
            return
        tree = session.chain.settled_tree if done else None
        said = replace(said, done=done, status=status)
    events.append(Event(said, agent, tree=tree))
    session.commit(events, files=contents, reason=f"{session.task}: {agent} updates")


def _require_status(session: Session, agent: str, status: Status) -> None:
    chain = session.chain
    if status == "done":
        _require_done_now(session, agent)
        return
    if status == chain.status_of(agent):
        return
    raise Refused(
        f"{agent} is {chain.status_of(agent)}, and `update` cannot make it {status}",
        Situation("chain.not_that_status", session=session, agent=agent, status=status),
    )


def _require_done_now(session: Session, agent: str) -> None:
    chain = session.chain
    seat = chain.seats[agent]
    if seat.approves and not seat.open_findings:
        return
    if agent != chain.owner:
        then = Situation("chain.turn", session=session, agent=agent)
        raise Refused(f"{agent} does not own the tree, {chain.owner} does", then)
    require_distinct(session, chain, agent, words=("update", "--agent", agent, "--status", "done"))
    with read_worktree(session.repository, keep=False) as reading:
        require_current_text(session, reading)
        if judge_session(session, reading).outcome is not Outcome.YES:
            raise Refused(
                f"the worktree is not {agent}'s last snapshot", Situation("chain.not_its_snapshot", agent=agent)
            )
        require_done(session, chain, agent, reading.tree)
