"""How many processes a proof starts: as many for twenty commits of a kind as for five, whatever is to be found out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from gitrepo import GitRepo, run_taskctx
from proof.many import validated_commits
from proof.scene import NOTES

FEW, MANY = 5, 20


def counted(folder: Path) -> dict[str, str]:
    """Put a `git` into a folder that notes each call, before it does what git does; return the environment for it."""
    folder.mkdir()
    script, log = folder / "git", folder / "log"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
    script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def validated(repo: GitRepo, count: int) -> None:
    """Fill a repository with so many validated commits on `main`."""
    repo.git("fast-import", "--quiet", input=b"".join(validated_commits(count)))
    repo.git("config", "taskctx.proof.scope", "every")
    repo.checkout("main")


def misplaced(repo: GitRepo, count: int) -> str:
    """Commits that carry the notes of others, as an old git leaves them after a rebase."""
    validated(repo, count)
    tree = repo.git("commit-tree", "-m", "base", repo.tree("main"))
    commits = repo.git("rev-list", "--reverse", "main").split()
    made = [tree]
    for number, commit in enumerate(commits[1:]):
        blob = repo.git("hash-object", "-w", "--stdin", input=f"other {number}\n")
        other = repo.git("mktree", input=f"100644 blob {blob}\tfile\n")
        made.append(repo.git("commit-tree", "-p", made[-1], "-m", f"moved {number}", other))
        repo.git("notes", "--ref=taskctx", "copy", "-f", commit, made[-1])
    return f"{made[0]}..{made[-1]}"


def by_patch(repo: GitRepo, count: int) -> str:
    """Commits that nobody recorded, each of which might be one that is found by its patch."""
    validated(repo, 1)
    repo.git("config", "taskctx.proof.byPatch", "true")
    start = repo.head()
    for number in range(count):
        repo.write(f"other-{number}", f"{number}\n")
        repo.commit(f"picked {number}")
    return f"{start}..main"


def merges(repo: GitRepo, count: int) -> str:
    """Merges of branches that are not in question, one upon the other; into the last something was put by hand."""
    repo.git("config", "taskctx.proof.scope", "every")
    blob = repo.git("hash-object", "-w", "--stdin", input="text\n")
    entries = [f"100644 blob {blob}\tbase"]
    root = repo.git("commit-tree", "-m", "root", repo.git("mktree", input=entries[0]))
    repo.git("notes", "--ref=taskctx", "add", "-m", "nothing", root)
    sides, made = list[str](), root
    for number in range(count):
        entries.append(f"100644 blob {blob}\tside-{number:02}")
        alone = repo.git("mktree", input=f"{entries[0]}\n{entries[-1]}")
        sides.append(repo.git("commit-tree", "-p", root, "-m", f"side {number}", alone))
        by_hand = f"\n100644 blob {blob}\tslipped-in" if number == count - 1 else ""
        tree = repo.git("mktree", input="\n".join(entries) + by_hand)
        made = repo.git("commit-tree", "-p", made, "-p", sides[-1], "-m", f"merge {number}", tree)
    every = repo.git("commit-tree", *(word for side in sides for word in ("-p", side)), "-m", "all", repo.tree(root))
    return f"{every}..{made}"


@pytest.mark.parametrize(
    ("make", "reason"),
    [(misplaced, "misplaced"), (by_patch, "no-record"), (merges, "merge-edited")],
    ids=["misplaced", "by patch", "merges"],
)
def test_many_take_the_processes_of_five(tmp_path: Path, make: Callable[[GitRepo, int], str], reason: str) -> None:
    """Every call of git is counted by a git that stands before it; each commit is judged as it must be."""
    started = []
    for count in (FEW, MANY):
        repo = GitRepo.init(tmp_path / f"{count}", "-b", "main")
        asked, env = make(repo, count), counted(tmp_path / f"bin-{count}")
        code, out, err = run_taskctx("verify", asked, "--format", "json", cwd=repo.path, env=env)
        assert code == 3, err
        commits = json.loads(out)["data"]["commits"]
        assert len(commits) == count
        assert commits[0]["reasons"][-1]["code"] == reason
        assert {one["by"] for one in commits[1:]} == {"merge" if make is merges else None}
        started.append([line.split() for line in (tmp_path / f"bin-{count}/log").read_text().splitlines()])
    assert len(started[0]) == len(started[1]) <= 9, started
    assert NOTES in " ".join(word for words in started[0] for word in words)


def test_a_git_that_takes_no_list_is_asked_for_each_merge(tmp_path: Path) -> None:
    """Before git 2.39 `merge-tree` makes one merge at a time; the answer is the same."""
    repo = GitRepo.init(tmp_path / "repo", "-b", "main")
    asked, env = merges(repo, FEW), counted(tmp_path / "bin")
    whole = run_taskctx("verify", asked, cwd=repo.path, env=env)
    script = tmp_path / "bin/git"
    script.write_text(script.read_text().replace("exec", 'case "$*" in *merge-tree*--stdin) exit 129 ;; esac\nexec', 1))
    assert run_taskctx("verify", asked, cwd=repo.path, env=env) == whole
    alone = [line for line in (tmp_path / "bin/log").read_text().splitlines() if "merge-tree" in line]
    assert [line.endswith("--stdin") for line in alone].count(False) == FEW
    assert whole[0] == 3
    assert whole[1].count("verified, as a merge of verified commits  ") == FEW - 1


def test_a_merge_that_git_refuses_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """Histories without a common commit are not merged again; what comes after them is."""
    repo = GitRepo.init(tmp_path / "repo", "-b", "main")
    asked = merges(repo, FEW)
    start, tip = asked.split("..")
    alone = repo.git("commit-tree", "-m", "unrelated", repo.tree(tip))
    strange = repo.git("commit-tree", "-p", start, "-p", alone, "-m", "strange", repo.tree(tip))
    every = repo.git("commit-tree", "-p", f"{tip}~1", "-p", strange, "-m", "tip", repo.tree(f"{tip}~1"))
    base = repo.git("commit-tree", "-p", start, "-p", alone, "-m", "base", repo.tree(start))
    code, out, _ = run_taskctx("verify", f"{base}..{every}", cwd=repo.path)
    assert code == 3
    assert out.count("verified, as a merge of verified commits  ") == FEW - 1
    assert "merge-unchecked: git cannot make the merge again: refusing to merge unrelated histories" in out
