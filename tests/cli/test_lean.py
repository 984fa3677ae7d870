"""The verbs that agents call hundreds of times a day stay lean, however the clock happens to run."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from desk import Desk
from gitrepo import GitRepo, modules_after, run_taskctx
from hypothesis import given
from hypothesis import strategies as st
from prepared import fill

from git_taskctx.agents.prompt import parse

HEAVY = (
    "pydantic",
    "rich",
    "markdown_it",
    "ruamel",
    "detect_secrets",
    "jinja2",
    "asyncio",
    "pygit2",
    "typer",
    "filelock",
)


def snapshotted(repo: GitRepo) -> None:
    """Begin a context whose implementer has left a snapshot."""
    repo.write("a.txt", "one\n")
    repo.commit()
    desk = Desk(repo)
    desk.ok("init", "TASK-1", "--title", "lean")
    repo.write("a.txt", "two\n")
    desk.ok("snapshot", "--agent", "implementer")


@pytest.fixture
def repo(repo: GitRepo) -> GitRepo:
    """A repository with a context whose implementer has left a snapshot."""
    fill(repo, snapshotted)
    return repo


UNADVISED = (
    ("verify",), ("get",), ("fingerprint",), ("hook", "post-commit"),
    ("hook", "post-checkout", "1" * 40, "2" * 40, "0"),
)  # fmt: skip
"""Verbs that have nothing to say here of what comes next."""
MOST = {
    ("verify",): 74, ("get",): 70, ("status",): 88, ("hook", "pre-commit"): 86, ("hook", "post-commit"): 80,
}  # fmt: skip
"""How many of our modules a verb that only reads may enter."""


@pytest.mark.parametrize(
    "words",
    [
        ("-h",),
        ("verify", "-h"),
        ("help", "--all"),
        *UNADVISED,
        ("status",),
        ("get", "--role", "reviewer"),
        ("get", "--role", "reviewer", "--format", "md"),
        ("get", "--tokens"),
        ("start", "--agent", "reviewer"),
        ("snapshot", "--agent", "implementer"),
        ("hook", "pre-commit"),
        ("hook", "post-checkout", "1" * 40, "2" * 40, "1"),
    ],
    ids=" ".join,
)
def test_agents_verbs_load_nothing_heavy(repo: GitRepo, words: tuple[str, ...]) -> None:
    """`sys.modules` after a verb that agents call often holds no heavy library, nor advice where none is given.

    A verb that only reads enters at most so many of our modules, and nothing heavy of Python's library for few bytes.
    """
    code, loaded = modules_after(*words, cwd=repo.path)
    assert loaded.isdisjoint(HEAVY)
    if words in UNADVISED:
        assert code == 0
        assert not any(name.startswith("git_taskctx.report.advice") for name in loaded)
    if words in MOST:
        assert len([name for name in loaded if name.startswith("git_taskctx.")]) <= MOST[words]
        assert loaded.isdisjoint({"hashlib", "shutil", "datetime", "base64", "gzip", "subprocess", "urllib.parse"})


def test_the_line_for_a_prompt_loads_next_to_nothing(repo: GitRepo) -> None:
    """`status --short` runs at every prompt: neither the verbs nor anything that starts git is loaded."""
    code, loaded = modules_after("status", "--short", cwd=repo.path)
    ours = {name for name in loaded if name.startswith("git_taskctx.")}
    assert (code, ours - {"git_taskctx.__main__"}) == (
        0,
        {
            "git_taskctx.agents",
            "git_taskctx.agents.here",
            "git_taskctx.agents.prompt",
            "git_taskctx.errors",
        },
    )
    assert loaded.isdisjoint({"subprocess", "json", "re", "enum", "typing", "pathlib"})


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
)


@given(_JSON, st.booleans(), st.sampled_from((None, 2)))
def test_the_line_for_a_prompt_reads_what_json_reads(value: Any, ascii_only: bool, indent: int | None) -> None:
    """Without the module `json` the same values are read, and no text that is cut short or goes on."""
    text = json.dumps({"state": value}, ensure_ascii=ascii_only, indent=indent)
    assert parse(f"{text}\n".encode()) == {"state": value}
    for wrong in (text[:-1], text + "}", ""):
        with pytest.raises((ValueError, StopIteration)):
            parse(wrong.encode())


def _processes(repo: GitRepo, *words: str) -> list[str]:
    """Return the git processes that a verb starts, as the trace names them."""
    trace = repo.path.parent / "trace"
    trace.unlink(missing_ok=True)
    run_taskctx(*words, cwd=repo.path, env={"GIT_TASKCTX_TRACE": os.fspath(trace)})
    return [line.split("  ", 2)[-1] for line in trace.read_text().splitlines()]


@pytest.mark.parametrize("words", [("verify",), ("snapshot", "--agent", "implementer")], ids=lambda words: words[0])
def test_number_of_git_processes_does_not_grow_with_the_work(repo: GitRepo, words: tuple[str, ...]) -> None:
    """As many git processes for four hundred changed, new and deleted files as for two hundred; two for the pack."""
    for number in range(200):
        repo.write(f"many/{number}.txt", f"{number}\n")
    repo.commit("many")
    run_taskctx("snapshot", "--agent", "implementer", cwd=repo.path)
    repo.write("a.txt", "three\n")
    few = _processes(repo, *words)
    counts = []
    for numbers in (range(100), range(100, 200)):
        run_taskctx("resolve-drift", "--accept", "--note", "again", cwd=repo.path)
        for number in numbers:
            repo.write(f"new/{number}.txt", f"{number}\n")
            repo.write(f"newer/{number}.txt", f"{number}\n")
            if number % 2:
                repo.write(f"many/{number}.txt", "changed\n")
            else:
                repo.remove(f"many/{number}.txt")
        (repo.git_dir() / "taskctx/read").unlink(missing_ok=True)  # one more looks for the blobs remembered there
        counts.append(len(_processes(repo, *words)))
    assert counts[0] == counts[1] <= len(few) + 2


@pytest.fixture
def git_calls(tmp_path: Path) -> Path:
    """A folder whose `git` writes every call down, with the variables that say where objects and the index are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(
        f"""#!/bin/sh
printf '%s\\0' "$GIT_DIR" "$GIT_OBJECT_DIRECTORY" "$GIT_INDEX_FILE" "$@" END >>'{folder / "calls"}'
exec '{shutil.which("git")}' "$@"
"""
    )
    script.chmod(0o755)
    return folder


def _command(words: list[str]) -> str:
    """Return which of git's commands a command line runs."""
    settings = {at + 1 for at, word in enumerate(words) if word in ("-c", "-C")}
    return next(word for at, word in enumerate(words) if at not in settings and not word.startswith("-"))


EVERY = {"rev-parse": 1, "config": 1, "for-each-ref": 1, "cat-file": 1}
"""What finds the repository, reads its settings and the context."""
READ = {"status": 1, "check-attr": 1}
"""What reads the worktree beside that."""
WRITE = {"unpack-objects": 1, "update-ref": 1}
"""What puts something on record."""


@pytest.mark.parametrize(
    ("words", "commands"),
    [
        (("get",), EVERY),
        (("get", "--role", "reviewer", "--format", "md"), EVERY),
        (("log",), EVERY),
        (("diff",), EVERY),
        (("verify",), EVERY | READ),
        (("status",), EVERY | READ | {"symbolic-ref": 1}),
        (("start", "--agent", "reviewer"), EVERY | READ | WRITE),
        # New objects are in quarantine, and read by a process of their own.
        (
            ("snapshot", "--agent", "implementer"),
            EVERY | READ | WRITE | {"diff-tree": 2, "unpack-objects": 2, "cat-file": 2},
        ),
        (("block", "--agent", "reviewer", "--finding", "x"), EVERY | WRITE),
        (("hook", "pre-commit"), EVERY | READ | {"diff-index": 1}),
        (("hook", "post-commit"), EVERY),
        (("hook", "post-checkout", "1" * 40, "2" * 40, "0"), {"rev-parse": 1, "config": 1}),
    ],
    ids=lambda words: " ".join(words[:2]) if isinstance(words, tuple) else "",
)
def test_the_git_commands_of_a_verb(
    repo: GitRepo, git_calls: Path, words: tuple[str, ...], commands: dict[str, int]
) -> None:
    """Each everyday verb runs just these git commands, and none of them twice over."""
    path = f"{git_calls}{os.pathsep}{os.environ['PATH']}"
    run_taskctx(*words, cwd=repo.path, env={"PATH": path})
    calls = (git_calls / "calls").read_text().split("\0END\0")[:-1]
    assert Counter(_command(call.split("\0")[3:]) for call in calls) == commands
    assert len(set(calls)) == len(calls)


def test_missing_files_under_a_flag_take_no_process_each(repo: GitRepo) -> None:
    """A snapshot asks git once about all files that a flag lets be missing."""
    names = [f"flagged/{number}" for number in range(20)]
    for name in names:
        repo.write(name, "x")
    repo.add()
    counts = []
    for some in (names[:1], names):
        repo.git("update-index", "--assume-unchanged", *some)
        for name in some:
            repo.at(name).unlink(missing_ok=True)
        counts.append(len(_processes(repo, "snapshot", "--agent", "implementer")))
    assert counts[1] <= counts[0]


def test_the_off_switch_comes_before_everything(repo: GitRepo) -> None:
    """With GIT_TASKCTX=0 a hook loads the door, and nothing behind it."""
    code, loaded = modules_after("hook", "pre-commit", cwd=repo.path, env={"GIT_TASKCTX": "0"})
    assert code == 0
    assert {name for name in loaded if name.startswith("git_taskctx")} == {
        "git_taskctx", "git_taskctx.__main__", "git_taskctx.errors",
    }  # fmt: skip
