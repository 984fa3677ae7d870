"""The corpus: task files as people write them, each with the block that it becomes, or the report that it gets.

A file is called `ID--what-it-is.ext`, and beside it lies what is expected of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from gitrepo import ROOT, GitRepo
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.capture.taskfile import read_task_file
from git_taskctx.context.gather import Ground, capture_file
from git_taskctx.errors import BadData, TaskctxError
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.model.codec import to_plain
from git_taskctx.model.policy import Policy
from git_taskctx.report.advice import advise

CORPUS = ROOT / "tests" / "capture" / "corpus"


def captured(path: Path, reading: Reading) -> str:
    """Return the immutable block and the warnings, or the report, as a text."""
    task, _, name = path.name.partition("--")
    ground = Ground(Policy(), None, reading)
    try:
        found = capture_file(
            f"tasks/{name}", path.read_bytes(), ground, task=task, any_status=False, again=("init", task)
        )
    except TaskctxError as error:
        return f"exit {error.exit_code}\nerror: {error.message}\nhint: {advise(error).hint}\n"
    block = {"immutable": to_plain(found.immutable), "warnings": list(found.warnings)}
    return json.dumps(block, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("folder", ["good", "odd", "broken"])
def test_corpus(folder: str, repo: GitRepo) -> None:
    """Every file of the corpus becomes exactly the block, or gets exactly the report, that lies beside it."""
    for path in ("src/app/main.py", "src/app/view.ts", "docs/guide.md", "README.md"):
        repo.write(path, "x\n")
    repo.commit("base")
    files = sorted(path for path in (CORPUS / folder).iterdir() if not path.name.endswith(".expected"))
    repository = open_repository(repo.path, {})
    try:
        with read_worktree(repository, keep=False) as reading:
            told = {path.name: captured(path, reading) for path in files}
    finally:
        repository.close()
    assert told == {path.name: path.with_name(f"{path.name}.expected").read_text() for path in files}


FILES = sorted(path for path in CORPUS.rglob("*--*") if not path.name.endswith(".expected"))
PIECES = [
    b"",
    b" ",
    b"  ",
    b"\t",
    b"\n",
    b"- ",
    b": ",
    b"'",
    b'"',
    b"[",
    b"{",
    b"}",
    b"|",
    b"&a ",
    b"*a",
    b"---\n",
    b"#",
    b"\xff",
    b"\xef\xbf\xbf",
    b"\\UFFFFFFFF",
]


@given(st.sampled_from(FILES), st.lists(st.tuples(st.integers(0, 400), st.sampled_from(PIECES), st.integers(0, 3))))
def test_any_file(path: Path, edits: list[tuple[int, bytes, int]]) -> None:
    """Whatever a file holds, it is read, or told what is wrong with it and where; nothing else is ever raised."""
    task, _, name = path.name.partition("--")
    data = path.read_bytes()[:2000]
    for at, piece, length in edits:
        data = data[:at] + piece + data[at + length :]
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    try:
        read_task_file(data, name=name, task=task)
    except BadData as error:
        for report in error.message.splitlines()[:50]:
            place = re.match(rf"{re.escape(name)}:(\d+):(\d+): \S", report)
            assert place, report
            assert 1 <= int(place[1]) <= len(lines), report


def test_size_of_the_corpus() -> None:
    """The corpus holds at least forty files, good, odd and broken ones."""
    counts = [len(list((CORPUS / folder).glob("*.expected"))) for folder in ("good", "odd", "broken")]
    assert min(counts) >= 10
    assert sum(counts) >= 40
