"""Forks of a context's records: which side holds, and what finding that out costs."""

from __future__ import annotations

import random
from typing import Any

import pytest
from counted import calls

from git_taskctx.errors import BadData
from git_taskctx.ledger.entry import Entry
from git_taskctx.ledger.forks import Forked, follow, follow_all
from git_taskctx.model.record import Record, record_id

CONTEXT = "0123456789abcdef"


def entry(before: Entry | None, kind: str, actor: str, **extra: Any) -> Entry:
    """Return a record that was written after another one."""
    seq = before.record.seq + 1 if before else 1
    record = Record(
        id=record_id("2026-01-01T00:00:00Z", CONTEXT, seq),
        v=1,
        type=kind,  # type: ignore[arg-type]
        context=CONTEXT,
        task="TASK-1",
        agent=None,
        actor=actor,
        time="2026-01-01T00:00:00Z",
        seq=seq,
        base=None,
        tree=None,
        commit_tree=None,
        commit=None,
        diff_sha=None,
        context_sha="",
        prev=before.sha if before else None,
        body=extra,
    )
    return Entry(record, record.to_line())


def plainly(entries: list[Entry], holds: str | None) -> list[Entry] | None:
    """Return the records as they are chained, by the words of the specification alone; None for a fork."""
    path, sides = list[Entry](), [one for one in entries if one.record.prev is None]

    def upon(side: Entry) -> list[Entry]:
        return [side, *(one for below in entries if below.record.prev == side.sha for one in upon(below))]

    while sides:
        chosen = sides
        if len(sides) > 1:
            whole = {side.sha: {one.sha: one for one in upon(side)} for side in sides}
            said = [
                side
                for side in sides
                if any(one.record.body.get("holds") in whole[side.sha] for one in whole[side.sha].values())
            ]
            named = [side for side in sides if holds in whole[side.sha]]
            chosen = said or named
            if len(chosen) != 1:
                return None
        path.append(chosen[0])
        sides = [one for one in entries if one.record.prev == chosen[0].sha]
    return path


@pytest.mark.parametrize("seed", range(60))
def test_the_side_that_holds(seed: int) -> None:
    """Of any tree of records the side is found that a `resolve` on it says, or that is named; or none, where unsaid."""
    chance = random.Random(seed)
    entries = [entry(None, "init", "A")]
    for number in range(chance.randint(2, 25)):
        before = chance.choice(entries[-4:] if chance.random() < 0.6 else entries)
        if chance.random() < 0.35:
            entries.append(entry(before, "resolve", f"actor {number}", holds=chance.choice(entries).sha))
        else:
            entries.append(entry(before, "verify", f"actor {number}"))
    holds = chance.choice([None, chance.choice(entries).sha])
    chance.shuffle(entries)
    expected = plainly(entries, holds)
    if expected is None:
        with pytest.raises(Forked):
            follow(entries, holds=holds)
        return
    path, others = follow(entries, holds=holds)
    assert path == expected
    assert sorted(one.sha for one in (*path, *others)) == sorted(one.sha for one in entries)


def nested(levels: int) -> list[Entry]:
    """Return so many forks, each on a side of the one before, and a decision for every one at the end."""
    at = entry(None, "init", "A")
    entries, chosen = [at], list[Entry]()
    for number in range(levels):
        entries.append(entry(at, "verify", f"other {number}"))
        at = entry(at, "verify", f"actor {number}")
        entries.append(at)
        chosen.append(at)
    for one in chosen:
        at = entry(at, "resolve", "A", holds=one.sha)
        entries.append(at)
    return entries


def test_nested_forks_cost_what_the_records_cost() -> None:
    """Twice as many forks in each other take twice the work, whoever decides them; all sides of all are found."""
    few, many = nested(150), nested(300)
    for work in (follow, follow_all):
        assert calls(lambda: work(many)) < 2.5 * calls(lambda: work(few))  # noqa: B023 - called at once
    path, others = follow(many)
    assert (len(path), len(others)) == (601, 300)
    open_forks = [one for one in many if one.record.type != "resolve"]
    assert calls(lambda: follow_all(open_forks)) < 2.5 * calls(lambda: follow_all(few))
    assert follow_all(open_forks).undecided == 1


def test_a_record_on_two_anchors_is_one() -> None:
    """The same line twice is no fork, and a record that is chained to nothing is told."""
    first = entry(None, "init", "A")
    second = entry(first, "verify", "A")
    assert follow([first, second, first, second]) == ([first, second], [])
    lost = entry(entry(second, "verify", "gone"), "verify", "B")
    with pytest.raises(BadData, match="is broken at record"):
        follow([first, second, lost])
