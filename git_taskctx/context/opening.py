"""Open a context: find and read it, and compare it with ledger and refs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from git_taskctx.context.caller import Caller
from git_taskctx.context.session import Session
from git_taskctx.errors import BadData, CouldNotTell, Fatal, TaskctxError
from git_taskctx.files import ReadOnly
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import find_ref, read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import Ledger, read_ledger
from git_taskctx.ledger.refs import CONTEXTS, REMOTES, commits_folder, context_ref_name, refs_of
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.context import Context, load_context
from git_taskctx.model.oids import TreeOid
from git_taskctx.situation import Situation
from git_taskctx.store import CONTEXT


@contextlib.contextmanager
def open_session(caller: Caller, *, write: bool, holds: str | None = None) -> Iterator[Session]:
    """Open the context that the caller means. Raises: Fatal where there is none; BadData, CouldNotTell if unreadable.

    With `write` the lock is held, and an outdated file is replayed. Without it nothing is written; where file, ledger
    and refs do not match, all are read once more under the lock, as a writer may be active. `holds` names a record on
    the side that holds where the ledger forks.
    """
    if not write:
        caller.store.check()
        session = None
        with contextlib.suppress(CouldNotTell):
            session = _load(caller)
        if session is None or session.edited or session.behind:
            with contextlib.suppress(ReadOnly), caller.store.locked():
                session = _load(caller)
        yield session or _load(caller)
        return
    with caller.store.locked():
        session = _load(caller, holds)
        if session.behind and not session.archived:
            from git_taskctx.context.roles import context_files

            caller.store.write(session.task, context_files(session.context, session.chain))
        yield session


def load_from_ref(repository: Repository, context_id: str, sha: str) -> Context | None:
    """Return the context with hash `sha` in our refs or fetched ones."""
    from git_taskctx.ledger.kept import PREVIOUS

    kept = read_refs(repository.git, context_ref_name(context_id), f"{REMOTES}/**/contexts/{context_id}")
    for ref, tree in kept.items():
        for entry in repository.objects.read_tree(tree):
            if entry.name in (CONTEXT.encode(), PREVIOUS.encode()):
                data = repository.objects.get(entry.oid, "blob")
                if sha256_hex(data) == sha:
                    return load_context(data, what=f"{entry.name.decode()} in {ref}")
    return None


def find_contexts(repository: Repository) -> dict[str, Context | TaskctxError]:
    """Return every context in the refs by id, or the error that it cannot be read."""
    prefix = f"{CONTEXTS}/"
    found: dict[str, Context | TaskctxError] = {}
    for ref, oid in read_refs(repository.git, prefix).items():
        try:
            found[ref.removeprefix(prefix)] = _context_in_tree(repository, TreeOid(oid))
        except TaskctxError as error:
            found[ref.removeprefix(prefix)] = _unreadable_ref(repository, ref, oid, error)
    return found


def _unreadable_ref(repository: Repository, ref: str, oid: str, error: TaskctxError) -> TaskctxError:
    with contextlib.suppress(TaskctxError):
        if not repository.objects.has(oid):
            from git_taskctx.git.damaged import lost

            return lost(ref, oid)
    return error


def find_context(repository: Repository, context_id: str) -> Context | None:
    """Return a context as the refs keep it. Raises: BadData if it cannot be read."""
    tree = find_ref(repository.git, context_ref_name(context_id))
    return _context_in_tree(repository, TreeOid(tree)) if tree is not None else None


def _context_in_tree(repository: Repository, tree: TreeOid) -> Context:
    entry = repository.objects.find_entry(tree, CONTEXT.encode())
    if entry is None:
        raise BadData(f"the tree {tree} holds no {CONTEXT}", Situation("clone.known"))
    return load_context(repository.objects.get(entry.oid, "blob"), what=f"{CONTEXT} in {tree[:12]}")


def _load(caller: Caller, holds: str | None = None) -> Session:
    task, data, archived, marker = _find(caller)
    what = f"{CONTEXT} of {task}"
    try:
        context = load_context(data, what=what)
    except BadData as error:
        if marker is None or _is_newer(data):
            error.situation = Situation("clone.recover", task=task) if error.hint is None else None
            raise
        context = None
    context_id = marker or (context.context_id if context else "")
    refs = refs_of(caller.repository, context_id)
    for commit, oid in refs.under(commits_folder(context_id)).items():
        caller.repository.kept_trees[commit] = TreeOid(oid)
    read = read_ledger(caller.repository, context_id, refs.find(NOTES_REF), holds=holds)
    entries, foreign = read.entries, read.foreign
    if not entries:
        raise CouldNotTell(
            f"the ledger has no record of context {context_id} of {task}", Situation("clone.recover", task=task)
        )
    session_context, edited, warnings = _reconcile(caller.repository, context, data, read, what)
    behind = bool(warnings) and not edited
    if foreign:
        lines = "1 other line, which does" if foreign == 1 else f"{foreign} other lines, which do"
        warnings.append(f"the note of {task} holds {lines} not count")
    chain = fold(entry.record for entry in entries)
    return Session(
        caller=caller,
        context=session_context,
        chain=chain if archived else chain.recovered(),
        entries=entries,
        refs=refs,
        aside=tuple(read.aside),
        archived=archived,
        edited=edited,
        behind=behind,
        warnings=warnings,
    )


def _reconcile(
    repository: Repository, context: Context | None, data: bytes, read: Ledger, what: str
) -> tuple[Context, bool, list[str]]:
    """Return the context that the ledger confirms, whether the file was edited, and warnings."""
    last = read.entries[-1].record
    sha = sha256_hex(data)
    if context is not None and sha == last.context_sha:
        return context, False, []
    kept = load_from_ref(repository, last.context, last.context_sha)
    if kept is None:
        raise CouldNotTell(
            f"{what} is not what the ledger says, and the refs do not keep the one it names",
            Situation("clone.not_the_ledgers", task=last.task),
        )
    if any(sha == entry.record.context_sha for entry in read.aside):
        return kept, False, [f"{what} was that of the side that does not hold, and is replayed"]
    if any(sha == entry.record.context_sha for entry in read.entries):
        return kept, False, [f"{what} was behind the ledger (an interrupted write) and is replayed"]
    return kept, True, [f"{what} was edited by hand" if context is not None else f"{what} cannot be read"]


def _find(caller: Caller) -> tuple[str, bytes, bool, str | None]:
    """Return the task, its file, whether it is archived, and the context id noted in the git dir."""
    store = caller.store
    active, marker = store.active(), store.marker()
    task = caller.task or active
    if task is None and caller.context_id is not None and caller.context_id != marker:
        return _find_put_away(caller, None)
    if task is None:
        if marker is not None:
            lost = find_contexts(caller.repository).get(marker)
            name = lost.task_id if isinstance(lost, Context) else marker
            raise Fatal(f"the files of the active context, {name}, are gone", Situation("clone.recover", task=name))
        raise Fatal("no task context is active here", Situation("clone.nothing_active", caller=caller))
    if task == active and caller.context_id in (None, marker):
        data = store.read(task, CONTEXT)
        if data is None:
            raise Fatal(f"the files of {task} are gone", Situation("clone.recover", task=task))
        return task, data, False, marker
    return _find_put_away(caller, task)


def _find_put_away(caller: Caller, task: str | None) -> tuple[str, bytes, bool, str | None]:
    """Return a task's newest or named context, from the archive or the refs."""
    found = [one for one in _archived(caller) if task in (None, one[0].task_id)]
    if not found:
        found = [(context, context.to_bytes()) for context in _kept(caller) if task in (None, context.task_id)]
    if found:
        newest = max(found, key=lambda one: _age(one[0]))
        return newest[0].task_id, newest[1], True, None
    if caller.context_id is not None:
        raise Fatal(
            f"{task} has no context {caller.context_id} here" if task else f"no context {caller.context_id} is here",
            Situation("clone.known"),
        )
    raise Fatal(f"no context of {task} is here", Situation("clone.not_known", repository=caller.repository))


def find_waiting(caller: Caller) -> list[Context]:
    """Return the archived or fetched contexts that are alive nowhere, the last one last."""
    found = {context.context_id: context for context in _kept(caller)}
    found |= {context.context_id: context for context, _ in _archived(caller)}
    return sorted(found.values(), key=_age)


def _age(context: Context) -> tuple[str, str, str]:
    return context.audit.last_updated_at, context.created_at, context.context_id


def _archived(caller: Caller) -> Iterator[tuple[Context, bytes]]:
    """Yield the archived contexts, or the named one, with their files."""
    for context_id in caller.store.archived():
        if caller.context_id in (None, context_id):
            data = caller.store.read_archived(context_id, CONTEXT)
            if data is not None:
                yield load_context(data, what=f"{CONTEXT} in the archive, {context_id}"), data


def _kept(caller: Caller) -> Iterator[Context]:
    """Yield the contexts, or the named one, that only the refs keep and that are alive nowhere."""
    store = caller.store
    for context_id, context in find_contexts(caller.repository).items():
        if caller.context_id not in (None, context_id) or isinstance(context, TaskctxError):
            continue
        if not store.alive_here(context_id) and not store.alive_elsewhere(context_id):
            yield context


def _is_newer(data: bytes) -> bool:
    """Return whether a file is JSON of a later schema rather than damaged."""
    import json

    try:
        version = json.loads(data).get("version")
    except (ValueError, AttributeError, RecursionError):
        return False
    return isinstance(version, int) and version > 1
