"""Share the ledger with another repository: fetch and merge, losing no record, and push.

The remote's refs are kept under `refs/taskctx/remotes`; ours move by compare-and-swap alone. Snapshots, and so file
content, are sent only on request.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import load_from_ref
from git_taskctx.context.roles import context_files
from git_taskctx.errors import BadData, CouldNotTell, GitFailed, TryAgain
from git_taskctx.git.notes import NOTES_REF, append_notes, new_lines, write_notes
from git_taskctx.git.quoting import quote, shown
from git_taskctx.git.refs import RefMove, Refs, find_ref, move_refs, tries
from git_taskctx.git.remote import Rejection, fetch_ref, list_remote, push_refs, url_of
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import read_entries
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.kept import read_kept
from git_taskctx.ledger.refs import CONTEXTS, SEEN, SNAPSHOTS, context_ref_name
from git_taskctx.ledger.travel import as_ours, contexts_apart, fetched_refs, follow_ledger, refs_of_context
from git_taskctx.ledger.whereabouts import place_of
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.context import load_context
from git_taskctx.model.oids import is_context_id
from git_taskctx.model.record import Record, load_record
from git_taskctx.model.values import dataclass, field
from git_taskctx.sharing.leaving import what_leaves
from git_taskctx.shell import shell_word
from git_taskctx.situation import ASIDE, Situation
from git_taskctx.store import CONTEXT

PAUSE = 0.05
"""Seconds; the maximum pause before the second try, growing by as much with each try."""
HELD = 10
"""How often the remote may report a lock for the same push: git holds one for milliseconds."""


@dataclass(frozen=True)
class Merged:
    """What a fetch brought."""

    remote: str
    there: bool
    """False where the remote has no ledger."""
    records: int = 0
    """New records."""
    tasks: tuple[str, ...] = ()
    """Their tasks."""
    contexts: tuple[str, ...] = ()
    """Tasks whose snapshots were fetched."""
    warnings: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    """Commands for an active task that cannot go on as it was."""
    situation: Situation | None = field(default=None, repr=False, compare=False, metadata=ASIDE)


@dataclass(frozen=True)
class Pushed:
    """What a push sent, or would send."""

    remote: str
    url: str
    records: int
    tasks: tuple[str, ...]
    notes: bool
    """True when the ledger is sent, if only to record a merge."""
    refs: tuple[str, ...] = ()
    """Refs of contexts and snapshots."""
    fetched: int = 0
    """Records that the remote had and we lacked."""
    warnings: tuple[str, ...] = ()


def fetch(caller: Caller, remote: str, *, with_snapshots: bool, dry_run: bool = False) -> Merged:
    """Merge the ledger of `remote` into ours; with snapshots also update its contexts where they are ahead.

    A dry run changes only our copy of the remote's ledger, which proofs do not read. Raises: GitFailed where the remote
    does not answer; TryAgain while other writers keep moving the ref.
    """
    git, active = caller.repository.git, caller.store.marker()
    asked = "*" if with_snapshots else active
    refs = () if asked is None else (f"{CONTEXTS}/{asked}", f"{SNAPSHOTS}/{asked}/*")
    theirs = list_remote(git, remote, NOTES_REF, *refs)
    if NOTES_REF not in theirs:
        return Merged(shown(remote), there=False)
    place = place_of(git, remote)
    ids = sorted({ref.split("/")[3] for ref in theirs if ref != NOTES_REF})
    ids = [one for one in ids if is_context_id(one)]
    if dry_run:
        fetch_ref(git, remote, NOTES_REF, f"{place}/{SEEN}")
        return _would_bring(caller.repository, f"{place}/{SEEN}", remote, theirs)
    wanted = []
    for context_id in ids:
        if f"{CONTEXTS}/{context_id}" in theirs:
            wanted.append(f"+{CONTEXTS}/{context_id}:{place}/contexts/{context_id}")
        wanted.append(f"+{SNAPSHOTS}/{context_id}/*:{place}/snapshots/{context_id}/*")
    fetch_ref(git, remote, NOTES_REF, f"{place}/notes", *wanted)
    lines = _merge_ledger(caller.repository, f"{place}/notes", shown(remote))
    known = _records(lines.values())
    if not ids and active is None:
        return Merged(shown(remote), True, len(known), _tasks_of(known))
    with caller.store.locked():
        taken, warnings = _take_contexts(caller, place, ids)
        notices, then = _settle(caller, known)
    return Merged(shown(remote), True, len(known), _tasks_of(known), taken, (*warnings, *notices), situation=then)


def _would_bring(repository: Repository, fetched: str, remote: str, theirs: Mapping[str, str]) -> Merged:
    """Return what a fetched ledger would add, and the tasks whose contexts differ there."""
    there = find_ref(repository.git, fetched)
    new = _records(new_lines(repository, find_ref(repository.git, NOTES_REF), there).values()) if there else []
    tasks = {record.context: record.task for record in new}
    others = contexts_apart(repository, theirs)
    return Merged(shown(remote), True, len(new), _tasks_of(new), tuple(tasks.get(one) or one for one in others))


def push(caller: Caller, remote: str, *, with_snapshots: bool, dry_run: bool) -> Pushed:
    """Send the ledger, merged with the remote's, and on request the task's snapshots; secrets are scanned for again.

    Raises: Refused for a secret; GitFailed where the remote refuses; TryAgain while others keep pushing, or the remote
    is locked.
    """
    git, url = caller.repository.git, url_of(caller.repository.git, remote)
    fetched, held, before = 0, 0, list[RefMove]()
    for _ in tries(pause=PAUSE):
        merged = fetch(caller, remote, with_snapshots=with_snapshots)
        fetched += merged.records
        theirs = find_ref(git, f"{place_of(git, remote)}/notes") if merged.there else None
        lines, sent = what_leaves(caller, remote, theirs, with_snapshots=with_snapshots)
        leaving = _records([lines])
        pushed = Pushed(
            remote=shown(remote),
            url=url,
            records=len(leaving),
            tasks=_tasks_of(leaving),
            notes=any(one.ref == NOTES_REF for one in sent),
            refs=tuple(one.ref for one in sent if one.ref != NOTES_REF),
            fetched=fetched,
            warnings=merged.warnings,
        )
        if dry_run or not sent:
            return pushed
        rejected = push_refs(git, remote, sent)
        if not rejected:
            return pushed
        _require_race(remote, rejected)
        lock = next((one.lock for one in rejected if one.lock), None)
        held, before = held + 1 if lock and sent == before else 0, sent
        if lock and held == HELD:
            raise _locked(remote, lock)
    raise TryAgain(f"others keep pushing to {shown(remote)}", hint="run the same command again")


def _require_race(remote: str, rejected: Sequence[Rejection]) -> None:
    """Continue only if another try may help. Raises: GitFailed."""
    final = next((one for one in rejected if not one.lost_race), None)
    if final is not None:
        raise GitFailed(
            f"{shown(remote)} does not take {final.ref}: {final.reason}",
            hint=f"git push {shell_word(shown(remote))} {NOTES_REF}   # what it says in full",
        )


def _locked(remote: str, lock: str) -> TryAgain:
    """Return the error for a lock that stays on the remote, as after a killed git."""
    return TryAgain(
        f"{shown(remote)} is locked: {quote(os.fsencode(lock))} stays there",
        hint=f"rm {shell_word(lock)}   # on the machine of {shell_word(shown(remote))}, if no git is running there",
    )


def _records(notes: Iterable[Iterable[str]]) -> list[Record]:
    """Return the records in lines, each once."""
    found: dict[str, Record] = {}
    for line in {line for lines in notes for line in lines}:
        try:
            record = load_record(line)
        except BadData:  # no record of ours, and merged like any other line
            continue
        found[line] = record
    return sorted(found.values(), key=lambda record: record.id)


def _tasks_of(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.task for record in records))


def _take_contexts(caller: Caller, place: str, ids: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Move our refs of contexts to the fetched ones where the ledger is ahead; forked contexts stay as they are."""
    repository, taken, warnings = caller.repository, [], []
    for context_id in ids:
        fetched = fetched_refs(repository, context_id, place)
        try:
            entries = read_entries(repository, context_id)
            moves, files = _moves(repository, context_id, entries, fetched)
        except BadData as error:
            warnings.append(f"context {context_id} was left as it is: {error.message}")
            continue
        move_refs(
            repository.git, [*moves, *(RefMove(ref, None, oid) for ref, oid in fetched.items())], reason="fetched"
        )
        task = entries[-1].record.task if entries else ""
        if moves:
            taken.append(task)
        if files and caller.store.marker() == context_id and caller.store.active() == task:
            caller.store.write(task, files)
    return tuple(taken), tuple(warnings)


def _moves(
    repository: Repository, context_id: str, entries: Sequence[Entry], fetched: Mapping[str, str]
) -> tuple[list[RefMove], dict[str, bytes]]:
    """Return the moves of a context's refs and its files, none if it is not ahead. Raises: BadData."""
    own = context_ref_name(context_id)
    tree = next((oid for ref, oid in fetched.items() if as_ours(ref) == own), None)
    files = read_kept(repository.objects, tree) if tree is not None else {}
    if not entries or sha256_hex(files.get(CONTEXT, b"")) != entries[-1].record.context_sha or tree is None:
        return [], {}
    chain = fold(entry.record for entry in entries)
    try:
        moves = follow_ledger(repository, context_id, chain, fetched)
    except CouldNotTell:  # whoever pushed this left a snapshot out, and may push it yet
        return [], {}
    ours = refs_of_context(repository, context_id).get(own)
    if ours != tree:
        moves.append(RefMove(own, tree, ours))
    context = load_context(files[CONTEXT], what=f"{CONTEXT} in {tree[:12]}")
    return moves, {**files, **context_files(context, chain)} if moves else {}


def _settle(caller: Caller, new: Sequence[Record]) -> tuple[tuple[str, ...], Situation | None]:
    """Put the active context away where another clone did; return what to say, and the situation.

    `new` are the fetched records: a context put away before then came back here.
    """
    repository, store = caller.repository, caller.store
    context_id, task = store.marker(), store.active()
    if context_id is None or task is None:
        return (), None
    try:
        entries = read_entries(repository, context_id)
    except BadData as error:
        return (error.message,), error.situation
    if not entries:
        return (), None
    last = entries[-1].record
    if last.type == "purge" and last in new:
        store.archive(task, context_id)
        store.deactivate()
        over = next((entry.record.commit for entry in reversed(entries) if entry.record.type == "seal"), None)
        text = f"{task} {'is over' if over else 'was put away'} in another clone, and is put away here"
        return (text,), Situation("clone.ended_elsewhere", repository=repository, commit=over) if over else None
    if load_from_ref(repository, context_id, last.context_sha) is None:
        text = f"another clone went on with {task}, and has not pushed its snapshots: it must push --with-snapshots"
        return (text,), None
    return (), None


def _merge_ledger(repository: Repository, fetched: str, remote: str) -> dict[str, list[str]]:
    """Add a fetched ledger's lines to ours; return the new ones.

    Theirs becomes an ancestor of ours, so that a plain push updates theirs.
    """
    theirs = find_ref(repository.git, fetched)
    if theirs is None:
        raise CouldNotTell(f"what was fetched from {remote} is gone", hint="run the same command again")
    found: dict[str, list[str]] = {}

    def make(ours: str | None) -> str | None:
        lines = new_lines(repository, ours, theirs)
        for target, some in lines.items():
            found.setdefault(target, []).extend(line for line in some if line not in found.get(target, ()))
        if ours is not None and repository.is_ancestor(theirs, ours):
            if not lines:
                return None
        elif ours is None or (repository.is_ancestor(ours, theirs) and not new_lines(repository, theirs, ours)):
            return theirs
        return append_notes(repository.objects, ours, lines, message=f"taskctx: merged with {remote}", merged=theirs)

    write_notes(repository.objects, Refs(repository.git, NOTES_REF), make, reason=f"merged with {remote}")
    return found
