"""Who comes after whom: the topological order, with ties by id, and the ancestors of each task as a bit mask.

Bit 0 of a mask is the seed, which comes before everything; bit n is the n-th task of the order.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from git_taskctx.runner.faults import BadGraph

SEED = 1


class Graph:
    """The order of some tasks. Raises: BadGraph for an unknown task or a cycle."""

    def __init__(self, after: Mapping[str, Iterable[str]]) -> None:
        self.after = {name: tuple(dict.fromkeys(needs)) for name, needs in after.items()}
        if faults := list(faults_in(self.after)):
            raise BadGraph("; ".join(faults))
        self.order = tuple(self._ordered())
        self.names = ("seed", *self.order)
        """The task of each bit."""
        self.rank = {name: rank for rank, name in enumerate(self.names) if rank}
        self.ancestors: dict[str, int] = {}
        """What each task may read; not itself."""
        for name in self.order:
            mask = SEED
            for need in self.after[name]:
                mask |= self.ancestors[need] | 1 << self.rank[need]
            self.ancestors[name] = mask
        self.masks = (0, *(self.ancestors[name] for name in self.order))
        """The same by bit."""

    def _ordered(self) -> Iterator[str]:
        sorter = self.sorter()
        ready: list[str] = list(sorter.get_ready())
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

    def descends(self, name: str, ancestor: str) -> bool:
        """Return whether a task comes after another."""
        return bool(self.ancestors[name] >> self.rank[ancestor] & 1)


def faults_in(after: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield everything that is wrong with a graph: tasks that there are not, and the first cycle."""
    for name, needs in after.items():
        yield from (f"{name} comes after {need!r}, which is no task" for need in needs if need not in after)
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        yield f"a cycle: {' -> '.join(error.args[1])}"


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
