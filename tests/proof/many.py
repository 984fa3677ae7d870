"""Many commits, each validated by three agents, as a stream for `git fast-import`: made in a second, not in an hour."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

WHO = "A U Thor <author@example.com>"
AGENTS = ("implementer", "reviewer", "validator")
_FIRST = 1_767_225_600


def validated_commits(count: int, *, long: bool = False) -> Iterator[bytes]:
    """Yield `main` with so many commits after the first, and notes on each of them and on its tree.

    A note holds seven short records; with `long` eleven of more than 600 bytes, as a task with a finding leaves them.
    """
    notes: list[tuple[str, bytes]] = []
    parent: str | None = None
    parent_tree = ""
    yield b"reset refs/heads/main\n"
    for number in range(count + 1):
        content = f"{number}\n".encode()
        tree = _oid("tree", b"100644 file\0" + bytes.fromhex(_oid("blob", content)))
        date = f"{_FIRST + number} +0000"
        above = f"parent {parent}\n" if parent else ""
        text = f"tree {tree}\n{above}author {WHO} {date}\ncommitter {WHO} {date}\n\ncommit {number}\n"
        commit = _oid("commit", text.encode())
        message = f"commit {number}\n".encode()
        yield f"commit refs/heads/main\nauthor {WHO} {date}\ncommitter {WHO} {date}\ndata {len(message)}\n".encode()
        yield message + b"M 100644 inline file\n" + _data(content)
        if parent is not None:
            note = "".join(
                f"{line}\n" for line in _chain(number, commit, tree, parent, parent_tree, long=long)
            ).encode()
            notes += [(commit, note), (tree, note)]
        parent, parent_tree = commit, tree
    yield f"commit refs/notes/taskctx\ncommitter {WHO} {_FIRST} +0000\ndata 0\n".encode()
    for target, note in notes:
        yield f"M 100644 inline {target[:2]}/{target[2:4]}/{target[4:]}\n".encode() + _data(note)


def _chain(number: int, commit: str, tree: str, parent: str, parent_tree: str, *, long: bool) -> list[str]:
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("init", AGENTS[0], {"tree": parent_tree, "commit": parent, "agents": list(AGENTS), "branch": "main"})
    ]
    taken = {"tree": tree, "commit_tree": tree, "commit": parent, "n": 1, "branch": "main", "diff_sha": "d" * 64}
    for agent in AGENTS:
        if agent != AGENTS[0]:
            steps.append(("start", agent, {"tree": tree, "commit": parent}))
        steps.append(("snapshot", agent, {**taken, "done": agent == AGENTS[-1]}))
    if long:
        found: dict[str, Any] = {"finding": "F1", "text": "the parser drops the last line of a file without a newline"}
        steps[4:4] = [("block", AGENTS[1], found), ("unblock", AGENTS[1], found)]
        steps[2:2] = [("update", AGENTS[0], {"session_id": f"session-{number}"}), ("verify", AGENTS[0], taken)]
    steps.append(
        ("seal", AGENTS[-1], {"tree": tree, "commit_tree": tree, "commit": commit, "parent_tree": parent_tree})
    )
    context, lines = hashlib.sha256(commit.encode()).hexdigest()[:16], list[str]()
    for seq, (kind, agent, fields) in enumerate(steps, 1):
        value = {
            "id": f"20260101T000000Z-{context}-{seq:06d}", "v": 1, "type": kind, "context": context,
            "task": f"TASK-{number}", "agent": agent, "actor": "A U Thor", "time": "2026-01-01T00:00:00Z", "seq": seq,
            "base": parent, "tree": None, "commit_tree": None, "commit": None, "diff_sha": None,
            "context_sha": "c" * 64, "prev": hashlib.sha256(lines[-1].encode()).hexdigest() if lines else None,
        }  # fmt: skip
        more = {"clone": context[:8], "patch": "e" * 64, "scope_hash": "f" * 16, "index_tree": tree} if long else {}
        lines.append(json.dumps({**value, **fields, **more, "worktree": "main"}, separators=(",", ":")))
    return lines


def _oid(kind: str, data: bytes) -> str:
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


def _data(data: bytes) -> bytes:
    return b"data %d\n" % len(data) + data + b"\n"
