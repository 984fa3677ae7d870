"""SIGKILL before any step that writes: the context is as it was or as it should be, and work goes on."""

from __future__ import annotations

import signal

import pytest
from afterwards import copy_of, hold_again, hold_reading, hold_untouched, let_time_pass
from desk import Desk
from gitrepo import GitRepo
from records import added, read_records
from scenes import QUICK, SCENES, Scene
from stage import Prepare, Stage
from states import key_beside
from steps import Fault, Stepped, spread
from tiers import some

every_scene = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)


def kill(stage: Stage, at: int, kind: str) -> tuple[Desk, Stepped]:
    """Kill the verb at a step, in a fresh copy, and hold that the user's own is as it was."""
    desk = stage.copy()
    before = desk.repo.census()
    stepped = stage.run(desk, Fault(at, kind))
    if stepped.said.code == -signal.SIGKILL:
        hold_untouched(stage.scene, before, desk)
    else:  # steps of processes side by side: it took one less this time
        assert stepped.said.code == stage.scene.code, stepped.said.both
    return desk, stepped


def hold_going_on(stage: Stage, desk: Desk) -> None:
    """Hold that what a kill left reads, and that the next verb, and the same one again, work."""
    let_time_pass(desk)
    reader = copy_of(desk, desk.repo.path.with_name("reader"))
    hold_reading(stage.model, reader)
    hold_again(stage.scene, stage.model, desk)
    stage.discard(reader, desk)


@pytest.mark.parametrize("scene", some(QUICK, QUICK[1:4:2]), ids=lambda scene: scene.name)
def test_killed_at_some_steps_of_its_own(stage: Prepare, scene: Scene) -> None:
    """A few of the steps that the verb's own process takes, always the same ones; deep runs have more verbs."""
    prepared, hits = stage(scene), 0
    for at in spread(len(prepared.steps()), 2):
        desk, stepped = kill(prepared, at, "kill")
        if stepped.said.code == -signal.SIGKILL:
            print(f"killed at step {at}: {stepped.steps[-1:]}")
            hits += 1
            hold_going_on(prepared, desk)
    assert hits >= 1


@pytest.mark.needs_gcc
@pytest.mark.parametrize("scene", some(SCENES, QUICK[1:2]), ids=lambda scene: scene.name)
def test_what_a_kill_leaves_is_what_stood_there(stage: Prepare, scene: Scene) -> None:
    """What the next test rests on: a real SIGKILL of every process leaves one of the states that a run goes through."""
    prepared = stage(scene)
    start = prepared.copy().repo.path
    states = prepared.states()
    known = {key_beside(place, start) for _, place in states.found.values()}
    hits = 0
    for at in spread(states.steps, 4):
        desk, stepped = kill(prepared, at, "kill")
        hits += stepped.said.code == -signal.SIGKILL
        assert stepped.said.code == scene.code or key_beside(desk.repo.path, start) in known, stepped.steps[-1]
    assert hits >= 2


@pytest.mark.deep
@pytest.mark.needs_gcc
@every_scene
def test_killed_with_all_its_gits_at_every_step(stage: Prepare, scene: Scene) -> None:
    """Every step of every process, git's included: all die at once, as when the machine stops."""
    prepared = stage(scene)
    states = prepared.states()
    print(f"{states.steps} steps, {len(states.found)} states")
    for step, place in states.found.values():
        print(f"killed at step {step}")
        hold_going_on(prepared, Desk(GitRepo(place)))
    assert len(states.found) > 1


@pytest.mark.deep
@pytest.mark.needs_gcc
@every_scene
def test_killed_alone_while_a_git_works_on(stage: Prepare, scene: Scene) -> None:
    """The verb's own process dies, and the git that it had started finishes what it was told."""
    prepared, hits, known = stage(scene), 0, set()
    start = prepared.copy().repo
    steps = range(1, len(prepared.steps()) + 1, 5)
    for at in steps:
        desk, stepped = kill(prepared, at, "alone")
        hits += stepped.said.code == -signal.SIGKILL
        left = tuple(added(prepared.model.before, read_records(desk.repo))), key_beside(desk.repo.path, start.path)
        if stepped.said.code != -signal.SIGKILL or left in known:
            prepared.discard(desk)
            continue
        known.add(left)
        print(f"killed at step {at}: {stepped.steps[-1:]}")
        hold_going_on(prepared, desk)
    print(f"{hits} kills, {len(known)} states")
    assert hits >= len(steps) - 2
