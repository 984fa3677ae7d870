"""What coding agents print: each vendor's lines as its program writes them, and anything else as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_taskctx.limits import STREAM_LINE
from git_taskctx.model.payloads import AgentUsage
from git_taskctx.pipeline.streams import StreamReader

CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "5e1f", "model": "claude-sonnet-4-5", "tools": []},
    {
        "type": "assistant",
        "session_id": "5e1f",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "I add\na test."}, {"type": "tool_use", "name": "Edit", "input": {}}],
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 2041,
        "num_turns": 2,
        "result": "Done.",
        "session_id": "5e1f",
        "total_cost_usd": 0.0142,
        "usage": {
            "input_tokens": 9,
            "cache_creation_input_tokens": 100,
            "cache_read_input_tokens": 1000,
            "output_tokens": 55,
        },
    },
]
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "0199a213"},
    {"type": "turn.started"},
    {
        "type": "item.started",
        "item": {"id": "item_1", "type": "command_execution", "command": "ls", "status": "in_progress"},
    },
    {"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": "Repo looks fine."}},
    {"type": "turn.completed", "usage": {"input_tokens": 24763, "cached_input_tokens": 24448, "output_tokens": 122}},
]
GEMINI: list[dict[str, Any]] = [
    {"type": "init", "timestamp": "2025-10-10T12:00:00.000Z", "session_id": "abc123", "model": "gemini-2.5-pro"},
    {"type": "message", "role": "user", "content": "List files", "timestamp": "2025-10-10T12:00:00.000Z"},
    {"type": "tool_use", "tool_name": "Bash", "tool_id": "bash-123", "parameters": {"command": "ls -la"}},
    {"type": "message", "role": "assistant", "content": "Here are", "delta": True},
    {"type": "message", "role": "assistant", "content": "the files", "delta": True},
    {
        "type": "result",
        "status": "success",
        "stats": {"total_tokens": 250, "input_tokens": 50, "output_tokens": 200, "duration_ms": 3000, "tool_calls": 1},
    },
]


def heard(lines: list[dict[str, Any]], size: int = 7) -> StreamReader:
    """Let a reader hear lines in small pieces."""
    text, reader = "".join(json.dumps(line) + "\n" for line in lines), StreamReader()
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reader.close()
    return reader


@pytest.mark.parametrize(
    ("lines", "session", "usage", "last"),
    [
        (CLAUDE, "5e1f", AgentUsage("0.0142", 1109, 55), "Done."),
        (CODEX, "0199a213", AgentUsage(None, 24763, 122), "Repo looks fine."),
        (GEMINI, "abc123", AgentUsage(None, 50, 200), "Here are the files"),
    ],
    ids=["claude", "codex", "gemini"],
)
def test_each_vendor(lines: list[dict[str, Any]], session: str, usage: AgentUsage, last: str) -> None:
    """Session, usage and last words; no quota where none is told."""
    reader = heard(lines)
    assert (reader.session, reader.usage, reader.last, reader.quota) == (session, usage, last, None)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            {"type": "result", "is_error": True, "result": "Claude AI usage limit reached|1767225600"},
            "Claude AI usage limit reached, until 2026-01-01 00:00 UTC",
        ),
        (
            {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1767225600}},
            "rate limit reached, until 2026-01-01 00:00 UTC",
        ),
        ({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}}, None),
        (
            {"type": "turn.failed", "error": {"message": "You've hit your usage limit. Try again at 3:05 PM."}},
            "You've hit your usage limit. Try again at 3:05 PM.",
        ),
        ({"type": "error", "message": "RESOURCE_EXHAUSTED: quota exceeded"}, "RESOURCE_EXHAUSTED: quota exceeded"),
        ({"type": "error", "message": "no such file"}, None),
        ({"type": "result", "is_error": False, "result": "I raised the rate limit"}, None),
    ],
)
def test_quotas(line: dict[str, Any], told: str | None) -> None:
    """What a vendor says when there is no more, with the time of the reset; mere talk of limits is none."""
    assert heard([line]).quota == told


@pytest.mark.parametrize(
    "line", ["plain words", "[1, 2]", '{"type": 3}', '{"type": "result", "usage": [1]}', "{" * 5000]
)
def test_odd_lines_break_nothing(line: str) -> None:
    """Whatever a program prints, the reader goes on to the next line."""
    reader = StreamReader()
    reader.feed(f"{line}\nlast words\n")
    assert (reader.last, reader.usage) == ("last words", None)


def test_half_a_character_is_no_text() -> None:
    """What is told of a session and of the last words can be written as UTF-8."""
    reader = heard(
        [{"type": "system", "subtype": "init", "session_id": "a\ud800"}, {"type": "error", "message": "b\udfff"}]
    )
    assert (reader.session, reader.last) == ("a?", "b?")


def test_a_line_without_an_end_is_not_held() -> None:
    """However long a line is, no more than its limit is kept."""
    reader = StreamReader()
    for _ in range(8):
        reader.feed("x" * (STREAM_LINE // 2))
    assert len(reader._open) <= STREAM_LINE
    reader.feed("\nshort\n")
    assert reader.last == "short"
