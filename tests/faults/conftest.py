"""A worktree for verbs to be stopped in, and what stops them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("records", "steps", "states", "afterwards", "afterwards_of_git", "stage")

from afterwards_of_git import GitModel, PrepareGit, watch_git  # noqa: E402 - found beside the tests
from desk import Desk  # noqa: E402
from git_scenes import put_in  # noqa: E402
from gitrepo import GitRepo  # noqa: E402
from prepared import fill  # noqa: E402
from scenes import Scene  # noqa: E402
from stage import Stage  # noqa: E402
from steps import HERE, Hook, Shim, Way  # noqa: E402


@pytest.fixture(autouse=True)
def unsynced() -> None:
    """Have every write reach the disk: that is what is tested here."""


def three_files(repo: GitRepo) -> None:
    """Commit three files."""
    for path in ("parser.py", "README", "tool"):
        repo.write(path, f"{path}\n")
    repo.commit("base")


def task_begun(repo: GitRepo) -> None:
    """Begin a task on that commit."""
    three_files(repo)
    Desk(repo).init()


@pytest.fixture
def desk(request: pytest.FixtureRequest, repo: GitRepo) -> Desk:
    """A worktree with one commit and nothing dirty."""
    fill(repo, task_begun if "begun" in request.fixturenames else three_files)
    return Desk(repo)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    """The library that sees every step of every process; for tests that are marked `needs_gcc`."""
    library = tmp_path_factory.mktemp("shim") / "steps.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "steps.c", "-ldl"], check=True)
    return Shim(library)


@pytest.fixture
def way(request: pytest.FixtureRequest) -> Way:
    """How steps are seen: by the shim where a test asks for it, else by Python's own hook."""
    if request.node.get_closest_marker("needs_gcc"):
        found: Shim = request.getfixturevalue("shim")
        return found
    return Hook()


@pytest.fixture
def hooked(desk: Desk, shim: Shim, tmp_path: Path) -> PrepareGit:
    """Prepares a scene of git's in a repository with our hooks, and with settings."""

    def prepare(scene: Scene, *settings: tuple[str, str]) -> tuple[Stage, GitModel]:
        put_in(desk, tmp_path / "bin")
        for setting in settings:
            desk.repo.config(*setting)
        stage = Stage(scene, desk, shim, tmp_path)
        return stage, watch_git(scene, desk, tmp_path)

    return prepare


@pytest.fixture
def stage(desk: Desk, way: Way, tmp_path: Path) -> Callable[[Scene], Stage]:
    """Prepares a scene."""
    return lambda scene: Stage(scene, desk, way, tmp_path)
