"""The list of changed files: canonical, read back however long it is, and never the reader's undoing."""

from __future__ import annotations

import gzip
import tracemalloc
from base64 import b64encode

import pytest
from desk import Desk

from git_taskctx.errors import BadData
from git_taskctx.git.quoting import quote
from git_taskctx.handoff.changed import read_hashes, write_list
from git_taskctx.model.canonical import dump_canonical, sha256_hex
from git_taskctx.model.codec import to_plain
from git_taskctx.model.snapshot import FileChange

FILES = [
    FileChange("a", "A", "1" * 64, None, "100644", None, 3),
    FileChange(quote(b'b\xff\n"\\'), "M", "2" * 64, "3" * 64, "100755", "100644", 0, "deleted é\u2028"),
    FileChange("gone", "D", None, "4" * 64, None, "120000", None),
]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_it_is_canonical(count: int) -> None:
    """The same bytes as the one serializer would write."""
    status = b"? a\0" * 10
    packed, sha = write_list(FILES[:count], status, count=count)
    value = {"version": 1, "files_changed": to_plain(FILES[:count]), "status": b64encode(status).decode()}
    assert gzip.decompress(packed) == dump_canonical(value)
    assert sha == sha256_hex(dump_canonical(value))


def test_it_is_read_back() -> None:
    """Paths as bytes, in order, and the hash of what lay there; also of a list over the limit of other documents."""
    packed, sha = write_list(FILES, b"? a\0" * 200_000, count=3)
    assert list(read_hashes(packed, sha)) == [(b"a", "1" * 64), (b'b\xff\n"\\', "2" * 64), (b"gone", None)]
    many = (
        FileChange(f"folder/file-{number:06}", "A", sha256_hex(b"%d" % number), None, "100644", None, 1)
        for number in range(40_000)
    )
    packed, sha = write_list(many, b"", count=40_000)
    found = list(read_hashes(packed, sha))
    assert (len(found), found[-1]) == (40_000, (b"folder/file-039999", sha256_hex(b"39999")))


def bomb(what: bytes, *, times: int) -> bytes:
    """Return a small file that unpacks to much."""
    return gzip.compress(b'{\n  "files_changed": [\n' + what * times, compresslevel=9)


HOSTILE = {
    "one long line": bomb(b"x" * 1000, times=200_000),
    "one file with many fields": bomb(b'      "a": 1,\n', times=2_000_000),
    "deep": gzip.compress(b'{\n  "files_changed": [\n    {\n      "path": ' + b"[" * 50_000),
    "no text": gzip.compress(b'{\n  "files_changed": [\n    {\n      "path": "\xff",\n      "sha256": null\n    }\n'),
    "no path": gzip.compress(b'{\n  "files_changed": [\n    {\n      "path": 1,\n      "sha256": null\n    }\n'),
    "not packed": b"{}",
    "cut": gzip.compress(b"{" * 1000)[:-9],
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("recorded", [False, True], ids=["of another hash", "recorded so"])
def test_a_hostile_list_costs_no_memory(name: str, recorded: bool) -> None:
    """What others wrote is refused, whether or not the record beside it says that it is so."""
    data = HOSTILE[name]
    try:
        sha = sha256_hex(gzip.decompress(data)) if recorded else "0" * 64
    except (OSError, EOFError):
        sha = "0" * 64
    tracemalloc.start()
    try:
        with pytest.raises(BadData):
            list(read_hashes(data, sha))
        assert tracemalloc.get_traced_memory()[1] < 24 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_snapshot_goes_on_without_it(begun: Desk) -> None:
    """A list that was replaced is named in a warning; what it said of the files before is left out."""
    begun.implement()
    path = begun.folder() / "implementer-1-files.json.gz"
    path.write_bytes(HOSTILE["one long line"])
    begun.repo.write("README", "reviewed\n")
    said = begun.ok("snapshot", "--agent", "reviewer", "--attest", "mine")
    assert "the list of files of implementer's snapshot does not read; hashes before are left out" in said.err
