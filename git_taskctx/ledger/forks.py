"""The hash chain of a context, followed record by record, and the forks in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from git_taskctx.errors import BadData
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.ledger.entry import Entry
from git_taskctx.model.payloads import Resolve
from git_taskctx.model.values import dataclass

SHORTEST = 7
"""Digits of a record's hash that name it: two clones can write records of the same id."""


class Forked(BadData):
    """Two records were built upon the same one, and nothing says which side holds."""

    code = "forked"
    entries: tuple[Entry, ...] = ()
    """All records of the context, where they have been read."""


@dataclass(frozen=True)
class Sides:
    """A ledger with every side of its forks."""

    path: list[Entry]
    """The records in the order in which they are chained."""
    others: list[list[Entry]]
    """The other side of each fork, oldest record first."""
    undecided: int | None = None
    """How many records of the path stand before the first fork of which nothing says which side holds."""


def follow(entries: Sequence[Entry], *, holds: str | None = None) -> tuple[list[Entry], list[Entry]]:
    """Return the records in the order in which they are chained, and those of the sides that do not hold.

    Two writers in two clones build upon the same record: a fork. A `resolve` that names a record in `holds` decides
    for the side that both are on.

    Raises: BadData, naming the first record that is chained to nothing; Forked.
    """
    sides = _follow(entries, holds=holds, decided=True)
    return sides.path, [entry for side in sides.others for entry in side]


def follow_all(entries: Sequence[Entry]) -> Sides:
    """Return the records as `follow` does, with each side apart; where nothing decides, the first side goes first.

    Raises: BadData, naming the first record that is chained to nothing.
    """
    return _follow(entries, holds=None, decided=False)


def _follow(entries: Sequence[Entry], *, holds: str | None, decided: bool) -> Sides:
    after: dict[str | None, list[Entry]] = {}
    for entry in entries:
        after.setdefault(entry.record.prev, []).append(entry)
    path: list[Entry] = []
    others: list[list[Entry]] = []
    undecided = None
    sides = after.get(None, [])
    while sides:
        chosen = sides[0]
        if len(sides) > 1:
            try:
                chosen = _side_that_holds(sides, after, holds)
            except Forked as error:
                error.entries = tuple(entries)
                if decided:
                    raise
                undecided = len(path) if undecided is None else undecided
        if chosen.record.seq != len(path) + 1:
            break
        path.append(chosen)
        others += [_built_upon(side, after) for side in sides if side is not chosen]
        sides = after.get(chosen.sha, [])
    if len(path) + sum(map(len, others)) != len(entries):
        known = {id(entry) for entry in (*path, *(entry for side in others for entry in side))}
        raise _broken(next(entry for entry in entries if id(entry) not in known))
    return Sides(path, others, undecided)


def _broken(entry: Entry) -> BadData:
    return BadData(
        f"the ledger of {entry.record.task} is broken at record {entry.record.id}: "
        "a record was edited, inserted or removed",
        hint=f"git log -p {NOTES_REF}",
    )


def find_named(entries: Iterable[Entry], name: str) -> Entry | None:
    """Return the record with an id, or with a hash that begins with `name` (seven digits or more); None without."""
    for entry in entries:
        if entry.record.id == name or (len(name) >= SHORTEST and entry.sha.startswith(name)):
            return entry
    return None


def _built_upon(entry: Entry, after: Mapping[str | None, Sequence[Entry]]) -> list[Entry]:
    """Return a record with all that were built upon it."""
    found, left = [], [entry]
    while left:
        found.append(left.pop())
        left += after.get(found[-1].sha, ())
    return found


def _side_that_holds(sides: Sequence[Entry], after: Mapping[str | None, Sequence[Entry]], holds: str | None) -> Entry:
    whole = [(side, _built_upon(side, after)) for side in sides]
    said = [
        side
        for side, entries in whole
        for entry in entries
        if isinstance(entry.record.payload, Resolve) and entry.record.payload.holds in {one.sha for one in entries}
    ]
    chosen = said or [side for side, entries in whole if holds and find_named(entries, holds)]
    if len({id(side) for side in chosen}) == 1:
        return chosen[0]
    first, *_ = sides
    ways = "\n".join(
        f"git taskctx resolve-drift --note WHY --holds {side.sha[:12]}   "
        f"# {side.record.type} by {side.record.actor}, {side.record.time}, and {len(entries) - 1} more"
        for side, entries in whole
    )
    raise Forked(
        f"the ledger of {first.record.task} forks at record {first.record.seq}: "
        f"{len(sides)} were built upon the same one, in two clones",
        hint=ways,
    )
