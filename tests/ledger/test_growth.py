"""What many snapshots cost, and that all of it but the ledger is given back."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from desk import Desk
from gitrepo import GitRepo

FILES, PER_FOLDER, WORKING_SET, CHANGED = 10_000, 50, 200, 20
CONTENT = 400
"""Bytes of a file, as hex of random bytes: what changes cannot be stored in much less than half of it."""
PACK_LIMIT = 50
"""gc.autoPackLimit: at more packs than this git repacks."""


class Size(NamedTuple):
    """What lies in the object store."""

    loose: int
    packs: int
    size: int


@pytest.fixture
def large(tmp_path: Path) -> Desk:
    """Ten thousand files in two hundred folders, committed and packed, with a context begun."""
    repo = GitRepo.init(tmp_path / "large")
    chance = random.Random(1)
    for number in range(FILES):
        repo.write(path_of(number), text_of(chance))
    repo.commit("base")
    repo.git("gc", "-q", "--prune=now")
    desk = Desk(repo)
    desk.init()
    return desk


def path_of(number: int) -> str:
    """Name a file."""
    return f"src/{number // PER_FOLDER:03d}/{number:05d}.txt"


def text_of(chance: random.Random) -> str:
    """Return a file's content."""
    return chance.randbytes(CONTENT // 2).hex() + "\n"


def measure(desk: Desk) -> Size:
    """Count loose objects and packs, and the bytes of all files in the object store."""
    sizes = dict(_files(desk.repo.common_dir() / "objects"))
    return Size(
        loose=sum(len(path.parent.name) == 2 for path in sizes),
        packs=sum(path.suffix == ".pack" for path in sizes),
        size=sum(sizes.values()),
    )


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for top, _, names in os.walk(folder):
        for name in names:
            path = Path(top, name)
            yield path, path.stat().st_size


def take(desk: Desk, count: int) -> list[Size]:
    """Snapshot so many times, each after some files of the working set have changed; measure after each."""
    chance, measured = random.Random(2), []
    for _ in range(count):
        for number in chance.sample(range(0, FILES, FILES // WORKING_SET), CHANGED):
            desk.repo.write(path_of(number), text_of(chance))
        desk.ok("snapshot", "--agent", "implementer", "--wip")
        measured.append(measure(desk))
    return measured


@pytest.mark.deep
def test_a_thousand_snapshots_are_given_back(large: Desk) -> None:
    """Git never has cause to repack for the packs we write, and after sweep and gc only the ledger is left."""
    begun = measure(large)
    sizes = take(large, 1_000)
    large.ok("purge")
    large.ok("sweep", "--ttl", "0")
    large.repo.git("gc", "-q", "--prune=now")
    after, ledger = measure(large), _packed(large, "refs/notes/taskctx")
    assert max(one.packs for one in sizes) < PACK_LIMIT
    assert (after.loose, after.packs) == (0, 1)
    assert after.size <= begun.size + 2 * ledger
    assert large.repo.git("fsck", "--no-dangling", "--no-progress") == ""


@pytest.mark.deep
def test_each_snapshot_costs_what_changed(large: Desk) -> None:
    """As many files, of the same size, change before each: so the fiftieth adds about what the first did."""
    sizes = [measure(large), *take(large, 50)]
    steps = [after.size - before.size for before, after in itertools.pairwise(sizes)]
    assert sum(steps[-5:]) < 1.5 * sum(steps[:5])


def _packed(desk: Desk, ref: str) -> int:
    """Return how many bytes what only `ref` reaches takes in a pack."""
    wanted = desk.repo.git("rev-list", "--objects", "--no-object-names", ref, "--not", "--branches")
    sizes = desk.repo.git("cat-file", "--batch-check=%(objectsize:disk)", input=f"{wanted}\n")
    return sum(map(int, sizes.split()))
