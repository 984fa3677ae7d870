"""The file in which an agent may answer: read once its process has ended, and believed in nothing but its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from git_taskctx.context.caller import TEXT_LIMIT
from git_taskctx.errors import TaskctxError
from git_taskctx.files import read_plain
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.canonical import load_object
from git_taskctx.model.payloads import AgentUsage
from git_taskctx.model.values import dataclass, field
from git_taskctx.runner import BadResponse, CommandFailed, freeze
from git_taskctx.runner.frozen import hash_json
from git_taskctx.runner.schema import violations_in

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "data": {
            "type": "object",
            "properties": {
                "findings": {
                    "type": "array",
                    "maxItems": 50,
                    "items": {"type": "string", "pattern": r"\S", "maxLength": TEXT_LIMIT},
                }
            },
        },
        "flags": {"type": "object", "properties": {"approve": {"type": "boolean"}}},
        "logs": {"type": "array", "items": {"type": "string"}},
        "session": {"type": "string", "minLength": 1, "maxLength": 200},
        "usage": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "usd": {"type": "number", "minimum": 0, "maximum": 1_000_000},
                "input_tokens": {"type": "integer", "minimum": 0},
                "output_tokens": {"type": "integer", "minimum": 0},
            },
        },
    },
}


@dataclass(frozen=True)
class AgentAnswer:
    """What an agent answered."""

    given: bool = False
    """False where there is no file."""
    data: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    logs: Sequence[str] = ()
    session: str | None = None
    usage: AgentUsage | None = None

    @property
    def findings(self) -> tuple[str, ...]:
        """What blocks, each once."""
        return tuple(dict.fromkeys(text.strip() for text in self.data.get("findings", ())))

    def require_yes(self, stage: str) -> None:
        """Raise CommandFailed where the agent says no: with findings, or with `approve` false."""
        if self.findings:
            found = self.findings
            raise CommandFailed(f"{stage} has findings: {'; '.join(found)}", hash_json([stage, sorted(found)]))
        if self.flags.get("approve") is False:
            raise CommandFailed(f"{stage} does not approve", hash_json([stage, "no"]))


def read_answer(path: Path, stage: str) -> AgentAnswer:
    """Read the answer; one without anything in it where there is no file.

    Raises: BadResponse for a link, an odd file, one that is too large, and for what is not JSON or breaks the schema.
    """
    try:
        data = read_plain(path, limit=TEXT_FILE)
        value = load_object(data, what=path.name) if data is not None else None
    except TaskctxError as error:
        raise BadResponse(f"the answer of {stage} cannot be read: {error.message}", [error.message]) from error
    if value is None:
        return AgentAnswer()
    frozen = freeze(value, "the answer")
    wrong = list(violations_in(frozen, SCHEMA, "answer"))
    for part in ("data", "flags"):
        names = frozen.get(part, {}) if isinstance(frozen.get(part, {}), dict) else ()
        wrong += [
            f"answer.{part}: the key {name!r} has a dot, or is empty" for name in names if not name or "." in name
        ]
    if wrong:
        raise BadResponse(f"the answer of {stage} is wrong: {'; '.join(wrong)}", wrong)
    usage = frozen.get("usage")
    return AgentAnswer(
        True,
        frozen.get("data", {}),
        frozen.get("flags", {}),
        frozen.get("logs", ()),
        frozen.get("session"),
        None if usage is None else _usage(usage),
    )


def _usage(usage: Mapping[str, Any]) -> AgentUsage:
    usd = usage.get("usd")
    shown = None if usd is None else f"{usd:.6f}".rstrip("0").rstrip(".")
    return AgentUsage(shown, usage.get("input_tokens"), usage.get("output_tokens"))
