"""What to type where a pipeline waits, was stopped, or cannot run."""

from __future__ import annotations

from git_taskctx.model.step import Step, taskctx


def begins(pipeline: str | None = None) -> tuple[Step, ...]:
    """Begin a run."""
    return (taskctx("run", *([pipeline] if pipeline else ())),)


def goes_on() -> tuple[Step, ...]:
    """Go on with the last run."""
    return (taskctx("run", "--resume"),)


def going_on() -> tuple[Step, ...]:
    """Look at the run that is going on."""
    return (taskctx("status"),)


def approves(stage: str) -> tuple[Step, ...]:
    """Reject the tree that a stage asks about, or approve it: the last line goes on."""
    reject = taskctx("run", "--reject", stage, "--finding", "what is wrong", why="or approve it:")
    return (reject, taskctx("run", "--approve", stage))


def planned(why: str = "") -> tuple[Step, ...]:
    """Show what would be run."""
    return (taskctx("run", "--dry-run", why=why),)


def committed() -> tuple[Step, ...]:
    """Take the committed pipeline."""
    return (taskctx("rebuild", "--policy", "HEAD", why="takes the committed one"),)


def none() -> tuple[Step, ...]:
    """Write a pipeline, and commit it."""
    write = Step(("docs/pipelines.md",), "write one, then:")
    return (write, Step(("git", "commit", "--", ".taskctx.toml")), *committed())


def changed() -> tuple[Step, ...]:
    """Look what a check changed."""
    return (taskctx("verify", why="what differs, and how to put it back"),)


def collides() -> tuple[Step, ...]:
    """Find the lines of both sides in the worktree."""
    return (Step(("git", "grep", "--untracked", "-n", "^<<<<<<< "), "solve these in the worktree, then:"),)


def solved(owner: str) -> tuple[Step, ...]:
    """Record what a collision without lines came to."""
    return (taskctx("snapshot", "--agent", owner, why="once it is right, then:"),)


def on_cluster() -> tuple[Step, ...]:
    """Run checks on a cluster."""
    return (taskctx("run", "--executor", "dask://HOST:PORT"),)
