"""Runs a verb whose write steps are counted, and stops it before one of them: killed, or told that the disk is full.

A write step is whatever changes a file or a folder: opening to create, writing, syncing, renaming, linking, removing,
making a folder, setting times. Two ways to see them: `Hook` needs nothing but Python and sees the verb's own process;
`Shim` needs a C compiler and sees every process of the verb.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import sys
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from desk import Desk, Said
from gitrepo import ROOT

HERE = Path(__file__).resolve().parent
_PIDS = 4096
T = TypeVar("T")
_ALL = 120.0
"""Seconds in which what a killed verb left running must have ended."""


@dataclass(frozen=True)
class Fault:
    """What happens at a step."""

    at: int = 0
    """Its number; 0 is never."""
    kind: str | int = "kill"
    """`kill` every process; `alone` kills the verb's own and lets its gits end by themselves; an errno; or, for `Hook`,
    the path of a script that is run before the step."""
    lasts: bool = False
    """True when every later step fails too, as on a disk that stays full."""
    reads: bool = False
    """True when reading is what fails."""


@dataclass(frozen=True)
class Stepped:
    """A verb that was watched."""

    said: Said
    steps: tuple[str, ...]

    @property
    def hit(self) -> str | None:
        """The step at which the fault came; None where the verb did not get so far."""
        return next((step for step in self.steps if step.endswith((" DUE", " FAILS"))), None)


class Way(Protocol):
    """How steps are seen."""

    def environment(self) -> dict[str, str]:
        """Return what a process needs, to be seen."""
        ...


class Hook:
    """Sees the steps of Python, by its audit hook."""

    def environment(self) -> dict[str, str]:
        """Return what a process needs, to be seen."""
        return {"PYTHONPATH": f"{HERE / 'hook'}{os.pathsep}{ROOT}"}


@dataclass(frozen=True)
class Shim:
    """Sees the steps of every process, by a library that is loaded before all others."""

    library: Path

    def environment(self) -> dict[str, str]:
        """Return what a process needs, to be seen."""
        return {"LD_PRELOAD": os.fspath(self.library)}


def run_steps(way: Way, desk: Desk, *args: str, record: Path, fault: Fault = Fault()) -> Stepped:
    """Run a verb in processes whose steps are counted in `record`, with a fault at one of them."""
    log = record.with_name(record.name + ".log")
    log.unlink(missing_ok=True)
    record.write_bytes(bytes(4 * (3 + _PIDS)))
    variables = {
        "STEPS": os.fspath(record),
        "STEPS_ROOT": os.fspath(desk.repo.path),
        "STEPS_AT": str(fault.at),
        "STEPS_FAULT": str(fault.kind),
        "STEPS_LASTS": str(int(fault.lasts)),
        "STEPS_READS": str(int(fault.reads)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    said = desk.process(*args, env={**way.environment(), **variables})
    _wait_for_all(record)
    return Stepped(said, tuple(log.read_text(errors="replace").splitlines() if log.exists() else ()))


def _wait_for_all(record: Path) -> None:
    """Wait until no process of the verb is left, also of one that was killed alone."""
    _, _, count, *pids = struct.unpack(f"{3 + _PIDS}I", record.read_bytes())
    for pid in filter(None, pids[:count]):
        with contextlib.suppress(ProcessLookupError), _descriptor_of(pid) as descriptor:
            ended, _, _ = select.select([descriptor], [], [], _ALL)
            assert ended, f"process {pid} of the verb is still there"


@contextlib.contextmanager
def _descriptor_of(pid: int) -> Iterator[int]:
    if sys.platform != "linux":
        raise ProcessLookupError(pid)
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def some(values: Iterable[T], quick: Container[T]) -> list[Any]:
    """Return values to parametrize with: those that are not in `quick` are for deep runs."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.deep) for value in values]


def spread(count: int, points: int) -> list[int]:
    """Return so many numbers from 1 to `count`, evenly spread and always the same."""
    return sorted({1 + (2 * number + 1) * count // (2 * points) for number in range(points)})
