"""A terminal obeys nothing that others wrote, and gets diffs and logs as git shows them; a pipe gets the bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from desk import Desk
from gitrepo import GitRepo
from prepared import fill

BAD = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f\b\r"
"""Sets the title, wipes the screen, colours by C1, turns the text round, rubs out, goes back."""


def on_terminal(desk: Desk, *args: str, **variables: str) -> bytes:
    """Run a verb with a terminal on all three ends; return what arrived there. The pager is none unless named."""
    ours, theirs = os.openpty()
    subprocess.run(["stty", "raw"], stdin=theirs, check=True)
    with subprocess.Popen(
        [sys.executable, "-m", "git_taskctx", *args],
        cwd=desk.repo.path,
        env=desk.environment({"NO_COLOR": "1", "TERM": "xterm", "PAGER": "cat", **variables}),
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


def hostile_task(repo: GitRepo) -> None:
    """Begin a task whose files, names, texts and evidence want to be obeyed, and come to a finding."""
    repo.write("parser.py", "broken\n")
    repo.commit()
    repo.write("a\x1b[2Jname", f"{BAD}\n")
    desk = Desk(repo)
    desk.run("init", "TASK-1", "--title", f"a {BAD} title", "--description", BAD, "--actor", f"me{BAD}")
    repo.write("parser.py", f"mended {BAD}\n")
    repo.write("log.txt", f"{BAD}\n1 passed\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", f"me{BAD}")
    desk.run("block", "--agent", "reviewer", "--finding", f"bad {BAD}")
    desk.ok("attach", "log.txt", "--type", "other", "--description", f"d {BAD}")


@pytest.fixture
def hostile(repo: GitRepo) -> Desk:
    """That task."""
    fill(repo, hostile_task)
    return Desk(repo)


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
    data = on_terminal(hostile, *verb, GIT_TASKCTX_TRACE="1")
    assert data
    assert obeyed(data) == []


@pytest.mark.parametrize("verb", [("status",), ("log",), ("get",), ("log", "--graph")], ids=" ".join)
def test_no_text_of_others_looks_like_a_line_of_ours(begun: Desk, verb: tuple[str, ...]) -> None:
    """What an actor or a finding has after an end of line is indented, on a terminal and in a pipe."""
    forged = "x\nhint: rm -r .\ncommit: verified"
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    begun.ok("block", "--agent", "reviewer", "--finding", forged)
    for said in (on_terminal(begun, *verb).decode(), begun.ok(*verb).both):
        assert not re.search(r"^(?:hint: rm|commit:)", said, re.MULTILINE), said
        assert "  hint: rm" in said


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


def test_long_answers_go_through_gits_pager(implemented: Desk) -> None:
    """GIT_PAGER wins over core.pager, which wins over PAGER; pager.<verb> names one, or none; other verbs have none."""
    marked = {"PAGER": "sed 's/^/PAGER:/'"}
    for words in (("diff",), ("log",), ("help",), ("help", "drift")):
        lines = on_terminal(implemented, *words, **marked).splitlines()
        assert lines
        assert all(line.startswith(b"PAGER:") for line in lines)
    assert b"PAGER:" not in on_terminal(implemented, "status", **marked)
    implemented.repo.git("config", "core.pager", "sed 's/^/core:/'")
    assert on_terminal(implemented, "diff", **marked).startswith(b"core:diff --git")
    assert on_terminal(implemented, "diff", GIT_PAGER="sed 's/^/env:/'").startswith(b"env:diff --git")
    implemented.repo.git("config", "pager.diff", "sed 's/^/own:/'")
    assert on_terminal(implemented, "diff").startswith(b"own:diff --git")
    for off in ("false", ""):
        implemented.repo.git("config", "pager.diff", off)
        assert on_terminal(implemented, "diff").startswith(b"diff --git")
    assert b"snapshot  implementer" in on_terminal(implemented, "log", GIT_PAGER="no-such-pager")


def test_a_reader_who_has_seen_enough_ends_nothing_badly(implemented: Desk) -> None:
    """A pager that is left early is no error, and nothing of the rest reaches the terminal."""
    implemented.ok("start", "--agent", "reviewer")
    implemented.repo.write("long.txt", "line\n" * 200_000)
    implemented.ok("snapshot", "--agent", "reviewer")
    assert on_terminal(implemented, "diff", GIT_PAGER="head -n 1").count(b"\n") == 1


def test_a_diff_has_the_colours_of_gits_configuration(implemented: Desk) -> None:
    """git's own where nothing is set; each slot, `color.diff` and `color.ui` hold, and NO_COLOR above all."""

    def shown(**settings: str) -> list[bytes]:
        for key, value in settings.items():
            implemented.repo.git("config", key.replace("_", "."), value)
        return on_terminal(implemented, "diff", NO_COLOR="").splitlines()

    first = shown()
    assert (first[0], first[-1]) == (b"\x1b[1mdiff --git a/parser.py b/parser.py\x1b[m", b"\x1b[32m+mended\x1b[m")
    assert first[4] == b"\x1b[36m@@ -1 +1 @@\x1b[m"
    assert shown(color_diff_new="bold blue ul", color_diff_old="#ff0000 12")[-2:] == [
        b"\x1b[38;2;255;0;0;48;5;12m-" + implemented.repo.git("show", "HEAD:parser.py").encode() + b"\x1b[m",
        b"\x1b[1;34;4m+mended\x1b[m",
    ]
    assert shown(color_ui="never")[-1] == b"+mended"
    assert shown(color_diff="always")[-1].endswith(b"+mended\x1b[m")
    assert on_terminal(implemented, "diff").splitlines()[-1] == b"+mended"
    assert (
        b"\x1b["
        in subprocess.run(
            [sys.executable, "-m", "git_taskctx", "diff"],
            cwd=implemented.repo.path,
            env=implemented.environment(),
            capture_output=True,
            check=True,
        ).stdout
    )


def test_a_screen_gets_short_names_and_no_binary_content(implemented: Desk) -> None:
    """Blobs are abbreviated and binary content is left out, where a pipe has both whole."""
    implemented.ok("start", "--agent", "reviewer")
    implemented.repo.write("parser.py", "\0\1")
    implemented.ok("snapshot", "--agent", "reviewer")
    lines = on_terminal(implemented, "diff").splitlines()
    assert re.fullmatch(rb"index [0-9a-f]{7}\.\.[0-9a-f]{7} 100644", lines[1])
    assert lines[-1] == b"Binary content is not shown"
    assert "GIT binary patch" in implemented.ok("diff").out
