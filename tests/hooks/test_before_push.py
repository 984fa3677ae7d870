"""Before a push: only proved commits leave, where the team asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gated import Gated, broken, put_hooks
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


@pytest.fixture
def elsewhere(desk: Gated, hub: GitRepo, tmp_path: Path) -> Gated:
    """A clone of depth 1, detached, without notes, in which there was a task once; it has the commit of ours."""
    desk.init()
    desk.repo.write("new.py", "new\n")
    desk.validate()
    done = desk.repo.commit("the task")
    desk.repo.git("clone", "-q", "--depth=1", f"file://{hub.path}", str(tmp_path / "elsewhere"))
    clone = Gated(GitRepo(tmp_path / "elsewhere", env=desk.repo.env))
    put_hooks(clone.repo)
    clone.ok("init", "TASK-9", "--title", "another one")
    clone.ok("purge")
    clone.repo.git("update-ref", "-d", "refs/notes/taskctx")
    clone.repo.git("fetch", "-q", str(desk.repo.path), done)
    clone.repo.git("checkout", "-q", "--detach", done, env={"GIT_TASKCTX": "0"})
    clone.repo.config("taskctx.hooks.prePush", "true")
    return clone


def test_the_records_are_fetched(desk: Gated, hub: GitRepo, elsewhere: Gated) -> None:
    """Records that only the remote has prove a push to it, of a merge too, and nothing else; our ledger stays."""
    desk.ok("push", "origin")
    merge = elsewhere.repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD^", "-p", "HEAD", "-m", "merge")
    elsewhere.repo.git("checkout", "-q", "--detach", merge, env={"GIT_TASKCTX": "0"})
    said = elsewhere.passes("push", "-q", "origin", "HEAD:refs/heads/main")
    assert said.err.startswith("taskctx: proved: "), said.err
    assert hub.git("rev-parse", "main") == elsewhere.repo.head()
    assert elsewhere.repo.git("for-each-ref", "refs/notes") == ""
    assert elsewhere.process("verify", "HEAD").out.splitlines()[0] == "commit: unproven"
    elsewhere.ok("fetch", "origin")
    assert elsewhere.process("verify", "HEAD").out.splitlines()[0] == "commit: verified"


def test_what_the_remote_has_not(desk: Gated, hub: GitRepo, elsewhere: Gated) -> None:
    """Where the remote was asked and has no records, nobody is told to ask it again; another remote is named."""
    said = elsewhere.git("push", "-q", "origin", "HEAD:refs/heads/main")
    base, commit = (elsewhere.repo.git("rev-parse", "--short=12", name) for name in ("HEAD^", "HEAD"))
    refused, hint, *_ = said.err.splitlines()
    assert (said.code, refused) == (1, f"error: this push is not proved: {commit} is unproven")
    assert hint == f"hint: git taskctx verify {base}..{commit}"
    assert elsewhere.process(*hint.split()[3:]).code == 3
    elsewhere.repo.git("remote", "add", "fork", f"file://{hub.path}")
    assert "hint: git taskctx fetch origin" in elsewhere.git("push", "-q", "fork", "HEAD:refs/heads/main").err


def test_a_remote_that_does_not_answer(elsewhere: Gated, hub: GitRepo, tmp_path: Path) -> None:
    """Where records cannot be asked for, the hint is the command that says why."""
    line = f"HEAD {elsewhere.repo.head()} refs/heads/main {'0' * 40}\n".encode()
    elsewhere.repo.git("remote", "set-url", "origin", str(tmp_path / "gone"))
    said = elsewhere.process("hook", "pre-push", "origin", str(tmp_path / "gone"), stdin=line)
    assert said.code == 3
    assert said.err.splitlines()[-1] == "hint: git taskctx fetch origin"


def test_a_change_cannot_switch_it_off(desk: Gated, hub: GitRepo) -> None:
    """Whether a push is proved says the policy of what it is added to; the change's own cannot take that back."""
    on, off = "[hooks]\npre_push = true\n", "[hooks]\npre_push = false\n"
    desk.repo.write(".taskctx.toml", on)
    desk.repo.commit("on")
    desk.repo.git("push", "-q", "origin", "main", env={"GIT_TASKCTX": "0"})
    desk.init()
    desk.ok("purge")
    desk.repo.write(".taskctx.toml", off)
    desk.repo.commit("off")
    code, said = push(desk)
    assert code != 0
    assert "error: this push is not proved: " in said


def test_a_bug_stops_a_push_where_policy_says_so(desk: Gated, hub: GitRepo, tmp_path: Path) -> None:
    """`hooks.fail_closed` holds here too, and says what was stopped."""
    desk.repo.config("taskctx.hooks.failClosed", "true")
    done = desk.repo.run("push", "-q", "origin", "main:other", env=broken(tmp_path / "bug", "git_taskctx.hooks.push"))
    assert done.returncode != 0
    assert done.stderr.decode().splitlines()[0] == (
        "git-taskctx has a bug and stops this push (hooks.fail_closed): RuntimeError: out of order"
    )


def test_a_remote_that_hangs_is_waited_for_as_long_as_is_configured(desk: Gated, hub: GitRepo, tmp_path: Path) -> None:
    """The push is stopped as unproved, and says what to fetch; git's own part of the push is not reached."""
    desk.repo.config("taskctx.hooks.prePush", "true")
    desk.repo.config("taskctx.hooks.remoteSeconds", "1")
    desk.repo.write("new.py", "new\n")
    desk.repo.add()
    desk.repo.git("commit", "-q", "-m", "no task")
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 300\n")
    slow.chmod(0o755)
    desk.repo.config("remote.origin.uploadpack", str(slow))
    code, said = push(desk)
    assert code != 0
    assert "error: this push is not proved: " in said
    assert "hint: git taskctx fetch origin" in said
