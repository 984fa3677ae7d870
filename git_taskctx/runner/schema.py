"""Check a frozen value against a schema: the part of JSON Schema that a stage's data needs, as JSON Schema means it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from git_taskctx.errors import BadConfig
from git_taskctx.runner.frozen import kind_of

_TYPES = {"object", "array", "string", "boolean", "null", "number", "integer"}
_LIMITS: dict[str, tuple[str, Any, str]] = {
    "minimum": ("number", lambda value, limit: value >= limit, "less than"),
    "maximum": ("number", lambda value, limit: value <= limit, "more than"),
    "minLength": ("string", lambda value, limit: len(value) >= limit, "shorter than"),
    "maxLength": ("string", lambda value, limit: len(value) <= limit, "longer than"),
    "minItems": ("array", lambda value, limit: len(value) >= limit, "fewer items than"),
    "maxItems": ("array", lambda value, limit: len(value) <= limit, "more items than"),
    "pattern": ("string", lambda value, limit: re.search(limit, value), "no match of"),
    "enum": ("", lambda value, limit: any(value == one and kind_of(value) == kind_of(one) for one in limit), "none of"),
}
_KNOWN = {"type", "properties", "required", "additionalProperties", "items", "description", "title", *_LIMITS}


def check_schema(schema: Any, where: str = "the schema") -> None:
    """Raise BadConfig for a keyword or a type that is not understood: nothing may seem checked that is not."""
    if not isinstance(schema, Mapping):
        raise BadConfig(f"{where} is not a mapping")
    unknown = [*sorted(schema.keys() - _KNOWN), *sorted(set(_types_of(schema)) - _TYPES)]
    unknown += ["enum" for one in schema.get("enum", ()) if isinstance(one, (Mapping, list, tuple))]
    if unknown:
        raise BadConfig(f"{where} has {', '.join(map(repr, unknown))}, which is not understood")
    below = {**schema.get("properties", {}), "items": schema.get("items"), "rest": schema.get("additionalProperties")}
    for name, one in below.items():
        if one is not None and not isinstance(one, bool):
            check_schema(one, f"{where} of {name}")


def _types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def not_one_of(kinds: tuple[str, ...]) -> str:
    """Return how a value is that has none of these types."""
    return f"not {'an' if kinds[0][0] in 'aio' else 'a'} {' or '.join(kinds)}"


def violations_in(value: Any, schema: Any, where: str) -> Iterator[str]:
    """Yield everything in which a frozen value does not meet a schema."""
    if isinstance(schema, bool):
        yield from () if schema else (f"{where} is not allowed",)
        return
    kind, kinds = kind_of(value), _types_of(schema)
    if kinds and kind not in kinds and not (kind == "number" and "integer" in kinds and value == int(value)):
        yield f"{where} is {not_one_of(kinds)}"
        return
    for keyword, (about, is_met, what) in _LIMITS.items():
        if keyword in schema and about in ("", kind) and not is_met(value, schema[keyword]):
            yield f"{where} is {what} {schema[keyword]!r}"
    if kind == "object":
        yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, item in value.items():
            yield from violations_in(item, known.get(name, rest), f"{where}.{name}")
    if kind == "array":
        for index, item in enumerate(value):
            yield from violations_in(item, schema.get("items", True), f"{where}[{index}]")
