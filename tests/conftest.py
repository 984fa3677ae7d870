"""The seal: no test sees the machine's git configuration, identity, time zone or variables, and none leaks its own."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
if os.fspath(ROOT) not in sys.path:
    sys.path.insert(0, os.fspath(ROOT))  # also where the package is not installed

pytest.register_assert_rewrite("gitrepo", "desk", "gated", "engine")

from desk import Desk  # noqa: E402 - found beside this file
from gitrepo import GitRepo  # noqa: E402
from tools import OTHERS, TOOL_PATH, TOOLS  # noqa: E402

IN_CI = os.environ.get("CI") == "true"
"""Read before the seal takes it away."""

IDENTITY = """\
[user]
\tname = A U Thor
\temail = author@example.com
[init]
\tdefaultBranch = main
[protocol "file"]
\tallow = always
[gc]
\tauto = 0
"""
_TAKEN = (
    "CI", "COLUMNS", "DEBUG", "EDITOR", "EMAIL", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "PAGER",
    "PYTHONWARNINGS", "TERM", "VISUAL", "WORKSPACE", "XDG_CACHE_HOME", "XDG_DATA_HOME",
)  # fmt: skip
"""Variables that change what git, rich, typer or the fixtures do."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--deep`."""
    parser.addoption("--deep", action="store_true", help="also run the long tests, marked deep")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the deep tests out unless they are asked for."""
    if config.getoption("--deep") or "deep" in config.getoption("-m"):
        return
    deep = [item for item in items if item.get_closest_marker("deep")]
    if deep:
        config.hook.pytest_deselected(items=deep)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip loudly what needs a later git, or a tool that is not there; in CI the latter is a failure."""
    for marker in item.iter_markers("needs_git"):
        if _git_version() < marker.args:
            pytest.skip(f"needs git {marker.args[0]}.{marker.args[1]}; this is {_git_version()[0]}.{_git_version()[1]}")
    for marker, tool in TOOLS.items():
        if item.get_closest_marker(marker) and shutil.which(tool, path=TOOL_PATH) is None:
            tell_missing(f"{tool} is not on PATH")


@functools.cache
def _git_version() -> tuple[int, int]:
    told = subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout.split()[2]
    major, minor = told.split(".")[:2]
    return int(major), int(minor)


def tell_missing(reason: str) -> None:
    """Skip, or fail where CI promised that everything is there."""
    if IN_CI:
        pytest.fail(f"{reason}, and CI must have it", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def sealed_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give every test an empty home of its own, and nothing of the machine's environment that git looks at."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(IDENTITY)
    (home / ".config").mkdir()
    for name in list(os.environ):
        if name.startswith(("GIT_", "TASKCTX", "TASK_CONTEXT", "GITHUB_", "GITLAB_", "LC_")) or name in _TAKEN:
            monkeypatch.delenv(name)
    for name, value in {
        "HOME": os.fspath(home),
        "PATH": OTHERS,
        "XDG_CONFIG_HOME": os.fspath(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)
    old_umask = os.umask(0o022)
    if "pygit2" in sys.modules:
        _seal_pygit2(sys.modules["pygit2"], home)
    yield home
    os.umask(old_umask)


@pytest.fixture
def sealed_pygit2(sealed_home: Path) -> ModuleType:
    """pygit2, looking at the sealed home: libgit2 freezes HOME when it is imported."""
    import pygit2

    _seal_pygit2(pygit2, sealed_home)
    return pygit2


def _seal_pygit2(module: ModuleType, home: Path) -> None:
    places: dict[Any, Path] = {
        module.enums.ConfigLevel.GLOBAL: home,
        module.enums.ConfigLevel.XDG: home / ".config" / "git",
        module.enums.ConfigLevel.SYSTEM: home / "none",
    }
    for level, place in places.items():
        module.settings.search_path[level] = os.fspath(place)


@pytest.fixture
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """Provide an empty repository, made by pytest-git's fixture, behind our helper; what lies beside it is its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSPACE", os.fspath(tmp_path_factory.mktemp("work")))
        git_repo = request.getfixturevalue("git_repo")
    git_repo.api.close()
    return GitRepo(Path(git_repo.workspace))


@pytest.fixture
def desk(repo: GitRepo) -> Desk:
    """A worktree with one commit and nothing dirty."""
    repo.write("parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.commit("base")
    return Desk(repo)


@pytest.fixture
def begun(desk: Desk) -> Desk:
    """The same, with a context begun and the implementer at work."""
    desk.init()
    return desk
