"""Commits that go around the gate: noticed by the next hook or verb, and on record once."""

from __future__ import annotations

import shutil

import pytest
from gated import Gated, put_hooks

OFF = {"GIT_TASKCTX": "0"}


def bypasses(desk: Gated) -> list[tuple[str, str, str]]:
    """Return what is on record of commits that went around the gate."""
    return [(record["commit"], record["how"], record["reason"]) for record in desk.records("bypass")]


def test_no_verify_is_noticed_by_the_hook_after_the_commit(desk: Gated) -> None:
    """post-commit runs all the same: the commit is on record, with what the gate would have said."""
    desk.init()
    desk.to_reviewer()
    said = desk.passes("commit", "-q", "--no-verify", "-a", "-m", "early")
    assert "went around the gate: not validated: reviewer and validator have not approved this tree" in said.err
    expected = (desk.repo.head(), "commit", "not validated: reviewer and validator have not approved this tree")
    assert bypasses(desk) == [expected]
    assert desk.ends(1, "verify").out.count("committed early") >= 1
    assert bypasses(desk) == [expected]


@pytest.mark.parametrize("verb", ["verify", "status", "get", "log", "snapshot --agent implementer", "purge"])
def test_what_no_hook_saw_is_noticed_by_the_next_verb(desk: Gated, verb: str) -> None:
    """`GIT_TASKCTX=0`, or a program that asks no hook: any verb finds the commit and records it, once."""
    desk.init()
    desk.repo.write("parser.py", "mended\n")
    desk.passes("commit", "-q", "-a", "-m", "early", env=OFF)
    head = desk.repo.head()
    desk.run(*verb.split())
    desk.run(*verb.split())
    assert [commit for commit, _, _ in bypasses(desk)] == [head]


def test_every_commit_since_the_last_record_is_noticed(desk: Gated) -> None:
    """Three commits, one of them amended away: each that was made is on record, oldest first."""
    desk.init()
    made = []
    for number in range(2):
        desk.repo.write("parser.py", f"{number}\n")
        desk.passes("commit", "-q", "-a", "-m", f"{number}", env=OFF)
        made.append(desk.repo.head())
    desk.passes("commit", "-q", "--amend", "--allow-empty", "-m", "again", env=OFF)
    made.append(desk.repo.head())
    desk.ok("status")
    assert [(commit, how) for commit, how, _ in bypasses(desk)] == [(oid, "commit") for oid in made]


def test_a_commit_that_the_gate_would_pass_is_no_bypass(validated: Gated) -> None:
    """What was validated may be committed in any way."""
    validated.repo.add()
    validated.passes("commit", "-q", "--no-verify", "-m", "x", env=OFF)
    assert "TASK-1 is over" in validated.ok("verify").out
    assert validated.records("bypass") == []


def test_without_a_gate_nothing_goes_around_it(desk: Gated) -> None:
    """A repository without our hooks knows early commits as drift, and no more."""
    for hook in (desk.repo.common_dir() / "hooks").iterdir():
        hook.unlink()
    desk.init()
    desk.implement()
    desk.repo.git("commit", "-q", "-a", "-m", "early")
    assert "committed early" in desk.ends(1, "verify").out
    assert desk.records("bypass") == []


@pytest.mark.parametrize(
    "place",
    [".husky/pre-commit", ".pre-commit-config.yaml", "prek.toml", "lefthook.yml", "lefthook-local.yml",
     ".config/lefthook.toml", "hooks/pre-commit"],
)  # fmt: skip
def test_a_gate_behind_a_manager_is_known(desk: Gated, place: str) -> None:
    """Wherever a manager of hooks is told to ask us, a commit around it is one around the gate."""
    for hook in (desk.repo.common_dir() / "hooks").iterdir():
        hook.unlink()
    if place.startswith("hooks/"):
        desk.repo.config("core.hooksPath", "hooks")
    desk.repo.write(place, "git taskctx hook pre-commit\n")
    desk.repo.commit("hooks")
    desk.init()
    desk.repo.write("parser.py", "mended\n")
    desk.passes("commit", "-q", "-a", "-m", "early")
    desk.ok("status")
    assert len(bypasses(desk)) == 1


@pytest.mark.parametrize(("command", "how"), [("cherry-pick", "cherry-pick"), ("revert", "revert")])
def test_what_git_asks_no_hook_about_is_noticed(desk: Gated, command: str, how: str) -> None:
    """git makes a clean cherry-pick or revert without asking; it is a commit in the middle of a task all the same."""
    desk.branch_off()
    if command == "revert":
        desk.repo.git("checkout", "-q", "side")
    desk.init()
    desk.passes(command, *(["--no-edit"] if command == "revert" else []), "side")
    assert [found for _, found, _ in bypasses(desk)] == [how]


def test_a_merge_around_the_gate_is_noticed(desk: Gated) -> None:
    """`merge --no-verify` skips pre-merge-commit; post-merge tells."""
    desk.branch_off()
    desk.repo.write("main", "main\n")
    desk.repo.commit("main")
    desk.init()
    desk.passes("merge", "-q", "--no-edit", "--no-verify", "side")
    assert [how for _, how, _ in bypasses(desk)] == ["merge"]


def test_what_a_pull_brings_in_is_no_bypass(desk: Gated) -> None:
    """A fast-forward makes no commit; an agent at work may take in what others made."""
    desk.branch_off()
    desk.init()
    desk.repo.write("parser.py", "mended\n")
    desk.passes("merge", "-q", "--ff-only", "side")
    desk.ok("snapshot", "--agent", "implementer")
    assert desk.records("bypass") == []
    assert len(desk.records("rebase")) == 1


def test_a_rebase_while_at_work_is_no_bypass(desk: Gated) -> None:
    """The commits that a rebase makes anew are not the task's; the hooks that run meanwhile say nothing."""
    desk.branch_off()
    for name in ("one", "two"):
        desk.repo.write(name, name)
        desk.repo.commit(name)
    desk.init()
    said = desk.passes("rebase", "-q", "side")
    assert said.err == ""
    desk.implement()
    assert (desk.records("bypass"), len(desk.records("rebase"))) == ([], 1)


def test_a_later_hook_that_changes_the_commit_is_noticed(validated: Gated) -> None:
    """What another hook stages after the gate was asked is in the commit, and the commit is not what was validated."""
    hook = validated.repo.common_dir() / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ngit taskctx hook pre-commit || exit\necho formatted >parser.py\ngit add parser.py\n")
    validated.repo.add()
    said = validated.passes("commit", "-q", "-m", "x")
    assert "went around the gate: 1 path is not as validator left it (snapshot 1)" in said.err


def test_without_a_reflog_nothing_is_invented(desk: Gated) -> None:
    """Where git does not say how HEAD moved it may have been a pull: HEAD moved, and that is told as drift."""
    desk.repo.config("core.logAllRefUpdates", "false")
    shutil.rmtree(desk.repo.git_dir() / "logs")
    desk.init()
    desk.implement()
    desk.passes("commit", "-q", "-a", "-m", "early", env=OFF)
    assert "committed early" in desk.ends(1, "verify").out
    assert desk.records("bypass") == []


def test_a_removed_gate_is_no_longer_there(desk: Gated) -> None:
    """Whether there is a gate is asked when a commit is found, of the hooks as they are."""
    desk.init()
    desk.repo.write("parser.py", "mended\n")
    desk.passes("commit", "-q", "-a", "-m", "early", env=OFF)
    (desk.repo.common_dir() / "hooks" / "pre-commit").unlink()
    desk.ok("status")
    assert desk.records("bypass") == []
    put_hooks(desk.repo)
    desk.ok("status")
    assert len(desk.records("bypass")) == 1
