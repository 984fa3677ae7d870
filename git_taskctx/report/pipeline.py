"""A run of a pipeline as people see it: a line for each stage, drawn anew on a terminal and in order in a pipe."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from git_taskctx.model.codec import to_plain
from git_taskctx.model.run import RunEvent
from git_taskctx.report.document import Document, Span, printable
from git_taskctx.shell import shell_words

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from git_taskctx.pipeline.plan import Plan

_STATES = {"done": "ok", "failed": "bad", "timed out": "bad", "cancelled": "warn", "waiting": "warn", "running": "bold"}


class RunLines:
    """What happened, a line each."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._stream, self._colour = stream, colour

    def show(self, event: RunEvent) -> None:
        """Write what an event says, where a person wants to know."""
        document = Document()
        if event.type == "stage-ended":
            document.line(*_row(event))
        elif event.type == "again":
            document.line((f"{event.stage}", "bold"), f"  again, since {', '.join(event.failed or ())} said no")
        elif event.type == "collision" and event.state != "writing":
            document.line(("collision", "bad"), *([f"  {', '.join(event.stages)}"] if event.stages else []))
            for line in (event.text or "").splitlines():
                document.line(f"  {line}")
        elif event.type == "run-started":
            document.line(f"run {event.run} of {event.task}: {', '.join(event.stages or ())}")
        document.write(self._stream, colour=self._colour)
        self._stream.flush()

    def close(self) -> None:
        """Do nothing: each line is written."""


def _row(event: RunEvent) -> list[Span]:
    state = event.state or ""
    name = f"{event.stage}{' (asks)' if event.gate else ''}"
    parts: list[Span] = [(f"{name:<16}", "bold"), "  ", (f"{state:<9}", _STATES.get(state, "dim"))]
    facts = [event.agent if not event.gate else None, seconds(event.milliseconds)]
    facts += [f"attempt {event.attempt}" if (event.attempt or 0) > 1 else None]
    facts += [f"${event.usage.usd}" if event.usage is not None and event.usage.usd is not None else None]
    failed = event.failure.message if event.failure is not None else None
    facts += [(event.tree or "")[:12] or None, *((failed, "not run again") if event.reused else (event.why,))]
    words = "  ".join(one.splitlines()[0] for one in facts if one)
    return [*parts, f"  {words}"] if words else parts


def seconds(milliseconds: int | None) -> str | None:
    """Return a time as a person reads it."""
    if milliseconds is None:
        return None
    whole = milliseconds // 1000
    if whole < 60:
        return f"{milliseconds / 1000:.1f} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02} min"


class RunTable:
    """All stages at once, on a terminal, drawn by rich."""

    def __init__(self, stream: TextIO, stages: Mapping[str, str | None], *, colour: bool) -> None:
        self._stream, self._colour = stream, colour
        self._agents = stages
        self._ended: dict[str, RunEvent] = {}
        self._running: dict[str, float] = {}
        """Since when."""
        self._last: dict[str, str] = {}
        self._live: Live | None = None

    def show(self, event: RunEvent) -> None:
        """Take an event; the table is drawn ten times a second at most."""
        name = event.stage
        if event.type == "run-started":
            self._begin()
        elif event.type == "stage-started" and name is not None:
            self._running[name] = time.monotonic()
            self._ended.pop(name, None)
        elif event.type == "output" and name is not None and event.text and event.text.strip():
            self._last[name] = event.text.strip().splitlines()[-1][-200:]
        elif event.type == "stage-ended" and name is not None:
            self._running.pop(name, None)
            self._ended[name] = event

    def close(self) -> None:
        """Leave the table as it is, and end the drawing."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._stream, color_system="auto" if self._colour else None, highlight=False)
        self._live = Live(get_renderable=self._draw, console=console, refresh_per_second=4,
                          redirect_stdout=False, redirect_stderr=False)  # fmt: skip
        self._live.start()

    def _draw(self) -> RenderableType:
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        for _ in range(5):
            grid.add_column(no_wrap=True)
        for name, agent in self._agents.items():
            event, since = self._ended.get(name), self._running.get(name)
            state = "running" if since is not None else event.state if event is not None else "pending"
            spent = int(1000 * (time.monotonic() - since)) if since is not None else event and event.milliseconds
            last = self._last.get(name, "") if since is not None else (event.why if event is not None else "") or ""
            styles = {"ok": "bold green", "bad": "bold red", "warn": "yellow"}
            style = styles.get(_STATES.get(state or "", ""), "")
            cells = (name, agent or "", seconds(spent or None) or "", printable(last.partition("\n")[0]))
            grid.add_row(cells[0], Text(state or "", style), *(Text(one, overflow="ellipsis") for one in cells[1:]))
        return grid


def render_event(event: RunEvent) -> str:
    """Return an event as a line of JSON; what stages set stays in the file."""
    value = {key: one for key, one in to_plain(event).items() if key != "writes"}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def planned(document: Document, plan: Plan) -> None:
    """Write what would be run, in order."""
    rows = []
    for name in plan.order:
        stage = plan.stages[name]
        back = f"{stage.again.stage}, {stage.again.times}x" if stage.again is not None else ""
        where = "its own" if name in plan.layout.own else ""
        rows.append((name, stage.agent or "check", ", ".join(stage.after), where, back, shell_words(stage.run)))
    document.table(("stage", "agent", "after", "tree", "goes back to", "command"), rows, cut=True)


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return the same for programs."""
    return {"pipeline": plan.name, "stages": {name: to_plain(plan.stages[name]) for name in plan.order}}
