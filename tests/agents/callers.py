"""The agents as they call their hooks: payloads in the shapes that each of them sends, and the forms it reads.

The shapes are what Claude Code 2.1.197, Codex 0.171.0 and Gemini CLI 0.61.0 sent when they were run
(test_vendors.py does it again), and what Cursor's page said in November 2026: its program comes from no registry. The
forms are the vendors', said in JSON Schema: Codex's generated schemas (codex-rs/hooks/schema/generated, and in its
program), the checks in Claude Code's program, the tables of Gemini CLI's and Cursor's references.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import jsonschema
from desk import Desk, Said, plain

SPECIFIC = {
    "PreToolUse": {
        "permissionDecision": {"enum": ["allow", "deny", "ask"]},
        "permissionDecisionReason": {"type": "string", "pattern": r"\S"},
    },
    "SessionStart": {"additionalContext": {"type": "string"}},
    "SubagentStart": {"additionalContext": {"type": "string"}},
}


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(required)}


def _specific(event: str) -> dict[str, Any]:
    fields = {"hookEventName": {"const": event}, **SPECIFIC[event]}
    return _closed({"hookSpecificOutput": _closed(fields, *fields)}, "hookSpecificOutput")


_TEXT = {"type": "string", "pattern": r"\S"}
_BLOCK = _closed({"decision": {"const": "block"}, "reason": _TEXT}, "decision", "reason")
_DENY = _closed({"decision": {"enum": ["deny", "block"]}, "reason": _TEXT}, "decision", "reason")
_REMARK = _closed(
    {"hookSpecificOutput": _closed({"hookEventName": {"const": "PreToolUse"}, "additionalContext": _TEXT})},
    "hookSpecificOutput",
)
_CLAUDE = {**{event: _specific(event) for event in SPECIFIC}, "Stop": _BLOCK, "SubagentStop": _BLOCK}
_CLAUDE["PreToolUse"] = {"oneOf": [_CLAUDE["PreToolUse"], _REMARK]}
FORMS: dict[str, dict[str, dict[str, Any]]] = {
    "claude": _CLAUDE,
    "codex": _CLAUDE,
    "gemini": {
        "SessionStart": _specific("SessionStart"),
        "BeforeTool": {"oneOf": [_DENY, _closed({"systemMessage": _TEXT}, "systemMessage")]},
        "AfterAgent": _DENY,
    },
    "cursor": {
        "sessionStart": _closed({"additional_context": _TEXT, "env": {"type": "object"}}, "additional_context"),
        "preToolUse": _closed(
            {"permission": {"enum": ["allow", "deny"]}, "user_message": _TEXT, "agent_message": _TEXT}, "permission"
        ),
        "stop": _closed({"followup_message": _TEXT}, "followup_message"),
        "subagentStop": _closed({"followup_message": _TEXT}, "followup_message"),
    },
}
"""For each agent and event, what an answer may look like."""
_COMMAND = {"type": {"const": "command"}, "command": _TEXT, "timeout": {"type": "integer", "minimum": 1}}


def _configured(handler: dict[str, Any]) -> dict[str, Any]:
    group = _closed(
        {"matcher": {"type": "string"}, "hooks": {"type": "array", "items": handler, "minItems": 1}}, "hooks"
    )
    return _closed({"hooks": _lists_of(group)}, "hooks")


def _lists_of(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "items": entry}}


_HANDLER = _closed(_COMMAND, "type", "command")
_LIMIT = {"type": ["integer", "null"]}
CONFIGURED = {
    "claude": _configured(_HANDLER),
    "codex": _configured(_HANDLER),
    "gemini": _configured(_closed({**_COMMAND, "name": _TEXT}, "type", "command")),
    "cursor": _closed(
        {
            "version": {"const": 1},
            "hooks": _lists_of(
                _closed(
                    {"command": _TEXT, "matcher": _TEXT, "timeout": _COMMAND["timeout"], "loop_limit": _LIMIT},
                    "command",
                )
            ),
        },
        "version",
        "hooks",
    ),
}
"""For each agent, what a configuration of hooks may look like: SchemaStore's claude-code-settings.json and
codex-hooks.json, Gemini CLI's settings.schema.json, and Cursor's page."""
EVENTS: dict[str, dict[str, str]] = {
    "claude": {"begin": "SessionStart", "write": "PreToolUse", "stop": "Stop"},
    "codex": {"begin": "SessionStart", "write": "PreToolUse", "stop": "Stop"},
    "gemini": {"begin": "SessionStart", "write": "BeforeTool", "stop": "AfterAgent"},
    "cursor": {"begin": "sessionStart", "write": "preToolUse", "stop": "stop"},
}
AGENTS = tuple(EVENTS)


class Hooked(Desk):
    """A worktree in which agents call their hooks."""

    def begin(self, *args: str) -> None:  # type: ignore[override]
        """Begin a task whose scope is `src` and `docs/*.md`."""
        self.repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
        self.repo.commit("task")
        self.ok("init", "TASK-1", *args)

    def begin_process(self, *args: str) -> subprocess.Popen[bytes]:
        """Start a verb in a process of its own."""
        return super().begin(*args)

    def payload(self, agent: str, event: str, **more: Any) -> dict[str, Any]:
        """Return what an agent sends whatever happens."""
        cwd = str(self.repo.path)
        common: dict[str, Any] = {
            "claude": {
                "session_id": "s1", "transcript_path": "/t.jsonl", "cwd": cwd, "prompt_id": "p1",
                "permission_mode": "acceptEdits", "effort": {"level": "high"},
            },
            "codex": {
                "session_id": "s1", "turn_id": "t1", "transcript_path": "/t.jsonl", "cwd": cwd, "model": "m",
                "permission_mode": "bypassPermissions",
            },
            "gemini": {
                "session_id": "s1", "transcript_path": "/t", "cwd": cwd, "timestamp": "2026-01-01T00:00:00.000Z"
            },
            "cursor": {
                "conversation_id": "c1", "generation_id": "g1", "model": "m", "cursor_version": "3.1.0",
                "workspace_roots": [cwd], "user_email": None, "transcript_path": None,
            },
        }[agent]  # fmt: skip
        return {**common, "hook_event_name": event, **more}

    def write_payload(self, agent: str, *paths: str) -> dict[str, Any]:
        """Return what an agent sends before its tool writes files; only Codex's writes more than one."""
        patch = "".join(f"*** Update File: {path}\n@@\n-old\n+new\n" for path in paths)
        tool: dict[str, Any] = {
            "claude": {"tool_name": "Write", "tool_input": {"file_path": paths[0], "content": "x"}},
            "codex": {
                "tool_name": "apply_patch",
                "tool_input": {"command": f"*** Begin Patch\n{patch}*** End Patch\n"},
            },
            "gemini": {"tool_name": "write_file", "tool_input": {"file_path": paths[0], "content": "x"}},
            "cursor": {"tool_name": "Write", "tool_input": {"file_path": paths[0], "content": "x"}},
        }[agent]
        return self.payload(agent, EVENTS[agent]["write"], tool_use_id="u1", **tool)

    def call(self, agent: str, event: str, payload: Any, *options: str, err: str = "") -> Any:
        """Call a hook; return its answer, which is in the form that the agent reads, or None for silence."""
        said = self.hook(agent, event, payload, *options)
        assert said.err == err
        if said.out == "":
            return None
        answer = json.loads(said.out)
        jsonschema.validate(answer, FORMS[agent][event])
        return answer

    def hook(self, agent: str, event: str, payload: Any, *options: str) -> Said:
        """Call a hook and return all that it left; it ends with 0 whatever happens."""
        text = payload if isinstance(payload, str) else json.dumps(payload)
        return self.ends(0, "agent-hook", event, "--agent", agent, *options, stdin=text)

    def denied(self, agent: str, *paths: str, options: tuple[str, ...] = ()) -> str | None:
        """Return why a write is denied; None where it is not."""
        answer = self.call(agent, EVENTS[agent]["write"], self.write_payload(agent, *paths), *options)
        return plain(reason_in(answer)) if answer is not None else None

    def kept(self, agent: str, *options: str, **more: Any) -> str | None:
        """Return why an agent may not stop; None where it may."""
        event = EVENTS[agent]["stop"]
        first: dict[str, Any] = {
            "claude": {"last_assistant_message": "done", "background_tasks": [], "session_crons": []},
            "codex": {"last_assistant_message": "done"},
            "gemini": {"prompt": "go", "prompt_response": "done"},
            "cursor": {"status": "completed", "loop_count": 0},
        }[agent]
        first |= {"stop_hook_active": False} if agent != "cursor" else {}
        answer = self.call(agent, event, self.payload(agent, event, **{**first, **more}), *options)
        return plain(reason_in(answer)) if answer is not None else None


def reason_in(answer: dict[str, Any]) -> str:
    """Return the one text in an answer, wherever the agent wants it."""
    inner = answer.get("hookSpecificOutput", answer)
    keys = ("permissionDecisionReason", "reason", "agent_message", "followup_message", "additionalContext")
    found = [inner[key] for key in (*keys, "additional_context", "systemMessage") if key in inner]
    assert len(found) == 1
    return str(found[0])


TASK_FILE = """\
title: Mend the parser
status: in_progress
description: It is broken.
acceptance_criteria: [It is not.]
scope:
  in: ["src/", "docs/*.md", "tasks/"]
"""
