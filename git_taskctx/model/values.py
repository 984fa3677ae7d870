"""Dataclasses that cost next to nothing to define.

The standard decorator writes and compiles six functions for every class, half a millisecond each time a program
starts, and agents start this one all day. Here one set of functions serves all classes; whatever else there is to a
dataclass (`replace`, `fields`, type checking) is the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False) -> Any:
        """Make a dataclass of a class, as `dataclasses.dataclass` would with the same options."""
        return _make(cls, frozen) if cls is not None else lambda cls: _make(cls, frozen)


def _make(cls: type, frozen: bool) -> type:
    functions: dict[str, Callable[..., Any] | None] = {
        "__init__": _init,
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": _hash if frozen else None,
    }
    if frozen:
        functions |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, function in functions.items():
        if name not in cls.__dict__ or name == "__hash__":
            setattr(cls, name, function)
    return dataclasses.dataclass(init=False, repr=False, eq=False)(cls)


def _init(self: Any, *args: Any, **given: Any) -> None:
    names = self.__match_args__
    if len(args) > len(names):
        raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(args)}")
    values = dict(zip(names, args, strict=False))
    if values.keys() & given.keys():
        raise TypeError(f"{type(self).__name__} got {min(values.keys() & given.keys())} twice")
    values |= given
    if len(values) != len(names) or not values.keys() <= set(names):
        _complete(self, values)
    self.__dict__.update(values)


def _complete(self: Any, values: dict[str, Any]) -> None:
    """Add the defaults of the fields that are not given. Raises: TypeError."""
    fields = self.__dataclass_fields__
    for name, one in fields.items():
        if name in values:
            continue
        if one.default is not dataclasses.MISSING:
            values[name] = one.default
        elif one.default_factory is not dataclasses.MISSING:
            values[name] = one.default_factory()
        else:
            raise TypeError(f"{type(self).__name__} needs {name}")
    if len(values) != len(fields):
        raise TypeError(f"{type(self).__name__} has no {min(values.keys() - fields.keys())}")


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, one.name) for one in dataclasses.fields(self) if one.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(self: Any, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name} of a {type(self).__name__}")
