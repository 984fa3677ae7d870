"""Worktrees with pipelines of scripted agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from desk import Desk
from scripted import Line, answer, script


@pytest.fixture
def line(desk: Desk) -> Line:
    """A worktree with one commit."""
    return Line(desk.repo)


@pytest.fixture
def three() -> Callable[..., dict[str, dict[str, Any]]]:
    """Make the stages of a chain of three agents, with a check; what is given replaces the commands."""

    def make(**commands: list[str]) -> dict[str, dict[str, Any]]:
        approves = answer({"flags": {"approve": True}})
        stages: dict[str, dict[str, Any]] = {
            "implement": {"agent": "implementer", "run": script("open('a.txt', 'a').write('work\\n')")},
            "test": {"after": ["implement"], "run": ["true"]},
            "review": {"agent": "reviewer", "after": ["test"], "run": ["true"]},
            "validate": {
                "agent": "validator",
                "after": ["review"],
                "run": script(approves),
            },
        }
        for name, command in commands.items():
            stages[name]["run"] = command
        return stages

    return make
