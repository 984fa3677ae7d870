"""Servers with a validated change on them, each made once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ci.platforms import Server
from gitrepo import GitRepo
from proof.scene import NOTES, Scene
from proof.test_attacks import signed_scene

EVERY = "[proof]\nscope = 'every'\n"


def plain(folder: Path) -> Scene:
    """A task on `topic`, done and sealed."""
    return Scene.sealed(folder)


def signed(folder: Path) -> Scene:
    """The same, where records must be signed."""
    return _validated(signed_scene(folder)[0])


def after_others(folder: Path) -> Scene:
    """Every commit must be proved; `topic` is a chain of tasks, and `main` went on meanwhile."""
    scene = Scene(folder, policy=EVERY)
    scene.validate()
    scene.seal()
    for number in range(2):
        scene.desk.ok("init", f"TASK-{number + 2}", "--title", "more")
        scene.repo.write("other.py", f"{number}\n")
        for agent in ("implementer", "reviewer"):
            scene.desk.ok("snapshot", "--agent", agent)
        scene.desk.ok("snapshot", "--agent", "validator", "--done")
        scene.seal()
    scene.repo.git("branch", "whole")
    for number in range(3):
        scene.move_main(f"elsewhere{number}.py")
    return scene


def with_a_gap(folder: Path) -> Scene:
    """Every commit must be proved; below the task lies one that nobody validated."""
    scene = Scene(folder, policy=EVERY)
    scene.repo.checkout("-b", "topic")
    scene.repo.write("unseen.py", "nobody looked at it\n")
    scene.repo.commit("unseen")
    scene.repo.checkout("-B", "start")
    scene.repo.git("branch", "-D", "topic")
    scene.validate()
    scene.seal()
    return scene


def loosened(folder: Path) -> Scene:
    """The base names three agents; the change names one, which approves it alone."""
    scene = Scene(folder, policy="agents = ['implementer', 'reviewer', 'validator']\n")
    scene.repo.checkout("-b", "topic")
    scene.desk.ok("init", "TASK-1", "--title", "Mend the parser", "--agents", "dev")
    scene.repo.write(".taskctx.toml", "agents = ['dev']\n")
    scene.desk.ok("snapshot", "--agent", "dev", "--done")
    scene.seal()
    return scene


def stale(folder: Path) -> Scene:
    """The notes that were pushed end before the commit was sealed."""
    scene = plain(folder)
    scene.repo.git("update-ref", NOTES, scene.stale)
    return scene


def _validated(scene: Scene) -> Scene:
    assert scene.done
    return scene


KINDS = {build.__name__: build for build in (plain, signed, after_others, with_a_gap, loosened, stale)}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where the servers lie that were made already."""
    return {}


@pytest.fixture
def server(made: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Server]:
    """Return a server of a kind, to do with as one likes."""

    def serve(kind: str = "plain", name: str = "platform") -> Server:
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            (folder / "scene").mkdir()
            scene = KINDS[kind](folder / "scene")
            bare = GitRepo.init(folder / "made" / "server.git", "--bare")
            bare.config("uploadpack.allowReachableSHA1InWant", "true")
            bare.config("uploadpack.allowTipSHA1InWant", "true")
            address = os.fspath(bare.path)
            scene.repo.git("push", "-q", address, "main", "topic", f"{NOTES}:{NOTES}")
            made[kind] = folder / "made"
        return Server(tmp_path / name, made[kind])

    return serve
