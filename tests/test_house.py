"""The house: no circle among the modules, and no room that is too large to be known."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter

import grimp
import pytest
from gitrepo import ROOT

SIGNALS = ("HUP", "INT", "QUIT", "TERM")
ROOMS = sorted({path.parent for top in ("git_taskctx", "tests") for path in (ROOT / top).rglob("*.py")})
MOST = 25
LIMITS = "limits.py"
OURS = {
    "agents/prompt.py", "capture/qa/documents.py", "cli/proof.py", "context/guard.py", "git/ahead.py", "git/changes.py",
    "git/fast.py",
    "git/index.py", "git/lines.py", "git/objects.py", "git/patch.py", "git/private.py", "lean.py", "pipeline/bodies.py",
    "report/account.py", "report/page.py", "report/progress.py", "report/syntax.py", "runner/command.py",
    "secrets/memory.py", "handoff/before.py",
}  # fmt: skip
"""Modules with sizes that bound what we write ourselves, or say from where on another way is taken."""


def test_no_circle_among_the_modules() -> None:
    """What a module imports, for a type too, does not lead back to it."""
    graph = grimp.build_graph("git_taskctx", cache_dir=None)
    arrows = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert sum(map(len, arrows.values())) > len(arrows)
    TopologicalSorter(arrows).prepare()


def test_no_room_over_so_many_files() -> None:
    """Whoever opens a folder sees all of it."""
    for room in ROOMS:
        assert len(list(room.glob("*.py"))) <= MOST, room


def test_no_two_test_files_of_one_name() -> None:
    """pytest imports a test file by its name alone, and refuses the second of a name."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_one_module_holds_the_limits_of_what_others_write() -> None:
    """Elsewhere no size from 64 KiB on is written out, and no `limit` or `timeout` is a number."""
    package = ROOT / "git_taskctx"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if _is_limit(node)
    }
    assert found == {LIMITS, *OURS}


def _is_limit(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in ("limit", "timeout", "time_limit") and _value_of(node.value) > 0
    size = _value_of(node) if isinstance(node, ast.BinOp) else 0
    return size >= 64 * 1024 and size % 1024 == 0


def _value_of(node: ast.AST) -> int:
    """Return the value of a product or shift of whole numbers; 0 for any other expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.LShift):
        left, right = _value_of(node.left), _value_of(node.right)
        return left * right if isinstance(node.op, ast.Mult) else left << right
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 0


@pytest.mark.parametrize("name", SIGNALS)
def test_a_program_that_a_test_starts_heeds_a_signal(name: str) -> None:
    """It ends by it, however the suite was started."""
    done = subprocess.run(["sh", "-c", f"kill -{name} $$; echo on"], capture_output=True, check=False)
    assert (done.returncode < 0, done.stdout) == (True, b"")


@pytest.mark.slow
def test_the_suite_may_be_started_with_signals_ignored() -> None:
    """The same holds under `nohup`."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "heeds_a_signal"]
    script = f"trap '' {' '.join(SIGNALS)}; exec {shlex.join(command)}"
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1].split(",")[0]) == (0, "4 passed"), done.stdout
