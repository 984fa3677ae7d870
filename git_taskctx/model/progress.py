"""How far long work is: told by whoever does it, shown by whoever has a terminal."""

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
    """Bytes; done when `done` has come to it. Below zero where nobody knows: it is said once that it has begun."""
