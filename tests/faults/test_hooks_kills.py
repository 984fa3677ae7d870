"""SIGKILL at any step of `install` and `uninstall`: no hook of the user's is ever gone, and the next run mends it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from afterwards import copy_of, let_time_pass
from desk import Desk
from gitrepo import GitRepo
from states import States
from steps import Fault, Hook, Shim, run_steps, spread
from tiers import some

CHECK = '#!/bin/sh\n. "$(dirname "$0")/helper"\necho "$(basename "$0")" >>"$CHECKS"\n'
TRACKED = "--write-tracked"


Found = dict[str, tuple[bytes, int]]
"""Content and mode of files, by their paths."""


@dataclass(frozen=True)
class Case:
    """A repository with hooks, and how ours come in."""

    name: str
    prepare: Callable[[Desk], None]
    options: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """What only `install` is told."""
    checks: str = "pre-commit\nprepare-commit-msg\n"
    """What the user's hooks leave at a commit."""

    def words(self, verb: str) -> tuple[str, ...]:
        """Return the options of `install` or `uninstall`."""
        return (*self.options, *self.also) if verb == "install" else self.options


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


def _remote(desk: Desk) -> None:
    _plain(desk)
    desk.repo.git("remote", "add", "origin", "../nowhere")


CASES = (
    Case("plain", _plain),
    Case("shared", _shared),
    Case("tracked", _tracked, (TRACKED,)),
    Case("notes", _remote, also=("--notes", "origin")),
)


def there(desk: Desk) -> Found:
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


def ways(case: Case, desk: Desk, tmp_path: Path) -> list[tuple[str, Desk, Found, Found]]:
    """Return each verb with where it begins, and what is there after it and after the other one."""
    case.prepare(desk)
    before = there(desk)
    done = copy_of(desk, tmp_path / "done")
    done.ok("install", *case.words("install"))
    whole = there(done)
    return [("install", desk, whole, before), ("uninstall", done, before, whole)]


def finish(desk: Desk, *verb: str) -> None:
    """Run a verb to its end; where a killed git left its lock, by what the verb says of it."""
    said = desk.run(*verb)
    if said.code != 0:
        command = said.err.split("hint: ")[1].partition("   # ")[0]
        assert command.startswith("rm ") and command.endswith("config.lock"), said.err
        subprocess.run(["sh", "-c", command], check=True)
        desk.ok(*verb)


def hold_mended(case: Case, desk: Desk, verb: str, again: Found, other: Found) -> None:
    """Hold that the user's hooks all run in what a kill left, that the verb ends it, and that the other undoes it."""
    place = desk.repo.path
    assert checks(copy_of(desk, place.with_name(f"{place.name}-commit"))) == case.checks
    second = copy_of(desk, place.with_name(f"{place.name}-back"))
    back = "uninstall" if verb == "install" else "install"
    finish(desk, verb, *case.words(verb))
    assert _moved(there(desk), desk, again) == again
    finish(second, back, *case.words(back))
    assert _moved(there(second), second, other) == other


def _moved(found: Found, desk: Desk, expected: Found) -> Found:
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
    for verb, start, again, other in ways(case, desk, tmp_path):
        counting = copy_of(start, tmp_path / f"count-{verb}")
        counted = run_steps(Hook(), counting, verb, *case.words(verb), record=tmp_path / "steps")
        for at in spread(len(counted.steps), 4):
            one = copy_of(start, tmp_path / f"{verb}-{at}")
            stepped = run_steps(Hook(), one, verb, *case.words(verb), record=tmp_path / "steps", fault=Fault(at))
            assert stepped.said.code == -signal.SIGKILL, stepped.said.both
            print(f"killed at {stepped.hit}")
            hold_mended(case, one, verb, again, other)


@pytest.mark.deep
@pytest.mark.needs_gcc
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_killed_at_every_step(case: Case, desk: Desk, tmp_path: Path, shim: Shim) -> None:
    """Every step of both verbs, and of the gits that write the configuration."""
    for verb, start, again, other in ways(case, desk, tmp_path):
        one = copy_of(start, tmp_path / f"{verb}-one")
        states = States(one.repo.path, tmp_path, verb)
        stepped = run_steps(shim, one, verb, *case.words(verb), record=tmp_path / "steps", see=states.see)
        assert stepped.said.code == 0
        for step, place in states.found.values():
            print(f"{verb} killed at {step}")
            desk = Desk(GitRepo(place))
            let_time_pass(desk)
            hold_mended(case, desk, verb, again, other)
        assert len(states.found) > 5


def everywhere(desk: Desk) -> dict[str, bytes]:
    """Return the files of the home folder that lies in the repository's own."""
    home = desk.repo.at("home")
    return {os.fspath(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("points", [4, pytest.param(1000, marks=pytest.mark.deep)], ids=["some", "all"])
def test_killed_while_it_installs_everywhere(desk: Desk, tmp_path: Path, sealed_home: Path, points: int) -> None:
    """`install --global`: git makes repositories and commits as ever, and the next run, or its removal, is whole."""
    desk.repo.write("home/.gitconfig", (sealed_home / ".gitconfig").read_text())
    plain, verb, steps = everywhere(desk), ("install", "--global"), tmp_path / "steps"

    def put(name: str) -> Desk:
        one = copy_of(desk, tmp_path / name)
        one.repo.env["HOME"] = os.fspath(one.repo.at("home"))
        return one

    counted = put("count")
    number = len(run_steps(Hook(), counted, *verb, record=steps).steps)
    for at in spread(number, points):
        one = put(f"{at}")
        stepped = run_steps(Hook(), one, *verb, record=steps, fault=Fault(at))
        assert stepped.said.code == -signal.SIGKILL, stepped.said.both
        new = one.repo.at("new")
        one.repo.git("init", "-q", os.fspath(new))
        one.repo.git("commit", "-q", "--allow-empty", "-m", "try", cwd=new)
        assert one.process(*verb).code == 0, stepped.hit
        assert everywhere(one).keys() == everywhere(counted).keys(), stepped.hit
        assert one.process("uninstall", "--global").code == 0
        assert everywhere(one) == plain, stepped.hit
