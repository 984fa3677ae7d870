"""SIGKILL while git runs with our hooks, in any of its processes: git goes on as without us, and so do we."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from afterwards_of_git import GitModel, hold_git_killed, watch_git
from desk import Desk
from git_scenes import GIT_SCENES, put_in
from gitrepo import GitRepo
from scenes import Scene
from stage import Stage
from steps import Fault, Shim, some, spread

pytestmark = pytest.mark.needs_gcc
Prepared = tuple[Stage, GitModel]
QUICK = tuple(scene for scene in GIT_SCENES if scene.name in ("commit", "switch", "amend", "commit -a after drift"))


@pytest.fixture
def hooked(desk: Desk, shim: Shim, tmp_path: Path) -> Callable[[Scene], Prepared]:
    """Prepares a scene in a repository with our hooks."""

    def prepare(scene: Scene) -> Prepared:
        put_in(desk, tmp_path / "bin")
        stage = Stage(scene, desk, shim, tmp_path)
        return stage, watch_git(scene, desk, tmp_path)

    return prepare


@pytest.mark.parametrize("scene", some(GIT_SCENES, QUICK), ids=lambda scene: scene.name)
def test_killed_at_some_steps(hooked: Callable[[Scene], Prepared], scene: Scene) -> None:
    """A few steps of all processes together, always the same ones; every process dies."""
    stage, model = hooked(scene)
    hits = 0
    for at in spread(len(stage.steps()), 3):
        desk = stage.copy()
        stepped = stage.run(desk, Fault(at))
        if stepped.said.code == -signal.SIGKILL:
            hits += 1
            print(f"killed at step {at}: {stepped.hit}")
            hold_git_killed(scene, model, desk)
    assert hits >= 1


@pytest.mark.deep
@pytest.mark.parametrize("scene", GIT_SCENES, ids=lambda scene: scene.name)
def test_killed_at_every_step(hooked: Callable[[Scene], Prepared], scene: Scene) -> None:
    """Every step of git, of the hooks, of ours and of the gits that we start."""
    stage, model = hooked(scene)
    states = stage.states()
    print(f"{states.steps} steps, {len(states.found)} states")
    for step, place in states.found.values():
        print(f"killed at step {step}")
        hold_git_killed(scene, model, Desk(GitRepo(place, env=stage.env)))
    assert len(states.found) > 5
