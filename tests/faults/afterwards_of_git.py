"""What must be true after a command of git's was killed with all that our hooks had started, at whatever step."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from afterwards import copy_of, leftovers, let_time_pass
from desk import TASK, Desk, Said
from gitrepo import GitRepo
from records import Records, added, read_records
from scenes import Scene
from stage import Stage

OURS = ("refs/taskctx/", "refs/notes/taskctx")
READING = (("status",), ("get",), ("log",), ("list",), ("verify",))


@dataclass(frozen=True)
class GitModel:
    """How a command goes when nothing is in its way."""

    before: Records
    said: Said
    types: list[str]
    """Of the records that come with it."""
    budgets: list[Any]
    """Before it and after it."""


class PrepareGit(Protocol):
    """Prepares a scene, with settings of git's."""

    def __call__(self, scene: Scene, *settings: tuple[str, str]) -> tuple[Stage, GitModel]:
        """Return it, and how it goes when nothing is in its way."""
        ...


def watch_git(scene: Scene, desk: Desk, scratch: Path) -> GitModel:
    """Run a command of git's in a copy, and return how it went."""
    one = copy_of(desk, scratch / "model")
    before, budgets = read_records(one.repo), [budgets_of(one)]
    said = one.process(*scene.verb, git=True)
    assert said.code == scene.code, said.both
    types = added(before, read_records(one.repo))
    return GitModel(before, said, types, [*budgets, budgets_of(one)])


def budgets_of(desk: Desk) -> Any:
    """Return every agent's budget, of the active context or of the one that was put away; None without any."""
    contexts = [one for one in desk.data("list") if one["task"] == TASK]
    if not contexts:
        return None
    named = () if contexts[0]["state"] == "active" else ("--task", TASK, "--context", contexts[0]["context_id"])
    said = desk.run("get", *named, "--format", "json")
    if said.code != 0:
        assert "hint: git taskctx recover" in json.loads(said.out)["error"]["hint"], said.both
        return None
    return {name: seat["drift_budget"] for name, seat in said.document()["data"]["coordination"].items()}


def state_of_git(repo: GitRepo) -> list[str]:
    """Return all that git says of a repository, but for what is ours."""
    refs = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    status = repo.git("status", "--porcelain=v2", "--branch", "--untracked-files=all")
    return [(repo.git_dir() / "HEAD").read_text(), status, repo.git("ls-files", "-s")] + [
        line for line in refs if not line.startswith(OURS)
    ]


def hold_git_killed(scene: Scene, model: GitModel, desk: Desk) -> None:
    """Hold that nothing is lost, that our verbs work, and that git goes on as it would without us."""
    there = added(model.before, read_records(desk.repo))
    assert model.types[: len(there)] == there
    assert desk.repo.git("fsck", "--no-dangling") == ""
    let_time_pass(desk)
    hold_verbs(model, copy_of(desk, desk.repo.path.with_name("reader")))
    without = copy_of(desk, desk.repo.path.with_name("without"))
    without.repo.config("core.hooksPath", "/nonexistent")
    for one in (desk, without):
        remove_locks(one, ours=False)
    mine, theirs = (one.process(*scene.verb, git=True) for one in (desk, without))
    if scene.code == 0:
        assert mine.code == theirs.code, f"{mine.both}\n{theirs.both}"
        assert state_of_git(desk.repo) == state_of_git(without.repo)
    else:
        assert mine.code != 0, mine.both
    desk.ok("status")
    assert budgets_of(desk) in model.budgets
    assert desk.repo.git("fsck", "--no-dangling") == ""
    for name in ("reader", "without"):
        shutil.rmtree(desk.repo.path.with_name(name))


def hold_verbs(model: GitModel, desk: Desk) -> None:
    """Hold that every verb answers or says what mends it, that no budget moved, and that the context is to be had."""
    assert budgets_of(desk) in model.budgets
    for verb in READING:
        said = desk.run(*verb)
        assert said.code in (0, 1, 3, 128), f"{verb}: {said.both}"
        if said.code == 128:
            assert "hint: git taskctx " in said.err, said.err
    contexts = [one for one in desk.data("list") if one["task"] == TASK]
    assert [one["state"] for one in contexts] in (["active"], ["archived"]), contexts
    if contexts[0]["state"] == "archived" and contexts[0]["sealed"] is None:
        desk.ok("recover", TASK)
    if desk.run("get").code == 0:
        desk.ok("block", "--agent", "reviewer", "--finding", "the next command works")
        desk.ok("purge")
    desk.ok("init", "TASK-9", "--title", "The next task begins")
    desk.run("verify")  # reads the worktree, and so sweeps what another reading left
    assert leftovers(desk) == []
    assert remove_locks(desk, ours=True) == []


def remove_locks(desk: Desk, *, ours: bool) -> list[str]:
    """Remove the locks of refs of ours, or git's own as it advises; return what was removed."""
    git_dir = desk.repo.git_dir()
    found = [os.fspath(path.relative_to(git_dir)) for path in git_dir.rglob("*.lock") if path.is_file()]
    chosen = sorted(place for place in found if place.startswith(OURS) == ours)
    for place in chosen:
        (git_dir / place).unlink()
    return chosen
