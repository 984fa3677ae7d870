"""An agent's hook input, read as untrusted data."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator

from git_taskctx.agents.tools import FILES, holds_patch, kind_of, patched, places_in, served_name, words_of
from git_taskctx.limits import PAYLOAD_LIMIT

TYPE_CHECKING = False  # typing itself would cost more than all that is done here
if TYPE_CHECKING:
    from typing import Any

    from git_taskctx.agents.tools import Part

MANY = 10_000
"""Paths in one tool call; with more the targets count as unknown."""
_KEYS = (
    "file_path", "path", "notebook_path", "target_file", "target_notebook", "absolute_path", "filename", "source",
    "destination", "old_path", "new_path",
)  # fmt: skip
SHELLS = frozenset({"Bash"})
"""Tools that run commands; Codex applies a patch in one itself, without calling `apply_patch`."""
_LISTS = ("paths", "file_paths", "files", "edits")


class Unreadable(ValueError):
    """Not a payload, and why."""


class HookPayload:
    """Its relevant parts; a plain class, which is cheap to define."""

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
        odd: str | None,
    ) -> None:
        self.cwd = cwd
        self.tool = tool
        self.served = served
        """An MCP server's name of its tool; None for the agent's own tools."""
        self.paths = paths
        """Files that a tool is about to write, as named; for a server's tool all possible ones."""
        self.roots = roots
        """The roots given to a server's tool."""
        self.helper = helper
        """The kind of the acting sub-agent; None for the session itself."""
        self.again = again
        """True when a hook has prevented a stop before, and when the session was cut off."""
        self.odd = odd
        """Why not everything named is known; None where it is."""

    @property
    def is_idle(self) -> bool:
        """Return whether there is nothing to judge: a reading tool, or a shell command without a patch."""
        if self.served is not None:
            return kind_of(self.served) == "reads"
        return self.tool in SHELLS and not self.paths


def read(data: bytes, folder: str) -> HookPayload:
    """Return the relevant parts; `folder` is the default current folder. Raises: Unreadable."""
    return _take(_load(data), folder)


def _load(data: bytes) -> dict[str, Any]:
    """Parse a payload; nothing at all is an empty one."""
    if len(data) > PAYLOAD_LIMIT:
        raise Unreadable(f"the payload has more than {PAYLOAD_LIMIT // 1024 // 1024} MiB")
    if not data.strip():
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the payload is not JSON that can be read") from error
    if not isinstance(value, dict):
        raise Unreadable("the payload is not a JSON object")
    return value


def _take(value: dict[str, Any], folder: str) -> HookPayload:
    roots = value.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else None
    cwd = next((one for one in (value.get("cwd"), root) if isinstance(one, str) and one), folder)
    called = value.get("tool_name")
    tool = called if isinstance(called, str) else ""
    cwd, odd = os.path.join(folder, cwd), None  # noqa: PTH118 - no path yet
    try:
        os.lstat(cwd)
    except ValueError:
        cwd, odd = folder, "the current folder can be no path"
    except OSError:  # it may be gone
        pass
    served = served_name(tool, value.get("mcp_context"))
    given = value.get("tool_input")
    found: list[tuple[str, Part]]
    try:
        found = list(itertools.islice(_named(given) if served is None else places_in(_parsed(given)), MANY + 1))
    except RecursionError:
        found = [("the arguments are nested too deep", "odd")]
    if len(found) > MANY:
        found.append((f"the arguments name more than {MANY} files", "odd"))
    paths, roots = _sorted(served, found, cwd)
    odd = next((text for text, part in found if part == "odd"), odd)
    kind = value.get("agent_type") or value.get("subagent_type")
    loops = value.get("loop_count")
    cut_off = value.get("status") in ("aborted", "error")
    return HookPayload(
        cwd=cwd,
        tool=tool,
        served=served,
        paths=tuple(dict.fromkeys(paths)),
        roots=tuple(dict.fromkeys(roots)),
        helper=kind if isinstance(kind, str) else None,
        again=value.get("stop_hook_active") is True or (isinstance(loops, int) and loops > 0) or cut_off,
        odd=odd,
    )


def _sorted(served: str | None, found: list[tuple[str, Part]], cwd: str) -> tuple[list[str], list[str]]:
    """Return the files, and the roots, that a server's tool is given.

    A source and a target are files if one exists or the tool's name says so: branches have them, too.
    """
    ends = [path for path, part in found if part == "end"]
    parts = {"file"}
    if ends and (not FILES.isdisjoint(words_of(served or "")) or any(_is_there(one, cwd) for one in ends)):
        parts.add("end")
    return [path for path, part in found if part in parts], [path for path, part in found if part == "root"]


def _is_there(path: str, cwd: str) -> bool:
    try:
        return os.path.lexists(os.path.join(cwd, path))  # noqa: PTH118
    except ValueError:  # it can be no path, and is not let through as none
        return True


def _named(given: Any) -> Iterator[tuple[str, Part]]:
    """Yield the files that one of the agent's own tools is given."""
    return ((path, "file") for path in _paths(given))


def _parsed(given: Any) -> Any:
    """Return arguments that may be JSON text, as Cursor sends those of MCP tools."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _paths(given: Any) -> Iterator[str]:
    """Yield the paths in a tool's input: in known fields, or in a patch."""
    if isinstance(given, str):
        if holds_patch(given):
            yield from patched(given)
            return
        given = _parsed(given)
    if not isinstance(given, dict):
        return
    for key in _KEYS:
        if isinstance(given.get(key), str) and given[key]:
            yield given[key]
    for key in _LISTS:
        for one in given[key] if isinstance(given.get(key), list) else ():
            yield from (one,) if isinstance(one, str) else _paths(one)
    for key in ("command", "input", "patch"):
        words = given.get(key)
        text = "\n".join(map(str, words)) if isinstance(words, list) else words
        if isinstance(text, str) and holds_patch(text):
            folder = given.get("workdir")
            base = folder if isinstance(folder, str) else ""
            yield from (os.path.join(base, name) for name in patched(text))  # noqa: PTH118 - as it is written
