"""Frozen dataclasses to plain JSON values and back, by their type hints alone.

What does not fit the hints is refused with the name of the field, so that a hand-edited, truncated or hostile
file gives one clear error and never a half-filled value.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from git_taskctx.errors import BadData
from git_taskctx.model.values import MISSING, fields, is_dataclass

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Turn a dataclass, and all in it, into what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name))
            for field in fields(value)
            if not (field.metadata.get("optional") and getattr(value, field.name) is None)
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(cls: type[T], value: Any, *, what: str) -> T:
    """Build `cls` from a parsed JSON value; `what` names the value in errors.

    Fields with a default may be missing. Raises: BadData, naming the field, where the value does not fit.
    """
    return typing.cast(T, _build(cls, value, what))


@functools.cache
def field_hints(cls: Any) -> dict[str, Any]:
    """Return the resolved type hint of every field of a dataclass."""
    return typing.get_type_hints(cls)


def _build(hint: Any, value: Any, where: str) -> Any:
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    if hint is Any:
        return value
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        (inner,) = (arg for arg in args if arg is not type(None))
        return _build(inner, value, where)
    if origin is typing.Literal:
        if value not in args:
            raise BadData(f"{where}: {value!r} is none of {', '.join(map(str, args))}")
        return value
    if origin is tuple:
        return tuple(
            _build(args[0], item, f"{where}[{index}]") for index, item in enumerate(_expect(value, list, where))
        )
    if origin is not None and issubclass(origin, Mapping):
        return {key: _build(args[1], item, f"{where}.{key}") for key, item in _expect(value, dict, where).items()}
    if is_dataclass(hint):
        return _build_dataclass(hint, _expect(value, dict, where), where)
    return _expect(value, hint, where)


def _build_dataclass(cls: Any, value: dict[str, Any], where: str) -> Any:
    hints = field_hints(cls)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise BadData(f"{where}: unknown field {unknown[0]!r}")
    for field in fields(cls):
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in value:
            raise BadData(f"{where}: field {field.name!r} is missing")
    return cls(**{key: _build(hints[key], item, f"{where}.{key}") for key, item in value.items()})


def _expect(value: Any, kind: type[Any], where: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadData(f"{where}: expected {kind.__name__}, found {type(value).__name__}")
    return value
