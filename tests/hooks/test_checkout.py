"""Checkouts: a context stays with its branch, and the way back reminds of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import executable
from gated import Gated, put_hooks
from gitrepo import GitRepo
from prepared import fill


def branches(repo: GitRepo) -> None:
    """Make two more branches, one and two commits ahead, and begin a task on main; then put our hooks in."""
    for path in ("parser.py", "README"):
        repo.write(path, "broken\n")
    repo.commit("base")
    for branch in ("side", "far"):
        repo.checkout("-b", branch)
        repo.write(branch, f"{branch}\n")
        repo.commit(branch)
    repo.checkout("main")
    Gated(repo).init()
    put_hooks(repo)


@pytest.fixture
def branched(repo: GitRepo, tmp_path: Path) -> Gated:
    """A task at work on main, with two more branches."""
    fill(repo, branches)
    repo.env |= executable(tmp_path / "bin")
    repo.write("parser.py", "mended\n")
    return Gated(repo)


def is_active(desk: Gated) -> bool:
    """Return whether the task is active here."""
    return desk.data("status")["task"] == "TASK-1"


@pytest.mark.parametrize(
    "leave",
    ["switch -q side", "checkout -q side", "checkout -q --detach side", "checkout -q -B other side",
     "checkout -q -b other side", "switch -q --discard-changes side", "checkout -q -B main side"],
)  # fmt: skip
def test_a_switch_puts_the_context_away_and_nothing_is_lost(branched: Gated, leave: str) -> None:
    """However HEAD gets to another commit; back on the branch, git reminds, and `recover` brings all of it back."""
    branched.ok("block", "--agent", "implementer", "--finding", "to be mended")
    before, chain = branched.data("status")["coordination"], len(branched.records())
    base = branched.repo.head()
    said = branched.passes(*leave.split())
    assert "taskctx: TASK-1 is put away: it belongs to main\nhint: git taskctx recover TASK-1   # there" in said.err
    assert not is_active(branched)
    back = ["checkout", "-q", "-f", "-B", "main", base] if "-B main" in leave else ["checkout", "-q", "-f", "main"]
    said = branched.passes(*back)
    assert "TASK-1 was put away when this branch was left\nhint: git taskctx recover TASK-1" in said.err
    branched.ok("recover", "TASK-1")
    assert branched.data("status")["coordination"] == before
    assert [record["type"] for record in branched.records()][chain:] == ["purge"]
    branched.ok("block", "--agent", "implementer", "--finding", "and this")
    assert [record["type"] for record in branched.records()][chain:] == ["purge", "recover", "block"]


@pytest.mark.parametrize(
    "stay",
    ["checkout -q -- README", "restore README", "stash -q", "switch -q main", "checkout -q", "reset -q --hard",
     "bisect start far HEAD", "rebase -q --autostash side", "rebase -q --apply --autostash side"],
)  # fmt: skip
def test_what_is_no_switch_leaves_it_alone(branched: Gated, stay: str) -> None:
    """Files that are checked out, a rebase, a bisect: the context stays, and nothing is said."""
    said = branched.passes(*stay.split())
    assert "TASK-1" not in said.both
    assert is_active(branched)
    if stay.startswith("bisect"):
        branched.passes("bisect", "reset")
        assert is_active(branched)
    assert branched.records("purge") == []


@pytest.mark.parametrize(
    "along", ["switch -q -c topic", "checkout -q -b topic", "checkout -q -B topic", "checkout -q twin"]
)
def test_at_the_same_commit_it_comes_along(branched: Gated, along: str) -> None:
    """A new branch, or another one at the same commit: the tree is the same, and the branch is on record."""
    branched.repo.git("branch", "twin")
    branched.implement()
    branched.passes(*along.split())
    (record,) = branched.records("rebase")
    assert (record["branch"], record["from_branch"]) == (along.split()[-1], "main")
    assert branched.data("verify")["notices"] == []
    branched.ok("snapshot", "--agent", "reviewer")


def test_detached_at_the_same_commit_it_comes_along(branched: Gated) -> None:
    """`checkout --detach` leaves the branch, not the commit."""
    branched.passes("checkout", "-q", "--detach")
    assert [record["branch"] for record in branched.records("rebase")] == [None]
    branched.passes("switch", "-q", "main")
    assert is_active(branched)


@pytest.mark.parametrize("orphan", ["checkout -q --orphan lonely", "switch -q --orphan lonely --discard-changes"])
def test_an_orphan_branch_is_another_place(branched: Gated, orphan: str) -> None:
    """The task's commit could not sit on its parent there; on the way back git reminds."""
    assert "TASK-1 is put away" in branched.passes(*orphan.split()).err
    assert "TASK-1 was put away" in branched.passes("checkout", "-q", "-f", "main").err


def test_two_branches_two_contexts(branched: Gated) -> None:
    """Each branch keeps its own, and `git switch -` goes from one to the other."""
    branched.passes("switch", "-q", "side")
    branched.ok("init", "TASK-2", "--title", "Another")
    said = branched.passes("switch", "-q", "-")
    assert "TASK-2 is put away: it belongs to side" in said.err
    assert "TASK-1 was put away when this branch was left" in said.err
    branched.ok("recover", "TASK-1")
    said = branched.passes("switch", "-q", "-")
    assert "TASK-1 is put away: it belongs to main" in said.err
    assert "TASK-2 was put away when this branch was left" in said.err


def test_the_reminder_ends_with_recover_and_with_sweep(branched: Gated) -> None:
    """Nothing is said of a context that is back, or that is gone for good."""
    branched.passes("switch", "-q", "side")
    branched.ok("sweep", "--ttl", "0")
    assert "TASK-1" not in branched.passes("switch", "-q", "main").err
    archive = branched.repo.at(".agent-output/archive")
    assert list(archive.iterdir()) == []


def test_a_task_that_was_committed_around_the_hooks_ends_at_the_switch(branched: Gated) -> None:
    """What no hook saw is still the validated tree: the chain goes on the commit that is left behind."""
    branched.validate()
    branched.passes("commit", "-q", "-a", "-m", "x", env={"GIT_TASKCTX": "0"})
    commit = branched.repo.head()
    assert "TASK-1 is over" in branched.passes("switch", "-q", "side").err
    assert [record["commit"] for record in branched.records("seal")] == [commit]


def test_worktree_add_and_clone_say_nothing(branched: Gated, tmp_path: Path) -> None:
    """They check out too, in another place that has no task."""
    assert "TASK-1" not in branched.passes("worktree", "add", "-q", str(tmp_path / "linked"), "side").both
    assert "TASK-1" not in branched.passes("clone", "-q", ".", str(tmp_path / "clone")).both
    assert is_active(branched)


def test_a_linked_worktree_puts_its_own_away(branched: Gated, tmp_path: Path) -> None:
    """A switch there leaves the task here alone."""
    branched.passes("worktree", "add", "-q", "-b", "third", str(tmp_path / "linked"), "main")
    linked = Gated(GitRepo(tmp_path / "linked", env=branched.repo.env))
    linked.ok("init", "TASK-2", "--title", "Another")
    assert "TASK-2 is put away: it belongs to third" in linked.passes("switch", "-q", "--detach", "side").err
    assert is_active(branched)


def test_a_context_that_does_not_read_warns_and_lets_go(branched: Gated) -> None:
    """The switch is made, its exit code is git's own, and the warning says how to mend it."""
    branched.repo.git("update-ref", "-d", "refs/notes/taskctx")
    said = branched.passes("switch", "-q", "side")
    assert said.err.startswith("warning: the ledger has no record of context ")
    assert "hint: git taskctx recover TASK-1" in said.err


def test_purging_twice_is_no_error(branched: Gated) -> None:
    """The second switch has nothing to put away."""
    branched.passes("switch", "-q", "side")
    branched.passes("switch", "-q", "--detach", "main")
    assert len(branched.records("purge")) == 1


@pytest.mark.parametrize("hooked", [True, False])
def test_a_commit_on_a_new_branch_is_the_tasks(begun: Gated, hooked: bool) -> None:
    """Validated, then `switch -c`, as one does before the commit; also where no hook saw the switch."""
    begun.validate()
    begun.repo.git("switch", "-q", "-c", "topic", env={} if hooked else {"GIT_TASKCTX": "0"})
    begun.passes("add", "-A")
    said = begun.passes("commit", "-q", "-m", "x")
    assert "TASK-1 is over" in said.err, said
    assert begun.ok("verify", "HEAD").out.startswith("commit: verified\n")
