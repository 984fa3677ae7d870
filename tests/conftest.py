"""The seal: no test sees the machine's git configuration, identity, time zone or variables, and none leaks its own."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
if os.fspath(ROOT) not in sys.path:
    sys.path.insert(0, os.fspath(ROOT))  # also where the package is not installed
sys.dont_write_bytecode = False  # whatever the user has said: some thousand processes compile each module once

pytest.register_assert_rewrite("gitrepo", "desk", "gated", "engine", "following")

import prepared  # noqa: E402 - found beside this file
import tiers  # noqa: E402
from desk import Desk  # noqa: E402
from gitrepo import GitRepo  # noqa: E402
from prepared import fill  # noqa: E402
from tools import IN_CI, OTHERS, TOOL_PATH, TOOLS  # noqa: E402

IDENTITY = """\
[user]
\tname = A U Thor
\temail = author@example.com
[init]
\tdefaultBranch = main
[protocol "file"]
\tallow = always
[maintenance]
\tauto = false
[receive]
\tautogc = false
"""
settings.register_profile(
    "usual", deadline=None, derandomize=True, database=None, max_examples=25, suppress_health_check=list(HealthCheck)
)  # the same examples each time: a gate that fails, fails again
settings.register_profile("deep", settings.get_profile("usual"), derandomize=False, max_examples=1000)
_MEMORY = Path("/dev/shm")
"""A disk in memory, where there is one: half a million small files are written, and removed."""
_TAKEN = (
    "CI", "COLUMNS", "DEBUG", "EDITOR", "EMAIL", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "PAGER",
    "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "TERM", "VISUAL", "WORKSPACE", "XDG_CACHE_HOME", "XDG_DATA_HOME",
)  # fmt: skip
"""Variables that change what git, rich, typer or the fixtures do."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for each tier that is not the usual one."""
    parser.addoption("--quick", action="store_true", help="run what touches no disk, and what is marked quick")
    parser.addoption("--deep", action="store_true", help="also run the long tests, marked deep")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples of the tier, and where tests write; have what they start heed every signal.

    That is so also where the suite itself is to ignore some (`nohup`, `&` in sh): what is ignored stays ignored in a
    new program; what has a handler does not (execve(2)). xdist's controller starts its workers alone, and they are to
    ignore what it ignores.
    """
    tiers.deep = config.getoption("--deep")
    settings.load_profile("deep" if config.getoption("--deep") else "usual")
    if _MEMORY.is_dir() and not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(_MEMORY).free > 6 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", os.fspath(_MEMORY))
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is of another tier."""
    asked = config.getoption("-m")
    deep, quick = config.getoption("--deep") or "deep" in asked, config.getoption("--quick")
    left_out = {item for item in items if (_is(item, "deep") and not deep) or (quick and not _is_quick(item))}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _is_quick(item: pytest.Item) -> bool:
    touches_disk = not {"repo", "tmp_path"}.isdisjoint(getattr(item, "fixturenames", ()))
    return _is(item, "quick") or not (touches_disk or _is(item, "slow"))


def _is(item: pytest.Item, marker: str) -> bool:
    return item.get_closest_marker(marker) is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip loudly what needs a later git, or a tool that is not there; in CI the latter is a failure."""
    for marker in item.iter_markers("needs_git"):
        if _git_version() < marker.args:
            pytest.skip(f"needs git {marker.args[0]}.{marker.args[1]}; this is {_git_version()[0]}.{_git_version()[1]}")
    if sys.platform != "linux" and item.get_closest_marker("needs_linux"):
        pytest.skip("needs Linux")
    for marker, tool in TOOLS.items():
        if item.get_closest_marker(marker) and shutil.which(tool, path=TOOL_PATH) is None:
            if IN_CI:
                pytest.fail(f"{tool} is not on PATH, and CI must have it", pytrace=False)
            pytest.skip(f"{tool} is not on PATH")


@functools.cache
def _git_version() -> tuple[int, int]:
    told = subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout.split()[2]
    major, minor = told.split(".")[:2]
    return int(major), int(minor)


_numbers = itertools.count()
_places: list[Path] = []
"""All that `_own_place` made."""


def _own_place(factory: pytest.TempPathFactory, kind: str) -> Path:
    # pytest's mktemp lists the whole folder for the next number: with thousands of tests that is most of its time.
    place = factory.getbasetemp() / kind / str(next(_numbers))
    place.mkdir(parents=True)
    _places.append(place)
    return place


@pytest.fixture(autouse=True)
def sealed_home(
    followed_hints: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give every test an empty home of its own, and nothing of the machine's environment that git looks at."""
    prepared.folder = tmp_path_factory.getbasetemp() / "templates"
    home = _own_place(tmp_path_factory, "homes")
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


@pytest.fixture(autouse=True)
def unsynced(sealed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no test wait for the disk, as in git's own suite (t/test-lib.sh); those of `faults` do."""
    monkeypatch.setenv("GIT_TEST_FSYNC", "0")
    monkeypatch.setattr(os, "fsync", lambda _: None)


UNFOLLOWED = {
    "benchmarks": "they measure",
    "compat": "git is asked there, not us",
    "faults": "every file there may be the one that cannot be read or written",
    "hooks": "a stand-in takes our place",
    "pipeline": "agents run there, on other paths",
    "stateful": "its own model follows",
}
"""Rooms whose states cannot be put aside, or say nothing of ours, and why."""


@pytest.fixture(autouse=True)
def followed_hints(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Type what is shown in these tests: a line of each kind once in a run, and every line with `--deep`."""
    room = request.path.relative_to(ROOT / "tests").parts[0]
    unfollowed = room in UNFOLLOWED or request.node.get_closest_marker("unfollowed")
    if unfollowed or request.config.getoption("--quick"):
        return
    from following import Follower

    base, before = tmp_path_factory.getbasetemp(), len(_places)
    marks = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "followed"
    marks.mkdir(exist_ok=True)
    own = [request.getfixturevalue("tmp_path")] if "tmp_path" in request.fixturenames else []
    follower = Follower(base, lambda: [*_places[before:], *own], marks, every=request.config.getoption("--deep"))
    monkeypatch.setattr(Desk, "follower", follower)


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
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """Provide an empty repository; what lies beside it is its own."""
    repo = GitRepo(_own_place(tmp_path_factory, "repositories") / "repo")
    fill(repo, nothing)
    return repo


def nothing(repo: GitRepo) -> None:
    """Leave a new repository as it is."""


def one_commit(repo: GitRepo) -> None:
    """Commit two files."""
    repo.write("parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.commit("base")


def task_begun(repo: GitRepo) -> Desk:
    """Begin a task on that commit."""
    one_commit(repo)
    desk = Desk(repo)
    desk.init()
    return desk


def work_recorded(repo: GitRepo) -> None:
    """Have the implementer edit and snapshot."""
    task_begun(repo).implement()


def work_reviewed(repo: GitRepo) -> None:
    """Have the reviewer approve what the implementer left."""
    task_begun(repo).to_reviewer()


def work_validated(repo: GitRepo) -> None:
    """Have every agent approve it."""
    task_begun(repo).validate()


STATES = {
    "begun": task_begun,
    "implemented": work_recorded,
    "reviewed": work_reviewed,
    "validated": work_validated,
}


@pytest.fixture
def desk(request: pytest.FixtureRequest, repo: GitRepo) -> Desk:
    """A worktree with one commit and nothing dirty, or in the state whose fixture a test asks for."""
    fill(repo, next((STATES[name] for name in request.fixturenames if name in STATES), one_commit))
    return Desk(repo)


@pytest.fixture
def begun(desk: Desk) -> Desk:
    """The same, with a context begun and the implementer at work."""
    return desk


@pytest.fixture
def implemented(desk: Desk) -> Desk:
    """The implementer has edited the parser and left a snapshot."""
    return desk


@pytest.fixture
def reviewed(desk: Desk) -> Desk:
    """The reviewer has approved it too."""
    return desk


@pytest.fixture
def validated(desk: Desk) -> Desk:
    """Every agent has approved it."""
    return desk
