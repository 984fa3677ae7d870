"""Rewritten commits, tools that put changes aside, and what becomes of a bug."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gated import Gated, broken


def test_notes_go_along_with_a_reworded_commit(validated: Gated) -> None:
    """The tree is the same: what stands on the old commit stands on the new one."""
    validated.repo.add()
    validated.passes("commit", "-q", "-m", "x")
    old = validated.repo.git("notes", "--ref=taskctx", "show", "HEAD")
    validated.passes("commit", "-q", "--amend", "-m", "reworded")
    assert validated.repo.git("notes", "--ref=taskctx", "show", "HEAD") == old


def test_notes_do_not_go_along_to_another_tree(validated: Gated) -> None:
    """A commit with another content is another commit."""
    validated.repo.add()
    validated.passes("commit", "-q", "-m", "x")
    validated.repo.write("parser.py", "sneaked in\n")
    validated.passes("commit", "-q", "-a", "--amend", "-m", "x")
    assert validated.repo.run("notes", "--ref=taskctx", "show", "HEAD").returncode != 0


def test_what_is_no_pair_is_left_alone(validated: Gated) -> None:
    """post-rewrite reads what git writes, and nothing else; objects that are gone do not matter."""
    gone = "1" * 40
    for text in (b"", b"x\n", f"{gone} {gone} extra\n".encode(), b"\xff \xff\n"):
        said = validated.process("hook", "post-rewrite", "rebase", stdin=text)
        assert (said.code, said.both) == (0, "")


PUT_ASIDE = """#!/bin/sh
git diff --binary --no-color >"$GIT_DIR_OF_TEST/aside"
git -c core.hooksPath=/dev/null checkout -q -- .
{mark} git taskctx hook pre-commit; code=$?
{unmark}
[ ! -s "$GIT_DIR_OF_TEST/aside" ] || git apply --whitespace=nowarn "$GIT_DIR_OF_TEST/aside" || exit 99
exit $code
"""


def put_aside(desk: Gated, mark: str, unmark: str = ":") -> dict[str, str]:
    """Make pre-commit a tool that keeps unstaged changes away from its hooks, as pre-commit and lint-staged do."""
    hook = desk.repo.common_dir() / "hooks" / "pre-commit"
    hook.write_text(PUT_ASIDE.format(mark=mark, unmark=unmark))
    return {"GIT_DIR_OF_TEST": os.fspath(desk.repo.git_dir())}


PATCH = 'touch "$GIT_DIR_OF_TEST/{0}";'
STASH = 'git stash store -q -m "{0}" "$(git stash create)";'
AFTER = 'rm "$GIT_DIR_OF_TEST/{0}"; git stash drop -q'


@pytest.mark.parametrize(
    ("mark", "unmark"),
    [
        pytest.param("PRE_COMMIT=1", ":", id="variable"),
        *(
            pytest.param(PATCH.format(file) + STASH.format(name), AFTER.format(file), id=file)
            for file, name in (
                ("lint-staged_unstaged.patch", "lint-staged automatic backup"),
                ("info/lefthook-unstaged.patch", "lefthook auto backup"),
            )
        ),
    ],
)
def test_what_a_tool_puts_aside_is_no_drift(desk: Gated, mark: str, unmark: str) -> None:
    """Dirt from before the task is put away while the gate is asked; the worktree is not as it was left, and passes."""
    desk.repo.write("README", "mine\n")
    desk.init()
    desk.validate()
    env = put_aside(desk, mark, unmark)
    desk.repo.git("add", "parser.py")
    desk.passes("commit", "-q", "-m", "x", env=env)
    assert desk.is_over()
    assert desk.repo.read("README") == b"mine\n"


def test_what_is_staged_otherwise_is_named_there_too(validated: Gated) -> None:
    """The index is judged as ever; nothing is counted as drift."""
    env = put_aside(validated, "PRE_COMMIT=1")
    validated.repo.add()
    blob = validated.repo.git("hash-object", "-w", "--stdin", input="smuggled\n")
    validated.repo.git("update-index", "--cacheinfo", f"100644,{blob},README")
    lines = validated.blocked("commit", "-m", "x", env=env)
    assert lines[:2] == ["error: 1 path differs from validator's snapshot 1", "paths: README"]
    assert validated.records("drift") == []


def test_other_drift_is_drift_there_too(validated: Gated) -> None:
    """What is not put aside, as a new file, has drifted."""
    env = put_aside(validated, "PRE_COMMIT=1")
    validated.repo.add()
    validated.repo.write("stray", "x\n")
    assert "drift since" in validated.blocked("commit", "-m", "x", env=env)[0]
    assert len(validated.records("drift")) == 1


@pytest.mark.parametrize("mark", ["", PATCH.format("lint-staged_unstaged.patch")], ids=["none", "left-behind"])
def test_the_same_without_the_sign_is_drift(desk: Gated, mark: str) -> None:
    """Nobody but a tool that is at it may take away what was there."""
    desk.repo.write("README", "mine\n")
    desk.init()
    desk.validate()
    env = put_aside(desk, mark)
    desk.repo.git("add", "parser.py")
    assert "drift since" in desk.blocked("commit", "-m", "x", env=env)[0]


def test_a_patch_that_leads_nowhere_is_no_bug(validated: Gated) -> None:
    """A link in the place of what a tool writes aside is no sign, and stands in no way of the gate's."""
    info = validated.repo.git_dir() / "info"
    info.mkdir(exist_ok=True)
    (info / "lefthook-unstaged.patch").symlink_to("nowhere")
    validated.repo.write("README", "changed\n")
    assert "drift since" in validated.blocked("commit", "-a", "-m", "x")[0]


@pytest.mark.parametrize("module", ["commits.gate", "ledger.chain", "hooks.bodies", "store"])
def test_a_bug_of_ours_lets_git_go_on(begun: Gated, tmp_path: Path, module: str) -> None:
    """One line, and the commit is made."""
    begun.repo.write("parser.py", "x\n")
    env = broken(tmp_path / "bug", f"git_taskctx.{module}")
    said = begun.repo.run("commit", "-q", "-a", "-m", "x", env=env)
    assert said.returncode == 0, said.stderr
    lines = said.stderr.decode().splitlines()
    expected = "git-taskctx has a bug and lets git go on: RuntimeError: out of order"
    assert set(lines) == {expected}


@pytest.mark.parametrize("where", ["team", "person"])
def test_policy_turns_that_round(desk: Gated, tmp_path: Path, where: str) -> None:
    """`hooks.fail_closed`, by the team or for oneself, stops the commit."""
    if where == "team":
        desk.repo.write(".taskctx.toml", "[hooks]\nfail_closed = true\n")
        desk.repo.commit("policy")
    desk.init()
    if where == "person":
        desk.repo.config("taskctx.hooks.failClosed", "true")
    desk.repo.write("parser.py", "x\n")
    env = broken(tmp_path / "bug", "git_taskctx.commits.gate")
    said = desk.repo.run("commit", "-q", "-a", "-m", "x", env=env)
    assert said.returncode != 0
    assert said.stderr == (
        b"git-taskctx has a bug and stops this commit (hooks.fail_closed): RuntimeError: out of order\n"
    )


@pytest.mark.deep
def test_a_lock_that_is_held_keeps_nothing_from_being_told(begun: Gated) -> None:
    """Drift blocks although another process holds the lock for too long: it is not counted, and that is said."""
    begun.validate()
    begun.repo.write("parser.py", "drift\n")
    lock = begun.repo.at(".agent-output/.context_store.lock")
    holder = f"import fcntl; file = open({os.fspath(lock)!r}, 'r+'); fcntl.flock(file, fcntl.LOCK_EX); input()"
    with subprocess.Popen(
        [sys.executable, "-c", f"{holder}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        while lock_is_free(lock):
            pass
        said = begun.process("hook", "pre-commit")
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.close()
        process.wait()
    assert said.code == 1
    assert "(not counted: the store cannot be written)" in said.err


def lock_is_free(lock: Path) -> bool:
    """Return whether nobody holds the lock."""
    with lock.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_an_unknown_hook_is_a_usage_error(desk: Gated) -> None:
    """With the ones that there are."""
    said = desk.refuses("hook", "pre-comit", code=129)
    assert "there is no hook 'pre-comit', only pre-commit, " in said


@pytest.mark.parametrize("name", ["post-commit", "post-checkout", "post-rewrite", "pre-push"])
def test_outside_of_git_a_hook_does_nothing(begun: Gated, name: str) -> None:
    """Typed by hand, without what git would have handed to it."""
    said = begun.process("hook", name)
    assert (said.code, said.both) == (0, "")
