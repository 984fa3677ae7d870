"""What only later gits have: reftables, hooks in the configuration, relative worktrees, the monitor, attr.tree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import TASK, Desk
from engine import MODES, agree, read, witness, write_home
from gitrepo import GitRepo

REFTABLE = pytest.mark.needs_git(2, 45)
EVENTS = (
    "pre-commit", "post-checkout", "post-commit", "post-index-change", "reference-transaction", "post-rewrite",
    "pre-auto-gc", "fsmonitor-watchman", "sendemail-validate", "update", "post-update", "post-merge",
)  # fmt: skip


def fill(repo: GitRepo) -> GitRepo:
    repo.write("a", "x\n")
    repo.write("d/b", "x\n")
    repo.commit()
    repo.write("a", "changed\r\n")
    repo.write("d/new", "x\n")
    return repo


@REFTABLE
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_reftable(tmp_path: Path, algorithm: str) -> None:
    """Refs in a reftable make no difference, and the fast engine reads there too."""
    repo = fill(GitRepo.init(tmp_path / "work", "--ref-format=reftable", f"--object-format={algorithm}"))
    agree(repo, declines="")
    repo.git("worktree", "add", "-q", "../linked")
    linked = GitRepo(tmp_path / "linked")
    linked.write("a", "linked\n")
    agree(linked, declines="")


@REFTABLE
def test_replaced_objects_in_a_reftable(tmp_path: Path) -> None:
    """There, too, a repository with replacements is left to git."""
    repo = fill(GitRepo.init(tmp_path / "work", "--ref-format=reftable"))
    repo.git("replace", repo.git("rev-parse", "HEAD:d"), repo.tree())
    agree(repo, declines="replaced")


@REFTABLE
def test_the_chain_in_a_reftable(tmp_path: Path) -> None:
    """A whole task goes its way there: snapshots, notes, drift, restore, seal."""
    repo = fill(GitRepo.init(tmp_path / "work", "--ref-format=reftable"))
    repo.commit()
    desk = Desk(repo)
    desk.init()
    desk.implement()
    head, index = repo.head(), repo.read(".git/index")
    repo.write("a", "drifted\n")
    assert desk.data("verify", code=1)["outcome"] == "no"
    desk.ok("restore", "--agent", "implementer")
    desk.ok("resolve-drift", "--note", "put back")
    desk.ok("purge")
    desk.ok("recover", TASK)
    desk.ok("snapshot", "--agent", "reviewer")
    assert (repo.head(), repo.read(".git/index")) == (head, index)
    desk.ok("snapshot", "--agent", "validator", "--done")
    repo.commit("mended")
    assert "is over" in desk.ok("verify").out
    repo.git("fsck", "--no-dangling")


def configure_hooks(repo: GitRepo, name: str = "tell") -> Path:
    """Configure a hook for every event, that writes down that it ran; return where."""
    told = Path(os.environ["HOME"], "told")
    for event in EVENTS:
        repo.git("config", "--add", f"hook.{name}.event", event)
    repo.config(f"hook.{name}.command", f"echo ran >>'{told}'; true")
    return told


@pytest.mark.needs_git(2, 54)
@pytest.mark.parametrize("name", ["tell", "with.dots", "with = equals", "Ünicode 'quoted'"])
def test_no_configured_hook_runs_while_we_read(repo: GitRepo, name: str) -> None:
    """Hooks that the configuration names are as quiet as those in a folder, whatever they are called."""
    fill(repo)
    told = configure_hooks(repo, name)
    agree(repo)
    told.unlink(missing_ok=True)
    read_all(repo)
    assert not told.exists()


def read_all(repo: GitRepo) -> None:
    desk = Desk(repo)
    desk.ok("fingerprint")
    desk.ok("fingerprint", "--exact", "--write")


@pytest.mark.needs_git(2, 54)
def test_no_configured_hook_runs_while_we_write(repo: GitRepo) -> None:
    """Nor does one run when our own refs and notes move, or files come back."""
    fill(repo)
    told = configure_hooks(repo)
    desk = Desk(repo)
    desk.init()
    desk.implement()
    repo.write("a", "drifted\n")
    desk.ends(1, "verify")
    desk.ok("restore", "--agent", "implementer")
    desk.ok("resolve-drift", "--note", "put back")
    desk.ok("purge")
    desk.ok("recover", TASK)
    assert not told.exists()


@pytest.mark.needs_git(2, 54)
def test_a_configured_hook_that_is_switched_off_or_incomplete(repo: GitRepo) -> None:
    """Names without a command or an event, and hooks of an event that is switched off, are no trouble."""
    fill(repo)
    repo.config("hook.nothing.event", "post-index-change")
    repo.config("hook.nowhere.command", "false")
    repo.config("hook.pre-commit.enabled", "false")
    trees = {read(repo, **mode) for mode in MODES}
    for name in ("nothing", "nowhere", "pre-commit"):
        repo.git("config", "--remove-section", f"hook.{name}")
    assert trees == {repo.oracle()}  # which git would not give before


@pytest.mark.needs_git(2, 48)
@pytest.mark.parametrize("how", ["--relative-paths", "configured"])
def test_worktree_linked_by_relative_paths(tmp_path: Path, how: str) -> None:
    """A worktree that is linked relatively is found, also after both were moved."""
    repo = fill(GitRepo.init(tmp_path / "here/main"))
    if how == "configured":
        repo.config("worktree.useRelativePaths", "true")
    repo.git("worktree", "add", "-q", *([how] if how != "configured" else []), "../linked")
    (tmp_path / "here").rename(tmp_path / "there")
    linked = GitRepo(tmp_path / "there/linked")
    linked.write("a", "linked\n")
    agree(linked, declines="")
    agree(GitRepo(tmp_path / "there/main"), declines="")


@pytest.fixture
def monitored(repo: GitRepo) -> Iterator[GitRepo]:
    """A repository that git's own monitor watches."""
    fill(repo)
    repo.config("core.fsmonitor", "true")
    repo.config("core.untrackedCache", "true")
    if repo.run("fsmonitor--daemon", "start").returncode != 0:
        pytest.skip("this git has no monitor of its own here")
    repo.git("status")
    yield repo
    repo.git("fsmonitor--daemon", "stop")


@pytest.mark.needs_git(2, 55)
def test_monitored_by_git_itself(monitored: GitRepo) -> None:
    """git's own monitor is neither asked nor started nor written for."""
    monitored.write("a", "again\n")
    agree(monitored)


@pytest.mark.needs_git(2, 55)
def test_no_monitor_is_started(repo: GitRepo) -> None:
    """A configured monitor that does not run stays so."""
    fill(repo)
    repo.config("core.fsmonitor", "true")
    agree(repo)
    assert repo.run("fsmonitor--daemon", "status").returncode != 0


@pytest.mark.needs_git(2, 43)
@pytest.mark.parametrize("how", ["attr.tree", "GIT_ATTR_SOURCE"])
def test_attributes_from_a_tree(repo: GitRepo, how: str) -> None:
    """Attributes may come from a tree that is nowhere in the worktree."""
    repo.write(".gitattributes", "a text\nd/new text\n")
    repo.commit()
    source = repo.tree()
    repo.git("rm", "-q", ".gitattributes")
    fill(repo)
    if how == "attr.tree":
        repo.config(how, source)
    else:
        repo.env[how] = source
    agree(repo)


@pytest.mark.needs_git(2, 40)
@pytest.mark.parametrize("version", ["2", "4"])
def test_index_without_a_hash(repo: GitRepo, version: str) -> None:
    """An index that git did not hash is no damaged one."""
    repo.config("index.skipHash", "true")
    repo.config("index.version", version)
    fill(repo)
    assert repo.read(".git/index")[-20:] == bytes(20)
    agree(repo, declines="")


@pytest.mark.needs_git(2, 40)
def test_many_files_of_a_repository_of_today(repo: GitRepo) -> None:
    """All that `feature.manyFiles` and `feature.experimental` switch on, at once."""
    repo.config("feature.manyFiles", "true")
    repo.config("feature.experimental", "true")
    fill(repo)
    repo.git("maintenance", "run", "--task=commit-graph", "--task=loose-objects", "--task=incremental-repack")
    agree(repo)


@pytest.mark.needs_git(2, 49)
def test_partial_clone_that_was_backfilled(repo: GitRepo, tmp_path: Path) -> None:
    """`git backfill` and a sparse index beside a promisor."""
    fill(repo).commit()
    repo.config("uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=blob:none", "--sparse", f"file://{repo.path}", os.fspath(tmp_path / "copy"))
    copy = GitRepo(tmp_path / "copy")
    copy.git("backfill", "--sparse")
    copy.git("sparse-checkout", "reapply", "--sparse-index")
    copy.config("remote.origin.url", "file:///nonexistent")
    copy.write("a", "edited\n")
    agree(copy)


@pytest.mark.needs_git(2, 42)
def test_submodule_in_a_reftable_of_another_kind(tmp_path: Path) -> None:
    """A submodule may keep its refs otherwise than the repository around it."""
    library = fill(GitRepo.init(tmp_path / "library"))
    library.commit()
    repo = fill(GitRepo.init(tmp_path / "work"))
    clone = ["-c", "init.defaultRefFormat=reftable", "submodule", "--quiet", "add", os.fspath(library.path), "lib"]
    repo.git(*clone)
    repo.commit()
    GitRepo(repo.at("lib")).write("a", "dirty\n")
    agree(repo)


def test_nothing_of_a_later_git_is_taken_for_granted(repo: GitRepo) -> None:
    """Settings that this git may not know are no trouble."""
    fill(repo)
    write_home("more", '[hook "x"]\n\tevent = pre-commit\n\tcommand = false\n[worktree]\n\tuseRelativePaths = true\n')
    repo.git("config", "--global", "include.path", "~/more")
    before = witness(repo)
    agree(repo)
    assert witness(repo).kept == before.kept
    assert subprocess.run(["git", "status"], cwd=repo.path, check=True, capture_output=True).returncode == 0
