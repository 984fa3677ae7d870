"""What coding agents print as a stream of JSON lines: the last words, the session, tokens, cost, and a quota.

Claude Code (`--output-format stream-json`), Codex (`exec --json`) and Gemini CLI (`--output-format stream-json`) are
told apart by the lines themselves, so that a wrapper changes nothing. Any other line is shown as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from git_taskctx.limits import STREAM_LINE
from git_taskctx.model.payloads import AgentUsage

SHOWN = 200
"""Characters of the last words that are shown."""
_QUOTA = re.compile(r"usage limit|rate limit|quota|429|resource.?exhausted", re.IGNORECASE)
_RESET = re.compile(r"\|(\d{10})\b")


class StreamReader:
    """Reads what a process prints, piece by piece."""

    def __init__(self) -> None:
        self.last = ""
        """The last words, on one line."""
        self.session: str | None = None
        self.quota: str | None = None
        """What the vendor said of a quota that is used up, with the time of its reset where that was said."""
        self._usd: Decimal | None = None
        self._input = self._output = 0
        self._open, self._is_long = "", False

    @property
    def usage(self) -> AgentUsage | None:
        """What was used so far; None where nothing was said of it."""
        if self._usd is None and not (self._input or self._output):
            return None
        usd = None if self._usd is None else format(self._usd.normalize(), "f")
        return AgentUsage(usd, self._input or None, self._output or None)

    def feed(self, text: str) -> None:
        """Read a piece of output."""
        *lines, rest = text.split("\n")
        for line in lines:
            if not self._is_long:
                self._line(self._open + line)
            self._open, self._is_long = "", False
        self._is_long = self._is_long or len(self._open) + len(rest) > STREAM_LINE
        self._open = "" if self._is_long else self._open + rest

    def close(self) -> None:
        """Read a last line without its end."""
        self.feed("\n")

    def _line(self, line: str) -> None:
        if not line.strip() or len(line) > STREAM_LINE:
            return
        value = None
        if line.lstrip().startswith("{"):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
        if not isinstance(value, dict):
            self._show(line)
            return
        read = _READERS.get(str(value.get("type")))
        if read is not None:
            read(self, value)

    def _show(self, text: object) -> None:
        words = " ".join(_whole(str(text)).split())
        if words:
            self.last = words[-SHOWN:]

    def _count(self, usage: object) -> None:
        """Add up tokens; what came from a cache counts as read."""
        if not isinstance(usage, dict):
            return
        read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        self._input += sum(_number(usage.get(name)) for name in read)
        self._output += _number(usage.get("output_tokens"))

    def _hit_quota(self, text: str, reset: object = None) -> None:
        found = _RESET.search(text)
        at = reset if isinstance(reset, int) else int(found[1]) if found else None
        words = " ".join(_whole(_RESET.sub("", text)).split())[:SHOWN]
        until = f", until {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC" if at and 0 < at < 2**33 else ""
        self.quota = f"{words}{until}"

    # Claude Code, and Gemini CLI where a type is in both

    def _init(self, value: Mapping[str, Any]) -> None:
        self.session = _text(value.get("session_id")) or self.session

    def _assistant(self, value: Mapping[str, Any]) -> None:
        message = value.get("message")
        for part in (message.get("content") if isinstance(message, dict) else None) or ():
            if isinstance(part, dict) and part.get("type") == "text":
                self._show(part.get("text"))

    def _rate_limit(self, value: Mapping[str, Any]) -> None:
        info = value.get("rate_limit_info")
        if isinstance(info, dict) and info.get("status") == "rejected":
            self._hit_quota("rate limit reached", info.get("resetsAt"))

    def _result(self, value: Mapping[str, Any]) -> None:
        self._init(value)
        self._count(value.get("usage") or value.get("stats"))
        cost = value.get("total_cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 10**6:
            self._usd = Decimal(str(cost))
        text = value.get("result") or _message(value.get("error"))
        self._show(text or "")
        if (value.get("is_error") or value.get("status") == "error") and text and _QUOTA.search(str(text)):
            self._hit_quota(str(text))

    def _message(self, value: Mapping[str, Any]) -> None:
        if value.get("role") == "assistant":
            self._show(f"{self.last} {value.get('content')}" if value.get("delta") else value.get("content"))

    # Codex

    def _thread(self, value: Mapping[str, Any]) -> None:
        self.session = _text(value.get("thread_id")) or self.session

    def _item(self, value: Mapping[str, Any]) -> None:
        item = value.get("item")
        if isinstance(item, dict) and item.get("type") == "agent_message":
            self._show(item.get("text"))

    def _turn(self, value: Mapping[str, Any]) -> None:
        usage = value.get("usage")  # cached tokens are among its input tokens
        if isinstance(usage, dict):
            self._input += _number(usage.get("input_tokens"))
            self._output += _number(usage.get("output_tokens"))

    def _error(self, value: Mapping[str, Any]) -> None:
        text = _message(value.get("error")) or _message(value)
        self._show(text)
        if _QUOTA.search(text):
            self._hit_quota(text)


_READERS = {
    "system": StreamReader._init,
    "init": StreamReader._init,
    "assistant": StreamReader._assistant,
    "rate_limit_event": StreamReader._rate_limit,
    "result": StreamReader._result,
    "message": StreamReader._message,
    "thread.started": StreamReader._thread,
    "item.completed": StreamReader._item,
    "turn.completed": StreamReader._turn,
    "turn.failed": StreamReader._error,
    "error": StreamReader._error,
}


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _text(value: object) -> str | None:
    return _whole(value)[:200] if isinstance(value, str) and value.strip() else None


def _whole(text: str) -> str:
    """Return a text that can be written as UTF-8; JSON may name half a character."""
    return text.encode("utf-8", "replace").decode()


def _message(value: object) -> str:
    found = value.get("message") if isinstance(value, dict) else value
    return found if isinstance(found, str) else ""
