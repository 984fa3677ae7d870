"""Objects read and written through git's own doors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from gitrepo import GitRepo

from git_taskctx.errors import CouldNotTell, TaskctxError
from git_taskctx.git.objects import ObjectStore, TreeEntry
from git_taskctx.git.process import Git


@pytest.fixture(params=["sha1", "sha256"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[GitRepo, ObjectStore]]:
    """An object store of each kind."""
    repo = GitRepo.init(tmp_path / "work", f"--object-format={request.param}")
    objects = ObjectStore(Git(repo.path, dict(os.environ)), request.param)
    yield repo, objects
    objects.close()


CONTENTS = [b"", b"x", b"text\n", b"\0\xff" * 10, b"y" * 15, b"z" * 16, b"w" * 2047, b"v" * 2048, os.urandom(300_000)]


def test_names_are_those_of_git(store: tuple[GitRepo, ObjectStore]) -> None:
    """An object's name is what `git hash-object` says."""
    repo, objects = store
    for data in CONTENTS:
        assert objects.add_blob(data) == repo.git("hash-object", "--stdin", input=data)
    assert objects.empty_tree == repo.git("hash-object", "-t", "tree", "/dev/null")


def test_written_objects_are_read_by_git(store: tuple[GitRepo, ObjectStore]) -> None:
    """What was flushed is there for git, whole and sound."""
    repo, objects = store
    oids = [objects.add_blob(data) for data in CONTENTS]
    tree = objects.add_tree([TreeEntry("100644", b"%d" % number, oid) for number, oid in enumerate(oids)])
    commit = objects.add("commit", f"tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n".encode())
    objects.flush()
    for oid, data in zip(oids, CONTENTS, strict=True):
        assert repo.run("cat-file", "blob", oid).stdout == data
    assert repo.tree(commit) == tree
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_nothing_is_written_before_the_flush(store: tuple[GitRepo, ObjectStore]) -> None:
    """Objects that were taken can be read back by us; git sees them after the flush only."""
    repo, objects = store
    oid = objects.add_blob(b"x")
    assert objects.get(oid, "blob") == b"x"
    assert repo.run("cat-file", "-e", oid).returncode != 0
    objects.flush()
    assert repo.run("cat-file", "-e", oid).returncode == 0
    assert objects.get(oid, "blob") == b"x"


def test_flushing_nothing(store: tuple[GitRepo, ObjectStore]) -> None:
    """Nothing to write is nothing to do."""
    repo, objects = store
    objects.flush()
    assert repo.git("count-objects").startswith("0 objects")


def test_trees_are_sorted_as_git_sorts(store: tuple[GitRepo, ObjectStore]) -> None:
    """A folder sorts as if its name ended in a slash; `git mktree` agrees."""
    repo, objects = store
    blob, empty = objects.add_blob(b"x"), objects.add("tree", b"")
    names = [b"a", b"a.b", b"a-b", b"a0", b"ab", "é".encode(), b"\xff", b"A", b"sp ace"]
    entries = [TreeEntry("100644", name + b"f", blob) for name in names]
    entries += [TreeEntry("40000", name, empty) for name in names]
    entries += [TreeEntry("120000", b"link", blob), TreeEntry("100755", b"run", blob)]
    tree = objects.add_tree(entries)
    objects.flush()
    lines = [
        b"%06d %s %s\t%s\0" % (int(e.mode), b"tree" if e.mode == "40000" else b"blob", e.oid.encode(), e.name)
        for e in entries
    ]
    assert tree == repo.git("mktree", "-z", input=b"".join(lines))
    assert sorted(objects.read_tree(tree), key=repr) == sorted(entries, key=repr)
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_names_that_mean_more_than_an_oid(store: tuple[GitRepo, ObjectStore]) -> None:
    """`REV:path` names what git takes it for; what is missing is None."""
    repo, objects = store
    repo.write("d/a b", "x")
    repo.write("d/é", "y")
    repo.commit()
    assert objects.find("HEAD:d/a b").data == b"x"  # type: ignore[union-attr]
    assert objects.find("HEAD:d/é").data == b"y"  # type: ignore[union-attr]
    assert objects.find("HEAD:d").kind == "tree"  # type: ignore[union-attr]
    for name in ("HEAD:none", "none", "HEAD:d/a", "1" * 40, "1" * 64, "", " ", "HEAD:x missing", "a\nb", "--batch"):
        assert objects.find(name) is None
    assert objects.find("HEAD:d/é").data == b"y"  # type: ignore[union-attr]


def test_the_empty_tree_is_always_there(store: tuple[GitRepo, ObjectStore]) -> None:
    """The empty tree can be read where nobody wrote it."""
    _, objects = store
    assert objects.read_tree(objects.empty_tree) == []


def test_wrong_kind_and_missing_are_told(store: tuple[GitRepo, ObjectStore]) -> None:
    """An object of another kind, or none, is `could not tell`."""
    _, objects = store
    blob = objects.add_blob(b"x")
    with pytest.raises(CouldNotTell, match=f"{blob} is not a tree, but a blob"):
        objects.get(blob, "tree")
    with pytest.raises(CouldNotTell):
        objects.get(objects.zero, "blob")


def test_corrupt_object_is_told(store: tuple[GitRepo, ObjectStore]) -> None:
    """A damaged object is an error in one line, and the next one can be read."""
    repo, objects = store
    bad, good = objects.add_blob(b"bad"), objects.add_blob(b"good")
    objects.flush()
    file = repo.path / ".git/objects" / bad[:2] / bad[2:]
    file.chmod(0o644)
    file.write_bytes(b"rubbish")
    with pytest.raises(TaskctxError) as caught:
        objects.get(bad, "blob")
    assert caught.value.message.isprintable()
    assert objects.get(good, "blob") == b"good"


def test_truncated_object_is_told(store: tuple[GitRepo, ObjectStore]) -> None:
    """So is one that was cut, whatever of it git had already printed."""
    repo, objects = store
    bad = objects.add_blob(os.urandom(100_000))
    objects.flush()
    file = repo.path / ".git/objects" / bad[:2] / bad[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:50_000])
    with pytest.raises(TaskctxError):
        objects.get(bad, "blob")


def test_replaced_objects_are_not_followed(repo: GitRepo) -> None:
    """An oid is its own content, whatever refs/replace says."""
    repo.write("a", "real")
    repo.commit()
    oid = repo.git("rev-parse", "HEAD:a")
    repo.git("replace", oid, repo.git("hash-object", "-w", "--stdin", input="fake"))
    objects = ObjectStore(Git(repo.path, dict(os.environ)), "sha1")
    assert objects.get(oid, "blob") == b"real"
    objects.close()


def test_read_by_pygit2(repo: GitRepo, sealed_pygit2: ModuleType) -> None:
    """Another implementation reads what we write."""
    objects = ObjectStore(Git(repo.path, dict(os.environ)), "sha1")
    tree = objects.add_tree([TreeEntry("100644", b"a", objects.add_blob(b"x"))])
    objects.flush()
    objects.close()
    other = sealed_pygit2.Repository(os.fspath(repo.path))
    assert other[tree]["a"].data == b"x"


def test_many_objects_take_few_processes(repo: GitRepo, tmp_path: Path) -> None:
    """A handful of objects takes one git to write and one to read them, and however many there are, one more."""
    log = tmp_path / "log"
    environ = {**os.environ, **counting(tmp_path, log)}
    for count, processes in ((1, 2), (100, 2), (300, 3), (900, 3)):
        log.write_text("")
        objects = ObjectStore(Git(repo.path, environ), "sha1")
        oids = [objects.add_blob(b"%d of %d" % (number, count)) for number in range(count)]
        objects.flush()
        assert all(objects.find(oid) for oid in oids)
        objects.close()
        assert len(log.read_text().splitlines()) == processes


def test_many_new_objects_are_one_pack(repo: GitRepo) -> None:
    """Many objects make one pack of those that were nowhere yet; the others are made young again."""
    objects = ObjectStore(Git(repo.path, dict(os.environ)), "sha1")
    old = objects.add_blob(b"old")
    objects.flush()
    place = repo.path / ".git/objects" / old[:2] / old[2:]
    os.utime(place, (1_000_000_000, 1_000_000_000))
    oids = [objects.add_blob(b"%d" % number) for number in range(300)]
    objects.add_blob(b"old")
    objects.flush()
    objects.close()
    (pack,) = (repo.path / ".git/objects/pack").glob("*.idx")
    packed = repo.git("show-index", input=pack.read_bytes())
    assert sorted(line.split()[1] for line in packed.splitlines()) == sorted(oids)
    assert place.stat().st_mtime > 1_000_000_000
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def counting(folder: Path, log: Path) -> dict[str, str]:
    """Put a git on PATH that writes a line for each call."""
    import shutil

    real = shutil.which("git")
    (folder / "bin").mkdir()
    script = folder / "bin/git"
    script.write_text(f'#!/bin/sh\necho call >>"{log}"\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def test_store_that_cannot_be_written(repo: GitRepo) -> None:
    """A store that takes no objects is told in one line."""
    objects = ObjectStore(Git(repo.path, {**os.environ, "GIT_OBJECT_DIRECTORY": "/proc/nowhere"}), "sha1")
    objects.add_blob(b"x")
    with pytest.raises(TaskctxError) as caught:
        objects.flush()
    assert caught.value.message.isprintable()
    objects.close()
