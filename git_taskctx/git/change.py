"""One path that differs between two trees."""

from __future__ import annotations

from typing import NamedTuple

from git_taskctx.model.snapshot import ChangeStatus


class Change(NamedTuple):
    """One path that differs; a side that is absent has mode 000000 and a null oid.

    A tuple: there may be hundreds of thousands.
    """

    path: bytes
    status: ChangeStatus
    old_mode: str
    mode: str
    old_oid: str
    oid: str
    renamed_from: bytes | None = None
    """Another path, deleted in the same step, that held exactly this blob. For display only."""
