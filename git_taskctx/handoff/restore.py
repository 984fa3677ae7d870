"""Putting files back to a snapshot, after saving what is there.

Nothing is deleted that was not saved, nothing ignored is overwritten, and the user's index is not touched.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable

from git_taskctx.capture.scope import compile_patterns
from git_taskctx.context.session import SAVED, Event, Session
from git_taskctx.errors import CouldNotTell, Fatal, Refused
from git_taskctx.git.change import Change
from git_taskctx.git.changes import ABSENT, SUBMODULE, compare_trees
from git_taskctx.git.private import private_folder
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import find_ref, move_refs
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.snapshot import keep_new_content
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass

_NO_FETCH = ("lfs.url=file:///nonexistent", "lfs.skipdownloaderrors=true", "lfs.transfer.maxretries=1")
"""LFS content that is not here stays a pointer; nothing is fetched."""


@dataclass(frozen=True)
class Restored:
    """What `restore` did."""

    agent: str
    round: int
    written: tuple[str, ...]
    deleted: tuple[str, ...]
    skipped: tuple[str, ...]
    """Submodules: their content is another repository's."""
    saved: int
    """Number under which the state before was saved."""
    undo: str
    """The command that brings that state back, also when the task is over."""
    exact: bool
    """True when the whole worktree now is the snapshot's tree."""


def restore(session: Session, agent: str, *, round_number: int | None, paths: tuple[str, ...]) -> Restored:
    """Put the worktree, or `paths` of it, back to a snapshot; the present state is saved first.

    Of a task that was put away, or is over, what an earlier restore took comes back, and nothing else; that is not put
    on record. Nor is a look at what another clone wrote last: whoever goes on with it does that, as after `recover`.

    Raises: Refused where an ignored file is in the way; CouldNotTell when the snapshot's objects are gone; Fatal where
    there is no such snapshot.
    """
    if session.edited or (session.archived and agent != SAVED):
        session.require_open(may_be_blocked=True)
    tree, number = _find_tree(session, agent, round_number)
    repository = session.repository
    wanted = _both(_selector(paths), _selector_of_taken(session, number) if session.archived else None)
    # Cold: what is saved is what really lies there, whatever times say, and settings of conversions that were changed.
    with read_worktree(repository, keep=False, cold=True) as reading:
        changes = [change for change in compare_trees(reading.repository, reading.tree, tree) if wanted(change.path)]
        if paths and not changes and not any(wanted(path) for path in _paths_of(reading, tree)):
            raise Fatal(
                f"no path of {agent}'s snapshot {number}, or of the worktree, matches {', '.join(paths)}",
                hint=f"git ls-tree -r --name-only {tree[:12]}   # from the top: ':/PATTERN'",
            )
        skipped = [change for change in changes if SUBMODULE in (change.mode, change.old_mode)]
        changes = [change for change in changes if change not in skipped]
        _refuse_in_the_way(reading, changes)
        _refuse_hidden(reading, changes)
        keep_new_content(session.caller, session.context.policy.secrets, reading, since=session.chain.settled_tree)
        saved = session.saved + 1
        _save(session, reading.tree, saved, {"from": agent, "n": number, "paths": list(paths)}, tree)
        _write_files(session, reading, tree, changes, saved)
    with read_worktree(repository, keep=False, cold=True) as after:
        exact = after.tree == tree
    return Restored(
        agent=agent,
        round=number,
        written=tuple(quote(change.path) for change in changes if change.mode != ABSENT),
        deleted=tuple(quote(change.path) for change in changes if change.mode == ABSENT),
        skipped=tuple(quote(change.path) for change in skipped),
        saved=saved,
        undo=session.undo(saved),
        exact=exact,
    )


def _save(session: Session, now: TreeOid, saved: int, extra: dict[str, object], tree: TreeOid) -> None:
    """Keep the tree `now` under a number; where work goes on here, what it is restored to is put on record."""
    agent, move, reason = extra["from"], session.keep(SAVED, saved, now), f"{session.task}: restore of {extra['from']}"
    if session.archived or session.only_looks:
        session.repository.objects.flush()
        move_refs(session.repository.git, [move], reason=reason)
        return
    event = Event(
        "restore",
        str(agent) if agent in session.chain.seats else None,
        tree=tree,
        commit=session.repository.find_commit("HEAD"),
        extra={**extra, "saved": saved, "saved_tree": now},
    )
    session.commit([event], moves=[move], reason=reason)


def _selector_of_taken(session: Session, number: int) -> Callable[[bytes], bool]:
    """Return what selects the paths that were written or deleted by the restore that saved a state; all without one."""
    records = [entry.record for entry in session.entries if entry.record.type == "restore"]
    record = next((one for one in reversed(records) if one.extra.get("saved") == number), None)
    saved = find_ref(session.repository.git, session.snapshot_ref(SAVED, number))
    if record is None or record.tree is None or saved is None or not session.repository.objects.has(record.tree):
        return lambda _: True
    taken = {change.path for change in compare_trees(session.repository, TreeOid(saved), record.tree)}
    asked = _selector(tuple(map(str, record.extra.get("paths", ()))))
    return lambda path: path in taken and asked(path)


def _both(one: Callable[[bytes], bool], other: Callable[[bytes], bool] | None) -> Callable[[bytes], bool]:
    return one if other is None else lambda path: one(path) and other(path)


def _find_tree(session: Session, agent: str, round_number: int | None) -> tuple[TreeOid, int]:
    chain = session.chain
    if agent == "init":
        return chain.init_tree, 1
    if agent == SAVED:
        number = round_number or session.saved
        found = find_ref(session.repository.git, session.snapshot_ref(SAVED, number)) if number else None
        if found is None:
            what = f"no state was saved under number {number}" if number else "nothing has been saved yet"
            raise Fatal(what, hint="git taskctx log")
        return TreeOid(found), number
    session.require_agent(agent)
    taken = chain.seats[agent].snapshots
    number = round_number or len(taken)
    if not taken or not 1 <= number <= len(taken):
        raise Fatal(
            f"{agent} has no snapshot {round_number}" if round_number else f"{agent} has no snapshot yet",
            hint="git taskctx log",
        )
    return taken[number - 1].tree, number


def _selector(paths: tuple[str, ...]) -> Callable[[bytes], bool]:
    if not paths:
        return lambda _: True
    covers = compile_patterns(paths).covers
    return lambda path: covers(quote(path))


def _paths_of(reading: Reading, tree: TreeOid) -> list[bytes]:
    listed = [reading.git.run("ls-tree", "-r", "-z", "--name-only", one).out for one in (tree, reading.tree)]
    return [path for out in listed for path in out.split(b"\0")[:-1]]


def _refuse_in_the_way(reading: Reading, changes: list[Change]) -> None:
    """Refuse to write over what the reading does not hold: ignored files, and what lies where a folder must be."""
    top = os.fsencode(reading.repository.toplevel)
    leaving = {change.path for change in changes if change.mode == ABSENT or change.old_mode != ABSENT}
    found = dict[str, None]()
    for change in changes:
        if change.mode == ABSENT:
            continue
        parent = _find_parent_that_is_no_folder(top, change.path)
        if parent is not None:  # what seems to lie behind a link that goes away is not at this path
            found |= {quote(parent): None} if parent not in leaving else {}
        elif change.old_mode == ABSENT and os.path.lexists(top + b"/" + change.path):
            found |= {quote(change.path): None} if not _is_emptied(top, change.path, leaving) else {}
    blocked = tuple(found)
    if blocked:
        raise Refused(
            f"{len(blocked)} ignored file{'s are' if len(blocked) > 1 else ' is'} in the way",
            hint="git status --ignored --short   # move them away, then restore again",
            paths=blocked,
        )


def _refuse_hidden(reading: Reading, changes: list[Change]) -> None:
    """Refuse to write over edits that git was told not to look at: the state that is saved does not hold them."""
    top = os.fsencode(reading.repository.toplevel)
    kinds = {change.path: change.kind for change in reading.hidden}
    found = [change.path for change in changes if quote(change.path) in kinds]
    blocked = [path for path in found if os.path.lexists(top + b"/" + path) and not _is_folder(top + b"/" + path)]
    if blocked:
        flags = {kind: shlex.quote(os.fsdecode(path)) for path in blocked for kind in (kinds[quote(path)],)}
        raise Refused(
            f"{len(blocked)} file{'s' * (len(blocked) > 1)} edited under {' or '.join(sorted(flags))} "
            f"{'are' if len(blocked) > 1 else 'is'} in the way, and cannot be saved",
            hint="\n".join(
                f"git update-index --no-{flag} {path}   # then restore again" for flag, path in sorted(flags.items())
            ),
            paths=tuple(map(quote, blocked)),
        )


def _is_emptied(top: bytes, path: bytes, leaving: set[bytes]) -> bool:
    """Tell whether what lies at `path` is a folder in which everything goes away in the same step."""
    full = top + b"/" + path
    if not _is_folder(full):
        return path in leaving
    for folder, _, names in os.walk(full):
        inside = folder.removeprefix(top + b"/")
        if any(inside + b"/" + name not in leaving for name in names):
            return False
    return True


def _find_parent_that_is_no_folder(top: bytes, path: bytes) -> bytes | None:
    for parent in _parents(path):
        full = top + b"/" + parent
        if os.path.lexists(full) and not _is_folder(full):
            return parent
    return None


def _is_folder(full: bytes) -> bool:
    return os.path.isdir(full) and not os.path.islink(full)  # noqa: PTH112, PTH114 - bytes


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")[:-1]
    return [b"/".join(parts[: index + 1]) for index in range(len(parts))]


def _write_files(session: Session, reading: Reading, tree: TreeOid, changes: list[Change], saved: int) -> None:
    repository = reading.repository
    top = os.fsencode(repository.toplevel)
    for change in changes:
        if change.mode == ABSENT or change.status == "T":
            _remove_file(top + b"/" + change.path)
            _remove_empty(top, change.path)
    written = [change.path for change in changes if change.mode != ABSENT]
    for path in written:
        full = top + b"/" + path
        if _is_folder(full):
            _remove_tree_of_empty(full)
    if not written:
        return
    with private_folder(repository) as folder:
        git = repository.git.with_settings(_NO_FETCH).with_env(
            GIT_INDEX_FILE=os.fspath(folder / "index"), GIT_LFS_SKIP_DOWNLOAD_ERRORS="1"
        )
        git.run("read-tree", tree)
        done = git.run("checkout-index", "-f", "-q", "-z", "--stdin", stdin=b"\0".join(written) + b"\0", ok=(0, 1, 128))
        if done.code != 0:
            raise CouldNotTell(
                f"git could not write every file: {done.complaint}",
                hint=f"{session.undo(saved)}   # what was there before",
            )


def _remove_file(full: bytes) -> None:
    """Remove a file that is in the tree; it may be missing where git was told not to look."""
    if os.path.lexists(full) and not _is_folder(full):
        os.unlink(full)  # noqa: PTH108 - bytes


def _remove_empty(top: bytes, path: bytes) -> None:
    """Remove the folders that became empty, as git does."""
    for parent in reversed(_parents(path)):
        try:
            os.rmdir(top + b"/" + parent)  # noqa: PTH106 - bytes
        except OSError:
            return


def _remove_tree_of_empty(full: bytes) -> None:
    for folder, _, _ in os.walk(full, topdown=False):
        os.rmdir(folder)  # noqa: PTH106 - bytes
