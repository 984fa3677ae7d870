"""What is kept of a ledger beside its bundle: hashes of its records and of what they add up to, and verdicts.

No wording is in it: what a person reads may change, what is on record and what it proves may not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from desk import Desk

from git_taskctx.model.values import fields

CLOSED = ("verdict", "by", "task", "context", "required", "tree")
"""Fields of the proof of one commit that are kept as they are."""


def digest(value: object) -> str:
    """Return a short hash of what JSON can say, and of sets and dataclasses."""
    text = json.dumps(value, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _plain(value: Any) -> object:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return {one.name: getattr(value, one.name) for one in fields(value)}


def chain_state(chain: Any) -> str:
    """Return the hash of all that a chain has come to."""
    names = (
        "context", "task", "agents", "owner", "at_work", "tenure_tree", "start_tree", "tenure_verified", "since",
        "base", "parent", "init_head", "init_tree", "head", "saved", "drifts", "evidence", "runs", "baseline",
        "commands", "capture", "branch", "parts", "bypassed", "purged", "sealed", "settled_tree", "validated",
    )  # fmt: skip
    return digest({**{name: getattr(chain, name) for name in names}, "seats": chain.coordination({})})


def context_state(entries: list[Any], aside: list[Any], fold: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what is kept of one context: each record's hash, and the state of the chain after it."""
    records = [entry.record for entry in entries]
    chain = fold(records[:1])
    states = [chain_state(chain)]
    for record in records[1:]:
        chain = chain.apply(record)
        states.append(chain_state(chain))
    rows = [f"{one.type} {entry.sha} {state}" for one, entry, state in zip(records, entries, states, strict=True)]
    return {"records": rows, "aside": [entry.sha for entry in aside]}


def proof_of(desk: Desk, asked: str) -> dict[str, Any]:
    """Return the verdict on a revision or a range, without its words."""
    found = json.loads(desk.run("verify", asked, "--format", "json").out)["data"]
    commits = [
        {**{name: one[name] for name in CLOSED}, **{kind: _reasons(one[kind]) for kind in ("reasons", "notices")}}
        for one in found["commits"]
    ]
    names = [one["commit"] for one in found["commits"]]
    return {"verdict": found["verdict"], "commits": dict(zip(names, commits, strict=True))}


def _reasons(reasons: list[dict[str, Any]]) -> list[str]:
    return [" ".join([one["code"], *filter(None, [one["record"]]), *one["paths"]]) for one in reasons]
