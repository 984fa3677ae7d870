"""Dataclasses that are cheap to define, create and replace.

The standard module imports `inspect`, and its decorator compiles six functions for every class: some thirty
milliseconds at each start. Here one set of functions serves all classes. They mean what `dataclasses` says, and type
checkers see those. What a class keeps has names of our own: who finds `__dataclass_fields__`, as dask does, takes its
values for those of the standard module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["MISSING", "FrozenInstanceError", "dataclass", "field", "fields", "is_dataclass", "optional", "replace"]


class Field:
    """One field of a class."""

    __slots__ = ("compare", "default", "default_factory", "metadata", "name", "repr")

    def __init__(self, default: Any, default_factory: Any, repr: bool, compare: bool, metadata: Any) -> None:
        self.name = ""
        self.default, self.default_factory = default, default_factory
        self.repr, self.compare, self.metadata = repr, compare, metadata or {}


if TYPE_CHECKING:
    from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
else:
    MISSING = type("MISSING", (), {"__repr__": lambda _: "MISSING"})()
    """Marks a missing default."""

    class FrozenInstanceError(AttributeError):
        """A frozen value was about to be changed."""

    def field(*, default=MISSING, default_factory=MISSING, repr=True, compare=True, metadata=None) -> Any:
        """Describe a field beyond its type and a plain default."""
        return Field(default, default_factory, repr, compare, metadata)

    def fields(of: Any) -> tuple[Any, ...]:
        """Return the fields of a class, or of a value of it."""
        return tuple(of.__ours_fields__.values())

    def is_dataclass(of: Any) -> bool:
        """Return whether something is such a class, or its value."""
        return hasattr(of, "__ours_fields__")

    def replace(of: Any, /, **changes: Any) -> Any:
        """Return a copy with some fields changed. Raises: TypeError for an unknown field."""
        known, values = of.__ours_fields__, of.__dict__
        if not changes.keys() <= known.keys():
            raise TypeError(f"{type(of).__name__} has no {min(changes.keys() - known.keys())}")
        if len(values) != len(known):  # what was worked out and kept goes by the old fields
            values = {name: values[name] for name in known}
        made = object.__new__(type(of))
        made.__dict__.update(values, **changes)
        return made

    def dataclass(cls: type | None = None, /, *, frozen: bool = False) -> Any:
        """Make a class a dataclass, as `dataclasses.dataclass` would with the same options."""
        return _make(cls, frozen) if cls is not None else lambda cls: _make(cls, frozen)


def optional(default: Any = None, *, key: str | None = None) -> Any:
    """Return a field that is left out of JSON where it has its default; `key` is its name there."""
    return field(default=default, metadata={"optional": True, **({"key": key} if key else {})})


def _make(cls: Any, frozen: bool) -> Any:
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
    known: dict[str, Any] = {}
    for base in cls.__mro__[:0:-1]:
        known |= getattr(base, "__ours_fields__", {})
    for name in cls.__annotations__:
        known[name] = _field_of(cls, name)
    cls.__ours_fields__ = known
    cls.__ours_defaults__ = {name: one.default for name, one in known.items() if one.default is not MISSING}
    cls.__ours_factories__ = [(n, f.default_factory) for n, f in known.items() if f.default_factory is not MISSING]
    cls.__match_args__ = tuple(known)  # type: ignore[misc]
    return cls


def _field_of(cls: Any, name: str) -> Any:
    """Return an annotation's field; the class keeps only its default, as in the standard module."""
    default = cls.__dict__.get(name, MISSING)
    made: Any = default if isinstance(default, Field) else field(default=default)
    made.name = name
    if made is default and made.default is not MISSING:
        setattr(cls, name, made.default)
    elif made is default:
        delattr(cls, name)
    return made


def _init(self: Any, /, *args: Any, **given: Any) -> None:
    if args:
        given = _named(self, args, given)
    if given.keys() != self.__ours_fields__.keys():
        given = _complete(self, given)
    self.__dict__.update(given)


def _named(self: Any, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Return all values by name. Raises: TypeError."""
    names = self.__match_args__
    if len(args) == len(names) and not given:
        return dict(zip(names, args, strict=True))
    if len(args) > len(names):
        raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(args)}")
    values = dict(zip(names, args, strict=False))
    if values.keys() & given.keys():
        raise TypeError(f"{type(self).__name__} got {min(values.keys() & given.keys())} twice")
    return values | given


def _complete(self: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return all values, with the defaults of the fields that are not given. Raises: TypeError."""
    known = self.__ours_fields__
    values: dict[str, Any] = self.__ours_defaults__ | given
    for name, one in self.__ours_factories__:
        if name not in given:
            values[name] = one()
    if values.keys() != known.keys():
        missing = [name for name in known if name not in values]
        wrong = f"needs {missing[0]}" if missing else f"has no {min(values.keys() - known.keys())}"
        raise TypeError(f"{type(self).__name__} {wrong}")
    return values


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, one.name) for one in fields(self) if one.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(self: Any, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change {name} of a {type(self).__name__}")
