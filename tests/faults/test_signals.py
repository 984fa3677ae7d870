"""Ctrl-C, SIGTERM, SIGHUP: an end in order, as git's own commands have it; nothing is left of what was going on."""

from __future__ import annotations

import signal
from collections.abc import Sequence

import pytest
from afterwards import hold_again, hold_untouched, leftovers
from records import added, read_records
from scenes import SCENES, Scene
from stage import Prepare, Stage
from states import key_beside
from steps import Fault, of_each_kind, spread

pytestmark = pytest.mark.needs_gcc
QUICK = tuple(scene for scene in SCENES if scene.name in ("snapshot", "seal", "switch"))
CODES = {signal.SIGINT: 130, signal.SIGTERM: -signal.SIGTERM, signal.SIGHUP: -signal.SIGHUP}


def stop_at(stage: Stage, steps: Sequence[int], number: signal.Signals) -> int:
    """Send a signal to the verb's group at each of these steps; hold that it ends in order, and count those it ended.

    What two of them leave alike is gone on with once.
    """
    start, scene = stage.copy().repo.path, stage.scene
    known: set[object] = set()
    stopped = 0
    for at in steps:
        desk = stage.copy()
        before = desk.repo.census()
        stepped = stage.run(desk, Fault(at, -number))
        said = stepped.said
        print(f"{number.name} at step {at}, {stepped.hit}: {said.code} {said.err!r}")
        stopped += said.code == CODES[number]
        assert said.code in (CODES[number], scene.code), said.both
        assert "Exception ignored" not in said.err
        if said.code != scene.code:
            assert said.err.strip() == "", said.err
        hold_untouched(scene, before, desk)
        assert leftovers(desk) == []
        assert [place for place in desk.repo.git_dir().rglob("*.lock") if place.is_file()] == []
        left = tuple(added(stage.model.before, read_records(desk.repo))), key_beside(desk.repo.path, start)
        if left not in known:
            known.add(left)
            hold_again(scene, stage.model, desk)
        stage.discard(desk)
    print(f"{len(steps)} steps, {stopped} ends, {len(known)} states")
    return stopped


@pytest.mark.parametrize(
    ("scene", "number"),
    [
        *zip(QUICK, CODES, strict=True),
        *(pytest.param(scene, number, marks=pytest.mark.deep) for scene in SCENES for number in CODES),
    ],
    ids=lambda value: value.name,
)  # fmt: skip
def test_stopped_at_some_steps(stage: Prepare, scene: Scene, number: signal.Signals) -> None:
    """A few steps of all processes together, always the same ones; deep runs have every signal for every verb."""
    prepared = stage(scene)
    assert stop_at(prepared, spread(len(prepared.steps()), 2), number) >= 1


@pytest.mark.deep
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_interrupted_at_every_step(stage: Prepare, scene: Scene) -> None:
    """Ctrl-C at each kind of step."""
    prepared = stage(scene)
    assert stop_at(prepared, of_each_kind(prepared.steps()), signal.SIGINT) >= 1
