"""The process that forks answers as a new one would, and leaves to a new one what it cannot answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import warm
from desk import Desk

pytestmark = pytest.mark.needs_linux
NEW = [sys.executable, "-P", "-m", "git_taskctx"]


def forked() -> list[str]:
    """Return the words of a call that cannot start Python itself."""
    return [*warm.command()[:-1], "/nonexistent"]


def answer(desk: Desk, words: list[str], *args: str, cwd: Path, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [*words, *args], cwd=cwd, env=desk.environment(env), input="x", capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_fork_answers_as_a_new_process(begun: Desk) -> None:
    """Code and streams are the same, for answers, refusals and mistakes, and from another folder."""
    begun.repo.write("sub/file", "x\n")
    for line in (
        "status",
        "verify",
        "get --format json",
        "start --agent reviewer",
        "nope",
        "--version",
        "hook pre-commit",
    ):
        for cwd in (begun.repo.path, begun.repo.at("sub")):
            told = answer(begun, forked(), *line.split(), cwd=cwd)
            assert told == answer(begun, NEW, *line.split(), cwd=cwd), line
    assert told[0] == 1


def test_variables_are_those_of_the_caller(begun: Desk, tmp_path: Path) -> None:
    """They are read anew at each call."""
    trace = tmp_path / "trace"
    answer(begun, forked(), "verify", cwd=begun.repo.path, GIT_TASKCTX_TRACE=os.fspath(trace))
    assert "rev-parse" in trace.read_text()
    assert answer(begun, forked(), "hook", "pre-commit", cwd=begun.repo.path, GIT_TASKCTX="0")[0] == 0


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LC_ALL", "LD_PRELOAD"])
def test_what_is_read_at_the_start_takes_a_new_process(begun: Desk, name: str) -> None:
    """No fork answers where such a variable differs."""
    assert "FileNotFoundError" in answer(begun, forked(), "status", cwd=begun.repo.path, **{name: "1"})[2]


def test_a_caller_that_is_killed_ends_nobody_else(begun: Desk) -> None:
    """Whatever it has sent until then, the next call is answered."""
    place = warm.command()[-2]
    for sent in (b"", b"\0", b"\0\0\0\x09abc", b"\0\0\0\x01N"):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(place)
            line.sendall(sent)
    assert answer(begun, forked(), "status", cwd=begun.repo.path)[0] == 0
