"""The page of the engine: its examples run as they stand, and it names all that is public."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from gitrepo import ROOT

from git_taskctx import runner

PAGE = (ROOT / "docs" / "runner.md").read_text()
EXAMPLES = re.findall(r"^## (.*?)$|^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
BLOCKS = [(EXAMPLES[index - 1][0] or str(index), code) for index, (_, code) in enumerate(EXAMPLES) if code]
ENGINE = {
    "SharedStore", "ContextReader", "ContextWriter", "WriteCollision", "ExecutionContext", "ContextClosed", "Extension",
    "Stage", "StageResponse", "stage_context", "CommandTask", "task", "DagExecutor", "RunResult",
}  # fmt: skip


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_an_example_runs(title: str, code: str) -> None:
    """By itself, in a process of its own, with warnings as errors; each asserts something."""
    assert "assert " in code, title
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "TMPDIR": os.environ["TMPDIR"]}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, env=env
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_public_names_are_there() -> None:
    """Those that are promised, and nothing that is not exported."""
    assert set(runner.__all__) >= ENGINE
    assert [name for name in runner.__all__ if not hasattr(runner, name)] == []


def test_only_what_is_needed_is_loaded() -> None:
    """A graph of commands runs without asyncio, which takes longer to load than all else."""
    code = (
        "import sys; sys.path.append(sys.argv[2]); from pathlib import Path; import concurrent.futures; "
        "before = set(sys.modules); "  # Python 3.14 loads dataclasses and inspect for it
        "from git_taskctx.runner import CommandTask, DagExecutor; "
        "assert DagExecutor([CommandTask('a', ['true'])], logs=Path(sys.argv[1])).run().ok; "
        "print(*(sys.modules.keys() - before) & {'asyncio', 'tempfile', 'shutil'})"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, os.environ["TMPDIR"], str(ROOT)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
