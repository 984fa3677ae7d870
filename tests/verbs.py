"""The command line as it is: what the manual page and the completions are held to."""

from __future__ import annotations

from typing import Any

import typer.main

from git_taskctx.cli.app import app

COMMON = ("--task", "--context", "--format", "--actor", "--force-secrets", "--deep", "-h", "--help")
"""Options that are told once for all verbs."""
_ROOT: Any = typer.main.get_command(app)


def _options(command: Any) -> list[str]:
    found = [name for one in command.params if one.param_type_name == "option" for name in one.opts]
    return [*found, "-h", "--help"]


ROOT_OPTIONS: list[str] = _options(_ROOT)
"""What may stand before the verb."""
OPTIONS: dict[str, list[str]] = {name: _options(command) for name, command in _ROOT.commands.items()}
"""Every verb, with all its options."""
OWN: dict[str, set[str]] = {name: set(options) - set(COMMON) for name, options in OPTIONS.items()}
"""Every verb, with the options that are its own."""
CHOICES: dict[tuple[str, str], list[str]] = {
    (name, one.opts[0]): list(one.type.choices)
    for name, command in _ROOT.commands.items()
    for one in command.params
    if getattr(one.type, "choices", None)
}
"""The values that an option or argument of a verb may have, where they are fixed."""
FLAGS: set[str] = {
    name
    for command in [_ROOT, *_ROOT.commands.values()]
    for one in command.params
    if getattr(one, "is_flag", False)
    for name in one.opts
} | {"-h", "--help"}
"""Options without a value."""
