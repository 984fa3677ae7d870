"""The harness itself: every row is there. No figure is asserted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
ROWS = (
    "verify 50, 20 changes", "verify 50, 20 changes, memory", "snapshot 50, 20 changes",
    "snapshot 50, 20 changes, growth", "snapshot 50, 20 changes, memory", "verify 50, all touched, second call",
    "start 50, 20 changes", "get 50", "agent's hook of a write, 50", "agent's hook of a stop, 50",
    "ledger append, 20 notes", "ledger append, 3 tasks on one base commit",
    "hook pre-commit, 3 past tasks", "hook post-commit, 3 past tasks", "hook post-checkout, 3 past tasks",
    "git taskctx -h",
    "verify A..B, 2 of 8 commits", "verify A..B, 3 of 8 commits", "verify A..B, 3 of 8 commits, each",
    "verify A..B, 4 of 8 commits", "verify A..B, 4 of 8 commits, memory", "verify A..B, 2 of 8 commits, long chains",
    "verify A..B, 3 of 8 commits, long chains", "verify A..B, 4 of 8 commits, long chains",
    "verify A..B, 4 of 8 commits, long chains, each", "verify A..B, 4 of 8 commits, more commits",
)  # fmt: skip


@pytest.mark.parametrize(
    "pattern", ["20 changes|of 8 commits$", pytest.param("", marks=pytest.mark.deep)], ids=["some", "all"]
)
def test_the_table_has_its_rows(tmp_path: Path, pattern: str) -> None:
    """A repository of 50 files and one round give every row that a small repository has, and the raw figures.

    Deep runs have all of them.
    """
    done = subprocess.run(
        [sys.executable, os.fspath(FOLDER), "--sizes=50", "--rounds=1", "--notes=2,20", "--tasks=1,3", "--proofs=2,8",
         "--past=1,3", f"--rows={pattern}", f"--cache={tmp_path / 'cache'}", f"--json={tmp_path / 'figures.json'}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert names[0] == "row"
    rows = [name for name in ROWS if re.search(pattern, name)]
    assert [name for name in rows if name not in names] == []
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {figure["case"] for figure in figures} <= set(ROWS)
    assert all(len(times) == 1 for figure in figures for times in figure["ms"].values())


@pytest.mark.slow
def test_the_engine_is_measured_beside_what_it_replaces() -> None:
    """A few tasks over a small store give both designs, the floor, and the two ratios."""
    argv = [sys.executable, os.fspath(FOLDER), "--engine=20,1", "--rounds=1"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line[:14].strip() for line in lines[1:6]] == ["bare pool", "ours", "ours", "copy per task", "copy per task"]
    assert [line.partition(",")[0] for line in lines[6:]] == ["ours", "copy per task"]


@pytest.mark.deep
def test_pipelines_are_measured() -> None:
    """A few commands and files give every row with its goal; what is not on PATH to compare with is named."""
    argv = [sys.executable, os.fspath(FOLDER), "--pipelines=30,3", "--rounds=1"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [
        "3 commands that do",
        "git taskctx run, 3 ch",
        "15 tasks",
        "the first merge",
        "10 more merges",
        "trees for two",
    ]
    assert [row for row in rows if f"\n{row}" not in done.stdout] == []
    for name in ("doit", "luigi"):
        assert (shutil.which(name) is None) == (f"skipped: rows beside {name}" in done.stderr)
        assert (shutil.which(name) is None) == (f"x {name}" not in done.stdout)
