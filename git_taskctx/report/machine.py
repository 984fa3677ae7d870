"""`--format json`: one document, `{success, data, error}`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from git_taskctx.errors import TaskctxError
from git_taskctx.model.codec import to_plain


def render_json(data: Any, *, error: Mapping[str, Any] | None = None) -> str:
    """Return the document for what a verb gave; `error` is set when the answer is not yes."""
    document = {"success": error is None, "data": to_plain(data), "error": error}
    return _escaped(json.dumps(document, ensure_ascii=False, indent=2)) + "\n"


def render_lines(documents: Sequence[Mapping[str, Any]]) -> bytes:
    """Return documents as JSON lines: compact, keys in the order given."""
    lines = (json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in documents)
    return "".join(f"{_escaped(line)}\n" for line in lines).encode("utf-8")


def _escaped(text: str) -> str:
    """Return JSON without characters that a terminal may obey."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def render_json_error(error: TaskctxError) -> str:
    """Return the document for an error."""
    return render_json(None, error=error_object(error.code, error.message, error.hint, error.paths))


def error_object(code: str, message: str, hint: str | None, paths: tuple[str, ...]) -> dict[str, Any]:
    """Return the `error` part."""
    return {"code": code, "message": message, "hint": hint, "paths": list(paths)}
