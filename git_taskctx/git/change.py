"""One path that differs between two trees."""

from __future__ import annotations

from git_taskctx.model.snapshot import ChangeStatus
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Change:
    """One path that differs; a side that is absent has mode 000000 and a null oid."""

    path: bytes
    status: ChangeStatus
    old_mode: str
    mode: str
    old_oid: str
    oid: str
    renamed_from: bytes | None = None
    """Another path, deleted in the same step, that held exactly this blob. For display only."""
