"""Measures cases: whole processes, in paired rounds, with what each took of time and memory."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

OURS = "ours"
MIB = 1024 * 1024
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Command:
    """One process to run."""

    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]


@dataclass(frozen=True)
class Goal:
    """What a case should cost, as one row of the table."""

    kind: Literal["ratio", "slope", "extra ms", "ms", "extra MB"]
    """`slope` is what ours costs more than `few`, over what the baseline costs more than `few OVER`: no start-up."""
    limit: float | None = None
    """None where only the figure is wanted."""
    over: str = "STATUS"
    """The baseline; of no meaning for plain `ms`."""
    note: str = ""
    """Added to the row's name."""


@dataclass(frozen=True)
class Case:
    """One command of ours, and what it is measured against."""

    name: str
    prepare: Callable[[], object]
    """Makes the state; once, untimed."""
    command: Command
    baselines: Mapping[str, Command] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    before: Callable[[str], object] = lambda _: None
    """Makes what each process finds; before each, untimed, with the name of the baseline or `ours`."""
    is_real: Callable[[], bool] = lambda: True
    """Asked first: False leaves the case out, because what it is about does not exist."""


@dataclass(frozen=True)
class Measured:
    """The figures of a case: milliseconds of each round, and peak memory in bytes, by baseline and `ours`."""

    case: Case
    times: Mapping[str, list[float]]
    peaks: Mapping[str, int]

    def value(self, goal: Goal) -> float:
        """Return the figure that a goal is about; the median over the pairs where there are pairs."""
        if goal.kind == "ms":
            return statistics.median(self.times[OURS])
        if goal.kind == "extra MB":
            return (self.peaks[OURS] - self.peaks[goal.over]) / MIB
        if goal.kind == "slope":
            rows = zip(*(self.times[name] for name in (OURS, "few", goal.over, f"few {goal.over}")), strict=True)
            return statistics.median((ours - few) / (git - few_git) for ours, few, git, few_git in rows)
        pairs = list(zip(self.times[OURS], self.times[goal.over], strict=True))
        return statistics.median(ours / git if goal.kind == "ratio" else ours - git for ours, git in pairs)


class Failed(Exception):
    """A command ended with an error; there is nothing to measure."""


def measure(case: Case, rounds: int) -> Measured | None:
    """Measure a case; None where it is about something that does not exist.

    The round before the first warms the cache; its times are thrown away, and its memory is what is told.
    """
    if not case.is_real():
        return None
    case.prepare()
    commands = {**case.baselines, OURS: case.command}
    peaks = {}
    for name, command in commands.items():
        case.before(name)
        peaks[name] = run(command, watch=True)[1]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            case.before(name)
            times[name].append(run(command)[0])
    return Measured(case, times, peaks)


def run(command: Command, *, watch: bool = False, out: IO[bytes] | int = subprocess.DEVNULL) -> tuple[float, int]:
    """Run a process to its end; return milliseconds, and with `watch` the peak memory in bytes.

    Raises: Failed when it does not end with 0.
    """
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            command.argv, cwd=command.folder, env=command.env, stdin=subprocess.DEVNULL, stdout=out, stderr=errors
        )
        peak = _watch(process.pid) if watch else 0
        _, status, usage = os.wait4(process.pid, 0)
        took = (time.perf_counter() - began) * 1000
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        check(command, process.returncode, errors.read())
    return took, peak or usage.ru_maxrss * 1024


def check(command: Command, code: int, errors: bytes) -> None:
    """Refuse an ending that is not 0. Raises: Failed."""
    if code != 0:
        text = errors.decode("utf-8", "replace").strip()
        raise Failed(f"`{' '.join(command.argv)}` ended with {code} in {command.folder}\n{text}")


def _watch(pid: int) -> int:
    """Follow a process until it ends; return the most that it and all its children held at one time.

    wait4 tells only the largest of the processes, and counts this one's own memory from before its exec. 0 where
    there is no /proc.
    """
    peak = 0
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        peak = max(peak, sum(_resident(one) for one in _family(pid)))
        time.sleep(0.001)
    return peak


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:  # gone meanwhile
        return 0


def raw(measured: Measured) -> dict[str, Any]:
    """Return the figures as JSON has them."""
    return {
        "case": measured.case.name,
        "ms": {name: [round(one, 3) for one in times] for name, times in measured.times.items()},
        "peak_bytes": dict(measured.peaks),
        "rows": [
            {"kind": goal.kind, "over": goal.over, "limit": goal.limit, "value": round(measured.value(goal), 4)}
            for goal in measured.case.goals
        ],
    }
