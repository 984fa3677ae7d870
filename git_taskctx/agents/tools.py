"""What an MCP server's tool does to files, judged by its name and arguments.

Servers say so to the agent (`readOnlyHint`), but no agent passes that to hooks. The first verb in a tool's name
decides; without a known one the tool is neither allowed as a reader nor denied as a writer. Nothing slow is imported
here.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

from git_taskctx.agents.here import LONGEST

TYPE_CHECKING = False  # typing itself would cost more than all that is done here
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["reads", "writes", "unknown"]
    Part = Literal["file", "end", "root", "odd"]
    """A path's meaning in a call: a file, a possible file, or a server's root.

    `odd` is the reason why not all is known.
    """

READS = frozenset({
    "analyze", "blame", "check", "compare", "count", "describe", "diff", "explain", "exists", "fetch", "find",
    "get", "glob", "grep", "has", "head", "help", "history", "inspect", "is", "list", "load", "log", "lookup", "ls",
    "ping", "preview", "query", "read", "recall", "resolve", "retrieve", "scan", "search", "select", "show",
    "stat", "status", "summarize", "tail", "think", "thinking", "tree", "validate", "verify", "view", "wait",
    "watch",
})  # fmt: skip
"""Verbs of read-only tools."""
WRITES = frozenset({
    "add", "append", "apply", "checkout", "clone", "commit", "copy", "create", "cut", "delete", "destroy", "download",
    "edit", "erase", "fix", "format", "generate", "init", "insert", "install", "link", "make", "merge", "mkdir",
    "modify", "move", "mv", "overwrite", "patch", "prepend", "purge", "put", "rebase", "remove", "rename",
    "replace", "reset", "restore", "rewrite", "rm", "save", "scaffold", "set", "stash", "store", "sync", "touch",
    "truncate", "undo", "update", "upsert", "write",
})  # fmt: skip
FILES = frozenset({
    "body", "buffer", "class", "code", "content", "definition", "dir", "directory", "document", "documents", "edit",
    "editor", "file", "files", "folder", "function", "line", "lines", "notebook", "patch", "symbol", "symbols",
    "text", "workspace",
})  # fmt: skip
"""Words in names of tools about files, whatever their arguments."""
_CHANGES_WHAT_WAS_FOUND = frozenset({"edit", "overwrite", "rename", "replace", "write"})
_THINGS = frozenset({"commit", "format", "link", "merge", "patch", "stash", "store"})
"""Writing verbs that are objects right behind a reading one (`get_commit`)."""
DEEPEST = 100
"""Levels of a tool's arguments that are examined."""
_WORD = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"
_NAMES_A_FILE = frozenset({
    "dir", "directory", "file", "filename", "filepath", "files", "folder", "notebook", "path", "paths",
})  # fmt: skip
_NAMES_A_DIFF = frozenset({"command", "diff", "diffs", "input", "patch", "patches"})
_NAMES_AN_END = frozenset({"destination", "dest", "dst", "source", "src", "target", "uri"})
"""Arguments of moves between files or anything else."""
_NAMES_A_ROOT = frozenset({
    "base", "cwd", "project", "repo", "repository", "root", "workdir", "worktree", "working", "workspace",
})  # fmt: skip
_PATCHED = r"(?m)^[^\S\n]*\*\*\*\s(?:(?:Add|Update|Delete)\sFile|Move\sto):[^\S\n]*(.+?)[^\S\n]*$"
"""Headers of a Codex patch, with any Unicode white space (codex-rs/apply-patch/src/parser.rs)."""
_PATCH = r"\*\*\*\sBegin\sPatch"
_MOVED = r"(?m)^\s*cd\s+(['\"]?)([^\n'\"]+?)\1\s*&&"
_BEGINS_A_DIFF = r"\s*(?:diff --git |--- \S|\*\*\*\s)"
_DIFFED = r"(?m)^(?:---|\+\+\+) (?:[ab]/)?([^\t\r\n]+)"
_FILE_ADDRESS = r"(?i)file:(?=/)(?://(?:localhost(?=/))?)?"
_ESCAPED = rb"%([0-9A-Fa-f]{2})"


def served_name(tool: str, context: Any) -> str | None:
    """Return an MCP server's own tool name; None for a tool of the agent.

    Claude Code and Codex say `mcp__server__tool`, Cursor `MCP:tool`, Gemini CLI `mcp_server_tool`, with the tool's name
    beside it.
    """
    if tool.startswith("MCP:"):
        return tool[4:]
    if tool.startswith("mcp__"):
        return tool[5:].partition("__")[2] or tool[5:]
    if tool.startswith("mcp_"):
        named = context.get("tool_name") if isinstance(context, dict) else None
        return named if isinstance(named, str) and named else tool[4:]
    return None


def kind_of(name: str) -> Kind:
    """Return what a server's tool does, by its first verb, unless a writing one follows (`search_and_replace`).

    If it first reads and may write after that, it is unknown.
    """
    words = words_of(name)
    verbs = [word for word in words if word in READS or word in WRITES]
    if not verbs:
        return "unknown"
    pairs = list(itertools.pairwise(words))
    goes_on = any(
        (word in WRITES and before in ("and", "or", "then")) or (word in _CHANGES_WHAT_WAS_FOUND and before in READS)
        for before, word in pairs
    )
    if verbs[0] in WRITES or goes_on:
        return "writes"
    may_write = any(
        (word in WRITES and not (word in _THINGS and before in READS))
        or (before in ("to", "into") and (word in FILES or word == "disk"))
        or (before, word) == ("check", "out")
        for before, word in pairs
    )
    return "unknown" if may_write else "reads"


def words_of(name: str) -> list[str]:
    """Split a name in any style into words."""
    return [word.lower() for word in re.findall(_WORD, name)]


def holds_patch(text: str) -> bool:
    """Return whether a text contains a Codex patch."""
    return re.search(_PATCH, text) is not None


def patched(patch: str) -> Iterator[str]:
    """Yield the files that a Codex patch names; a command may apply it from elsewhere."""
    begins = re.search(_PATCH, patch)
    moved = re.search(_MOVED, patch[: begins.start() if begins else 0])
    return (os.path.join(moved[2], match[1]) if moved else match[1] for match in re.finditer(_PATCHED, patch))  # noqa: PTH118


def places_in(given: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Part]]:
    """Yield the paths, or possible paths, in a tool's arguments.

    A value is a path by its key, or by its form: from the root, from here or from home, a `file:` address, or a file of
    a patch.
    """
    if isinstance(given, dict | list) and depth == DEEPEST:
        yield f"the arguments are nested more than {DEEPEST} deep", "odd"
    elif isinstance(given, dict):
        for inner, value in given.items():
            if ("/" in inner or "." in inner) and not _NAMES_A_FILE.isdisjoint(words_of(key)):
                yield inner, "file"
            yield from places_in(value, inner if words_of(inner) else key, depth + 1)
    elif isinstance(given, list):
        for value in given:
            yield from places_in(value, key, depth + 1)
    elif isinstance(given, str) and "\n" in given:
        if not re.match(_BEGINS_A_DIFF, given) and _NAMES_A_DIFF.isdisjoint(words_of(key)):
            return  # text that quotes a diff, as a comment may
        yield from ((name, "file") for name in patched(given))
        yield from ((match[1], "file") for match in re.finditer(_DIFFED, given) if match[1] != "/dev/null")
    elif isinstance(given, str) and given:
        part = _part_of(words_of(key))
        path = _path_of(given, named=part is not None)
        if path is not None:
            yield path, "file" if part is None or (part == "end" and _is_plain_path(given)) else part


def _part_of(words: list[str]) -> Part | None:
    """Return what a key's value is; `projectPath` is a root, and `pathInProject` is not."""
    if not _NAMES_A_ROOT.isdisjoint(words) and "in" not in words:
        return "root"
    if not _NAMES_A_FILE.isdisjoint(words):
        return "file"
    return "end" if not _NAMES_AN_END.isdisjoint(words) else None


def _path_of(text: str, *, named: bool) -> str | None:
    address = re.match(_FILE_ADDRESS, text)
    if address:
        raw = os.fsencode(text[address.end() :])
        return os.fsdecode(re.sub(_ESCAPED, lambda match: bytes([int(match[1], 16)]), raw))
    if "://" in text:
        return None
    if text.startswith("~/"):
        return os.path.expanduser(text)  # noqa: PTH111 - no pathlib here
    if named:
        return text
    # what is too long for a path, and is none by its key, is data: that of a picture may begin with a slash
    short = len(text) <= LONGEST or len(os.path.normpath(text)) <= LONGEST
    return text if _is_plain_path(text) and short and len(text.split()) == 1 else None


def _is_plain_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~/")) or re.match(_FILE_ADDRESS, text) is not None
