"""JSON values that nobody can change, and their digest: a reader may get the very object that the store holds."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from git_taskctx.runner.faults import BadValue

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
MAX_DEPTH = 100
"""Levels of nesting; pickle and json recurse, and the limit must not depend on who calls."""


class FrozenMapping(dict[str, Any]):
    """A mapping that refuses every change; equal to a dict of the same items. Only `freeze` makes one."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a value of the store cannot be changed; thaw(value) makes a copy that can")

    __init__ = __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[object, ...]:
        return _filled, (dict(self),)


def _filled(items: dict[str, Any]) -> FrozenMapping:
    made: FrozenMapping = FrozenMapping.__new__(FrozenMapping)
    dict.update(made, items)
    return made


class _NotJson(Exception):
    """Says what is no JSON; the place is put together on the way up."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.place = ""


def freeze(value: object, what: str = "the value") -> Any:
    """Return the value with mappings and lists made immutable: FrozenMapping and tuple.

    Raises: BadValue, with the place, for anything that is not JSON.
    """
    try:
        return _freeze(value, MAX_DEPTH)
    except _NotJson as error:
        raise BadValue(f"{what}{error.place and ' at '}{error.place} is not a JSON value: {error}") from None


def _freeze(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is FrozenMapping:
        return value
    if kind is str:
        return value if value.isascii() or not _has_surrogate(value) else _refuse("a lone surrogate")
    if kind is int:  # Python writes no longer ones: sys.set_int_max_str_digits
        return value if value.bit_length() <= 14_000 else _refuse("an integer of over 4,000 digits")
    if kind is float:
        return value if math.isfinite(value) else _refuse(repr(value))
    if not depth:
        _refuse(f"over {MAX_DEPTH} levels, or it holds itself")
    if isinstance(value, Mapping):
        if wrong := [key for key in value if type(key) is not str or _has_surrogate(key)]:
            _refuse(f"a key that is {wrong[0]!r}")
        return _filled({key: _below(item, depth, f".{key}") for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple([_below(item, depth, f"[{index}]") for index, item in enumerate(value)])
    return _refuse(f"{kind.__module__}.{kind.__qualname__}")


def _below(value: object, depth: int, step: str) -> Any:
    try:
        return _freeze(value, depth - 1)
    except _NotJson as error:
        error.place = step + error.place
        raise


def _refuse(what: str) -> NoReturn:
    raise _NotJson(what)


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def thaw(value: Any) -> Any:
    """Return a copy of a frozen value with plain dicts and lists, to be changed at will."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, tuple) else value


def hash_json(value: object) -> str:
    """Return the sha256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(_CANONICAL(value).encode()).hexdigest()


def kind_of(value: object) -> str:
    """Return the type of a frozen value, by JSON's name."""
    names = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", tuple: "array"}
    return names.get(type(value), "object")


def checked_key(key: object) -> str:
    """Return a key that is one: any text without a dot. Raises: BadValue."""
    if not isinstance(key, str) or not key or "." in key or _has_surrogate(key):
        raise BadValue(f"the key {key!r} must be a text without a dot")
    return key
