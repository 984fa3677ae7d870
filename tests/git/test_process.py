"""Running git: what it is given arrives, however long it takes."""

from __future__ import annotations

import os

from gitrepo import GitRepo

from git_taskctx.git.process import Git


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
