"""A disk that fails under our hooks: a gate says so in its three lines, and any other hook lets git go on."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Sequence

import pytest
from afterwards import let_time_pass
from afterwards_of_git import GitModel, PrepareGit, hold_verbs
from git_scenes import GIT_SCENES
from records import added, read_records
from scenes import Scene
from stage import Stage
from states import key_beside
from steps import Fault, Stepped, of_each_kind, spread
from tiers import some

pytestmark = pytest.mark.needs_gcc
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EMFILE)
SCENES = tuple(scene for scene in GIT_SCENES if scene.name not in ("return", "merge", "merge --ff", "push"))
"""Those in which we write."""
QUICK = tuple(scene for scene in SCENES if scene.name in ("commit", "switch"))


def hold_said(scene: Scene, stepped: Stepped) -> None:
    """Hold that git did what it was told, or was stopped by a gate that says why, which paths, and what to type."""
    said = stepped.said
    words = [line.partition(": ")[0] for line in said.err.splitlines()]
    assert "bug" not in said.err, said.err
    if scene.code == 0 and said.code == 0:
        assert "error" not in words, said.err
        assert words.count("warning") <= 2, said.err
    else:
        assert words in (["error", "paths", "hint"], ["error", "paths"], ["error", "hint", "error"]), said.err


def fail_at_all(stage: Stage, model: GitModel, steps: Sequence[int], errors: Sequence[int]) -> int:
    """Let our processes fail at each of these steps, with the errors in turn; hold what must be true, count the hits.

    What two of them leave alike is gone on with once.
    """
    start, scene = stage.copy().repo.path, stage.scene
    known: set[object] = set()
    hits = 0
    for at, error in zip(steps, itertools.cycle(errors)):
        desk = stage.copy()
        stepped = stage.run(desk, Fault(at, error, ours=True))
        print(f"{errno.errorcode[error]} at step {at}, {stepped.hit}: {stepped.said.code} {stepped.said.err!r}")
        hits += stepped.hit is not None
        hold_said(scene, stepped)
        there = added(model.before, read_records(desk.repo))
        assert there == model.types[: len(there)]
        left = tuple(there), key_beside(desk.repo.path, start)
        if left not in known:
            known.add(left)
            assert desk.repo.git("fsck", "--no-dangling") == ""
            let_time_pass(desk)
            hold_verbs(model, desk)
        stage.discard(desk)
    print(f"{len(steps)} steps, {hits} hits, {len(known)} states")
    return hits


@pytest.mark.parametrize("scene", some(SCENES, QUICK), ids=lambda scene: scene.name)
def test_failing_at_some_steps(hooked: PrepareGit, scene: Scene) -> None:
    """A few steps, always the same ones; `hooks.fail_closed` is about bugs of ours, and decides nothing here."""
    stage, model = hooked(scene, ("taskctx.hooks.failClosed", str(scene.name == "switch").lower()))
    assert fail_at_all(stage, model, spread(len(stage.steps(ours=True)), 3), ERRORS) >= 2


@pytest.mark.deep
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_failing_at_every_step(hooked: PrepareGit, scene: Scene) -> None:
    """Each kind of step of our processes, and of the gits that they start."""
    stage, model = hooked(scene)
    steps = of_each_kind(stage.steps(ours=True))
    assert fail_at_all(stage, model, steps, ERRORS) >= len(steps) // 2
