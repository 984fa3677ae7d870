"""Linters that print nothing when all is well."""

from __future__ import annotations

import re

from git_taskctx.model.qa import QaReport

SILENT = ("eslint", "tsc", "ruff")
_ECHO = re.compile(r"^(?:> .*|\$ .*|yarn run v[\d.]+|yarn v[\d.]+|Done in [\d.]+m?s\.?|✨ .*Done in [\d.]+s\.)$")
"""What package managers print around the command that they run."""


def find_silent(log: str, command: str | None) -> QaReport | None:
    """Return the report of a silent linter that ended with 0; None where something else was printed, or another ran.

    Which one it was is told by the command, or by the package manager's echo of it.
    """
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    if any(not _ECHO.match(line) for line in lines):
        return None
    for said in (*lines, command or ""):
        for word in re.split(r"[\s;&|]+", said):
            name = re.split(r"[/\\]", word)[-1].removesuffix(".cmd").removesuffix(".exe").removesuffix(".js")
            if name in SILENT:
                return QaReport(name, "passed", {"errors": 0}, note="it prints nothing when all is well")
    return None
