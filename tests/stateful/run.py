"""Steps drawn from a seed, taken again from a list, and the shortest list that still fails."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from stateful import commands, edits, handoffs, trees
from stateful.world import FLAVOURS, RULES, World

Step = tuple[str, int]
"""A rule, and the seed of what it draws."""
LENGTH = 60
"""Steps of one worktree."""
assert all((commands, edits, handoffs, trees)), "the modules of the rules are loaded"


@dataclass
class Outcome:
    """One worktree's life."""

    seed: int
    flavours: frozenset[str]
    steps: list[Step]
    """Up to the one that failed, where one did."""
    told: list[str]
    counts: dict[str, int]
    error: str | None = None

    @property
    def where(self) -> str:
        """Name the failure, so that a shorter way to the same one is known."""
        return self.error.strip().splitlines()[-1].split(":")[0] if self.error else ""


def flavours_of(seed: int) -> frozenset[str]:
    """Draw the groups of rules of a run; every fourth run is plain."""
    draw = Random(f"flavours {seed}")
    return frozenset(draw.sample(FLAVOURS, draw.choice((0, 1, 2, 4))))


def steps_of(seed: int, length: int = LENGTH) -> list[Step]:
    """Draw the steps of a run."""
    draw, flavours = Random(seed), flavours_of(seed)
    known = {name: one.weight for name, one in RULES.items() if one.flavour is None or one.flavour in flavours}
    names = draw.choices(list(known), list(known.values()), k=length)
    return [("init", draw.getrandbits(32)), *((name, draw.getrandbits(32)) for name in names)]


def play(seed: int, steps: Sequence[Step] | None = None, *, folder: Path | None = None) -> Outcome:
    """Take the steps of a seed, or those given, in a new repository."""
    flavours = flavours_of(seed)
    steps = list(steps if steps is not None else steps_of(seed))
    place = Path(tempfile.mkdtemp(prefix=f"seed-{seed}-", dir=folder))
    world = World.create(place, flavours)
    error = None
    done: list[Step] = []
    try:
        for name, number in steps:
            done.append((name, number))
            RULES[name].run(world, Random(number))
    except Exception:
        error = traceback.format_exc()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Outcome(seed, flavours, done, world.told, world.counts, error)


def shorten(failed: Outcome, *, folder: Path | None = None, most: int = 150) -> Outcome:
    """Leave out steps as long as the same place still fails."""
    best, size, tried = failed, max(len(failed.steps) // 2, 1), 0
    while tried < most:
        position, found = 0, False
        while position < len(best.steps) - 1 and tried < most:
            shorter = best.steps[:position] + best.steps[position + size :]
            tried += 1
            again = play(failed.seed, shorter, folder=folder)
            if again.error is not None and _place(again) == _place(failed):
                best, found = again, True
            else:
                position += size
        if size == 1 and not found:
            break
        size = max(size // 2, 1)
    return best


def report(failed: Outcome) -> str:
    """Say how to come to a failure again."""
    lines = [f"seed {failed.seed}, flavours {sorted(failed.flavours)}", *(f"  {line}" for line in failed.told)]
    return "\n".join([*lines, f"steps: {failed.steps!r}", failed.error or ""])


def _place(outcome: Outcome) -> tuple[str, ...]:
    """Return the lines of code at which a run failed, ours and the tests'."""
    return tuple(line.strip() for line in (outcome.error or "").splitlines() if line.startswith("  File "))[-2:]
