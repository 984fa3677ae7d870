"""Who comes after whom: the topological order, with ties by id, and the ancestors of each task as a bit mask.

Bit 0 of a mask is the seed, which comes before everything; bit n is the n-th task of the order.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from git_taskctx.runner.faults import BadGraph


class Graph:
    """The order of some tasks. Raises: BadGraph for unknown tasks and a cycle, all at once."""

    def __init__(self, after: Mapping[str, Iterable[str]]) -> None:
        self.after = {name: tuple(dict.fromkeys(needs)) for name, needs in after.items()}
        wrong = [f"{name} comes after {need!r}, which is not a task" for name in self.after for need in self.after[name]
                 if need not in self.after]  # fmt: skip
        try:
            self.order = tuple(self._ordered())
        except CycleError as error:
            wrong.append(f"a cycle: {' -> '.join(error.args[1])}")
        if wrong:
            raise BadGraph("; ".join(wrong))
        self.names = ("seed", *self.order)
        """The task of each bit."""
        self.rank = {name: rank for rank, name in enumerate(self.names) if rank}
        self.masks = [0]
        """The ancestors of the task of each bit."""
        for name in self.order:
            mask = 1
            for need in self.after[name]:
                mask |= self.masks[self.rank[need]] | 1 << self.rank[need]
            self.masks.append(mask)

    def _ordered(self) -> Iterator[str]:
        sorter = self.sorter()
        ready = list(sorter.get_ready())
        heapq.heapify(ready)
        while ready:
            yield (name := heapq.heappop(ready))
            sorter.done(name)
            for found in sorter.get_ready():
                heapq.heappush(ready, found)

    def sorter(self, settled: Container[str] = ()) -> TopologicalSorter[str]:
        """Return a prepared sorter of the tasks that are not settled."""
        left = {name: needs for name, needs in self.after.items() if name not in settled}
        sorter = TopologicalSorter({name: [need for need in needs if need in left] for name, needs in left.items()})
        sorter.prepare()
        return sorter

    def ancestors(self, name: str) -> int:
        """Return what a task comes after, as a mask; it is not among them."""
        return self.masks[self.rank[name]]

    def descends(self, name: str, ancestor: str) -> bool:
        """Return whether a task comes after another."""
        return bool(self.ancestors(name) >> self.rank[ancestor] & 1)


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
