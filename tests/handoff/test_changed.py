"""The list of changed files: canonical, read back however long it is, and never the reader's undoing."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from base64 import b64encode
from collections.abc import Callable

import pytest
from desk import Desk

from git_taskctx.errors import BadData
from git_taskctx.git.quoting import quote
from git_taskctx.handoff.changed import read_files, write_list
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
    stored, sha = write_list(FILES[:count], status, count=count)
    value = {"version": 1, "files_changed": to_plain(FILES[:count]), "status": b64encode(status).decode()}
    assert gzip.decompress(stored) == dump_canonical(value)
    assert sha == sha256_hex(dump_canonical(value))


def test_it_is_read_back() -> None:
    """Paths as bytes, in order, and the hash of what lay there; also of a list over the limit of other documents."""
    stored, sha = write_list(FILES, b"? a\0" * 200_000, count=3)
    assert list(read_files(stored, sha)) == [
        (b"a", "1" * 64, "100644"),
        (b'b\xff\n"\\', "2" * 64, "100755"),
        (b"gone", None, None),
    ]
    many = (
        FileChange(f"folder/file-{number:06}", "A", sha256_hex(b"%d" % number), None, "100644", None, 1)
        for number in range(40_000)
    )
    stored, sha = write_list(many, b"", count=40_000)
    found = list(read_files(stored, sha))
    assert (len(found), found[-1]) == (40_000, (b"folder/file-039999", sha256_hex(b"39999"), "100644"))


def packed(text: bytes) -> bytes:
    """Return a list as it is stored, cheaply packed."""
    return gzip.compress(b'{\n  "files_changed": [\n' + text, compresslevel=1)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "one long line": lambda: packed(b"x" * 64_000_000),
    "one file with many fields": lambda: packed(b'      "a": 1,\n' * 1_000_000),
    "deep": lambda: packed(b'    {\n      "path": ' + b"[" * 50_000),
    "no text": lambda: packed(b'    {\n      "path": "\xff",\n      "sha256": null\n    }\n'),
    "no path": lambda: packed(b'    {\n      "path": 1,\n      "sha256": null\n    }\n'),
    "not packed": lambda: b"{}",
    "cut": lambda: packed(b"x" * 1000)[:-9],
    "empty": lambda: b"",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("recorded", [False, True], ids=["of another hash", "recorded so"])
def test_a_hostile_list_costs_no_memory(name: str, recorded: bool) -> None:
    """What others wrote is refused, whether or not the record beside it says that it is so."""
    data = HOSTILE[name]()
    try:
        sha = sha256_hex(gzip.decompress(data)) if recorded else "0" * 64
    except (OSError, EOFError):
        sha = "0" * 64
    tracemalloc.start()
    try:
        with pytest.raises(BadData):
            list(read_files(data, sha))
        assert tracemalloc.get_traced_memory()[1] < 24 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_list_that_packs_too_well_is_not_read_to_its_end() -> None:
    """What packs better than hashes can is refused early, whatever its lines are."""
    data = gzip.compress(b"{\n" * 40_000_000)
    with pytest.raises(BadData, match=r"more than 7[0-9]{7} bytes"):
        list(read_files(data, "0" * 64))


def test_a_snapshot_goes_on_without_it(implemented: Desk) -> None:
    """A list that was replaced is named in a warning; what it said of the files before is read from blobs."""
    path, readme = implemented.folder() / "implementer-1-files.json.gz", implemented.repo.read("README")
    path.write_bytes(HOSTILE["one long line"]())
    implemented.repo.write("README", "reviewed\n")
    said = implemented.ok("snapshot", "--agent", "reviewer", "--attest", "mine")
    assert "the list of files of implementer's snapshot cannot be read; hashes before are those of blobs" in said.err
    assert before_of(implemented, "reviewer") == {
        "README": (sha256_hex(readme), "100644"),
        "parser.py": (sha256_hex(b"mended\n"), "100644"),
    }


def files_of(desk: Desk, agent: str, number: int = 1) -> dict[str, dict[str, object]]:
    """Return the changed files of a snapshot, by path."""
    packed = (desk.folder() / f"{agent}-{number}-files.json.gz").read_bytes()
    return {file["path"]: file for file in json.loads(gzip.decompress(packed))["files_changed"]}


def before_of(desk: Desk, agent: str) -> dict[str, tuple[object, object]]:
    """Return hash and mode before of each changed file of an agent's snapshot."""
    return {path: (file["previous_sha256"], file["previous_mode"]) for path, file in files_of(desk, agent).items()}


def test_hash_and_mode_before_are_of_one_tree(desk: Desk) -> None:
    """Of the base for the first agent; of the tree that it handed over for the next, changed there or not."""
    begun, base = desk, desk.repo.read("parser.py")
    desk.repo.write("parser.py", "dirty before the task\n")
    desk.init()
    begun.repo.write("parser.py", "mended\n", mode=0o755)
    begun.repo.write("new.py", "new\n")
    begun.ok("snapshot", "--agent", "implementer")
    assert before_of(begun, "implementer") == {"new.py": (None, None), "parser.py": (sha256_hex(base), "100644")}
    readme = begun.repo.read("README")
    begun.ok("start", "--agent", "reviewer")
    begun.repo.write("parser.py", "reviewed\n", mode=0o644)
    begun.repo.write("README", "reviewed\n")
    begun.ok("snapshot", "--agent", "reviewer")
    assert before_of(begun, "reviewer") == {
        "README": (sha256_hex(readme), "100644"),
        "new.py": (sha256_hex(b"new\n"), "100644"),
        "parser.py": (sha256_hex(b"mended\n"), "100755"),
    }


@pytest.mark.parametrize("lost", ["tree", "blob"])
def test_a_snapshot_goes_on_without_the_objects_before(implemented: Desk, lost: str) -> None:
    """What needs them says so, a secret in what is new is still found, and all else is recorded."""
    implemented.ok("start", "--agent", "reviewer")
    implemented.repo.write("parser.py", "reviewed\n")
    tree = implemented.seat("implementer")["worktree_snapshot"]["tree"]
    oid = tree if lost == "tree" else implemented.repo.git("rev-parse", f"{tree}:parser.py")
    path = implemented.repo.git_dir() / "objects" / oid[:2] / oid[2:]
    path.unlink()
    implemented.repo.write("key.txt", "aws = AKIA" + "QYLPMN5HHHFPZAM2" + "\n")
    implemented.ends(1, "snapshot", "--agent", "reviewer")
    implemented.repo.remove("key.txt")
    said = implemented.ok("snapshot", "--agent", "reviewer")
    assert "objects of the previous snapshot are missing" in said.err
    taken = implemented.seat("reviewer")["worktree_snapshot"]
    assert (taken["incremental_diff_error"], taken["diff_from_previous"]) == (
        "objects of the previous snapshot are missing",
        None,
    )
    assert (taken["tree"], taken["diff_stat"]) == (implemented.repo.oracle(), "+1 -1")
    assert files_of(implemented, "reviewer")["parser.py"]["previous_sha256"] == sha256_hex(b"mended\n")
    implemented.ok("verify")


def test_what_is_out_of_scope_is_the_whole_change_and_ones_own(desk: Desk) -> None:
    """The validator reads what all of the work changed outside, and whose it was."""
    desk.repo.write("docs/TASK-1.task.yaml", SCOPED)
    desk.repo.commit("task")
    desk.ok("init", "TASK-1")
    desk.repo.write("left.txt", "by the implementer\n")
    desk.implement()
    desk.ok("start", "--agent", "reviewer")
    desk.repo.write("right.txt", "by the reviewer\n")
    desk.ok("snapshot", "--agent", "reviewer")
    taken = desk.seat("reviewer")["worktree_snapshot"]
    assert taken["out_of_scope"] == ["left.txt", "right.txt"]
    assert taken["own_out_of_scope"] == ["right.txt"]


SCOPED = """\
id: TASK-1
title: Mend the parser
status: in_progress
description: It breaks.
acceptance_criteria: [It does not break.]
scope: {in: [parser.py]}
"""


def test_what_was_dirty_before_is_named_and_no_part_of_the_work(desk: Desk) -> None:
    """In every brief; neither in the whole work nor in the list of files, before and after the snapshot."""
    desk.repo.write("README", "half a sentence\n")
    desk.repo.write("scratch.txt", "mine\n")
    desk.init()
    desk.repo.write("parser.py", "mended\n")
    before = desk.ok("diff", "--type", "from-base", "--agent", "implementer").out
    desk.ok("snapshot", "--agent", "implementer")
    assert set(files_of(desk, "implementer")) == {"parser.py"}
    assert desk.seat("implementer")["worktree_snapshot"]["diff_stat"] == "+1 -1"
    after = desk.ok("diff", "--type", "from-base", "--agent", "implementer").out
    assert before == after
    assert "README" not in after
    for agent in ("implementer", "reviewer", "validator"):
        assert "    - README\n    - scratch.txt\n" in desk.ok("get", "--role", agent, "--format", "md").out
    (desk.folder() / "implementer-1-from-base.diff.gz").unlink()
    assert desk.ok("diff", "--type", "from-base", "--agent", "implementer").out == after
    desk.repo.write("README", "a whole sentence\n")
    desk.ok("snapshot", "--agent", "implementer")
    assert set(files_of(desk, "implementer", 2)) == {"README", "parser.py"}
