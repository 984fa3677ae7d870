"""Drift: whether the worktree is still as recorded, and why not.

The answer rests on tree oids alone; the explanation reads more. What is unknown is reported, and never a pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from git_taskctx.context.scope import scope_hash_of
from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import ABSENT, LINK, SUBMODULE, compare_trees, pair_renames
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import find_ref
from git_taskctx.git.worktree import Reading
from git_taskctx.ledger.chain import Chain
from git_taskctx.ledger.seats import Expectation
from git_taskctx.model.canonical import dump_line, sha256_hex
from git_taskctx.model.context import Context
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.snapshot import Change, HiddenChange
from git_taskctx.model.values import replace
from git_taskctx.model.verdict import Cause, CauseKind, Outcome, Verdict

IGNORE_FILE = b".gitignore"
EDITORS_SHOWN = 5
"""Maximum number of editors' files that are named."""


def judge(context: Context, chain: Chain, expected: Expectation, reading: Reading, *, strict: bool) -> Verdict:
    """Compare the worktree with a snapshot; `strict` counts what is staged.

    The verdict is yes, or no with every cause, or could-not-tell when the trees differ but cannot be compared.
    """
    causes: list[Cause] = []
    notices: list[Cause] = []
    if reading.tree != expected.tree:
        try:
            changes = reading.changes_since(expected.tree)
        except CouldNotTell as error:
            return _verdict(expected, reading, Outcome.COULD_NOT_TELL, error.message, hints=(error.hint or "git fsck",))
        from git_taskctx.context.volatile import is_volatile

        volatile = is_volatile(context, reading.objects, changes)
        (notices if volatile else causes).extend(
            (Cause(CauseKind.VOLATILE_KEYS, context.git.task_file, ", ".join(context.policy.task.volatile)),)
            if volatile
            else _explain_paths(reading, expected, changes)
        )
    notices += [Cause(CauseKind.EDITORS_FILE, path) for path in reading.temporary[:EDITORS_SHOWN]]
    causes += _explain_head(context, chain, expected, reading, same=not causes)
    if not causes and reading.head.branch != expected.branch:
        notices.append(Cause(CauseKind.CHECKED_OUT, None, _switch(expected, reading)))
    if reading.operation != expected.in_progress:
        detail = f"{reading.operation} in progress" if reading.operation else f"{expected.in_progress} is over"
        causes.append(Cause(CauseKind.OPERATION_IN_PROGRESS, None, detail))
    causes += _explain_hidden(expected.hidden, reading.hidden)
    volatile_only = any(notice.kind is CauseKind.VOLATILE_KEYS for notice in notices)
    if scope_hash_of(reading, context, expected) != expected.scope_hash and not volatile_only:
        causes.append(Cause(CauseKind.SCOPE_CHANGED, None, "paths that the scope patterns match came or went"))
    if reading.index_tree != expected.index_tree:
        staged = Cause(CauseKind.STAGED_ONLY, None, "what is staged differs, the files do not")
        if strict:
            causes.append(staged)
        elif not causes:
            notices.append(staged)
    if causes:
        return replace(
            _verdict(expected, reading, Outcome.NO, sentence(expected, causes)),
            causes=tuple(causes),
            notices=tuple(notices),
        )
    summary = f"unchanged since {_owner_words(expected)}"
    return replace(_verdict(expected, reading, Outcome.YES, summary), notices=tuple(notices))


def digest_of(verdict: Verdict, reading: Reading) -> str:
    """Return a hash of a difference, so that it is counted once."""
    staged = any(cause.kind is CauseKind.STAGED_ONLY for cause in verdict.causes)
    state = {
        "tree": verdict.tree,
        "head": reading.head.commit,
        "operation": reading.operation,
        "hidden": [[change.path, change.kind, change.sha256] for change in reading.hidden],
        "index": reading.index_tree if staged else None,
    }
    return sha256_hex(dump_line(state).encode())


def _verdict(
    expected: Expectation, reading: Reading, outcome: Outcome, summary: str, *, hints: tuple[str, ...] = ()
) -> Verdict:
    return Verdict(
        subject="worktree",
        outcome=outcome,
        summary=summary,
        expected_agent=expected.agent,
        expected_tree=expected.tree,
        tree=reading.tree,
        hints=hints,
    )


def _owner_words(expected: Expectation) -> str:
    if expected.accepted:
        return f"{expected.actor} accepted it for {expected.agent} (snapshot {expected.n}, {expected.time})"
    return f"{expected.agent}'s snapshot {expected.n} ({expected.time})"


def sentence(expected: Expectation, causes: Sequence[Cause]) -> str:
    """Describe drift in a line."""
    paths = len({cause.path for cause in causes if cause.path is not None})
    others = [cause.kind.value for cause in causes if cause.path is None]
    parts = ([f"{paths} path{'s' * (paths != 1)} changed"] if paths else []) + others
    return f"drift since {expected.agent}'s snapshot {expected.n} ({expected.time}): {', '.join(parts)}"


def _explain_paths(reading: Reading, expected: Expectation, changes: list[Change]) -> list[Cause]:
    back = _where_they_went(reading, expected, changes)
    paired = pair_renames(changes)
    causes_by_path = {
        change.path: replace(
            _explain_path(reading, change, back(change)),
            expected=change.old_oid if change.old_mode != ABSENT else None,
            present=change.oid if change.mode != ABSENT else None,
        )
        for change in paired
    }
    moved = {change.renamed_from for change in paired if causes_by_path[change.path].kind is CauseKind.RENAMED}
    return [cause for path, cause in causes_by_path.items() if path not in moved]


def _explain_path(reading: Reading, change: Change, back: Cause | None) -> Cause:
    path = quote(change.path)
    if change.path.rsplit(b"/", 1)[-1] == IGNORE_FILE:
        return Cause(CauseKind.IGNORE_RULES_CHANGED, path, _verb(change))
    if back is not None:
        return replace(back, path=path)
    if SUBMODULE in (change.mode, change.old_mode) and change.status == "M":
        return Cause(CauseKind.SUBMODULE_MOVED, path, f"{change.old_oid[:12]} to {change.oid[:12]}")
    if change.status == "A":
        if change.renamed_from is not None:
            return Cause(CauseKind.RENAMED, path, f"from {quote(change.renamed_from)}")
        return Cause(CauseKind.ADDED, path)
    if change.status == "D":
        if os.path.lexists(os.fsencode(reading.repository.toplevel) + b"/" + change.path):
            return Cause(CauseKind.IGNORE_RULES_CHANGED, path, "is there, but is ignored now")
        return Cause(CauseKind.DELETED, path)
    if change.status == "T":
        return Cause(CauseKind.TYPE_CHANGED, path, f"{_type(change.old_mode)} to {_type(change.mode)}")
    if change.old_oid == change.oid:
        return Cause(CauseKind.MODE_CHANGED, path, f"{change.old_mode} to {change.mode}")
    mode = f"and mode {change.old_mode} to {change.mode}" if change.old_mode != change.mode else None
    return Cause(CauseKind.EDITED, path, mode)


def _verb(change: Change) -> str:
    return {"A": "added", "D": "deleted", "T": "type changed"}.get(change.status, "edited")


def _type(mode: str) -> str:
    return {LINK: "symbolic link", SUBMODULE: "submodule"}.get(mode, "file")


def _where_they_went(
    reading: Reading, expected: Expectation, changes: list[Change]
) -> Callable[[Change], Cause | None]:
    """Return a function that finds whether a change's content was stashed or checked out.

    A stash counts only with exactly the snapshot's content: it may be another worktree's.
    """
    base = _entries(reading, expected.tree, reading.repository.tree_of(reading.head.commit), changes)
    gone = {change.path for change in changes if base.get(change.path, (ABSENT, "")) == _side(change)}
    stashed = _stashed_paths(reading, expected, changes) if gone else frozenset()

    def back(change: Change) -> Cause | None:
        if change.path not in gone:
            return None
        if change.path in stashed:
            return Cause(CauseKind.STASHED, None, "git stash list")
        moved = reading.head.commit != expected.head
        if change.status == "D" or moved:
            return None
        return Cause(CauseKind.CHECKED_OUT, None, "it is as in HEAD again")

    return back


def _side(change: Change) -> tuple[str, str]:
    return (change.mode, change.oid) if change.mode != ABSENT else (ABSENT, "")


def _entries(reading: Reading, known: TreeOid, other: TreeOid, changes: list[Change]) -> dict[bytes, tuple[str, str]]:
    """Return what `other` holds at the paths of `changes`, from its difference to `known`."""
    wanted = {change.path: (change.old_mode, change.old_oid) for change in changes if change.old_mode != ABSENT}
    for change in compare_trees(reading.repository, known, other):
        if change.mode == ABSENT:
            wanted.pop(change.path, None)
        else:
            wanted[change.path] = (change.mode, change.oid)
    return wanted


def _stashed_paths(reading: Reading, expected: Expectation, changes: list[Change]) -> frozenset[bytes]:
    repository = reading.repository
    stash = find_ref(repository.git, "refs/stash")
    if stash is None:
        return frozenset()
    try:
        trees = [repository.tree_of(CommitOid(stash))]
        parents = repository.parents_of(CommitOid(stash))
        if len(parents) == 3:
            trees.append(repository.tree_of(parents[2]))
        held = [_entries(reading, expected.tree, tree, changes) for tree in trees]
    except CouldNotTell:
        return frozenset()
    had = {change.path: (change.old_mode, change.old_oid) for change in changes}
    return frozenset(path for path, entry in had.items() if any(tree.get(path) == entry for tree in held))


def _explain_head(
    context: Context, chain: Chain, expected: Expectation, reading: Reading, *, same: bool
) -> list[Cause]:
    """Report how HEAD moved; `same`: the worktree is as expected."""
    repository, head = reading.repository, reading.head.commit
    if head == expected.head:
        return []
    detail = f"{_short(expected.head)} to {_short(head)}"
    held = repository.tree_of(head)
    if head is not None and same and _is_whole(context, expected, reading, held):
        why = _why_not_sealed(context, chain, expected, reading, head) if chain.validated else "same tree"
        return [Cause(CauseKind.COMMITTED_EARLY, None, f"{detail}, {why}")]
    if reading.head.branch != expected.branch:
        return [Cause(CauseKind.HEAD_MOVED, None, f"{detail}, {_switch(expected, reading)}")]
    move = repository.last_move()
    return [Cause(CauseKind.HEAD_MOVED, None, f"{detail} ({move})" if move else detail)]


def _is_whole(context: Context, expected: Expectation, reading: Reading, held: TreeOid) -> bool:
    """Return whether a commit's tree is the snapshot, or its commit tree."""
    from git_taskctx.context.volatile import is_same_commit

    repository = reading.repository
    return held == reading.tree or any(
        is_same_commit(context, repository, held, wanted) for wanted in (expected.tree, expected.commit_tree)
    )


def _why_not_sealed(context: Context, chain: Chain, expected: Expectation, reading: Reading, head: CommitOid) -> str:
    """Return why the commit of a validated tree does not end the task."""
    from git_taskctx.context.volatile import is_same_commit

    repository = reading.repository
    if repository.parent_of(head) != chain.parent:
        return f"but the task must be one commit on {_short(chain.parent)}"
    held = repository.tree_of(head)
    dirt = compare_trees(repository, expected.commit_tree, held)
    if is_same_commit(context, repository, held, expected.commit_tree):
        return "but drift from before it is unresolved"
    shown = ", ".join(quote(change.path) for change in dirt[:3]) + (", …" if len(dirt) > 3 else "")
    return f"but it also holds what was dirty before the task: {shown}"


def _switch(expected: Expectation, reading: Reading) -> str:
    names = [branch or "a detached HEAD" for branch in (expected.branch, reading.head.branch)]
    return f"switched from {names[0]} to {names[1]}"


def _short(commit: CommitOid | None) -> str:
    return commit[:12] if commit else "unborn"


def _explain_hidden(then: tuple[HiddenChange, ...], now: tuple[HiddenChange, ...]) -> list[Cause]:
    before = {(change.path, change.kind): change.sha256 for change in then}
    after = {(change.path, change.kind): change.sha256 for change in now}
    causes = []
    for path, kind in sorted(before.keys() | after.keys()):
        if before.get((path, kind)) != after.get((path, kind)):
            dirty = kind == "submodule dirty"
            detail = "clean again" if (path, kind) not in after else None if dirty else kind
            which = CauseKind.SUBMODULE_DIRTY if dirty else CauseKind.HIDDEN_EDIT
            causes.append(Cause(which, path, detail, before.get((path, kind)), after.get((path, kind))))
    return causes
