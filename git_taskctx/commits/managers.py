"""Hook managers: where each is configured, and whether a commit here would have met our gate."""

from __future__ import annotations

import os
from pathlib import Path

from git_taskctx.errors import Fatal
from git_taskctx.files import read_plain
from git_taskctx.git.repository import Repository
from git_taskctx.limits import TEXT_FILE

LEFTHOOK = tuple(
    f"{folder}{dot}lefthook{local}.{kind}"
    for folder, dots in (("", ("", ".")), (".config/", ("",)))
    for dot in dots
    for local in ("", "-local")
    for kind in ("yml", "yaml", "toml", "json", "jsonc")
)
"""lefthook's configuration files."""
PRE_COMMIT = (".pre-commit-config.yaml", "prek.toml")
"""Those of pre-commit and prek."""
_TOLD = (".husky/pre-commit", *PRE_COMMIT, *LEFTHOOK)
_OURS = b"taskctx"


def is_gated(repository: Repository) -> bool:
    """Return whether a hook of ours would have been run before a commit here."""
    if any(_OURS.decode() in (value or "") for key, value in repository.core.items() if key.startswith("hook.")):
        return True
    named = [value for key, value, _ in repository.settings if key == "core.hookspath"][:-1]  # the last is our own
    folder = repository.common_dir / "hooks"
    if named and named[-1]:
        folder = repository.toplevel / os.path.expanduser(named[-1])  # noqa: PTH111 - a `~` without a home is a name
    places = [folder / "pre-commit", folder / "pre-commit.legacy", *(repository.toplevel / name for name in _TOLD)]
    return any(_mentions_us(place) for place in places)


def _mentions_us(place: Path) -> bool:
    try:
        return _OURS in (read_plain(place.resolve(), limit=TEXT_FILE) or b"")
    except (Fatal, OSError, RuntimeError):
        return False
