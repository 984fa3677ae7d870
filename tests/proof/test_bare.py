"""Proofs where there is no worktree: bare clones, inside a git dir, and a server's hooks."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from desk import TASK, Desk, executable, hints_of
from gitrepo import GitRepo
from proof.scene import FETCH_NOTES, NOTES, Clone, Scene
from tiers import some

PROVED = "commit: verified\n{}  verified for TASK-1, by the records of this commit  Mend the parser\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A task that is validated and committed."""
    return Scene.sealed(tmp_path)


@pytest.fixture
def bare(scene: Scene) -> Clone:
    """A bare clone, as a mirror has it, with the notes."""
    place = scene.folder / "mirror.git"
    scene.repo.git("clone", "-q", "--bare", "--branch", "topic", os.fspath(scene.repo.path), os.fspath(place))
    made = Clone(GitRepo(place))
    made.repo.git("fetch", "-q", "origin", FETCH_NOTES)
    return made


def test_commits_are_proved_without_a_worktree(scene: Scene, bare: Clone) -> None:
    """A commit and a range, from the bare folder, from below it, and with git's own variable from anywhere."""
    whole = PROVED.format(scene.done[:12])
    assert bare.ok("verify", "HEAD").out == whole
    assert bare.ok("verify", "HEAD", cwd=bare.repo.path / "refs").out == whole
    assert bare.prove("main..topic", code=0)["commits"][0]["by"] == "commit"
    elsewhere = {"GIT_DIR": os.fspath(bare.repo.path)}
    assert bare.process("verify", "HEAD", cwd=scene.folder, env=elsewhere).out == whole
    program = {**elsewhere, **executable(scene.folder / "bin")}
    asked = ("--git-dir", os.fspath(bare.repo.path), "taskctx", "verify", "HEAD")
    assert GitRepo(scene.folder).git(*asked, env=program) + "\n" == whole
    assert not (bare.repo.path / ".agent-output").exists()


def test_the_ledger_reads_the_same(scene: Scene, bare: Clone) -> None:
    """`log` shows the records of a task where only its notes are, and names a task that nobody knows."""
    scene.desk.ok("push", os.fspath(bare.repo.path))
    mine = scene.desk.data("log", "--task", TASK)
    assert bare.data("log", "--task", TASK) == mine
    assert scene.clone("other").data("log", "--task", TASK) == mine
    assert bare.ok("list").out == "no contexts here\n"
    assert bare.refuses("log", "--task", "TASK-2", code=128) == (
        "error: no record of TASK-2 is here\nhint: git taskctx fetch   # brings what others recorded\n"
    )
    assert "no task is named" in bare.refuses("log", code=129)


def test_notes_are_shared_and_a_commit_adopted(scene: Scene, bare: Clone) -> None:
    """A mirror fetches, adopts and pushes; its records say that they were written where there is no worktree."""
    bare.repo.git("update-ref", "-d", NOTES)
    assert bare.told("HEAD") == "unproven no-notes"
    source = os.fspath(scene.repo.path)
    assert bare.ok("fetch", source, "--with-snapshots").err == ""
    assert [one["task"] for one in bare.data("list")] == [TASK]
    again = bare.repo.git("commit-tree", "-p", scene.base, "-m", "again", f"{scene.done}^{{tree}}")
    assert bare.told(again) == "verified by tree"
    bare.ok("adopt", again, "--task", TASK)
    assert bare.told(again) == "verified by commit"
    last = bare.data("log", "--task", TASK)[-1]
    assert (last["type"], last["commit"], last["worktree"]) == ("adopt", again, "bare")
    bare.ok("push", source)
    assert scene.desk.data("log", "--task", TASK)[-1] == last


@pytest.mark.parametrize(
    "words",
    [
        ("init", "TASK-2", "--title", "Other"), ("get",), ("status",), ("start", "--agent", "reviewer"),
        ("snapshot", "--agent", "implementer"), ("verify", "--expect", "implementer"), ("recover", TASK), ("purge",),
        ("restore", "--agent", "implementer"), ("fingerprint",),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_what_is_about_a_worktree_is_refused(bare: Clone, words: tuple[str, ...]) -> None:
    """Each verb that needs a worktree says so, and leaves nothing behind."""
    before = sorted(bare.repo.path.iterdir())
    assert "work" in bare.refuses(*words, code=128)
    assert sorted(bare.repo.path.iterdir()) == before
    assert bare.refuses("verify", code=128) == "error: there is no worktree here\nhint: git taskctx verify HEAD\n"


def test_linked_worktrees_of_a_bare_repository(scene: Scene, bare: Clone) -> None:
    """A task goes its way in a linked worktree; the bare folder beside it proves, and keeps its hands off it."""
    place = scene.folder / "linked"
    bare.repo.git("worktree", "add", "-q", "-b", "next", os.fspath(place), "topic")
    linked = Desk(GitRepo(place))
    assert linked.ok("verify", "HEAD").out == PROVED.format(scene.done[:12])
    linked.ok("init", "TASK-2", "--title", "Go on")
    linked.implement()
    assert [one["state"] for one in bare.data("list")] == ["elsewhere"]
    bare.ok("fetch", os.fspath(scene.repo.path), "--with-snapshots")
    assert linked.data("status")["task"] == "TASK-2"
    linked.ok("snapshot", "--agent", "reviewer")
    linked.ok("snapshot", "--agent", "validator", "--done")
    commit = linked.repo.commit("Go on")
    linked.ok("verify")
    assert bare.told("next") == "verified by commit"
    assert bare.told(commit) == "verified by commit"


def test_inside_a_git_dir(scene: Scene) -> None:
    """What reads answers there; what writes wants the worktree, whose lock it would go round."""
    inside = scene.repo.path / ".git"
    assert scene.desk.ok("verify", "HEAD", cwd=inside).out == PROVED.format(scene.done[:12])
    assert scene.desk.ok("log", "--task", TASK, cwd=inside / "refs").out == scene.desk.ok("log", "--task", TASK).out
    for words in (("adopt", "HEAD", "--task", TASK), ("fetch",), ("push", "origin")):
        said = scene.desk.refuses(*words, cwd=inside, code=128)
        assert said == "error: there is no worktree here\nhint: run it inside the worktree of a repository\n"


HOOKS = {
    "pre-receive": """#!/bin/sh
while read -r old new ref; do
    case $ref in refs/heads/*) git taskctx verify "$old..$new" || exit 1 ;; esac
done
""",
    "update": """#!/bin/sh
case $1 in refs/heads/*) exec git taskctx verify "$2..$3" ;; esac
""",
}


@pytest.mark.parametrize(
    "hook",
    some(itertools.product(("bare", "worktree"), HOOKS), list(zip(("bare", "worktree"), HOOKS, strict=True))),
    ids="-".join,
)
def test_a_servers_hook_proves_what_is_in_quarantine(tmp_path: Path, hook: tuple[str, str]) -> None:
    """A push of a commit that is proved goes through, and one of another commit does not, in either hook."""
    kind, name = hook
    scene = Scene(tmp_path)
    hub = GitRepo.init(tmp_path / "hub", *(["--bare"] if kind == "bare" else []))
    scene.repo.git("push", "-q", os.fspath(hub.path), "main:topic")
    hub.write(("" if kind == "bare" else ".git/") + f"hooks/{name}", HOOKS[name], mode=0o755)
    assert scene.done
    env = executable(tmp_path / "bin")
    push = ("push", "-q", os.fspath(hub.path), "topic")
    alone = scene.repo.run(*push, env=env)
    assert (alone.returncode, hub.git("rev-parse", "topic")) == (1, scene.base)
    assert b"no-notes: there is no refs/notes/taskctx in this clone" in alone.stderr
    scene.desk.ok("push", os.fspath(hub.path))
    assert scene.repo.run(*push, env=env).returncode == 0
    assert hub.git("rev-parse", "topic") == scene.done
    scene.repo.write("other.py", "slipped in\n")
    scene.repo.commit("more")
    more = scene.repo.run(*push, env=env)
    assert (more.returncode, hub.git("rev-parse", "topic")) == (1, scene.done)
    assert b"no-record: no record mentions this commit or its tree" in more.stderr


@pytest.mark.needs_git(2, 36)
def test_a_clone_that_leaves_objects_out(scene: Scene) -> None:
    """Where the notes' content was left out nothing can be told, and the hint brings it."""
    scene.repo.config("uploadpack.allowFilter", "true")
    partial = scene.clone("partial", "--filter=blob:none")
    said = partial.run("verify", "HEAD")
    assert said.code == 3
    assert hints_of(said)
    partial.repo.git("fetch", "-q", "--refetch", "--no-filter", "origin", "HEAD", NOTES)
    assert partial.told("HEAD") == "verified by commit"
