"""Tells where the time of one call goes: its git processes, as `GIT_TASKCTX_TRACE` has them, and the rest."""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.cases import SNAPSHOT, VERIFY, Place
from benchmarks.measure import Command, run

_OID = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{5,}")
_LINE = re.compile(r"taskctx: +([0-9.]+) ms  (?:-?\d+)  (.*)")


def print_profile(place: Place, *, rounds: int) -> None:
    """Print one `verify` and one `snapshot` with 20 changes, process by process: the call of median length."""
    env = place.bench.env
    plain = Command((sys.executable, "-c", "pass"), place.bench.folder, env)
    loaded = Command((sys.executable, "-c", "import git_taskctx.cli.app"), place.bench.folder, env)
    starts = [statistics.median(run(one)[0] for _ in range(rounds + 1)) for one in (plain, loaded)]
    print(f"\nPython starts in {starts[0]:.0f} ms, with the command line imported in {starts[1]:.0f} ms")
    changes = min(20, place.files // 2)
    for name, argv in (("verify", VERIFY), ("snapshot", SNAPSHOT)):
        place.work.begin(changes=changes, snapshot=name == "verify")
        calls = []
        for _ in range(rounds + 1):
            if name == "snapshot":
                place.work.freshen()
                place.work.taskctx("start", "--agent", "implementer")
            calls.append(_traced(place.command(*argv)))
        took, lines = sorted(calls[1:])[len(calls[1:]) // 2]
        inside = sum(ms for ms, _ in lines)
        head = f"{name} {place.label}, {changes} changes: {took:.0f} ms"
        print(f"\n{head}, of which {len(lines)} git processes {inside:.0f} ms")
        for ms, words in lines:
            print(f"  {ms:8.1f}  {words}")
        print(f"  {took - inside:8.1f}  the rest: Python, and processes that stay open beside it")


def _traced(command: Command) -> tuple[float, list[tuple[float, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace").resolve()
        took, _ = run(Command(command.argv, command.folder, {**command.env, "GIT_TASKCTX_TRACE": str(trace)}))
        found = map(_LINE.fullmatch, trace.read_text().splitlines() if trace.exists() else ())
        return took, [(float(match[1]), _OID.sub(r"\1", match[2])) for match in found if match]
