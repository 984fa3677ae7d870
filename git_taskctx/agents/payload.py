"""What an agent sends to a hook, read as something that anybody may have written."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator

from git_taskctx.agents.tools import FILES, kind_of, patched, places_in, served_name, words_of

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
SHELLS = frozenset({"Bash"})
"""Tools that run commands; a patch in one is applied by Codex itself, though `apply_patch` is not called."""
_LISTS = ("paths", "file_paths", "files", "edits")


class Unreadable(ValueError):
    """It is no payload; the text says why."""


class Payload:
    """What of it concerns us; a plain class, which costs nothing to define."""

    def __init__(
        self,
        cwd: str,
        tool: str,
        served: str | None,
        paths: tuple[str, ...],
        roots: tuple[str, ...],
        helper: str | None,
        *,
        again: bool,
    ) -> None:
        self.cwd = cwd
        self.tool = tool
        self.served = served
        """What an MCP server calls its tool; None for one of the agent's own."""
        self.paths = paths
        """Files that a tool is about to write, as they are named; for a server's tool all that may be one."""
        self.roots = roots
        """Where a server's tool is told to be at home."""
        self.helper = helper
        """The kind of a sub-agent, where one acts; None for the session itself."""
        self.again = again
        """True when a hook has kept it from stopping before, and where it was cut off and cannot go on."""

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is asked: a server's tool reads, or a shell is given a command and no patch."""
        if self.served is not None:
            return kind_of(self.served) == "reads"
        return self.tool in SHELLS and not self.paths


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
    called = value.get("tool_name")
    tool = called if isinstance(called, str) else ""
    cwd = os.path.join(folder, cwd)  # noqa: PTH118 - no path yet
    served = served_name(tool, value.get("mcp_context"))
    paths, roots = _served(served, value, cwd) if served is not None else (_paths(value.get("tool_input")), ())
    kind = value.get("agent_type") or value.get("subagent_type")
    loops = value.get("loop_count")
    cut_off = value.get("status") in ("aborted", "error")
    return Payload(
        cwd=cwd,
        tool=tool,
        served=served,
        paths=tuple(dict.fromkeys(paths)),
        roots=tuple(dict.fromkeys(roots)),
        helper=kind if isinstance(kind, str) else None,
        again=value.get("stop_hook_active") is True or (isinstance(loops, int) and loops > 0) or cut_off,
    )


def _served(name: str, value: dict[str, Any], cwd: str) -> tuple[Iterable[str], Iterable[str]]:
    """Return the files that a server's tool is given, and where it is told to be at home.

    A source and a target are files where one of them is there, or where the tool's name says so: branches have them,
    too.
    """
    found = list(itertools.islice(places_in(_parsed(value.get("tool_input"))), MANY + 1))
    if len(found) > MANY:
        raise Unreadable(f"the arguments name more than {MANY} files")
    ends = [path for path, part in found if part == "end"]
    parts = {"file"}
    if not FILES.isdisjoint(words_of(name)) or any(os.path.lexists(os.path.join(cwd, one)) for one in ends):  # noqa: PTH118
        parts.add("end")
    return [path for path, part in found if part in parts], [path for path, part in found if part == "root"]


def _parsed(given: Any) -> Any:
    """Return arguments that may come as text, as Cursor has those of MCP tools."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _paths(given: Any) -> Iterator[str]:
    """Yield the paths that a tool's input names: in fields that the agents have for it, or in a patch."""
    if isinstance(given, str):
        if "*** Begin Patch" in given:
            yield from _patched(given)
            return
        given = _parsed(given)
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
    for number, name in enumerate(patched(patch)):
        if number >= MANY:
            raise Unreadable(f"the patch names more than {MANY} files")
        yield name
