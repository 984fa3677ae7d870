"""Steps in the chain: whose turn it is, what a handoff waits for, and how the task ends."""

from __future__ import annotations

import os
from collections.abc import Sequence

from git_taskctx.commits.bypassed import BypassedHistory, find_bypassed
from git_taskctx.commits.seal import is_committed
from git_taskctx.context.session import SAVED, Session
from git_taskctx.git.remote import remotes_of
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.whereabouts import likely_remote
from git_taskctx.model.context import Finding, Status
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.step import Step, taskctx
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.report.advice import steps_for
from git_taskctx.report.advice.drift import ACCEPT, commit_of, snapshot_of
from git_taskctx.report.advice.fixed import NOTE, log_of

SHOWN = 5
"""How many paths a command names."""


def next_steps(session: Session, verdict: Verdict | None = None) -> tuple[Step, ...]:
    """Return what comes next in a task; `verdict` is on the worktree, if it has been checked."""
    if session.archived and session.over:
        return ended(session)
    if session.archived or session.edited:
        return recover(session)
    if verdict is not None and verdict.outcome is Outcome.NO and verdict.situation is not None:
        return steps_for(verdict.situation)
    if session.over_budget:
        return (NOTE,)
    around = find_bypassed(session, session.repository.find_commit("HEAD"))
    if around is None:
        return _on_the_way(session, verdict)
    why = f"takes out {around.commits[0][:12]}, which bypassed the gate"
    after = (commit_of(session),) if session.chain.validated else _on_the_way(session, verdict)
    return (way_back(session, around).because(why), *after)


def _on_the_way(session: Session, verdict: Verdict | None = None) -> tuple[Step, ...]:
    chain = session.chain
    owner = chain.owner
    position = chain.position(owner)
    earlier = chain.agents[max(position - 1, 0)]
    mine = chain.owner_seat.open_findings
    if mine:
        close = unblock(mine[0])
        if earlier == owner:
            return (close,)
        if chain.owner_seat.is_from_before(mine[0]):
            return (close.because("once it is fixed"), start(earlier).instead("hand back again"))
        return (start(earlier), close.instead("once it is fixed"))
    if chain.validated:
        return _when_validated(session)
    if position < len(chain.agents) - 1:
        after = chain.agents[position + 1]
        return (taskctx("snapshot", "--agent", owner) if chain.at_work else start(after),)
    return _last_steps(session, earlier, verdict.tree if verdict is not None else None)


def _last_steps(session: Session, earlier: str, tree: TreeOid | None) -> tuple[Step, ...]:
    """Return what the last agent does: `--done`, or first what `--done` would be refused for."""
    chain = session.chain
    owner, expected = chain.owner, chain.expected
    if chain.open_findings:
        return (unblock(chain.open_findings[0]),)
    behind = [agent for agent in chain.agents[:-1] if not chain.seats[agent].approves]
    may_edit = session.context.policy.may_edit(owner, chain.agents)
    if chain.at_work and not may_edit and tree not in (None, chain.tenure_tree):
        return _edited_steps(session, owner, earlier)
    edited = expected is not None and expected.edits and not may_edit
    if behind or edited:
        if chain.at_work:
            return (taskctx("snapshot", "--agent", owner),)
        own = edited and expected is not None and not expected.accepted
        why = f"{owner} may not approve its own edits (chain.may_edit)" if own else ""
        return (start(behind[0] if behind else earlier).because(why),)
    if session.context.policy.qa.require:
        from git_taskctx.context.qa import missing_qa

        missing = missing_qa(session, chain, chain.settled_tree)
        if missing:
            return (log_of(owner, missing[0]),)
    return (taskctx("snapshot", "--agent", owner, "--done"),)


def _edited_steps(session: Session, owner: str, earlier: str) -> tuple[Step, ...]:
    """Return what an agent can do with edits that it may not approve."""
    chain, before = session.chain, session.chain.previous_owner
    ways = [_hand_back(owner, earlier, f"hands back: {owner} may not approve its own edits (chain.may_edit)")]
    last = chain.seats[before].last if before in chain.seats else None
    if last is not None and last.tree == chain.tenure_tree:
        ways.append(taskctx("restore", "--agent", before).instead("takes the edits back"))
    return tuple(ways)


def _hand_back(owner: str, earlier: str, why: str = "") -> Step:
    step = taskctx("snapshot", "--agent", owner, why=why)
    return step.then("git", "taskctx", "start", "--agent", earlier) if earlier != owner else step


def _when_validated(session: Session) -> tuple[Step, ...]:
    """Return how to end the task: by its commit, or by putting it away where HEAD holds everything already."""
    if is_committed(session):
        return (taskctx("complete", why="HEAD is the commit of the validated tree already: the task is over"),)
    if holds_nothing_new(session):
        return (taskctx("purge", why="HEAD holds the validated tree already: there is nothing to commit"),)
    return (commit_of(session),)


def holds_nothing_new(session: Session) -> bool:
    """Return whether HEAD already holds the validated tree, so that there is nothing to commit."""
    chain = session.chain
    expected = chain.expected if chain.validated else None
    return expected is not None and session.repository.tree_of(chain.parent) == expected.commit_tree


# A handoff that is refused


def turn(session: Session, agent: str, chain: Chain | None = None) -> tuple[Step, ...]:
    """Return how `agent` gets the tree, or what must be done before: the rows of the table of `start`.

    `chain` is the chain after a take-over, if one was asked for.
    """
    chain = chain or session.chain
    owner = chain.owner
    if agent == owner:
        return (start(agent),)
    earlier = chain.agents[max(chain.position(owner) - 1, 0)]
    if chain.position(agent) - chain.position(owner) > 1:
        return _on_the_way(session)
    findings = chain.owner_seat.open_findings if chain.is_later(agent, owner) else ()
    if chain.at_work:
        if findings:
            return (unblock(findings[0]).because("once it is fixed"),)
        return (
            taskctx("snapshot", "--agent", owner, why="when its work is done"),
            taskctx("start", "--agent", agent, "--take-over", "what happened").instead("when it died or gave up"),
        )
    if findings:
        back = start(earlier).because("hand back")
        close = unblock(findings[0])
        return (back, close.instead("once it is fixed")) if earlier != owner else (close,)
    expected, policy = chain.expected, session.context.policy
    edited = expected is not None and expected.edits and not policy.may_edit(owner, chain.agents)
    if edited and chain.is_later(agent, owner):
        over = ("--take-over", "what happened") if session.chain.at_work else ()
        return (taskctx("start", "--agent", earlier, *over),)
    return (start(agent),)


def own_changes(
    session: Session, agent: str, words: Sequence[str], *, done: bool, verdict: Verdict
) -> tuple[Step, ...]:
    """Suggest vouching for changes, or undoing them; an agent that may not edit can only hand them back."""
    may_say_done = done and session.context.policy.may_edit(agent, session.chain.agents)
    why = "the changes are its own"
    if done and not may_say_done:
        why += ", which it may hand back, not approve (chain.may_edit)"
    done_too = ("--done",) if may_say_done else ()
    vouch = taskctx("snapshot", "--agent", agent, *done_too, *words, "--attest", "what happened", why=why)
    return (vouch, *(steps_for(verdict.situation) if verdict.situation is not None else ()))


def distinct(session: Session, chain: Chain, agent: str, words: Sequence[str]) -> tuple[Step, ...]:
    """Suggest an actor who edited nothing; a take-over counts the owner's edits as those of whoever took over."""
    me, before = session.caller.actor, chain.seats[agent].actor
    editors = {
        taken.actor for earlier in chain.agents[: chain.position(agent)] for taken in chain.seats[earlier].snapshots
        if taken.edits
    }  # fmt: skip
    if "--take-over" in words and chain != session.chain:
        owner, mine = session.chain.owner, {one.actor for one in session.chain.seats[session.chain.owner].snapshots}
        who = session.chain.seats[owner].actor or "SOMEBODY"
        step = taskctx("snapshot", "--agent", owner, "--actor", who, why="as whoever did the work")
        other = me if me not in {who, *mine} else "SOMEBODY-ELSE"
        return (step.then("git", "taskctx", "start", "--agent", agent, "--actor", other),)
    someone = before if before is not None and before not in (me, *editors) else "SOMEBODY-ELSE"
    return (taskctx(*words, "--actor", someone),)


def nobody_at_work(session: Session, role: str | None) -> tuple[Step, ...]:
    """Suggest beginning a turn before writing; without a role, that of the owner."""
    if role is not None:
        return turn(session, role)
    owner = session.chain.owner
    return (*next_steps(session), start(owner).instead(f"to go on as {owner}"))


def before_stopping(session: Session) -> tuple[Step, ...]:
    """Suggest recording the work, finished or not."""
    chain = session.chain
    done = ("--done",) if chain.owner == chain.agents[-1] and not chain.open_findings else ()
    snapshot = ("snapshot", "--agent", chain.owner)
    return (
        taskctx(*snapshot, *done, why="when the work is finished"),
        taskctx(*snapshot, "--wip", why="when it goes on later"),
    )


# `done` and the gate


def finding_open(finding: Finding) -> tuple[Step, ...]:
    """Suggest closing a finding."""
    return (unblock(finding).because("once it is fixed"),)


def not_its_own(session: Session, agent: str, words: Sequence[str]) -> tuple[Step, ...]:
    """Suggest handing back edits that this agent may not approve."""
    chain = session.chain
    earlier = chain.agents[max(chain.position(agent) - 1, 0)]
    step = taskctx("snapshot", "--agent", agent, *words).then("git", "taskctx", "start", "--agent", earlier)
    return (step, *_edited_steps(session, agent, earlier)[1:])


def not_done(session: Session, agent: str) -> tuple[Step, ...]:
    """Suggest the approval of an agent that has not approved, or the turn of the one before it."""
    chain = session.chain
    if agent == chain.owner:
        after = chain.agents[chain.position(agent) + 1 :][:1]
        return (start(after[0]) if after else taskctx("snapshot", "--agent", agent, "--done"),)
    if chain.position(agent) - chain.position(chain.owner) > 1:
        return _on_the_way(session)
    return (start(agent),)


def at_work(chain: Chain) -> Step:
    """Suggest ending the owner's turn."""
    return snapshot_of(chain)


def not_staged(session: Session) -> Step:
    """Suggest committing all of the task."""
    return commit_of(session)


def not_the_tasks(session: Session, out: Sequence[bytes], into: Sequence[bytes]) -> tuple[Step, ...]:
    """Suggest unstaging what is not the task's, and staging what is."""
    if len(out) + len(into) > SHOWN:
        return (Step(("git", "reset", "-q"), after=((commit := commit_of(session)).argv, *commit.after)),)
    reset = ("git", "reset", "-q", "--", *_pathspecs(out))
    add = ("git", "add", "-A", "--", *_pathspecs(into))
    first, *more = [words for words, paths in ((reset, out), (add, into)) if paths]
    return (Step(first, "then commit again", after=tuple(more)),)


def _pathspecs(paths: Sequence[bytes]) -> list[str]:
    return [f":(top,literal){os.fsdecode(path)}" for path in paths]


# Commits that bypassed the gate, and the end


def around(session: Session, found: BypassedHistory) -> Step:
    """Suggest taking out what bypassed the gate, then committing again."""
    return way_back(session, found).because("then commit again")


def over(session: Session, found: BypassedHistory | None) -> tuple[Step, ...]:
    """Suggest the log of a task that is over, sharing its proof, or redoing its commit if that is violated."""
    log = taskctx("log", "--task", session.task)
    if found is not None:
        return (*((commit_again(found),) if found.is_head else ()), log)
    remotes = remotes_of(session.repository.git)
    push = (taskctx("push", likely_remote(remotes), why="so that others, and CI, can prove it"),) if remotes else ()
    return (*push, log)


def over_and_after(session: Session, found: BypassedHistory | None) -> tuple[Step, ...]:
    """Suggest the same to whoever wanted to write to the task."""
    return (*over(session, found), *ended(session))


def ended(session: Session) -> tuple[Step, ...]:
    """Suggest what still works on a task that is over."""
    saved = (undo(session.context.context_id).because("what `restore` saved last"),) if session.saved else ()
    return (taskctx("log", "--task", session.task, why="what was done"), *saved)


def completed(task: str, found: BypassedHistory | None, notified: int | None) -> tuple[Step, ...]:
    """Suggest redoing a commit whose proof is violated, and running a failed notifier again."""
    again = taskctx("complete", "--task", task, why="runs it again")
    return (*([commit_again(found)] if found is not None and found.is_head else []), *([again] if notified else []))


def commit_again(found: BypassedHistory) -> Step:
    """Return how to redo the commit of a task that is over, on the tree that every agent approved."""
    why = "the same tree, committed once it was approved, is proved"
    return take_back(found).then("git", "commit").because(why)


def take_back(found: BypassedHistory) -> Step:
    """Return how to take commits out of the history and leave the files as they are."""
    words = ("reset", "--soft", found.below[:12]) if found.below else ("update-ref", "-d", "HEAD")
    return Step(("git", *words))


def way_back(session: Session, found: BypassedHistory) -> Step:
    """Return how to go on without what bypassed the gate; an agent at work has nothing to acknowledge."""
    return take_back(found) if session.chain.at_work else take_back(found).then(*ACCEPT.argv)


def recover(session: Session) -> tuple[Step, ...]:
    """Suggest recovering a context that was put away, or edited by hand."""
    named = session.caller.context_id
    return (taskctx("recover", session.task, *(("--context", named) if named else ())),)


def undo(context: str, number: int | None = None) -> Step:
    """Return how to bring back a state that `restore` saved, by default the last one."""
    which = ("--round", str(number)) if number is not None else ()
    return taskctx("restore", "--context", context, "--agent", SAVED, *which)


# What an agent says of itself


def not_that_status(session: Session, agent: str, status: Status) -> tuple[Step, ...]:
    """Suggest the verb that sets a status."""
    if status == "in_progress":
        return turn(session, agent)
    if status == "blocked":
        return (taskctx("block", "--agent", agent, "--finding", "what is wrong"),)
    first = session.chain.agents[0]
    return (start(first).because("hand the tree on"),) if session.chain.owner != first else (taskctx("status"),)


def blocked(session: Session, finding: Finding) -> tuple[Step, ...]:
    """Suggest handing back to an agent that can fix the finding; an earlier one already has the tree."""
    chain, agent = session.chain, finding.by
    if not chain.position(agent):
        return finding_open(finding)
    if not chain.is_later(agent, chain.owner):
        return (start(chain.agents[chain.position(agent) - 1]).because("hand back"),)
    if chain.at_work:
        return (taskctx("snapshot", "--agent", chain.owner, why="once it is fixed"),)
    return (start(chain.owner).because("to fix it"),)


def start(agent: str) -> Step:
    """Return how to give the tree to an agent."""
    return taskctx("start", "--agent", agent)


def unblock(finding: Finding) -> Step:
    """Return how to close a finding."""
    return taskctx("unblock", "--agent", finding.by, "--finding", finding.id)
