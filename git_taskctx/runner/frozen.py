"""JSON values that nobody can change, and their digest.

A value is frozen when it is set, so that a reader may get the very object that the store holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from git_taskctx.runner.faults import BadValue

MAX_DEPTH = 100
"""Levels of nesting; pickle and json recurse, and the limit must not depend on who calls."""
_NAME = re.compile(r"[^\W.][^\s./\\\x00-\x1f]{0,199}")


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


def freeze(value: object, what: str = "the value") -> Any:
    """Return the value with mappings and lists made immutable: FrozenMapping and tuple.

    Raises: BadValue, with the place, for anything that is not JSON.
    """
    try:
        return _freeze(value, MAX_DEPTH)
    except _NotJson as error:
        place = "".join(reversed(error.place))
        raise BadValue(f"{what}{place and ' at '}{place} is no JSON value: {error}") from None


class _NotJson(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.place: list[str] = []


def _freeze(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is FrozenMapping:
        return value
    if kind is str:
        return _checked(value, not value.isascii() and _has_surrogate(value), "a lone surrogate")
    if kind is int:  # Python writes no longer ones: sys.set_int_max_str_digits
        return _checked(value, value.bit_length() > 14_000, "an integer of over 4,000 digits")
    if kind is float:
        return _checked(value, not math.isfinite(value), repr(value))
    if not depth:
        raise _NotJson(f"over {MAX_DEPTH} levels, or it holds itself")
    if isinstance(value, Mapping):
        return _filled({key: _below(item, depth, f".{key}") for key, item in value.items() if _is_text(key)})
    if isinstance(value, (list, tuple)):
        return tuple([_below(item, depth, f"[{index}]") for index, item in enumerate(value)])
    raise _NotJson(f"{kind.__module__}.{kind.__qualname__}")


def _below(value: object, depth: int, step: str) -> Any:
    try:
        return _freeze(value, depth - 1)
    except _NotJson as error:
        error.place.append(step)
        raise


def _checked(value: object, is_wrong: bool, what: str) -> object:
    if is_wrong:
        raise _NotJson(what)
    return value


def _is_text(key: Any) -> bool:
    _checked(key, type(key) is not str or _has_surrogate(key), f"a key that is {key!r}")
    return True


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def thaw(value: Any) -> Any:
    """Return a copy of a frozen value with plain dicts and lists, to be changed at will."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, tuple) else value


def digest(value: object) -> str:
    """Return the sha256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def checked_name(name: object, what: str) -> str:
    """Return a task's id, or a key, that is one: it begins with a letter, digit or _, has no dot, blank or slash.

    Raises: BadValue.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadValue(f"{what} {name!r} must begin with a letter, a digit or _, and have no dot, blank or slash")
    return name


def checked_key(key: object) -> str:
    """Return a key that is one: any text without a dot. Raises: BadValue."""
    if not isinstance(key, str) or not key or "." in key or _has_surrogate(key):
        raise BadValue(f"the key {key!r} must be a text without a dot")
    return key
