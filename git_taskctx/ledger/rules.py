"""What the chain allows, asked by verbs before they write and by proofs of every record.

So a proof rejects whatever the verbs would refuse, whichever client wrote the record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from git_taskctx.ledger.chain import Chain
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Part, Resolve, Snapshot, Start, Takeover, Unblock, Update
from git_taskctx.model.policy import Policy
from git_taskctx.model.proof import Code
from git_taskctx.model.record import Record
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Objection:
    """Why an agent may not do something."""

    code: Code
    """The proof's code for it."""
    text: str
    agent: str = ""
    """The agent whose turn it is instead."""
    finding: str = ""
    """The finding that blocks."""


Editors = Mapping[str, Mapping[str, str]]
"""The names and keys of who edited in each seat, with the recorded name."""


def editors_of(chain: Chain, keys: Mapping[int, Collection[str]] | None = None) -> Editors:
    """Return who edited in which seat; `keys` are the signing keys by record number."""
    found: dict[str, dict[str, str]] = {}
    for agent, seat in chain.seats.items():
        for taken in seat.snapshots:
            if taken.edits:
                names = (taken.actor, *(keys or {}).get(taken.seq, ()))
                if taken.takeover and taken.worked is not None:
                    found.setdefault(agent, {})[taken.worked] = taken.worked
                found.setdefault(agent, {}).update(dict.fromkeys(names, taken.actor))
    return found


def refuse_record(
    chain: Chain, record: Record, policy: Policy, *, who: Collection[str] = (), editors: Editors | None = None
) -> Objection | None:
    """Return why `record` may not follow on `chain`, if so.

    `who` are the actor's other names and keys, and `editors` who edited, if more is known than the chain shows.
    """
    agent, who = record.agent or chain.owner, (record.actor, *who)
    match record.payload:
        case Start() as payload:
            started = _refuse_start(chain, payload, agent, policy) or _refuse_leftover(chain, payload, record.actor)
            return started or refuse_actor(chain, agent, who, policy, editors)
        case Snapshot() as payload:
            found = _refuse_other(chain, agent)
            if found is None and payload.done:
                found = refuse_done(chain, agent, record.tree, policy)
            if found is None and (payload.done or not payload.takeover):  # which records the work of somebody else
                found = refuse_actor(chain, agent, who, policy, editors)
            return found
        case Update(done=True):
            return (
                _refuse_other(chain, agent)
                or _refuse_unsettled(chain, record.tree)
                or refuse_done(chain, agent, record.tree, policy)
                or refuse_actor(chain, agent, who, policy, editors)
            )
        case Unblock() as payload:
            closed = refuse_closing(chain, agent, payload.finding)
            return closed or refuse_actor(chain, agent, who, policy, editors)
        case Part() as payload if payload.parent not in (record.commit, chain.parent):
            text = f"{record.commit} is a part of the task, which must not sit on another commit for that"
            return Objection(Code.OUT_OF_TURN, text)
        case Resolve() as payload:  # which side of a fork holds is for who may approve: the other may hold a finding
            return refuse_actor(chain, chain.agents[-1] if payload.holds else chain.owner, who, policy, editors)
    return None


def refuse_turn(chain: Chain, agent: str) -> Objection | None:
    """Refuse an agent that is more than one ahead of the owner."""
    if chain.position(agent) - chain.position(chain.owner) <= 1:
        return None
    after = chain.agents[chain.position(chain.owner) + 1]
    text = f"it is not {agent}'s turn: {chain.owner} owns the tree, and {after} is next"
    return Objection(Code.OUT_OF_TURN, text, after)


def refuse_handover(chain: Chain, agent: str, policy: Policy) -> Objection | None:
    """Refuse to go on past open findings of the owner, or past edits of one that may not edit."""
    owner = chain.owner
    if not chain.is_later(agent, owner):
        return None
    earlier, findings = _before(chain, owner), chain.owner_seat.open_findings
    if findings:
        listed = "; ".join(f"{finding.id}: {finding.text}" for finding in findings)
        return Objection(Code.FINDING_OPEN, f"{owner} has open findings: {listed}", earlier, findings[0].id)
    expected = chain.expected
    if expected is not None and expected.edits and not policy.may_edit(owner, chain.agents):
        return Objection(Code.EDITED_BY, f"{owner} edited the tree, which chain.may_edit does not allow", earlier)
    return None


def refuse_done(chain: Chain, agent: str, tree: TreeOid | None, policy: Policy) -> Objection | None:
    """Refuse `done` with open findings, edits of an agent that may not edit, or before earlier agents are done."""
    findings = chain.open_findings
    if findings:
        listed = "; ".join(f"{finding.id} (by {finding.by}): {finding.text}" for finding in findings)
        return Objection(Code.FINDING_OPEN, f"findings are open: {listed}", findings[0].by, findings[0].id)
    if tree != chain.tenure_tree and not policy.may_edit(agent, chain.agents):
        text = f"{agent} cannot approve its own edits (chain.may_edit): it may hand back, but not say done"
        return Objection(Code.EDITED_BY, text, _before(chain, agent))
    for name in chain.agents[: chain.position(agent)]:
        if not chain.seats[name].approves:
            return Objection(Code.NOT_DONE, f"{name} has not approved this tree", name)
    return None


def refuse_actor(
    chain: Chain, agent: str, who: Collection[str], policy: Policy, editors: Editors | None = None
) -> Objection | None:
    """Refuse whoever edited as an earlier agent, if policy says so (`chain.distinct_actors`).

    `who` begins with the actor's name. Closing a finding, resolving drift and saying done count as acting in that seat.
    """
    if not policy.chain.distinct_actors:
        return None
    actor, editors = next(iter(who)), editors if editors is not None else editors_of(chain)
    for earlier in chain.agents[: chain.position(agent)]:
        edited = editors.get(earlier, {})
        name = next((edited[one] for one in who if one in edited), None)
        if name is not None:
            same = "" if name == actor else f" (as {name}, with the same key)"
            text = f"{actor} edited as {earlier}{same} and may not act as {agent} (chain.distinct_actors)"
            return Objection(Code.SAME_ACTOR, text, agent)
    return None


def refuse_closing(chain: Chain, agent: str, finding_id: str) -> Objection | None:
    """Refuse to close a finding that is missing, closed, or another agent's."""
    known = (finding for seat in chain.seats.values() for finding in seat.findings)
    finding = next((one for one in known if one.id == finding_id), None)
    if finding is None:
        return Objection(Code.OUT_OF_TURN, f"there is no finding {finding_id!r}")
    if finding.by != agent:
        text = f"{finding_id} was found by {finding.by}, and only {finding.by} closes it"
        return Objection(Code.OUT_OF_TURN, text, finding.by, finding_id)
    if finding.closed_at is not None:
        return Objection(Code.OUT_OF_TURN, f"{finding_id} was closed at {finding.closed_at}")
    return None


def _refuse_start(chain: Chain, payload: Start, agent: str, policy: Policy) -> Objection | None:
    if payload.resume:
        return _refuse_other(chain, agent)
    if agent == chain.owner:
        return Objection(Code.OUT_OF_TURN, f"{agent} owns the tree already", agent)
    later = chain.is_later(agent, chain.owner)
    if later and (chain.at_work or chain.expected is None):
        return Objection(Code.OUT_OF_TURN, f"{chain.owner} is at work, and {agent} took the tree", chain.owner)
    return refuse_turn(chain, agent) or refuse_handover(chain, agent, policy)


def _refuse_leftover(chain: Chain, payload: Start, actor: str) -> Objection | None:
    """Refuse to continue from a snapshot recorded by a take-over, except for the agent that took over."""
    last = chain.expected
    if last is None or not last.takeover or payload.resume:
        return None
    if isinstance(payload, Takeover) and actor == last.actor:
        return None
    text = f"{last.actor} recorded snapshot {last.n} for {last.agent}, and did not take the tree over"
    return Objection(Code.OUT_OF_TURN, text, last.agent)


def _refuse_other(chain: Chain, agent: str) -> Objection | None:
    """Refuse every agent but the owner."""
    if agent == chain.owner:
        return None
    return Objection(Code.OUT_OF_TURN, f"{agent} does not own the tree, {chain.owner} does", chain.owner)


def _refuse_unsettled(chain: Chain, tree: TreeOid | None) -> Objection | None:
    """Refuse a record about another tree than the owner's last snapshot."""
    if not chain.at_work and chain.expected is not None and tree == chain.expected.tree:
        return None
    return Objection(Code.OUT_OF_TURN, f"{chain.owner} has no snapshot of the tree that it approves", chain.owner)


def _before(chain: Chain, agent: str) -> str:
    """Return the agent before another; the first one for itself."""
    return chain.agents[max(chain.position(agent) - 1, 0)]
