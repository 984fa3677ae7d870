"""Steps for a setting that cannot be read."""

from __future__ import annotations

from pathlib import Path

from git_taskctx.model.step import Step, taskctx


def wrong(name: str, origin: str) -> tuple[Step, ...]:
    """Suggest removing a personal setting; one given with `-c` needs no command."""
    kind, _, place = origin.partition(":")
    if kind != "file":
        return ()
    where = ("--file", place) if Path(place).is_absolute() else ()
    return (Step(("git", "config", *where, "--unset-all", name)),)


def every_key() -> tuple[Step, ...]:
    """Suggest looking up the keys."""
    return (taskctx("help", why="CONFIGURATION lists every key"),)


def commit_policy(name: str) -> tuple[Step, ...]:
    """Suggest committing a corrected policy file."""
    return (Step(("git", "commit", "--", name), "policy is read as it is committed, not as it lies in the worktree"),)
