"""The head of a commit: read as git reads it, and no proof of what git would not have written."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import TASK, Desk
from gitrepo import GitRepo
from proof.scene import Scene

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.repository import open_repository
from git_taskctx.proof.range import read_commit

WHO = "A U Thor <author@example.com> 1767225600 +0000"
EXAMPLES = 80


def make(repo: GitRepo, text: str | bytes) -> str:
    """Write a commit as it is, whatever git thinks of it."""
    return repo.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", input=text)


def heads(tree: str, parents: list[str], seed: int) -> Iterator[bytes]:
    """Yield heads made of lines that belong there, in odd places, twice, cut, in another case, or with odd bytes."""
    chance = random.Random(seed)
    lines = [
        *(f"{word} {oid}" for word in ("parent", "Parent", "parent ", "\tparent") for oid in parents),
        *(f"parent {one}" for oid in parents for one in (oid.upper(), oid[:8] + oid[8:].upper(), oid[1:], oid + " ")),
        f"parent {'g' * 40}", f"tree {tree}", f"author {WHO}", f"committer {WHO}", "committer nobody", "encoding x",
        f"gpgsig x\n parent {parents[0]}", "", "mergetag object", "author\0", "parent", f"parent {parents[0]}\r",
    ]  # fmt: skip
    for number in range(EXAMPLES):
        first = [tree, tree, tree, tree.upper()][number % 4]
        good = [f"tree {first}", *(f"parent {one}" for one in chance.sample(parents, chance.randint(0, 2)))]
        good += [f"author {WHO}", f"committer {WHO}"]
        for _ in range(chance.randint(0, 3)):
            good.insert(chance.randint(1, len(good)), chance.choice(lines))
        if chance.random() < 0.2:
            good.pop(chance.randint(1, len(good) - 1))
        text = "\n".join(good) + chance.choice(["\n\nmessage\n", "\n", "", f"\n\nparent {parents[1]}\n"])
        yield text.encode("latin1")


def test_parents_are_gits(tmp_path: Path) -> None:
    """Of many odd heads, what counts as plain has the parents that git has, and all that git refuses is odd."""
    repo = GitRepo.init(tmp_path / "repo")
    parents = [repo.commit(f"parent {number}") for number in range(3)]
    ours = open_repository(repo.path, dict(os.environ))
    plain = 0
    for head in heads(repo.tree(), parents, seed=13):
        oid = make(repo, head)
        told = repo.run("rev-list", "--parents", "-1", oid)
        try:
            found = read_commit(ours, oid)  # type: ignore[arg-type]
        except CouldNotTell:
            assert told.returncode != 0, head
            continue
        if told.returncode == 0:
            assert " ".join([oid, *found.parents]) == told.stdout.decode().strip(), head
        else:
            assert found.odd is not None, head
        if found.odd is None:
            plain += 1
            assert found.tree == repo.git("rev-parse", f"{oid}^{{tree}}"), head
    ours.close()
    assert plain > EXAMPLES / 10


HIDING = (
    "tree {tree}\nparent {done}\nparent {EVIL}\nauthor {who}\ncommitter {who}\n\nmerge\n",
    "tree {tree}\nparent {done}\nauthor {who}\ncommitter {who}\nparent {evil}\n\nmerge\n",
    "tree {tree}\nparent {done}\nauthor {who}\nparent {evil}\ncommitter {who}\n\nmerge\n",
    "tree {GOOD}\nparent {base}\nauthor {who}\ncommitter {who}\n\nwork\n",
    "tree {good}\nparent {base}\nauthor {who}\ncommitter {who}\nparent {evil}\n\nwork\n",
    "tree {good}\nparent {base}\nparent {evil} \nauthor {who}\ncommitter {who}\n\nwork\n",
    "tree {good}\nparent {base}\n\nwork\n",
)


def test_what_readers_may_differ_about_is_violated(tmp_path: Path) -> None:
    """A parent in upper case, or where git looks for none, hides nothing: such a commit is proved by nothing."""
    scene = Scene(tmp_path)
    repo, done = scene.repo, scene.done
    repo.git("branch", "-q", "evil", "main")
    repo.checkout("evil")
    repo.write("evil.py", "evil\n")
    evil = repo.commit("evil")
    good, tree = repo.tree("topic"), repo.git("merge-tree", "--write-tree", "topic", "evil")
    names = {"tree": tree, "good": good, "done": done, "base": scene.base, "evil": evil, "who": WHO}
    for head in HIDING:
        oid = make(repo, head.format(**names, GOOD=good.upper(), EVIL=evil.upper()))
        if "{evil} " in head:  # git itself does not read it
            assert "is not a commit" in scene.desk.refuses("verify", oid, code=128)
            continue
        found = scene.desk.data("verify", oid, code=1)
        assert [reason["code"] for reason in found["commits"][0]["reasons"]] == ["commit-bad"]
        assert found["hints"] == [f"git cat-file commit {oid[:12]}   # its header"]
        for range_ in (f"main..{oid}", f"topic..{oid}"):
            assert scene.desk.data("verify", range_, code=1)["verdict"] == "violated"


@pytest.mark.parametrize("policy", ["", "[proof]\nby_patch = true\n"])
def test_a_commit_without_parents_is_proved_by_its_own_record(tmp_path: Path, policy: str) -> None:
    """A tree that once began a history, on no commit again, would take back all that came since: it is not verified."""
    repo = GitRepo.init(tmp_path / "repo")
    desk = Desk(repo)
    desk.init()
    repo.write(".taskctx.toml", policy)
    desk.validate()
    first = repo.commit("Begin")
    desk.ok("verify")
    repo.write("more.py", "more\n")
    repo.commit("more")
    again = repo.git("commit-tree", "-m", "again", repo.tree(first))
    assert desk.data("verify", first)["verdict"] == "verified"
    for range_ in (again, f"main..{again}"):
        (one,) = desk.data("verify", range_, "--policy", first, code=3)["commits"]
        assert [reason["code"] for reason in one["reasons"]] == ["other-parent"]
    desk.ok("adopt", again, "--task", TASK)  # somebody says so, on record
    assert desk.data("verify", again)["verdict"] == "verified"
