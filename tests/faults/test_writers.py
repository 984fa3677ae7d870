"""Several processes at once, of ours and of git's: no record is lost, and nobody stands in another's way."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from afterwards import leftovers
from desk import Desk
from git_scenes import put_in
from gitrepo import GitRepo
from records import Records, added, read_records
from scenes import linked
from tiers import some

TRY_AGAIN = 75


def at_once(lines: Sequence[tuple[Desk, tuple[str, ...]]]) -> list[int]:
    """Run verbs, and gits, in processes that all begin before any is waited for; return their codes."""
    processes = [desk.begin(*args) for desk, args in lines]
    said = [process.communicate(timeout=300) for process in processes]
    for process, (out, err) in zip(processes, said, strict=True):
        assert process.returncode != 70, err
        assert b"Traceback" not in out + err, err
    return [process.returncode for process in processes]


def finding(number: int) -> tuple[str, ...]:
    """Return the verb that records one more finding."""
    return ("block", "--agent", "reviewer", "--finding", f"finding {number}")


def test_writers_in_one_worktree(begun: Desk) -> None:
    """Each one's record is there, once, in one unbroken chain; who had to give up says so."""
    before = read_records(begun.repo)
    codes = at_once([(begun, finding(number)) for number in range(10)])
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


OLD_REFS = """\
#!/bin/sh
case " $* " in
*" for-each-ref "*)
    if mkdir {here}/listed 2>{here}/err; then
        found=$({git} "$@")
        for n in 1 2; do {taskctx} block --agent reviewer --finding "$n"; done >{here}/said 2>&1
        printf '%s\\n' "$found"
        echo >{here}/go
        exit
    fi ;;
*" rev-parse "*) mkdir {here}/asked 2>{here}/err && read line <{here}/go ;;
esac
exec {git} "$@"
"""
"""Lists the refs, has two records written, and only then lets the verb find its repository."""


def test_a_reader_whose_refs_are_two_records_old(begun: Desk, tmp_path: Path) -> None:
    """What does not match is read once more under the lock."""
    here = tmp_path / "slow"
    here.mkdir()
    os.mkfifo(here / "go")
    git = shutil.which("git")
    taskctx = f'PATH="{os.environ["PATH"]}" {sys.executable} -m git_taskctx'
    script = here / "git"
    script.write_text(OLD_REFS.format(here=here, git=git, taskctx=taskctx))
    script.chmod(0o755)
    done = begun.process("get", env={"PATH": f"{here}:{os.environ['PATH']}"})
    assert (done.code, done.err) == (0, "")
    assert (here / "listed").is_dir()
    assert len(begun.seat("reviewer")["blocking_findings"]) == 2


def _edited(desk: Desk) -> None:
    desk.repo.write("parser.py", f"mended {len(read_records(desk.repo))}\n")


SNAPSHOT, VERIFY = ("snapshot", "--agent", "implementer"), ("verify",)
PAIRS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "snapshot and snapshot": (SNAPSHOT, SNAPSHOT),
    "snapshot and commit": (SNAPSHOT, ("git", "commit", "-q", "-a", "-m", "early")),
    "commit and purge": (("git", "commit", "-q", "-a", "-m", "early"), ("purge",)),
    "switch and snapshot": (("git", "switch", "-q", "-c", "other"), SNAPSHOT),
    "switch away and snapshot": (("git", "switch", "-q", "side"), SNAPSHOT),
    "sweep and snapshot": (("sweep", "--ttl", "0"), SNAPSHOT),
    "sweep and recover": (("sweep", "--ttl", "0"), ("recover", "TASK-1")),
    "gc and snapshot": (("git", "gc", "-q", "--prune=now"), SNAPSHOT),
    "fetch and snapshot": (("fetch", "origin"), SNAPSHOT),
    "push and snapshot": (("push", "origin"), SNAPSHOT),
    "recover and recover": (("recover", "TASK-1"), ("recover", "TASK-1")),
    "purge and purge": (("purge",), ("purge",)),
    "purge and snapshot": (("purge",), SNAPSHOT),
    "start and start": (("start", "--agent", "reviewer"), ("start", "--agent", "validator")),
    "verify and snapshot": (VERIFY, SNAPSHOT),
    "init and init": (("init", "TASK-1", "--title", "x"), ("init", "TASK-2", "--title", "x")),
}


@pytest.mark.parametrize("pair", some(PAIRS, list(PAIRS)[::5]))
def test_every_pair_at_once(desk: Desk, tmp_path: Path, pair: str) -> None:
    """Two verbs that change the state, or one beside git with our hooks: no record is lost, and no chain forks."""
    put_in(desk, tmp_path / "bin")
    linked(desk)
    if "init" not in pair:
        desk.init()
        desk.implement()
        desk.ok("push", "origin")
    if "recover" in pair or "sweep and snapshot" in pair:
        desk.ok("purge")
    if "sweep and snapshot" in pair:
        desk.ok("init", "TASK-2", "--title", "x")
    _edited(desk)
    before = read_records(desk.repo)
    at_once([(desk, verb) for verb in PAIRS[pair]])
    hold_whole(desk, before)


def hold_whole(desk: Desk, before: Records) -> None:
    """Hold that every chain is whole and nothing of it is lost, and that the context is there, or comes back."""
    added(before, read_records(desk.repo))
    assert desk.repo.git("fsck", "--no-dangling") == ""
    desk.run("status")
    states = {one["task"]: one["state"] for one in desk.data("list") if one["sealed"] is None}
    assert set(states.values()) <= {"active", "archived"}, states
    active = [task for task, state in states.items() if state == "active"]
    if active:
        desk.ok("get")
        desk.ok("purge")
    for task in states:
        desk.ok("recover", task)
        desk.ok("purge")
    assert leftovers(desk) == []
    assert [place for place in desk.repo.git_dir().rglob("*.lock") if place.is_file()] == []


@pytest.mark.parametrize("rounds", [2, pytest.param(60, marks=pytest.mark.deep)])
def test_all_of_them_at_random(desk: Desk, tmp_path: Path, rounds: int) -> None:
    """Three at once, drawn from a seed, round after round in one repository."""
    put_in(desk, tmp_path / "bin")
    linked(desk)
    desk.init()
    desk.implement()
    draw = Random(5)
    verbs = sorted({verb for pair in PAIRS.values() for verb in pair})
    before = read_records(desk.repo)
    for _ in range(rounds):
        _edited(desk)
        at_once([(desk, verb) for verb in draw.sample(verbs, 3)])
        after = read_records(desk.repo)
        added(before, after)
        before = after
        desk.repo.git("switch", "-q", "-f", "main")
        desk.repo.git("branch", "-D", "other", check=False)
    desk.repo.git("fsck", "--no-dangling")


def test_commits_in_two_worktrees(desk: Desk, tmp_path: Path) -> None:
    """Two tasks end at once, in linked worktrees with one ledger: both are sealed."""
    put_in(desk, tmp_path / "bin")
    [other] = worktrees(desk, tmp_path, 1)
    for number, one in enumerate((desk, other), 1):
        one.repo.env |= desk.repo.env
        one.ok("init", f"TASK-{number}", "--title", "x")
        one.repo.write("parser.py", f"mended {number}\n")
        for agent in ("implementer", "reviewer", "validator"):
            one.ok("snapshot", "--agent", agent, *(["--done"] if agent == "validator" else []))
        one.repo.add()
    before = read_records(desk.repo)
    assert at_once([(one, ("git", "commit", "-q", "-m", "mended")) for one in (desk, other)]) == [0, 0]
    for one in (desk, other):
        one.ok("status")  # a hook that had to give up leaves it to the next verb
    assert added(before, read_records(desk.repo)) == ["seal", "purge"] * 2


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


def test_findings_of_processes_at_once_are_all_kept(begun: Desk) -> None:
    """Four agents block at the same moment: four findings, four ids, nothing torn."""
    texts = [f"finding {number}" for number in range(4)]
    processes = [begun.begin("block", "--agent", "reviewer", "--finding", text) for text in texts]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 4
    findings = begun.seat("reviewer")["blocking_findings"]
    assert sorted(finding["text"] for finding in findings) == texts
    assert [finding["id"] for finding in findings] == ["F1", "F2", "F3", "F4"]
    processes = [
        begun.begin("unblock", "--agent", "reviewer", "--finding", "F1"),
        begun.begin("unblock", "--agent", "reviewer", "--finding", "F2"),
        begun.begin("block", "--agent", "validator", "--finding", "slow"),
    ]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 3
    open_now = [finding["id"] for finding in begun.data("status")["findings"]]
    assert open_now == ["F3", "F4", "F5"]


def test_two_inits_at_once(desk: Desk) -> None:
    """One begins, the other is told that one is active; there is one context."""
    processes = [desk.begin("init", f"TASK-{number}", "--title", "x") for number in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert sorted(process.returncode for process in processes) == [0, 128, 128]
    assert len(desk.data("list")) == 1


def test_two_snapshots_at_once(begun: Desk) -> None:
    """Both are kept, or one is refused; never is one lost on the quiet."""
    begun.repo.write("parser.py", "mended\n")
    begun.repo.write("deep/file", "x\n")
    processes = [begun.begin("snapshot", "--agent", "implementer") for _ in range(3)]
    codes = [(process.communicate(timeout=60), process.returncode)[1] for process in processes]
    assert set(codes) <= {0, 75}, codes
    assert 0 in codes
    assert begun.seat("implementer")["worktree_snapshot"]["n"] == codes.count(0)
    assert len(begun.records("snapshot")) == codes.count(0)
