"""Pipelines of scripted agents, in worktrees of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from desk import TASK, Desk

PREFIX = "import json, os, sys, time, signal, subprocess, pathlib; "


def script(code: str) -> list[str]:
    """Return the command of a stage that is a line of Python."""
    return [sys.executable, "-c", PREFIX + code]


def answer(value: object) -> str:
    """Return the line that answers so."""
    return f"open(os.environ['TASKCTX_RESPONSE'], 'w').write({json.dumps(value)!r})"


def toml(stages: dict[str, dict[str, Any]], more: str = "") -> str:
    """Return the file of a pipeline."""
    lines = [more]
    for name, stage in stages.items():
        lines.append(f"[stage.{name}]")
        for key, value in stage.items():
            if isinstance(value, dict):
                inner = ", ".join(f"{one} = {json.dumps(item)}" for one, item in value.items())
                lines.append(f"{key} = {{ {inner} }}")
            else:
                lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


class Line(Desk):
    """A worktree with a pipeline, and a task that begins."""

    def begin_task(self, stages: dict[str, dict[str, Any]], more: str = "", *words: str) -> None:
        """Commit the pipeline, and begin a task on it."""
        self.repo.write(".taskctx.toml", toml(stages, more))
        self.repo.commit("a pipeline")
        self.ok("init", TASK, "--title", "t", *words)

    def carry(self, code: int, *words: str) -> list[dict[str, Any]]:
        """Run the pipeline, which must end with `code`; return its events but for output."""
        said = self.ends(code, "run", "--format", "json", *words)
        events = [json.loads(line) for line in said.out.splitlines()]
        assert [one["seq"] for one in events] == sorted({one["seq"] for one in events})
        return [one for one in events if one["type"] != "output"]

    def states(self, events: list[dict[str, Any]]) -> list[str]:
        """Return how each stage ended, in order."""
        return [
            f"{one['stage']}{'?' * bool(one.get('gate'))} {'known' if one.get('reused') else one['state']}"
            for one in events
            if one["type"] == "stage-ended"
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return what is on record."""
        return list(self.ok("log", "--format", "json").document()["data"])

    def folder(self, stage: str, attempt: int = 1, run: int = 1) -> Path:
        """Return the folder of an attempt."""
        return self.repo.at(f".agent-output/tasks/{TASK}/runs/{run}/stages/{stage}/{attempt}")
