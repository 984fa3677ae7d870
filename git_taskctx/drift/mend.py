"""What to type about drift: for each cause the command that undoes it, and last the one that accepts it.

A hint is one command, with a shell comment behind it where it needs one; later ones are alternatives.
"""

from __future__ import annotations

import os
import shlex

from git_taskctx.context.session import NOTE, Session
from git_taskctx.drift.judge import Present
from git_taskctx.errors import Refused
from git_taskctx.git.changes import compare_trees
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.seats import Expectation
from git_taskctx.model.verdict import CauseKind, Outcome, Verdict

ACCEPT = 'git taskctx resolve-drift --accept --note "what happened"'

_ABORT = {
    "merge": "git merge --abort",
    "rebase": "git rebase --abort",
    "cherry-pick": "git cherry-pick --abort",
    "revert": "git revert --abort",
    "am": "git am --abort",
    "bisect": "git bisect reset",
}
_RESTORABLE = {
    CauseKind.EDITED, CauseKind.ADDED, CauseKind.DELETED, CauseKind.RENAMED, CauseKind.MODE_CHANGED,
    CauseKind.TYPE_CHANGED, CauseKind.IGNORE_RULES_CHANGED, CauseKind.CHECKED_OUT,
}  # fmt: skip


def ways_out(
    session: Session, expected: Expectation, verdict: Verdict, present: Present, *, by_hook: bool = False
) -> tuple[str, ...]:
    """Return the commands that mend what a verdict found; the note, where only the budget is left.

    What a hook of the commit wrote (`by_hook`) would come again once it is put back, so what accepts it is first.
    """
    if verdict.outcome is Outcome.YES:
        return (NOTE,) if session.over_budget else ()
    if verdict.outcome is not Outcome.NO:
        return ()
    kinds = {cause.kind for cause in verdict.causes}
    price = _price(session, expected)
    if by_hook:
        return (
            f"{ACCEPT}   # keep what a formatter wrote{price}",
            f"git taskctx restore --agent {expected.agent}   # or undo it, and format before the last snapshot",
        )
    ways = []
    if CauseKind.OPERATION_IN_PROGRESS in kinds and present.operation is not None:
        ways.append(_ABORT[present.operation])
    if CauseKind.STASHED in kinds:
        ways.append("git stash pop")
    if kinds & {CauseKind.COMMITTED_EARLY, CauseKind.HEAD_MOVED} and present.operation is None:
        ways += _ways_back(session, expected, kinds, present)
    if any(cause.kind in _RESTORABLE and cause.path for cause in verdict.causes):
        ways.append(f"git taskctx restore --agent {expected.agent}")
    if CauseKind.SUBMODULE_MOVED in kinds:
        ways.append("git submodule update")
    return (*ways, f"{ACCEPT}   # {'or ' if ways else ''}keep it as it is now{price}")


def snapshot_command(chain: Chain) -> str:
    """Return how the owner ends its work; the last agent approves with it."""
    done = " --done" if chain.owner == chain.agents[-1] else ""
    return f"git taskctx snapshot --agent {chain.owner}{done}"


def commit_command(session: Session) -> str:
    """Return how to commit exactly the validated tree: all of it, but for the dirt from before the task."""
    expected = session.chain.expected
    if expected is None or expected.tree == expected.commit_tree:
        return "git add -A && git commit"
    dirt = compare_trees(session.repository, expected.commit_tree, expected.tree)
    left_out = " ".join(shlex.quote(f":(top,exclude,literal){os.fsdecode(change.path)}") for change in dirt)
    return f"git add -A -- :/ {left_out} && git commit"


def _price(session: Session, expected: Expectation) -> str:
    """Say what it costs to accept another tree: the approvals of the one that is expected."""
    seats = session.chain.seats.items()
    approved = [agent for agent, seat in seats if seat.done_tree == expected.tree and not seat.stale]
    return ", which voids what was approved" if approved else ""


def _ways_back(session: Session, expected: Expectation, kinds: set[CauseKind], present: Present) -> list[str]:
    chain = session.chain
    if CauseKind.COMMITTED_EARLY in kinds and chain.validated:
        unstage = "" if expected.tree == expected.commit_tree else " && git reset -q"
        return [f"git reset --soft {_short(chain.parent)}{unstage}   # then: git taskctx status"]
    if expected.head is None:
        return []
    if present.head.branch != expected.branch and expected.branch is not None:
        return [f"git switch {shlex.quote(expected.branch)}"]
    if CauseKind.COMMITTED_EARLY in kinds or present.reading.tree == expected.tree:
        return [f"git reset --soft {_short(expected.head)}"]
    return [f"git reset --keep {_short(expected.head)}   # if what came in is not wanted"]


def _short(commit: str | None) -> str:
    return (commit or "")[:12]


def drift_refusal(verdict: Verdict) -> Refused:
    """Turn a verdict that is no yes into the error of a verb that needed one."""
    lines = [verdict.summary]
    for cause in verdict.causes[:20]:
        where = f"{cause.path}: " if cause.path else ""
        lines.append(f"  {where}{cause.kind.value}{f' ({cause.detail})' if cause.detail else ''}")
    if len(verdict.causes) > 20:
        lines.append(f"  and {len(verdict.causes) - 20} more")
    return Refused(
        "\n".join(lines),
        hint="\n".join(verdict.hints) or None,
        paths=tuple(cause.path for cause in verdict.causes if cause.path),
    )
