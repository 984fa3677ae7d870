"""JSON schemas of our files, derived from the dataclasses, so that the two cannot differ."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import itertools
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

from git_taskctx.model.attestation import Handoff
from git_taskctx.model.codec import field_hints, keys_of
from git_taskctx.model.context import SCHEMA_VERSION, Context
from git_taskctx.model.export import EXPORT_VERSION, Export
from git_taskctx.model.manifest import MANIFEST_VERSION, Manifest
from git_taskctx.model.payloads import Origin, Signature
from git_taskctx.model.proof import Proof
from git_taskctx.model.record import KINDS, RECORD_VERSION, SIGNATURE, Record
from git_taskctx.model.run import RunEvent
from git_taskctx.model.snapshot import FileChange
from git_taskctx.model.values import dataclass, is_dataclass

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class ChangedFiles:
    """The side file of a snapshot: what changed since the base, and git's raw status."""

    version: int
    files_changed: tuple[FileChange, ...]
    status: str
    """`git status --porcelain=v2 -z`, base64."""


@dataclass(frozen=True)
class Metrics:
    """Sizes, counts and times of an agent's turn."""

    version: int
    agent: str
    snapshot: int
    rounds: int
    started_at: str
    snapshot_time: str
    files_changed: int
    lines_added: int
    lines_deleted: int
    diff_bytes: int
    untracked: int


SCHEMAS: Mapping[str, Any] = {
    "context": Context,
    "export": Export,
    "record": Record,
    "files": ChangedFiles,
    "metrics": Metrics,
    "manifest": Manifest,
    "proof": Proof,
    "handoff": Handoff,
    "run": RunEvent,
}
"""Name of each schema, and the class that it describes: `context.json`, role exports, a record, side files, a proof,
what `export --format in-toto` says of a chain, an event of a run."""

_VERSIONS = {Context: SCHEMA_VERSION, Export: EXPORT_VERSION}


def build_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema named `name`, of draft 2020-12. Raises: KeyError for another name."""
    cls = SCHEMAS[name]
    definitions: dict[str, Any] = {}
    body = _object(cls, definitions)
    if cls is Record:
        _describe_payloads(body, definitions)
    if cls is Manifest:
        body["properties"]["version"] = {"const": MANIFEST_VERSION}
    if cls in _VERSIONS:
        body["properties"]["version"] = {"const": _VERSIONS[cls]}
    return {"$schema": DIALECT, "title": name, **body, "$defs": definitions}


def _describe_payloads(body: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Describe a record beyond its fixed fields: the payload of each type, and unknown fields."""
    del body["properties"]["body"]
    body["required"].remove("body")
    body["properties"]["v"] = {"const": RECORD_VERSION}
    body["properties"] |= _object(Origin, definitions)["properties"]
    body["properties"][SIGNATURE] = {
        "description": "By the user's git signing key (`proof.require_signed`).",
        **_type(Signature, definitions),
    }
    body["allOf"] = []
    for kind, (payload, needed) in KINDS.items():
        _type(payload, definitions)
        present = {name: {"not": {"type": "null"}} for name in needed}
        body["allOf"].append(
            {
                "if": {"properties": {"type": {"const": kind}}},
                "then": {"$ref": f"#/$defs/{payload.__name__}", "properties": present},
            }
        )
    for part in (body, *definitions.values()):
        part["additionalProperties"] = True  # what a later version adds is kept


def _object(cls: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints, descriptions = field_hints(cls), _docstrings(cls)
    properties, required = {}, []
    for key, field in keys_of(cls).items():
        if field.metadata.get("aside"):
            continue
        properties[key] = _type(hints[field.name], definitions)
        if field.name in descriptions:
            properties[key] = {"description": descriptions[field.name], **properties[key]}
        if not field.metadata.get("optional"):
            required.append(key)
    return {
        "type": "object",
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    if hint is Any:
        return {}
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_type(arg, definitions) for arg in args]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": _type(args[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(args[1], definitions)}
    if is_dataclass(hint):
        name = typing.cast(Any, hint).__name__
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        return {"enum": [str(value) for value in hint]}
    names = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
    return {"type": names[hint]}


def _docstrings(cls: Any) -> dict[str, str]:
    """Return the docstring that stands under each field in the source."""
    found = _docstrings(cls.__base__) if is_dataclass(cls.__base__) else {}
    for statement, after in itertools.pairwise(_bodies(cls.__module__)[cls.__name__]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            constant = after.value if isinstance(after, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                found[statement.target.id] = " ".join(constant.value.split())
    return found


@functools.cache
def _bodies(module: str) -> dict[str, list[ast.stmt]]:
    """Return what stands in each class of a module; Python itself would read the module again for each of them."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node.body for node in source.body if isinstance(node, ast.ClassDef)}
