"""Each agent's names and answer formats.

Sources: Claude Code's hooks reference (code.claude.com/docs/en/hooks); Codex's hooks page and its generated schemas
(developers.openai.com/codex/hooks, openai/codex codex-rs/hooks/schema/generated); Gemini CLI's docs/hooks/reference.md
and schemas/settings.schema.json; Cursor's hooks page (cursor.com/docs/hooks). All read an answer from stdout with exit
code 0, and take none for a yes. Run with Claude Code 2.1.197, Codex 0.171.0, Gemini CLI 0.61.0
(tests/agents/test_vendors.py).

A matcher of letters and bars alone is a list of whole names for Claude Code and Codex; any other character makes it an
unanchored expression, as it always is for Gemini CLI and Cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from git_taskctx.model.values import dataclass

Moment = Literal["session", "helper", "write", "stop", "helper-stop"]
"""When a hook is called: a session or sub-agent begins, a tool is about to write, either of the two stops."""

CUT = 9500
"""Characters of a brief: Claude Code and Codex cut at 10,000 anywhere."""


@dataclass(frozen=True)
class Dialect:
    """One agent's names and formats."""

    name: str
    title: str
    events: Mapping[Moment, str]
    """Its names of the moments that it knows."""
    writers: frozenset[str]
    """Its tools that change files."""
    matcher: str
    """Tools whose hook is called: writers, MCP tools, and Codex's shell, as Codex applies patches in commands."""
    context: Callable[[str, str], dict[str, Any]]
    """Gives the model a text as a session begins; takes the event's name and the text."""
    deny: Callable[[str, str], dict[str, Any]]
    """Denies a tool call."""
    go_on: Callable[[str, str], dict[str, Any]]
    """Makes an agent that wants to stop go on."""
    remark: Callable[[str, str], dict[str, Any]] | None
    """Allows a tool call with a remark; None where that is impossible."""


def _specific(event: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _permission(event: str, reason: str) -> dict[str, Any]:
    decided = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": decided}


def _block(_: str, reason: str) -> dict[str, Any]:
    return {"decision": "block", "reason": reason}


def _deny(_: str, reason: str) -> dict[str, Any]:
    return {"decision": "deny", "reason": reason}


_EVENTS: dict[Moment, str] = {
    "session": "SessionStart",
    "helper": "SubagentStart",
    "write": "PreToolUse",
    "stop": "Stop",
    "helper-stop": "SubagentStop",
}
DIALECTS: dict[str, Dialect] = {
    one.name: one
    for one in (
        Dialect(
            "claude",
            "Claude Code",
            _EVENTS,
            frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"}),
            "^(Edit|MultiEdit|NotebookEdit|Write|mcp__.*)$",
            _specific,
            _permission,
            _block,
            _specific,
        ),
        Dialect(
            "codex",
            "Codex",
            _EVENTS,
            frozenset({"apply_patch", "Bash", "Edit", "Write"}),
            "^(apply_patch|Bash|Edit|Write|mcp__.*)$",
            _specific,
            _permission,
            _block,
            _specific,
        ),
        Dialect(
            "gemini",
            "Gemini CLI",
            {"session": "SessionStart", "write": "BeforeTool", "stop": "AfterAgent"},
            frozenset({"replace", "write_file"}),
            "^(replace|write_file|mcp_.*)$",
            _specific,
            _deny,
            _deny,
            lambda _, text: {"systemMessage": text},
        ),
        Dialect(
            "cursor",
            "Cursor",
            {"session": "sessionStart", "write": "preToolUse", "stop": "stop", "helper-stop": "subagentStop"},
            frozenset({"Delete", "Edit", "EditNotebook", "MultiEdit", "StrReplace", "Write"}),
            "Delete|Edit|EditNotebook|MCP:.*|MultiEdit|StrReplace|Write",
            lambda _, text: {"additional_context": text},
            lambda _, reason: {"permission": "deny", "user_message": reason, "agent_message": reason},
            lambda _, reason: {"followup_message": reason},
            None,
        ),
    )
}
"""The agents, by their name on the command line."""


def find_moment(dialect: Dialect, event: str) -> Moment | None:
    """Return the moment of an event, in any spelling; None for other events."""
    wanted = event.replace("-", "").replace("_", "").lower()
    return next((moment for moment, name in dialect.events.items() if name.lower() == wanted), None)
