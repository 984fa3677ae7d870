"""Progress of long work, from the worker to a terminal."""

from __future__ import annotations

from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Progress:
    """One moment of it."""

    what: str
    """As in `looking for secrets`."""
    done: int
    """Bytes."""
    total: int
    """Bytes; finished when `done` equals it. Below zero if unknown: shown once at the start."""
