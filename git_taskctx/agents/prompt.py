"""The task in one line for a shell prompt, from the context's files without git and ledger.

It runs at every prompt: nothing heavy is imported, and errors become a word in the line.
"""

from __future__ import annotations

import os

from git_taskctx.agents.here import FOLDER, find_worktree

TYPE_CHECKING = False  # as in agents.here
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 16 << 20
"""Bytes of a file that is read."""


def glance(folder: str) -> dict[str, Any] | None:
    """Return the active task of a folder's worktree, its owner, and what is open; None without one."""
    found = find_worktree(folder)
    if found is None:
        return None
    store = f"{found[0]}/{FOLDER}"
    try:
        task = _read(f"{store}/active").decode().strip()
        tasks = f"{store}/tasks/{task}"
        coordination = parse(_read(f"{tasks}/context.json"))["coordination"]
        state = parse(_read(f"{tasks}/context-{next(iter(coordination))}.json"))["state"]
        return {
            "task": task,
            "owner": state["owner"],
            "end": state.get("end"),
            "findings": sum(
                finding["closed_at"] is None for seat in coordination.values() for finding in seat["blocking_findings"]
            ),
            "drifts": sum(state["drift_budgets"].values()),
        }
    except FileNotFoundError:
        return {"task": None} if os.path.lexists(f"{found[1]}/taskctx/context") else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return {"task": None}


def line_of(seen: dict[str, Any] | None) -> str:
    """Return the line; empty where no task is active."""
    if seen is None:
        return ""
    if seen["task"] is None:
        return "task context cannot be read"
    words = [f"{seen['task']} {seen['end'] or seen['owner']}"]
    words += [f"{seen[key]} {key.removesuffix('s' * (seen[key] == 1))}" for key in ("findings", "drifts") if seen[key]]
    line = ", ".join(words)
    return line if line.isprintable() else "task context cannot be read"


class _Rules:
    """How the scanner of `json` reads by default."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


def parse(data: bytes) -> Any:
    """Return what a file of ours holds. Raises: ValueError, StopIteration.

    `json` loads `re`, which costs more than all else here; CPython has its scanner in a module of its own.
    """
    text = data.decode().strip()
    try:
        from _json import make_scanner

        value, end = make_scanner(_Rules)(text, 0)  # type: ignore[arg-type] # typeshed wants a scanner, CPython a JSONDecoder
    except (ImportError, SystemError):  # another Python; CPython 3.11 finds its own error only once `json` is loaded
        import json

        return json.loads(text)
    if end != len(text):
        raise ValueError("something follows the value")
    return value


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(_LARGEST)
    finally:
        os.close(descriptor)
