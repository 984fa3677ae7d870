"""Typed access to the fields of untrusted JSON documents."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")
MAX_COUNT = 10**9
LENGTH = 300
"""Characters kept of a text: one title may be repeated for many tests."""


class Odd(Exception):
    """The document does not have its tool's shape."""


def take(document: Any, key: str, kind: type[T]) -> T:
    """Return a field. Raises: Odd where it is missing or has another type."""
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Odd(key)
    return value


def count(document: Any, key: str) -> int:
    """Return a number of things. Raises: Odd."""
    value = take(document, key, int)
    if not 0 <= value < MAX_COUNT:
        raise Odd(key)
    return value


def word(document: Any, key: str) -> str:
    """Return a text as one line. Raises: Odd."""
    return line(take(document, key, str))


def line(text: str) -> str:
    """Return a text as one line of limited length, valid as UTF-8; JSON may contain lone surrogates."""
    return " ".join(text[: 2 * LENGTH].encode("utf-8", "replace").decode().split())[:LENGTH]


def file(document: Any, key: str) -> str:
    """Return a path, with slashes. Raises: Odd."""
    return word(document, key).replace("\\", "/")
