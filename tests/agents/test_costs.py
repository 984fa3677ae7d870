"""What a hook costs, told by what it loads and starts: agents call one at every tool call."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from callers import Hooked
from gitrepo import ROOT

NOT_NEEDED = {"ast", "bz2", "dataclasses", "dis", "gzip", "inspect", "random", "secrets", "tempfile", "tokenize"}
"""Of the standard library: together they take as long to load as all of git's work for a hook."""
if sys.version_info >= (3, 14):
    NOT_NEEDED.remove("ast")  # each typing.NamedTuple loads it there, by way of annotationlib
_LOADED = f"""
import sys
sys.path.insert(0, {os.fspath(ROOT)!r})
from git_taskctx.__main__ import main
code = main(sys.argv[1:])
print(",".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def _modules(hooked: Hooked, path: str, event: str = "PreToolUse") -> set[str]:
    """Return the modules that a hook, of a write to `path`, loads in an interpreter without any packages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LOADED, "agent-hook", event, "--agent", "claude"],
        cwd=hooked.repo.path,
        input=json.dumps({**hooked.write_payload("claude", path), "hook_event_name": event}),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split(","))


def _started(hooked: Hooked, event: str = "PreToolUse") -> list[str]:
    """Return the git commands that a hook starts and waits for, in order."""
    trace = hooked.repo.git_dir() / "trace"
    trace.unlink(missing_ok=True)
    payload = json.dumps(hooked.write_payload("claude", "src/a")).encode()
    hooked.process("agent-hook", event, "--agent", "claude", env={"GIT_TASKCTX_TRACE": os.fspath(trace)}, stdin=payload)
    lines = trace.read_text().splitlines() if trace.exists() else []
    return [line.rsplit("  ", 1)[-1].split()[0] for line in lines]


def test_without_a_task_next_to_nothing_is_loaded(hooked: Hooked) -> None:
    """With no task active a hook has read its payload and looked for two files: no other module, and no git."""
    loaded = _modules(hooked, "src/a")
    assert {name for name in loaded if name.startswith("git_taskctx")} == {
        "git_taskctx",
        "git_taskctx.__main__",
        "git_taskctx.agents",
        "git_taskctx.agents.here",
        "git_taskctx.agents.payload",
        "git_taskctx.agents.tools",
        "git_taskctx.limits",
        "git_taskctx.cli",
        "git_taskctx.cli.agenthook",
        "git_taskctx.errors",
    }
    assert loaded.isdisjoint({"subprocess", "dataclasses", "pathlib", "typing", "inspect"})
    assert _started(hooked) == []


def test_the_off_switch_comes_first(hooked: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    """With GIT_TASKCTX=0 the door is all that is loaded."""
    hooked.begin()
    monkeypatch.setenv("GIT_TASKCTX", "0")
    loaded = {name for name in _modules(hooked, "README") if name.startswith("git_taskctx")}
    assert loaded == {"git_taskctx", "git_taskctx.__main__", "git_taskctx.errors"}


def test_the_standard_library_is_enough(hooked: Hooked) -> None:
    """With a task active, too, a hook needs no package, and nothing of the command line's but its own door."""
    hooked.begin()
    loaded = _modules(hooked, "src/a")
    assert {name for name in loaded if name.startswith("git_taskctx.cli")} == {
        "git_taskctx.cli",
        "git_taskctx.cli.agenthook",
    }
    assert loaded.isdisjoint({"git_taskctx.report.text", "git_taskctx.git.worktree", "git_taskctx.report.overview"})
    assert "git_taskctx.agents.judge" in loaded


def test_the_worktree_is_not_read(hooked: Hooked) -> None:
    """Beside the process that reads objects two are started, and neither looks at files, however many changed."""
    hooked.begin()
    few = _started(hooked)
    for number in range(200):
        hooked.repo.write(f"src/new/{number}", "x")
    assert _started(hooked) == few == ["rev-parse", "for-each-ref"]


def test_nothing_heavy_of_the_standard_library(hooked: Hooked) -> None:
    """Neither a session's begin nor a write nor a stop loads what it has no use for."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    for event in ("SessionStart", "PreToolUse", "Stop"):
        loaded = _modules(hooked, "src/a", event)
        assert loaded.isdisjoint({*NOT_NEEDED, "shutil", "git_taskctx.git.patch", "git_taskctx.report.overview"})


def test_a_session_begins_and_ends_with_few_processes(hooked: Hooked) -> None:
    """The brief costs no more git than a write; a stop reads the worktree once, however many files changed."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    assert _started(hooked, "SessionStart") == ["rev-parse", "for-each-ref"]
    few = sorted(_started(hooked, "Stop"))
    for number in range(50):
        hooked.repo.write(f"src/new/{number}", "x")
    assert sorted(_started(hooked, "Stop")) == few
    assert few == sorted(["rev-parse", "for-each-ref", "config", "ls-files", "status", "check-attr"])


def test_nothing_is_tidied_up(hooked: Hooked) -> None:
    """The process collects no garbage while it loads, and ends as soon as its answer is out, whole."""
    hooked.begin()
    script = (
        "import atexit, gc, sys\n"
        f"sys.path.insert(0, {os.fspath(ROOT)!r})\n"
        "from git_taskctx.__main__ import run\n"
        "gc.callbacks.append(lambda *_: print('collected', file=sys.stderr))\n"
        "atexit.register(print, 'late')\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, "agent-hook", "SessionStart", "--agent", "claude"],
        cwd=hooked.repo.path,
        input=json.dumps(hooked.payload("claude", "SessionStart", source="startup")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert done.stderr == ""
