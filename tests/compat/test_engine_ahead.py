"""A status that is begun before the repository is looked for: taken only where it answers for what is read after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from compat.engine import read_ahead
from gitrepo import GitRepo, run_taskctx


@pytest.fixture(autouse=True)
def changed(repo: GitRepo) -> None:
    """Begin with two files, one of them changed."""
    repo.write("sub/a.txt", "one\n")
    repo.write("b.txt", "one\n")
    repo.commit()
    repo.write("sub/a.txt", "two\n")


def _add(repo: GitRepo) -> None:
    repo.write("new", "new\n")
    repo.add("new")


def _copy(repo: GitRepo) -> None:
    index = repo.at(".git/index")
    found = index.stat()
    index.rename(repo.at(".git/index-old"))
    index.write_bytes(repo.at(".git/index-old").read_bytes())
    os.utime(index, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize(
    ("between", "taken"),
    [
        (lambda _: None, True),
        (_add, False),
        (_copy, False),
        (lambda repo: repo.git("rm", "-q", "--cached", "b.txt"), False),
        (lambda repo: repo.at(".git/index").unlink(), False),
        (lambda repo: (repo.path.parent / "mark").write_text("a verb wrote here"), False),
    ],
    ids=["nothing", "add", "same bytes", "rm --cached", "no index", "a verb of ours"],
)
def test_it_is_taken_for_the_same_index_only(repo: GitRepo, between: Callable[[GitRepo], object], taken: bool) -> None:
    """Whatever happens after it was begun, the tree is git's; it is asked again where the index is another file."""
    assert read_ahead(repo, between=lambda: between(repo)) == (repo.oracle(), taken)


def test_an_index_that_was_just_written_is_not_trusted(repo: GitRepo) -> None:
    """Where the index may be written twice within a tick of the clock, nothing is begun."""
    for racy, taken in ((10**18, False), (-(10**18), True)):
        assert read_ahead(repo, racy=racy) == (repo.oracle(), taken)


def _linked(repo: GitRepo) -> tuple[Path, dict[str, str]]:
    repo.git("worktree", "add", "-q", "../linked")
    (repo.path.parent / "linked/sub/a.txt").write_text("three\n")
    return repo.path.parent / "linked", {}


def _other_index(repo: GitRepo) -> tuple[Path, dict[str, str]]:
    repo.git("read-tree", "--empty", env={"GIT_INDEX_FILE": ".git/other"})
    return repo.path, {"GIT_INDEX_FILE": ".git/other"}


PLACES: dict[str, Callable[[GitRepo], tuple[Path, dict[str, str]]]] = {
    "top": lambda repo: (repo.path, {}),
    "sub-folder": lambda repo: (repo.at("sub"), {}),
    "linked worktree": _linked,
    "GIT_DIR": lambda repo: (repo.path, {"GIT_DIR": ".git"}),
    "GIT_WORK_TREE": lambda repo: (repo.at("sub"), {"GIT_DIR": "../.git", "GIT_WORK_TREE": ".."}),
    "GIT_INDEX_FILE": _other_index,
    "GIT_LITERAL_PATHSPECS": lambda repo: (repo.path, {"GIT_LITERAL_PATHSPECS": "1"}),
    "GIT_CONFIG_COUNT": lambda repo: (
        repo.path,
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "status.showUntrackedFiles", "GIT_CONFIG_VALUE_0": "no"},
    ),
    "GIT_TRACE": lambda repo: (repo.path, {"GIT_TRACE": "2", "GIT_TRACE_SETUP": "1"}),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_verb_answers_as_without(repo: GitRepo, place: str) -> None:
    """From wherever it is called, and under whatever variables, a verb gives the tree that a cold reading gives."""
    cwd, env = PLACES[place](repo)
    os.utime(repo.at(".git/index"))  # entries are clean beside it
    fast = run_taskctx("fingerprint", cwd=cwd, env=env)
    assert fast == run_taskctx("fingerprint", "--exact", cwd=cwd, env=env)
    assert fast[0] == 0


def test_hostile_settings_run_nothing(repo: GitRepo) -> None:
    """No monitor and no hook of the repository runs, and its index stays as it is, whatever the configuration says."""
    program = repo.path.parent / "program"
    ran = repo.path.parent / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\nexit 1\n")
    program.chmod(0o755)
    hooks = repo.path.parent / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).symlink_to(program)
    for key, value in (
        ("core.fsmonitor", os.fspath(program)),
        ("core.hooksPath", os.fspath(hooks)),
        ("core.untrackedCache", "true"),
        ("core.pager", os.fspath(program)),
        ("pager.status", "true"),
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "true"),
        ("status.submoduleSummary", "true"),
        ("diff.external", os.fspath(program)),
        ("hook.ours.event", "post-index-change"),
        ("hook.ours.command", os.fspath(program)),
    ):
        repo.git("config", key, value)
    repo.write("untracked", "x")
    index = repo.at(".git/index").read_bytes()
    tree, taken = read_ahead(repo)
    assert not ran.exists()
    assert repo.at(".git/index").read_bytes() == index
    assert (tree, taken) == (repo.oracle(), False)  # for hooks of the configuration are switched off by their names
