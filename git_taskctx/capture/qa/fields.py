"""Fields of a JSON document that anybody may have written: of the type that the tool writes, or the document is odd."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")
MAX_COUNT = 10**9
LENGTH = 300
"""Characters of a text that are kept: one title may stand above many tests."""


class Odd(Exception):
    """The document is not of the shape that its tool writes."""


def take(document: Any, key: str, kind: type[T]) -> T:
    """Return a field. Raises: Odd where it is missing, or of another type."""
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
    """Return a text as one line, not too long, that can be written as UTF-8; JSON may name half a character."""
    return " ".join(text[: 2 * LENGTH].encode("utf-8", "replace").decode().split())[:LENGTH]


def file(document: Any, key: str) -> str:
    """Return a path, with slashes. Raises: Odd."""
    return word(document, key).replace("\\", "/")
