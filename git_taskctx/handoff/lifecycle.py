"""The life of a context: put away, brought back, listed."""

from __future__ import annotations

import os
from collections import Counter

from git_taskctx.commits.commits import keep_up
from git_taskctx.commits.seal import end, is_committed, put_away
from git_taskctx.context.caller import Caller
from git_taskctx.context.choose import choose_context, other_contexts, was_begun
from git_taskctx.context.opening import find_contexts, load_from_ref, open_session
from git_taskctx.context.roles import context_files
from git_taskctx.context.session import Event, Session
from git_taskctx.errors import CouldNotTell, Fatal, GitFailed, TaskctxError
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import find_ref, read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.handoff.sweep import read_time
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import read_entries
from git_taskctx.ledger.kept import read_kept
from git_taskctx.ledger.refs import CONTEXTS, SNAPSHOTS, context_ref_name, refs_of
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.payloads import Recover
from git_taskctx.model.values import dataclass, optional
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation
from git_taskctx.store import CONTEXT


@dataclass(frozen=True)
class KnownContext:
    task: str
    context_id: str
    state: str
    """active, archived, elsewhere (another worktree), kept (in the refs only) or unreadable."""
    title: str
    owner: str
    updated: str
    """Time of its last record."""
    age: int | None
    """Seconds since then."""
    refs: int
    """Number of its refs."""
    place: str | None = None
    """The other worktree."""
    sealed: CommitOid | None = None
    """The task's commit, when it is over."""
    run: int | None = optional()
    """The pipeline run that waits for a person; set where it is shown."""


def purge(caller: Caller, *, lost: bool = False) -> tuple[str, str] | None:
    """Archive the active context and return its task and id, None if there is none.

    `lost` also archives a context that cannot be read, as far as it is there.
    """
    store = caller.store
    store.check()
    if store.is_idle:
        store.deactivate()  # the notes of one that was put away
        return None
    try:
        with open_session(caller, write=True) as session:
            if session.archived:
                return None
            keep_up(session)
            if is_committed(session):
                end(session)
            else:
                put_away(session, reason="put away")
            return session.task, session.context.context_id
    except (CouldNotTell, Fatal) as error:
        if isinstance(error, GitFailed) or not lost:
            raise
        return _purge_broken(caller)


def recover(caller: Caller, task: str) -> Session:
    """Bring a context back from the archive or the refs, or replace a damaged file.

    Nothing is recorded, except that a file was edited: only whoever continues the task records. So two clones may look
    at a task, and it forks only where both continue it. Raises: Fatal when another context is active here, or this one
    is alive elsewhere or over; CouldNotTell when its objects are missing.
    """
    repository, store = caller.repository, caller.store
    with store.locked():
        context_id = choose_context(caller, task)
        active, marker = store.active(), store.marker()
        if active not in (None, task) or marker not in (None, context_id):
            raise Fatal(f"{active or marker} is active here", Situation("clone.other_active", repository=repository))
        elsewhere = store.alive_elsewhere(context_id)
        if elsewhere is not None:
            raise Fatal(
                f"{task} is alive in another worktree ({elsewhere})",
                Situation("clone.alive_elsewhere", folder=elsewhere),
            )
        entries = read_entries(repository, context_id)
        if not entries:
            raise CouldNotTell(f"the ledger has no record of context {context_id}", hint=f"git log {NOTES_REF}")
        last = entries[-1].record
        kept = load_from_ref(repository, context_id, last.context_sha)
        if kept is None:
            raise CouldNotTell(
                f"the refs do not keep the context that the ledger names ({last.context_sha[:12]})",
                Situation("clone.went_on_elsewhere"),
            )
        data = store.read(task, CONTEXT) if marker == context_id else None
        session = Session(
            caller=caller,
            context=kept,
            chain=fold(entry.record for entry in entries).recovered(),
            entries=entries,
            refs=refs_of(repository, context_id),
            warnings=other_contexts(caller, task, context_id),
        )
        _refuse_over(session)
        store.unarchive(task, context_id)
        store.write(task, _kept_files(repository, context_id) | context_files(kept, session.chain))
        store.activate(task, context_id, caller.program)
        if data is not None and sha256_hex(data) not in {entry.record.context_sha for entry in entries}:
            session.commit([Event(Recover(), session.chain.owner)], reason=f"{task}: recovered")
        return session


def _refuse_over(session: Session) -> None:
    """Refuse to bring back a task whose commit is part of HEAD: the next verb would end it again. Raises: Fatal."""
    commit = session.over if session.put_away else None
    if commit is not None:
        raise session.ended(commit)


def list_contexts(caller: Caller) -> list[KnownContext]:
    """Return every known context, newest first."""
    store, repository = caller.store, caller.repository
    store.check()
    marker, archived, now = store.marker(), set(store.archived()), caller.clock()
    kept = Counter(ref.split("/")[3] for ref in read_refs(repository.git, CONTEXTS, SNAPSHOTS))
    listed = []
    for context_id, context in find_contexts(repository).items():
        elsewhere = store.alive_elsewhere(context_id)
        state = (
            "active"
            if context_id == marker
            else "archived"
            if context_id in archived
            else "elsewhere"
            if elsewhere
            else "kept"
        )
        try:
            if isinstance(context, TaskctxError):
                raise context
            if not was_begun(repository, context):
                continue
            chain = fold(entry.record for entry in read_entries(repository, context_id))
        except TaskctxError as error:
            listed.append(KnownContext("?", context_id, "unreadable", error.message, "?", "", None, kept[context_id]))
            continue
        written = read_time(context.audit.last_updated_at)
        listed.append(
            KnownContext(
                task=context.task_id,
                context_id=context_id,
                state=state,
                title=context.immutable.task_snapshot.title,
                owner=chain.owner,
                updated=context.audit.last_updated_at,
                age=int((now - written).total_seconds()) if written else None,
                refs=kept[context_id],
                place=os.fspath(elsewhere) if elsewhere else None,
                sealed=chain.sealed,
            )
        )
    return sorted(listed, key=lambda one: (one.state == "active", one.updated, one.context_id), reverse=True)


def _purge_broken(caller: Caller) -> tuple[str, str] | None:
    """Archive what is there of a context that cannot be read."""
    store = caller.store
    with store.locked():
        task, context_id = store.active(), store.marker()
        if context_id is None:
            raise Fatal(f"cannot tell which context {task} is", hint=f"rm {shell_word(store.root / 'active')}")
        if task is not None:
            store.archive(task, context_id)
        store.deactivate()
        return task or "?", context_id


def _kept_files(repository: Repository, context_id: str) -> dict[str, bytes]:
    tree = find_ref(repository.git, context_ref_name(context_id))
    return read_kept(repository.objects, tree) if tree is not None else {}
