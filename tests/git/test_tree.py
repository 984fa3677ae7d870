"""A tree that is changed by path, held against git's own index."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitrepo import GitRepo

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.objects import FOLDER, ObjectStore
from git_taskctx.git.process import Git
from git_taskctx.git.tree import FILE, LINK, PROGRAM, Tree


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """A repository without a commit."""
    return GitRepo.init(tmp_path / "repo")


@pytest.fixture
def objects(repo: GitRepo) -> Iterator[ObjectStore]:
    """Its objects."""
    store = ObjectStore(Git(repo.path, dict(os.environ)), "sha1")
    yield store
    store.close()


@pytest.mark.parametrize("seed", range(3))
def test_any_changes_give_the_tree_that_git_gives(repo: GitRepo, objects: ObjectStore, seed: int) -> None:
    """After puts and removals in a random order the tree is what git's index writes, and its name is known before."""
    rng = random.Random(seed)
    names = [b"a", b"a-b", b"a.b", b"ab", b"\xff", b"n\nl", b'"']
    base: str | None = None
    for _ in range(3):
        tree = Tree(objects, base)
        places = [b"/".join(rng.choices(names, k=rng.randint(1, 4))) for _ in range(12)]
        tree.read_ahead(places)
        for path in places:
            mode, oid = rng.choice([FILE, PROGRAM, LINK]), objects.add_blob(b"%d" % rng.randint(0, 5))
            if rng.random() < 0.4:
                tree.remove(path)
                repo.git("rm", "-rfq", "--cached", "--ignore-unmatch", "--", b":(literal)" + path)
                continue
            try:
                tree.put(path, oid, mode)
            except CouldNotTell:  # a folder that holds something is in the way
                continue
            objects.flush()
            repo.git("update-index", "-z", "--index-info", input=b"%s %s\t%s\0" % (mode.encode(), oid.encode(), path))
        named = tree.name()
        assert named == tree.write() == repo.git("write-tree")
        objects.flush()
        base = named


def test_only_the_folders_on_the_way_are_read(repo: GitRepo, objects: ObjectStore) -> None:
    """What lies beside the way may be missing: its name alone is taken over."""
    blob, missing = objects.add_blob(b"x"), "1" * 40
    base = Tree(objects)
    base.put(b"a/b/c", blob)
    base.put(b"a/other", missing)
    base.put(b"gone", missing, FOLDER)
    oid = base.write()
    tree = Tree(objects, oid)
    tree.put(b"a/b/d", blob)
    tree.remove(b"a/b/d")
    assert tree.write() == oid
    assert tree.find(b"a/other") is not None
    with pytest.raises(CouldNotTell):
        tree.find(b"gone/x")
