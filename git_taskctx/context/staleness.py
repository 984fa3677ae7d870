"""Stale text: files of the task and its standards that changed since the capture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from git_taskctx.context.session import Session
from git_taskctx.errors import BadData, TaskctxError
from git_taskctx.files import read_plain
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import find_file, read_blob
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.context import StandardsCitation
from git_taskctx.model.oids import BlobOid, CommitOid
from git_taskctx.model.values import dataclass

MAX_SEARCHED = 50
"""Changed Markdown files that are searched for a missing section."""
SHOWN = 5
"""Stale and moved sections that are named."""


@dataclass(frozen=True)
class TextState:
    """The state of the files since the capture."""

    stale: tuple[str, ...] = ()
    """Changed text."""
    notices: tuple[str, ...] = ()
    """Other changes: a moved section, a priority."""

    @property
    def reason(self) -> str | None:
        """All stale text in one message; None when there is none."""
        return "; ".join(_few(self.stale)) or None

    @property
    def warnings(self) -> tuple[str, ...]:
        """All messages, where nothing is refused."""
        return (*_few(self.stale), *_few(self.notices))


def compare_head(session: Session) -> tuple[str, ...]:
    """Warn where HEAD is not the expected commit; not for an archived task."""
    expected = session.chain.head
    head = session.repository.find_commit("HEAD")
    if session.archived or head == expected:
        return ()
    return (f"HEAD is {_short(head)}, and {session.task} expects {_short(expected)}",)


def _short(commit: CommitOid | None) -> str:
    return commit[:12] if commit else "no commit yet"


def compare_text(session: Session, reading: Reading | None = None) -> TextState:
    """Compare the task file and the cited sections with the capture.

    Volatile keys (`task.volatile`) do not count, nor text outside the cited sections. Files with unchanged blobs are
    not read; for others the worktree is, unless the caller has a `reading`.
    """
    stale, notices = [reason] if (reason := _stale_task(session)) else [], list[str]()
    changed = dict(_changed_files(session))
    if changed:
        with read_worktree(session.repository, keep=False) if reading is None else nullcontext(reading) as present:
            for text, is_stale in _compare_sections(session, present, changed):
                (stale if is_stale else notices).append(text)
    return TextState(tuple(stale), tuple(notices))


def _few(texts: Sequence[str]) -> tuple[str, ...]:
    more = len(texts) - SHOWN
    return (*texts[:SHOWN], f"and {more} more") if more > 0 else tuple(texts)


def _stale_task(session: Session) -> str | None:
    state = session.context.git
    if state.task_file is None or state.task_file_sha is None:
        return None
    try:
        data = read_task_file_bytes(session.repository, state.task_file)
    except BadData as error:
        return error.message
    if data is None:
        return f"the task file {state.task_file} is gone"
    if session.repository.objects.hash("blob", data) == state.task_file_sha:
        return None
    from git_taskctx.capture.taskfile import without_volatile

    volatile = session.context.policy.task.volatile
    then = session.repository.objects.find(state.task_file_sha, limit=TEXT_FILE)
    try:
        if then is not None and then.whole:
            hashes = (
                without_volatile(one, volatile, name=state.task_file, task=session.task) for one in (data, then.data)
            )
            if next(hashes) == next(hashes):
                return None
    except BadData:
        return f"the task file {state.task_file} no longer reads"
    return f"the task file {state.task_file} has changed since the context began{_new_priority(session, data)}"


def _new_priority(session: Session, data: bytes) -> str:
    from git_taskctx.capture.taskfile import read_task_file

    old = session.context.immutable.task_snapshot.priority
    try:
        new = read_task_file(data, name=session.context.git.task_file or "", task=session.task).task_snapshot.priority
    except BadData:  # `rebuild` reports what is wrong with it
        return ""
    return f", and its priority is {new or 'gone'}, not {old or 'unset'}" if new != old else ""


def _changed_files(session: Session) -> Iterator[tuple[str, list[StandardsCitation]]]:
    """Yield the cited files that changed on disk, with their citations."""
    oids = session.chain.capture.oids("standards")
    files: dict[str, list[StandardsCitation]] = {}
    for citation in session.context.immutable.standards_citations:
        files.setdefault(citation.file, []).append(citation)
    for path, citations in files.items():
        if path not in oids or _blob_on_disk(session.repository, path) != oids[path]:
            yield path, citations


def _blob_on_disk(repository: Repository, path: str) -> BlobOid | None:
    try:
        data = read_plain(repository.toplevel / os.fsdecode(unquote(path)), limit=TEXT_FILE)
    except TaskctxError:
        return None
    return BlobOid(repository.objects.hash("blob", data)) if data is not None else None


def _compare_sections(
    session: Session, reading: Reading, changed: dict[str, list[StandardsCitation]]
) -> Iterator[tuple[str, bool]]:
    """Yield a message on each citation of changed files, and whether it is stale."""
    oids = session.chain.capture.oids("standards")
    lost: list[tuple[StandardsCitation, str]] = []
    for path, citations in changed.items():
        found = find_file(reading.objects, reading.tree, unquote(path))
        if found is not None and found == (unquote(path), oids.get(path)):
            continue  # the bytes on disk differ by line ends or a filter, what git has of them does not
        data = read_blob(reading.objects, found[1], limit=TEXT_FILE) if found is not None else None
        if data is None:
            what = "is gone" if found is None else f"has more than {TEXT_FILE} bytes"
            lost += [(one, f"{path} {what}, which has {one.section}") for one in citations]
            continue
        from git_taskctx.capture.sections import MarkdownFile
        from git_taskctx.capture.standards import find_again

        document = MarkdownFile(data)
        places = find_again(document, citations)
        for one in citations:
            section = places.get(one.content_sha)
            if section is None:
                there = any(other.slug == one.section for other in document.sections)
                what = "has changed" if there else "is gone"
                lost.append((one, f"{path}#{one.section} {what} since the context began"))
            elif (section.slug, section.span) != (one.section, one.line_span):
                yield _moved(one, path, section.slug, section.span), False
    if lost:
        elsewhere = _search(session, reading, [one for one, _ in lost])
        for one, reason in lost:
            place = elsewhere.get(one.content_sha)
            yield (_moved(one, *place), False) if place else (reason, True)


def _moved(one: StandardsCitation, path: str, slug: str, span: str) -> str:
    return f"{one.file}#{one.section}, cited as {one.line_span}, is now {path}#{slug}, {span}; its text is the same"


def _search(session: Session, reading: Reading, lost: Sequence[StandardsCitation]) -> dict[str, tuple[str, str, str]]:
    """Find sections by hash in Markdown files that changed since the task began."""
    from git_taskctx.capture.sections import MarkdownFile
    from git_taskctx.capture.standards import find_again

    changes = reading.changes_since(session.chain.init_tree)
    files = [one for one in changes if one.mode.startswith("100") and one.path.lower().endswith((b".md", b".markdown"))]
    places: dict[str, tuple[str, str, str]] = {}
    for change in files[:MAX_SEARCHED]:
        data = read_blob(reading.objects, BlobOid(change.oid), limit=TEXT_FILE)
        if data is not None:
            for sha, section in find_again(MarkdownFile(data), lost).items():
                places.setdefault(sha, (quote(change.path), section.slug, section.span))
    return places


def read_task_file_bytes(repository: Repository, path: str) -> bytes | None:
    """Read a task file, by its path from the top of the worktree. Raises: BadData."""
    full = repository.toplevel / os.fsdecode(unquote(path))
    if full.is_symlink():
        full = full.resolve()
        if not full.is_relative_to(repository.toplevel.resolve()):
            raise BadData(f"{path} is a link out of the worktree")
    return read_plain(full, limit=TEXT_FILE)
