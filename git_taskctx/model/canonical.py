"""The one serializer for every JSON file that we write.

Two machines that hold the same value must write the same bytes, so that a sha256 over a file means something.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from git_taskctx.errors import BadData
from git_taskctx.lean import digest, regex
from git_taskctx.limits import MAX_BYTES, MAX_DEPTH

SERIALIZER = "canonical-json"
SERIALIZER_VERSION = "1.0.0"
_HALF = regex(rb"\\u[dD][89a-fA-F]")
"""How half a character may be escaped, which no UTF-8 has."""


def dump_canonical(value: Mapping[str, Any]) -> bytes:
    """Serialize `value`: sorted keys, UTF-8 unescaped, two-space indent, one trailing newline."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def dump_line(value: Mapping[str, Any]) -> str:
    """Serialize `value` as one compact line without its newline, keys in the order given.

    Line separators beyond LF are escaped: git merges records line by line, and a reader may split on them.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for separator in "\x85\u2028\u2029":
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text


def load_object(data: bytes, *, what: str) -> dict[str, Any]:
    """Parse an untrusted JSON object.

    Raises: BadData when `data` is too large, too deep, not UTF-8, not JSON, has a duplicate key or is not an object.
    """
    if len(data) > MAX_BYTES:
        raise BadData(f"{what} has {len(data)} bytes, more than {MAX_BYTES}")
    try:
        value = DECODER.decode(data.decode("utf-8"))
        if _HALF.search(data):
            dump_line({"": value}).encode()
    except (ValueError, RecursionError) as error:
        raise BadData(f"{what} is not valid JSON: {str(error).splitlines()[0]}") from error
    if not isinstance(value, dict):
        raise BadData(f"{what} is not a JSON object")
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        _check_depth(value, what=what)
    return value


def sha256_hex(data: bytes) -> str:
    """Hash `data`; 64 hex digits."""
    return digest("sha256", data).hexdigest()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key is given twice in one object")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if abs(value) < float("inf") else _refuse_constant(number[:40])


DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite)
"""Raises ValueError for duplicate keys and for numbers outside JSON."""


def _check_depth(value: object, *, what: str) -> None:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise BadData(f"{what} is nested more than {MAX_DEPTH} deep")
