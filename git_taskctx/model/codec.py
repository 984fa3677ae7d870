"""Frozen dataclasses to plain JSON values and back, by their type hints alone.

What does not fit is refused with the field's name, so that a damaged or hostile file gives one clear error and never a
half-filled value. Metadata of a field may have `key`, its name in JSON, and `optional`: it is left out where it has its
default.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from git_taskctx.errors import BadData
from git_taskctx.model.values import MISSING, fields, is_dataclass

T = TypeVar("T")
Build = Callable[[Any, str, "list[str] | None"], Any]
"""Builds a value from a JSON value; takes its name for errors, and a list for unknown fields."""


def to_plain(value: Any) -> Any:
    """Turn a dataclass, and all in it, into what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.metadata.get("key", field.name): to_plain(getattr(value, field.name))
            for field in fields(value)
            if not field.metadata.get("aside")
            and not (field.metadata.get("optional") and getattr(value, field.name) == field.default)
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(cls: type[T], value: Any, *, what: str, unknown: list[str] | None = None) -> T:
    """Build `cls` from a parsed JSON value; `what` names it in errors.

    Fields with a default may be missing. Unknown fields are refused, or added to `unknown` if given. Raises: BadData,
    naming the field.
    """
    return typing.cast(T, _builder(typing.cast(Any, cls))(value, what, unknown))


@functools.cache
def field_hints(cls: Any) -> dict[str, Any]:
    """Return the type hint of every field of a dataclass; those of `model` are types already, not their text."""
    found: dict[str, Any] = {}
    for base in cls.__mro__[-2::-1]:
        found |= base.__annotations__ if "__annotations__" in vars(base) else {}
    return typing.get_type_hints(cls) if str in map(type, found.values()) else found


def keys_of(cls: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by their names in JSON."""
    return {field.metadata.get("key", field.name): field for field in fields(cls)}


@functools.cache
def _builder(hint: Any) -> Build:
    """Return what builds a value of a type, worked out once for each."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    if hint is Any:
        return lambda value, where, unknown: value
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (_builder(arg) for arg in args if arg is not type(None))
        return lambda value, where, unknown: None if value is None else inner(value, where, unknown)
    if origin is typing.Literal:
        return functools.partial(_build_literal, args)
    if origin is tuple:
        return functools.partial(_build_tuple, _builder(args[0]))
    if origin is not None and issubclass(origin, Mapping):
        return functools.partial(_build_mapping, _builder(args[1]))
    if is_dataclass(hint):
        cls = typing.cast(Any, hint)
        known = keys_of(cls)
        required = {key for key, one in known.items() if one.default is MISSING and one.default_factory is MISSING}
        return functools.partial(_build_dataclass, cls, _Builders(cls, known), required)
    return functools.partial(_expect, hint)


class _Builders(dict[str, tuple[str, frozenset[type], Build]]):
    """What builds each field of a dataclass by its key in JSON, worked out when the first value of it is met."""

    def __init__(self, cls: Any, known: Mapping[str, Any]) -> None:
        super().__init__()
        self._hints, self.known = field_hints(cls), known

    def __missing__(self, key: str) -> tuple[str, frozenset[type], Build]:
        name = self.known[key].name
        hint = self._hints[name]
        made = self[key] = (name, _fitting(hint), _builder(hint))
        return made


def _build_literal(allowed: tuple[Any, ...], value: Any, where: str, _: list[str] | None) -> Any:
    if value not in allowed:
        raise BadData(f"{where}: {value!r} is not one of {', '.join(map(str, allowed))}")
    return value


def _build_tuple(inner: Build, value: Any, where: str, unknown: list[str] | None) -> tuple[Any, ...]:
    return tuple(inner(item, f"{where}[{index}]", unknown) for index, item in enumerate(_expect(list, value, where)))


def _build_mapping(inner: Build, value: Any, where: str, unknown: list[str] | None) -> dict[str, Any]:
    return {key: inner(item, f"{where}.{key}", unknown) for key, item in _expect(dict, value, where).items()}


def _build_dataclass(
    cls: Any,
    builders: _Builders,
    required: set[str],
    value: Any,
    where: str,
    unknown: list[str] | None,
) -> Any:
    made = {}
    for key, item in _expect(dict, value, where).items():
        if key in builders.known:
            name, fitting, build = builders[key]
            made[name] = item if type(item) in fitting else build(item, f"{where}.{key}", unknown)
        elif unknown is not None:
            unknown.append(f"{where}.{key}")
        else:
            raise BadData(f"{where}: unknown field {key!r}")
    if not required <= value.keys():
        raise BadData(f"{where}: field {min(required - value.keys())!r} is missing")
    return cls(**made)


def _fitting(hint: Any) -> frozenset[type]:
    """Return the types of JSON values that need no conversion, as most values do."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [_fitting(arg) for arg in typing.get_args(hint)]
        return frozenset().union(*inner) if all(inner) else frozenset()
    return frozenset((hint,)) if hint in (str, int, bool, types.NoneType) else frozenset()


def _expect(kind: type[Any], value: Any, where: str, _: list[str] | None = None) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadData(f"{where}: expected {kind.__name__}, found {type(value).__name__}")
    return value
