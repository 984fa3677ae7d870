"""Remember what a scanner found clean.

A mark names a change by its two blobs, `OLD..NEW`, whatever the path. Each scanner has a file of marks, named by a hash
of its patterns. It is a cache in the git dir: safe to delete, and whoever can write there can write anything.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from git_taskctx import files
from git_taskctx.errors import Fatal
from git_taskctx.lean import regex

LIMIT = 512 * 1024
"""Bytes of a memory; beyond them it begins anew."""
_MARK = regex(rb"[0-9a-f]{40,64}\.\.[0-9a-f]{40,64}")


class Memory:
    """One scanner's marks, read on demand."""

    def __init__(self, folder: Path, *, scanner: str, key: str) -> None:
        """`key` stands for everything that decides the scanner's result."""
        self._path = folder / f"clean-{scanner}-{key[:16]}"
        self._others = f"clean-{scanner}-*"
        self._known: set[bytes] | None = None

    def is_clean(self, old: str, new: str) -> bool:
        """Return whether what `new` adds to `old`, or `new` as a whole, was found clean before."""
        known = self._read()
        return bool(known) and not known.isdisjoint((_mark(old, new), _mark("0" * len(new), new)))

    def add(self, changes: Iterable[tuple[str, str]]) -> None:
        """Remember changes as clean, if anything can be written."""
        new = {_mark(*change) for change in changes} - self._read()
        if not new:
            return
        self._known = self._load() | new  # with what another process has found meanwhile
        data = b"".join(mark + b"\n" for mark in sorted(self._known))
        if len(data) > LIMIT:
            data = b"".join(mark + b"\n" for mark in sorted(new))[:LIMIT]
        with contextlib.suppress(Fatal, OSError):
            files.make_folder(self._path.parent)
            for other in self._path.parent.glob(self._others):
                if other != self._path:
                    other.unlink()
            files.write_atomic(self._path, data)

    def _read(self) -> set[bytes]:
        if self._known is None:
            self._known = self._load()
        return self._known

    def _load(self) -> set[bytes]:
        data = b""
        with contextlib.suppress(Fatal, OSError):
            data = files.read_plain(self._path, limit=LIMIT) or b""
        return {line for line in data.split(b"\n") if _MARK.fullmatch(line)}


def _mark(old: str, new: str) -> bytes:
    return os.fsencode(f"{old}..{new}")
