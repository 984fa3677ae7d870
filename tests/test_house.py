"""The house: no circle among the modules, and no room that is too large to be known."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from gitrepo import ROOT

ROOMS = sorted({path.parent for top in ("git_taskctx", "tests") for path in (ROOT / top).rglob("*.py")})
MOST = 25


def test_no_circle_among_the_modules() -> None:
    """What a module imports, for a type too, does not lead back to it."""
    graph = grimp.build_graph("git_taskctx", cache_dir=None)
    arrows = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert sum(map(len, arrows.values())) > len(arrows)
    TopologicalSorter(arrows).prepare()


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_no_room_over_so_many_files(room: Path) -> None:
    """Whoever opens a folder sees all of it."""
    assert len(list(room.glob("*.py"))) <= MOST
