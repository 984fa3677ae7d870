"""Scan what is about to be kept for secrets, unless its path may hold some.

Clean content is remembered: in everyday scans if it is large enough to pay, in deep scans always.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence

from git_taskctx import secrets
from git_taskctx.capture.scope import compile_patterns
from git_taskctx.context.caller import Caller, check_secrets, refuse_secrets
from git_taskctx.context.session import Session
from git_taskctx.git.changes import ABSENT, SUBMODULE
from git_taskctx.git.patch import Added, Patch, added_lines
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository
from git_taskctx.git.worktree import Reading
from git_taskctx.lean import regex
from git_taskctx.model.codec import to_plain
from git_taskctx.model.context import Immutable
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.policy import SecretsPolicy
from git_taskctx.model.progress import Progress

WORTH = 64 * 1024
"""Bytes from which an everyday scan takes longer than a lookup."""
STEP = 1024 * 1024
"""Bytes between two events."""
WHAT = "looking for secrets"
_ADDED = regex(rb"^\+(.*?)\r*$", re.MULTILINE)


class Guard:
    """A scanner with its memory and progress."""

    def __init__(self, caller: Caller, repository: Repository, policy: SecretsPolicy) -> None:
        self._caller = caller
        self._allowed = compile_patterns(policy.allow_paths) if policy.allow_paths else None
        self._deep, self._using = caller.deep, secrets.everyday
        key = secrets.everyday_key
        if caller.deep:
            from git_taskctx.secrets.deep import deep, deep_key

            self._using, key = deep, deep_key
        scanner = "deep" if caller.deep else "everyday"
        self._memory = secrets.Memory(repository.private_dir, scanner=scanner, key=key())
        self._clean: list[tuple[str, str]] = []
        self._done = self.total = 0

    def allows(self, name: str) -> bool:
        """Return whether a path may hold secrets."""
        return self._allowed is not None and self._allowed.covers(name)

    def added(self, patch: Patch) -> Iterator[secrets.Hit]:
        """Scan the lines that a diff adds; small files together, as each scan has a fixed cost."""
        for diffs in _groups(patch):
            diff = b"".join(diffs)
            if not self._deep and max(map(len, diffs)) < WORTH and self._is_clean(diff):
                self._report(len(diff))
                continue
            small = list[Added]()
            for one in added_lines(io.BytesIO(diff)):
                size = sum(len(line) for _, line in one.lines)
                if self._deep or size >= WORTH or any(b"\0" in line for _, line in one.lines):
                    yield from self._together(small)
                    small = []
                    yield from self.lines(one.name, (one.old, one.new), one.lines)
                elif not self.allows(one.name):
                    small.append(one)
            yield from self._together(small)

    def _is_clean(self, diff: bytes) -> bool:
        """Return whether there is nothing in a diff, as most often; which file a line is in does not matter then."""
        lines = b"\n".join(_ADDED.findall(diff))
        return b"\0" not in lines and not self._using(lines)

    def _together(self, files: Sequence[Added]) -> Iterator[secrets.Hit]:
        """Scan files together whose lines say nothing about others."""
        places = [(one.name, number) for one in files for number, _ in one.lines]
        lines = enumerate(line for one in files for _, line in one.lines)
        for hit in secrets.scan_lines(lines, name="", using=self._using) if places else ():
            name, number = places[hit.line]
            yield hit._replace(name=name, line=number)
        self._report(sum(len(line) for one in files for _, line in one.lines))

    def lines(self, name: str, change: tuple[str, str], lines: Sequence[tuple[int, bytes]]) -> list[secrets.Hit]:
        """Scan the lines that a change adds, remembered by its blobs."""
        size = sum(len(line) for _, line in lines)
        if self._is_known(name, change, size):
            return []
        hits: list[secrets.Hit] = []
        for some in _batches(lines):
            hits += secrets.scan_lines(some, name=name, using=self._using)
            self._report(sum(len(line) for _, line in some))
        self._note(change, size, hits)
        return hits

    def pieces(self, name: str, oid: str, size: int, pieces: Iterator[bytes]) -> list[secrets.Hit]:
        """Scan a whole blob, read in pieces."""
        change = ("0" * len(oid), oid)
        if self._is_known(name, change, size):
            return []
        hits = secrets.scan_pieces(self._reporting(pieces), name=name, using=self._using)
        self._note(change, size, hits)
        return hits

    def whole(self, name: str, data: bytes) -> list[secrets.Hit]:
        """Scan content without remembering it."""
        return [] if self.allows(name) else secrets.scan(data, name=name, using=self._using)

    def remember(self) -> None:
        """Save what was found clean."""
        self._memory.add(self._clean)
        self._clean.clear()

    def _is_known(self, name: str, change: tuple[str, str], size: int) -> bool:
        known = self.allows(name) or ((self._deep or size >= WORTH) and self._memory.is_clean(*change))
        if known:
            self._report(size)
        return known

    def _note(self, change: tuple[str, str], size: int, hits: Sequence[secrets.Hit]) -> None:
        if not hits and (self._deep or size >= WORTH):
            self._clean.append(change)

    def _reporting(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            yield piece
            self._report(len(piece))

    def _report(self, size: int) -> None:
        self._done += size
        self._caller.on_progress(Progress(WHAT, min(self._done, self.total), self.total))


def _groups(patch: Patch) -> Iterator[list[bytes]]:
    """Yield the diffs of files: small ones together, a large one alone."""
    small, held = list[bytes](), 0
    for diff in patch.files():
        if small and (len(diff) >= WORTH or held >= STEP):
            yield small
            small, held = [], 0
        if len(diff) >= WORTH:
            yield [diff]
        else:
            small.append(diff)
            held += len(diff)
    if small:
        yield small


def refuse_content(session: Session, name: str, data: bytes, *, first_line: int = 1) -> None:
    """Refuse content that holds a secret, unless forced. Raises: Refused."""
    guard = Guard(session.caller, session.repository, session.context.policy.secrets)
    guard.total = len(data)
    blob = session.repository.objects.hash("blob", data)
    parts = iter([data[start : start + STEP] for start in range(0, len(data), STEP)])
    whole = iter([data]) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else parts
    hits = guard.pieces(name, blob, len(data), whole)
    guard.remember()
    refuse_secrets(session.caller, [hit._replace(line=hit.line + first_line - 1) for hit in hits])


def refuse_task(caller: Caller, policy: SecretsPolicy, block: Immutable, path: str | None, data: bytes | None) -> None:
    """Refuse a task with a secret; its whole file is kept, wherever it is. Raises: Refused."""
    guard = Guard(caller, caller.repository, policy)
    hits = guard.whole(path or "the task", data) if data is not None else []
    refuse_secrets(caller, hits)
    if not hits:
        check_secrets(caller, to_plain(block), name="the task")


def refuse_added(caller: Caller, policy: SecretsPolicy, reading: Reading, since: TreeOid, patch: Patch) -> None:
    """Refuse secrets that `patch`, from `since` to a reading's tree, adds, unless forced. Raises: Refused."""
    guard = Guard(caller, reading.repository, policy)
    guard.total = patch.size
    hits = list(guard.added(patch))
    new = _new_blobs(reading, since)
    hits += _search_whole(guard, reading, {name: oid for name, oid in new.items() if oid in patch.binaries})
    # Names go on record as well: one that is kept would have every later record refused.
    hits += guard.whole("the names of new paths", "\n".join(name for name in new if not guard.allows(name)).encode())
    guard.remember()
    refuse_secrets(caller, hits)


def refuse_blobs(caller: Caller, policy: SecretsPolicy, reading: Reading, blobs: Mapping[str, str] | TreeOid) -> None:
    """Refuse secrets in blobs, by name, unless forced; for a tree those that a reading has otherwise.

    Raises: Refused.
    """
    guard = Guard(caller, reading.repository, policy)
    hits = _search_whole(guard, reading, _new_blobs(reading, blobs) if isinstance(blobs, str) else blobs)
    guard.remember()
    refuse_secrets(caller, hits)


def _new_blobs(reading: Reading, since: TreeOid) -> dict[str, str]:
    changes = reading.changes_since(since)
    return {quote(change.path): change.oid for change in changes if change.mode not in (ABSENT, SUBMODULE)}


def _search_whole(guard: Guard, reading: Reading, blobs: Mapping[str, str]) -> list[secrets.Hit]:
    sizes = reading.objects.sizes(blobs.values()) if blobs else {}
    guard.total += sum(sizes.values())
    hits = list[secrets.Hit]()
    for name, oid in blobs.items():
        hits += guard.pieces(name, oid, sizes.get(oid, 0), reading.objects.read_pieces(oid))
    return hits


def _batches(lines: Sequence[tuple[int, bytes]]) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Split lines into steps; a secret is within one line."""
    start = size = 0
    for index, (_, line) in enumerate(lines):
        size += len(line)
        if size >= STEP:
            yield lines[start : index + 1]
            start, size = index + 1, 0
    if start < len(lines):
        yield lines[start:]
