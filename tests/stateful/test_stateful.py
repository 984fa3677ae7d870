"""Random work from fixed seeds: whatever is done to a worktree, our verbs answer as git and the model say.

Most runs are drawn by a stepper of our own: it costs nothing beside git, the same seed gives the same steps with every
version of every library, and a failure is shortened by leaving steps out, which needs no search. One run is a state
machine of hypothesis over the same rules: it mixes them as no fixed weights do. It has few steps, because a step costs
ten processes of git, and hypothesis repeats whole runs to look for shorter ones.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import mkdtemp

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tiers import some

from stateful.run import play, report
from stateful.world import FLAVOURS, RULES, World

SEEDS = some(range(1, 11), range(1, 5))
DEEP = [range(first, first + 17) for first in range(10_000, 10_170, 17)]
"""170 worktrees of 61 steps: 10,370 steps."""


@pytest.mark.parametrize("seed", SEEDS)
def test_work_from_a_fixed_seed(seed: int, tmp_path: Path) -> None:
    """Verdicts, exit codes, fingerprints and records are as predicted, and nothing of the user's is touched.

    A few seeds; deep runs have more.
    """
    hold(seed, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("seeds", DEEP, ids=str)
def test_ten_thousand_steps(seeds: range, tmp_path: Path) -> None:
    """The same, for long."""
    for seed in seeds:
        hold(seed, tmp_path)


def hold(seed: int, folder: Path) -> None:
    """Take the steps of a seed; they must all hold."""
    outcome = play(seed, folder=folder)
    assert outcome.error is None, f"{report(outcome)}\npython -m tests.stateful --runs 1 --seed {seed}   # shortens it"


class Work(RuleBasedStateMachine):
    """The same rules, drawn by hypothesis."""

    @initialize(flavours=st.frozensets(st.sampled_from(FLAVOURS), max_size=3))
    def begin(self, flavours: frozenset[str]) -> None:
        """Make a worktree with some of the flavours."""
        self.world = World.create(Path(mkdtemp()), flavours)

    @rule(
        name=st.sampled_from([name for name, one in RULES.items() for _ in range(one.weight)]),
        number=st.integers(0, 2**32 - 1),
    )
    def step(self, name: str, number: int) -> None:
        """Do one thing."""
        flavour = RULES[name].flavour
        if flavour is None or flavour in self.world.flavours:
            RULES[name].run(self.world, Random(number))


@pytest.mark.slow
@pytest.mark.parametrize("examples", [3, pytest.param(60, marks=pytest.mark.deep)])
def test_work_that_hypothesis_draws(examples: int) -> None:
    """As above, for steps that hypothesis chooses."""
    run_state_machine_as_test(Work, settings=settings(max_examples=examples, stateful_step_count=30))
