"""What a process that lives long reads through libgit2 is what git reads; whatever it cannot read is left to git."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from gitrepo import GitRepo

from git_taskctx.agents.libgit import look_inside
from git_taskctx.git.repository import Repository, open_repository

NAMES = ("HEAD^{commit}", "HEAD:a", "HEAD^{tree}", "main", "e" * 40, "", "HEAD", ":(x", "caf\udce9")


@pytest.fixture
def opened(sealed_pygit2: ModuleType) -> Iterator[Callable[[Path], Repository]]:
    """Open a repository; it is closed at the end."""
    found = list[Repository]()

    def make(path: Path) -> Repository:
        found.append(open_repository(path, os.environ))
        return found[-1]

    yield make
    for one in found:
        one.close()


def compare(repo: GitRepo, repository: Repository) -> set[str]:
    """Assert that both read alike what both read, whole and above a limit; return what libgit2 did."""
    look = look_inside(repository.git_dir, repository.git, repository.algorithm)
    if look is None:
        return set()
    every = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    answered = set[str]()
    for name in (*every, *NAMES):
        for limit in (None, 0, 3):
            if (mine := look(name, limit)) is not None:
                assert mine == repository.objects.find(name, limit=limit), (name, limit)
                answered.add(name)
    return answered


def _packed(repo: GitRepo, _: Path) -> Path:
    repo.git("gc", "-q")
    return repo.path


def _linked(repo: GitRepo, place: Path) -> Path:
    repo.git("worktree", "add", "-q", "--detach", os.fspath(place), "HEAD~1")
    return place


def _borrowing(repo: GitRepo, place: Path) -> Path:
    repo.git("clone", "-q", "--shared", os.fspath(repo.path), os.fspath(place))
    return place


def _replaced(repo: GitRepo, _: Path) -> Path:
    repo.git("replace", repo.git("rev-parse", "HEAD:a"), repo.git("rev-parse", "HEAD~1:a"))
    repo.git("replace", repo.git("rev-parse", "HEAD"), repo.git("rev-parse", "HEAD~1"))
    return repo.path


@pytest.mark.parametrize("form", [_packed, _linked, _borrowing, _replaced, lambda repo, _: repo.path])
def test_objects_and_head(
    repo: GitRepo, tmp_path: Path, opened: Callable[[Path], Repository], form: Callable[[GitRepo, Path], Path]
) -> None:
    """Loose, packed, borrowed or replaced, in a linked worktree or on a branch: every object, and HEAD."""
    repo.write("a", "text\n")
    repo.commit()
    repo.write("a", "other\n")
    repo.write("d/b", "x" * 10_000)
    repo.commit()
    repo.git("tag", "-m", "first", "v1")
    place = form(repo, tmp_path / "place")
    answered = compare(repo, opened(place))
    assert answered >= {"HEAD^{commit}", *repo.git("rev-list", "--objects", "--no-object-names", "--all").split()}
    assert not answered & set(NAMES[1:])


def test_what_is_left_to_git(repo: GitRepo, tmp_path: Path, opened: Callable[[Path], Repository]) -> None:
    """An unborn HEAD, what is damaged or has another name than its content, other object folders, sha256, an
    extension.
    """
    repo.write("a", "text\n")
    assert compare(repo, opened(repo.path)) == set()
    repo.commit()
    (blob,) = repo.git("rev-parse", "HEAD:a").split()
    file = repo.at(f".git/objects/{blob[:2]}/{blob[2:]}")
    file.chmod(0o600)
    for content in (b"damage", zlib.compress(b"blob 5\0other")):
        file.write_bytes(content)
        repository = opened(repo.path)
        look = look_inside(repository.git_dir, repository.git, "sha1")
        assert look is not None
        assert look(blob, None) is None
    for name in ("GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
        git = repository.git.with_env(**{name: os.fspath(repo.at(".git"))})
        assert look_inside(repository.git_dir, git, "sha1") is None
    repo.config("core.repositoryFormatVersion", "1")
    repo.config("extensions.partialClone", "origin")
    assert compare(repo, opened(repo.path)) == set()
    other = GitRepo.init(tmp_path / "sha256", "--object-format=sha256")
    assert compare(other, opened(other.path)) == set()
