"""A disk that is full, broken or out of inodes: one clear error, nothing recorded is lost, and later it works."""

from __future__ import annotations

import errno
import itertools
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from afterwards import copy_of, hold_again, hold_untouched, let_time_pass
from desk import TASK, Desk, Said, plain
from gitrepo import GitRepo
from records import added, read_records
from scenes import CORE, SCENES, Scene
from stage import Prepare, Stage
from states import key_beside
from steps import Fault, Stepped, of_each_kind, spread

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ENFILE)


def hold_error(said: Said, what: str) -> None:
    """Hold that a failure is one error in lower case, with the code of something that cannot go on."""
    assert said.code in (128, 75, 3), f"{what}: {said.code}\n{said.both}"
    if said.code != 3:  # a verdict: it could not tell
        hold_told(said, "error: ")


def hold_told(said: Said, begins: str) -> None:
    """Hold that nothing is said but what was met, in one line that begins so, and what to type; a gate names paths."""
    assert said.out == "", said.out
    lines = said.err.splitlines()
    assert [line for line in lines if line.startswith(begins)] == lines[:1], said.err
    assert not re.match(f"{begins}[A-Z][a-z]", lines[0]), lines[0]
    assert all(line.startswith((begins, "hint: ", "paths: ", "  ")) for line in lines), said.err


def fail_at_all(stage: Stage, steps: Sequence[int], errors: Sequence[int], *, lasts: bool, reads: bool = False) -> int:
    """Let one step fail, or every one from there on, with the errors in turn, and hold what must be true.

    What two of them leave alike is gone on with once. Returns: how many steps were hit.
    """
    start = stage.copy()
    known: set[object] = set()
    hits = 0
    for at, error in zip(steps, itertools.cycle(errors)):
        desk = stage.copy()
        before = desk.repo.census()
        stepped = stage.run(desk, Fault(at, error, lasts=lasts, reads=reads))
        hits += stepped.hit is not None
        print(f"{errno.errorcode[error]} at step {at}: {stepped.hit}: {stepped.said.code} {stepped.said.err!r}")
        recorded = added(stage.model.before, read_records(desk.repo))
        ignored = reads and ".gitignore" in (stepped.hit or "")  # git itself takes one that does not read for none
        if not ignored:
            hold_ending(stage, stepped, recorded, errno.errorcode[error])
            hold_untouched(stage.scene, before, desk)
        left = tuple(recorded), key_beside(desk.repo.path, start.repo.path)
        if not ignored and left not in known:
            known.add(left)
            let_time_pass(desk)
            hold_again(stage.scene, stage.model, desk)
        stage.discard(desk)
    print(f"{len(steps)} steps, {hits} hits, {len(known)} states")
    return hits


def hold_ending(stage: Stage, stepped: Stepped, recorded: list[str], error: str) -> None:
    """Hold that a verb that met an error says so in one line, or that it did what it says, and that is on record.

    A hook that comes after the fact can stop nothing, and warns.
    """
    scene, said = stage.scene, stepped.said
    as_ever = plain(said.err) == plain(stage.model.said[0].err)
    if scene.verb[0] == "hook" and scene.verb[1].startswith("post-") and not as_ever:
        assert said.code == 0, said.both
        hold_told(said, "warning: ")
    elif said.code != scene.code or (scene.code == 128 and not as_ever):
        hold_error(said, f"{error} at {stepped.hit}")
    elif scene.verb != ("verify",) and "(not counted: " not in said.err:  # what they answer stands without a record
        assert recorded == stage.model.types[0], said.both


@pytest.mark.parametrize("scene", CORE[2:5], ids=lambda scene: scene.name)
def test_a_disk_that_is_full_from_some_step_on(stage: Prepare, scene: Scene) -> None:
    """The verb's own writing fails from a step on: it says so, and when there is room again it works."""
    prepared = stage(scene)
    points = spread(len(prepared.steps()), 2)
    assert fail_at_all(prepared, points, [errno.ENOSPC], lasts=True) >= 1


@pytest.mark.deep
@pytest.mark.needs_gcc
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_disk_that_is_full_from_every_step_on(stage: Prepare, scene: Scene) -> None:
    """Every kind of step of every process, git's included."""
    prepared = stage(scene)
    steps = of_each_kind(prepared.steps())
    assert fail_at_all(prepared, steps, [errno.ENOSPC], lasts=True) >= len(steps) // 2


@pytest.mark.deep
@pytest.mark.needs_gcc
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_step_fails_once(stage: Prepare, scene: Scene) -> None:
    """A step that fails alone: a block that does not write, a quota, a table that is full for a moment."""
    prepared = stage(scene)
    steps = of_each_kind(prepared.steps())
    assert fail_at_all(prepared, steps, ERRORS, lasts=False) >= len(steps) // 2


@pytest.mark.deep
@pytest.mark.needs_gcc
@pytest.mark.parametrize("scene", CORE, ids=lambda scene: scene.name)
def test_every_reading_step_fails_once(stage: Prepare, scene: Scene) -> None:
    """Opening and reading can fail as well."""
    prepared = stage(scene)
    steps = of_each_kind(prepared.steps(reads=True))
    assert fail_at_all(prepared, steps, [errno.EIO, errno.ENFILE], lasts=False, reads=True) >= len(steps) // 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a small file system of its own; skips where one may not mount."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", place], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        return place

    if shutil.which("mount") is None:
        pytest.skip("there is no mount here")
    yield mount
    subprocess.run(["umount", place], capture_output=True, check=False)


def begun_on(place: Path) -> Desk:
    """Begin a context on a small disk, with some work done."""
    repo = GitRepo.init(place / "work")
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk = Desk(repo)
    desk.init()
    desk.implement()
    return desk


FULL: dict[str, tuple[str, Callable[[Path], object]]] = {
    "no room": ("size=2m", lambda place: _fill(place / "fill")),
    "no inodes": ("size=8m,nr_inodes=250", lambda place: _use_inodes(place / "fill")),
}
ROOM = "hint: df -h; df -i   # make room, then run the same command again"
VERBS = (
    ("snapshot", "--agent", "implementer"),
    ("start", "--agent", "reviewer"),
    ("block", "--agent", "reviewer", "--finding", "no test"),
    ("purge",),
)


def _fill(file: Path) -> None:
    done = subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=4096"], capture_output=True, check=False)
    assert b"No space left" in done.stderr


def _use_inodes(folder: Path) -> None:
    folder.mkdir()
    for number in range(1000):
        try:
            (folder / str(number)).touch()
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return
    pytest.fail("there is no end of inodes")


@pytest.mark.parametrize("kind", FULL)
def test_a_real_disk_that_is_full(small_disk: Callable[[str], Path], kind: str) -> None:
    """No room, or no inode, for any verb that writes: 128, reading still answers, and with room again all goes on."""
    options, fill = FULL[kind]
    place = small_disk(options)
    desk = begun_on(place)
    desk.repo.write("parser.py", "mended more\n")
    before = read_records(desk.repo)
    fill(place)
    for verb in VERBS:
        said = desk.run(*verb)
        hold_error(said, " ".join(verb))
        assert said.err.splitlines()[1:] == [ROOM]
        assert read_records(desk.repo) == before
    for reading in ("get", "log", "list"):
        desk.ok(reading)
    remove = shutil.rmtree if (place / "fill").is_dir() else Path.unlink
    remove(place / "fill")
    let_time_pass(desk)
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("start", "--agent", "reviewer")
    assert added(before, read_records(desk.repo)) in (["snapshot", "start"], ["drift", "snapshot", "start"])
    assert desk.repo.git("fsck", "--no-dangling") == ""


def test_the_verdict_stands_on_a_full_disk(small_disk: Callable[[str], Path]) -> None:
    """As on a read-only store: the answer is the same, and what could not be counted is told."""
    place = small_disk("size=2m")
    desk = begun_on(place)
    _fill(place / "fill")
    assert desk.ok("status").out.startswith("TASK-1  Mend the parser\n")
    assert desk.ok("verify").out.startswith("worktree: matches\n")
    desk.repo.at("parser.py").chmod(0o755)
    assert "(not counted: " in desk.ends(1, "verify").out


def test_an_init_on_a_full_disk_begins_nothing(small_disk: Callable[[str], Path]) -> None:
    """Nothing is active afterwards, and with room again it begins."""
    place = small_disk("size=1m")
    repo = GitRepo.init(place / "work")
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk = Desk(repo)
    _fill(place / "fill")
    said = desk.run("init", TASK, "--title", "Mend the parser")
    hold_error(said, "init")
    assert said.err.splitlines()[1:] == [ROOM]
    assert read_records(repo) == {}
    (place / "fill").unlink()
    let_time_pass(desk)
    desk.init()
    desk.implement()
    assert copy_of(desk, place / "copy").ok("verify").out.startswith("worktree: matches")
