"""Our own dataclasses mean what the standard ones mean."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
import typing
from typing import Any

import pytest

from git_taskctx.model import values


def _classes(module: Any) -> Any:
    """Return one family of classes, made with `dataclasses` or with our own."""

    @module.dataclass(frozen=True)
    class Base:
        name: str
        count: int = 1
        tags: tuple[str, ...] = module.field(default_factory=tuple)

    @module.dataclass(frozen=True)
    class Below(Base):
        hidden: str = module.field(default="x", repr=False, compare=False)

        @functools.cached_property
        def doubled(self) -> int:
            return 2 * self.count

    @module.dataclass
    class Open:
        found: list[int] = module.field(default_factory=list)

    return Base, Below, Open


@pytest.mark.parametrize("module", [dataclasses, values], ids=["standard", "ours"])
def test_a_value_is_made_compared_shown_and_replaced(module: Any) -> None:
    """The standard module and ours give the same answers to the same questions."""
    base, below, opened = _classes(module)
    one = below("a", tags=("t",))
    assert (one.name, one.count, one.tags, one.hidden, one.doubled) == ("a", 1, ("t",), "x", 2)
    assert repr(one).endswith("Below(name='a', count=1, tags=('t',))")
    assert one == below("a", 1, ("t",), hidden="y") != below("b", 1, ("t",))
    assert hash(one) == hash(below("a", 1, ("t",), hidden="y"))
    assert one != base("a", 1, ("t",))
    changed = module.replace(one, count=3)
    assert (changed.count, changed.doubled, one.count) == (3, 6, 1)
    assert [field.name for field in module.fields(below)] == ["name", "count", "tags", "hidden"]
    assert below.__match_args__ == ("name", "count", "tags", "hidden")
    assert (below.count, hasattr(below, "tags"), below.hidden) == (1, False, "x")
    assert module.is_dataclass(one) and module.is_dataclass(below) and not module.is_dataclass("a")
    assert opened().found is not opened().found
    assert copy.copy(one) == copy.deepcopy(one) == one
    with pytest.raises(TypeError, match="unhashable"):
        hash(opened())


@pytest.mark.parametrize("module", [dataclasses, values], ids=["standard", "ours"])
def test_what_does_not_fit_is_refused(module: Any) -> None:
    """Missing, unknown, doubled and too many values, and a change of what is frozen."""
    base, below, _ = _classes(module)
    for args, given in (((), {}), (("a",), {"other": 1}), (("a",), {"name": "b"}), (("a", 1, (), 4), {})):
        with pytest.raises(TypeError):
            base(*args, **given)
    with pytest.raises(TypeError):
        module.replace(base("a"), other=1)
    for change in (lambda one: setattr(one, "name", "b"), lambda one: delattr(one, "name")):
        with pytest.raises(module.FrozenInstanceError):
            change(below("a"))


@pytest.mark.parametrize("module", [typing, values], ids=["standard", "ours"])
def test_a_named_tuple_is_one(module: Any) -> None:
    """The standard module and ours make the same tuples, and refuse the same values."""

    class Pair(module.NamedTuple):  # type: ignore[misc]
        name: str
        count: int = 1

        @property
        def doubled(self) -> int:
            return 2 * self.count

    one = Pair("a", count=2)
    assert (one, one.name, one.doubled, len(one)) == (("a", 2), "a", 4, 2)
    assert (Pair("a"), Pair(count=2, name="a")) == (("a", 1), one)
    assert repr(one) == "Pair(name='a', count=2)"
    assert (one._replace(name="b"), copy.deepcopy(one), Pair.__match_args__) == (("b", 2), one, ("name", "count"))
    assert not hasattr(one, "__dict__")
    for args, given in (((), {}), (("a",), {"other": 1}), (("a",), {"name": "b"}), (("a", 1, 4), {})):
        with pytest.raises(TypeError):
            Pair(*args, **given)


def test_a_value_travels() -> None:
    """Values of a class that stands in a module are pickled, as the workers of a pool need them."""
    from git_taskctx.git.objects import TreeEntry
    from git_taskctx.model.policy import Policy

    for value in (Policy(), TreeEntry("100644", b"a", "0" * 40)):
        assert pickle.loads(pickle.dumps(value)) == value
