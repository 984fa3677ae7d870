"""A stream that fails changes no answer: what a verb found out is in its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import ROOT, run_taskctx
from tiers import some

COMMAND = [sys.executable, "-m", "git_taskctx"]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.fspath(ROOT)}


def test_full_stderr_leaves_the_answer(implemented: Desk) -> None:
    """Yes stays 0 and no stays 1 where nothing can be written to stderr."""
    for change, code in (("mended\n", 0), ("drift\n", 1)):
        implemented.repo.write("parser.py", change)
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*COMMAND, "verify"],
                cwd=implemented.repo.path,
                env=_environment(),
                stdout=subprocess.PIPE,
                stderr=full,
                check=False,
            )
        assert done.returncode == code


@pytest.mark.parametrize("words", [("verify",), ("log",), ("-h",), ("schema",)], ids=lambda words: words[0])
def test_closed_pipe_is_never_a_no(implemented: Desk, words: tuple[str, ...]) -> None:
    """A reader that went away ends the verb as it ends git's own, with 141; 1 would mean no."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=implemented.repo.path,
        env=_environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr.count(b"Traceback")) == (141, 0)


def test_full_stdout_is_told(implemented: Desk) -> None:
    """An answer that cannot be written is an error of its own, never a yes."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "verify"],
            cwd=implemented.repo.path,
            env=_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 128
    assert done.stderr.startswith(b"error: cannot write the answer: no space left on device")


def test_deleted_folder_is_told(tmp_path: Path) -> None:
    """A current folder that is gone is one error, not a bug."""
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'rmdir ../gone && exec "{sys.executable}" -m git_taskctx status'
    done = subprocess.run(["sh", "-c", script], cwd=gone, env=_environment(), capture_output=True, check=False)
    assert done.returncode == 128
    assert b"error: the current folder is gone\nhint: cd /\n" in done.stderr


def test_reading_runs_no_monitor(implemented: Desk, tmp_path: Path) -> None:
    """A command that the repository's configuration names is not run by a verb that reads."""
    canary = tmp_path / "canary"
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch '{canary}'\n")
    monitor.chmod(0o755)
    implemented.repo.git("config", "core.fsmonitor", os.fspath(monitor))
    for words in (("verify",), ("status",), ("get",), ("fingerprint",), ("snapshot", "--agent", "implementer")):
        assert run_taskctx(*words, cwd=implemented.repo.path)[0] == 0
    assert not canary.exists()


def test_tracing_changes_nothing(implemented: Desk) -> None:
    """A trace that cannot be written is left out."""
    for target in ("/", "/dev/full", "/nonexistent/trace"):
        assert run_taskctx("verify", cwd=implemented.repo.path, env={"GIT_TASKCTX_TRACE": target})[0] == 0


@pytest.mark.parametrize(
    "words", [("help",), ("help", "start"), pytest.param(("demo",), marks=pytest.mark.deep)], ids="-".join
)
def test_talking_verbs_have_a_document_too(implemented: Desk, words: tuple[str, ...]) -> None:
    """`--format json` gives one document on stdout, also for verbs that are made to be read."""
    code, out, _ = run_taskctx("--format", "json", *words, cwd=implemented.repo.path)
    assert code == 0
    assert json.loads(out)["success"] is True


@pytest.mark.parametrize("stream", ["0<&-", "1>&-", "2>&-"])
@pytest.mark.parametrize(
    "words",
    some(
        ("verify", "verify --format json", "log", "report", "-h", "snapshot --agent implementer"),
        ("verify", "snapshot --agent implementer"),
    ),
)
def test_a_closed_stream_changes_no_answer(implemented: Desk, words: str, stream: str) -> None:
    """A stream that is closed from the beginning is as /dev/null, as with git; no file takes its place."""
    shell = f'exec "$0" -m git_taskctx {words} {stream}'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable],
        cwd=implemented.repo.path,
        env=_environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"bug" in done.stderr) == (0, False)


def test_a_name_that_is_too_long_is_the_file_systems_no(implemented: Desk) -> None:
    """What the file system refuses is told as its refusal."""
    place = implemented.repo.at("n" * 300)
    assert (
        run_taskctx("report", "-o", os.fspath(place), cwd=implemented.repo.path)[2]
        == f"error: {place}: file name too long\n"
    )
