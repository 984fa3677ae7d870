"""What random work has found, each as short as it gets."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from desk import Desk
from gitrepo import GitRepo


@pytest.fixture
def desk(repo: GitRepo) -> Desk:
    """A worktree with some history and nothing dirty."""
    repo.write("parser.py", "broken\n")
    repo.write("dir/a", "deep\n")
    repo.write("image", b"\0binary")
    repo.commit("base")
    repo.write("later", "later\n")
    repo.commit("later")
    return Desk(repo)


def test_a_renamed_ignore_file_is_named_at_both_ends(desk: Desk) -> None:
    """The end that is told as changed ignore rules does not hide the other."""
    desk.repo.write("dir/.gitignore", "*.o\n")
    desk.init()
    desk.implement()
    desk.repo.at("dir/.gitignore").rename(desk.repo.at(".gitignore"))
    causes = desk.data("verify", code=1)["causes"]
    assert {cause["path"] for cause in causes} == {".gitignore", "dir/.gitignore"}


@pytest.mark.parametrize("verb", ["snapshot", "accept", "restore"])
def test_a_binary_file_may_be_deleted(desk: Desk, verb: str) -> None:
    """There is nothing in a deleted file to look for secrets in."""
    desk.init()
    desk.implement()
    desk.repo.remove("image")
    verbs = {
        "snapshot": ("snapshot", "--agent", "implementer"),
        "accept": ("resolve-drift", "--accept", "--note", "gone"),
        "restore": ("restore", "--agent", "implementer"),
    }
    desk.ok(*verbs[verb])


def test_restore_sees_an_edit_under_restored_times(desk: Desk) -> None:
    """What it writes over is saved as it lay there, not as git believed."""
    desk.repo.config("core.trustctime", "false")
    desk.repo.config("core.checkStat", "minimal")
    desk.init()
    desk.implement()
    found = desk.repo.at("later").stat()
    desk.repo.git("update-index", "--refresh", check=False)
    desk.repo.write("later", "LATER\n")
    _set_times(desk.repo, "later", found.st_mtime_ns)
    assert desk.repo.oracle() != desk.repo.oracle(cold=True)
    desk.ok("restore", "--agent", "implementer")
    assert desk.repo.read("later") == b"later\n"
    desk.ok("restore", "--agent", "saved")
    assert desk.repo.read("later") == b"LATER\n"


def _set_times(repo: GitRepo, path: str, when: int) -> None:
    """Give a file its old time, and the index a later one, so that git has no reason to look again."""
    os.utime(repo.at(path), ns=(when, when))
    os.utime(repo.git_dir() / "index", ns=(when + 10**10, when + 10**10))


@pytest.mark.parametrize("way", ["file over folder", "folder over file"])
def test_work_stays_in_the_commit_tree_where_dirt_was(desk: Desk, way: str) -> None:
    """A file in the place of a folder that was deleted before the task, and the reverse, is the task's work."""
    if way == "file over folder":
        desk.repo.remove("dir")
        work = "dir"
    else:
        desk.repo.remove("later")
        work = "later/new"
    desk.init()
    desk.repo.write(work, "work\n")
    desk.implement()
    tree = desk.seat("implementer")["worktree_snapshot"]["commit_tree"]
    assert work in desk.repo.git("ls-tree", "-r", "--name-only", tree).split("\n")


def _delete(repo: GitRepo) -> None:
    repo.remove("later")


def _empty_folder(repo: GitRepo) -> None:
    repo.remove("later")
    repo.at("later").mkdir()


@pytest.mark.parametrize("make", [_delete, _empty_folder])
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flagged_file_may_be_missing(desk: Desk, flag: str, make: Callable[[GitRepo], None]) -> None:
    """git keeps it in the tree, and so do we; a restore to a tree without it takes nothing else with it."""
    desk.init()
    desk.repo.write("later", "staged\n")
    desk.repo.add("later")
    desk.repo.git("update-index", flag, "later")
    make(desk.repo)
    desk.implement()
    assert desk.seat("implementer")["worktree_snapshot"]["tree"] == desk.repo.oracle()
    desk.ok("restore", "--agent", "init")
    desk.ok("restore", "--agent", "saved")


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
def test_restore_does_not_write_over_a_flagged_edit(desk: Desk, flag: str) -> None:
    """No snapshot holds it; it is refused, with the command after which it can be saved."""
    desk.init()
    desk.repo.write("later", "staged\n")
    desk.repo.add("later")
    desk.repo.git("update-index", f"--{flag}", "later")
    desk.repo.write("later", "precious\n")
    desk.implement()
    said = desk.refuses("restore", "--agent", "init")
    assert f"hint: git update-index --no-{flag} later" in said
    assert desk.repo.read("later") == b"precious\n"
    desk.repo.git("update-index", f"--no-{flag}", "later")
    desk.ok("restore", "--agent", "init")
    desk.ok("restore", "--agent", "saved")
    assert desk.repo.read("later") == b"precious\n"


@pytest.mark.parametrize("verb", ["snapshot", "accept"])
def test_a_commit_that_a_context_rests_on_may_be_pruned(desk: Desk, verb: str) -> None:
    """The chain goes on when the commit it began on is gone: its tree is what counts."""
    desk.init()
    desk.implement()
    desk.repo.git("reset", "-q", "--soft", "HEAD~1")
    if verb == "snapshot":
        desk.ok("resolve-drift", "--accept", "--note", "moved")
    desk.repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    desk.repo.git("gc", "-q", "--prune=now")
    if verb == "snapshot":
        desk.ok("snapshot", "--agent", "reviewer")
    else:
        desk.ok("resolve-drift", "--accept", "--note", "moved")


def test_a_commit_may_also_hold_a_volatile_change_of_the_task_file(repo: GitRepo) -> None:
    """Setting the task's status to done, as the last thing before the commit, does not undo what was validated."""
    text = "title: Mend it\nstatus: {}\ndescription: words\nacceptance_criteria:\n  - it works\n"
    repo.write("parser.py", "broken\n")
    repo.write("tasks/TASK-1.task.yaml", text.format("in_progress"))
    repo.commit()
    desk = Desk(repo)
    desk.ok("init", "TASK-1")
    desk.validate()
    repo.write("tasks/TASK-1.task.yaml", text.format("done"))
    desk.ok("verify")
    repo.commit("the task")
    assert "TASK-1 is over" in desk.ok("verify").out
