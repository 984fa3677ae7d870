"""Commits that bypass the gate: noticed by the next hook or verb, and on record once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from gated import Gated, put_hooks
from gitrepo import GitRepo
from tiers import some

OFF = {"GIT_TASKCTX": "0"}


def bypasses(desk: Gated) -> list[tuple[str, str, str]]:
    """Return what is on record of commits that bypassed the gate."""
    return [(record["commit"], record["how"], record["reason"]) for record in desk.records("bypass")]


def test_no_verify_is_noticed_by_the_hook_after_the_commit(begun: Gated) -> None:
    """post-commit runs all the same: the commit is on record, with what the gate would have said."""
    begun.to_reviewer()
    said = begun.passes("commit", "-q", "--no-verify", "-a", "-m", "early")
    assert "bypassed the gate: not validated: reviewer and validator have not approved this tree" in said.err
    expected = (begun.repo.head(), "commit", "not validated: reviewer and validator have not approved this tree")
    assert bypasses(begun) == [expected]
    told = f"commit {expected[0][:12]} bypassed the gate (commit): {expected[2]}\n"
    assert begun.ok("log").out.splitlines(keepends=True)[0].endswith(told)
    assert begun.ends(1, "verify").out.count("committed early") >= 1
    assert bypasses(begun) == [expected]


@pytest.mark.parametrize(
    "verb",
    some(
        ("verify", "status", "get", "log", "snapshot --agent implementer", "purge"),
        ("get", "snapshot --agent implementer"),
    ),
)
def test_what_no_hook_saw_is_noticed_by_the_next_verb(begun: Gated, verb: str) -> None:
    """`GIT_TASKCTX=0`, or a program that asks no hook: any verb finds the commit and records it, once."""
    begun.repo.write("parser.py", "mended\n")
    begun.passes("commit", "-q", "-a", "-m", "early", env=OFF)
    head = begun.repo.head()
    begun.run(*verb.split())
    begun.run(*verb.split())
    assert [commit for commit, _, _ in bypasses(begun)] == [head]


def test_every_commit_since_the_last_record_is_noticed(begun: Gated) -> None:
    """Three commits, one of them amended away: each that was made is on record, oldest first."""
    made = []
    for number in range(2):
        begun.repo.write("parser.py", f"{number}\n")
        begun.passes("commit", "-q", "-a", "-m", f"{number}", env=OFF)
        made.append(begun.repo.head())
    begun.passes("commit", "-q", "--amend", "--allow-empty", "-m", "again", env=OFF)
    made.append(begun.repo.head())
    begun.ok("status")
    assert [(commit, how) for commit, how, _ in bypasses(begun)] == [(oid, "commit") for oid in made]


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


def _as_patch(desk: Gated) -> str:
    patch = desk.repo.path.parent / "0001.patch"
    patch.write_text(desk.repo.git("format-patch", "-1", "--stdout", "side") + "\n")
    return str(patch)


def _plumbed(desk: Gated) -> str:
    return desk.repo.git("commit-tree", "-p", "HEAD", "-m", "by hand", "side^{tree}")


FORMS: dict[str, tuple[Callable[[Gated], list[tuple[str, ...]]], str]] = {
    "cherry-pick": (lambda _: [("cherry-pick", "side")], "cherry-pick"),
    "cherry-pick -n": (lambda _: [("cherry-pick", "-n", "side"), ("commit", "-q", "--no-verify", "-m", "x")], "commit"),
    "revert": (lambda _: [("revert", "--no-edit", "HEAD")], "revert"),
    "am": (lambda desk: [("am", "-q", _as_patch(desk))], "am"),
    "merge --squash": (
        lambda _: [("merge", "-q", "--squash", "side"), ("commit", "-q", "--no-verify", "-m", "x")],
        "commit",
    ),
    "update-ref": (lambda desk: [("update-ref", "HEAD", _plumbed(desk))], "update-ref"),
    "update-ref -m": (lambda desk: [("update-ref", "-m", "some tool", "HEAD", _plumbed(desk))], "update-ref"),
    "reset": (
        lambda _: [("reset", "-q", "--soft", "HEAD~1"), ("commit", "-q", "--no-verify", "-m", "squashed")],
        "commit",
    ),
}
"""Commits about which git asks no hook, or is told not to, and how each is on record."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at_work", [True, pytest.param(False, marks=pytest.mark.deep)], ids=["at-work", "snapshotted"])
def test_what_git_asks_no_hook_about_is_noticed(desk: Gated, form: str, at_work: bool) -> None:
    """A commit in the middle of a task, however it is made, is on record once a hook or a verb has looked.

    While an agent is at work; deep runs have the same of what was snapshotted, of which the tests below have two.
    """
    desk.repo.write("README", "second\n")
    desk.repo.commit("second")
    desk.branch_off()
    desk.init()
    if not at_work:
        desk.ok("snapshot", "--agent", "implementer", "--allow-clean")
    make, how = FORMS[form]
    for words in make(desk):
        desk.passes(*words)
    desk.run("status")
    assert [(commit, found) for commit, found, _ in bypasses(desk)] == [(desk.repo.head(), how)]
    if not at_work:
        told = "committed early" if form == "reset" else "HEAD moved"
        assert told in desk.ends(1, "verify").out


@pytest.mark.parametrize("form", ["cherry-pick -n", "merge --squash", "reset"])
def test_what_git_asks_about_is_stopped(desk: Gated, form: str) -> None:
    """The same commits with the gate."""
    desk.repo.write("README", "second\n")
    desk.repo.commit("second")
    desk.branch_off()
    desk.init()
    make, _ = FORMS[form]
    first, (*commit,) = make(desk)
    desk.passes(*first)
    assert "implementer has been at work" in desk.blocked(*(word for word in commit if word != "--no-verify"))[0]
    assert bypasses(desk) == []


@pytest.mark.parametrize("conflict", [False, True], ids=["clean", "continued"])
def test_a_rebase_of_what_was_snapshotted_is_noticed(desk: Gated, conflict: bool) -> None:
    """git asks nobody before the commits of a rebase, nor in `--continue`: HEAD has moved, and nobody is at work."""
    desk.branch_off()
    desk.repo.write("side" if conflict else "main", "main\n")
    desk.repo.commit("main")
    desk.init()
    desk.ok("snapshot", "--agent", "implementer", "--allow-clean")
    said = desk.git("rebase", "-q", "side")
    assert (said.code != 0) is conflict
    if conflict:
        assert "operation in progress" in desk.ends(1, "verify").out
        desk.repo.write("side", "both\n")
        desk.repo.add("side")
        desk.passes("rebase", "--continue", env={"GIT_EDITOR": "true"})
    assert "HEAD moved" in desk.ends(1, "verify").out
    assert bypasses(desk) == []


@pytest.mark.needs_git(2, 44)
def test_a_replay_is_noticed(desk: Gated) -> None:
    """`git replay` moves branches without any hook; the commits that it makes are like those of a rebase."""
    desk.branch_off()
    desk.repo.write("main", "main\n")
    base = desk.repo.git("merge-base", "main", "side")
    desk.repo.commit("main")
    desk.init()
    desk.ok("snapshot", "--agent", "implementer", "--allow-clean")
    told = desk.repo.git("replay", "--onto", "side", f"{base}..main")
    if told:  # before git 2.53 it only says what to do
        desk.repo.git("update-ref", "--stdin", input=f"{told}\n")
    desk.repo.git("reset", "-q", "--hard")
    assert "HEAD moved" in desk.ends(1, "verify").out


def test_a_stash_and_its_way_back(begun: Gated) -> None:
    """What is stashed is drift while it is away, and told as that; once it is back, the note is all that is missing."""
    begun.implement()
    begun.passes("stash", "-q")
    assert "stashed" in begun.ends(1, "verify").out
    begun.passes("stash", "pop", "-q")
    begun.ok("resolve-drift", "--note", "stashed and back")
    begun.ok("start", "--agent", "reviewer")
    assert bypasses(begun) == []


@pytest.mark.parametrize(
    "move", [("reset", "-q", "--soft", "HEAD~1"), ("merge", "-q", "--ff-only", "side")], ids=" ".join
)
def test_what_only_moves_head_is_told_as_that(desk: Gated, move: tuple[str, ...]) -> None:
    """No commit was made: that is no bypass, and drift where nobody is at work."""
    desk.repo.write("README", "second\n")
    desk.repo.commit("second")
    desk.branch_off()
    desk.init()
    desk.ok("snapshot", "--agent", "implementer", "--allow-clean")
    desk.passes(*move)
    assert "HEAD moved" in desk.ends(1, "verify").out
    assert bypasses(desk) == []


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
    assert "bypassed the gate: 1 path differs from validator's snapshot 1" in said.err


def test_a_commit_is_known_by_what_it_is(begun: Gated) -> None:
    """Neither words in the reflog, nor none, nor a soft reset onto what was made by hand, hide a commit."""
    begun.repo.write("parser.py", "mended\n")
    begun.repo.add()
    early = _by_hand(begun)
    begun.passes("reset", "-q", "--soft", early)
    begun.repo.write("parser.py", "again\n")
    begun.passes("commit", "-q", "-a", "-m", "more", env={**OFF, "GIT_REFLOG_ACTION": "pull: Fast-forward"})
    more = begun.repo.head()
    begun.ok("status")
    begun.repo.config("core.logAllRefUpdates", "false")
    shutil.rmtree(begun.repo.git_dir() / "logs")
    begun.repo.write("parser.py", "once more\n")
    begun.passes("commit", "-q", "-a", "-m", "last", env=OFF)
    begun.ok("status")
    assert [commit for commit, _, _ in bypasses(begun)] == [early, more, begun.repo.head()]


def test_a_name_for_a_commit_hides_no_work(begun: Gated) -> None:
    """What an agent left is the task's, also where another branch leads to the commit; what others made is not."""
    begun.implement()
    begun.repo.add()
    early = _by_hand(begun)
    begun.repo.git("update-ref", "refs/heads/innocent", early)
    begun.passes("merge", "-q", "--ff-only", "innocent")
    begun.ends(1, "verify")
    assert [commit for commit, _, _ in bypasses(begun)] == [early]


def test_what_was_fetched_is_no_bypass(desk: Gated, tmp_path: Path) -> None:
    """Commits of others are known by their remote, or by what was fetched last, with a reflog and without."""
    desk.repo.git("clone", "-q", str(desk.repo.path), str(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    for number, words in enumerate((("theirs",), (str(other.path), "main"))):
        desk.repo.git("remote", "add", "theirs", str(other.path)) if not number else None
        other.git("pull", "-q", "--ff-only", "origin", "main") if number else None
        other.write(f"theirs-{number}", "theirs\n")
        other.commit("theirs")
        desk.init() if not number else None
        desk.passes("fetch", "-q", *words)
        desk.passes("reset", "-q", "--soft", "theirs/main" if not number else "FETCH_HEAD")
        desk.run("status")
    assert desk.records("bypass") == []


def _by_hand(desk: Gated) -> str:
    """Commit what is staged without `git commit`."""
    return desk.repo.git("commit-tree", "-p", "HEAD", "-m", "by hand", desk.repo.git("write-tree"))


def test_a_removed_gate_is_no_longer_there(begun: Gated) -> None:
    """Whether there is a gate is asked when a commit is found, of the hooks as they are."""
    begun.repo.write("parser.py", "mended\n")
    begun.passes("commit", "-q", "-a", "-m", "early", env=OFF)
    (begun.repo.common_dir() / "hooks" / "pre-commit").unlink()
    begun.ok("status")
    assert begun.records("bypass") == []
    put_hooks(begun.repo)
    begun.ok("status")
    assert len(begun.records("bypass")) == 1
