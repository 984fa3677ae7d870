"""The shared store: what a task sees, what is merged, and what collides."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from git_taskctx.runner import (
    BadGraph,
    BadResponse,
    BadValue,
    ContextReader,
    ContextWriter,
    SharedStore,
    Undeclared,
    WriteCollision,
    diff_contexts,
    thaw,
)

DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def merge(store: SharedStore, task: str, *, replace: bool = False, **values: object) -> None:
    """Merge some global keys, as a task does."""
    writer = ContextWriter(task)
    for key, value in values.items():
        writer.set_global(key, value, replace=replace)
    store.merge(task, writer.drain_writes())


def merge_own(store: SharedStore, task: str, **values: object) -> None:
    """Merge some keys of the task's own."""
    writer = ContextWriter(task)
    for key, value in values.items():
        writer.set(key, value)
    store.merge(task, writer.drain_writes())


def test_a_task_sees_the_seed_and_its_ancestors_only() -> None:
    """What is merged but not before a task is not seen by it; what is not merged is seen by nobody."""
    store = SharedStore({"topic": "x"}, DIAMOND)
    for name in "abc":
        merge_own(store, name, value=name)
    assert dict(store.reader("b")) == {"topic": "x", "data.seed": {"topic": "x"}, "a.value": "a"}
    assert "c.value" not in store.reader("b")
    assert {"a.value", "b.value", "c.value"} < set(store.reader("d"))
    assert "d.value" not in store.reader()


def test_what_is_read_is_the_object_that_is_stored() -> None:
    """Reading copies nothing."""
    big = "x" * 1_000_000
    store = SharedStore({"big": big, "list": [big]}, DIAMOND)
    assert store.reader("d")["big"] is big
    assert store.reader("d")["list"] is store.reader("a")["list"]


@pytest.mark.parametrize("change", [
    lambda value: value.update(x=1), lambda value: value.__setitem__("x", 1), lambda value: value.pop("deep"),
    lambda value: value.clear(), lambda value: value.setdefault("x", 1), lambda value: value.__delitem__("deep"),
    lambda value: value["deep"].append(1), lambda value: value["deep"][0].update(x=1), lambda value: value.popitem(),
    lambda value: value.__ior__({"x": 1}), lambda value: value.__init__({"x": 1}),
])  # fmt: skip
def test_nothing_changes_the_store_through_what_was_read(change: Any) -> None:
    """Every way to change a value raises, at every depth, and the store stays as it is; the caller's own too."""
    mine = {"deep": [{"y": 1}]}
    store = SharedStore({"value": mine}, DIAMOND)
    mine["deep"].append({"z": 2})
    with pytest.raises((TypeError, AttributeError)):
        change(store.reader("a")["value"])
    assert store.reader("a")["value"] == {"deep": ({"y": 1},)}


def test_a_thawed_value_is_a_copy_that_can_be_changed() -> None:
    """`thaw` gives plain dicts and lists, and what is done to them stays outside."""
    reader = SharedStore({"value": {"deep": [1]}}).reader()
    copy = thaw(reader["value"])
    copy["deep"].append(2)
    assert copy == {"deep": [1, 2]}
    assert reader["value"]["deep"] == (1,)


def test_a_reader_has_no_way_to_write() -> None:
    """The reader is a Mapping, and no more: it has no set_raw, no set, no item assignment."""
    reader = SharedStore({"a": 1}).reader()
    assert not [name for name in dir(ContextReader) if name.startswith("set") or name in ("__setitem__", "update")]
    with pytest.raises(TypeError):
        reader["a"] = 2  # type: ignore[index]


def test_set_prefixes_and_set_global_does_not() -> None:
    """`set` writes under the task's id, `set_global` under the bare key."""
    writer = ContextWriter("lint")
    writer.set("code", 0)
    writer.set_global("version", "1")
    assert writer.drain_writes() == {"lint.code": 0, "version": "1"}


def test_a_buffer_is_handed_over_once() -> None:
    """The second drain gives nothing, and a set after the first raises."""
    writer = ContextWriter("a")
    writer.set("x", 1)
    assert writer.drain_writes() == {"a.x": 1}
    assert writer.drain_writes() == {}
    with pytest.raises(RuntimeError, match="handed over"):
        writer.set("x", 2)
    with pytest.raises(RuntimeError, match="handed over"):
        writer.set_global("x", 2)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(("value", "place"), [
    ({1}, "builtins.set"), (b"x", "builtins.bytes"), (float("nan"), "nan"), (float("inf"), "inf"),
    ({"a": [{"b": object()}]}, r"at \.a\[0\]\.b"), ({1: 2}, "a key that is 1"), ("\ud800", "surrogate"),
    (LOOP, "holds itself"), ([10**5000], "digits"), (test_set_prefixes_and_set_global_does_not, "function"),
])  # fmt: skip
def test_a_value_that_is_no_json_is_refused_where_it_is_set(value: object, place: str) -> None:
    """The error names key and place; nothing is set."""
    writer = ContextWriter("a")
    with pytest.raises(BadValue, match=place):
        writer.set("x", value)
    assert writer.drain_writes() == {}


@pytest.mark.parametrize("key", ["a.b", "", ".", 3])
def test_a_key_with_a_dot_is_refused(key: Any) -> None:
    """No key can look like another task's, in `set`, `set_global`, flags and seed."""
    writer = ContextWriter("a")
    for put in (writer.set, writer.set_global, writer.set_flag):
        with pytest.raises(BadValue, match="without a dot"):
            put(key, 1)
    with pytest.raises(BadValue, match="without a dot"):
        SharedStore({key: 1})


def test_two_unordered_writers_collide_at_the_first_join() -> None:
    """The collision is found where the two meet, whichever was merged first, and named the same way."""
    found = []
    for order in ("abc", "acb"):
        store = SharedStore(None, DIAMOND)
        for name in order:
            merge(store, name, **({} if name == "a" else {"k": name}))
        assert next(store.collisions("b"), None) is None
        found.append(next(store.collisions("d"), None))
    assert found[0] == found[1]
    assert (found[0].key, found[0].first, found[0].second, found[0].at) == ("k", "b", "c", "d")


def test_without_a_join_a_collision_is_found_at_the_end() -> None:
    """The final store has no value for the key: a look at it raises, and it is not listed."""
    store = SharedStore(None, {"b": (), "c": ()})
    merge(store, "b", k=1, own=1)
    merge(store, "c", k=1)
    (collision,) = store.collisions()
    assert (collision.first, collision.second, collision.at) == ("b", "c", None)
    assert dict(store.reader()) == {"data.seed": {}, "own": 1}
    with pytest.raises(WriteCollision):
        store.reader()["k"]


def test_a_descendant_replaces_only_when_it_says_so() -> None:
    """An ancestor's key, and the seed's, need replace=True; nothing of a refused buffer is merged."""
    store = SharedStore({"s": 0}, DIAMOND)
    merge(store, "a", k=1)
    for key in ("k", "s"):
        with pytest.raises(WriteCollision, match="without replace=True"):
            merge(store, "b", other=1, **{key: 2})
    assert "other" not in store.reader()
    merge(store, "b", replace=True, k=2, s=2)
    assert [store.reader(name)["k"] for name in ("c", "d")] == [1, 2]
    assert store.reader("d")["s"] == 2
    assert not list(store.collisions())


def test_a_further_attempt_replaces_the_earlier_one() -> None:
    """What the earlier attempt wrote is gone, also keys that the further one does not write."""
    store = SharedStore(None, DIAMOND)
    merge(store, "a", k=1, gone=1)
    merge(store, "a", k=2)
    assert dict(store.reader("b")) == {"data.seed": {}, "k": 2}
    store.drop("a")
    assert dict(store.reader("b")) == {"data.seed": {}}


def test_a_collision_goes_with_the_attempt_that_made_it() -> None:
    """When one of the two writes again, and not that key, nothing collides any more."""
    store = SharedStore(None, DIAMOND)
    merge(store, "b", k=1)
    merge(store, "c", k=1)
    merge(store, "c", other=1)
    assert next(store.collisions("d"), None) is None
    assert store.reader()["k"] == 1


def test_the_last_in_the_order_counts_with_ties_by_id() -> None:
    """A flag, which any stage may set, has the value of the last writer in topological order, not in time."""
    found = []
    for order in ("bc", "cb"):
        store = SharedStore(None, DIAMOND)
        for name in order:
            writer = ContextWriter(name)
            writer.set_flag("approve", name == "c")
            store.merge(name, writer.drain_writes())
        found.append(store.reader("d")["flags.approve"])
    assert found == [True, True]


def test_a_flag_never_changes_its_type() -> None:
    """After an ancestor it is refused at once; between unordered tasks it is a collision."""
    store = SharedStore(None, DIAMOND)
    for name, value in (("a", True), ("b", "yes"), ("c", 1)):
        writer = ContextWriter(name)
        writer.set_flag("approve", value)
        if name == "a":
            store.merge(name, writer.drain_writes())
        else:
            with pytest.raises(BadResponse, match=r"approve is boolean in a, and (string|number) in"):
                store.merge(name, writer.drain_writes())
    store = SharedStore(None, DIAMOND)
    for name, value in (("b", "yes"), ("c", 1)):
        writer = ContextWriter(name)
        writer.set_flag("approve", value)
        store.merge(name, writer.drain_writes())
    assert next(store.collisions("d"), None) is not None


def test_only_declared_keys_can_be_read() -> None:
    """`reads` limits the view, the same in every executor, and a wrong read is no missing key."""
    reader = SharedStore({"x": 1, "y": 2}, DIAMOND).reader("a", frozenset({"x"}))
    assert dict(reader) == {"x": 1}
    with pytest.raises(Undeclared):
        reader.get("y")


def test_a_reader_takes_to_another_process_what_is_declared() -> None:
    """Pickled, it has the declared keys alone; it answers, and refuses, as before."""
    store = SharedStore({"x": {"deep": [1]}, "y": "y" * 1_000_000}, {"b": (), "c": (), "d": ("b", "c")})
    merge(store, "b", k=1)
    merge(store, "c", k=1)
    sent = pickle.dumps(store.reader("d", frozenset({"x", "k"})))
    assert len(sent) < 2_000
    reader = pickle.loads(sent)
    assert dict(reader) == {"x": {"deep": (1,)}}
    with pytest.raises(WriteCollision):
        reader["k"]
    with pytest.raises(Undeclared):
        reader["y"]
    with pytest.raises(TypeError):
        reader["x"]["z"] = 1
    assert dict(pickle.loads(pickle.dumps(store.reader("b")))) == dict(store.reader("b"))


def test_a_cycle_and_an_unknown_task_are_refused_together() -> None:
    """One error has everything that is wrong with a graph."""
    with pytest.raises(BadGraph) as caught:
        SharedStore(None, {"a": ("b",), "b": ("a",), "c": ("x",)})
    assert "'x', which is not a task" in str(caught.value)
    assert "a cycle: " in str(caught.value)


def test_what_it_costs_to_read_does_not_depend_on_the_store() -> None:
    """A look at one key runs the same lines over 10 and over 10,000 keys and tasks: counted, not timed."""
    counts = []
    for size in (10, 10_000):
        names = {f"t{index:05}": () for index in range(size)}
        store = SharedStore({f"k{index}": index for index in range(size)}, {**names, "z": tuple(names)[:3]})
        for name in names:
            merge_own(store, name, value=1)
        reader = store.reader("z")
        lines = 0

        def count(*_: object) -> Any:
            nonlocal lines
            lines += 1
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            assert reader["t00002.value"] == 1
        finally:
            sys.settrace(before)
        counts.append(lines)
    assert counts[0] == counts[1]


def test_two_states_of_a_context_are_compared() -> None:
    """The diff has what was added, removed and changed; true is not 1."""
    found = diff_contexts({"a": 1, "b": 1, "c": {"x": (1,)}}, {"b": True, "c": {"x": [1]}, "d": None})
    assert (found.added, found.removed, found.changed) == ({"d": None}, {"a": 1}, {"b": (1, True)})
