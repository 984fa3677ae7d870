"""Put files back to a snapshot, after saving the present state.

Nothing unsaved is deleted, no ignored file is overwritten, and the user's index stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from git_taskctx.capture.scope import compile_patterns
from git_taskctx.context.guard import refuse_blobs
from git_taskctx.context.session import SAVED, Event, Session
from git_taskctx.errors import CouldNotTell, Fatal, Refused, TryAgain
from git_taskctx.git.changes import ABSENT, LINK, SUBMODULE, compare_trees
from git_taskctx.git.checkout import CHANGED, Left, Seen, Worktree, check_out, permissions
from git_taskctx.git.private import private_folder
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import RefMove, find_ref, move_refs
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.beside import Beside, gather, read_beside
from git_taskctx.handoff.snapshot import keep_new_content
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Restore
from git_taskctx.model.snapshot import Change
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation
from git_taskctx.store import FOLDER

_BESIDE = f"{SAVED}/beside"
"""Ref name of what a saved tree does not hold."""
_ATTRIBUTES = b".gitattributes"


@dataclass(frozen=True)
class Restored:
    agent: str
    round: int
    written: tuple[str, ...]
    deleted: tuple[str, ...]
    skipped: tuple[str, ...]
    """Submodules: their content is another repository's."""
    saved: int
    """Number of the saved state."""
    exact: bool
    """True when the worktree now equals the snapshot."""
    left: tuple[Left, ...] = ()
    """Paths that could not be restored and are unchanged."""
    undo: str = ""
    """The command that undoes it, also for a finished task; set where it is shown."""

    @property
    def code(self) -> int:
        """Exit code: 75 where a remaining path changed meanwhile, 3 where its content is missing."""
        if not self.left:
            return 0
        return TryAgain.exit_code if all(one.why.startswith(CHANGED) for one in self.left) else CouldNotTell.exit_code


def restore(session: Session, agent: str, *, round_number: int | None, paths: tuple[str, ...]) -> Restored:
    """Put the worktree, or `paths` of it, back to a snapshot; the present state is saved first.

    For a finished or archived task only an earlier restore can be undone, and nothing is recorded; nor is it while the
    last record is another clone's, as after `recover`. Raises: Refused where an ignored file is in the way;
    CouldNotTell when objects are missing; Fatal where there is no such snapshot.
    """
    if session.edited or (session.archived and agent != SAVED):
        session.require_open(may_be_blocked=True)
    # A pattern that is not printable is quoted as git does, and names one path.
    paths = tuple(path if path.isprintable() else quote(os.fsencode(path)) for path in paths)
    tree, number = _find_tree(session, agent, round_number)
    repository = session.repository
    wanted = _both(_selector(paths), _is_the_users)
    wanted = _both(wanted, _selector_of_taken(session, number) if session.archived else None)
    # Cold: what is saved is what really lies there, whatever times say, and settings of conversions that were changed.
    with (
        read_worktree(repository, keep=False, hold=True, cold=True) as reading,
        private_folder(repository) as scratch,
        session.caller.store.staging() as stage,
    ):
        kept_beside = find_ref(repository.git, session.snapshot_ref(_BESIDE, number)) if agent == SAVED else None
        beside = read_beside(reading.repository, kept_beside)
        changes = [change for change in compare_trees(reading.repository, reading.tree, tree) if wanted(change.path)]
        changes += _differs_beside(reading, tree, beside, [change.path for change in changes], wanted)
        if paths and not changes and not any(wanted(path) for path in _paths_of(reading, tree)):
            raise Fatal(
                f"no path of {agent}'s snapshot {number}, or of the worktree, matches {', '.join(paths)}",
                hint=f"git ls-tree -r --name-only {tree[:12]}   # from the top: ':/PATTERN'",
            )
        saved, goal = session.saved + 1, tree
        payload = Restore(agent, number, paths, saved, reading.tree)
        changes, skipped, left = _replace(
            session, reading, changes, beside, (stage, scratch), lambda kept: _save(session, payload, goal, beside=kept)
        )
    with read_worktree(repository, keep=False, cold=True) as after:
        exact = after.tree == tree
    undone = {one.path for one in left}
    done = [change for change in changes if quote(change.path) not in undone]
    return Restored(
        agent=agent,
        round=number,
        written=tuple(quote(change.path) for change in done if change.mode != ABSENT),
        deleted=tuple(quote(change.path) for change in done if change.mode == ABSENT),
        skipped=tuple(quote(change.path) for change in skipped),
        saved=saved,
        exact=exact,
        left=tuple(left),
    )


def put_tree(session: Session, tree: TreeOid) -> list[Left]:
    """Write a tree of the owner at work to the worktree, each file replaced whole; return the paths left.

    The present state is saved as by `restore`, without a record. Requires the lock. Raises: Refused where an ignored
    file is in the way, or a secret is in what is saved.
    """
    repository = session.repository
    with (
        read_worktree(repository, keep=False, hold=True) as reading,
        private_folder(repository) as scratch,
        session.caller.store.staging() as stage,
    ):
        changes = compare_trees(reading.repository, reading.tree, tree)
        if not changes:
            return []

        def save(beside: TreeOid | None) -> None:
            moves = _saved(session, session.saved + 1, reading.tree, beside)
            repository.objects.flush()
            session.refs.move(moves, reason=f"{session.task}: trees are merged")

        return _replace(session, reading, changes, Beside(), (stage, scratch), save)[2]


def _replace(
    session: Session, reading: Reading, changes: Sequence[Change], beside: Beside, places: tuple[Path, Path],
    save: Callable[[TreeOid | None], None],
) -> tuple[list[Change], list[Change], list[Left]]:  # fmt: skip
    """Replace files after `save` kept them; return the intended changes, submodules, and paths left."""
    repository, (stage, scratch) = session.repository, places
    skipped = [change for change in changes if SUBMODULE in (change.mode, change.old_mode)]
    changes = [change for change in changes if change not in skipped]
    _refuse_in_the_way(reading, changes)
    _refuse_hidden(reading, changes)
    worktree = Worktree(repository.toplevel, repository.algorithm)
    seen = {change.path: worktree.look(change.path) for change in changes}
    taken = gather(reading, changes, seen, stage)
    raw = {quote(path): oid for path, oid in taken.blobs.items()}
    refuse_blobs(session.caller, session.context.policy.secrets, reading, raw)
    kept = taken.write(reading.repository, scratch / "beside")
    keep_new_content(session.caller, session.context.policy.secrets, reading, since=session.chain.settled_tree)
    save(kept)
    return changes, skipped, _write_files(repository, worktree, changes, seen, beside, stage)


def _differs_beside(
    reading: Reading, tree: TreeOid, beside: Beside, known: Collection[bytes], wanted: Callable[[bytes], bool]
) -> list[Change]:
    """Return the paths that equal the tree for git but not the bytes saved beside it."""
    asked = [path for path in beside.blobs if path not in known and wanted(path)]
    if not asked:
        return []
    worktree = Worktree(reading.repository.toplevel, reading.repository.algorithm)
    listed = reading.git.run("--literal-pathspecs", "ls-tree", "-r", "-z", tree, "--", *asked).out.split(b"\0")[:-1]
    found = list[Change]()
    for head, _, path in (entry.partition(b"\t") for entry in listed):
        mode, _, oid = head.decode().split(" ")
        there = worktree.look(path)
        if there is not None and there.blob != beside.blobs[path]:
            found.append(Change(path, "M", mode, mode, oid, oid))
    return found


def _save(session: Session, payload: Restore, tree: TreeOid, *, beside: TreeOid | None) -> None:
    """Keep what is about to be overwritten; for a task in progress record the restore to `tree`."""
    agent, reason = payload.snapshot_of, f"{session.task}: restore of {payload.snapshot_of}"
    moves = _saved(session, payload.saved, cast(TreeOid, payload.saved_tree), beside)
    if session.archived or session.only_looks:
        session.repository.objects.flush()
        move_refs(session.repository.git, moves, reason=reason)
        return
    owner = agent if agent in session.chain.seats else None
    event = Event(payload, owner, tree=tree, commit=session.repository.find_commit("HEAD"))
    session.commit([event], moves=moves, reason=reason)


def _saved(session: Session, number: int, tree: TreeOid, beside: TreeOid | None) -> list[RefMove]:
    """Return the ref moves that keep a saved tree, and what it does not hold."""
    return [session.keep(SAVED, number, tree)] + ([session.keep(_BESIDE, number, beside)] if beside is not None else [])


def _selector_of_taken(session: Session, number: int) -> Callable[[bytes], bool]:
    """Return a selector of the paths that the restore of a saved state changed; all if unknown."""
    said = ((entry.record.tree, entry.record.payload) for entry in reversed(session.entries))
    found = ((tree, one.paths) for tree, one in said if isinstance(one, Restore) and one.saved == number)
    tree, paths = next(found, (None, ()))
    saved = find_ref(session.repository.git, session.snapshot_ref(SAVED, number))
    if tree is None or saved is None or not session.repository.objects.has(tree):
        return lambda _: True
    taken = {change.path for change in compare_trees(session.repository, TreeOid(saved), tree)}
    asked = _selector(paths)
    return lambda path: path in taken and asked(path)


def _both(one: Callable[[bytes], bool], other: Callable[[bytes], bool] | None) -> Callable[[bytes], bool]:
    return one if other is None else lambda path: one(path) and other(path)


def _find_tree(session: Session, agent: str, round_number: int | None) -> tuple[TreeOid, int]:
    if agent == "init":
        return session.chain.init_tree, 1
    if agent == SAVED:
        number = round_number or session.saved
        found = find_ref(session.repository.git, session.snapshot_ref(SAVED, number)) if number else None
        if found is None:
            what = f"no state was saved under number {number}" if number else "nothing has been saved yet"
            raise Fatal(what, Situation("clone.records", session=session))
        return TreeOid(found), number
    taken = session.find_snapshot(agent, round_number)
    return taken.tree, round_number or len(session.chain.seats[agent].snapshots)


def _is_the_users(path: bytes) -> bool:
    """Return whether a path is outside our own folder, which only a fetched tree can hold."""
    return path.partition(b"/")[0] != os.fsencode(FOLDER)


def _selector(paths: tuple[str, ...]) -> Callable[[bytes], bool]:
    if not paths:
        return lambda _: True
    covers, whole = compile_patterns(paths).covers, set(paths)
    return lambda path: quote(path) in whole or covers(quote(path))


def _paths_of(reading: Reading, tree: TreeOid) -> list[bytes]:
    listed = [reading.git.run("ls-tree", "-r", "-z", "--name-only", one).out for one in (tree, reading.tree)]
    return [path for out in listed for path in out.split(b"\0")[:-1]]


def _refuse_in_the_way(reading: Reading, changes: list[Change]) -> None:
    """Refuse to overwrite what the reading does not hold: ignored files, and files where a folder must be."""
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
    """Refuse to overwrite edits hidden from git, which the saved state does not hold."""
    top = os.fsencode(reading.repository.toplevel)
    kinds = {change.path: change.kind for change in reading.hidden}
    found = [change.path for change in changes if quote(change.path) in kinds]
    blocked = [path for path in found if os.path.lexists(top + b"/" + path) and not _is_folder(top + b"/" + path)]
    if blocked:
        flags = {kind: shell_word(os.fsdecode(path)) for path in blocked for kind in (kinds[quote(path)],)}
        raise Refused(
            f"{len(blocked)} file{'s' * (len(blocked) > 1)} edited under {' or '.join(sorted(flags))} "
            f"{'are' if len(blocked) > 1 else 'is'} in the way, and cannot be saved",
            hint="\n".join(
                f"git update-index --no-{flag} {path}   # then restore again" for flag, path in sorted(flags.items())
            ),
            paths=tuple(map(quote, blocked)),
        )


def _is_emptied(top: bytes, path: bytes, leaving: set[bytes]) -> bool:
    """Return whether `path` is a folder that the same step empties."""
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


def _write_files(
    repository: Repository,
    worktree: Worktree,
    changes: Sequence[Change],
    seen: Mapping[bytes, Seen | None],
    beside: Beside,
    stage: Path,
) -> list[Left]:
    """Delete, then write files; return what failed."""
    left = list[Left]()
    spare = stage / "spare"
    for change in changes:
        if change.mode == ABSENT:
            _note(left, change.path, partial(worktree.remove, change.path, seen[change.path], spare))
    # What converts the others comes first.
    coming = [change for change in changes if change.mode != ABSENT]
    first = [change for change in coming if change.path.rpartition(b"/")[2] == _ATTRIBUTES]
    for number, some in enumerate((first, [change for change in coming if change not in first])):
        if not some:
            continue
        new = stage / f"new-{number}"
        failed = check_out(repository, some, new)
        source = Worktree(new, repository.algorithm)
        for change in some:
            path, there = change.path, seen[change.path]
            if path in failed:
                left.append(Left(quote(path), failed[path]))
                continue
            if path in beside.blobs:
                source.overwrite(path, repository.objects.read_pieces(beside.blobs[path]))
            bits = beside.bits.get(path, permissions(there, change.mode)) if change.mode != LINK else None
            _note(left, path, partial(worktree.put, path, source, there, spare, bits=bits))
    return left


def _note(left: list[Left], path: bytes, step: Callable[[], str | None]) -> None:
    """Do one file, and note why it is left as it is."""
    try:
        why = step()
    except FileNotFoundError:
        why = CHANGED
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    if why is not None:
        left.append(Left(quote(path), why))
