"""Steps for a pipeline that waits, was stopped, or cannot run."""

from __future__ import annotations

from git_taskctx.model.step import Step, taskctx


def begins(pipeline: str | None = None) -> tuple[Step, ...]:
    """Suggest beginning a run."""
    return (taskctx("run", *([pipeline] if pipeline else ())),)


def goes_on() -> tuple[Step, ...]:
    """Suggest resuming the last run."""
    return (taskctx("run", "--resume"),)


def going_on() -> tuple[Step, ...]:
    """Suggest looking at the run in progress."""
    return (taskctx("status"),)


def approves(stage: str) -> tuple[Step, ...]:
    """Suggest rejecting or approving the tree that a stage asks about."""
    reject = taskctx("run", "--reject", stage, "--finding", "what is wrong", why="or approve it:")
    return (reject, taskctx("run", "--approve", stage))


def planned(why: str = "") -> tuple[Step, ...]:
    """Suggest a dry run."""
    return (taskctx("run", "--dry-run", why=why),)


def committed() -> tuple[Step, ...]:
    """Suggest taking the committed pipeline."""
    return (taskctx("rebuild", "--policy", "HEAD", why="takes the committed one"),)


def none() -> tuple[Step, ...]:
    """Suggest writing a pipeline and committing it."""
    write = taskctx("help", "pipelines", why="write one, then:")
    return (write, Step(("git", "commit", "--", ".taskctx.toml")), *committed())


def keys() -> tuple[Step, ...]:
    """Suggest looking up the keys of a pipeline."""
    return (taskctx("help", "pipelines"),)


def changed() -> tuple[Step, ...]:
    """Suggest looking at what a check changed."""
    return (taskctx("verify", why="what differs, and how to put it back"),)


def collides() -> tuple[Step, ...]:
    """Suggest finding the conflicting lines in the worktree."""
    return (Step(("git", "grep", "--untracked", "-n", "^<<<<<<< "), "solve these in the worktree, then:"),)


def solved(owner: str) -> tuple[Step, ...]:
    """Suggest recording the solution of a conflict without lines."""
    return (taskctx("snapshot", "--agent", owner, why="once it is right, then:"),)


def on_cluster() -> tuple[Step, ...]:
    """Suggest running checks on a cluster."""
    return (taskctx("run", "--executor", "dask://HOST:PORT"),)
