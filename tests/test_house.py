"""The house: no circle among the modules, and no room that is too large to be known."""

from __future__ import annotations

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
