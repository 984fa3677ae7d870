"""States that a kill between two steps leaves, made by hand: each one that has misled somebody once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from desk import TASK, Desk
from records import added, read_records


def notes_of(desk: Desk) -> dict[Path, bytes]:
    """Return the two files that say which context is active."""
    places = (desk.repo.at(".agent-output/active"), desk.repo.git_dir() / "taskctx/context")
    return {place: place.read_bytes() for place in places}


@pytest.mark.parametrize("missing", ["active", "context"])
def test_noted_as_active_in_one_place_of_two(begun: Desk, missing: str) -> None:
    """A kill inside `init` or `recover`: the context is active, and every verb works."""
    begun.implement()
    for note in notes_of(begun):
        if note.name == missing:
            note.unlink()
    begun.ok("status")
    begun.ok("get")
    assert TASK in begun.refuses("init", "TASK-2", "--title", "x", code=128)
    begun.ok("start", "--agent", "reviewer")
    begun.ok("purge")
    begun.ok("recover", TASK)
    assert begun.seat("reviewer")["status"] == "in_progress"


@pytest.mark.parametrize("left", [("active", "context"), ("context",)], ids=" and ".join)
def test_put_away_but_for_the_notes_of_it(begun: Desk, left: tuple[str, ...]) -> None:
    """A kill at the end of `purge`, or of the seal: nothing is active, and one can begin anew, or recover."""
    begun.implement()
    notes = notes_of(begun)
    begun.ok("purge")
    for note, data in notes.items():
        if note.name in left:
            note.write_bytes(data)
    assert begun.ok("status").out.startswith("no task context is active here\n")
    assert begun.ok("purge").err == "nothing to put away\n"
    begun.init()
    begun.ok("purge")
    begun.ok("recover", TASK)


def test_put_away_on_record_but_not_on_disk(begun: Desk) -> None:
    """A kill between the record of a purge and the move to the archive: finished, and not recorded twice."""
    begun.implement()
    notes, folder = notes_of(begun), begun.folder()
    begun.ok("purge")
    before = read_records(begun.repo)
    [archived] = begun.repo.at(".agent-output/archive").iterdir()
    archived.rename(folder)
    for note, data in notes.items():
        note.write_bytes(data)
    begun.ok("status")
    begun.ok("purge")
    assert added(before, read_records(begun.repo)) == []
    begun.ok("recover", TASK)


def test_begun_in_the_refs_alone(begun: Desk) -> None:
    """A kill inside `init` while its refs moved: nothing is on record, nothing is listed, and one begins anew."""
    begun.repo.git("update-ref", "-d", "refs/notes/taskctx")
    shutil.rmtree(begun.repo.at(".agent-output"))
    shutil.rmtree(begun.repo.git_dir() / "taskctx")
    assert begun.data("list") == []
    begun.init()
    assert [one["state"] for one in begun.data("list")] == ["active"]
    begun.implement()
    begun.ok("purge")
    begun.ok("recover", TASK)


@pytest.mark.parametrize(
    "place", [".git/taskctx", ".agent-output", ".agent-output/tasks", ".agent-output/tasks/TASK-1"]
)
def test_half_written_files(begun: Desk, place: str) -> None:
    """A kill while a file was written: swept by the next verb that writes, wherever it is."""
    leftover = begun.repo.at(place) / ".tmp-context-0123456789ab"
    leftover.write_text("half")
    begun.ok("block", "--agent", "reviewer", "--finding", "no test")
    assert not leftover.exists()


BROKEN = {"empty": b"", "zeros": b"\0" * 41, "half": b"0123456789abcdef", "no commit of this store": b"1" * 40 + b"\n"}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_branch_that_does_not_read(begun: Desk, kind: str) -> None:
    """What a power cut leaves of a ref is no unborn branch: could not tell, and neither drift nor a snapshot of it."""
    begun.implement()
    ref = begun.repo.git_dir() / "refs/heads/main"
    good, before = ref.read_bytes(), read_records(begun.repo)
    begun.repo.write("parser.py", "mended more\n")
    ref.write_bytes(BROKEN[kind])
    for verb in (("verify",), ("start", "--agent", "reviewer"), ("snapshot", "--agent", "implementer")):
        assert begun.run(*verb).code in (3, 128), verb
    assert added(before, read_records(begun.repo)) == []
    ref.write_bytes(good)
    begun.ok("snapshot", "--agent", "implementer")
    begun.ok("start", "--agent", "reviewer")
    assert added(before, read_records(begun.repo)) == ["snapshot", "start"]
