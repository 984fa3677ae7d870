"""Pipelines: the stages that `run` executes, as committed in `.taskctx.toml` and frozen into each context."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from collections.abc import Mapping
from typing import Literal

from git_taskctx.model.values import dataclass, field


@dataclass(frozen=True)
class Limit:
    """When a stage is ended."""

    idle: int | None = None
    """Seconds without output."""
    wall: int | None = None
    """Seconds in all."""
    usd: str | None = None
    """What it may cost, as a decimal number."""


@dataclass(frozen=True)
class GoBack:
    """Where the work goes back to when a stage says no, and how many times."""

    stage: str
    times: int = 1


@dataclass(frozen=True)
class Stage:
    """One stage."""

    run: tuple[str, ...]
    """The command, word by word; never a shell line."""
    agent: str | None = None
    """Whose work it is; None is a check."""
    after: tuple[str, ...] = ()
    limit: Limit = Limit()
    again: GoBack | None = None
    ask: str | None = None
    """What a person is asked when it is done."""
    always: bool = False
    """Whether it also runs after a failure."""
    tree: Literal["own"] | None = None
    """`own`: it runs in a tree of its own."""


@dataclass(frozen=True)
class Settings:
    """What all stages share."""

    budget: Limit = Limit()
    """At which nothing new starts; `idle` is never set."""
    bring: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    env: tuple[str, ...] | None = None
    """Patterns of the variables that stages see; None is a short list of harmless ones."""
    remote: str | None = None


@dataclass(frozen=True)
class Pipelines:
    """All stages, and the pipelines that are made of them."""

    stages: Mapping[str, Stage]
    run: Settings = Settings()
    pipelines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of the stages of each; without one, all stages are the pipeline."""
