"""After a rewrite: records are carried to the new commits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.context.caller import Caller
from git_taskctx.hooks.bodies import HookCall
from git_taskctx.ledger.carry import carry_notes
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.verdict import Remark

_PAIR = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\b.*")
"""`old SP new [SP extra]` (githooks)."""


def after_rewrite(caller: Caller, called: HookCall) -> list[Remark]:
    """Carry notes to amended or rebased commits with the same tree."""
    carry_notes(caller.repository, _pairs(called.stdin()))
    return []


def _pairs(data: bytes) -> Iterator[tuple[CommitOid, CommitOid]]:
    for line in data.split(b"\n"):
        found = _PAIR.fullmatch(line)
        if found:
            yield CommitOid(found[1].decode()), CommitOid(found[2].decode())
