"""Reads the notes about commits, trees and contexts, ours and fetched ones.

The records on a commit are those known when it was sealed. Later records of other clones are on the context's anchors
alone, and count too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.notes import find_notes, note_lines
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.entry import anchor_of, page_of
from git_taskctx.limits import BATCH_LIMIT, NOTE_LIMIT
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.proof import Code, Reason
from git_taskctx.proof.claims import Note, NoteLines, Trust, judge_lines
from git_taskctx.proof.range import BATCH, Commit
from git_taskctx.proof.rules import Rules

if TYPE_CHECKING:
    from git_taskctx.proof.signers import Signers


class Reader:
    """Reads notes: all are looked up at once, then read in batches, each once."""

    def __init__(self, repository: Repository, notes: Sequence[str], rules: Rules) -> None:
        self.repository, self.notes, self._rules = repository, notes, rules
        self.signers: Signers | None = None
        """Who may sign; None where signatures are not required."""
        if rules.policy.proof.require_signed:
            from git_taskctx.proof.signers import Signers

            self.signers = Signers(repository, rules.signers)
        self.trust = self.signers or Trust()
        self._blobs: dict[str, tuple[str, ...]] = {}
        self._lines: dict[tuple[str, ...], NoteLines] = {}
        self._read: dict[tuple[str, ...], Note] = {}
        self.error: Reason | None = None

    def look_up(self, names: Sequence[str]) -> None:
        """Find the notes of many objects."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._blobs]
        found: dict[str, dict[str, None]] = {name: {} for name in wanted}
        for notes in self.notes if wanted else ():
            try:
                there = find_notes(self.repository.objects, notes, wanted)
            except CouldNotTell as error:
                self.error = Reason(Code.OBJECTS_MISSING, f"the notes do not read: {error.message}")
                continue
            for name, blobs in there.items():
                found[name] |= dict.fromkeys(blobs)
        self._blobs |= {name: tuple(blobs) for name, blobs in found.items()}

    def batches(
        self, commits: Sequence[Commit], places: Mapping[CommitOid, Sequence[tuple[str, str]]]
    ) -> Iterator[list[Commit]]:
        """Yield the commits in batches whose notes fit in memory."""
        blobs = {one.oid: {blob for _, name in places[one.oid] for blob in self.blobs_of(name)} for one in commits}
        sizes = self.repository.objects.sizes(set().union(*blobs.values())) if commits else {}
        batch, held = list[Commit](), 0
        for commit in commits:
            size = sum(min(sizes.get(blob, 0), NOTE_LIMIT) for blob in blobs[commit.oid])
            if batch and (len(batch) == BATCH or held + size > BATCH_LIMIT):
                yield batch
                batch, held = [], 0
            batch.append(commit)
            held += size
        if batch:
            yield batch

    def read_ahead(self, names: Sequence[str]) -> None:
        """Read the notes of some objects with all records of their contexts; forget those read before."""
        self._read, self._lines = {}, {}
        wanted = {blobs for name in names if (blobs := self.blobs_of(name))}
        with contextlib.suppress(CouldNotTell):  # `read` reports the one that is damaged
            self.repository.objects.read_ahead([blob for blobs in wanted for blob in blobs], limit=NOTE_LIMIT)
        self._lines = {blobs: self._read_blobs(blobs) for blobs in wanted}
        self._read_anchors()
        self.trust.check(entry for lines in self._lines.values() for entry in lines.entries)

    def blobs_of(self, name: str) -> tuple[str, ...]:
        """Return the blobs that make up the note of an object."""
        return self._blobs.get(name, ())

    def read(self, blobs: tuple[str, ...]) -> Note:
        """Return a note read by `read_ahead`."""
        if blobs not in self._read:
            lines = self._lines.get(blobs) or NoteLines()
            self._read[blobs] = judge_lines(lines, self._rules.policy, self._rules.agents, self.trust)
        return self._read[blobs]

    def _read_blobs(self, blobs: Iterable[str]) -> NoteLines:
        lines: set[str] = set()
        for blob in blobs:
            found = self._text(blob)
            if isinstance(found, Reason):
                return NoteLines(wrong=found)
            lines.update(found)
        return NoteLines.read(sorted(lines))

    def _text(self, blob: str) -> list[str] | Reason:
        try:
            found = self.repository.objects.find(blob, limit=NOTE_LIMIT)
        except CouldNotTell:
            found = None
        if found is None or found.kind != "blob":
            return Reason(Code.OBJECTS_MISSING, f"the note {blob[:12]} is not in this clone")
        if not found.whole:
            return Reason(Code.TOO_LARGE, f"the note has more than {NOTE_LIMIT} bytes")
        return note_lines(found.data)

    def _read_anchors(self) -> None:
        """Add the records on the anchors of every context, page by page."""
        about: dict[str, list[NoteLines]] = {}
        for lines in self._lines.values():
            for context in lines.contexts:
                about.setdefault(context, []).append(lines)
        for context, some in about.items():  # what one note lacks another may have
            known = [entry.line for lines in some for entry in lines.contexts[context]]
            for lines in some if len(some) > 1 else ():
                lines.add_beside(context, known)
        done = dict.fromkeys(about, 0)
        while done:
            pages = {
                context: range(first, page_of(max(lines.count(context) for lines in about[context]) + 1) + 1)
                for context, first in done.items()
            }
            anchors = [
                (context, anchor_of(self.repository, context, page)) for context, some in pages.items() for page in some
            ]
            self.look_up([anchor for _, anchor in anchors])
            for context, anchor in anchors:
                for blob in self.blobs_of(anchor):
                    found = self._text(blob)
                    for lines in about[context]:
                        lines.add_beside(context, found)
            done = {context: some.stop for context, some in pages.items() if len(some)}
