"""Payloads that nobody would send in good faith: each is answered in the agent's form, and with 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from callers import AGENTS, EVENTS, Hooked, reason_in
from gitrepo import GitRepo
from tiers import paired

TOLD = "git taskctx: {}, so what it would write is unknown"


UNREADABLE: dict[str, tuple[Callable[[], str], str]] = {
    "broken": (lambda: '{"tool_name": ', "the payload is not JSON that can be read"),
    "deep": (lambda: "[" * 100_000, "the payload is not JSON that can be read"),
    "number": (lambda: '{"a": %s}' % ("1" * 5000), "the payload is not JSON that can be read"),
    "list": (lambda: '["tool_name", "Write"]', "the payload is not a JSON object"),
    "huge": (lambda: '{"a": "%s"}' % ("x" * (33 << 20)), "the payload has more than 32 MiB"),
}


@pytest.mark.parametrize(("agent", "kind"), paired(AGENTS, list(UNREADABLE)))
def test_what_does_not_read(hooked: Hooked, agent: str, kind: str) -> None:
    """Before a tool it is a no, where a task is active; at other events a line on stderr; with no task nothing."""
    make, why = UNREADABLE[kind]
    data = make()
    event = EVENTS[agent]["write"]
    assert hooked.call(agent, event, data) is None
    hooked.begin()
    assert reason_in(hooked.call(agent, event, data)) == TOLD.format(why)
    stop = EVENTS[agent]["stop"]
    assert hooked.call(agent, stop, data, err=f"git-taskctx: {why}\n") is None


def test_paths_that_can_be_none(hooked: Hooked) -> None:
    """A NUL byte, and half of a surrogate pair, are no paths, and are not let through."""
    hooked.begin()
    for path in ("src/a\0README", "src/\ud800"):
        answer = hooked.call("claude", "PreToolUse", hooked.write_payload("claude", path))
        assert reason_in(answer).startswith("git taskctx: ")
        assert reason_in(answer).endswith(", so what it would write is unknown")


@pytest.mark.parametrize(
    "path",
    [
        "src/../README", "./README", "src//..//README", "src/./../README", "{top}/src/../README",
        "{top}/../{name}/README",
        "src/link/../../README", "src/to-readme", "src/to-top/README", "src/loop/../../README",
    ],
)  # fmt: skip
def test_ways_out_of_the_scope(hooked: Hooked, path: str) -> None:
    """Dots and links lead to the file that would be written, whichever way the tool reads them."""
    hooked.repo.symlink("src/link", "..")
    hooked.repo.symlink("src/to-readme", "../README")
    hooked.repo.symlink("src/to-top", str(hooked.repo.path))
    hooked.repo.symlink("src/loop", "loop")
    hooked.begin()
    top = hooked.repo.path
    told = hooked.denied("claude", path.format(top=top, name=top.name))
    assert told is not None
    assert "README: outside the scope of TASK-1" in told


@pytest.mark.parametrize(
    "path",
    [
        ".agent-output/x",
        ".AGENT-output/x",
        "src/../.agent-output/x",
        "src/in/x",
        ".git/taskctx/context",
        ".agent-output",
    ],
)
def test_ways_to_what_is_ours(hooked: Hooked, path: str) -> None:
    """Nothing under .agent-output, and nothing of ours in the git dir, is written by a tool."""
    hooked.repo.symlink("src/in", "../.agent-output")
    hooked.begin()
    told = hooked.denied("gemini", path)
    assert told is not None
    assert told.endswith(": only git taskctx itself writes there\nhint: git taskctx status")


def test_names_reach_nobody_raw(hooked: Hooked) -> None:
    """Control characters are quoted as git quotes them, in a path and in a role."""
    hooked.begin()
    told = hooked.denied("claude", "x\x1b[31m\ny\u202e")
    assert told is not None
    assert told.splitlines()[0] == (
        r'git taskctx: "x\033[31m\ny\342\200\256": outside the scope of TASK-1 (src/, docs/*.md, tasks/)'
    )
    told = hooked.denied("claude", "src/a", options=("--role", "x\x1b[31m"))
    assert told is not None
    assert "\x1b" not in told


def test_fields_of_other_kinds(hooked: Hooked) -> None:
    """Lists where text is due, numbers, nulls and nothing at all: no answer, and no complaint but for a lost path."""
    hooked.begin()
    odd: list[Any] = [None, 7, [], {}, True, ["a"], {"b": 1}]
    lost = "git-taskctx: no path in what Write was given, so its scope is not judged\n"
    for value in odd:
        payload = {"cwd": value, "tool_name": "Write", "tool_input": value, "workspace_roots": value}
        assert hooked.call("claude", "PreToolUse", payload, err=lost) is None
        assert hooked.call("claude", "PreToolUse", {"tool_name": value}) is None
        stop = {"stop_hook_active": value, "loop_count": value, "status": value, "agent_type": value}
        assert hooked.call("claude", "Stop", stop) is None
    assert hooked.call("claude", "PreToolUse", "") is None


def test_many_files_in_one_patch(hooked: Hooked) -> None:
    """A patch of thousands of files is judged by the one that is outside; of more than that none is let through."""
    hooked.begin()
    names = [f"src/{number}" for number in range(2000)]
    assert hooked.denied("codex", *names) is None
    told = hooked.denied("codex", *names, "README")
    assert told is not None
    assert told.startswith("git taskctx: README: outside")
    answer = hooked.call("codex", "PreToolUse", hooked.write_payload("codex", *["src/a"] * 10_001))
    assert reason_in(answer) == TOLD.format("the arguments name more than 10000 files")


def test_what_is_cut_is_not_let_through(hooked: Hooked, tmp_path: Path) -> None:
    """Where not all that would be written can be told, the answer is no: also to who is elsewhere, and names us."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    top = str(hooked.repo.path)
    own = {"file_path": f"{top}/src/a"}
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("MultiEdit", {"edits": [{"file_path": "/zz"}] * 10_000 + [own]}, "the arguments name more than 10000 files"),
        ("Write", {"file_path": f"{top}/{'a/' * 60_000}b"}, "the path has more than 4096 bytes"),
        ("Write", {"file_path": f"{top}/src/a\0b"}, "the path holds a NUL byte"),
    ]
    for tool, given, why in calls:
        payload = hooked.payload("claude", "PreToolUse", tool_name=tool, tool_input=given)
        for cwd in (top, str(tmp_path)):
            data = json.dumps({**payload, "cwd": cwd}).encode()
            said = hooked.process("agent-hook", "PreToolUse", "--agent", "claude", cwd=tmp_path, stdin=data)
            assert reason_in(json.loads(said.out)) == TOLD.format(why)
    odd = hooked.payload("claude", "PreToolUse", cwd="/\ud800", tool_name="Write", tool_input=own)
    said = hooked.process("agent-hook", "PreToolUse", "--agent", "claude", cwd=tmp_path, stdin=json.dumps(odd).encode())
    assert reason_in(json.loads(said.out)) == TOLD.format("the current folder can be no path")


def test_a_long_way_to_a_file(hooked: Hooked) -> None:
    """Dots make a path long, and no other: it is judged as the file that it is."""
    hooked.begin()
    top = str(hooked.repo.path)
    for dots in ("./" * 60_000, "x/../" * 20_000, f"{'x/' * 30_000}{'../' * 30_000}"):
        assert hooked.denied("claude", f"{top}/{dots}src/a") is None
        told = hooked.denied("claude", f"{top}/{dots}README")
        assert told is not None
        assert told.startswith("git taskctx: README: outside")


def test_worktrees(hooked: Hooked, tmp_path: Path) -> None:
    """A file is judged by the worktree that it lies in: not by the one around it, and not by the caller's folder."""
    inner = GitRepo.init(hooked.repo.path / "build" / "inner")
    hooked.begin()
    assert hooked.denied("claude", "build/inner/a") is None
    linked = hooked.repo.path / "build" / "linked"
    hooked.repo.git("worktree", "add", "-q", str(linked))
    assert hooked.denied("claude", f"{linked}/README") is None
    payload = {**hooked.write_payload("claude", str(hooked.repo.path / "README")), "cwd": str(tmp_path)}
    answer = hooked.call("claude", "PreToolUse", payload)
    assert reason_in(answer).startswith("git taskctx: README: outside")
    said = hooked.process(
        "agent-hook", "PreToolUse", "--agent", "claude", cwd=inner.path, stdin=json.dumps(payload).encode()
    )
    assert (said.code, json.loads(said.out)) == (0, answer)


def test_a_submodule_is_a_part_of_its_worktree(hooked: Hooked, tmp_path: Path) -> None:
    """A file of a submodule is judged by the task of the worktree around it."""
    other = GitRepo.init(tmp_path / "other")
    other.write("a", "a\n")
    other.commit()
    hooked.repo.git("submodule", "add", "-q", str(other.path), "lib")
    hooked.begin()
    told = hooked.denied("claude", "lib/a")
    assert told is not None
    assert told.startswith("git taskctx: lib/a: outside")
    linked = hooked.repo.path / "build" / "linked"
    GitRepo(hooked.repo.path / "lib").git("worktree", "add", "-q", str(linked))
    assert hooked.denied("claude", f"{linked}/a") is None


def test_a_context_that_does_not_read(hooked: Hooked) -> None:
    """It denies writes and says how it is mended; a stop is let go, with a line on stderr."""
    hooked.begin()
    (hooked.folder() / "context.json").write_text("{}")
    told = hooked.denied("claude", "src/a")
    assert told == (
        "git taskctx: finding by taskctx: context.json of TASK-1 was edited by hand\nhint: git taskctx recover TASK-1"
    )
    hooked.repo.git("update-ref", "-d", "refs/notes/taskctx")
    told = hooked.denied("claude", "src/a")
    assert told is not None
    assert "hint: git taskctx recover TASK-1" in told
    said = hooked.hook("claude", "Stop", hooked.payload("claude", "Stop", stop_hook_active=False))
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("git-taskctx: agent-hook Stop could not answer: ")


def test_switched_off(hooked: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIT_TASKCTX=0 turns every hook into silence."""
    hooked.begin()
    monkeypatch.setenv("GIT_TASKCTX", "0")
    assert hooked.denied("claude", "README") is None


def test_a_bug_of_ours_stops_nobody(hooked: Hooked) -> None:
    """With the git binary gone the hook says so in the agent's form, or in one line, and ends with 0."""
    hooked.begin()
    payload = json.dumps(hooked.payload("claude", "Stop", stop_hook_active=False)).encode()
    said = hooked.process("agent-hook", "Stop", "--agent", "claude", env={"PATH": "/nonexistent"}, stdin=payload)
    assert (said.code, said.out, said.err.count("\n")) == (0, "", 1)


@pytest.mark.parametrize("shut", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| true"])
def test_streams_that_are_shut(hooked: Hooked, shut: str) -> None:
    """With stdin, stdout or stderr closed, or nobody reading, the hook ends with 0 and no traceback."""
    hooked.begin()
    script = f'echo "$2" | {{ "$1" -m git_taskctx agent-hook PreToolUse --agent claude {shut}; }}'
    script = script if "|" not in shut else f"set -o pipefail; {script}"
    payload = json.dumps(hooked.write_payload("claude", "README"))
    done = subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, payload],
        cwd=hooked.repo.path,
        env=hooked.environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_from_a_folder_that_is_gone(hooked: Hooked, tmp_path: Path) -> None:
    """Where the current folder was deleted the hook ends with 0 all the same."""
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" -m git_taskctx agent-hook Stop --agent claude </dev/null'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), sys.executable],
        env=hooked.environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1


def test_names_that_are_no_utf8(hooked: Hooked) -> None:
    """A name in Latin-1, as JSON writers pass it on, is the file that it is."""
    hooked.repo.write(b"src/caf\xe9", "x")
    hooked.begin()
    assert hooked.denied("claude", os.fsdecode(b"src/caf\xe9")) is None
    told = hooked.denied("claude", os.fsdecode(b"caf\xe9"))
    assert told is not None
    assert told.startswith(r'git taskctx: "caf\351": outside')
