"""Several processes at once, of ours and of git's: no record is lost, and nobody stands in another's way."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo
from records import added, read_records
from steps import some

TRY_AGAIN = 75


def at_once(lines: Sequence[tuple[Desk, tuple[str, ...]]]) -> list[int]:
    """Run verbs in processes that all begin before any is waited for; return their codes."""
    processes = [desk.begin(*args) for desk, args in lines]
    said = [process.communicate(timeout=300) for process in processes]
    for process, (out, err) in zip(processes, said, strict=True):
        assert process.returncode != 70, err
        assert b"Traceback" not in out + err, err
    return [process.returncode for process in processes]


def finding(number: int) -> tuple[str, ...]:
    """Return the verb that records one more finding."""
    return ("block", "--agent", "reviewer", "--finding", f"finding {number}")


@pytest.mark.parametrize("writers", [2, 10])
def test_writers_in_one_worktree(begun: Desk, writers: int) -> None:
    """Each one's record is there, once, in one unbroken chain; who had to give up says so."""
    before = read_records(begun.repo)
    codes = at_once([(begun, finding(number)) for number in range(writers)])
    assert set(codes) <= {0, TRY_AGAIN}
    assert added(before, read_records(begun.repo)) == ["block"] * codes.count(0)
    assert codes.count(0) >= 1
    assert len(begun.seat("reviewer")["blocking_findings"]) == codes.count(0)


def worktrees(desk: Desk, folder: Path, count: int) -> list[Desk]:
    """Add linked worktrees, with a context begun in each."""
    found = []
    for number in range(count):
        desk.repo.git("worktree", "add", "-q", os.fspath(folder / f"linked-{number}"))
        found.append(Desk(GitRepo(folder / f"linked-{number}")))
    return found


@pytest.mark.parametrize("count", [2, pytest.param(10, marks=pytest.mark.deep)])
def test_writers_in_linked_worktrees(begun: Desk, tmp_path: Path, count: int) -> None:
    """Contexts begun and written to at once, in worktrees that share one ledger: every record of every one is there."""
    linked = worktrees(begun, tmp_path, count)
    codes = at_once([(desk, ("init", f"TASK-{number}", "--title", "x")) for number, desk in enumerate(linked, 2)])
    assert codes == [0] * count
    before = read_records(begun.repo)
    assert len(before) == count + 1
    lines = [(desk, finding(number)) for desk in [begun, *linked] for number in range(3)]
    codes = at_once(lines)
    assert set(codes) <= {0, TRY_AGAIN}
    after = read_records(begun.repo)
    assert added(before, after) == ["block"] * codes.count(0)
    assert codes.count(0) >= count + 1
    for desk in [begun, *linked]:
        assert desk.ok("get").err == ""


def test_different_verbs_at_once(begun: Desk) -> None:
    """A snapshot, a finding, a verification and readers: each is as if it had been alone, or is told to try again."""
    begun.implement()
    begun.repo.write("parser.py", "mended more\n")
    before = read_records(begun.repo)
    verbs = (("snapshot", "--agent", "implementer"), finding(1), ("verify",), ("status",), ("get",), ("log",))
    codes = at_once([(begun, verb) for verb in verbs])
    assert set(codes[:2]) <= {0, 1, TRY_AGAIN}, codes  # 1: drift was counted before the snapshot
    assert codes[2] in (0, 1), codes
    assert codes[3:] == [0, 0, 0]
    types = added(before, read_records(begun.repo))
    assert types.count("snapshot") == (codes[0] == 0)
    assert types.count("block") == (codes[1] == 0)
    assert begun.ok("get").err == ""


HELD = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock")


@pytest.mark.parametrize("lock", some(HELD, ("index.lock", "HEAD.lock")))
def test_a_lock_that_git_holds_is_no_concern_of_ours(desk: Desk, lock: str) -> None:
    """Every verb does what it does while another git holds a lock of the user's, and the lock stays as it is."""
    held = desk.repo.git_dir() / lock
    held.write_text("held")
    found = held.stat()
    desk.init()
    desk.implement()
    desk.ok("verify")
    desk.ok("snapshot", "--agent", "reviewer")
    desk.repo.write("parser.py", "drift\n")
    desk.ends(1, "verify")
    desk.ok("restore", "--agent", "reviewer")
    desk.ok("resolve-drift", "--note", "put back")
    desk.ok("purge")
    desk.ok("recover", "TASK-1")
    assert (held.read_text(), held.stat().st_mtime_ns, held.stat().st_ino) == ("held", found.st_mtime_ns, found.st_ino)


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.deep)])
def test_git_add_never_fails_beside_verify(begun: Desk, count: int) -> None:
    """Reading takes no lock of the user's index: as many `git add` as there are, and not one finds it locked."""
    for number in range(count):
        begun.repo.write(f"files/{number}", f"{number}\n")
    begun.implement()
    script = f"for i in $(seq 0 {count - 1}); do git add files/$i || echo failed $i; done"
    with subprocess.Popen(
        ["sh", "-c", script], cwd=begun.repo.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as adding:
        codes = []
        while adding.poll() is None:
            codes.append(begun.run("verify").code)
        out, _ = adding.communicate()
    assert out == b""
    assert len(begun.repo.git("diff", "--cached", "--name-only").splitlines()) == count
    assert set(codes) <= {0, TRY_AGAIN}, codes
    assert 0 in codes


def test_git_writes_the_same_notes_meanwhile(begun: Desk) -> None:
    """Somebody adds notes of his own to the same ref, by git's compare-and-swap: our records and his are all there."""
    before = read_records(begun.repo)
    notes = shlex.quote("refs/notes/taskctx")
    script = f"""
    for i in 1 2 3 4 5 6 7 8; do
        while :; do
            old=$(git rev-parse {notes}) && tree=$(git rev-parse "$old^{{tree}}") &&
            new=$(git commit-tree -p "$old" -m "his $i" "$tree") &&
            git update-ref {notes} "$new" "$old" 2>/dev/null && break
        done
    done"""
    his = subprocess.Popen(["sh", "-c", script], cwd=begun.repo.path, stdout=subprocess.PIPE)
    codes = at_once([(begun, finding(number)) for number in range(4)])
    assert his.wait(timeout=120) == 0
    his.communicate()
    assert set(codes) <= {0, TRY_AGAIN}
    assert added(before, read_records(begun.repo)) == ["block"] * codes.count(0)
    subjects = begun.repo.git("log", "--format=%s", "refs/notes/taskctx").splitlines()
    assert [f"his {number}" for number in range(8, 0, -1)] == [one for one in subjects if one.startswith("his")]
