"""The ledger: a context's records, chained by hash, as notes on the context's anchors (see `entry`).

The base commit's note has the `init` record, which names the first anchor.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from git_taskctx.errors import BadData, TryAgain
from git_taskctx.git.notes import NOTES_REF, append_notes, note_lines, read_note, write_notes
from git_taskctx.git.refs import RefMove, Refs, find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.entry import Entry, anchor_of
from git_taskctx.ledger.forks import follow
from git_taskctx.limits import MAX_BYTES
from git_taskctx.model.payloads import Drift
from git_taskctx.model.record import Record, load_record
from git_taskctx.model.values import dataclass


def read_entries(repository: Repository, context_id: str) -> list[Entry]:
    """Return a context's records, oldest first. Raises: BadData when the hash chain is broken."""
    return read_ledger(repository, context_id, find_ref(repository.git, NOTES_REF)).entries


@dataclass(frozen=True)
class Ledger:
    """The records of one context."""

    entries: list[Entry]
    """Oldest first."""
    aside: list[Entry]
    """Records on the losing sides of forks."""
    foreign: int
    """How many other lines the notes have."""


def read_ledger(repository: Repository, context_id: str, notes: str | None, *, holds: str | None = None) -> Ledger:
    """Return what the notes at commit `notes` say of a context.

    Anybody can add lines to a note; they are ignored: what is missing or edited breaks the hash chain. At a fork a side
    holds if a later record on it decides so, or if it has the record `holds`. Raises: BadData where the chain is broken
    or notes are missing; Forked.
    """
    if notes is not None and not repository.objects.has(notes):
        from git_taskctx.git.damaged import damaged

        raise damaged(repository.git, NOTES_REF)
    lines = [line for page in pages_of(repository, context_id, notes) for line in page]
    entries = [entry for line in lines if (entry := _own_entry(line, context_id)) is not None]
    entries.sort(key=_sequence)
    followed, aside = follow(entries, holds=holds)
    return Ledger(followed, aside, len(lines) - len(entries))


def pages_of(repository: Repository, context_id: str, notes: str | None) -> Iterator[list[str]]:
    """Yield the lines on each anchor of a context, up to the first empty one."""
    for page in itertools.count():
        lines = read_note(repository.objects, notes, anchor_of(repository, context_id, page))
        if not lines:
            return
        yield lines


def find_last(repository: Repository, context_id: str) -> Record | None:
    """Return a context's last record, even if the chain is broken."""
    entry = _last_entry(repository, context_id, find_ref(repository.git, NOTES_REF))
    return entry.record if entry is not None else None


def _is_built_upon(repository: Repository, context_id: str, notes: str | None, tip: str | None) -> bool:
    """Return whether a record follows the one with hash `tip` (None: any record)."""
    words = f'"prev":"{tip}"' if tip is not None else '"prev":null'
    lines = (line for page in pages_of(repository, context_id, notes) for line in page)
    return any(words in line and _own_entry(line, context_id) is not None for line in lines)


def _last_entry(repository: Repository, context_id: str, notes: str | None) -> Entry | None:
    for lines in reversed([*pages_of(repository, context_id, notes)]):
        entries = (entry for line in reversed(lines) if (entry := _own_entry(line, context_id)) is not None)
        last = next(entries, None)
        if last is not None:
            return last
    return None


def is_named(repository: Repository, task: str) -> bool:
    """Return whether the messages of the notes commits name a task."""
    if find_ref(repository.git, NOTES_REF) is None:
        return False
    words = f"taskctx: {task}: "
    found = repository.git.run("log", "-1", "--format=%s", "-F", f"--grep={words}", NOTES_REF, "--")
    return found.out.startswith(words.encode())


def find_context_ids(repository: Repository, task: str, notes: str = NOTES_REF) -> list[str]:
    """Return a task's contexts according to the notes commits, newest last."""
    if notes == NOTES_REF and find_ref(repository.git, NOTES_REF) is None:
        return []
    # With log.showRoot off, git shows nothing of what a first commit holds (git-log).
    options = ("--format=", "--raw", "--no-abbrev", "--no-renames", "-F", f"--grep=taskctx: {task}: ")
    written = repository.git.run("-c", "log.showRoot=true", "log", *options, notes, "--").out.decode().splitlines()
    words = [line.split() for line in written if line.startswith(":")]
    blobs = list({place: blob for _, _, _, blob, _, place in reversed(words)}.values())  # of each note the newest
    repository.objects.read_ahead(blobs, limit=MAX_BYTES)
    found: dict[str, str] = {}
    for blob in blobs:
        note = repository.objects.find(blob, limit=MAX_BYTES)
        for line in note_lines(note.data) if note is not None else ():
            try:
                record = load_record(line)
            except BadData:  # no record of ours, or of a later version
                continue
            if record.task == task:
                found[record.context] = max(record.time, found.get(record.context, ""))
    return sorted(found, key=lambda one: (found[one], one))


def _own_entry(line: str, context_id: str) -> Entry | None:
    """Return a line's record, None if it is not this context's. Raises: BadData for a later version."""
    try:
        record = load_record(line)
    except BadData as error:
        if error.hint and f'"context":"{context_id}"' in line:
            raise
        return None
    return Entry(record, line) if record.context == context_id else None


def append_records(
    repository: Repository,
    refs: Refs,
    additions: Mapping[str, Sequence[str]],
    moves: Sequence[RefMove],
    *,
    context_id: str,
    tip: str | None,
    reason: str,
) -> None:
    """Write records and move refs together, by compare-and-swap with retry, after the objects.

    `refs` are the context's; `additions` maps objects to lines; `tip` is the hash of the last record that the caller
    saw. Raises: TryAgain when the same context was written meanwhile, or the ref kept moving; ReadOnly; GitFailed.
    """

    def make(current: str | None) -> str:
        if _is_built_upon(repository, context_id, current, tip):
            raise TryAgain("another process wrote to this context meanwhile", hint="run the same command again")
        return append_notes(repository.objects, current, additions, message=f"taskctx: {reason}")

    write_notes(repository.objects, refs, make, moves=moves, reason=reason)


def _sequence(entry: Entry) -> tuple[int, str]:
    return entry.record.seq, entry.record.id


def drifted_paths(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the paths of unresolved drift, by the records."""
    paths: dict[str, None] = {}
    for record in (entry.record for entry in reversed(entries)):
        if record.type == "resolve":
            break
        if isinstance(record.payload, Drift):
            paths |= dict.fromkeys(cause.path for cause in record.payload.causes if cause.path)
    return tuple(paths)
