"""What an agent sends to a hook, read as something that anybody may have written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

TYPE_CHECKING = False  # typing itself would cost more than all that is done here
if TYPE_CHECKING:
    from typing import Any

LIMIT = 32 * 1024 * 1024
"""Bytes of a payload that are read; a tool call that writes more is no work on source code."""
MANY = 10_000
"""Paths that one tool call may name."""
_KEYS = (
    "file_path", "path", "notebook_path", "target_file", "target_notebook", "absolute_path", "filename", "source",
    "destination", "old_path", "new_path",
)  # fmt: skip
_LISTS = ("paths", "file_paths", "files", "edits")
_PATCHED = re.compile(r"^\s*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
"""Headers of a Codex patch (codex-rs/apply-patch/src/parser.rs)."""


class Unreadable(ValueError):
    """It is no payload; the text says why."""


class Payload:
    """What of it concerns us; a plain class, which costs nothing to define."""

    def __init__(self, cwd: str, tool: str, paths: tuple[str, ...], helper: str | None, *, again: bool) -> None:
        self.cwd = cwd
        self.tool = tool
        self.paths = paths
        """Files that a tool is about to write, as they are named."""
        self.helper = helper
        """The kind of a sub-agent, where one acts; None for the session itself."""
        self.again = again
        """True when a hook has kept it from stopping before, and where it was cut off and cannot go on."""


def read(data: bytes, folder: str) -> Payload:
    """Return what concerns us; `folder` stands in for a current folder that is not told. Raises: Unreadable."""
    return _take(_load(data), folder)


def _load(data: bytes) -> dict[str, Any]:
    """Parse a payload; nothing at all is an empty one."""
    if len(data) > LIMIT:
        raise Unreadable(f"the payload has more than {LIMIT // 1024 // 1024} MiB")
    if not data.strip():
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the payload is no JSON that can be read") from error
    if not isinstance(value, dict):
        raise Unreadable("the payload is no JSON object")
    return value


def _take(value: dict[str, Any], folder: str) -> Payload:
    roots = value.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else None
    cwd = next((one for one in (value.get("cwd"), root) if isinstance(one, str) and one), folder)
    tool = value.get("tool_name")
    kind = value.get("agent_type") or value.get("subagent_type")
    loops = value.get("loop_count")
    cut_off = value.get("status") in ("aborted", "error")
    return Payload(
        cwd=os.path.join(folder, cwd),  # noqa: PTH118 - no path yet
        tool=tool if isinstance(tool, str) else "",
        paths=tuple(dict.fromkeys(_paths(value.get("tool_input")))),
        helper=kind if isinstance(kind, str) else None,
        again=value.get("stop_hook_active") is True or (isinstance(loops, int) and loops > 0) or cut_off,
    )


def _paths(given: Any) -> Iterator[str]:
    """Yield the paths that a tool's input names: in fields that the agents have for it, or in a patch."""
    if isinstance(given, str):
        if "*** Begin Patch" in given:
            yield from _patched(given)
            return
        try:  # MCP tools of Cursor have their input as text
            given = json.loads(given)
        except (ValueError, RecursionError):
            return
    if not isinstance(given, dict):
        return
    for key in _KEYS:
        if isinstance(given.get(key), str) and given[key]:
            yield given[key]
    for key in _LISTS:
        for one in given[key][:MANY] if isinstance(given.get(key), list) else ():
            yield from (one,) if isinstance(one, str) else _paths(one)
    for key in ("command", "input", "patch"):
        words = given.get(key)
        text = "\n".join(map(str, words)) if isinstance(words, list) else words
        if isinstance(text, str) and "*** Begin Patch" in text:
            yield from _patched(text)


def _patched(patch: str) -> Iterator[str]:
    for number, match in enumerate(_PATCHED.finditer(patch)):
        if number >= MANY:
            raise Unreadable(f"the patch names more than {MANY} files")
        yield match[1]
