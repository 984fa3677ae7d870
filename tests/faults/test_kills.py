"""SIGKILL before any step that writes: the context is as it was or as it should be, and work goes on."""

from __future__ import annotations

import signal
from collections.abc import Iterable

import pytest
from afterwards import copy_of, hold_again, hold_reading, hold_untouched, let_time_pass
from scenes import QUICK, SCENES, Scene
from stage import Prepare, Stage
from steps import Fault, run_steps, spread

every_scene = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
SLICES = 4
"""Into so many tests the steps of one verb are divided, so that they run side by side."""


def kill_at(stage: Stage, steps: Iterable[int], kind: str) -> int:
    """Kill the verb at each of these steps, in a fresh copy each, and hold what must be true; count the hits."""
    hits = 0
    for at in steps:
        desk = stage.copy()
        before = desk.repo.census()
        stepped = run_steps(stage.way, desk, *stage.scene.verb, record=stage.record, fault=Fault(at, kind))
        if stepped.said.code != -signal.SIGKILL:  # steps of processes side by side: it took one less this time
            assert stepped.said.code == stage.scene.code, stepped.said.both
            continue
        hits += 1
        print(f"killed at step {at}: {stepped.steps[-1]}")
        hold_untouched(stage.scene, before, desk)
        let_time_pass(desk)
        reader = copy_of(desk, desk.repo.path.with_name("reader"))
        hold_reading(stage.model, reader)
        hold_again(stage.scene, stage.model, desk)
        stage.discard(reader, desk)
    return hits


@pytest.mark.parametrize("scene", QUICK, ids=lambda scene: scene.name)
def test_killed_at_some_steps_of_its_own(stage: Prepare, scene: Scene) -> None:
    """A few of the steps that the verb's own process takes, always the same ones."""
    prepared = stage(scene)
    points = spread(prepared.count(), 2)
    assert kill_at(prepared, points, "kill") >= 1


@pytest.mark.deep
@every_scene
def test_killed_at_every_step_of_its_own(stage: Prepare, scene: Scene) -> None:
    """Every step that the verb's own process takes, as Python tells them."""
    prepared = stage(scene)
    count = prepared.count()
    assert kill_at(prepared, range(1, count + 1), "kill") >= count - 2


@pytest.mark.deep
@pytest.mark.needs_gcc
@pytest.mark.parametrize("part", range(SLICES))
@every_scene
def test_killed_with_all_its_gits_at_every_step(stage: Prepare, scene: Scene, part: int) -> None:
    """Every step of every process, git's included: all die at once, as when the machine stops."""
    prepared = stage(scene)
    steps = range(1 + part, prepared.count() + 1, SLICES)
    assert kill_at(prepared, steps, "kill") >= len(steps) - 2


@pytest.mark.deep
@pytest.mark.needs_gcc
@every_scene
def test_killed_alone_while_a_git_works_on(stage: Prepare, scene: Scene) -> None:
    """The verb's own process dies, and the git that it had started finishes what it was told."""
    prepared = stage(scene)
    steps = range(1, prepared.count() + 1, 5)
    assert kill_at(prepared, steps, "alone") >= len(steps) - 2
