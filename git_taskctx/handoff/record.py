"""The verb `snapshot`: whose it may be, what it needs, and the handoff that it can imply."""

from __future__ import annotations

import shlex

from git_taskctx.commits.bypassed import standing
from git_taskctx.commits.seal import is_committed
from git_taskctx.context.caller import check_text
from git_taskctx.context.session import Event, Session
from git_taskctx.context.staleness import compare_text
from git_taskctx.drift.count import judge_session, record_drift
from git_taskctx.drift.judge import Present
from git_taskctx.drift.mend import drift_refusal
from git_taskctx.errors import Refused, Usage
from git_taskctx.git.quoting import quote
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.snapshot import Options, Taken, take_snapshot
from git_taskctx.handoff.start import (
    at_work_hint,
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


@dataclass(frozen=True)
class Recorded:
    """What `snapshot` did."""

    agent: str
    taken: Taken
    started: bool
    """True when it was a handoff too."""
    done: bool
    wip: bool
    validated: bool
    committed: CommitOid | None = None
    """HEAD, where it is the commit of the validated tree already."""
    warnings: tuple[str, ...] = ()


def record_snapshot(session: Session, agent: str, options: Options) -> Recorded:
    """Record the worktree at the end of `agent`'s work; for an agent that is not the owner it is a start as well.

    Raises: Refused by the chain, by policy, for a secret; TryAgain while the worktree keeps changing.
    """
    session.require_agent(agent)
    if options.done and options.wip:
        raise Usage("--done and --wip exclude each other", hint="git taskctx snapshot -h")
    if options.attest is not None:
        options = replace(options, attest=check_text(options.attest, what="note"))
    session.require_open(may_be_blocked=options.attest is not None)
    with read_worktree(session.repository, keep=False) as reading:
        text = require_current_text(session, reading) if options.done else compare_text(session, reading)
        events, chain = _become_owner(session, reading, agent, options)
        require_distinct(session, chain, agent, verb=_typed(agent, options))
        _require_change(session, chain, reading, agent, options)
        if options.done:
            require_done(session, chain, agent, reading.tree)
        taken = take_snapshot(session, reading, agent, options, chain=chain)
    session.commit(
        [*events, *taken.events],
        snapshot=(agent, taken.snapshot),
        files=taken.files,
        moves=taken.moves,
        reason=f"{session.task}: {agent}'s snapshot {taken.snapshot.n}",
    )
    head = session.repository.find_commit("HEAD") if options.done else None
    around = standing(session, head)
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


def require_done(session: Session, chain: Chain, agent: str, tree: TreeOid) -> None:
    """Refuse `done` where the chain would not give it: open findings, edits of one that may not edit, missing QA.

    Raises: Refused.
    """
    refused = refuse_done(chain, agent, tree, session.context.policy)
    if refused is not None:
        way = f"git taskctx start --agent {refused.agent}"
        if refused.finding:
            way = f"git taskctx unblock --agent {refused.agent} --finding {refused.finding}"
        elif refused.code is Code.EDITED_BY:
            way = f"git taskctx snapshot --agent {agent} && {way}"
        raise Refused(refused.text, hint=way)
    if session.context.policy.qa.require:
        from git_taskctx.context.qa import require_qa

        require_qa(session, chain, agent, tree)


def _become_owner(session: Session, reading: Reading, agent: str, options: Options) -> tuple[list[Event], Chain]:
    """Return the handoff that the snapshot implies, and the chain after it; none for the owner."""
    chain = session.chain
    if agent == chain.owner:
        return [], chain
    require_turn(chain, agent)
    require_current_text(session, reading)
    if chain.at_work and is_handing_back_unchanged(session, agent, reading):
        event = handover_event(chain, agent, reading, implied=True)
        return [event], preview(session, [event])
    if chain.at_work:
        raise Refused(
            f"{chain.owner} has been at work since {chain.since}, and the tree is its own",
            hint=at_work_hint(chain, agent),
        )
    if options.attest is None:
        present = Present(reading)
        verdict = judge_session(session, present)
        if verdict.outcome is not Outcome.YES:
            error = drift_refusal(record_drift(session, present, verdict))
            raise Refused(
                error.message,
                hint=_own_changes(session, agent, options) + (error.hint or ""),
                paths=error.paths,
            )
    require_handover(session, chain, agent)
    event = handover_event(chain, agent, reading, attest=options.attest)
    if options.attest is not None:
        event = replace(event, tree=chain.settled_tree)
    return [event], preview(session, [event])


def _own_changes(session: Session, agent: str, options: Options) -> str:
    """Return how to vouch for the changes; what the agent edited itself it may only hand back, where policy says so."""
    done = options.done and session.context.policy.may_edit(agent, session.chain.agents)
    why = "the changes are its own"
    if options.done and not done:
        why += ", which it may hand back, not approve (chain.may_edit)"
    typed = _typed(agent, replace(options, done=done, attest=None))
    return f'{typed} --attest "why"   # {why}\n'


def _typed(agent: str, options: Options) -> str:
    """Return the command that these options were given to."""
    flags = {"--done": options.done, "--wip": options.wip, "--allow-clean": options.allow_clean}
    given = "".join(f" {flag}" for flag, is_set in flags.items() if is_set)
    attest = f" --attest {shlex.quote(options.attest)}" if options.attest is not None else ""
    return f"git taskctx snapshot --agent {agent}{given}{attest}"


def _require_change(session: Session, chain: Chain, reading: Reading, agent: str, options: Options) -> None:
    if agent == chain.agents[0] and not options.allow_clean and reading.tree == chain.init_tree:
        raise Refused(
            f"nothing changed since {session.task} began",
            hint=f"git taskctx snapshot --agent {agent} --allow-clean",
        )


def changed_paths(reading: Reading, since: TreeOid) -> tuple[str, ...]:
    """Return the quoted paths that differ from a tree."""
    return tuple(quote(change.path) for change in reading.changes_since(since))
