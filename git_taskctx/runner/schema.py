"""Check a frozen value against a schema: the part of JSON Schema that a stage's data needs, as JSON Schema means it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from git_taskctx.errors import BadConfig

_TYPES: dict[str, Any] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, tuple),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: _TYPES["number"](value) and value == int(value),
}
_LIMITS: dict[str, tuple[str, Any, str]] = {
    "minimum": ("number", lambda value, limit: value >= limit, "less than"),
    "maximum": ("number", lambda value, limit: value <= limit, "more than"),
    "minLength": ("string", lambda value, limit: len(value) >= limit, "shorter than"),
    "maxLength": ("string", lambda value, limit: len(value) <= limit, "longer than"),
    "minItems": ("array", lambda value, limit: len(value) >= limit, "fewer items than"),
    "maxItems": ("array", lambda value, limit: len(value) <= limit, "more items than"),
    "pattern": ("string", lambda value, limit: re.search(limit, value), "no match of"),
    "enum": ("", lambda value, limit: any(_is_same(value, one) for one in limit), "none of"),
}
_KNOWN = {"type", "properties", "required", "additionalProperties", "items", "description", "title", *_LIMITS}


def check_schema(schema: Any, where: str = "the schema") -> None:
    """Raise BadConfig for a keyword or a type that is not understood: nothing may seem checked that is not."""
    if not isinstance(schema, Mapping):
        raise BadConfig(f"{where} is no mapping")
    if unknown := sorted(schema.keys() - _KNOWN) + sorted(set(_types_of(schema)) - _TYPES.keys()):
        raise BadConfig(f"{where} has {', '.join(map(repr, unknown))}, which is not understood")
    if any(isinstance(value, (Mapping, list, tuple)) for value in schema.get("enum", ())):
        raise BadConfig(f"{where} has an enum of more than plain values, which is not understood")
    for name, below in schema.get("properties", {}).items():
        check_schema(below, f"{where} of {name}")
    for name in ("items", "additionalProperties"):
        if not isinstance(schema.get(name, True), bool):
            check_schema(schema[name], f"{where} of {name}")


def _types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def violations_in(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield everything in which a frozen value does not meet a schema."""
    kinds = _types_of(schema)
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        yield f"{where} is no {' or '.join(kinds)}"
        return
    for keyword, (kind, is_met, what) in _LIMITS.items():
        if keyword in schema and (not kind or _TYPES[kind](value)) and not is_met(value, schema[keyword]):
            yield f"{where} is {what} {schema[keyword]!r}"
    if isinstance(value, Mapping):
        yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, item in value.items():
            yield from _violations_below(item, known.get(name, rest), f"{where}.{name}")
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _violations_below(item, schema.get("items", True), f"{where}[{index}]")


def _violations_below(value: Any, schema: Any, where: str) -> Iterator[str]:
    if schema is False:
        yield f"{where} is not allowed"
    elif schema is not True:
        yield from violations_in(value, schema, where)


def _is_same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
