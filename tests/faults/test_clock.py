"""A clock that jumps: records stay in order, and nothing is recorded before what it follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from desk import TASK, Desk
from records import added, read_records

from git_taskctx.cli import call

SetClock = Callable[[int], None]
PRESENT = 2026


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the clock that verbs read to the first second of a year."""

    def set_to(year: int) -> None:
        monkeypatch.setattr(call, "now", lambda: datetime(year, 1, 1, tzinfo=UTC))

    return set_to


@pytest.mark.parametrize(
    "years",
    [(PRESENT, 1970, 1980, 1970), (PRESENT, 9998, 1971, 9999), (1970, PRESENT, 1970, PRESENT), (9999, 1, 9999, 1)],
    ids=str,
)
def test_records_stay_in_order(desk: Desk, set_clock: SetClock, years: tuple[int, ...]) -> None:
    """Their ids sort as they were written, each follows the one before, and no time runs backwards."""
    set_clock(years[0])
    desk.init()
    set_clock(years[1])
    desk.implement()
    desk.ok("verify")
    set_clock(years[2])
    desk.ok("snapshot", "--agent", "reviewer")
    desk.repo.write("parser.py", "drift\n")
    desk.ends(1, "verify")
    set_clock(years[3])
    desk.ok("resolve-drift", "--accept", "--note", "mine")
    desk.ok("status")
    [chain] = read_records(desk.repo).values()
    assert [record["type"] for record in chain] == [
        "init",
        "snapshot",
        "start",
        "snapshot",
        "drift",
        "snapshot",
        "resolve",
    ]
    times = [record["time"] for record in chain]
    assert times == sorted(times)
    assert max(times) == times[-1]
    assert desk.ok("get").err == ""
    assert desk.ok("log").err == ""


def test_the_newest_context_comes_back_whatever_the_clock_says(desk: Desk, set_clock: SetClock) -> None:
    """Put away and begun again under an older clock: each context is whole, and can be had by its id."""
    set_clock(PRESENT)
    desk.init()
    first = desk.context()["context_id"]
    desk.implement()
    desk.ok("purge")
    set_clock(1975)
    desk.init()
    second = desk.context()["context_id"]
    desk.ok("purge")
    for context in (first, second):
        desk.ok("recover", TASK, "--context", context)
        assert desk.context()["context_id"] == context
        desk.ok("purge")
    desk.ok("list")


def test_two_worktrees_whose_clocks_differ(begun: Desk, set_clock: SetClock) -> None:
    """Actors on machines with other clocks write to one context in turn: the chain holds."""
    before = read_records(begun.repo)
    for year in (PRESENT, 2000, 2050, 1999, PRESENT):
        set_clock(year)
        begun.ok("block", "--agent", "reviewer", "--finding", f"found in {year}")
    assert added(before, read_records(begun.repo)) == ["block"] * 5
    assert len(begun.seat("reviewer")["blocking_findings"]) == 5


@pytest.mark.parametrize("seconds", [0, 4_102_444_800, -1], ids=["1970", "2100", "before 1970"])
def test_files_of_any_time_are_read(begun: Desk, seconds: int) -> None:
    """Files and an index from far away in time: the tree is git's, and a later edit is seen."""
    import os

    begun.repo.write("parser.py", "mended\n")
    for path in (begun.repo.at("parser.py"), begun.repo.git_dir() / "index"):
        os.utime(path, (seconds, seconds))
    begun.ok("snapshot", "--agent", "implementer")
    assert begun.seat("implementer")["worktree_snapshot"]["tree"] == begun.repo.oracle()
    begun.repo.write("parser.py", "MENDED\n")
    os.utime(begun.repo.at("parser.py"), (seconds, seconds))
    begun.ends(1, "verify")
