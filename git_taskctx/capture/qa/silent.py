"""Linters that print nothing, or an empty list, when all is well."""

from __future__ import annotations

import re

from git_taskctx.model.qa import QaReport

SILENT = ("eslint", "tsc", "ruff")
_EMPTY = "[]"
"""What ruff prints as JSON then; mypy prints an empty line."""
_ECHO = re.compile(r"^(?:> .*|\$ .*|yarn run v[\d.]+|yarn v[\d.]+|Done in [\d.]+m?s\.?|✨ .*Done in [\d.]+s\.)$")
"""What package managers print around the command that they run."""


def find_silent(log: str, command: str | None) -> QaReport | None:
    """Return the report of a silent linter that ended with 0; None where something else was printed, or another ran.

    Which one it was is told by the command, or by the package manager's echo of it.
    """
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    if any(line != _EMPTY and not _ECHO.match(line) for line in lines):
        return None
    known = ("ruff",) if _EMPTY in lines else (*SILENT, "mypy") if "json" in (command or "") else SILENT
    for said in (*lines, command or ""):
        for word in re.split(r"[\s;&|]+", said):
            name = re.split(r"[/\\]", word)[-1].removesuffix(".cmd").removesuffix(".exe").removesuffix(".js")
            if name in known:
                return QaReport(name, "passed", {"errors": 0}, note="it prints nothing when all is well")
    return None
