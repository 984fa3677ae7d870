"""Judge a session's worktree, and count a failed verification in the drift budget."""

from __future__ import annotations

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Event, Session
from git_taskctx.drift.judge import digest_of, judge
from git_taskctx.errors import GitFailed, Refused, TryAgain
from git_taskctx.files import ReadOnly
from git_taskctx.git.quoting import quote
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.seats import Expectation
from git_taskctx.model.payloads import Drift, DriftCause
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import Outcome, Verdict
from git_taskctx.situation import Situation

CAUSES_KEPT = 50
"""Causes that a drift record names."""


def count_drift(session: Session, reading: Reading, verdict: Verdict) -> Verdict | None:
    """Count a no about the owner's snapshot, once per difference, and return the verdict with the budget.

    `session` was opened for reading. None when another process wrote meanwhile: judge again.
    """
    if verdict.outcome is not Outcome.NO or session.archived or session.edited or is_counted(session, reading, verdict):
        return with_budget(session, verdict)
    try:
        with open_session(session.caller, write=True) as writing:
            return record_drift(writing, reading, verdict) if writing.chain == session.chain else None
    except (ReadOnly, TryAgain):
        return replace(verdict, summary=verdict.summary + " (not counted: the store cannot be written)")
    except GitFailed as error:
        return replace(verdict, summary=f"{verdict.summary} (not counted: {error.message})")


def is_at_rest(caller: Caller) -> bool:
    """Return whether no context is active here and nothing differs from HEAD."""
    if caller.task is not None or caller.store.active() is not None or caller.store.marker() is not None:
        return False
    head = caller.repository.find_commit("HEAD")
    if head is None:
        return False
    caller.store.check()
    with read_worktree(caller.repository, keep=False) as reading:
        return reading.tree == reading.index_tree == caller.repository.tree_of(head)


def judge_session(session: Session, reading: Reading, *, expect: str | None = None, strict: bool = False) -> Verdict:
    """Judge the present worktree without counting."""
    chain = session.chain
    expected = chain.expected
    if expect is not None and expect != chain.owner:
        expected = chain.seats[expect].last
    elif chain.at_work:
        return _at_work(session, reading)
    if expected is None:
        name = expect or chain.owner
        return Verdict(
            subject="worktree",
            outcome=Outcome.COULD_NOT_TELL,
            summary=f"{name} has no snapshot yet",
            expected_agent=name,
            tree=reading.tree,
            situation=Situation("chain.no_snapshot", agent=name),
        )
    strict = strict or session.context.policy.drift.strict
    verdict = judge(session.context, chain, expected, reading, strict=strict)
    if verdict.outcome is Outcome.YES and not session.over_budget:
        return verdict
    return replace(verdict, situation=in_drift(session, expected, verdict, reading))


def in_drift(
    session: Session, expected: Expectation, verdict: Verdict, reading: Reading, *, by_hook: bool = False
) -> Situation:
    """Return a verdict's situation; `by_hook`: a hook of the commit wrote the differences."""
    return Situation(
        "drift.differs", session=session, expected=expected, verdict=verdict, reading=reading, by_hook=by_hook
    )


def drift_refusal(verdict: Verdict) -> Refused:
    """Return the error for a verdict that is not yes."""
    lines = [verdict.summary]
    for cause in verdict.causes[:20]:
        where = f"{cause.path}: " if cause.path else ""
        lines.append(f"  {where}{cause.kind.value}{f' ({cause.detail})' if cause.detail else ''}")
    if len(verdict.causes) > 20:
        lines.append(f"  and {len(verdict.causes) - 20} more")
    return Refused(
        "\n".join(lines),
        verdict.situation,
        hint="\n".join(verdict.hints) or None,
        paths=tuple(cause.path for cause in verdict.causes if cause.path),
    )


def is_counted(session: Session, reading: Reading, verdict: Verdict) -> bool:
    """Return whether this difference is in the budget already."""
    return digest_of(verdict, reading) in session.chain.drifts


def record_drift(session: Session, reading: Reading, verdict: Verdict) -> Verdict:
    """Add a failed verification to the expected agent's budget, once per difference; return the verdict with it."""
    if verdict.outcome is not Outcome.NO or verdict.expected_agent is None:
        return verdict
    if not is_counted(session, reading, verdict):
        kept = verdict.causes[:CAUSES_KEPT]
        payload = Drift(
            digest=digest_of(verdict, reading),
            expected_tree=verdict.expected_tree,
            causes=tuple(
                DriftCause(cause.kind.value, cause.path, cause.detail, cause.expected, cause.present) for cause in kept
            ),
            count=len(verdict.causes),
        )
        event = Event(payload, verdict.expected_agent, tree=verdict.tree, commit=reading.head.commit)
        session.commit([event], reason=f"{session.task}: drift after {verdict.expected_agent}'s snapshot")
    return with_budget(session, verdict)


def with_budget(session: Session, verdict: Verdict) -> Verdict:
    seat = session.chain.seats.get(verdict.expected_agent or "")
    allowance = session.context.policy.drift.allowance
    return replace(verdict, warnings=tuple(session.warnings), budget=seat.budget if seat else None, allowance=allowance)


def describe_work(chain: Chain, reading: Reading) -> str:
    """Return what the owner at work has changed, in trees and where no tree shows it."""
    before = chain.expected.hidden if chain.expected is not None else ()
    hidden = [f"{change.path} ({change.kind})" for change in reading.hidden if change not in before]
    paths = [quote(change.path) for change in reading.changes_since(chain.start_tree)]
    texts = [f"{len(paths)} path{'s' * (len(paths) != 1)} changed: {_first(paths)}"] if paths else []
    texts += [f"not in a snapshot: {_first(hidden)}"] if hidden else []
    return f"{chain.owner} has been at work since {chain.since}; {'; '.join(texts) or 'nothing changed yet'}"


def _first(texts: list[str]) -> str:
    return ", ".join(texts[:5]) + (", …" if len(texts) > 5 else "")


def _at_work(session: Session, reading: Reading) -> Verdict:
    chain = session.chain
    return Verdict(
        subject="worktree",
        outcome=Outcome.COULD_NOT_TELL,
        summary=describe_work(chain, reading),
        expected_agent=chain.owner,
        expected_tree=chain.settled_tree,
        tree=reading.tree,
        in_use=True,
        situation=Situation("chain.at_work", chain=chain),
    )
