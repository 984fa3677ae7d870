"""A file that changes while it is read: what is recorded is a state that there was, or nothing is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from afterwards import leftovers
from desk import Desk
from records import added, read_records
from scenes import Scene
from stage import Prepare, Stage
from steps import Fault, of_each_kind, run_steps, spread
from tiers import some

FILE = "parser.py"
CHANGES = {
    "truncated": "printf '' >parser.py",
    "torn": "printf 'mend' >parser.py",
    "overwritten": "printf 'MENDED\\n' >parser.py",
    "grown": "seq 100000 >>parser.py",
    "replaced": "printf 'another\\n' >other && mv other parser.py",
    "deleted": "rm parser.py",
    "a FIFO": "rm parser.py && mkfifo parser.py",
    "a folder": "rm parser.py && mkdir parser.py && echo inner >parser.py/inner",
    "a link": "rm parser.py && ln -s /etc/passwd parser.py",
    "a dangling link": "rm parser.py && ln -s /nonexistent parser.py",
}
SNAPSHOT = ("snapshot", "--agent", "implementer")


def _edited(desk: Desk) -> None:
    desk.init()
    desk.repo.write(FILE, "mended\n")
    desk.repo.write("new.py", "new\n")


def _filtered(desk: Desk) -> None:
    desk.repo.write(".gitattributes", "*.py filter=up\n")
    desk.repo.config("filter.up.clean", "tr a-z A-Z")
    _edited(desk)


ENGINES = {"fast": Scene("fast", _edited, SNAPSHOT), "exact": Scene("exact", _filtered, SNAPSHOT)}


def change_at(stage: Stage, at: int, change: str, script: Path) -> int:
    """Run the snapshot, with a change before one of its steps; hold what must be true, and return how it ended."""
    desk = stage.copy()
    script.write_text(f"#!/bin/sh\ncd '{desk.repo.path}' && {CHANGES[change]}\n")
    script.chmod(0o755)
    was, before = desk.repo.oracle(), read_records(desk.repo)
    fault = Fault(at, os.fspath(script), reads=True)
    stepped = run_steps(stage.way, desk, *SNAPSHOT, record=stage.record, fault=fault)
    print(f"{change} at step {at}, {stepped.hit}: {stepped.said.code} {stepped.said.err!r}")
    assert stepped.hit is not None
    recorded = added(before, read_records(desk.repo))
    if stepped.said.code == 0:
        assert recorded == ["snapshot"]
        [chain] = read_records(desk.repo).values()
        if change == "a FIFO":
            desk.repo.remove(FILE)  # as it was for a moment, and as git can tell
        assert chain[-1]["tree"] in {was, desk.repo.oracle()}
    else:
        assert stepped.said.code in (75, 128), stepped.said.both
        assert stepped.said.err.startswith("error: "), stepped.said.err
        assert recorded == []
    _go_on(desk)
    stage.discard(desk)
    return stepped.said.code


def _go_on(desk: Desk) -> None:
    """Hold that with a plain file in its place again all is as ever."""
    place = desk.repo.at(FILE)
    if place.is_symlink() or place.exists():
        desk.repo.remove(FILE)
    desk.repo.write(FILE, "mended at last\n")
    assert desk.ok("get").err == ""
    desk.ok("snapshot", "--agent", "implementer")
    assert desk.seat("implementer")["worktree_snapshot"]["tree"] == desk.repo.oracle()
    desk.ok("verify", "--exact")
    assert leftovers(desk) == []
    assert desk.repo.git("fsck", "--no-dangling") == ""


def _around_reading(steps: tuple[str, ...]) -> list[int]:
    """Return the steps at which the file is first opened, and the one after; others where nobody sees it opened."""
    found = [number for number, step in enumerate(steps, 1) if step == f"open /{FILE}"]
    return [found[0], found[0] + 1] if found else spread(len(steps), 2)


@pytest.mark.parametrize("change", some(CHANGES, ("torn", "deleted", "a FIFO")))
def test_changed_around_its_reading(stage: Prepare, tmp_path: Path, change: str) -> None:
    """Just before the file is opened, when git has said what it is, and just after."""
    prepared = stage(ENGINES["fast"])
    desk = prepared.copy()
    steps = run_steps(prepared.way, desk, *SNAPSHOT, record=prepared.record, fault=Fault(reads=True)).steps
    for at in _around_reading(steps):
        change_at(prepared, at, change, tmp_path / "change")


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("change", CHANGES)
def test_changed_at_every_step(stage: Prepare, tmp_path: Path, change: str, engine: str) -> None:
    """At every third moment of a snapshot, in either engine."""
    prepared = stage(ENGINES[engine])
    for at in of_each_kind(prepared.steps(reads=True))[::3]:
        change_at(prepared, at, change, tmp_path / "change")


@pytest.mark.parametrize("change", some(("torn", "a FIFO", "a folder", "deleted"), ("torn", "a folder")))
def test_changed_by_a_filter_of_another_file(begun: Desk, change: str) -> None:
    """While git itself reads: a clean filter of one file changes another one, once."""
    repo = begun.repo
    repo.write(".gitattributes", "first.txt filter=changes\n")
    flag = repo.git_dir() / "changed"
    repo.config("filter.changes.clean", f"test -e '{flag}' || {{ touch '{flag}'; {CHANGES[change]}; }} >/dev/null; cat")
    repo.write("first.txt", "first\n")
    repo.write(FILE, "mended\n")
    before = read_records(repo)
    said = begun.process(*SNAPSHOT)
    assert flag.exists()
    if said.code == 0:
        flag.unlink(missing_ok=True)
        repo.config("filter.changes.clean", "cat")
        assert begun.seat("implementer")["worktree_snapshot"]["tree"] == repo.oracle()
    else:
        assert said.code in (75, 128), said.both
        assert added(before, read_records(repo)) == []
    _go_on(begun)


def test_a_worktree_that_never_stands_still(begun: Desk) -> None:
    """A file that grows each time it is read: 75, the reason and nothing on record."""
    repo = begun.repo
    repo.write(".gitattributes", "first.txt filter=changes\n")
    repo.config("filter.changes.clean", "echo more >>first.txt; cat")
    repo.write("first.txt", "first\n")
    before = read_records(repo)
    said = begun.refuses(*SNAPSHOT, code=75)
    assert said == (
        "error: the worktree keeps changing while it is read\nhint: stop what writes into it, then try again\n"
    )
    assert added(before, read_records(repo)) == []
