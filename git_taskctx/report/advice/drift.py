"""Steps for drift: for each cause the command that undoes it, and last the one that accepts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from git_taskctx.context.session import Session
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.quoting import unquote
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import Reading
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.seats import Expectation
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.step import Step, taskctx
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import CauseKind, Outcome, Verdict
from git_taskctx.report.advice import steps_for
from git_taskctx.report.advice.fixed import NOTE
from git_taskctx.situation import Situation

ACCEPT = taskctx("resolve-drift", "--accept", "--note", "what happened")
SHOWN = 5
"""How many paths a command names one by one."""
MANY = 500
"""How many paths git is asked about on its command line."""

_ABORT = {
    "merge": ("merge", "--abort"),
    "rebase": ("rebase", "--abort"),
    "cherry-pick": ("cherry-pick", "--abort"),
    "revert": ("revert", "--abort"),
    "am": ("am", "--abort"),
    "bisect": ("bisect", "reset"),
}
_RESTORABLE = {
    CauseKind.EDITED, CauseKind.ADDED, CauseKind.DELETED, CauseKind.RENAMED, CauseKind.MODE_CHANGED,
    CauseKind.TYPE_CHANGED, CauseKind.IGNORE_RULES_CHANGED, CauseKind.CHECKED_OUT,
}  # fmt: skip


def differs(
    session: Session, expected: Expectation, verdict: Verdict, reading: Reading, *, by_hook: bool = False
) -> tuple[Step, ...]:
    """Suggest undoing what a verdict found, or accepting it; only a note if the drift is gone but unresolved.

    A hook of the commit would write the same again (`by_hook`), so there accepting comes first.
    """
    if verdict.outcome is Outcome.YES:
        return (NOTE,) if session.over_budget else ()
    if verdict.outcome is not Outcome.NO:
        return ()
    kinds = {cause.kind for cause in verdict.causes}
    price = _price(session, expected)
    restore = taskctx("restore", "--agent", expected.agent)
    if by_hook:
        return (
            ACCEPT.because(f"keep what a formatter wrote{price}"),
            restore.instead("undo it, and format before the last snapshot"),
        )
    if session.only_looks and verdict.tree == session.repository.tree_of(reading.head.commit):
        # Nothing was done in a fresh checkout: accepting it would replace the work with nothing.
        return (restore.because(f"brings what {expected.agent} left"),)
    ways = list[Step]()
    accept = ACCEPT.because(f"keep it as it is now{price}")
    if kinds & {CauseKind.HEAD_MOVED} and _is_beside(session, expected, reading):
        ways.append(accept.because(f"keeps what was committed beside the task{price}"))
    if CauseKind.STAGED_ONLY in kinds:
        ways.append(_stage_as_before(session.repository, expected, reading))
        if len(kinds) == 1:
            return tuple(ways)  # no tree differs, so that there is nothing to accept
    if CauseKind.OPERATION_IN_PROGRESS in kinds and reading.operation is not None:
        ways.append(Step(("git", *_ABORT[reading.operation])))
    if CauseKind.STASHED in kinds:
        ways.append(Step(("git", "stash", "pop")))
    if kinds & {CauseKind.COMMITTED_EARLY, CauseKind.HEAD_MOVED} and reading.operation is None:
        ways += _ways_back(session, expected, kinds, reading)
    apart = dict(_nested(session.repository, expected, verdict))
    if any(cause.kind in _RESTORABLE and cause.path and cause.path not in apart for cause in verdict.causes):
        ways.append(restore)
    ways += list(apart.values())[:SHOWN]
    if ways[:1] and ways[0].argv == ACCEPT.argv:
        return (ways[0], *(way.instead() for way in ways[1:2]), *ways[2:])
    return (*ways, replace(accept, alternative=bool(ways)))


def _is_beside(session: Session, expected: Expectation, reading: Reading) -> bool:
    """Return whether HEAD only went on, by commits of paths that the task left alone, and no file changed since."""
    head, branch, repository = reading.head.commit, reading.head.branch, session.repository
    if head is None or expected.head is None or branch != expected.branch or reading.operation is not None:
        return False
    if not repository.is_ancestor(expected.head, head):
        return False
    before = repository.tree_of(expected.head)
    came = compare_trees(repository, before, repository.tree_of(head))
    own = {change.path for change in compare_trees(repository, before, expected.tree)}
    if came != reading.changes_since(expected.tree) or own & {change.path for change in came}:
        return False
    from git_taskctx.context.gather import other_agents_at

    return other_agents_at(repository, head, session.chain.agents) is None


def formatted(situation: Situation) -> tuple[Step, ...]:
    """Suggest fixing the index, or keeping what a formatter wrote."""
    return (*steps_for(situation), ACCEPT.instead("where a formatter wrote it, keep that"))


def snapshot_of(chain: Chain) -> Step:
    """Return how the owner ends its turn; the last agent also approves."""
    done = ("--done",) if chain.owner == chain.agents[-1] else ()
    return taskctx("snapshot", "--agent", chain.owner, *done)


def commit_of(session: Session) -> Step:
    """Return how to commit exactly the validated tree, without what was dirty before the task."""
    expected = session.chain.expected
    if expected is None or expected.tree == expected.commit_tree:
        return Step(("git", "add", "-A")).then("git", "commit")
    dirt = compare_trees(session.repository, expected.commit_tree, expected.tree)
    left_out = (f":(top,exclude,literal){os.fsdecode(change.path)}" for change in dirt)
    return Step(("git", "add", "-A", "--", ":/", *left_out)).then("git", "commit")


def _price(session: Session, expected: Expectation) -> str:
    """Return what accepting another tree costs: the approvals of the expected one."""
    seats = session.chain.seats.items()
    approved = [agent for agent, seat in seats if seat.done_tree == expected.tree and not seat.stale]
    return ", which voids what was approved" if approved else ""


def _ways_back(session: Session, expected: Expectation, kinds: set[CauseKind], reading: Reading) -> list[Step]:
    chain = session.chain
    if CauseKind.COMMITTED_EARLY in kinds and chain.validated:
        back = Step(("git", "reset", "--soft", _short(chain.parent)), "then: git taskctx status")
        return [back if expected.tree == expected.commit_tree else back.then("git", "reset", "-q")]
    if expected.head is None:
        return []
    if reading.head.branch != expected.branch and expected.branch is not None:
        return [Step(("git", "switch", expected.branch))]
    if CauseKind.COMMITTED_EARLY in kinds or reading.tree == expected.tree:
        return [Step(("git", "reset", "--soft", _short(expected.head)))]
    why = "if what came in is not wanted"
    if _may_keep(session.repository, expected.head, reading.head.commit):
        return [Step(("git", "reset", "--keep", _short(expected.head)), why)]
    back = Step(("git", "reset", "-q", _short(expected.head)), why)
    return [back.then("git", "taskctx", "restore", "--agent", expected.agent)]


def _may_keep(repository: Repository, target: CommitOid, head: CommitOid | None) -> bool:
    """Return whether `git reset --keep` goes back: it refuses if the incoming paths were edited since (git-reset)."""
    changed = compare_trees(repository, repository.tree_of(target), repository.tree_of(head))
    paths = [f":(top,literal){os.fsdecode(one.path)}" for one in changed]
    asked = ("diff-index", "--quiet", "HEAD", "--", *paths)
    return len(paths) <= MANY and repository.git.run(*asked, ok=(0, 1, 128)).code == 0


def _stage_as_before(repository: Repository, expected: Expectation, reading: Reading) -> Step:
    """Return how to restore the index, or, if its tree is not in this clone, how to verify without it."""
    tree = expected.index_tree
    if tree == repository.tree_of(reading.head.commit):
        return Step(("git", "reset", "-q"), "nothing was staged")
    if tree is not None and repository.git.run("cat-file", "-e", tree, ok=(0, 1, 128)).code == 0:
        return Step(("git", "read-tree", tree), "stages what was staged before")
    return taskctx("verify", why="without --strict, by which what is staged counts")


def _nested(repository: Repository, expected: Expectation, verdict: Verdict) -> Iterator[tuple[str, Step]]:
    """Yield the nested repositories that `restore` leaves alone, each with the command that puts it back.

    `git submodule update` knows only what .gitmodules names, and goes by the index, not by the snapshot.
    """
    for cause in verdict.causes:
        path = os.fsdecode(unquote(cause.path)) if cause.path is not None else ""
        place = repository.toplevel / path
        if cause.path is not None and cause.kind is CauseKind.SUBMODULE_MOVED:
            found = repository.git.run("rev-parse", "--verify", "-q", f"{expected.tree}:{path}", ok=(0, 1, 128))
            oid = found.out.decode().strip()
            yield cause.path, Step(("git", "-C", os.fspath(place), "checkout", "-q", "--detach", oid))
        elif cause.path is not None and cause.kind is CauseKind.ADDED and (place / ".git").exists():
            out = os.fspath(repository.toplevel.parent / place.name)
            words = ("git", "worktree", "move") if _is_linked(repository, place) else ("mv",)
            yield cause.path, Step((*words, os.fspath(place), out), "a repository of its own is not a file of the task")


def _is_linked(repository: Repository, folder: Path) -> bool:
    """Return whether a folder is a linked worktree of this repository, by its .git file."""
    try:
        words = (folder / ".git").read_text("utf-8", "surrogateescape")
    except OSError:
        return False
    place = Path(words.removeprefix("gitdir: ").rstrip("\n"))
    return place.parent.resolve() == (repository.common_dir / "worktrees").resolve()


def _short(commit: str | None) -> str:
    return (commit or "")[:12]
