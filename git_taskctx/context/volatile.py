"""Volatile keys of the task file: without other differences a commit counts as the same."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.errors import BadData, CouldNotTell
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.objects import ObjectStore
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.repository import Repository
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.context import Context
from git_taskctx.model.oids import BlobOid, TreeOid
from git_taskctx.model.payloads import TaskFile
from git_taskctx.model.snapshot import Change


def is_volatile(context: Context, objects: ObjectStore, changes: Sequence[Change]) -> bool:
    """Return whether only volatile keys of the task file changed (`task.volatile`)."""
    path = context.git.task_file
    if path is None or [quote(change.path) for change in changes] != [path] or changes[0].status != "M":
        return False
    change = changes[0]
    try:
        return change.mode == change.old_mode and _text(context, objects, change.old_oid) == _text(
            context, objects, change.oid
        )
    except BadData:
        return False


def is_same_commit(context: Context, repository: Repository, held: TreeOid, wanted: TreeOid) -> bool:
    """Return whether a commit's tree is the required one, volatile keys aside; False where unknown."""
    if held == wanted:
        return True
    if context.git.task_file is None:
        return False
    try:
        return is_volatile(context, repository.objects, compare_trees(repository, wanted, held))
    except CouldNotTell:
        return False


def put_back(context: Context, repository: Repository, held: TreeOid, wanted: TreeOid) -> TaskFile | None:
    """Return what a proof needs to restore the recorded task file in a commit; None where equal."""
    path = context.git.task_file
    if held == wanted or path is None:
        return None
    return put_back_file(repository, path, wanted, None, volatile=context.policy.task.volatile, task=context.task_id)


def put_back_file(
    repository: Repository, path: str, wanted: TreeOid, captured: BlobOid | None, *, volatile: Sequence[str], task: str
) -> TaskFile | None:
    """Return the same for a path; `captured` is the blob where the recorded tree is missing."""
    from git_taskctx.capture.taskfile import lasting_sha

    name = unquote(path).decode("utf-8", "surrogateescape")
    blob = repository.objects.find(f"{wanted}:{name}", limit=TEXT_FILE)
    if blob is None and captured is not None:
        blob = repository.objects.find(captured, limit=TEXT_FILE)
    if blob is None or blob.kind != "blob" or not blob.whole:
        return None
    try:
        text_sha = lasting_sha(blob.data, volatile, name=path, task=task)
    except BadData:  # the proof goes by the tree alone
        return None
    return TaskFile(path, BlobOid(blob.oid), text_sha, tuple(volatile))


def _text(context: Context, objects: ObjectStore, oid: str) -> object:
    from git_taskctx.capture.taskfile import without_volatile

    data, volatile = objects.get(oid, "blob"), context.policy.task.volatile
    return without_volatile(data, volatile, name=context.git.task_file or "", task=context.task_id, others=True)
