"""`install --global`: new repositories have the hooks, and nobody notices where there is no task."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench import CHECK, Bench
from gitrepo import GitRepo

from git_taskctx.hooks.shims import EVENTS


def _home(home: Path) -> dict[str, bytes]:
    """Return every file of the home folder; links by where they lead."""
    return {
        os.fspath(path.relative_to(home)): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in home.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _new(bench: Bench, tmp_path: Path, name: str = "new") -> Bench:
    """Make a repository after the installation, with one commit."""
    repo = GitRepo.init(tmp_path / name, "--no-template")
    repo.write("parser.py", "x\n")
    repo.env.update(bench.repo.env)
    repo.commit()
    return Bench(repo, bench.program.parent)


def _is_new(bench: Bench) -> bool:
    major, minor = bench.repo.git("version").split()[2].split(".")[:2]
    return (int(major), int(minor)) >= (2, 54)


def test_new_repositories(bench: Bench, sealed_home: Path, tmp_path: Path) -> None:
    """A repository made afterwards has everything that git gives it and the hooks; it is silent until a task begins."""
    plain = GitRepo.init(tmp_path / "plain", "--no-template")
    before = _home(sealed_home)
    dry = bench.ok("install", "--global", "--dry-run")
    assert dry.out.startswith("would write ")
    assert _home(sealed_home) == before
    bench.ok("install", "--global")
    new = _new(bench, tmp_path)
    assert new.called() == []
    known = {path.relative_to(plain.path) for path in plain.path.rglob("*") if path.is_file()}
    assert known <= {path.relative_to(new.repo.path) for path in new.repo.path.rglob("*")}
    new.activate()
    new.hold_both(checks=0)
    assert set(new.states().values()) == {"fires"}
    assert "nothing to do" in bench.ok("install", "--global").err
    assert "nothing to do" in new.ok("install").err
    bench.ok("uninstall", "--global")
    assert _home(sealed_home) == before
    assert not (sealed_home / ".local" / "share" / "git-taskctx").exists()
    assert "nothing to do" in bench.ok("uninstall", "--global").err
    later = _new(bench, tmp_path, "later")
    later.activate()
    assert later.commit() == 0
    assert later.called() == []


def test_a_template_of_the_user_s_own(bench: Bench, sealed_home: Path, tmp_path: Path) -> None:
    """His template keeps its hooks, which new repositories run first; and he gets it back as it was."""
    if _is_new(bench):
        pytest.skip("there git's configuration runs ours")
    hooks = sealed_home / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text(CHECK)
    (hooks / "pre-commit").chmod(0o755)
    bench.repo.git("config", "--global", "init.templateDir", "~/template")
    before = _home(sealed_home)
    bench.ok("install", "--global")
    new = _new(bench, tmp_path)
    new.activate()
    new.hold_both()
    new.ok("uninstall")
    new.hold_theirs_alone()
    bench.ok("uninstall", "--global")
    assert _home(sealed_home) == before


def test_a_hooks_path_for_all(bench: Bench, sealed_home: Path) -> None:
    """Where core.hooksPath is set for all repositories, theirs and ours run in each, and go back as they were."""
    if _is_new(bench):
        pytest.skip("there git's configuration runs ours")
    hooks = sealed_home / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text(CHECK)
    (hooks / "pre-commit").chmod(0o755)
    bench.repo.git("config", "--global", "core.hooksPath", "~/hooks")
    before = _home(sealed_home)
    bench.ok("install", "--global")
    bench.activate()
    bench.hold_both()
    bench.ok("uninstall", "--global")
    assert _home(sealed_home) == before
    bench.hold_theirs_alone()


def test_foreign_files_stay(bench: Bench, sealed_home: Path) -> None:
    """What somebody has put into our template is not removed with it."""
    if _is_new(bench):
        pytest.skip("there is no template")
    bench.ok("install", "--global")
    mine = sealed_home / ".local/share/git-taskctx/template/hooks/commit-msg"
    mine.write_text(CHECK)
    said = bench.ok("uninstall", "--global")
    assert mine.read_text() == CHECK
    assert f"warning: {mine} is not ours, and stays there" in said.err


@pytest.mark.parametrize("installed", [False, True])
def test_a_program_in_the_same_folder_stays(bench: Bench, sealed_home: Path, installed: bool) -> None:
    """The folder of data is not said to be removed while it holds the program; without anything there is nothing."""
    program = sealed_home / ".local/share/git-taskctx/venv/bin/git-taskctx"
    program.parent.mkdir(parents=True)
    program.write_text("")
    before = _home(sealed_home)
    if installed:
        bench.ok("install", "--global")
    for dry in (["--dry-run"], []):
        said = bench.ok("uninstall", "--global", *dry)
        assert str(program.parents[2]) not in [line.split()[-1] for line in said.out.splitlines()]
        assert (said.err == "nothing to do\n") is (not installed)
    assert _home(sealed_home) == before


@pytest.mark.needs_git(2, 54)
def test_here_and_everywhere(bench: Bench, sealed_home: Path) -> None:
    """With git's own hooks set for all, install in one repository has nothing to do; an older file is told."""
    bench.ok("install")
    bench.ok("install", "--global")
    bench.activate()
    said = bench.run("doctor")
    assert said.code == 0
    assert f"note: {', '.join(EVENTS)}: run twice, by git's configuration and as a file" in said.out
    bench.ok("uninstall")
    assert "run twice" not in bench.run("doctor").out
    bench.hold_both(checks=0)


def test_usage(bench: Bench) -> None:
    """--global and --write-tracked do not go together."""
    said = bench.run("install", "--global", "--write-tracked")
    assert (said.code, said.out) == (129, "")
    assert "--write-tracked is for one repository" in said.err
