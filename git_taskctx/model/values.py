"""Dataclasses and named tuples that are cheap to define, create and replace.

The standard module imports `inspect`, and its decorator compiles six functions for every class: some thirty
milliseconds at each start. Here one set of functions serves all classes. They mean what `dataclasses` says, and type
checkers see those. What a class keeps has names of our own: who finds `__dataclass_fields__`, as dask does, takes its
values for those of the standard module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = [
    "MISSING", "FrozenInstanceError", "NamedTuple", "dataclass", "field", "fields", "is_dataclass", "optional",
    "replace",
]  # fmt: skip


class Field:
    """One field of a class."""

    __slots__ = ("compare", "default", "default_factory", "metadata", "name", "repr")

    def __init__(self, default: Any, default_factory: Any, repr: bool, compare: bool, metadata: Any) -> None:
        self.name = ""
        self.default, self.default_factory = default, default_factory
        self.repr, self.compare, self.metadata = repr, compare, metadata or {}


if TYPE_CHECKING:
    from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
    from typing import NamedTuple
else:
    from collections import _tuplegetter

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

    class _TupleType(type):
        def __new__(cls, name, bases, given):
            if bases:
                names = tuple(given.get("__annotations__", ()))
                given |= {"_fields": names, "_count": len(names), "__match_args__": names}
                given["_defaults"] = {name: given[name] for name in names if name in given}
                given |= {name: _tuplegetter(place, None) for place, name in enumerate(names)}
            return super().__new__(cls, name, bases or (tuple,), {**given, "__slots__": ()})

    class NamedTuple(metaclass=_TupleType):
        """What `typing.NamedTuple` makes, which compiles each annotation that is text."""

        def __new__(cls, *args, _new=tuple.__new__, **given):
            if given or len(args) != cls._count:
                missing = cls._count - len(args)
                if given or not 0 < missing <= len(cls._defaults):
                    args = _in_order(cls, args, given)
                else:
                    args += tuple(cls._defaults.values())[-missing:]
            return _new(cls, args)

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)

        def _replace(self, **changes):
            return type(self)(**{**dict(zip(self._fields, self, strict=True)), **changes})


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
    given = cls.__dict__
    for name, function in functions.items():
        if name not in given or name == "__hash__":
            setattr(cls, name, function)
    described = {name: given[name] for name in cls.__annotations__ if type(given.get(name)) is Field}
    for name, one in described.items():  # the class keeps only its default, as in the standard module
        if one.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, one.default)
    cls.__ours_fields__ = _Fields(cls, described)
    return cls


class _Fields:
    """Works out the fields of a class when they are first asked for: most classes are only defined."""

    def __init__(self, cls: Any, described: dict[str, Field]) -> None:
        self._cls, self._described = cls, described

    def __get__(self, value: Any, owner: Any) -> dict[str, Any]:
        cls = self._cls
        known: dict[str, Any] = {}
        for base in cls.__mro__[:0:-1]:
            known |= getattr(base, "__ours_fields__", {})
        for name in cls.__annotations__:
            known[name] = self._described.get(name) or field(default=cls.__dict__.get(name, MISSING))
            known[name].name = name
        cls.__ours_defaults__ = {name: one.default for name, one in known.items() if one.default is not MISSING}
        cls.__ours_factories__ = [
            (name, one.default_factory) for name, one in known.items() if one.default_factory is not MISSING
        ]
        cls.__match_args__ = tuple(known)  # type: ignore[misc]
        cls.__ours_fields__ = known
        return known


def _init(self: Any, /, *args: Any, **given: Any) -> None:
    known = self.__ours_fields__
    if args:
        given = _named(self.__match_args__, args, given, type(self).__name__)
    if given.keys() != known.keys():
        given = _complete(self, given)
    self.__dict__.update(given)


def _in_order(cls: Any, args: tuple[Any, ...], given: dict[str, Any]) -> list[Any]:
    """Return the values of a named tuple. Raises: TypeError."""
    values = cls._defaults | _named(cls._fields, args, given, cls.__name__)
    for name in cls._fields:
        if name not in values:
            raise TypeError(f"{cls.__name__} needs {name}")
    if len(values) != cls._count:
        raise TypeError(f"{cls.__name__} has no {min(values.keys() - set(cls._fields))}")
    return [values[name] for name in cls._fields]


def _named(names: tuple[str, ...], args: tuple[Any, ...], given: dict[str, Any], what: str) -> dict[str, Any]:
    """Return all values by name. Raises: TypeError."""
    if len(args) == len(names) and not given:
        return dict(zip(names, args, strict=True))
    if len(args) > len(names):
        raise TypeError(f"{what} takes {len(names)} values, not {len(args)}")
    values = dict(zip(names, args, strict=False))
    if values.keys() & given.keys():
        raise TypeError(f"{what} got {min(values.keys() & given.keys())} twice")
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
