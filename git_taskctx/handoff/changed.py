"""A snapshot's list of changed files, written and read item by item in constant memory.

It is a compressed canonical JSON document (`model.schema`). A list with another hash than recorded is not parsed at
all.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from git_taskctx.errors import BadData
from git_taskctx.git.patch import LEVEL
from git_taskctx.git.quoting import unquote
from git_taskctx.lean import digest
from git_taskctx.limits import LIST_RATIO, LIST_ROOM, PIECE, TooLarge, lines_of, unpacked
from git_taskctx.model.snapshot import FileChange

_text = json.encoder.encode_basestring
_OPEN, _CLOSE = b"    {", (b"    },", b"    }")
_BEGIN, _END, _NONE = b'  "files_changed": [', b"  ],", b'  "files_changed": [],'
_FIELD, _MOST_FIELDS = b"      ", 16


def write_list(files: Iterable[FileChange], status: bytes, *, count: int) -> tuple[bytes, str]:
    """Return the compressed document and the sha256 of its content; `count` is an estimate of the files."""
    out = io.BytesIO()
    hashed = digest("sha256", more=count * 400)
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=LEVEL) as packer:

        def add(data: bytes) -> None:
            hashed.update(data)
            packer.write(data)

        held = [b'{\n  "files_changed": [']
        size, comma = 0, b"\n"
        for file in files:
            held.append(comma + _item(file))
            size, comma = size + len(held[-1]), b",\n"
            if size > PIECE:
                add(b"".join(held))
                held, size = [], 0
        add(b"".join((*held, b"\n  ]" if comma != b"\n" else b"]", b',\n  "status": "')))
        for start in range(0, len(status), 3 * PIECE):
            add(b64encode(status[start : start + 3 * PIECE]))
        add(b'",\n  "version": 1\n}\n')
    return out.getvalue(), hashed.hexdigest()


def _item(file: FileChange) -> bytes:
    """Return one item as the canonical serializer writes it, but faster."""
    fields = [
        f'"mode": {_or_null(file.mode)}',
        f'"path": {_text(file.path)}',
        f'"previous_mode": {_or_null(file.previous_mode)}',
        f'"previous_sha256": {_or_null(file.previous_sha256)}',
        *([f'"renamed_from": {_text(file.renamed_from)}'] if file.renamed_from is not None else []),
        f'"sha256": {_or_null(file.sha256)}',
        f'"size": {"null" if file.size is None else file.size}',
        f'"status": "{file.status}"',
    ]
    return f"    {{\n      {f',{chr(10)}      '.join(fields)}\n    }}".encode()


def _or_null(text: str | None) -> str:
    return "null" if text is None else f'"{text}"'


def read_files(packed: bytes, sha: str) -> Iterator[tuple[bytes, str | None, str | None]]:
    """Yield path, sha256 and mode of each file of a list, by path. Raises: BadData for another hash than `sha`."""
    try:
        hashed, limit = digest("sha256", more=8 * len(packed)), LIST_ROOM + LIST_RATIO * len(packed)
        for piece in unpacked(packed, limit=limit):
            hashed.update(piece)
        if hashed.hexdigest() != sha:
            raise BadData("the list of files is not the one that was recorded")
        for item in _items(lines_of(unpacked(packed, limit=limit))):
            yield unquote(item["path"]), item["sha256"], item["mode"]
    except (TooLarge, zlib.error, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise BadData(f"the list of files cannot be read: {error}") from error


def _items(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the files of a document. Raises: ValueError unless `write_list` wrote it."""
    if next(lines, None) != b"{":
        raise ValueError("no document")
    begin, inside = next(lines, b""), list[bytes]()
    if begin == _NONE:
        return
    for line in lines if begin == _BEGIN else ():
        if line.startswith(_FIELD) and len(inside) < _MOST_FIELDS:
            inside.append(line)
        elif line in _CLOSE:
            yield json.loads(b"{%s}" % b"".join(inside))
        elif line == _OPEN:
            inside = []
        elif line == _END:
            return
        else:
            break
    raise ValueError("no list of files")
