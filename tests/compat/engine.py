"""The one property of all engine tests: our tree is git's, or we refuse where git does; and nobody else is touched."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRefused, GitRepo
from tiers import sample

from git_taskctx.agents.here import find_worktree
from git_taskctx.errors import TaskctxError
from git_taskctx.git import ahead
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

MODES = ({"keep": False}, {"keep": True}, {"keep": False, "cold": True}, {"keep": False, "exact": True})
FATAL = 128
PLACES = ("--show-toplevel", "--git-common-dir", "--git-dir", "--git-path index", "--git-path objects")
Build = Callable[[GitRepo], object]


@dataclass(frozen=True)
class Case:
    """One repository, and which engine must read it."""

    build: Build
    declines: str | None
    """Why the fast engine must decline, as a pattern; empty where it must not; None where it may."""

    def __call__(self, repo: GitRepo) -> None:
        """Build it."""
        self.build(repo)


class Cases(list[Case]):
    """A table of small functions that each build one repository."""

    def __call__(self, build: Build) -> Build:
        """Add a function to the table, as its decorator; either engine may read it."""
        return self._add(build, None)

    def fast(self, build: Build) -> Build:
        """Add a function whose repository the fast engine must read itself."""
        return self._add(build, "")

    def declined(self, reason: str) -> Callable[[Build], Build]:
        """Add a function whose repository the fast engine must leave to the exact one, saying `reason`."""
        return lambda build: self._add(build, reason)

    def _add(self, build: Build, declines: str | None) -> Build:
        self.append(Case(build, declines))
        return build

    @property
    def table(self) -> pytest.MarkDecorator:
        """The mark that runs a test once for each function."""
        return pytest.mark.parametrize("build", self, ids=[case.build.__name__ for case in self])


@dataclass(frozen=True)
class Witness:
    """All that reading a worktree must leave as it was, and the objects, of which there may be more."""

    kept: dict[str, object]
    """Every file and folder by path, refs among them, down to times and inodes."""
    objects: dict[Path, int]
    """The files of every object store, with their sizes."""


def write_home(path: str, text: str) -> Path:
    """Write a file of the user's own, outside the repository."""
    place = Path(os.environ["HOME"], path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def read_ahead(
    repo: GitRepo,
    cwd: Path | None = None,
    between: Callable[[], object] | None = None,
    *,
    racy: int = -(10**18),
) -> tuple[str, bool]:
    """Return the tree that we read where git's status was begun before, and whether that was taken.

    `between` is done after that. Nobody writes the index twice within a tick of the clock here, so that one of any age
    is taken, but for what `racy` says in nanoseconds.
    """
    folder, environ = os.path.realpath(cwd or repo.path), {**os.environ, **repo.env}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "RACY", racy)
        ahead.begin(folder, environ, find_worktree(folder), scan=os.fspath(repo.path.parent / "mark"))
    try:
        begun = _waits_for_status()
        if between is not None:
            between()
        return read(repo, cwd=cwd), begun and not _waits_for_status()
    finally:
        ahead.end()


def _waits_for_status() -> bool:
    """Return whether a status was started and not used."""
    return any(begun.index is not None for begun in ahead._begun)


def read(repo: GitRepo, *, keep: bool = False, cold: bool = False, exact: bool = False, cwd: Path | None = None) -> str:
    """Return the tree that we read, as a verb would from `cwd`."""
    repository = open_repository(cwd or repo.path, {**os.environ, **repo.env})
    try:
        with read_worktree(repository, keep=keep, cold=cold, exact=exact) as reading:
            return reading.tree
    finally:
        repository.close()


def agree(repo: GitRepo, *, cwd: Path | None = None, declines: str | None = None) -> str:
    """Hold that every way of reading gives git's tree, touches nothing, and leaves objects only when told to.

    `declines` is what `Case.declines` says. Beside the two ways in which verbs read, the usual tier takes one other.
    """
    places = repo.places(*PLACES)
    before = witness(repo, places)
    fast, reason = _read_traced(repo, cwd)
    for hold in sample((_hold_cold, _hold_exact, _hold_remembered, _hold_ahead)):
        hold(repo, cwd, fast)
    assert witness(repo, places) == before
    kept, again = _read_traced(repo, cwd, keep=True)
    after = witness(repo, places)
    assert _differences(before.kept, after.kept) == []
    assert before.objects.items() <= after.objects.items(), "an object went away"
    assert fast == kept == repo.oracle()
    assert bool(reason) == bool(again)
    _hold_engine(reason, declines)
    repo.git("ls-tree", "-r", kept, env={"GIT_NO_REPLACE_OBJECTS": "1"})  # it was kept: it can be read without us
    return fast


def _hold_cold(repo: GitRepo, cwd: Path | None, fast: str) -> None:
    assert read(repo, cold=True, cwd=cwd) == repo.oracle(cold=True)


def _hold_exact(repo: GitRepo, cwd: Path | None, fast: str) -> None:
    assert read(repo, exact=True, cwd=cwd) == fast, "the engines disagree"


def _hold_remembered(repo: GitRepo, cwd: Path | None, fast: str) -> None:
    assert read(repo, cwd=cwd) == fast, "what is remembered misleads"


def _hold_ahead(repo: GitRepo, cwd: Path | None, fast: str) -> None:
    assert read_ahead(repo, cwd)[0] == fast, "what was begun ahead misleads"


def refuse(repo: GitRepo, *, cwd: Path | None = None, code: int = FATAL) -> str:
    """Hold that every way of reading, and a verb, is refused in one line, and touches nothing; return what was said."""
    places = repo.places(*PLACES)
    before = witness(repo, places)
    said = ""
    for mode in sample(MODES):
        with pytest.raises(TaskctxError) as caught:
            read(repo, **mode, cwd=cwd)
        said = caught.value.message
        assert said.strip() and not re.search(r"[\0-\x1f\x7f-\x9f]", said)
        assert caught.value.exit_code == code
    with pytest.MonkeyPatch.context() as patch:
        for name, value in repo.env.items():
            patch.setenv(name, value)
        told = Desk(repo).run("fingerprint", cwd=cwd)
    assert (told.code, told.out, told.err.count("error: ")) == (code, "", 1)
    assert witness(repo, places) == before
    return said


def git_refuses(repo: GitRepo) -> str:
    """Hold that git itself refuses, or says on stderr that it leaves something out; return what it said."""
    with pytest.raises(GitRefused) as caught:
        repo.oracle()
    return str(caught.value)


def witness(repo: GitRepo, places: Sequence[Path] = ()) -> Witness:
    """Return all that nobody may touch: of the worktree, of its git dirs, and of every repository inside.

    `places` are those of the repository where they were asked for already.
    """
    kept: dict[str, object] = {}
    objects: dict[Path, int] = {}
    *others, store = places or repo.places(*PLACES)
    for place in {place for place in others if place.exists()}:
        look(place, kept, objects)
    objects |= _sizes(store)
    return Witness(kept, objects)


def look(place: Path, kept: dict[str, object], objects: dict[Path, int]) -> None:
    """Note everything at `place` and below; objects apart, and not what is ours or git-lfs's in a git dir."""
    if place.is_symlink() or not place.is_dir():
        kept[os.fspath(place)] = _state(place)
        return
    git_dir = (place / "HEAD").exists()
    if not git_dir:  # the time of a git dir itself tells only of files that came and went, as our own folder
        kept[os.fspath(place)] = _state(place)
    for path in _list(place):
        if git_dir and path.name == "objects":
            objects |= _sizes(path)
        elif not (git_dir and path.name in ("taskctx", "lfs")):
            look(path, kept, objects)


def _sizes(store: Path) -> dict[Path, int]:
    return {file: file.stat().st_size for file in store.rglob("*") if file.is_file()}


def _list(place: Path) -> list[Path]:
    try:
        return sorted(place.iterdir())
    except PermissionError:
        return []


def _state(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content: object = path.readlink() if path.is_symlink() else None
    if content is None and path.is_file() and os.access(path, os.R_OK):
        content = path.read_bytes()
    if path.name.startswith("sharedindex."):  # git makes it young again at every reading, so that none goes stale
        return content, found.st_mode
    return content, found.st_mode, found.st_mtime_ns, found.st_ino


def _read_traced(repo: GitRepo, cwd: Path | None, *, keep: bool = False) -> tuple[str, str]:
    """Read once; return the tree, and why the fast engine declined."""
    trace = Path(os.environ["HOME"], "trace")
    trace.write_text("")
    view = GitRepo(repo.path, env={**repo.env, "GIT_TASKCTX_TRACE": os.fspath(trace)})
    tree = read(view, keep=keep, cwd=cwd)
    return tree, "".join(re.findall(r"the fast engine declines: (.+)", trace.read_text()))


def _hold_engine(reason: str, declines: str | None) -> None:
    if declines == "":
        assert reason == "", "the fast engine must not decline"
    elif declines is not None:
        assert reason, "the fast engine must decline"
        assert re.search(declines, reason)


def _differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
