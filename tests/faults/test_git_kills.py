"""SIGKILL while git runs with our hooks, in any of its processes: git goes on as without us, and so do we."""

from __future__ import annotations

import signal

import pytest
from afterwards_of_git import PrepareGit, hold_git_killed
from desk import Desk
from git_scenes import GIT_SCENES
from gitrepo import GitRepo
from scenes import Scene
from steps import Fault, spread
from tiers import some

pytestmark = pytest.mark.needs_gcc
QUICK = tuple(scene for scene in GIT_SCENES if scene.name in ("commit", "switch"))


@pytest.mark.parametrize("scene", some(GIT_SCENES, QUICK), ids=lambda scene: scene.name)
def test_killed_at_some_steps(hooked: PrepareGit, scene: Scene) -> None:
    """A few steps of all processes together, always the same ones; every process dies."""
    stage, model = hooked(scene)
    hits = 0
    for at in spread(len(stage.steps()), 2):
        desk = stage.copy()
        stepped = stage.run(desk, Fault(at))
        if stepped.said.code == -signal.SIGKILL:
            hits += 1
            print(f"killed at step {at}: {stepped.hit}")
            hold_git_killed(scene, model, desk)
    assert hits >= 1


@pytest.mark.deep
@pytest.mark.parametrize("scene", GIT_SCENES, ids=lambda scene: scene.name)
def test_killed_at_every_step(hooked: PrepareGit, scene: Scene) -> None:
    """Every step of git, of the hooks, of ours and of the gits that we start."""
    stage, model = hooked(scene)
    states = stage.states()
    print(f"{states.steps} steps, {len(states.found)} states")
    for step, place in states.found.values():
        print(f"killed at step {step}")
        hold_git_killed(scene, model, Desk(GitRepo(place, env=stage.env)))
    assert len(states.found) > 5
