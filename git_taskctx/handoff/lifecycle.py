"""The life of a context: it begins, it is put away, it comes back, and it ends with the task's commit."""

from __future__ import annotations

import os
import secrets as randomness
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from git_taskctx.config import Config
from git_taskctx.errors import CouldNotTell, Fatal, GitFailed, Refused
from git_taskctx.files import read_plain
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import RefMove, find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff import ledger
from git_taskctx.handoff.chain import fold
from git_taskctx.handoff.scope import paths_in
from git_taskctx.handoff.session import (
    Caller,
    Event,
    Session,
    add_context_tree,
    check_secrets,
    context_in_tree,
    context_ref_name,
    find_contexts,
    load_from_ref,
    open_session,
)
from git_taskctx.handoff.snapshot import check_new_content
from git_taskctx.handoff.staleness import LIMIT
from git_taskctx.model.codec import to_plain
from git_taskctx.model.context import (
    SCHEMA_VERSION,
    Audit,
    Command,
    Context,
    GitState,
    Immutable,
    TaskSnapshot,
    ValidationBaseline,
)
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid, check_task_id
from git_taskctx.model.policy import Policy
from git_taskctx.model.record import Record, record_id
from git_taskctx.store import CONTEXT

TASK_FILE = "task-file"
"""In the ref's tree: the task file as it was read, so that a later one can be compared with it."""
KEPT_ONLY = frozenset({TASK_FILE, "anchor", "previous.json"})
"""Entries of the ref's tree that are no files of `.agent-output`."""


@dataclass(frozen=True)
class Request:
    """What `init` was asked for."""

    task: str
    title: str | None = None
    description: str | None = None
    task_file: str | None = None
    """Path as the user gave it, relative to `folder`."""
    folder: Path = Path()
    base_commit: str | None = None
    agents: tuple[str, ...] | None = None
    any_status: bool = False


@dataclass(frozen=True)
class Begun:
    """What `init` made."""

    context: Context
    dirty: tuple[str, ...]
    """Paths that differed from HEAD: nobody's work."""
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Captured:
    immutable: Immutable
    path: str | None
    data: bytes | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """One context that is known here."""

    task: str
    context_id: str
    state: str
    """active, archived, elsewhere (alive in another worktree) or kept (in the refs only)."""
    title: str
    owner: str
    updated: str
    place: str | None = None
    """The other worktree's git dir."""


def init(caller: Caller, request: Request, load: Callable[[CommitOid | None], Config]) -> Begun:
    """Begin a context: capture the task, record the worktree as it is, make it the active one.

    `load` gives the configuration as of a commit.

    Raises: Fatal when a context is active here, or the task file is not found; BadData, BadConfig for what does not
    read; Refused by the gates of a task file, or for a secret.
    """
    check_task_id(request.task)
    repository, store = caller.repository, caller.store
    _require_no_active(caller)
    with store.locked():
        _require_no_active(caller)
        head = repository.head()
        base = repository.resolve_commit(request.base_commit) if request.base_commit else head.commit
        config = load(base)
        agents = _agents(request, config.policy)
        with read_worktree(repository, keep=True) as reading:
            captured = _capture(request, config.policy, reading)
            _check_new_files(caller, config.policy, reading, head.commit)
            dirty = compare_trees(repository.git, repository.tree_of(head.commit), reading.tree)
            now, context_id = caller.now(), randomness.token_hex(8)
            draft = _init_record(caller, request.task, context_id, now, agents, base, head.commit, head.branch, reading)
            context = _new_context(caller, config.policy, draft, captured, head.branch)
        check_secrets(caller, to_plain(context.immutable), name="the task")
        warnings = (*config.warnings, *captured.warnings, *_size_warning(context))
        _write_first(caller, context, replace(draft, context_sha=context.sha), captured.data)
        store.write(request.task, {CONTEXT: context.to_bytes()})
        store.activate(request.task, context_id)
    return Begun(context, tuple(quote(change.path) for change in dirty), warnings)


def purge(caller: Caller) -> tuple[str, str] | None:
    """Put the active context away: archived with its refs, to come back with `recover`. Twice is no error.

    Returns: task and context id, None when there was nothing to put away.
    """
    store = caller.store
    store.check()
    if store.active() is None and store.marker() is None:
        return None
    try:
        with open_session(caller, write=True) as session:
            if session.archived:
                return None
            session.commit([Event("purge", session.chain.owner)], reason=f"{session.task}: purged")
            store.archive(session.task, session.context.context_id)
            store.deactivate()
            return session.task, session.context.context_id
    except (CouldNotTell, Fatal) as error:
        if isinstance(error, GitFailed):
            raise
        return _purge_broken(caller)


def recover(caller: Caller, task: str) -> Session:
    """Bring a context back: from the archive, from the refs, or over a file that a crash or a hand left wrong.

    Raises: Fatal when another context is active here or this one is alive elsewhere; CouldNotTell when neither the
    archive nor the refs have what the ledger names.
    """
    repository, store = caller.repository, caller.store
    with store.locked():
        context_id = _which(caller, task)
        active, marker = store.active(), store.marker()
        if active not in (None, task) or marker not in (None, context_id):
            raise Fatal(
                f"{active or marker} is active here",
                hint="git taskctx purge, or another worktree: git worktree add ../other",
            )
        elsewhere = store.alive_elsewhere(context_id)
        if elsewhere is not None:
            raise Fatal(f"{task} is alive in another worktree ({elsewhere})", hint=f"git taskctx purge, run there")
        entries = ledger.read_entries(repository, context_id)
        if not entries:
            raise CouldNotTell(f"the ledger has no record of context {context_id}", hint=f"git log {NOTES_REF}")
        last = entries[-1].record
        kept = load_from_ref(repository, context_id, last.context_sha)
        if kept is None:
            raise CouldNotTell(f"the refs do not keep the context that the ledger names ({last.context_sha[:12]})")
        store.unarchive(task, context_id)
        contents = _kept_files(repository, context_id) | {CONTEXT: kept.to_bytes()}
        store.write(task, contents)
        store.activate(task, context_id)
        session = Session(
            caller=caller,
            context=kept,
            chain=fold(entry.record for entry in entries),
            entries=entries,
            context_ref=find_ref(repository.git, context_ref_name(context_id)),
            writable=True,
        )
        session.commit([Event("recover", session.chain.owner)], reason=f"{task}: recovered")
        return session


def seal_if_committed(session: Session) -> CommitOid | None:
    """End the task when HEAD is the commit that was validated: the whole chain goes on the commit and on its tree.

    Returns: the commit, None when HEAD is anything else.
    """
    chain, repository = session.chain, session.repository
    expected = chain.expected
    head = repository.find_commit("HEAD")
    if session.archived or session.edited or not chain.validated or expected is None or head in (None, chain.parent):
        return None
    if head is None or repository.tree_of(head) != expected.commit_tree:
        return None
    parents = repository.parents_of(head)
    if (parents[0] if parents else None) != chain.parent:
        return None
    event = Event(
        "seal", chain.owner, tree=expected.tree, commit_tree=expected.commit_tree, commit=head, base=chain.base
    )
    session.commit([event], reason=f"{session.task}: sealed with {head[:12]}")
    whole = [entry.record for entry in session.entries]
    anchor = ledger.anchor_of(repository, session.context.context_id)
    ledger.append(
        repository,
        {head: whole, expected.commit_tree: whole},
        [],
        anchor=anchor,
        tip=session.entries[-1].sha,
        reason=f"{session.task}: the chain on {head[:12]}",
    )
    session.commit([Event("purge", chain.owner)], reason=f"{session.task}: over")
    session.caller.store.archive(session.task, session.context.context_id)
    session.caller.store.deactivate()
    return head


def list_contexts(caller: Caller) -> list[Listed]:
    """Return every context that is known here: active, archived, elsewhere or in the refs only; newest first."""
    store, repository = caller.store, caller.repository
    store.check()
    marker, archived = store.marker(), set(store.archived())
    listed = []
    for context_id, tree in find_contexts(repository).items():
        context = context_in_tree(repository, tree)
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
        listed.append(
            Listed(
                task=context.task_id,
                context_id=context_id,
                state=state,
                title=context.immutable.task_snapshot.title,
                owner=fold(entry.record for entry in ledger.read_entries(repository, context_id)).owner,
                updated=context.audit.last_updated_at,
                place=os.fspath(elsewhere) if elsewhere else None,
            )
        )
    return sorted(listed, key=lambda one: (one.state == "active", one.updated, one.context_id), reverse=True)


def _require_no_active(caller: Caller) -> None:
    store = caller.store
    store.check()
    active = store.active() or store.marker()
    if active is not None:
        raise Fatal(
            f"{active} is active in this worktree",
            hint="one task a worktree: git worktree add ../other   (or put it away: git taskctx purge)",
        )


def _agents(request: Request, policy: Policy) -> tuple[str, ...]:
    agents = request.agents or policy.agents
    unknown = [name for name in policy.chain.may_edit or () if name not in agents]
    if unknown and request.agents is None:
        raise Fatal(f"chain.may_edit names {unknown[0]!r}, which is not an agent")
    return agents


def _capture(request: Request, policy: Policy, reading: Reading) -> _Captured:
    """Read the task: its file, or what was given on the command line."""
    from git_taskctx.capture.scope import expand_macros
    from git_taskctx.capture.taskfile import check_gates, read_task_file

    found = _find_task_file(request, policy, reading)
    if found is None:
        if request.title is None:
            roots = " or ".join(f"{root}/" for root in policy.task.roots)
            raise Fatal(
                f"no task file {request.task}*.task.yaml under {roots}",
                hint=f'git taskctx init {request.task} --title "what is to be done"   (or --task-file FILE)',
            )
        snapshot = TaskSnapshot(title=request.title, description=request.description or "")
        baseline = ValidationBaseline(commands=_commands((), None, policy))
        return _Captured(Immutable(snapshot, validation_baseline=baseline), None, None, ())
    path, data = found
    task = read_task_file(data, name=path)
    check_gates(task, policy, any_status=request.any_status)
    snapshot = task.task_snapshot
    if request.title is not None:
        snapshot = replace(snapshot, title=request.title)
    if request.description is not None:
        snapshot = replace(snapshot, description=request.description)
    patterns = expand_macros(task.patterns, policy.scope.macros)
    immutable = Immutable(
        task_snapshot=snapshot,
        validation_baseline=ValidationBaseline(
            commands=_commands(task.commands, snapshot.area, policy), manual_checks=task.manual_checks
        ),
        scope_patterns=patterns,
        repo_paths=paths_in(reading.git, reading.tree, patterns),
        sources=task.sources,
    )
    return _Captured(immutable, path, data, task.warnings + _unknown_keys(path, task.unknown_keys))


def _unknown_keys(path: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    return (f"{path}: not captured: {', '.join(keys)}",) if keys else ()


def _commands(own: tuple[Command, ...], area: str | None, policy: Policy) -> tuple[Command, ...]:
    """Choose the task's own commands, else its area's, else the repository's."""
    return own or tuple(Command(text) for text in policy.qa.tier.get(area or "", policy.qa.default))


def _find_task_file(request: Request, policy: Policy, reading: Reading) -> tuple[str, bytes] | None:
    from git_taskctx.capture.taskfile import find_task_file

    repository = reading.repository
    if request.task_file is not None:
        given = request.folder / request.task_file
        data = read_plain(given.resolve(), limit=LIMIT)
        if data is None:
            raise Fatal(f"there is no file '{request.task_file}'")
        top = repository.toplevel.resolve()
        inside = given.resolve()
        return (
            quote(os.fsencode(inside.relative_to(top))) if inside.is_relative_to(top) else os.fspath(inside),
            data,
        )
    listed = reading.git.run("ls-tree", "-r", "-z", "--name-only", reading.tree, "--", *policy.task.roots).out
    path = find_task_file(request.task, map(quote, listed.split(b"\0")[:-1]), policy.task.roots)
    if path is None:
        return None
    data = read_plain(repository.toplevel / path, limit=LIMIT)
    if data is None:
        raise Fatal(f"{path} went away while it was read")
    return path, data


def _check_new_files(caller: Caller, policy: Policy, reading: Reading, head: CommitOid | None) -> None:
    since = caller.repository.tree_of(head)
    check_new_content(caller, policy.secrets, reading, since=since, repository=caller.repository)


def _init_record(
    caller: Caller,
    task: str,
    context_id: str,
    now: str,
    agents: tuple[str, ...],
    base: CommitOid | None,
    head: CommitOid | None,
    branch: str | None,
    reading: Reading,
) -> Record:
    extra: dict[str, Any] = {
        "agents": list(agents),
        "anchor": ledger.anchor_of(caller.repository, context_id),
        "branch": branch,
        "worktree": caller.worktree,
    }
    if caller.force_secrets:
        extra["force_secrets"] = True
    return Record(
        id=record_id(now, context_id, 1), v=1, type="init", context=context_id, task=task, agent=agents[0],
        actor=caller.actor, time=now, seq=1, base=base, tree=reading.tree, commit_tree=None, commit=head,
        diff_sha=None, context_sha="", prev=None, extra=extra,
    )  # fmt: skip


def _new_context(caller: Caller, policy: Policy, draft: Record, captured: _Captured, branch: str | None) -> Context:
    chain = fold([draft])
    sha = caller.repository.objects.hash("blob", captured.data) if captured.data is not None else None
    return Context(
        version=SCHEMA_VERSION,
        task_id=draft.task,
        context_id=draft.context,
        created_at=draft.time,
        created_by=caller.actor,
        git=GitState(
            head=chain.base,
            branch=branch,
            parent=chain.parent,
            init_tree=chain.init_tree,
            task_file=captured.path,
            task_file_sha=BlobOid(sha) if sha else None,
        ),
        agents=chain.agents,
        policy=policy,
        immutable=captured.immutable,
        coordination=chain.coordination({}),
        audit=Audit(caller.actor, draft.time, caller.actor, 1, draft.commit),
    )


def _size_warning(context: Context) -> tuple[str, ...]:
    limits, size = context.policy.limits, len(context.to_bytes())
    if size <= limits.context_kib * 1024:
        return ()
    text = f"the context has {size // 1024} KiB, more than {limits.context_kib}"
    if limits.enforce:
        raise Refused(text, hint="shorten the task file, or raise limits.context_kib")
    return (text,)


def _write_first(caller: Caller, context: Context, record: Record, task_data: bytes | None) -> None:
    repository, context_id = caller.repository, context.context_id
    contents = {CONTEXT: context.to_bytes()}
    kept = {**contents, **({TASK_FILE: task_data} if task_data is not None else {})}
    tree = add_context_tree(repository, None, kept, previous=None, context_id=context_id)
    anchor = ledger.anchor_of(repository, context_id)
    base = record.base or TreeOid(repository.objects.add("tree", b""))
    ledger.append(
        repository,
        {anchor: [record], base: [record]},
        [
            RefMove(f"refs/taskctx/snapshots/{context_id}/init/1", context.git.init_tree, None),
            RefMove(context_ref_name(context_id), tree, None),
        ],
        anchor=anchor,
        tip=None,
        reason=f"{context.task_id}: begun",
    )


def _purge_broken(caller: Caller) -> tuple[str, str] | None:
    """Put away a context that does not read; what is there of it goes to the archive as it is."""
    store = caller.store
    with store.locked():
        task, context_id = store.active(), store.marker()
        if context_id is None:
            raise Fatal(f"cannot tell which context {task} is", hint=f"rm '{store.root / 'active'}'")
        if task is not None:
            store.archive(task, context_id)
        store.deactivate()
        return task or "?", context_id


def _which(caller: Caller, task: str) -> str:
    """Choose the context of `task` to bring back: the one named, the active one, else the newest."""
    known = find_contexts(caller.repository)
    if caller.context_id is not None:
        if caller.context_id not in known:
            raise Fatal(f"there is no context {caller.context_id}", hint="git taskctx list")
        return caller.context_id
    marker = caller.store.marker()
    contexts = {one: context_in_tree(caller.repository, tree) for one, tree in known.items()}
    mine = [one for one, context in contexts.items() if context.task_id == task]
    if marker in mine and marker is not None:
        return marker
    if not mine:
        raise Fatal(f"no context of {task} is known here", hint="git taskctx list")
    return max(mine, key=lambda one: (contexts[one].audit.last_updated_at, contexts[one].created_at, one))


def _kept_files(repository: Repository, context_id: str) -> dict[str, bytes]:
    tree = find_ref(repository.git, context_ref_name(context_id))
    if tree is None:
        return {}
    return {
        entry.name.decode(): repository.objects.get(entry.oid, "blob")
        for entry in repository.objects.read_tree(tree)
        if entry.name.decode() not in KEPT_ONLY
    }
