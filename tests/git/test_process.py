"""Running git: what it is given arrives, however long it takes."""

from __future__ import annotations

import os

import pytest
from gitrepo import GitRepo

from git_taskctx.errors import TryAgain
from git_taskctx.git.process import Git
from git_taskctx.model.values import replace


def test_all_input_arrives_after_patience_is_over(repo: GitRepo) -> None:
    """What git has not read by the time that one looks what it waits for is sent all the same."""
    git = Git(repo.path, dict(os.environ), patience=0.0, time_limit=30.0)
    asked = b"%s\n" % (b"a" * 40) * 40_000
    answered = git.run("cat-file", "--batch-check", stdin=asked).out
    assert answered == b"%s missing\n" % (b"a" * 40) * 40_000


def test_a_git_that_reads_no_input_ends(repo: GitRepo) -> None:
    """Input that nobody reads is no error: the code of git tells."""
    git = Git(repo.path, dict(os.environ))
    assert git.run("rev-parse", "--is-inside-work-tree", stdin=b"x" * 1_000_000).out == b"true\n"


def test_git_is_stuck_only_while_it_does_nothing(repo: GitRepo) -> None:
    """The limit ends what waits, and leaves what works, unless it is a hard one."""
    git = Git(repo.path, dict(os.environ), patience=0.0, time_limit=0.5)
    work = "alias.work=!i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; echo done"
    assert git.with_settings([work]).run("work").out == b"done\n"
    with pytest.raises(TryAgain, match="did not end within"):
        git.with_settings(["alias.wait=!sleep 60"]).run("wait")
    with pytest.raises(TryAgain, match="did not end within"):
        replace(git, hard_limit=True).with_settings(["alias.spin=!while :; do :; done"]).run("spin")
