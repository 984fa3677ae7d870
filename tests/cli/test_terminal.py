"""Nothing that others wrote is obeyed by a terminal: what it would obey is shown; into a pipe go the bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from desk import Desk

BAD = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f\b\r"
"""Sets the title, wipes the screen, colours by C1, turns the text round, rubs out, goes back."""


def on_terminal(desk: Desk, *args: str) -> bytes:
    """Run a verb with a terminal on all three ends; return what arrived there."""
    ours, theirs = os.openpty()
    subprocess.run(["stty", "raw"], stdin=theirs, check=True)
    with subprocess.Popen(
        [sys.executable, "-m", "git_taskctx", *args],
        cwd=desk.repo.path,
        env=desk.environment({"NO_COLOR": "1", "TERM": "xterm", "GIT_TASKCTX_TRACE": "1"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        data = b""
        while piece := _read(ours):
            data += piece
    os.close(ours)
    return data


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


def obeyed(data: bytes) -> list[str]:
    """Return what a terminal would obey, but for ends of lines and tabs."""
    return [one for one in data.decode("utf-8", "surrogateescape") if not one.isprintable() and one not in "\n\t"]


@pytest.fixture
def hostile(desk: Desk) -> Desk:
    """A task whose files, names, texts, evidence and branch want to be obeyed."""
    desk.repo.write("a\x1b[2Jname", f"{BAD}\n")
    desk.run("init", "TASK-1", "--title", f"a {BAD} title", "--description", BAD, "--actor", f"me{BAD}")
    desk.repo.write("parser.py", f"mended {BAD}\n")
    desk.repo.write("log.txt", f"{BAD}\n1 passed\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", f"me{BAD}")
    desk.run("block", "--agent", "reviewer", "--finding", f"bad {BAD}")
    desk.ok("attach", "log.txt", "--type", "other", "--description", f"d {BAD}")
    return desk


VERBS: Sequence[tuple[str, ...]] = (
    ("diff",), ("diff", "--type", "incremental"), ("diff", "--format", "json"), ("evidence", "show", "E1"),
    ("evidence", "show", "E1", "--format", "json"), ("evidence", "list"), ("get",), ("get", "--format", "md"),
    ("get", "--format", "json"), ("get", "--role", "reviewer", "--format", "md"), ("status",), ("log",),
    ("log", "--format", "json"), ("verify",), ("list",), ("schema", "context"), ("config",),
    ("diff", "--agent", f"no{BAD}"), ("restore", "--agent", "init", "--paths", f"no{BAD}"), (f"no{BAD}",),
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS, ids=[" ".join(verb).encode("ascii", "replace").decode() for verb in VERBS])
def test_a_terminal_is_told_to_do_nothing(hostile: Desk, verb: tuple[str, ...]) -> None:
    """Whatever a verb shows: no escape sequence, no control character, no direction of text."""
    data = on_terminal(hostile, *verb)
    assert data
    assert obeyed(data) == []


def test_what_is_shown_can_be_read(hostile: Desk) -> None:
    """An escape is visible as such, not left out."""
    assert b"+mended \\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e\\x7f\\x08\\x0d" in on_terminal(hostile, "diff")


def test_a_pipe_gets_the_bytes(hostile: Desk) -> None:
    """A diff that is piped applies; nothing in it is changed."""
    done = subprocess.run(
        [sys.executable, "-m", "git_taskctx", "diff"],
        cwd=hostile.repo.path,
        env=hostile.environment(),
        capture_output=True,
        check=True,
    )
    assert f"+mended {BAD}\n".encode() in done.stdout
    assert re.search(rb"\\x1b", done.stdout) is None
