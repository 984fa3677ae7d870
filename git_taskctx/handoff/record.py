"""The verb `snapshot`: who may use it, what it needs, and the handoff it may imply."""

from __future__ import annotations

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.commits.seal import is_committed
from git_taskctx.context.caller import check_text
from git_taskctx.context.session import Event, Session
from git_taskctx.context.staleness import compare_text
from git_taskctx.drift.count import drift_refusal, judge_session, record_drift
from git_taskctx.errors import Refused, Usage
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.snapshot import Options, PreparedSnapshot, take_snapshot
from git_taskctx.handoff.start import (
    handover_event,
    is_handing_back_unchanged,
    preview,
    require_current_text,
    require_distinct,
    require_handover,
    require_turn,
)
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.rules import refuse_done
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Code
from git_taskctx.model.values import dataclass, replace
from git_taskctx.model.verdict import Outcome
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class Recorded:
    agent: str
    taken: PreparedSnapshot
    started: bool
    """True when it was a handoff too."""
    done: bool
    wip: bool
    validated: bool
    committed: CommitOid | None = None
    """HEAD, if it is already the commit of the validated tree."""
    warnings: tuple[str, ...] = ()


def record_snapshot(session: Session, agent: str, options: Options) -> Recorded:
    """Record the worktree at the end of `agent`'s work, starting it first if it is not the owner.

    Raises: Refused by the chain, by policy, for a secret; TryAgain while the worktree keeps changing.
    """
    session.require_agent(agent)
    if options.done and options.wip:
        raise Usage("--done and --wip cannot be used together", Situation("clone.help_on", verb="snapshot"))
    if options.attest is not None:
        options = replace(options, attest=check_text(options.attest, what="note"))
    session.require_open(may_be_blocked=options.attest is not None)
    with read_worktree(session.repository, keep=False, hold=True) as reading:
        text = require_current_text(session, reading) if options.done else compare_text(session, reading)
        events, chain = _become_owner(session, reading, agent, options)
        require_distinct(session, chain, agent, words=("snapshot", "--agent", agent, *_flags(options)))
        _require_change(session, chain, reading, agent, options)
        if options.done:
            require_done(session, chain, agent, reading.tree, attest=options.attest)
        taken = take_snapshot(session, reading, agent, options, chain=chain)
    session.commit(
        [*events, *taken.events],
        snapshot=(agent, taken.snapshot),
        files=taken.files,
        moves=taken.moves,
        reason=f"{session.task}: {agent}'s snapshot {taken.snapshot.n}",
    )
    head = session.repository.find_commit("HEAD") if options.done else None
    around = find_bypassed(session, head)
    return Recorded(
        agent=agent,
        taken=taken,
        started=bool(events),
        done=options.done,
        wip=options.wip,
        validated=session.chain.validated,
        committed=head if options.done and is_committed(session, head) else None,
        warnings=(*text.warnings, *taken.warnings, *((around.text,) if around is not None else ())),
    )


def require_done(session: Session, chain: Chain, agent: str, tree: TreeOid, *, attest: str | None = None) -> None:
    """Refuse `done` with open findings, edits of an agent that may not edit, or missing QA. Raises: Refused."""
    refused = refuse_done(chain, agent, tree, session.context.policy)
    if refused is not None:
        if refused.finding:
            then = Situation("chain.found_by", agent=refused.agent, finding=refused.finding)
        elif refused.code is Code.EDITED_BY:
            words = _flags(Options(attest=attest))
            then = Situation("chain.not_its_own", session=session, agent=agent, words=words)
        else:
            then = Situation("chain.not_done", session=session, agent=refused.agent)
        raise Refused(refused.text, then)
    if session.context.policy.qa.require:
        from git_taskctx.context.qa import require_qa

        require_qa(session, chain, agent, tree)


def _become_owner(session: Session, reading: Reading, agent: str, options: Options) -> tuple[list[Event], Chain]:
    """Return the implied handoff, and the chain after it; none for the owner."""
    chain = session.chain
    if agent == chain.owner:
        return [], chain
    require_turn(session, agent)
    require_current_text(session, reading)
    if chain.at_work and is_handing_back_unchanged(session, agent, reading):
        event = handover_event(chain, agent, reading, implied=True)
        return [event], preview(session, [event])
    if chain.at_work:
        raise Refused(
            f"{chain.owner} has been at work since {chain.since}, and the tree is its own",
            Situation("chain.turn", session=session, agent=agent),
        )
    if options.attest is None:
        verdict = judge_session(session, reading)
        if verdict.outcome is not Outcome.YES:
            counted = record_drift(session, reading, verdict)
            words = _flags(replace(options, done=False))
            then = Situation(
                "chain.own_changes", session=session, agent=agent, words=words, done=options.done, verdict=counted
            )
            raise drift_refusal(replace(counted, situation=then))
    require_handover(session, chain, agent)
    event = handover_event(chain, agent, reading, attest=options.attest)
    if options.attest is not None:
        event = replace(event, tree=chain.settled_tree)
    return [event], preview(session, [event])


def _flags(options: Options) -> tuple[str, ...]:
    """Return the options as typed."""
    flags = {"--done": options.done, "--wip": options.wip, "--allow-clean": options.allow_clean}
    attest = ("--attest", options.attest) if options.attest is not None else ()
    return (*(flag for flag, is_set in flags.items() if is_set), *attest)


def _require_change(session: Session, chain: Chain, reading: Reading, agent: str, options: Options) -> None:
    if agent == chain.agents[0] and not options.allow_clean and reading.tree == chain.init_tree:
        hidden = "".join(f"; {change.path}: {change.kind}, which no snapshot holds" for change in reading.hidden)
        raise Refused(
            f"nothing changed since {session.task} began{hidden}",
            Situation("chain.nothing_done", agent=agent, words=_flags(options)),
        )
