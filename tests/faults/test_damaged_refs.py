"""Refs of ours that do not read, and what makes git wait for ever: said at once, with the command that mends it."""

from __future__ import annotations

import os
import subprocess

import pytest
from desk import TASK, Desk
from gitrepo import GitRepo
from records import added, read_records
from tiers import some

from git_taskctx.errors import Fatal
from git_taskctx.git.repository import open_repository
from git_taskctx.model.values import replace
from git_taskctx.report.advice import advise

BROKEN = {"empty": b"", "zeros": b"\0" * 41, "half": b"0123456789abcdef", "no object of this store": b"1" * 40 + b"\n"}
CONTEXT, SNAPSHOT, NOTES = "refs/taskctx/contexts/ID", "refs/taskctx/snapshots/ID/implementer/1", "refs/notes/taskctx"
CASES = [(NOTES, kind) for kind in BROKEN] + [(ref, kind) for ref in (CONTEXT, SNAPSHOT) for kind in list(BROKEN)[:3]]
VERBS = (("status",), ("verify",), ("snapshot", "--agent", "implementer"), ("recover", TASK))


@pytest.mark.parametrize("case", some(CASES, [*CASES[:1], *CASES[3:5], CASES[-1]]), ids=" ".join)
def test_a_ref_of_ours_that_does_not_read(begun: Desk, case: tuple[str, str]) -> None:
    """Every verb names it and what mends it; when that is typed, nothing is lost and work goes on."""
    begun.implement()
    before = read_records(begun.repo)
    ref = case[0].replace("ID", next(iter(before)))
    place = begun.repo.git_dir() / ref
    place.write_bytes(BROKEN[case[1]])
    begun.repo.write("parser.py", "mended more\n")
    for verb in VERBS:
        said = begun.refuses(*verb, code=128)
        assert said.splitlines()[0] == f"error: the ref {ref} is damaged"
    command = said.splitlines()[1].removeprefix("hint: ")
    assert command.startswith(f"rm {place}")
    subprocess.run(["sh", "-c", command], cwd=begun.repo.path, check=True)
    assert begun.ok("status").err == ""
    begun.ok("snapshot", "--agent", "implementer")
    assert added(before, read_records(begun.repo)) == ["snapshot"]
    begun.ok("purge")
    begun.ok("recover", TASK)
    assert begun.repo.git("fsck", "--no-dangling") == ""


def test_a_context_of_which_nothing_is_here(begun: Desk) -> None:
    """What reads goes on; what would build upon it names the ref and what takes it away, and then goes on too."""
    begun.implement()
    before = read_records(begun.repo)
    ref = CONTEXT.replace("ID", next(iter(before)))
    (begun.repo.git_dir() / ref).write_text("1" * 40 + "\n")
    begun.repo.write("parser.py", "mended more\n")
    assert begun.ok("get").err == ""
    for verb in (("snapshot", "--agent", "implementer"), ("recover", TASK)):
        said = begun.refuses(*verb, code=128)
        assert said == (
            f"error: the ref {ref} is damaged: {'1' * 12} is not in this repository\n"
            f"hint: git update-ref -d {ref}   # the next verb goes on without it\n"
        )
    subprocess.run(["sh", "-c", said.split("hint: ")[1]], cwd=begun.repo.path, check=True)
    begun.ok("snapshot", "--agent", "implementer")
    assert added(before, read_records(begun.repo)) == ["snapshot"]
    begun.ok("purge")
    begun.ok("recover", TASK)
    assert begun.ok("status").err == ""
    assert begun.repo.git("fsck", "--no-dangling") == ""


PLACES = {
    "refs/taskctx/x": ("for-each-ref", "refs/taskctx"),
    "HEAD": ("rev-parse", "HEAD"),
    "../.gitattributes": ("add", "--dry-run", "-A"),
    "../.gitignore": ("status", "--porcelain"),
}
"""Of the git dir, and a command that opens it."""


@pytest.mark.parametrize("linked", [False, True], ids=["main", "linked"])
@pytest.mark.parametrize("place", PLACES)
def test_what_git_waits_for_is_named(begun: Desk, place: str, linked: bool) -> None:
    """A FIFO that git opens is found as soon as it takes long, also from a linked worktree."""
    top = begun.repo.path
    if linked:
        top = top.with_name("linked")
        begun.repo.git("worktree", "add", "-q", os.fspath(top))
    folder = begun.repo.common_dir() if place.startswith("refs") else GitRepo(top).git_dir()
    file = top / place[3:] if place.startswith("../") else folder / place
    begun.repo.write("parser.py", "mended more\n")
    repository = open_repository(top, dict(os.environ))
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    with pytest.raises(Fatal) as caught:
        replace(repository.git, patience=0.2).run(*PLACES[place])
    assert caught.value.message == f"{file} is a FIFO, and git waits for it"
    assert advise(caught.value).hint == f"rm {file}"


def test_a_fifo_that_git_does_not_open_is_not_what_it_waits_for(begun: Desk) -> None:
    """A git that only takes its time goes on, whatever lies in its folder."""
    os.mkfifo(begun.repo.git_dir() / "somebody-elses")
    repository = open_repository(begun.repo.path, dict(os.environ))
    said = replace(repository.git, patience=0.2).run("-c", "alias.nap=!sleep 1; echo awake", "nap")
    assert said.out == b"awake\n"
