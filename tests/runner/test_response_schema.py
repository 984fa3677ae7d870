"""The schema of a stage's data means what JSON Schema means."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.runner import freeze
from git_taskctx.runner.schema import check_schema, violations_in

_TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
_PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(-3, 3), st.text("ab", max_size=3))
VALUES = st.recursive(
    _PLAIN, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3)
)


def _schemas(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional={
        "type": _TYPES | st.lists(_TYPES, min_size=1, unique=True),
        "properties": st.dictionaries(st.sampled_from("abc"), below, max_size=2),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "additionalProperties": st.booleans() | below,
        "items": st.booleans() | below,
        "minItems": st.integers(0, 2), "maxItems": st.integers(0, 2), "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2), "minimum": st.integers(-2, 2), "maximum": st.integers(-2, 2),
        "pattern": st.sampled_from(["a", "^b", "a$"]), "enum": st.lists(_PLAIN, min_size=1, max_size=3),
    })  # fmt: skip


SCHEMAS = st.recursive(st.fixed_dictionaries({}), _schemas, max_leaves=8)


@given(schema=SCHEMAS, value=VALUES)
def test_it_agrees_with_jsonschema(schema: Any, value: Any) -> None:
    """A value is violated by ours exactly where the reference implementation finds an error."""
    check_schema(schema)
    expected = bool(list(jsonschema.Draft202012Validator(schema).iter_errors(value)))
    assert bool(list(violations_in(freeze(value), schema, "data"))) == expected
