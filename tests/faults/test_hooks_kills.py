"""SIGKILL at any step of `install` and `uninstall`: no hook of the user's is ever gone, and the next run mends it."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from afterwards import copy_of
from desk import Desk
from steps import Fault, Hook, run_steps, some, spread

CHECK = '#!/bin/sh\n. "$(dirname "$0")/helper"\necho "$(basename "$0")" >>"$CHECKS"\n'
TRACKED = "--write-tracked"


@dataclass(frozen=True)
class Case:
    """A repository with hooks, and how ours come in."""

    name: str
    prepare: Callable[[Desk], None]
    options: tuple[str, ...] = ()
    checks: str = "pre-commit\nprepare-commit-msg\n"
    """What the user's hooks leave at a commit."""


def _scripts(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("pre-commit", "prepare-commit-msg", "post-merge"):
        (folder / name).write_text(CHECK)
        (folder / name).chmod(0o750)
    (folder / "helper").write_text("true\n")


def _plain(desk: Desk) -> None:
    _scripts(desk.repo.common_dir() / "hooks")


def _shared(desk: Desk) -> None:
    folder = desk.repo.path.parent / f"{desk.repo.path.name}-shared"
    _scripts(folder)
    desk.repo.git("config", "--global", "core.hooksPath", os.fspath(folder))


def _tracked(desk: Desk) -> None:
    _scripts(desk.repo.at("githooks"))
    desk.repo.commit("hooks")
    desk.repo.config("core.hooksPath", "githooks")


CASES = (Case("plain", _plain), Case("shared", _shared), Case("tracked", _tracked, (TRACKED,)))


def there(desk: Desk) -> dict[str, tuple[bytes, int]]:
    """Return everything that has to do with hooks, relative to the repository."""
    common = desk.repo.common_dir()
    places = [
        common / "config",
        *common.glob("hooks*/**/*"),
        *common.glob("taskctx-hooks*"),
        *common.glob("taskctx-hooks*/*"),
    ]
    places += desk.repo.at("githooks").glob("*")
    return {
        os.fspath(path.relative_to(desk.repo.path)): (
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes(),
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in places
        if path.suffix != ".sample" and (path.is_symlink() or path.is_file())
    }


def checks(desk: Desk) -> str:
    """Commit, and return what the user's hooks left."""
    record = desk.repo.path.parent / "checks"
    record.unlink(missing_ok=True)
    desk.repo.git("commit", "-q", "--allow-empty", "-m", "try", env={"CHECKS": os.fspath(record)})
    return record.read_text()


def kill_everywhere(case: Case, desk: Desk, tmp_path: Path, points: Callable[[int], Sequence[int]]) -> int:
    """Kill `install` and `uninstall` at the given steps, in a fresh copy each, and hold what must be true."""
    case.prepare(desk)
    before = there(desk)
    done = copy_of(desk, tmp_path / "done")
    done.ok("install", *case.options)
    whole = there(done)
    hits = 0
    for verb, start, again, other in (
        ("install", desk, whole, before),
        ("uninstall", done, before, whole),
    ):
        counted = run_steps(
            Hook(), copy_of(start, tmp_path / f"count-{verb}"), verb, *case.options, record=tmp_path / "steps"
        )
        for at in points(len(counted.steps)):
            one = copy_of(start, tmp_path / f"{verb}-{at}")
            stepped = run_steps(Hook(), one, verb, *case.options, record=tmp_path / "steps", fault=Fault(at))
            assert stepped.said.code == -signal.SIGKILL, stepped.said.both
            hits += 1
            assert checks(copy_of(one, tmp_path / f"{verb}-{at}-commit")) == case.checks, stepped.hit
            second = copy_of(one, tmp_path / f"{verb}-{at}-back")
            one.ok(verb, *case.options)
            assert _moved(there(one), one, again) == again, stepped.hit
            second.ok("uninstall" if verb == "install" else "install", *case.options)
            assert _moved(there(second), second, other) == other, stepped.hit
    return hits


def _moved(
    found: dict[str, tuple[bytes, int]], desk: Desk, expected: dict[str, tuple[bytes, int]]
) -> dict[str, tuple[bytes, int]]:
    """Return what was found as it would be where `expected` is from: the path of our own folder is absolute."""
    config = expected[".git/config"][0]
    at = config.find(b"hooksPath = /")
    if at < 0:
        return found
    named = Path(os.fsdecode(config[at:].split(b"= ", 1)[1].split(b"\n", 1)[0])).parent.parent
    text, mode = found[".git/config"]
    return {**found, ".git/config": (text.replace(os.fsencode(desk.repo.path), os.fsencode(named)), mode)}


@pytest.mark.parametrize("case", some(CASES, CASES[:1]), ids=lambda case: case.name)
def test_killed_at_some_steps(case: Case, desk: Desk, tmp_path: Path) -> None:
    """A few steps of both verbs, always the same ones."""
    assert kill_everywhere(case, desk, tmp_path, lambda count: spread(count, 4)) == 8


@pytest.mark.deep
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_killed_at_every_step(case: Case, desk: Desk, tmp_path: Path) -> None:
    """Every step of both verbs, as Python tells them."""
    assert kill_everywhere(case, desk, tmp_path, lambda count: range(1, count + 1)) > 20
