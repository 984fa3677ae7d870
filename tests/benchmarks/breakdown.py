"""Draws where the time of one call goes: when each git process began and ended, counted from the start of Python."""

from __future__ import annotations

import datetime
import json
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cases import Place
from benchmarks.measure import Command, run

_OID = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{5,}")
_BAR = 50
"""Characters that the whole call is drawn in."""


class Span(NamedTuple):
    """One git process, in milliseconds from when the call began."""

    begin: float
    end: float
    words: str


def print_timeline(place: Place, words: Sequence[str], *, rounds: int) -> None:
    """Draw one verb with 20 changed files, process by process: the call of median length, of those after the first."""
    start = Command((sys.executable, "-c", "pass"), place.bench.folder, place.bench.env)
    plain = sorted(run(start)[0] for _ in range(5))
    place.work.begin(changes=min(20, place.files // 2), snapshot=words[0] != "snapshot")
    calls = []
    for _ in range(rounds + 1):
        if words[0] == "snapshot":
            place.work.freshen()
            place.work.taskctx("start", "--agent", "implementer")
        calls.append(_traced(place.command("git-taskctx", *words)))
    took, spans = sorted(calls[1:])[rounds // 2]
    print(f"\n{shlex.join(words)} {place.label}: {took:.0f} ms, of which Python alone takes {plain[2]:.0f} to start")
    for begin, end, what in spans:
        first, last = (min(_BAR - 1, int(_BAR * at / took)) for at in (begin, end))
        drawn = " " * first + "#" * (last - first + 1)
        print(f"{begin:7.1f} +{end - begin:6.1f}  |{drawn:<{_BAR}}|  {what}")


def _traced(command: Command) -> tuple[float, list[Span]]:
    """Run a command. git is told to trace by the user's configuration: no variable of that kind gets through to it."""
    with tempfile.TemporaryDirectory() as folder:
        trace, config = Path(folder, "trace"), Path(folder, "config")
        trace.touch()
        config.write_text(f"[include]\n\tpath = {command.env['HOME']}/.gitconfig\n[trace2]\n\teventTarget = {trace}\n")
        began = time.time()
        took, _ = run(Command(command.argv, command.folder, {**command.env, "GIT_CONFIG_GLOBAL": str(config)}))
        return took, read_spans(trace.read_text(), began, took)


def read_spans(trace: str, began: float, took: float) -> list[Span]:
    """Return the processes of a trace in the format of `trace2.eventTarget`; one without an end was killed with us."""
    found: dict[str, Span] = {}
    for event in map(json.loads, trace.splitlines()):
        at = (datetime.datetime.fromisoformat(event["time"]).timestamp() - began) * 1000
        if event["event"] == "start":
            argv = event["argv"]
            skipped = {at + 1 for at, word in enumerate(argv) if word in ("-c", "-C")}
            words = " ".join(word for at, word in enumerate(argv[1:], 1) if at not in skipped and word[0] != "-")
            found[event["sid"]] = Span(at, took, _OID.sub(r"\1", words)[:100])
        elif event["event"] in ("exit", "atexit", "signal") and event["sid"] in found:
            found[event["sid"]] = found[event["sid"]]._replace(end=at)
    return sorted(found.values())
