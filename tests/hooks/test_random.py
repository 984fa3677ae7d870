"""Random work with the hooks in place: git is as without them, but where the gate says no."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import executable
from tiers import some
from twins import Twins, make_template, play

STEPS = 14
SEEDS = some(range(1, 4), (1, 2))
DEEP = [range(first, first + 12) for first in range(4, 201, 12)]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that all begin with."""
    return tmp_path_factory.mktemp("template") / "repo"


def hold(template: Path, folder: Path, seed: int) -> None:
    """Take the steps of a seed; they must all hold."""
    if not template.exists():
        make_template(template)
    twins = Twins.create(template, folder, executable(folder / "bin"))
    try:
        play(twins, seed, STEPS)
    except Exception as error:
        error.add_note(f"seed {seed}:\n" + "\n".join(twins.told))
        raise


@pytest.mark.parametrize("seed", SEEDS)
def test_git_does_not_notice(template: Path, tmp_path: Path, seed: int) -> None:
    """Exit codes, refs, index and files are as in a repository without us, or with a hook that says no where ours did.

    No hook leaves a traceback, a lock or half a context, and each context is there, over, or can be brought back.
    """
    hold(template, tmp_path, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seeds", DEEP, ids=str)
def test_two_hundred_of_them(template: Path, tmp_path: Path, seeds: range) -> None:
    """The same, for long."""
    for seed in seeds:
        (tmp_path / str(seed)).mkdir()
        hold(template, tmp_path / str(seed), seed)
