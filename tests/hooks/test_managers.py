"""The gate as one of the hooks that a manager runs, while it keeps unstaged changes away from them."""

from __future__ import annotations

import shutil

import pytest
from gated import Gated
from tools import TOOL_PATH

CONFIG = """\
repos:
  - repo: local
    hooks:
      - id: tidy
        name: tidy
        entry: sh -c 'test "$(cat README)" = "broken"'
        language: system
        always_run: true
        pass_filenames: false
      - id: taskctx
        name: taskctx
        entry: git taskctx hook pre-commit
        language: system
        always_run: true
        pass_filenames: false
"""


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param("pre-commit", marks=pytest.mark.needs_precommit),
        pytest.param("prek", marks=pytest.mark.needs_prek),
    ],
)
def test_its_own_stash_is_no_drift(desk: Gated, tool: str) -> None:
    """Dirt from before the task is away while the hooks run: it is not counted, and afterwards it is back.

    What is staged otherwise is named all the same.
    """
    program = shutil.which(tool, path=TOOL_PATH)
    desk.repo.write(".pre-commit-config.yaml", CONFIG)
    desk.repo.write("parser.py", "broken\n")
    desk.repo.commit("config", "--no-verify")
    (desk.repo.common_dir() / "hooks" / "pre-commit").unlink()
    _run(desk, str(program), "install")
    desk.repo.write("README", "mine\n")
    desk.init()
    desk.validate()
    desk.repo.write("parser.py", "smuggled\n")
    desk.repo.add("parser.py")
    said = desk.git("commit", "-m", "x")
    assert said.code != 0
    assert "error: 1 path is not as validator left it (snapshot 1)" in said.both
    assert "paths: parser.py" in said.both
    desk.ok("restore", "--agent", "validator")
    desk.repo.add("parser.py")
    desk.passes("commit", "-q", "-m", "x")
    assert desk.is_over()
    assert desk.records("drift") == []
    assert desk.repo.read("README") == b"mine\n"


def _run(desk: Gated, *argv: str) -> None:
    """Run a program in the worktree, with the environment of its git."""
    alias = "!" + " ".join(f"'{word}'" for word in argv)
    desk.passes("-c", f"alias.run-it={alias}", "run-it")
