"""Follow a context's hash chain, and find its forks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from git_taskctx.errors import BadData
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.ledger.entry import Entry
from git_taskctx.model.payloads import Resolve
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation

SHORTEST = 7
"""Minimum digits of a record's hash: two clones can write records with the same id."""

SHOWN = 10
"""Maximum number of sides named."""


class Forked(BadData):
    """Two records have the same `prev`, and none says which side holds."""

    code = "forked"
    entries: tuple[Entry, ...] = ()
    """All records of the context, where they have been read."""


@dataclass(frozen=True)
class Sides:
    """All records, with every side of their forks."""

    path: list[Entry]
    others: list[list[Entry]]
    """The other side of each fork, oldest first."""
    undecided: int | None = None
    """How many records precede the first undecided fork."""


def follow(entries: Sequence[Entry], *, holds: str | None = None) -> tuple[list[Entry], list[Entry]]:
    """Return the records in chain order, and those on losing sides of forks.

    Two clones that write after the same record make a fork; a `resolve` with `holds` decides for its own side. Raises:
    BadData for a record whose `prev` is missing; Forked.
    """
    sides = _follow(entries, holds=holds, decided=True)
    return sides.path, [entry for side in sides.others for entry in side]


def follow_all(entries: Sequence[Entry]) -> Sides:
    """Return the records as `follow` does, with all sides; at an undecided fork the first side goes first.

    Raises: BadData for a record whose `prev` is missing.
    """
    return _follow(entries, holds=None, decided=False)


def _follow(entries: Sequence[Entry], *, holds: str | None, decided: bool) -> Sides:
    entries = list({entry.line: entry for entry in entries}.values())  # one may stand on several anchors
    path = _straight(entries)
    if len(path) == len(entries):
        return Sides(path, [])
    family = _Family(entries, holds)
    path = []
    others: list[list[Entry]] = []
    undecided = None
    sides = family.after(None)
    while sides:
        chosen = sides[0]
        if len(sides) > 1:
            try:
                chosen = family.side_that_holds(sides)
            except Forked as error:
                error.entries = tuple(entries)
                if decided:
                    raise
                undecided = len(path) if undecided is None else undecided
        if entries[chosen].record.seq != len(path) + 1:
            break
        path.append(entries[chosen])
        others += [family.built_upon(side) for side in sides if side != chosen]
        sides = family.after(chosen)
    if len(path) + sum(map(len, others)) != len(entries):
        known = {id(entry) for entry in (*path, *(entry for side in others for entry in side))}
        raise _broken(next(entry for entry in entries if id(entry) not in known))
    return Sides(path, others, undecided)


def _straight(entries: Sequence[Entry]) -> list[Entry]:
    """Return the records in order as far as each has one successor; none where two follow the same one."""
    after = {entry.record.prev: entry for entry in entries}
    path: list[Entry] = []
    found = after.get(None) if len(after) == len(entries) else None
    while found is not None and found.record.seq == len(path) + 1:
        path.append(found)
        found = after.get(found.sha)
    return path


class _Family:
    """A context's records as a tree, each by its index in the list.

    Notes may hold as many nested forks as lines, so everything here takes linear time: sums over sides are added up
    once, from the leaves.
    """

    def __init__(self, entries: Sequence[Entry], holds: str | None) -> None:
        self._entries = entries
        self._shas = [entry.sha for entry in entries]
        self._after: dict[str | None, list[int]] = {}
        for place, entry in enumerate(entries):
            self._after.setdefault(entry.record.prev, []).append(place)
        self._order: list[int] = []
        """Indices of the records below the first one, parents first."""
        self._parent: dict[int, int] = {}
        self._depth: dict[int, int] = {}
        self._far: dict[int, int] = {}
        """For each record a distant ancestor, for a fast search (skew-binary list)."""
        left = self.after(None)[::-1]
        for root in left:
            self._depth[root], self._far[root], self._parent[root] = 0, root, root
        while left:
            place = left.pop()
            self._order.append(place)
            for child in self.after(place):
                self._add(child, place)
                left.append(child)
        self._size = self._sums(dict.fromkeys(self._order, 1))
        self._span = {place: (number, number + self._size[place]) for number, place in enumerate(self._order)}
        self._said = self._sums(self._decisions())
        self._named = self._sums({place: 1 for place in self._order if holds and _is_called(entries[place], holds)})

    def after(self, place: int | None) -> list[int]:
        """Return the records whose `prev` is the one at an index."""
        return self._after.get(self._shas[place] if place is not None else None, [])

    def _add(self, child: int, parent: int) -> None:
        far, further = self._far[parent], self._far[self._far[parent]]
        is_even = self._depth[parent] - self._depth[far] == self._depth[far] - self._depth[further]
        self._parent[child], self._depth[child] = parent, self._depth[parent] + 1
        self._far[child] = further if is_even else parent

    def _sums(self, values: Mapping[int, int]) -> dict[int, int]:
        """Return for each record the sum over it and its descendants."""
        sums = {place: values.get(place, 0) for place in self._order}
        for place in reversed(self._order):
            if self._parent[place] != place:
                sums[self._parent[place]] += sums[place]
        return sums

    def _decisions(self) -> dict[int, int]:
        """Return how many records decide for the side that each record is on.

        A `resolve` that names a record on its own side decides for all sides that contain both.
        """
        places, said = {sha: place for place, sha in enumerate(self._shas)}, dict[int, int]()
        for place in self._order:
            payload = self._entries[place].record.payload
            other = places.get(payload.holds) if isinstance(payload, Resolve) and payload.holds is not None else None
            if other is not None and other in self._span:
                both = self._common(place, other)
                if both is not None:
                    said[both] = said.get(both, 0) + 1
        return said

    def _common(self, one: int, other: int) -> int | None:
        """Return the last common ancestor of two records."""
        at = self._span[other][0]
        while not self._span[one][0] <= at < self._span[one][1]:
            if self._parent[one] == one:
                return None
            first, end = self._span[self._far[one]]
            one = self._far[one] if not first <= at < end else self._parent[one]
        return one

    def built_upon(self, place: int) -> list[Entry]:
        """Return a record with its descendants."""
        first, end = self._span[place]
        return [self._entries[one] for one in self._order[first:end]]

    def side_that_holds(self, sides: Sequence[int]) -> int:
        """Return the side that holds, by the records or `holds`. Raises: Forked if not exactly one does."""
        chosen = [side for side in sides if self._said[side]] or [side for side in sides if self._named[side]]
        if len(chosen) == 1:
            return chosen[0]
        first = self._entries[sides[0]]
        shown = [(self._shas[side], self._entries[side].record, self._size[side] - 1) for side in sides[:SHOWN]]
        named = [(sha, f"{one.type} by {one.actor}, {one.time}, and {more} more") for sha, one, more in shown]
        raise Forked(
            f"the ledger of {first.record.task} forks at record {first.record.seq}: "
            f"{len(sides)} were built upon the same one, in two clones",
            Situation("clone.forked", sides=named),
        )


def _broken(entry: Entry) -> BadData:
    return BadData(
        f"the ledger of {entry.record.task} is broken at record {entry.record.id}: "
        "a record was edited, inserted or removed",
        hint=f"git log -p {NOTES_REF}",
    )


def find_named(entries: Iterable[Entry], name: str) -> Entry | None:
    """Return the record with an id, or whose hash begins with `name` (seven digits or more)."""
    return next((entry for entry in entries if _is_called(entry, name)), None)


def _is_called(entry: Entry, name: str) -> bool:
    return entry.record.id == name or (len(name) >= SHORTEST and entry.sha.startswith(name))
