"""The table: one row per goal, with the verdict on it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.measure import MIB, OURS, Goal, Measured

HEADINGS = ("row", "git", "ours", "figure", "goal", "verdict")


def rows_of(measured: Measured) -> list[tuple[str, ...]]:
    """Return a row for each goal of a case."""
    return [_row(measured, goal) for goal in measured.case.goals]


def render(rows: Sequence[tuple[str, ...]], widths: Sequence[int]) -> str:
    """Align rows in columns of at least these widths."""
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def verdict(value: float, limit: float | None) -> str:
    """Say whether a goal is met, or by how much of it it is missed."""
    if limit is None:
        return ""
    return "met" if value <= limit else f"missed by {100 * (value / limit - 1):.0f}%"


def _row(measured: Measured, goal: Goal) -> tuple[str, ...]:
    value = measured.value(goal)
    name = measured.case.name + goal.note
    against = "" if goal.kind == "ms" else goal.over
    if goal.kind == "extra MB":
        git, ours = (f"{measured.peaks[key] / MIB:.0f} MB" for key in (goal.over, OURS))
    else:
        git, ours = (_median(measured, key) for key in (against, OURS))
    figure, limit = (_shown(goal.kind, one, against) for one in (value, goal.limit))
    return name, git, ours, figure, f"<= {limit}" if limit else "", verdict(value, goal.limit)


def _median(measured: Measured, name: str) -> str:
    return f"{statistics.median(measured.times[name]):.1f} ms" if name in measured.times else ""


def _shown(kind: str, value: float | None, against: str) -> str:
    if value is None:
        return ""
    if kind in ("ratio", "slope"):
        return f"{value:.2f}x {against}"
    return {"ms": f"{value:.0f} ms", "extra ms": f"{value:+.0f} ms", "extra MB": f"{value:+.0f} MB"}[kind]
