"""One store that all tasks read without a copy, and the buffers that they write into.

A task sees the seed and what its ancestors wrote, never what happens to be merged already. So each buffer stays by
itself, and a reader goes by the ancestors of its task: the same result in every schedule, and a cost that does not
depend on what the store holds. Only the thread that drives the run merges; any number of threads may read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from git_taskctx.runner.faults import BadResponse, BadValue, Undeclared, WriteCollision
from git_taskctx.runner.frozen import checked_key, digest, freeze
from git_taskctx.runner.graph import SEED, Graph, bits

DATA, FLAGS = "data.", "flags."
"""What stages write lies under these; no task has such an id, and no key of a task a dot."""


class Writes(dict[str, Any]):
    """What one attempt of a task wrote: frozen values by their whole keys."""

    def __init__(self, values: Mapping[str, Any] = {}, replaces: Iterable[str] = ()) -> None:
        super().__init__(values)
        self.replaces = set(replaces)
        """Global keys whose earlier value may be an ancestor's."""
        self.kept: set[str] = set()
        """Keys that stand although the task failed."""
        self.identities: dict[str, Any] = {}
        """What the digest takes in place of a value: a path is none of what was found."""

    def only_kept(self) -> Writes:
        """Return what stands when the task failed."""
        left = Writes({key: value for key, value in self.items() if key in self.kept})
        left.kept, left.identities = self.kept, self.identities
        return left

    def identity(self) -> dict[str, Any]:
        """Return what the task's hash is about."""
        return {**self, **self.identities}


class ContextWriter:
    """The buffer of one attempt of a task; nothing of it is visible before the task is done."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._writes: Writes | None = Writes()

    def set(self, key: str, value: object, *, keep: bool = False, identity: object = None) -> None:
        """Set `<task>.<key>`. Raises: BadValue; RuntimeError when the buffer was handed over already.

        keep: let it stand although the task fails. identity: what the task's hash takes in place of the value.
        """
        whole = f"{self._task}.{checked_key(key)}"
        self._put(whole, value)
        if keep:
            self._open().kept.add(whole)
        if identity is not None:
            self._open().identities[whole] = freeze(identity, f"the identity of {whole}")

    def set_global(self, key: str, value: object, *, replace: bool = False) -> None:
        """Set a key that any task may write; `replace` where an ancestor, or the seed, has set it. Raises: BadValue."""
        self._put(checked_key(key), value)
        if replace:
            self._open().replaces.add(key)

    def set_data(self, value: object) -> None:
        """Set what a stage brings: `data.<task>`."""
        self._put(DATA + self._task, value)

    def set_flag(self, name: str, value: object) -> None:
        """Set `flags.<name>`: any stage may, the last in the order counts, and its type never changes."""
        self._put(FLAGS + checked_key(name), value)

    def _put(self, key: str, value: object) -> None:
        self._open()[key] = freeze(value, f"the value of {key!r}")

    def _open(self) -> Writes:
        if self._writes is None:
            raise RuntimeError(f"the writes of {self._task} are handed over; nothing can be set any more")
        return self._writes

    def drain_writes(self) -> Writes:
        """Hand the buffer over; a second call gives nothing, and a later set raises."""
        writes, self._writes = self._writes, None
        return Writes() if writes is None else writes


class _Source(Protocol):
    def find(self, key: str) -> Any:
        """Return a value. Raises: KeyError; WriteCollision."""

    def keys(self) -> Iterable[str]:
        """Return the keys that have a value, in the order of the tasks that wrote them."""

    def clashes(self) -> Mapping[str, WriteCollision]:
        """Return the keys that have none because two tasks wrote them."""


class ContextReader(Mapping[str, Any]):
    """What one task may read; there is no way to write through it, or through what it returns.

    Pickled, it takes along what `reads` names, or everything where nothing is named.
    """

    __slots__ = ("_reads", "_source")

    def __init__(self, source: _Source, reads: Collection[str] | None = None) -> None:
        self._source = source
        self._reads = reads

    def __getitem__(self, key: str) -> Any:
        if self._reads is not None and key not in self._reads:
            raise Undeclared(f"{key!r} is read, but not declared", hint=f"reads=({key!r}, …)")
        return self._source.find(key)

    def __iter__(self) -> Iterator[str]:
        found = self._source.keys()
        return iter(found if self._reads is None else [key for key in found if key in self._reads])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"ContextReader({', '.join(self)})"

    def under(self, prefix: str) -> Mapping[str, Any]:
        """Return what lies under a prefix, such as `data.`, by the rest of its key; read when it is asked for."""
        return _Under(self, prefix)

    def __reduce__(self) -> tuple[object, ...]:
        clashes = self._source.clashes()
        if self._reads is not None:
            clashes = {key: clash for key, clash in clashes.items() if key in self._reads}
        return _shipped, (dict(self), dict(clashes), self._reads)


@dataclass(frozen=True, eq=False)
class _Under(Mapping[str, Any]):
    reader: ContextReader
    prefix: str

    def __getitem__(self, name: str) -> Any:
        return self.reader[self.prefix + name]

    def __iter__(self) -> Iterator[str]:
        return (key[len(self.prefix) :] for key in self.reader if key.startswith(self.prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class _Shipped:
    values: dict[str, Any]
    clashing: dict[str, WriteCollision]

    def find(self, key: str) -> Any:
        if key in self.clashing:
            raise self.clashing[key]
        return self.values[key]

    def keys(self) -> Iterable[str]:
        return self.values

    def clashes(self) -> Mapping[str, WriteCollision]:
        return self.clashing


def _shipped(values: dict[str, Any], clashing: dict[str, WriteCollision], reads: Collection[str] | None) -> object:
    return ContextReader(_Shipped(values, clashing), reads)


@dataclass(frozen=True)
class _Live:
    store: SharedStore
    visible: int
    find: Callable[[str], Any]

    def keys(self) -> Iterable[str]:
        found: dict[str, None] = {}
        for rank in bits(self.visible & self.store.merged):
            found.update(dict.fromkeys(list(self.store.buffers[rank])))
        clashing = self.clashes()
        return [key for key in found if key not in clashing] if clashing else found

    def clashes(self) -> Mapping[str, WriteCollision]:
        return {clash.key: clash for clash in self.store.collisions(self.visible)}


class SharedStore:
    """The seed and the buffers of the tasks that are merged. Raises: BadGraph, BadValue."""

    def __init__(self, seed: Mapping[str, Any] | None = None, after: Mapping[str, Iterable[str]] | Graph = {}) -> None:  # noqa: B006
        self.graph = after if isinstance(after, Graph) else Graph(after)
        frozen = freeze({checked_key(key): value for key, value in (seed or {}).items()}, "the seed")
        self.buffers: dict[int, Mapping[str, Any]] = {0: {**frozen, DATA + "seed": frozen}}
        self.merged = SEED
        self._writers: dict[str, int] = dict.fromkeys(self.buffers[0], SEED)
        self._contested: set[str] = set()

    def reader(self, task: str | None = None, reads: Collection[str] | None = None) -> ContextReader:
        """Return what a task may read; without one, all there is, the last in the order before the others."""
        visible = self.graph.ancestors[task] if task is not None else (1 << len(self.graph.names)) - 1
        return ContextReader(_Live(self, visible, lambda key: self._find(key, visible)), reads)

    def _find(self, key: str, visible: int) -> Any:
        writers = self._writers.get(key, 0) & visible
        if not writers:
            raise KeyError(key)
        if key in self._contested and (clash := self._clash(key, visible)):
            raise clash
        return self.buffers[writers.bit_length() - 1][key]

    def merge(self, task: str, writes: Writes) -> None:
        """Let descendants see what a task wrote, in place of what an earlier attempt did.

        Raises: WriteCollision where it replaces an ancestor's key unasked, BadResponse where it changes a flag's type;
        nothing is merged then.
        """
        self.drop(task)
        rank, before = self.graph.rank[task], self.graph.ancestors[task]
        contested = [key for key in writes if self._refuse_or_contest(task, key, writes, before)]
        self.buffers[rank] = writes
        for key in writes:
            self._writers[key] = self._writers.get(key, 0) | 1 << rank
        self._contested.update(contested)
        self.merged |= 1 << rank

    def _refuse_or_contest(self, task: str, key: str, writes: Writes, before: int) -> bool:
        """Return whether another task, no ancestor, wrote the key too."""
        writers = self._writers.get(key, 0)
        if earlier := writers & before:
            name = self.graph.names[earlier.bit_length() - 1]
            if key.startswith(FLAGS):
                old, new = (kind_of(value) for value in (self._find_any(key, earlier), writes[key]))
                if old != new:
                    what = f"the flag {key.removeprefix(FLAGS)} is {old} in {name}, and {new} in {task}"
                    raise BadResponse(what, [what])
            elif key not in writes.replaces:
                raise WriteCollision(key, name, task, ordered=True)
        return bool(writers & ~before)

    def _find_any(self, key: str, writers: int) -> Any:
        return self.buffers[writers.bit_length() - 1][key]

    def drop(self, task: str) -> None:
        """Forget what a task wrote."""
        rank = self.graph.rank[task]
        for key in self.buffers.pop(rank, ()):
            self._writers[key] &= ~(1 << rank)
        self.merged &= ~(1 << rank)

    def find_collision(self, task: str) -> WriteCollision | None:
        """Return the first collision among the ancestors of a task, by key."""
        return next(self.collisions(self.graph.ancestors[task]), None) if self._contested else None

    def collisions(self, visible: int | None = None) -> Iterator[WriteCollision]:
        """Yield one collision for each key that has any, by key, with the first task that joins the two."""
        mask = visible if visible is not None else (1 << len(self.graph.names)) - 1
        for key in sorted(self._contested):
            if clash := self._clash(key, mask):
                yield clash

    def _clash(self, key: str, visible: int) -> WriteCollision | None:
        seen: dict[str, int] = {}
        for rank in bits(self._writers[key] & visible):
            kind = kind_of(self.buffers[rank][key]) if key.startswith(FLAGS) else ""
            others = sum(mask for other, mask in seen.items() if not kind or other != kind)
            if others := others & ~self.graph.masks[rank]:
                first = (others & -others).bit_length() - 1
                pair = 1 << first | 1 << rank
                joins = (name for name in self.graph.order if not pair & ~self.graph.ancestors[name])
                names = self.graph.names
                return WriteCollision(key, names[first], names[rank], at=next(joins, None))
            seen[kind] = seen.get(kind, 0) | 1 << rank
        return None


def kind_of(value: object) -> str:
    """Return the type of a JSON value, by JSON's own name."""
    if isinstance(value, bool):
        return "boolean"
    kinds = {type(None): "null", int: "number", float: "number", str: "string", tuple: "array"}
    return kinds.get(type(value), "object")


@dataclass(frozen=True)
class ContextDiff:
    """What differs between two states of a context."""

    added: Mapping[str, Any]
    """Keys of the second alone, with their values."""
    removed: Mapping[str, Any]
    """Keys of the first alone."""
    changed: Mapping[str, tuple[Any, Any]]
    """Keys of both, with the value before and after."""


def diff_contexts(before: Mapping[str, Any], after: Mapping[str, Any]) -> ContextDiff:
    """Return what differs, for instance between two rounds of a refinement."""
    both = [key for key in before if key in after and digest(before[key]) != digest(after[key])]
    return ContextDiff(
        {key: value for key, value in after.items() if key not in before},
        {key: value for key, value in before.items() if key not in after},
        {key: (before[key], after[key]) for key in both},
    )


def reserved(task: str) -> None:
    """Raise BadValue for an id under which the store itself keeps something."""
    if task + "." in (DATA, FLAGS) or task == "seed":
        raise BadValue(f"{task!r} is no id for a task: the store has keys of that name")
