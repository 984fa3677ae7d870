"""Runs a verb whose write steps are counted, and stops it before one of them: killed, or told that the disk is full.

A write step is whatever changes a file or a folder: opening to create, writing, syncing, renaming, linking, removing,
making a folder, setting times. Two ways to see them: `Hook` needs nothing but Python and sees the verb's own process;
`Shim` needs a C compiler and sees every process of the verb.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from desk import Desk, Said
from gitrepo import ROOT

HERE = Path(__file__).resolve().parent
_PIDS = 4096
_ALL = 120.0
"""Seconds in which what a killed verb left running must have ended."""


@dataclass(frozen=True)
class Fault:
    """What happens at a step."""

    at: int = 0
    """Its number; 0 is never."""
    kind: str | int = "kill"
    """`kill` every process; `alone` kills the verb's own and lets its gits end by themselves; an errno; a signal, as
    `-2`, for the process group of the verb; or, for `Hook`, the path of a script that is run before the step."""
    lasts: bool = False
    """True when every later step fails too, as on a disk that stays full."""
    reads: bool = False
    """True when reading is what fails."""
    ours: bool = False
    """True when only steps of our own processes count, and those of the gits that they start."""


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


def run_steps(
    way: Way,
    desk: Desk,
    *args: str,
    record: Path,
    fault: Fault = Fault(),
    git: bool = False,
    see: Callable[[str], object] | None = None,
) -> Stepped:
    """Run a verb, or git, in processes whose steps are counted in `record`, with a fault at one of them.

    `see` is called before each step, which waits for it; only `Shim` can do that.
    """
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
        "STEPS_OURS": str(int(fault.ours)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with _listening(see) as place:
        environment = {**way.environment(), **variables, "STEPS_ASK": place}
        said = desk.process(*args, env=environment, git=git)
        _wait_for_all(record)
    return Stepped(said, tuple(log.read_text(errors="replace").splitlines() if log.exists() else ()))


@contextlib.contextmanager
def _listening(see: Callable[[str], object] | None) -> Iterator[str]:
    """Listen on a socket, and let `see` be told of every step; yield where it is. Raises: what `see` raises."""
    if see is None:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="steps-") as folder, socket.socket(socket.AF_UNIX) as server:
        place = f"{folder}/ask"
        server.bind(place)
        server.listen(64)
        with ThreadPoolExecutor(1) as pool:
            answering = pool.submit(_answer, server, see)
            try:
                yield place
            finally:
                with socket.socket(socket.AF_UNIX) as last:
                    last.connect(place)
                answering.result()


def _answer(server: socket.socket, see: Callable[[str], object]) -> None:
    failed: list[Exception] = []
    while True:
        with server.accept()[0] as asker:
            step = asker.recv(1 << 16)
            if not step:
                break
            try:
                see(os.fsdecode(step))
            except Exception as error:  # for whoever waits for the run; the process must go on
                failed.append(error)
            asker.send(b"\n")
    if failed:
        raise failed[0]


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


_NAMES = re.compile(r"objects/[0-9a-f]{2}\b|[0-9a-f]{8,}|(?<=tmp_obj_)\w+|(?<=tmp_pack_)\w+|(?<=tmp_idx_)\w+")


def of_each_kind(steps: Iterable[str]) -> list[int]:
    """Return the numbers of the first step and the last one of each kind: the same call, at a place of the same kind.

    That one object is written after another is the same to whoever fails there.
    """
    kinds: dict[str, list[int]] = {}
    for number, step in enumerate(steps, 1):
        kinds.setdefault(_NAMES.sub("*", step), []).append(number)
    return sorted({number for numbers in kinds.values() for number in (numbers[0], numbers[-1])})


def spread(count: int, points: int) -> list[int]:
    """Return so many numbers from 1 to `count`, evenly spread and always the same."""
    return sorted({1 + (2 * number + 1) * count // (2 * points) for number in range(points)})
