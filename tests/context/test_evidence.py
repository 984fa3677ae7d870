"""Evidence is kept as it was attached, under an id that stays, whatever becomes of the original and of the folder."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
from pathlib import Path

import pytest
from desk import TASK, Desk, plain

from git_taskctx.cli.call import Call
from git_taskctx.context.evidence import EvidenceSource, take
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Session
from git_taskctx.errors import Refused
from git_taskctx.limits import EVIDENCE_LIMIT, PIECES_LIMIT
from git_taskctx.model.context import Evidence
from git_taskctx.model.values import replace

LINES = "".join(f"line {number}\n" for number in range(1, 31))
SECRET = "gh" + "p_" + "q7ZkU2m9XwB4t8RdNpL3vYc6HsGfJ1aE0iQo"


@pytest.fixture
def noted(begun: Desk) -> Desk:
    """A context, and a file of thirty lines to attach."""
    begun.repo.write("notes.txt", LINES)
    return begun


def attach(desk: Desk, *args: str, code: int = 0) -> dict[str, object]:
    """Attach something, and return its entry."""
    data = desk.data("attach", *args, code=code)
    assert isinstance(data["evidence"], dict)
    return data["evidence"]


def stored(desk: Desk) -> list[str]:
    """Return the names in the evidence folder."""
    folder = desk.folder() / "evidence"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_file_is_kept_by_its_hash(noted: Desk) -> None:
    """The entry, the gzipped copy, the record and the context's ref say the same; the original is not touched."""
    before = noted.repo.census()
    said = noted.ok("attach", "notes.txt", "--type", "plan", "--description", "how it is to be done")
    assert said.out == f"E1: notes.txt (plan, {len(LINES)} bytes)\n"
    assert said.err == "hint: git taskctx evidence show E1\n"
    sha = hashlib.sha256(LINES.encode()).hexdigest()
    packed = (noted.folder() / "evidence" / f"{sha}.gz").read_bytes()
    entry = {
        "id": "E1",
        "type": "plan",
        "path": "notes.txt",
        "sha256": sha,
        "size": len(LINES),
        "stored_sha256": hashlib.sha256(packed).hexdigest(),
        "description": "how it is to be done",
    }
    assert noted.context()["evidence"] == [entry]
    assert [record["evidence"] for record in noted.records("attach")] == [entry]
    assert gzip.decompress(packed) == LINES.encode()
    ref = f"refs/taskctx/contexts/{noted.context()['context_id']}"
    assert noted.repo.run("cat-file", "blob", f"{ref}:evidence/{sha}.gz").stdout == packed
    assert (noted.folder() / "evidence").stat().st_mode & 0o777 == 0o700
    assert noted.repo.census() == before
    assert "attach    (A U Thor) E1: notes.txt (plan)\n" in noted.ok("log").out


def test_ids_stay(noted: Desk) -> None:
    """The same bytes of the same path keep their id; another path, type or content gets the next one."""
    ids = [attach(noted, "notes.txt", "--type", "plan")["id"] for _ in range(2)]
    assert ids == ["E1", "E1"]
    assert noted.ok("attach", "notes.txt", "--type", "plan").out.endswith(" bytes, as it was attached before)\n")
    assert attach(noted, "notes.txt", "--type", "other")["id"] == "E2"
    noted.repo.write("copy.txt", LINES)
    assert attach(noted, "copy.txt", "--type", "plan")["id"] == "E3"
    noted.repo.write("notes.txt", "new\n")
    assert attach(noted, "notes.txt", "--type", "plan")["id"] == "E4"
    assert (len(noted.records("attach")), len(stored(noted))) == (4, 2)
    noted.implement()
    noted.ok("purge")
    noted.ok("recover", TASK)
    assert [one["id"] for one in noted.context()["evidence"]] == ["E1", "E2", "E3", "E4"]


@pytest.mark.parametrize(
    ("lines", "first", "last", "name"),
    [("L10-L20", 10, 20, "L10-L20"), ("10-20", 10, 20, "L10-L20"), ("L3", 3, 3, "L3"), ("l1-l30", 1, 30, "L1-L30")],
)
def test_lines_of_a_file(noted: Desk, lines: str, first: int, last: int, name: str) -> None:
    """Both ends included; hash and size are those of the lines, and an edit elsewhere is no change of them."""
    entry = attach(noted, "notes.txt", "--type", "excerpt", "--lines", lines)
    expected = "".join(LINES.splitlines(True)[first - 1 : last])
    assert (entry["lines"], entry["size"]) == (name, len(expected))
    assert entry["sha256"] == hashlib.sha256(expected.encode()).hexdigest()
    assert noted.ok("evidence", "show", "E1").out == expected
    noted.repo.write("notes.txt", LINES + "one more\n")
    assert [one["original"] for one in noted.data("evidence")] == ["unchanged"]


@pytest.mark.parametrize(
    ("lines", "code", "told"),
    [
        ("L0", 129, "'L0' are not lines: write L10-L20, or L10"),
        ("L5-L4", 129, "are not lines"),
        ("five", 129, "are not lines"),
        ("L1-", 129, "are not lines"),
        ("L\u0661", 129, "are not lines"),
        ("L31", 128, "notes.txt has 30 lines, not 31"),
        ("L1-L31", 128, "notes.txt has 30 lines, not 31"),
    ],
)
def test_lines_that_are_none(noted: Desk, lines: str, code: int, told: str) -> None:
    """Refused, and nothing is kept."""
    assert told in noted.refuses("attach", "notes.txt", "--type", "excerpt", "--lines", lines, code=code)
    assert (stored(noted), noted.context()["evidence"]) == ([], [])


def test_a_changed_original_is_told(noted: Desk) -> None:
    """Unchanged, changed or gone, in the list and beside what is shown; the copy is as it was."""
    attach(noted, "notes.txt", "--type", "plan", "--description", "the\nplan")
    assert noted.ok("evidence").out == (
        "id  type  bytes  original   path       description\n"
        f"E1  plan  {len(LINES)}    unchanged  notes.txt  the plan\n"
    )
    noted.repo.write("notes.txt", "new\n")
    said = noted.ok("evidence", "show", "E1")
    assert (said.out, said.err) == (
        LINES,
        "warning: notes.txt is no longer what was attached (E1 keeps it as it was)\n",
    )
    noted.repo.remove("notes.txt")
    assert noted.ok("evidence", "list").err == "warning: notes.txt is gone (E1 keeps it as it was)\n"
    noted.repo.symlink("notes.txt", "/etc/passwd")
    assert [one["original"] for one in noted.data("evidence")] == ["changed"]
    data = noted.data("evidence", "show", "E1")
    assert (data["original"], data["content"]) == ("changed", LINES)


def test_bytes_come_back_as_they_were(begun: Desk, tmp_path: Path) -> None:
    """Of any kind, from outside, under any name, from a sub-folder; on stdout they are the same bytes."""
    content = bytes(range(256)) * 4
    outside = tmp_path / "shot.png"
    outside.write_bytes(content)
    begun.repo.write(b"sub/n\xffm\n", content)
    assert attach(begun, os.fspath(outside), "--type", "screenshot")["path"] == os.fspath(outside)
    given = os.fsdecode(b"n\xffm\n")
    entry = begun.data("attach", given, "--type", "other", cwd=begun.repo.path / "sub")["evidence"]
    assert entry["path"] == '"sub/n\\377m\\n"'
    for number in (1, 2):
        done = begun.process("evidence", "show", f"E{number}")
        assert done.out.encode("utf-8", "surrogateescape") == content
    assert [one["original"] for one in begun.data("evidence")] == ["unchanged", "unchanged"]


def test_it_survives_the_folder_and_gc(noted: Desk) -> None:
    """`recover` brings every byte back after `git clean -fdx` and a gc; until then `show` reads the ref."""
    attach(noted, "notes.txt", "--type", "plan")
    noted.repo.write("copy.txt", "other\n")
    attach(noted, "copy.txt", "--type", "plan")
    before = {name: (noted.folder() / "evidence" / name).read_bytes() for name in stored(noted)}
    (noted.folder() / "evidence" / stored(noted)[0]).write_bytes(b"damaged")
    (noted.folder() / "evidence" / stored(noted)[1]).unlink()
    assert [noted.ok("evidence", "show", f"E{number}").out for number in (1, 2)] == [LINES, "other\n"]
    noted.repo.git("clean", "-fdxq")
    noted.repo.git("gc", "-q", "--prune=now")
    noted.ok("recover", TASK)
    assert {name: (noted.folder() / "evidence" / name).read_bytes() for name in stored(noted)} == before


def test_it_is_swept_with_its_context(noted: Desk) -> None:
    """Put away it can still be shown; after `sweep` and gc nothing of it is left."""
    sha = attach(noted, "notes.txt", "--type", "plan")["sha256"]
    blob = noted.repo.git("hash-object", os.fspath(noted.folder() / "evidence" / f"{sha}.gz"))
    noted.ok("purge")
    assert noted.ok("evidence", "show", "E1", "--task", TASK).out == LINES
    noted.ok("sweep", "--ttl", "0")
    noted.repo.git("gc", "-q", "--prune=now")
    assert noted.repo.run("cat-file", "-e", blob).returncode != 0
    assert list((noted.repo.path / ".agent-output").rglob("*.gz")) == []


def test_neither_place_has_it(noted: Desk) -> None:
    """Could not tell: what is shown is always what was recorded."""
    attach(noted, "notes.txt", "--type", "plan")
    for path in (noted.folder() / "evidence").iterdir():
        path.write_bytes(gzip.compress(LINES.upper().encode()))
    noted.repo.git("update-ref", "-d", f"refs/taskctx/contexts/{noted.context()['context_id']}")
    assert plain(noted.refuses("evidence", "show", "E1", code=3)) == (
        "error: E1 is not kept as it was recorded, neither in evidence/<sha>.gz nor in the refs\n"
        "hint: git taskctx recover TASK-1\n"
    )


def test_secrets_are_refused(noted: Desk) -> None:
    """By file and line, counted in the whole file, never printed; by force it is recorded; some paths may hold them."""
    noted.repo.write("notes.txt", f"{LINES}key {SECRET}\n")
    for lines in ((), ("--lines", "L29-L31")):
        said = noted.refuses("attach", "notes.txt", "--type", "plan", *lines)
        assert said.startswith("error: found what looks like a secret:\n  notes.txt:31: GitHub token\n")
        assert SECRET not in said
    said = noted.refuses("record-qa", "--agent", "implementer", "--from", "notes.txt")
    assert "notes.txt:31: GitHub token" in said
    assert (stored(noted), noted.context()["evidence"]) == ([], [])
    said = noted.ok("attach", "notes.txt", "--type", "plan", "--force-secrets")
    assert "warning: notes.txt:31: recorded by force: GitHub token\n" in said.err
    assert [record["force_secrets"] for record in noted.records("attach")] == [True]
    assert "found what looks like a secret" in noted.refuses(
        "attach", "parser.py", "--type", "plan", "--description", f"key {SECRET}"
    )


def test_allowed_paths_may_hold_secrets(desk: Desk) -> None:
    """`secrets.allow_paths` holds for evidence as it does for snapshots."""
    desk.repo.write(".taskctx.toml", '[secrets]\nallow_paths = ["fixtures/**"]\n')
    desk.repo.write("fixtures/key.txt", SECRET)
    desk.repo.commit("fixtures")
    desk.init()
    attach(desk, "fixtures/key.txt", "--type", "other")
    desk.repo.write("key.txt", SECRET)
    desk.refuses("attach", "key.txt", "--type", "other")


def test_nothing_is_opened_that_is_no_file(noted: Desk, tmp_path: Path) -> None:
    """A link out of the worktree, a folder, a FIFO, nothing; an evidence folder that is a link is not followed."""
    (tmp_path / "outside").write_text("private")
    noted.repo.symlink("link", os.fspath(tmp_path / "outside"))
    noted.repo.symlink("inside", "notes.txt")
    os.mkfifo(noted.repo.path / "fifo")
    (noted.repo.path / "folder").mkdir()
    for path, told in {
        "link": "'link' is a link out of the worktree",
        "fifo": "is a FIFO",
        "folder": "is a folder",
        "nowhere": "there is no file 'nowhere'",
    }.items():
        assert told in noted.refuses("attach", path, "--type", "other", code=128), path
    assert attach(noted, "inside", "--type", "other")["path"] == "inside"
    noted.repo.remove("fifo")
    shutil.rmtree(noted.folder() / "evidence")
    (noted.folder() / "evidence").symlink_to(tmp_path)
    for verb in (("attach", "parser.py", "--type", "other"), ("evidence", "show", "E1")):
        assert "is a symbolic link" in noted.refuses(*verb, code=128)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".gz"] == []


def test_attaching_while_drift_stands(noted: Desk) -> None:
    """It moves nothing, so it is no part of what drift stops; what a person looked at may be kept right then."""
    noted.implement()
    noted.repo.write("parser.py", "drift\n")
    noted.ends(1, "verify")
    attach(noted, "parser.py", "--type", "other")
    assert noted.seat("implementer")["drift_budget"] == 1


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("evidence", "show"), 129, "git taskctx evidence show E1"),
        (("evidence", "list", "E1"), 129, "git taskctx evidence show E1"),
        (("evidence", "show", "E9"), 128, "git taskctx evidence list   # known: E1"),
        (
            ("attach", "-", "--type", "other", "--lines", "L1"),
            129,
            "git taskctx attach FILE --type excerpt --lines L10-L20",
        ),
    ],
)
def test_what_was_meant(noted: Desk, args: tuple[str, ...], code: int, told: str) -> None:
    """Each mistake has a line to copy."""
    attach(noted, "notes.txt", "--type", "plan")
    assert noted.refuses(*args, code=code).endswith(f"hint: {told}\n")


def test_the_largest_piece(begun: Desk) -> None:
    """16 MiB are kept, a byte more is not, from a file or from standard input."""
    begun.repo.write("large.bin", b"x" * EVIDENCE_LIMIT)
    assert attach(begun, "large.bin", "--type", "other")["size"] == EVIDENCE_LIMIT
    begun.repo.write("large.bin", b"x" * (EVIDENCE_LIMIT + 1))
    assert f"more than {EVIDENCE_LIMIT}" in begun.refuses("attach", "large.bin", "--type", "other", code=128)
    done = begun.process("attach", "-", "--type", "other", stdin=b"x" * (EVIDENCE_LIMIT + 1))
    assert (done.code, done.err) == (
        128,
        f"error: standard input has more than {EVIDENCE_LIMIT} bytes\nhint: keep the end of it: tail -c 16M\n",
    )


def test_the_most_pieces(begun: Desk) -> None:
    """200 are kept, one more is not; what is kept already still has its id."""
    call = Call(folder=begun.repo.path)
    with contextlib.closing(call), open_session(call.caller(), write=False) as session:
        known = tuple(
            Evidence(f"E{number}", "other", "-", hashlib.sha256(b"%d" % number).hexdigest(), 1, "0" * 64)
            for number in range(1, PIECES_LIMIT + 1)
        )
        fewer = with_evidence(session, known[:-1])
        assert take(fewer, EvidenceSource("-", b"0"), "other")[0].id == f"E{PIECES_LIMIT}"
        full = with_evidence(session, known)
        assert take(full, EvidenceSource("-", b"7"), "other") == (known[6], None)
        with pytest.raises(Refused, match="has 200 pieces of evidence, and takes no more"):
            take(full, EvidenceSource("-", b"0"), "other")


def with_evidence(session: Session, evidence: tuple[Evidence, ...]) -> Session:
    """Return a session whose chain holds so much evidence."""
    return replace(session, chain=replace(session.chain, evidence=evidence))
