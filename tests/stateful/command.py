"""The command line of the long run."""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from conftest import IDENTITY

from stateful.run import Outcome, play, report, shorten


def main(argv: Sequence[str]) -> int:
    """Take steps until the time is over; the first failure is shortened, told, and ends it, unless told to go on."""
    options = _parser().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="taskctx-stateful-") as name:
        folder = Path(name)
        _seal(folder)
        if options.steps:
            return _tell(play(options.seed, ast.literal_eval(options.steps), folder=folder))
        end, seed = time.monotonic() + options.seconds, options.seed
        counts: Counter[str] = Counter()
        failures = 0
        while time.monotonic() < end and seed < options.seed + options.runs:
            outcome = play(seed, folder=folder)
            counts.update(outcome.counts)
            counts["steps"] += len(outcome.steps)
            if outcome.error:
                failures += 1
                counts["failures that were not seen again"] += 0 if options.quick else not _again(outcome, folder)
                _tell(outcome if options.quick else shorten(outcome, folder=folder))
                if not options.go_on:
                    break
            seed += 1
        for what, number in sorted(counts.items()):
            print(f"{number:8}  {what}")
        print(f"seeds {options.seed} to {seed - 1}: {counts['steps']} steps, {failures} failures")
    return 1 if failures else 0


def _again(outcome: Outcome, folder: Path) -> bool:
    """Return whether the same steps fail again; they may not where times, or other processes, had a part in it."""
    return play(outcome.seed, outcome.steps, folder=folder).error is not None


def _tell(outcome: Outcome) -> int:
    print(report(outcome), flush=True)
    return 1 if outcome.error else 0


def _seal(home: Path) -> None:
    """Leave nothing of the machine's configuration, as the tests do."""
    (home / ".gitconfig").write_text(IDENTITY)
    for name in list(os.environ):
        if name.startswith(("GIT_", "TASKCTX", "TASK_CONTEXT", "LC_", "XDG_")):
            del os.environ[name]
    os.environ |= {"HOME": os.fspath(home), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    os.chdir(home)
    os.umask(0o022)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.stateful",
        description="Random work in throw-away repositories, held against git step by step.",
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; every worktree takes the next one")
    parser.add_argument("--runs", type=int, default=10**9, help="at most so many worktrees")
    parser.add_argument("--go-on", action="store_true", help="do not stop at a failure")
    parser.add_argument("--quick", action="store_true", help="do not look for the shortest way to a failure")
    parser.add_argument("--steps", help="take these steps again, as a failure printed them, with its --seed")
    return parser
