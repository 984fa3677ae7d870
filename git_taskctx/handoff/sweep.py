"""Remove expired archives and refs; git's gc frees their space. The ledger stays: proofs need it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import find_context
from git_taskctx.errors import BadData, TryAgain, Usage
from git_taskctx.git.refs import RefConflict, RefMove, move_refs, read_refs, sweep_locks
from git_taskctx.ledger.entries import find_last
from git_taskctx.ledger.refs import CONTEXTS, REMOTES, SNAPSHOTS, context_ref_name, snapshots_folder
from git_taskctx.ledger.travel import as_ours
from git_taskctx.model.oids import is_context_id
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Swept:
    """A context that was, or would be, removed."""

    task: str
    context_id: str
    updated: str
    """Time of its last record; empty if unknown."""
    age: int | None
    """Seconds since then; None if unknown."""
    refs: int
    """Number of its refs."""
    archived: bool
    """Whether this worktree's archive had its files."""


@dataclass(frozen=True)
class Sweeping:
    swept: tuple[Swept, ...]
    warnings: tuple[str, ...]


def parse_ttl(text: str) -> timedelta:
    """Read an age, as in 30m, 12h, 7d, 2w or 0. Raises: Usage."""
    found = re.fullmatch(r"([0-9]{1,6})([mhdw])", text, re.ASCII)
    if found:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    if text == "0":
        return timedelta()
    raise Usage(f"{text!r} is not an age: write 30m, 12h, 7d, 2w or 0", Situation("clone.sweep_with_age"))


def policy_ttl(policy: Policy) -> timedelta:
    """Return the default age."""
    return timedelta(days=min(policy.lifecycle.archive_days, 999_999))


def sweep(caller: Caller, ttl: timedelta, *, dry_run: bool) -> Sweeping:
    """Remove archives and refs of contexts that are alive nowhere and older than `ttl`.

    A context's refs go at once, before its files; the next sweep finishes an interrupted one. Raises: TryAgain when
    somebody brings one back meanwhile; BadData where it is unknown what is alive.
    """
    store = caller.store
    if dry_run:
        store.check()
        return _sweep(caller, ttl, dry_run=True)
    with store.locked():
        if store.is_idle:
            store.deactivate()  # the notes of one that was put away would be taken for one whose files are gone
        return _sweep(caller, ttl, dry_run=False)


def _sweep(caller: Caller, ttl: timedelta, *, dry_run: bool) -> Sweeping:
    swept, warnings, now = [], [], caller.clock()
    for one, refs in _put_away(caller):
        written = read_time(one.updated)
        one = replace(one, age=int((now - written).total_seconds()) if written else None)
        if ttl and written is None:
            warnings.append(f"the age of context {one.context_id} ({one.task}) is unknown: it stays")
        if ttl and (written is None or now - written < ttl):
            continue
        aside = None if dry_run else _remove(caller, one, refs)
        if aside is not None:
            warnings.append(f"what others put beside the files of {one.task} is in {aside}")
        swept.append(one)
    return Sweeping(tuple(swept), tuple(warnings))


def _remove(caller: Caller, one: Swept, refs: dict[str, str]) -> Path | None:
    """Remove a context; return where files of others are now."""
    moves = [RefMove(ref, None, oid) for ref, oid in refs.items()]
    try:
        move_refs(caller.repository.git, moves, reason=f"{one.task}: swept")
    except RefConflict as error:
        raise TryAgain(
            f"another process moved refs of {one.task} meanwhile: {error.message}",
            hint=error.hint or "run the same command again",
        ) from error
    sweep_locks(caller.repository.common_dir, context_ref_name(one.context_id), snapshots_folder(one.context_id))
    return caller.store.remove_archived(one.context_id)


def _put_away(caller: Caller) -> Iterator[tuple[Swept, dict[str, str]]]:
    """Yield every context that is alive in no worktree, with its refs.

    Refs are read first: one brought back since has moved them.
    """
    store, archived = caller.store, caller.store.archived()
    known: dict[str, dict[str, str]] = {context_id: {} for context_id in archived}
    for ref, oid in read_refs(caller.repository.git, CONTEXTS, SNAPSHOTS, REMOTES).items():
        context_id = next(iter(as_ours(ref).split("/")[3:]), "")
        if is_context_id(context_id):
            known.setdefault(context_id, {})[ref] = oid
    for context_id, refs in sorted(known.items()):
        if store.alive_here(context_id) or store.alive_elsewhere(context_id):
            continue
        task, updated = _last_words(caller, context_id)
        yield Swept(task, context_id, updated, None, len(refs), context_id in archived), refs


def _last_words(caller: Caller, context_id: str) -> tuple[str, str]:
    """Return task and time of the last record, also of a broken ledger; else what the refs say."""
    try:
        record = find_last(caller.repository, context_id)
        if record is not None:
            return record.task, record.time
        context = find_context(caller.repository, context_id)
    except BadData:
        return "?", ""
    return (context.task_id, context.audit.last_updated_at) if context else ("?", "")


def read_time(text: str) -> datetime | None:
    """Read the time of a record; None for anything else."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
