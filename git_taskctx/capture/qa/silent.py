"""Linters that print nothing, or an empty list, on success."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.model.qa import QaReport

SILENT = ("eslint", "tsc", "ruff", "flake8")
_EMPTY = "[]"
"""ruff's empty JSON; mypy prints an empty line."""
_ECHO = re.compile(r"^(?:[>$] (?P<line>.*)|yarn run v[\d.]+|yarn v[\d.]+|Done in [\d.]+m?s\.?|✨ .*Done in [\d.]+s\.)$")
"""A package manager's echo of its command."""
_TURNED = re.compile(r"[0-9]?>&[0-9]|&?>>?")
"""Redirections, which keep the exit code."""
_OTHER_CODE = re.compile(r"[;|&`\n]|\$\(")
"""With these in a line the exit code may be another command's; `&&` is removed first."""
_RUNNERS = frozenset({
    "npx", "pnpx", "bunx", "uvx", "npm", "pnpm", "yarn", "bun", "uv", "poetry", "pipenv", "pdm", "hatch", "exec", "run",
    "dlx", "x", "node", "python", "python3", "-m", "--", "-y", "--yes", "--no-install", "env", "time", "command",
})  # fmt: skip
"""Words before the name of the program that is run."""
_CHECKS_NOTHING = frozenset({
    "-h", "--help", "-v", "-V", "--version", "--init", "--print-config", "--env-info", "--showConfig",
    "--show-settings", "-e", "--exit-zero", "rule", "config", "linter", "clean", "format", "server", "version", "help",
    "analyze",
})  # fmt: skip


def find_silent(log: str, command: str | None) -> QaReport | None:
    """Return the report of a silent linter that exited with 0, if it is one.

    The command, or the package manager's echo, names it. The exit code counts only if the line runs the linter and
    nothing in it could hide a failure.
    """
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    echoes = [_ECHO.match(line) for line in lines if line != _EMPTY]
    if None in echoes:
        return None
    known = ("ruff",) if _EMPTY in lines else (*SILENT, "mypy") if "json" in (command or "") else SILENT
    said = [command or "", *(echo["line"] or "" for echo in echoes if echo)]
    if any(_OTHER_CODE.search(_TURNED.sub(" ", line.replace("&&", " "))) for line in said):
        return None
    for name, words in (run for line in said for part in line.split("&&") for run in _program(part)):
        if name in known and _CHECKS_NOTHING.isdisjoint(words):
            return QaReport(name, "passed", {"errors": 0}, note="it prints nothing when all is well")
    return None


def _program(part: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the program that a command runs, and its arguments."""
    words = part.split()
    while words and (words[0] in _RUNNERS or re.match(r"[A-Za-z_]\w*=", words[0])):
        del words[0]
    if words:
        name = re.split(r"[/\\]", words[0])[-1]
        yield name.removesuffix(".cmd").removesuffix(".exe").removesuffix(".js"), words[1:]
