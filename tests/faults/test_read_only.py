"""Places where the owner of a context may not write: said in one line, nothing lost, and all goes on afterwards."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import TASK, Desk, Said
from gitrepo import GitRepo
from nobody import as_nobody, give_to_nobody, readable_python
from records import added, read_records
from tiers import some

from git_taskctx.files import give_back

PLACES = (
    ".", ".agent-output", ".agent-output/tasks", ".agent-output/tasks/TASK-1", ".git", ".git/refs", ".git/refs/notes",
    ".git/objects", ".git/taskctx", ".git/logs",
)  # fmt: skip
QUICK = (".git/objects",)
READING = (("status",), ("get",), ("log",), ("list",), ("fingerprint",), ("diff",), ("report",))
WRITING = (
    ("snapshot", "--agent", "implementer"),
    ("start", "--agent", "reviewer"),
    ("block", "--agent", "reviewer", "--finding", "no test"),
    ("purge",),
    ("recover", TASK),
)


@pytest.fixture
def owned(sealed_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A begun context with a snapshot, in a worktree that belongs to somebody who is not root."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
    folder = Path(tempfile.mkdtemp(prefix="taskctx-open-"))
    folder.chmod(0o755)
    repo = GitRepo.init(folder / "work")
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk = Desk(repo)
    desk.init()
    desk.implement()
    repo.write("parser.py", "mended more\n")
    give_to_nobody(folder)
    yield desk
    shutil.rmtree(folder)


def said_to_nobody(python: str, desk: Desk, *args: str) -> Said:
    """Run a verb as the owner; what it says must be in order, whatever it is."""
    done = as_nobody(python, desk.repo, *args)
    said = Said(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))
    assert "Traceback" not in said.both, said.both
    assert said.code in (0, 1, 3, 75, 128), said.both
    if said.code in (75, 128):
        errors = re.findall(r"^error: .*", said.err, re.MULTILINE)
        assert len(errors) == 1, said.err
        assert not re.match(r"error: [A-Z][a-z]", errors[0]), said.err
    return said


@pytest.mark.slow
@pytest.mark.parametrize("place", some(PLACES, QUICK))
def test_a_folder_of_the_owners_that_is_read_only(owned: Desk, place: str) -> None:
    """Reading answers; writing works or is refused in one line; what is done is on record, and later all goes on."""
    python = readable_python()
    folder = owned.repo.at(place)
    folder.mkdir(exist_ok=True)
    before = read_records(owned.repo)
    folder.chmod(0o555)
    for reading in READING:
        assert said_to_nobody(python, owned, *reading).code == 0, reading
    assert said_to_nobody(python, owned, "verify").code == 1
    done = [verb[0] for verb in WRITING if said_to_nobody(python, owned, *verb).code == 0]
    types = added(before, read_records(owned.repo))
    known = {"snapshot": "snapshot", "start": "start", "block": "block", "purge": "purge"}
    assert [name for name in done if name in known and known[name] not in types] == [], (done, types)
    folder.chmod(0o755)
    if said_to_nobody(python, owned, "get").code != 0:
        assert said_to_nobody(python, owned, "recover", TASK).code == 0
    for verb in (
        ("resolve-drift", "--accept", "--note", "mine"),
        ("block", "--agent", "reviewer", "--finding", "more"),
    ):
        said = said_to_nobody(python, owned, *verb)
        assert said.code == 0 or "there is no drift to resolve" in said.err, said.both
    assert said_to_nobody(python, owned, "verify").code in (0, 3)
    added(before, read_records(owned.repo))
    assert owned.repo.git("fsck", "--no-dangling") == ""


def test_a_turn_of_roots_locks_no_owner_out(owned: Desk) -> None:
    """What root makes in somebody else's repository is the owner's: files, folders, objects and refs, also restored."""
    python = readable_python()
    repo = owned.repo
    for argv in (
        ("snapshot", "--agent", "implementer"),
        ("verify",),
        ("purge",),
        ("recover", TASK),
        ("start", "--agent", "reviewer"),
    ):
        owned.ok(*argv)
    repo.write("parser.py", "lost\n")
    repo.chmod("parser.py", 0o600)
    repo.write("d/new.py", "more\n")
    give_to_nobody(repo.path)
    owned.ok("snapshot", "--agent", "reviewer")
    shutil.rmtree(repo.at("d"))
    repo.write("parser.py", "worse\n")
    owned.ok("restore", "--agent", "reviewer")
    assert repo.read("d/new.py") == b"more\n"
    made = [path.relative_to(repo.path) for path in repo.path.rglob("*") if path.lstat().st_uid == 0]
    assert made == []
    for argv in (("status",), ("snapshot", "--agent", "reviewer"), ("block", "--agent", "reviewer", "--finding", "y")):
        assert said_to_nobody(python, owned, *argv).code == 0, argv


@pytest.mark.parametrize("place", [".agent-output/active", ".agent-output/tasks", ".git/taskctx"])
def test_what_root_left_is_reported_as_such(owned: Desk, place: str) -> None:
    """Where an owner is locked out all the same, the hint gives back what is not the owner's."""
    python = readable_python()
    os.chown(owned.repo.at(place), 0, -1)
    said = said_to_nobody(python, owned, "block", "--agent", "reviewer", "--finding", "x")
    assert f'hint: sudo chown -R "$(id -un)" {owned.repo.at(place)}   # it belongs to another user\n' in said.err


def test_root_gives_away_nothing_that_is_elsewhere(owned: Desk) -> None:
    """A link, a file with a second name, and a folder reached through a link stay root's."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    elsewhere = owned.repo.path.parent  # on the same file system
    secret, folder = elsewhere / "shadow", elsewhere / "roots" / "taskctx"
    secret.write_text("x")
    folder.mkdir(parents=True)
    private = owned.repo.git_dir() / "taskctx"
    os.link(secret, private / "named")
    (private / "linked").symlink_to(secret)
    refs = owned.repo.git_dir() / "logs/refs"
    refs.parent.mkdir(exist_ok=True)
    shutil.rmtree(refs, ignore_errors=True)
    refs.symlink_to(folder.parent)
    owned.ok("block", "--agent", "reviewer", "--finding", "x")
    give_back(elsewhere / "gone", "taskctx")
    assert [place.lstat().st_uid for place in (secret, folder, private / "linked")] == [0, 0, 0]
