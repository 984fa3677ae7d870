"""The ledger as git alone reads it: what is in the notes, and whether it hangs together."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gitrepo import GitRepo

Records = dict[str, list[Any]]
"""By context, oldest first."""


def read_records(repo: GitRepo) -> Records:
    """Return every context's records, oldest first; each chain must be whole, and each line the same in every note."""
    blobs = [line.split()[0] for line in repo.git("notes", "--ref=taskctx", "list").splitlines()]
    lines = {line for blob in blobs for line in repo.git("cat-file", "blob", blob).splitlines()}
    found: dict[str, list[tuple[Any, str]]] = {}
    for line in lines:
        record = json.loads(line)
        found.setdefault(record["context"], []).append((record, line))
    for chain in found.values():
        chain.sort(key=lambda pair: pair[0]["seq"])
        previous = None
        for number, (record, line) in enumerate(chain, 1):
            assert (record["seq"], record["prev"]) == (number, previous), f"the chain is broken at {line}"
            previous = hashlib.sha256(line.encode()).hexdigest()
        ids = [record["id"] for record, _ in chain]
        assert ids == sorted(ids)
    return {context: [record for record, _ in chain] for context, chain in found.items()}


def added(before: Records, after: Records) -> list[str]:
    """Return the types of the records that came, by context, new ones last; every old record must still be there."""
    for context, chain in before.items():
        assert after[context][: len(chain)] == chain, f"records of {context} are lost"
    ordered = sorted(after, key=lambda context: (context not in before, context))
    return [record["type"] for context in ordered for record in after[context][len(before.get(context, ())) :]]
