"""What to type about a setting that does not read."""

from __future__ import annotations

from pathlib import Path

from git_taskctx.model.step import Step, taskctx


def wrong(name: str, origin: str) -> tuple[Step, ...]:
    """Take a personal setting away, where it stands; what is given with `-c` is typed without it."""
    kind, _, place = origin.partition(":")
    if kind != "file":
        return ()
    where = ("--file", place) if Path(place).is_absolute() else ()
    return (Step(("git", "config", *where, "--unset-all", name)),)


def every_key() -> tuple[Step, ...]:
    """Look which keys there are."""
    return (taskctx("help", why="CONFIGURATION lists every key"),)


def commit_policy(name: str) -> tuple[Step, ...]:
    """Commit a policy file that has been put right in the worktree."""
    return (Step(("git", "commit", "--", name), "policy is read as it is committed, not as it lies in the worktree"),)
