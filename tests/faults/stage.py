"""A scene, set up once, and copies of it to disturb."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

from afterwards import Model, copy_of, hold_untouched, watch
from desk import Desk
from scenes import Scene
from states import States
from steps import Fault, Stepped, Way, run_steps


class Stage:
    """A scene that was prepared: how it goes undisturbed, and copies of it to disturb."""

    def __init__(self, scene: Scene, desk: Desk, way: Way, scratch: Path) -> None:
        self.scene, self.way = scene, way
        self._desk, self._scratch, self._number = desk, scratch, 0
        self.env = desk.repo.env
        scene.prepare(desk)
        self.record = scratch / "steps"

    @functools.cached_property
    def model(self) -> Model:
        """How the scene goes when nothing is in its way."""
        return watch(self.scene, copy_of(self._desk, self._scratch / "model"), self._scratch)

    def copy(self) -> Desk:
        """Return a worktree in which the verb has not been typed yet."""
        self._number += 1
        return copy_of(self._desk, self._scratch / f"copy-{self._number}")

    def run(self, desk: Desk, fault: Fault) -> Stepped:
        """Run the scene's verb in a copy, with a fault at one of its steps."""
        return run_steps(self.way, desk, *self.scene.verb, record=self.record, fault=fault, git=self.scene.git)

    def states(self) -> States:
        """Return every state that the verb goes through; each is held to leave the user's own alone."""
        desk = self.copy()
        before = {} if self.scene.git else desk.repo.census()
        look = (lambda: None) if self.scene.git else (lambda: hold_untouched(self.scene, before, desk))
        states = States(desk.repo.path, self._scratch, look=look)
        stepped = run_steps(self.way, desk, *self.scene.verb, record=self.record, see=states.see, git=self.scene.git)
        assert stepped.said.code == self.scene.code, stepped.said.both
        assert states.steps == len(stepped.steps)
        return states

    def discard(self, *desks: Desk) -> None:
        """Remove copies that have shown what they had to; those of a test that fails stay to be looked at."""
        for desk in desks:
            shutil.rmtree(desk.repo.path)

    def steps(self, *, reads: bool = False, ours: bool = False) -> tuple[str, ...]:
        """Return the steps that the verb takes, or only those that are `ours`."""
        stepped = self.run(self.copy(), Fault(reads=reads, ours=ours))
        assert stepped.said.code == self.scene.code, stepped.said.both
        return stepped.steps


Prepare = Callable[[Scene], Stage]
