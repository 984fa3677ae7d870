"""What a push would send: lines of the ledger and, where asked for, a context's refs; none of it holds a secret."""

from __future__ import annotations

from collections.abc import Mapping

from git_taskctx import secrets
from git_taskctx.context.caller import Caller, refuse_secrets
from git_taskctx.context.choose import choose_context
from git_taskctx.context.evidence import unpack
from git_taskctx.context.guard import Guard
from git_taskctx.context.opening import find_context
from git_taskctx.errors import CouldNotTell, Fatal
from git_taskctx.git.changes import ABSENT, SUBMODULE, compare_trees
from git_taskctx.git.notes import NOTES_REF, new_lines
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import RefMove, find_ref
from git_taskctx.git.remote import list_remote
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import read_entries
from git_taskctx.ledger.kept import read_kept
from git_taskctx.ledger.refs import CONTEXTS, SNAPSHOTS, commits_folder, context_ref_name, snapshots_folder
from git_taskctx.ledger.travel import refs_of_context, trees_on_record
from git_taskctx.model.context import Context, Evidence
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import replace
from git_taskctx.secrets.deep import deep
from git_taskctx.situation import Situation


def what_leaves(
    caller: Caller, remote: str, theirs: str | None, *, with_snapshots: bool
) -> tuple[list[str], list[RefMove]]:
    """Return the lines of the ledger and the refs to send. Raises: Refused for a secret; Fatal without a ledger."""
    repository = caller.repository
    ours = find_ref(repository.git, NOTES_REF)
    if ours is None:
        raise Fatal("there is no ledger here yet", Situation("clone.no_ledger"))
    lines = _lines_leaving(repository, ours, theirs)
    refuse_secrets(
        caller,
        secrets.scan_lines(
            enumerate((line.encode("utf-8", "surrogateescape") for line in lines), 1), name="records", using=deep
        ),
    )
    sent = _snapshots_leaving(caller, remote) if with_snapshots else []
    if ours != theirs:
        sent.append(RefMove(NOTES_REF, ours, theirs))
    return lines, sent


def _lines_leaving(repository: Repository, ours: str, theirs: str | None) -> list[str]:
    found = new_lines(repository, theirs, ours)
    return list(dict.fromkeys(line for lines in found.values() for line in lines))


def _snapshots_leaving(caller: Caller, remote: str) -> list[RefMove]:
    """Return the refs of a task's context that the remote lacks. Raises: Refused for a secret; Fatal; Forked."""
    repository = caller.repository
    context_id = _context_to_send(caller)
    context = find_context(repository, context_id)
    entries = read_entries(repository, context_id)
    if context is None or not entries:
        raise Fatal(f"no context {context_id} is here", Situation("clone.known"))
    ours = refs_of_context(repository, context_id)
    theirs = list_remote(repository.git, remote, f"{CONTEXTS}/{context_id}", f"{SNAPSHOTS}/{context_id}/*")
    own, folder = context_ref_name(context_id), snapshots_folder(context_id)
    wanted = trees_on_record(context_id, fold(entry.record for entry in entries))
    if context.sha == entries[-1].record.context_sha:
        wanted[own] = ours[own]
    leaving = {ref: oid for ref, oid in wanted.items() if ours.get(ref) == oid != theirs.get(ref)}
    for ref, oid in ours.items():  # beside the snapshots; what `restore` put aside is nobody's work
        if ref not in theirs and ref.startswith((f"{folder}/init/", f"{commits_folder(context_id)}/")):
            leaving[ref] = oid
    _refuse_secrets_in(caller, context, leaving)
    return [RefMove(ref, oid, theirs.get(ref)) for ref, oid in leaving.items()]


def _context_to_send(caller: Caller) -> str:
    """Choose the context named, the active one, or the task's newest. Raises: Fatal."""
    marker, active = caller.store.marker(), caller.store.active()
    if caller.context_id is not None:
        return caller.context_id
    if marker is not None and caller.task in (None, active):
        return marker
    if caller.task is None:
        raise Fatal("no context is active here, and no task is named", Situation("clone.which_task"))
    return choose_context(caller, caller.task)


def _refuse_secrets_in(caller: Caller, context: Context, leaving: Mapping[str, str]) -> None:
    """Deep-scan what the trees add to the base commit, and the context's files. Raises: Refused."""
    repository = caller.repository
    guard = Guard(replace(caller, deep=True), repository, context.policy.secrets)
    since, blobs, hits = repository.tree_of(context.git.head), dict[str, str](), list[secrets.Hit]()
    taken = {one.stored: one for one in context.evidence}
    for ref, oid in leaving.items():
        if ref.startswith(CONTEXTS):
            for name, data in read_kept(repository.objects, oid).items():
                hits += _scan_kept(guard, name, data, taken.get(name))
            continue
        for change in compare_trees(repository, since, TreeOid(oid)):
            if change.mode not in (ABSENT, SUBMODULE):
                blobs.setdefault(change.oid, quote(change.path))
    sizes = repository.objects.sizes(blobs)
    guard.total = sum(sizes.values())
    for oid, name in blobs.items():
        hits += guard.pieces(name, oid, sizes.get(oid, 0), repository.objects.read_pieces(oid))
    guard.remember()
    refuse_secrets(caller, hits)


def _scan_kept(guard: Guard, name: str, data: bytes, evidence: Evidence | None) -> list[secrets.Hit]:
    """Scan one of the context's files; evidence is unpacked and named by its source.

    Raises: CouldNotTell for evidence that does not unpack.
    """
    if evidence is None:
        return guard.whole(name, data) if not name.endswith(".gz") else []
    unpacked = unpack(data, evidence.size)
    if unpacked is None:
        raise CouldNotTell(f"evidence {evidence.id} ({evidence.path}) is damaged, and cannot be searched for secrets")
    return guard.whole(evidence.path, unpacked)
