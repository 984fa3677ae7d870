"""Evidence: attached to a context, kept whole and by hash, whatever becomes of the original."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from git_taskctx import files
from git_taskctx.context.caller import check_text
from git_taskctx.context.guard import refuse_content
from git_taskctx.context.session import Event, Session
from git_taskctx.errors import BadData, CouldNotTell, Fatal, Refused, Usage
from git_taskctx.git.patch import compress
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.refs import find_ref
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.refs import context_ref_name
from git_taskctx.limits import EVIDENCE_LIMIT, PIECES_LIMIT
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.context import Evidence, EvidenceType
from git_taskctx.model.payloads import Attach
from git_taskctx.model.values import dataclass, replace
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation

STDIN = "-"
Original = Literal["unchanged", "changed", "gone", "none"]
"""State of the original; standard input has none."""


@dataclass(frozen=True)
class EvidenceSource:
    """Evidence about to be kept."""

    path: str
    """Its path as recorded."""
    data: bytes
    lines: str | None = None
    first_line: int = 1


@dataclass(frozen=True)
class AttachResult:
    evidence: Evidence
    new: bool
    """False where the same bytes of the same path were attached before."""


@dataclass(frozen=True)
class Piece:
    """A piece of evidence and the state of its original."""

    evidence: Evidence
    original: Original


def read_source(repository: Repository, folder: Path, given: str, *, lines: str | None = None) -> EvidenceSource:
    """Read a file that a person named, or its `lines`, as in `L10-L20`. Raises: Fatal, BadData, Usage.

    A link in the worktree must not lead out of it.
    """
    path = Path(os.path.normpath(folder / given))
    top, real = repository.toplevel.resolve(), path.resolve()
    place = path.parent.resolve() / path.name
    if place.is_relative_to(top) and not real.is_relative_to(top):
        raise Fatal(
            f"'{given}' is a link out of the worktree", hint=f"ls -l {shell_word(given)}   # name the file itself"
        )
    data = files.read_plain(real, limit=EVIDENCE_LIMIT)
    if data is None:
        raise Fatal(f"there is no file '{given}'", hint="ls   # PATH counts from the current folder")
    inside = place.is_relative_to(top)
    name = quote(os.fsencode(place.relative_to(top))) if inside else quote(os.fsencode(place))
    source = EvidenceSource(name, data)
    return source if lines is None else _excerpt(source, lines)


def check_stdin(data: bytes) -> EvidenceSource:
    """Return evidence from standard input. Raises: BadData when it is too long."""
    if len(data) > EVIDENCE_LIMIT:
        raise BadData(f"standard input has more than {EVIDENCE_LIMIT} bytes", hint="keep the end of it: tail -c 16M")
    return EvidenceSource(STDIN, data)


def attach(
    session: Session, source: EvidenceSource, kind: EvidenceType, *, description: str | None = None
) -> AttachResult:
    """Keep evidence; the same bytes of the same path keep their id. Raises: Refused for a secret or too much; Fatal."""
    session.require_open(may_be_blocked=True)
    if description is not None:
        description = check_text(description, what="description")
    evidence, contents = take(session, source, kind, description=description)
    if contents is None:
        return AttachResult(evidence, new=False)
    event = Event(Attach(evidence))
    session.commit([event], files=contents, reason=f"{session.task}: {evidence.id} attached")
    return AttachResult(evidence, new=True)


def take(
    session: Session,
    source: EvidenceSource,
    kind: EvidenceType,
    *,
    description: str | None = None,
    more: Sequence[Evidence] = (),
) -> tuple[Evidence, Mapping[str, bytes] | None]:
    """Return evidence of a source, and the file to write, None if known.

    `more` is recorded before it. Raises: Refused.
    """
    sha, before = sha256_hex(source.data), (*session.chain.evidence, *more)
    for known in before:
        if (known.sha256, known.path, known.type, known.lines) == (sha, source.path, kind, source.lines):
            return known, None
    if len(before) >= PIECES_LIMIT:
        raise Refused(
            f"{session.task} has {PIECES_LIMIT} pieces of evidence, and takes no more",
            Situation("clone.too_much_evidence"),
        )
    refuse_content(session, source.path, source.data, first_line=source.first_line)
    packed = compress(source.data)
    evidence = Evidence(
        id=f"E{len(before) + 1}",
        type=kind,
        path=source.path,
        sha256=sha,
        size=len(source.data),
        stored_sha256=sha256_hex(packed),
        description=description,
        lines=source.lines,
    )
    return evidence, {evidence.stored: packed}


def pieces(session: Session) -> tuple[Piece, ...]:
    """Return every piece of evidence, oldest first, compared with its original."""
    return tuple(Piece(one, original_of(session.repository, one)) for one in session.chain.evidence)


def find_piece(session: Session, evidence_id: str) -> Piece:
    """Return a piece of evidence. Raises: Fatal for an unknown id."""
    for one in session.chain.evidence:
        if one.id == evidence_id:
            return Piece(one, original_of(session.repository, one))
    known = tuple(one.id for one in session.chain.evidence[:20])
    raise Fatal(f"there is no evidence {evidence_id!r}", Situation("clone.no_evidence", ids=known))


def read_evidence(session: Session, evidence: Evidence) -> bytes:
    """Return the original bytes, from the task's folder or the context's ref.

    Raises: CouldNotTell where both lack them.
    """
    for read in (_in_folder, _in_ref):
        packed = read(session, evidence)
        data = unpack(packed, evidence.size) if packed is not None else None
        if data is not None and sha256_hex(data) == evidence.sha256:
            return data
    raise CouldNotTell(
        f"{evidence.id} is not kept as it was recorded, neither in {evidence.stored} nor in the refs",
        Situation("clone.recover", task=session.task),
    )


def original_of(repository: Repository, evidence: Evidence) -> Original:
    """Return the state of the original; links out of the worktree are not followed."""
    if evidence.path == STDIN:
        return "none"
    path = repository.toplevel / os.fsdecode(unquote(evidence.path))
    folder, name = path.parent, path.name
    try:
        source = read_source(repository, folder, name, lines=evidence.lines)
    except (Fatal, Usage):
        return "changed" if os.path.lexists(path) else "gone"
    return "unchanged" if sha256_hex(source.data) == evidence.sha256 else "changed"


def _excerpt(source: EvidenceSource, lines: str) -> EvidenceSource:
    found = re.fullmatch(r"[Ll]?([0-9]{1,9})(?:-[Ll]?([0-9]{1,9}))?", lines, re.ASCII)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last:
        raise Usage(f"{lines!r} are not lines: write L10-L20, or L10", Situation("clone.help_on", verb="attach"))
    every = _split(source.data)
    if last > len(every):
        count = f"{len(every)} line{'s' * (len(every) != 1)}"
        raise BadData(f"{source.path} has {count}, not {last}", Situation("clone.help_on", verb="attach"))
    name = f"L{first}-L{last}" if last > first else f"L{first}"
    return replace(source, data=b"".join(every[first - 1 : last]), lines=name, first_line=first)


def _split(data: bytes) -> list[bytes]:
    """Split at LF alone, as git and editors count lines."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _in_folder(session: Session, evidence: Evidence) -> bytes | None:
    store = session.caller.store
    if session.archived:
        return store.read_archived(session.context.context_id, evidence.stored)
    return store.read(session.task, evidence.stored)


def _in_ref(session: Session, evidence: Evidence) -> bytes | None:
    tree = find_ref(session.repository.git, context_ref_name(session.context.context_id))
    found = session.repository.objects.find(f"{tree}:{evidence.stored}", limit=2 * EVIDENCE_LIMIT) if tree else None
    return found.data if found and found.whole else None


def unpack(packed: bytes, size: int) -> bytes | None:
    """Decompress up to the recorded size; None for damaged or larger data."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(packed, min(size, EVIDENCE_LIMIT) + 1)
    except zlib.error:
        return None
    return data if len(data) == size else None
