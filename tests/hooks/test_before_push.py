"""Before a push: only proved commits leave, where the team asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gated import Gated, broken
from gitrepo import GitRepo


@pytest.fixture
def hub(desk: Gated, tmp_path: Path) -> GitRepo:
    """A bare repository that has the base."""
    bare = GitRepo.init(tmp_path / "hub.git", "--bare")
    desk.repo.git("remote", "add", "origin", str(bare.path))
    desk.repo.git("push", "-q", "origin", "main", env={"GIT_TASKCTX": "0"})
    return bare


def push(desk: Gated) -> tuple[int, str]:
    """Push the branch; return how it ended, and what was said."""
    done = desk.repo.run("push", "-q", "origin", "main")
    return done.returncode, done.stderr.decode()


def test_what_is_proved_may_leave(desk: Gated, hub: GitRepo) -> None:
    """The validated commit is proved, and pushed."""
    desk.repo.config("taskctx.hooks.prePush", "true")
    desk.init()
    desk.repo.write("new.py", "new\n")
    desk.validate()
    desk.repo.add()
    desk.repo.git("commit", "-q", "-m", "the task")
    code, said = push(desk)
    assert code == 0, said
    assert "taskctx: proved: " in said
    assert hub.git("rev-parse", "main") == desk.repo.git("rev-parse", "HEAD")


@pytest.mark.parametrize("setting", ["true", "false"])
def test_what_nothing_proves_stays(desk: Gated, hub: GitRepo, setting: str) -> None:
    """A commit without a task stops the push, where that is asked for; GIT_TASKCTX=0 lets it go."""
    desk.repo.config("taskctx.hooks.prePush", setting)
    desk.repo.write("new.py", "new\n")
    desk.repo.add()
    desk.repo.git("commit", "-q", "-m", "no task")
    code, said = push(desk)
    assert (code == 0) == (setting == "false")
    assert ("error: this push is not proved: " in said) == (setting == "true")
    desk.repo.git("push", "-q", "origin", "main", env={"GIT_TASKCTX": "0"})
    assert hub.git("rev-parse", "main") == desk.repo.git("rev-parse", "HEAD")


def test_a_bug_stops_a_push_where_policy_says_so(desk: Gated, hub: GitRepo, tmp_path: Path) -> None:
    """`hooks.fail_closed` holds here too, and says what was stopped."""
    desk.repo.config("taskctx.hooks.failClosed", "true")
    done = desk.repo.run("push", "-q", "origin", "main:other", env=broken(tmp_path / "bug", "git_taskctx.hooks.push"))
    assert done.returncode != 0
    assert done.stderr.decode().splitlines()[0] == (
        "git-taskctx has a bug and stops this push (hooks.fail_closed): RuntimeError: out of order"
    )
