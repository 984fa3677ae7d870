"""Trees that no git of today would write: the index takes their entries, and remembers their names."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest
from desk import Desk
from engine import MODES, agree, read
from gitrepo import GitRepo


@dataclass(frozen=True)
class Odd:
    """How a tree may be odd: what it calls the modes of files and folders."""

    file: bytes = b"100644"
    folder: bytes = b"40000"


KINDS = {
    "plain": Odd(),
    "group may write": Odd(file=b"100664"),
    "zero before": Odd(folder=b"040000"),
    "all may do all": Odd(file=b"100777"),
    "no permission at all": Odd(file=b"100000"),
}
EVERYDAY = ("group may write", "zero before")
EDITS = {
    "nothing": lambda repo: None,
    "beside": lambda repo: repo.write("d/new", "x"),
    "above": lambda repo: repo.write("new", "x"),
    "below": lambda repo: repo.write("d/e/f", "changed"),
    "gone": lambda repo: repo.remove("d/a"),
    "staged": lambda repo: (repo.write("d/a", "changed"), repo.add(), repo.write("d/e/g", "x")),
    "all gone": lambda repo: repo.remove("d"),
}


def tree(repo: GitRepo, *entries: tuple[bytes, bytes, str]) -> str:
    """Write a tree as it is given, whatever git thinks of it."""
    raw = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", input=raw)


def check_out(repo: GitRepo, odd: Odd) -> None:
    """Commit a history of odd trees and check it out, so that the index remembers them."""
    blob = repo.git("hash-object", "-w", "--stdin", input="x\n")
    below = tree(repo, (odd.file, b"f", blob), (odd.file, b"g", blob))
    middle = tree(repo, (odd.file, b"a", blob), (odd.file, b"b", blob), (odd.folder, b"e", below))
    top = tree(repo, (odd.file, b"a", blob), (odd.folder, b"d", middle), (b"120000", b"link", blob))
    repo.git("reset", "-q", "--hard", repo.git("commit-tree", "-m", "odd", top))
    for path in ("a", "link", "d/a", "d/b", "d/e/f", "d/e/g"):  # git need not look at them again, and keeps the names
        os.utime(repo.at(path), (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    repo.git("update-index", "--refresh")
    assert repo.git("write-tree") == top


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.deep] * (kind not in EVERYDAY)) for kind in KINDS]
)
def test_odd_trees(repo: GitRepo, kind: str, edit: str) -> None:
    """A folder that is touched is written as git writes it today; one that is not keeps its odd name."""
    check_out(repo, KINDS[kind])
    EDITS[edit](repo)
    agree(repo, declines="")


def test_a_task_in_an_old_history_is_sealed(repo: GitRepo) -> None:
    """The tree that was validated is the one that git commits."""
    check_out(repo, KINDS["group may write"])
    desk = Desk(repo)
    desk.init()
    repo.write("d/new", "x")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("verify", "--exact")
    desk.ok("snapshot", "--agent", "reviewer")
    desk.ok("snapshot", "--agent", "validator", "--done")
    repo.commit("mended")
    assert "is over" in desk.ok("verify").out


def test_dirt_of_before_in_an_old_history_stays_out(repo: GitRepo) -> None:
    """A folder in which only dirt of before the task lies is, in the commit, what it was: under its odd name."""
    check_out(repo, KINDS["group may write"])
    repo.write("d/e/f", "dirt\n")
    desk = Desk(repo)
    desk.init()
    repo.write("new", "x")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("snapshot", "--agent", "reviewer")
    desk.ok("snapshot", "--agent", "validator", "--done")
    repo.add("new")
    repo.commit_staged("mended")
    assert "is over" in desk.ok("verify").out


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 100))])
def test_random_edits_over_odd_trees(repo: GitRepo, seed: int) -> None:
    """Whatever is staged, unstaged or checked out again on the way: fast, exact and git give one tree."""
    chance = random.Random(seed)
    check_out(repo, chance.choice(list(KINDS.values())))
    for step in range(10):
        path = chance.choice(["a", "d/a", "d/new", "d/e/f", "d/e/new", "new/f", "link"])
        kind = chance.choice(["write", "write", "remove", "stage", "unstage", "back", "commit"])
        if kind == "write":
            repo.at(path).unlink(missing_ok=True)
            repo.write(path, f"{step}\n")
        elif kind == "remove":
            repo.at(path).unlink(missing_ok=True)
        elif kind == "stage":
            repo.git("add", "-A", "--", path, check=False)
        elif kind == "unstage":
            repo.git("read-tree", "HEAD")
            repo.git("update-index", "--refresh", check=False)
        elif kind == "back":
            repo.git("checkout", "-q", "HEAD", "--", path, check=False)
        else:
            repo.commit_staged(str(step))
        calm(repo)
        expected = repo.oracle()
        assert [read(repo, **mode) for mode in (MODES[0], MODES[3])] == [expected, expected]


def calm(repo: GitRepo) -> None:
    """Date every file long before the index: where it is not, git writes anew what it looks at twice."""
    for path in repo.path.rglob("*"):
        if not path.is_dir() and ".git" not in path.parts:
            os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    repo.git("update-index", "-q", "--refresh", check=False)
