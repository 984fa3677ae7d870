"""The gate: whether the commit about to be made is allowed.

It judges the index being committed and, if nobody is at work, the worktree. It writes only to the ledger: a failed
verification counts.
"""

from __future__ import annotations

import os
from pathlib import Path

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.commits.commits import require_approved, require_settled, require_tree
from git_taskctx.commits.seal import open_current
from git_taskctx.context.caller import Caller
from git_taskctx.context.session import Session
from git_taskctx.drift.count import count_drift, drift_refusal, in_drift
from git_taskctx.drift.judge import judge, sentence
from git_taskctx.errors import CouldNotTell, Refused
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.index import IndexCopy
from git_taskctx.git.private import private_folder
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, replace
from git_taskctx.model.verdict import Cause, CauseKind, Outcome, Remark, Verdict
from git_taskctx.situation import Situation


@dataclass(frozen=True)
class Attempt:
    index: Path
    """The index being committed; not the user's with `commit -a` and `commit -- path`."""
    amends: bool = False
    put_aside: bool = False
    """True while a tool has put unstaged changes aside, as pre-commit and lint-staged do."""
    began: float | None = None
    """When it began, in seconds since the epoch, if later file changes are a hook's."""


def check_commit(caller: Caller, attempt: Attempt) -> tuple[Remark, ...]:
    """Allow a commit; return remarks on it and on earlier ones. Raises: Refused; any error that prevents an answer."""
    store = caller.store
    if store.is_idle:
        return ()
    with open_current(caller, gated=True) as (session, caught):
        if caught.sealed is not None:
            return tuple(map(Remark, (*caught.notices, *caught.ended)))
        session.require_open(may_be_blocked=True)
        if session.chain.at_work:
            require_settled(session)
            require_approved(session)  # commit.require is `budget`: nothing that could be compared is on record
            return (*map(Remark, caught.notices), *_remarks(session, attempt))
        with read_worktree(session.repository, keep=False) as reading:
            if _judge(session, reading, attempt):
                return (*map(Remark, caught.notices), *_remarks(session, attempt))
    return check_commit(caller, attempt)


def _remarks(session: Session, attempt: Attempt) -> tuple[Remark, ...]:
    """Warn of bypasses in the commit's history, and of unfinished work in it."""
    head = session.repository.find_commit("HEAD")
    around = find_bypassed(session, _parent(session, head, attempt))
    remarks = tuple(map(Remark, session.unfinished()))
    if around is None:
        return remarks
    return (Remark(around.text, Situation("chain.around", session=session, found=around)), *remarks)


def staged_paths(caller: Caller, attempt: Attempt) -> tuple[str, ...]:
    """Return the paths that the commit changes, sorted; none where that is unknown."""
    git = caller.repository.git.with_env(GIT_INDEX_FILE=os.fspath(attempt.index))
    found = git.run("diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--", ok=(0, 128))
    if found.code:  # on an unborn branch `HEAD` is a bad revision, and every path of the index is new
        found = git.run("ls-files", "-z", ok=(0, 128))
    return tuple(sorted(quote(path) for path in found.out.split(b"\0")[:-1]))


def _judge(session: Session, reading: Reading, attempt: Attempt) -> bool:
    """Allow a commit; False when another process wrote meanwhile, so that it must be judged again."""
    chain, context = session.chain, session.context
    expected = session.require_snapshot()
    held = _tree_of(session, reading, attempt.index)
    # What is staged is judged below: staging what was snapshotted is no drift, however strict the policy.
    verdict = judge(context, chain, expected, reading, strict=False)
    if verdict.outcome is Outcome.NO and attempt.put_aside:
        causes = _not_put_aside(reading, expected.tree, held, verdict)
        text = sentence(expected, causes) if causes else verdict.summary
        verdict = replace(verdict, outcome=Outcome.NO if causes else Outcome.YES, causes=causes, summary=text)
    if verdict.outcome is Outcome.NO:
        by_hook = _is_by_hook(session, verdict, attempt)
        verdict = replace(verdict, situation=in_drift(session, expected, verdict, reading, by_hook=by_hook))
        counted = count_drift(session, reading, verdict)
        if counted is None:
            return False
        raise drift_refusal(
            replace(counted, summary=f"{counted.summary}{' while the hooks of this commit ran' * by_hook}")
        )
    if verdict.outcome is not Outcome.YES:
        raise CouldNotTell(verdict.summary, hint="\n".join(verdict.hints) or "git fsck")
    session.require_open(put_right=True)
    require_approved(session)
    seeing = replace(session, caller=replace(session.caller, repository=reading.repository))
    try:
        require_tree(seeing, _parent(session, reading.head.commit, attempt), held)
    except Refused as error:
        if attempt.put_aside and {quote(change.path) for change in reading.changes_since(expected.tree)} & {
            *error.paths
        }:
            error.situation = Situation("drift.formatted", situation=error.situation)
        raise
    return True


def _is_by_hook(session: Session, verdict: Verdict, attempt: Attempt) -> bool:
    """Return whether all differences are edits of files written since the commit began."""
    began, top = attempt.began, os.fsencode(session.repository.toplevel)
    if began is None or any(cause.kind is not CauseKind.EDITED for cause in verdict.causes):
        return False
    try:
        return all(os.lstat(top + b"/" + unquote(cause.path or "")).st_ctime >= began for cause in verdict.causes)
    except OSError:
        return False


def _parent(session: Session, head: CommitOid | None, attempt: Attempt) -> CommitOid | None:
    if head is None or not attempt.amends:
        return head
    return session.repository.parent_of(head)


def _tree_of(session: Session, reading: Reading, index: Path) -> TreeOid:
    """Return the tree being committed. Raises: CouldNotTell while it is unmerged."""
    if index == session.repository.index:
        tree = reading.index_tree
    else:
        view = reading.repository.view()
        view.index = index
        with private_folder(session.repository) as folder:
            tree = IndexCopy(view, folder).write_tree(view.git)
    if tree is None:
        raise CouldNotTell("the index is unmerged", hint="git status   # what is left to merge")
    return tree


def _not_put_aside(reading: Reading, expected: TreeOid, held: TreeOid, verdict: Verdict) -> tuple[Cause, ...]:
    """Return the causes without paths that equal the index: their unstaged changes were put aside."""
    hidden = (CauseKind.HIDDEN_EDIT, CauseKind.SUBMODULE_DIRTY)
    if any(
        cause.kind in hidden or (cause.path is None and cause.kind is not CauseKind.SCOPE_CHANGED)
        for cause in verdict.causes
    ):
        return verdict.causes
    unstaged = {quote(change.path) for change in compare_trees(reading.repository, held, reading.tree)}
    if not any(quote(change.path) in unstaged for change in reading.changes_since(expected)):
        return ()
    return tuple(cause for cause in verdict.causes if cause.path in unstaged) or verdict.causes
