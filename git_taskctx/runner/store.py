"""One store that all tasks read without a copy, and the buffers that they write into.

A task sees the seed and what its ancestors wrote, never what happens to be merged already. So each buffer stays by
itself, and a reader goes by the ancestors of its task: the same result in every schedule, and a cost that does not
depend on what the store holds. Only the thread that drives the run merges; any number of threads may read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from git_taskctx.runner.faults import BadResponse, Undeclared, WriteCollision
from git_taskctx.runner.frozen import checked_key, freeze, hash_json, kind_of
from git_taskctx.runner.graph import Graph, bits

DATA, FLAGS = "data.", "flags."
"""What stages write lies under these; no task has such an id, and no key of a task a dot."""


class Writes(dict[str, Any]):
    """What one attempt of a task wrote: frozen values by their whole keys."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        super().__init__(values or {})
        self.replaces: set[str] = set()
        """Global keys whose earlier value may be an ancestor's."""
        self.kept: set[str] = set()
        """Keys that stand although the task failed."""
        self.identities: dict[str, Any] = {}
        """What the task's hash takes in place of a value: a path is none of what was found."""

    def only_kept(self) -> Writes:
        """Return what stands when the task failed."""
        left = Writes({key: value for key, value in self.items() if key in self.kept})
        left.kept, left.identities = self.kept, self.identities
        return left


class ContextWriter:
    """The buffer of one attempt of a task; nothing of it is visible before the task is done.

    Every `set` raises BadValue for what is no JSON, and RuntimeError once the buffer is handed over.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._writes: Writes | None = Writes()

    def set(self, key: str, value: object, *, keep: bool = False, identity: object = None) -> None:
        """Set `<task>.<key>`; `keep` lets it stand although the task fails, `identity` is hashed in its place."""
        whole = f"{self._task}.{checked_key(key)}"
        writes = self._put(whole, value)
        if keep:
            writes.kept.add(whole)
        if identity is not None:
            writes.identities[whole] = freeze(identity)

    def set_global(self, key: str, value: object, *, replace: bool = False) -> None:
        """Set a key that any task may write; `replace` where an ancestor, or the seed, has set it."""
        writes = self._put(checked_key(key), value)
        if replace:
            writes.replaces.add(key)

    def set_data(self, value: object) -> None:
        """Set what a stage brings: `data.<task>`."""
        self._put(DATA + self._task, value)

    def set_flag(self, name: str, value: object) -> None:
        """Set `flags.<name>`: any stage may, the last in the order counts, and its type never changes."""
        self._put(FLAGS + checked_key(name), value)

    def _put(self, key: str, value: object) -> Writes:
        if self._writes is None:
            raise RuntimeError(f"the writes of {self._task} are handed over; nothing can be set any more")
        self._writes[key] = freeze(value, f"the value of {key!r}")
        return self._writes

    def drain_writes(self) -> Writes:
        """Hand the buffer over; a second call gives nothing."""
        writes, self._writes = self._writes, None
        return Writes() if writes is None else writes


class ContextReader(Mapping[str, Any]):
    """What one task may read; there is no way to write through it, or through what it returns.

    Pickled, it takes along what `reads` names, or everything where nothing is named.
    """

    __slots__ = ("_reads", "_store", "_visible")

    def __init__(self, store: SharedStore, visible: int, reads: Collection[str] | None) -> None:
        self._store, self._visible, self._reads = store, visible, reads

    def __getitem__(self, key: str) -> Any:
        if self._reads is not None and key not in self._reads:
            raise Undeclared(f"{key!r} is read, but not declared", hint=f"reads=({key!r}, …)")
        return self._store.value(key, self._visible)

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._store.keys(self._visible) if self._reads is None or key in self._reads)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def under(self, prefix: str) -> Mapping[str, Any]:
        """Return what lies under a prefix, by the rest of its key; read when it is asked for."""
        return _Under(self, prefix)

    def __reduce__(self) -> tuple[object, ...]:
        clashes = {one.key: one for one in self._store.clashes(self._visible)}
        wanted = {key: one for key, one in clashes.items() if self._reads is None or key in self._reads}
        return _shipped, (dict(self), wanted, self._reads)


def _shipped(
    values: dict[str, Any], clashes: dict[str, WriteCollision], reads: Collection[str] | None
) -> ContextReader:
    store = SharedStore()
    store.fill(values, clashes)
    return ContextReader(store, 1, reads)


class _Under(Mapping[str, Any]):
    def __init__(self, reader: ContextReader, prefix: str) -> None:
        self._reader, self._prefix = reader, prefix

    def __getitem__(self, name: str) -> Any:
        return self._reader[self._prefix + name]

    def __iter__(self) -> Iterator[str]:
        return (key[len(self._prefix) :] for key in self._reader if key.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class SharedStore:
    """The seed and the buffers of the tasks that are merged. Raises: BadGraph, BadValue."""

    def __init__(
        self, seed: Mapping[str, Any] | None = None, after: Mapping[str, Iterable[str]] | Graph | None = None
    ) -> None:
        self.graph = after if isinstance(after, Graph) else Graph(after or {})
        frozen = freeze({checked_key(key): value for key, value in (seed or {}).items()}, "the seed")
        self._contested: set[str] = set()
        self.fill({**frozen, DATA + "seed": frozen})

    def fill(self, seed: dict[str, Any], clashes: Mapping[str, WriteCollision] | None = None) -> None:
        """Begin with some values, and with keys that have none because two tasks wrote them."""
        self._buffers: dict[int, dict[str, Any]] = {0: seed}
        self._clashes = clashes or {}
        self._writers = dict.fromkeys(seed, 1)

    def reader(self, task: str | None = None, reads: Collection[str] | None = None) -> ContextReader:
        """Return what a task may read; without one, all there is, in topological order, ties by id."""
        return ContextReader(self, self._visible(task), reads)

    def value(self, key: str, visible: int) -> Any:
        """Return a value, among what is visible. Raises: KeyError; WriteCollision where two tasks wrote it."""
        writers = self._writers.get(key, 0) & visible
        clash = self._clashes.get(key) or (self._clash(key, visible) if key in self._contested else None)
        if clash is not None:
            raise clash
        if not writers:
            raise KeyError(key)
        return self._buffers[writers.bit_length() - 1][key]

    def keys(self, visible: int) -> Iterable[str]:
        """Return the keys that have a value, in the order of the tasks that wrote them."""
        found: dict[str, None] = {}
        for rank in sorted(rank for rank in list(self._buffers) if visible >> rank & 1):
            found |= dict.fromkeys(list(self._buffers[rank]))
        for clash in self.clashes(visible):
            found.pop(clash.key, None)
        return found

    def written_by(self, task: str) -> Mapping[str, Any]:
        """Return what a task wrote, as far as it is merged."""
        return self._buffers.get(self.graph.rank[task], {})

    def merge(self, task: str, writes: Writes) -> None:
        """Let descendants see what a task wrote, in place of what an earlier attempt did.

        Raises: WriteCollision where it replaces an ancestor's key unasked, BadResponse where it changes a flag's type;
        nothing is merged then.
        """
        self.drop(task)
        rank, before = self.graph.rank[task], self.graph.ancestors(task)
        for key in writes:
            if earlier := self._writers.get(key, 0) & before:
                self._refuse_change(task, key, writes, earlier.bit_length() - 1)
        for key in writes:
            others = self._writers.get(key, 0)
            if others & ~before:
                self._contested.add(key)
            self._writers[key] = others | 1 << rank
        if writes:
            self._buffers[rank] = writes

    def _refuse_change(self, task: str, key: str, writes: Writes, earlier: int) -> None:
        name, old, new = self.graph.names[earlier], kind_of(self._buffers[earlier][key]), kind_of(writes[key])
        if key.startswith(FLAGS):
            if old != new:
                what = f"the flag {key.removeprefix(FLAGS)} is {old} in {name}, and {new} in {task}"
                raise BadResponse(what, [what])
        elif key not in writes.replaces:
            raise WriteCollision(key, name, task, ordered=True)

    def drop(self, task: str) -> None:
        """Forget what a task wrote."""
        rank = self.graph.rank[task]
        for key in self._buffers.pop(rank, ()):
            self._writers[key] &= ~(1 << rank)

    def collisions(self, task: str | None = None) -> Iterator[WriteCollision]:
        """Yield one collision for each key that has any among what a task may read, or in all, by key."""
        return self.clashes(self._visible(task))

    def _visible(self, task: str | None) -> int:
        return (1 << len(self.graph.names)) - 1 if task is None else self.graph.ancestors(task)

    def clashes(self, visible: int) -> Iterator[WriteCollision]:
        """Yield the same among what is visible."""
        for key in sorted(self._contested) if self._contested else ():
            if clash := self._clash(key, visible):
                yield clash

    def _clash(self, key: str, visible: int) -> WriteCollision | None:
        """Return the first two unordered writers of a key; two flags of one type are none."""
        names, masks = self.graph.names, self.graph.masks
        seen: dict[str, int] = {}
        for rank in bits(self._writers[key] & visible):
            kind = kind_of(self._buffers[rank][key]) if key.startswith(FLAGS) else ""
            others = sum(mask for other, mask in seen.items() if not kind or other != kind) & ~masks[rank]
            if others:
                first = next(bits(others))
                both = 1 << first | 1 << rank
                joins = (name for name, mask in zip(names, masks, strict=True) if not both & ~mask)
                return WriteCollision(key, names[first], names[rank], at=next(joins, None))
            seen[kind] = seen.get(kind, 0) | 1 << rank
        return None


class ContextDiff(NamedTuple):
    """What differs between two states of a context."""

    added: Mapping[str, Any]
    removed: Mapping[str, Any]
    changed: Mapping[str, tuple[Any, Any]]
    """With the value before and after."""


def diff_contexts(before: Mapping[str, Any], after: Mapping[str, Any]) -> ContextDiff:
    """Return what differs, for instance between two rounds of a refinement."""
    both = [key for key in before if key in after and hash_json(before[key]) != hash_json(after[key])]
    return ContextDiff(
        {key: value for key, value in after.items() if key not in before},
        {key: value for key, value in before.items() if key not in after},
        {key: (before[key], after[key]) for key in both},
    )
