"""The folder `.agent-output`: what is damaged, odd, linked or foreign in it is named, and never followed or lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import TASK, Desk

BEHIND = "was behind the ledger (an interrupted write) and is replayed"


def test_a_file_that_a_crash_left_behind_the_ledger_is_replayed(begun: Desk) -> None:
    """The ledger is the truth: reading says so, and the next write mends it."""
    path = begun.folder() / "context.json"
    old = path.read_bytes()
    begun.implement()
    new = path.read_bytes()
    path.write_bytes(old)
    said = begun.ok("get")
    assert said.err == f"warning: context.json of TASK-1 {BEHIND}\n"
    assert begun.seat("implementer")["worktree_snapshot"]["n"] == 1
    assert path.read_bytes() == old
    begun.ok("start", "--agent", "reviewer")
    assert path.read_bytes() not in (old, new)
    assert begun.ok("get").err == ""


def test_leftovers_of_an_interrupted_write_are_cleaned(begun: Desk) -> None:
    """At the next lock, by name; what is not ours stays."""
    for place in (begun.folder(), begun.folder().parent.parent):
        (place / ".tmp-context.json-0123456789ab").write_text("half")
        (place / "mine.tmp").write_text("mine")
    begun.ok("block", "--agent", "reviewer", "--finding", "no test")
    names = [path.name for path in begun.repo.at(".agent-output").rglob("*")]
    assert not any(name.startswith(".tmp-") for name in names)
    assert names.count("mine.tmp") == 2


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "truncated": b'{"version": 1, "task_id": "TASK',
    "not JSON": b"\x00\xff\xfe",
    "a list": b"[]",
    "huge": b'{"version": 1, "task_id": "' + b"x" * 10_000_000 + b'"}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep object": b'{"a":' * 900 + b"1" + b"}" * 900,
    "duplicate keys": b'{"version": 1, "version": 1}',
    "wrong types": b'{"version": "1", "agents": {}, "coordination": []}',
    "NaN": b'{"version": NaN}',
    "a big number": b'{"version": ' + b"9" * 5000 + b"}",
    "surrogates": b'{"version": 1, "task_id": "\\ud800"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_context_gives_one_clear_line_and_harms_nothing(implemented: Desk, name: str) -> None:
    """Reading warns and shows the ledger's; writing refuses in one error; recover mends it."""
    path = implemented.folder() / "context.json"
    path.write_bytes(HOSTILE[name])
    before = implemented.repo.census()
    got = implemented.ok("get")
    assert got.err.count("\n") == 1
    assert got.err.startswith("warning: context.json of TASK-1 ")
    assert len(got.err) < 300
    implemented.refuses("start", "--agent", "reviewer")
    assert path.read_bytes() == HOSTILE[name]
    assert implemented.repo.census() == before
    implemented.ok("recover", TASK)
    implemented.ok("start", "--agent", "reviewer")


def test_a_context_of_a_later_version_is_not_ours_to_change(begun: Desk) -> None:
    """The error names the version and the way; the file stays."""
    path = begun.folder() / "context.json"
    later = path.read_bytes().replace(b'"version": 1', b'"version": 2')
    path.write_bytes(later)
    for args in (("get",), ("verify",), ("snapshot", "--agent", "implementer"), ("status",)):
        assert begun.refuses(*args, code=128) == (
            "error: context.json of TASK-1 has schema version 2; this git-taskctx reads version 1\n"
            "hint: upgrade git-taskctx to the version that wrote it\n"
        )
    assert path.read_bytes() == later


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "dangling link": lambda path: path.symlink_to("/nonexistent"),
    "FIFO": lambda path: os.mkfifo(path),
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["context.json", "../../active", "../../.context_store.lock", "../../.gitignore"])
def test_odd_files_are_never_opened(begun: Desk, kind: str, name: str) -> None:
    """A link, a FIFO or a folder where a file of ours should be: 128 with its name, at once, from every verb."""
    path = begun.folder() / name
    path.unlink(missing_ok=True)
    ODD[kind](path)
    target = Path("/etc/passwd").read_bytes()
    for args in (("get",), ("snapshot", "--agent", "implementer", "--allow-clean"), ("verify",)):
        said = begun.run(*args)
        if name.endswith(".lock") and args[0] in ("get", "verify"):
            continue  # reading takes no lock
        assert said.code == 128, said.both
        assert said.err.startswith("error: "), said.err
        assert path.name in said.err
    assert Path("/etc/passwd").read_bytes() == target
    assert not Path("/nonexistent").exists()


@pytest.mark.parametrize("place", [".", "tasks", "tasks/TASK-1"])
def test_a_linked_folder_is_refused(begun: Desk, place: str, tmp_path: Path) -> None:
    """`.agent-output`, or a folder in it, that is a symbolic link is not opened."""
    folder = begun.repo.at(".agent-output") / place
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    for args in (("get",), ("snapshot", "--agent", "implementer", "--allow-clean"), ("status",), ("list",)):
        if args[0] == "list" and place != ".":
            continue  # what is listed is read from refs
        said = begun.refuses(*args, code=128)
        assert "a symbolic link" in said


@pytest.mark.parametrize("verb", ["init", "fingerprint", "list", "status"])
def test_a_linked_folder_before_init_is_refused(desk: Desk, verb: str, tmp_path: Path) -> None:
    """Nothing is written through it."""
    (tmp_path / "elsewhere").mkdir()
    desk.repo.symlink(".agent-output", os.fspath(tmp_path / "elsewhere"))
    args = (verb, TASK, "--title", "x") if verb == "init" else (verb,)
    assert "a symbolic link" in desk.refuses(*args, code=128)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("verb", ["init", "status", "fingerprint", "list"])
def test_a_tracked_folder_is_refused(desk: Desk, verb: str) -> None:
    """Somebody committed it: 128, with the command that mends it."""
    desk.repo.write(".agent-output/x", "x\n")
    desk.repo.git("add", "-f", ".agent-output/x")
    args = (verb, TASK, "--title", "x") if verb == "init" else (verb,)
    assert desk.refuses(*args, code=128) == (
        "error: .agent-output is tracked by git\nhint: git rm -r --cached .agent-output\n"
    )


@pytest.mark.parametrize("text", ["../../../../etc", "TASK-1/../../..", "a\nb", "/etc", ".."])
def test_the_active_task_is_read_as_an_id_not_as_a_path(begun: Desk, text: str) -> None:
    """What a stranger wrote into `active` leads nowhere outside."""
    begun.repo.write(".agent-output/active", text)
    said = begun.refuses("get", code=128)
    assert "active" in said


def test_foreign_files_are_left_alone(begun: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What others put into our folder stays, also when the task is swept, and is in nobody's snapshot."""
    begun.repo.write(".agent-output/qa.log", "mine\n")
    outside = tmp_path_factory.mktemp("outside")
    begun.repo.symlink(".agent-output/tasks/TASK-1/out", os.fspath(outside))
    begun.repo.write(".agent-output/tasks/TASK-1/notes", "mine\n")
    begun.implement()
    assert begun.seat("implementer")["worktree_snapshot"]["files_count"] == 1
    begun.ok("purge")
    assert begun.repo.read(".agent-output/qa.log") == b"mine\n"
    assert b"mine\n" in [path.read_bytes() for path in begun.repo.at(".agent-output").rglob("notes")]
    said = begun.ok("sweep", "--ttl", "0")
    (aside,) = begun.repo.at(".agent-output").glob("left-by-others-*")
    assert f"warning: what others put beside the files of TASK-1 is in {aside}\n" in said.err
    assert sorted(path.name for path in aside.iterdir()) == ["notes", "out"]
    assert (aside / "notes").read_text() == "mine\n"
    assert outside.exists()
    assert list(begun.repo.at(".agent-output/archive").iterdir()) == []


def test_our_files_are_for_their_owner_alone(begun: Desk) -> None:
    """Files are 0600, folders 0700, whatever the umask says; git ignores all of it."""
    os.umask(0)
    begun.implement()
    begun.repo.write("parser.py", "drift\n")
    begun.ok("restore", "--agent", "implementer")
    begun.ok("purge")
    begun.ok("recover", TASK)
    modes = {path: path.stat().st_mode & 0o777 for path in begun.repo.at(".agent-output").rglob("*")}
    wrong = {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)}
    assert wrong == set()
    assert begun.repo.at(".agent-output").stat().st_mode & 0o777 == 0o700
    assert ".agent-output" not in begun.repo.git("status", "--porcelain", "--untracked-files=all")


def test_the_program_that_begins_a_task_is_noted_for_its_hooks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder, in the git dir, where it was run as `git-taskctx`."""
    noted = desk.repo.git_dir() / "taskctx" / "program"
    desk.init()
    assert not noted.exists()
    desk.ok("purge")
    monkeypatch.setattr("sys.argv", ["/opt/a b/git-taskctx", "recover", TASK])
    desk.ok("recover", TASK)
    assert noted.read_text() == "/opt/a b\n"
