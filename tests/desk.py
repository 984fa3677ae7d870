"""A worktree in which agents work with `git taskctx`, and what it said to them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gitrepo import ROOT, GitRepo

from git_taskctx.__main__ import main

if TYPE_CHECKING:
    from following import Follower

TASK = "TASK-1"
_NAMES = (
    (re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"), "<time>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha>"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "<oid>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<context>"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "<oid>"),
)


def plain(text: str) -> str:
    """Return `text` with what differs between two runs taken out: times, oids, ids."""
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return text


@dataclass(frozen=True)
class Said:
    """What a verb left: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        """Everything that was printed."""
        return self.out + self.err

    def document(self) -> dict[str, Any]:
        """Parse stdout, which must be the one JSON document of `--format json`."""
        value = json.loads(self.out)
        assert set(value) == {"success", "data", "error"}
        assert value["success"] is (value["error"] is None)
        return value


def hints_of(said: Said) -> list[str]:
    """Return what a verb said to type, line by line as it is shown."""
    marks = ("hint: ", "next: ", "  or: ", "      git ")
    lines = [line.removesuffix("\n") for line in said.both.splitlines()]
    return [re.sub(r"^(hint|next|  or): +|^ +", "", line) for line in lines if line.startswith(marks)]


class Desk:
    """One worktree, and `git taskctx` run in it: in this process where speed matters, in one of its own elsewhere."""

    follower: ClassVar[Follower | None] = None
    """Types what is shown, in the tests that are about what verbs say."""

    def __init__(self, repo: GitRepo) -> None:
        self.repo = repo

    # Running

    def run(self, *args: str, cwd: Path | None = None, stdin: str = "") -> Said:
        """Run a verb in this process, from the top of the worktree or from `cwd`."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        before = (Path.cwd(), sys.stdin)
        os.chdir(cwd or self.repo.path)
        sys.stdin = io.StringIO(stdin)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    code = main(args)
                except SystemExit as ending:
                    code = int(ending.code or 0)
        finally:
            os.chdir(before[0])
            sys.stdin = before[1]
        texts = [os.fsdecode(stream.buffer.getvalue()) for stream in (out, err)]  # type: ignore[attr-defined]
        return self._checked(Said(code, *texts), args, cwd)

    def process(
        self,
        *args: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        git: bool = False,
    ) -> Said:
        """Run a verb in a process of its own, or git."""
        done = subprocess.run(
            ["git", *args] if git else [sys.executable, "-m", "git_taskctx", *args],
            cwd=cwd or self.repo.path,
            env=self.environment(env),
            input=stdin,
            capture_output=True,
            check=False,
            timeout=120,
            process_group=0,
        )
        said = Said(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))
        return self._checked(said, () if git or stdin or env else args, cwd)

    def typed(self, line: str, *, cwd: Path | None = None) -> Said:
        """Type a line into a shell, as it is shown; an editor that comes up writes a word."""
        env = {**os.environ, **self.repo.env, "GIT_EDITOR": "sh -c 'echo typed >\"$1\"' -"}
        env |= executable(self.repo.path.parent / "programs", env["PATH"])
        done = subprocess.run(
            ["bash", "-c", line], cwd=cwd or self.repo.path, env=env, capture_output=True, check=False, timeout=120
        )
        return self._checked(Said(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr)))

    def typed_here(self, line: str, *, cwd: Path | None = None) -> Said:
        """Type a line; a verb of ours runs in this process, which is the same and faster."""
        words = shlex.split(line, comments=True) if "$" not in line else []
        if words[:2] == ["git", "taskctx"] and "&&" not in words:
            return self.run(*words[2:], cwd=cwd)
        return self.typed(line, cwd=cwd)

    def begin(self, *args: str) -> subprocess.Popen[bytes]:
        """Start a verb, or what begins with `git`, in a process group of its own, and do not wait for it."""
        return subprocess.Popen(
            args if args[0] == "git" else [sys.executable, "-m", "git_taskctx", *args],
            cwd=self.repo.path,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a process that finds the package."""
        return {**os.environ, "PYTHONPATH": os.fspath(ROOT), **self.repo.env, **(more or {})}

    def _checked(self, said: Said, argv: Sequence[str] = (), cwd: Path | None = None) -> Said:
        assert "Traceback" not in said.both, said.both
        assert said.code != 70, said.both
        if argv and self.follower is not None:
            self.follower.follow(self, argv, said, cwd)
        return said

    # What is asked most

    def ok(self, *args: str, **options: Any) -> Said:
        """Run a verb that must end with 0."""
        return self.ends(0, *args, **options)

    def ends(self, code: int, *args: str, **options: Any) -> Said:
        """Run a verb that must end with `code`."""
        said = self.run(*args, **options)
        assert said.code == code, f"{args} ended with {said.code}\n{said.both}"
        return said

    def refuses(self, *args: str, code: int = 1, **options: Any) -> str:
        """Run a verb that must say no with one `error:` and a `hint:`; return what it said."""
        said = self.ends(code, *args, **options)
        assert said.out == "", said.out
        assert said.err.count("error: ") == 1, said.err
        return said.err

    def data(self, *args: str, code: int = 0, **options: Any) -> Any:
        """Run a verb with `--format json` and return its data."""
        return self.ends(code, *args, "--format", "json", **options).document()["data"]

    def init(self, *args: str) -> Said:
        """Begin the task."""
        return self.ok("init", TASK, "--title", "Mend the parser", *args)

    def context(self) -> Any:
        """Return the context as `get` gives it."""
        return self.data("get")

    def seat(self, agent: str) -> Any:
        """Return an agent's place in the context."""
        return self.context()["coordination"][agent]

    def records(self, kind: str | None = None) -> list[Any]:
        """Return the ledger, oldest first; of one kind only when asked."""
        context = self.data("list")[0]
        found = self.data("log", "--task", context["task"], "--context", context["context_id"])
        return [record for record in found if kind in (None, record["type"])]

    def folder(self) -> Path:
        """Return the folder of the task."""
        return self.repo.path / ".agent-output" / "tasks" / TASK

    # The story, told often

    def implement(self, content: str = "mended\n") -> Said:
        """Have the implementer edit and snapshot."""
        self.repo.write("parser.py", content)
        return self.ok("snapshot", "--agent", "implementer")

    def to_reviewer(self) -> None:
        """Come to where the reviewer has the tree and left it as it is."""
        self.implement()
        self.ok("snapshot", "--agent", "reviewer")

    def validate(self) -> None:
        """Come to where every agent approved the tree."""
        self.to_reviewer()
        self.ok("snapshot", "--agent", "validator", "--done")


def executable(folder: Path, others: str | None = None) -> dict[str, str]:
    """Put `git-taskctx` into a folder; return the environment in which `git taskctx` finds it, before all others."""
    folder.mkdir(exist_ok=True)
    script = folder / "git-taskctx"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m git_taskctx "$@"\n')
    script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{others or os.environ['PATH']}", "PYTHONPATH": os.fspath(ROOT)}
