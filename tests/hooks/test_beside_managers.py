"""Beside real hook managers: installed before ours and after, again, and taken away in any order; nothing is lost."""

from __future__ import annotations

import json

import pytest
from bench import CHECK, Bench
from gated import has_config_hooks
from gitrepo import ROOT, GitRepo
from managers import (
    HUSKY,
    LEFTHOOK,
    LOCAL,
    MARKS,
    PRE_COMMIT,
    PREK,
    TRACKED,
    Manager,
    do,
    each,
    every_manager,
    ours,
    ours_away,
    set_up,
)

from git_taskctx.hooks.shims import EVENTS


@every_manager
def test_manager_first(bench: Bench, manager: Manager) -> None:
    """The manager is there, then ours: both run; ours again changes nothing; nor does the manager, as an upgrade."""
    set_up(bench, manager)
    do(bench, manager.install)
    ours(bench, manager)
    bench.hold_both()
    before = bench.hooks()
    again = bench.run("install", *([TRACKED] if manager.writes else []))
    assert (again.code, again.err.splitlines()[-1]) == (0, "nothing to do")
    assert bench.hooks() == before
    assert bench.checked() == 0
    do(bench, manager.install)
    bench.hold_both()
    assert set(bench.states().values()) == {"fires"}


@each(PREK, HUSKY)
def test_ours_first(bench: Bench, manager: Manager) -> None:
    """Ours is there, then the manager comes: what it displaced is reported, and ours again fixes it.

    Of those that displace ours, and of those that do not, one; deep runs have all.
    """
    set_up(bench, manager)
    bench.ok("install")
    do(bench, manager.install)
    told = bench.run("status").out
    doctor = bench.run("doctor")
    if manager.displaces:
        assert "hooks: " in told
        assert "hooks: in place" not in told
        assert doctor.code == 1
        assert "git taskctx install" in doctor.out
        ours(bench, manager)
    else:
        assert "hooks: in place" in told
        assert doctor.code == 0
    bench.hold_both()
    assert set(bench.states().values()) == {"fires"}


@each(PREK, LEFTHOOK)
@pytest.mark.parametrize("first", ["ours", "theirs"])
@pytest.mark.parametrize("original", [True, pytest.param(False, marks=pytest.mark.deep)], ids=["original", "bare"])
def test_taken_away(bench: Bench, manager: Manager, first: str, original: bool) -> None:
    """Whoever goes first: what stays runs, and in the end everything is as without us, the user's first hook too.

    One manager of each kind; deep runs have all.
    """
    set_up(bench, manager)
    if original:
        bench.write_hook("pre-commit", CHECK.replace("checked", "original"), 0o750)
        bench.write_hook("post-commit", CHECK.replace("checked", "posted"), 0o744)
    twin = bench.twin()
    for one in (bench, twin):
        do(one, manager.install)
    ours(bench, manager)
    if first == "ours":
        ours_away(bench, manager)
        assert bench.hooks() == twin.hooks()
        do(bench, manager.remove)
    else:
        do(bench, manager.remove)
        bench.run("install")
        bench.called()
        assert bench.commit() == 0
        assert "pre-commit" in bench.called() or manager.name == "lefthook"
        bench.repo.git("reset", "-q", "--hard", "HEAD~1")
        ours_away(bench, manager)
    do(twin, manager.remove)
    assert bench.hooks() == twin.hooks()


@each(PRE_COMMIT, HUSKY)
@pytest.mark.parametrize("first", ["ours", pytest.param("theirs", marks=pytest.mark.deep)])
def test_an_original_hook_first_of_all(bench: Bench, manager: Manager, first: str) -> None:
    """The user's own script, ours over it, the manager over that; taken away in any order, it is itself again.

    One manager of each kind, in one order; deep runs have all.
    """
    set_up(bench, manager)
    path = bench.write_hook("pre-commit", CHECK.replace("checked", "original"), 0o750)
    before = (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_ino)
    bench.ok("install")
    do(bench, manager.install)
    ours(bench, manager)
    bench.hold_both(checks=2 if manager in (PRE_COMMIT, PREK) else 1)
    for away in (ours_away, lambda *_: do(bench, manager.remove))[:: 1 if first == "ours" else -1]:
        away(bench, manager)
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert not path.with_name("pre-commit.old").exists()
    bench.hold_theirs_alone()


@pytest.mark.parametrize(
    "manager", [pytest.param(one, id=one.name, marks=MARKS[one.name]) for one in (HUSKY, LEFTHOOK)]
)
def test_tracked_files_are_written_only_when_asked(bench: Bench, manager: Manager) -> None:
    """Without the yes nothing of the worktree's changes, the answer is no, and the command to type is named."""
    if has_config_hooks(bench.repo):
        pytest.skip("this git has hooks in its configuration, and needs no file of the worktree's")
    set_up(bench, manager)
    do(bench, manager.install)
    before = {name: one for name, one in bench.hooks().items() if not name.startswith(".git/")}
    said = bench.run("install")
    assert said.code == 1
    assert "hint: git taskctx install --write-tracked" in said.err
    assert {name: one for name, one in bench.hooks().items() if not name.startswith(".git/")} == before
    bench.hold_theirs_alone()
    assert bench.run("doctor").code == 1
    told = bench.ok("install", TRACKED).err
    assert ("is for all clones: commit it before a task begins" in told) is (manager is HUSKY)


@pytest.mark.needs_git(2, 54)
@every_manager
def test_gits_own_configuration(bench: Bench, manager: Manager) -> None:
    """From git 2.54 on no file of the worktree's is needed: ours runs beside the manager, also when it comes again."""
    set_up(bench, manager)
    twin = bench.twin()
    for one in (bench, twin):
        do(one, manager.install)
    bench.ok("install")
    bench.hold_both()
    do(bench, manager.install)
    bench.hold_both()
    assert set(bench.states().values()) == {"fires"}
    bench.ok("uninstall")
    bench.repo.git("reset", "-q", "--hard", "HEAD~4")
    assert bench.hooks() == twin.hooks()


@pytest.mark.needs_precommit
@pytest.mark.needs_prek
def test_one_manager_after_the_other(bench: Bench) -> None:
    """pre-commit is replaced by prek, the way prek says: ours comes back beside it."""
    set_up(bench, PRE_COMMIT)
    do(bench, PRE_COMMIT.install)
    bench.ok("install")
    do(bench, ("prek", "install", "--overwrite"))
    assert bench.run("doctor").code == 1
    bench.ok("install")
    bench.hold_both()


@pytest.mark.needs_precommit
@pytest.mark.parametrize("tool", ["pre-commit", pytest.param("prek", marks=[pytest.mark.needs_prek, pytest.mark.deep])])
def test_named_in_their_configuration(bench: Bench, tool: str) -> None:
    """Users of pre-commit and prek may name us by our id: the gate runs among their own hooks, and doctor knows."""
    source = GitRepo.init(bench.program.parent.with_name("source"))
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert hooks.count("language: python\n") == hooks.count("- id: ")
    source.write(".pre-commit-hooks.yaml", hooks.replace("language: python", "language: system"))  # no index is asked
    commit = source.commit("hooks")
    set_up(bench, PRE_COMMIT)
    ids = "".join(f"  - id: {name}\n" for name in ("taskctx", "taskctx-post-commit"))
    bench.repo.write(".pre-commit-config.yaml", f"{LOCAL}- repo: {source.path}\n  rev: {commit}\n  hooks:\n{ids}")
    bench.repo.commit("name it")
    do(bench, (tool, "install", "-t", "pre-commit", "-t", "post-commit"))
    bench.called()
    assert bench.commit() == 0, bench.said
    assert bench.called() == ["pre-commit", "post-commit"]
    assert f"{tool}'s configuration" in bench.run("doctor").out
    bench.hold_both()


@pytest.mark.needs_husky
def test_husky_in_a_linked_worktree(bench: Bench) -> None:
    """husky's folder is not there in a linked worktree, so git runs no hook at all: doctor says so, from both sides."""
    set_up(bench, HUSKY)
    do(bench, HUSKY.install)
    ours(bench, HUSKY)
    bench.repo.add()
    bench.repo.git("commit", "-q", "--no-verify", "-m", "with ours")
    linked = bench.program.parent.with_name("linked")
    bench.repo.git("worktree", "add", "-q", str(linked), "-b", "linked")
    said = bench.run("doctor")
    assert "linked has no .husky/_: git runs no hook in that worktree" in said.out
    there = bench.run("doctor", cwd=linked)
    if not has_config_hooks(bench.repo):
        assert there.code == 1
        assert "npx husky" in there.out
    (linked / ".husky" / "_").mkdir()
    for name in ("h", *EVENTS):
        source = bench.repo.at(f".husky/_/{name}")
        target = linked / ".husky" / "_" / name
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode & 0o777)
    assert bench.run("doctor", cwd=linked).code == 0


@pytest.mark.needs_lefthook
def test_lefthook_runs_us_last_and_for_deletions(bench: Bench) -> None:
    """Ours comes after the user's jobs and commands, whatever they are called, and also where a commit only deletes."""
    if has_config_hooks(bench.repo):
        pytest.skip("there ours runs beside lefthook")
    set_up(bench, LEFTHOOK)
    note = f"echo {{}} >>'{bench.calls}'"
    commands = {"zeta": {"run": note.format("zeta")}, "ninth": {"run": note.format("ninth"), "priority": 9}}
    bench.repo.write("lefthook.yml", json.dumps({"pre-commit": {"commands": commands}}))
    bench.repo.commit("more checks")
    do(bench, LEFTHOOK.install)
    ours(bench, LEFTHOOK)
    bench.repo.git("rm", "-q", "parser.py")
    bench.called()
    bench.repo.git("commit", "-q", "-m", "delete")
    assert bench.called()[:3] == ["ninth", "zeta", "pre-commit"]


@pytest.mark.parametrize(
    "manager", [pytest.param(one, id=one.name, marks=MARKS[one.name]) for one in (HUSKY, LEFTHOOK)]
)
def test_ours_was_never_there(bench: Bench, manager: Manager) -> None:
    """A hook of the manager's, where ours has never been, displaces nothing: ours is missing."""
    set_up(bench, manager)
    do(bench, manager.install)
    if has_config_hooks(bench.repo):
        pytest.skip("there git's configuration runs ours")
    assert "hooks: not installed   # git taskctx install\n" in bench.run("status").out
    states = {one["hook"]: one["state"] for one in bench.document("install")["hooks"]}
    others = "missing" if manager is HUSKY else "in place"
    assert states == dict.fromkeys(EVENTS, others) | {"pre-commit": "missing"}
    if manager is HUSKY:
        bench.ok("install", TRACKED)
        said = '"git taskctx uninstall" takes it away (--write-tracked where it is tracked)\n'
        assert bench.repo.read(".husky/post-commit").decode().splitlines(keepends=True)[1].endswith(said)
