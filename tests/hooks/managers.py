"""Real hook managers, with a check of the user's in their configuration, and how each is put in and taken away."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import pytest
from bench import CHECK, Bench

TRACKED = "--write-tracked"


@dataclass(frozen=True)
class Manager:
    """A hook manager, with a check of the user's in its configuration."""

    name: str
    files: dict[str, str]
    install: tuple[str, ...]
    remove: tuple[str, ...]
    displaces: bool = True
    """Whether its installation takes ours out of force, until we are installed again."""
    writes: bool = False
    """Whether ours goes into a file of the worktree's, where git's configuration has no hooks."""


LOCAL = """\
repos:
- repo: local
  hooks:
  - {id: check, name: check, language: system, entry: sh check.sh, stages: [pre-commit], always_run: true}
"""
PRE_COMMIT = Manager(
    "pre-commit",
    {".pre-commit-config.yaml": LOCAL},
    ("pre-commit", "install"),
    ("pre-commit", "uninstall"),
    displaces=False,
)
PREK = Manager("prek", {".pre-commit-config.yaml": LOCAL}, ("prek", "install"), ("prek", "uninstall"), displaces=False)
HUSKY = Manager(
    "husky",
    {".husky/pre-commit": "sh check.sh\n"},
    ("husky",),
    ("git", "config", "--unset", "core.hooksPath"),
    writes=True,
)
LEFTHOOK = Manager(
    "lefthook",
    {"lefthook.yml": "pre-commit:\n  commands:\n    check:\n      run: sh check.sh\n"},
    ("lefthook", "install"),
    ("lefthook", "uninstall"),
    writes=True,
)
MARKS = {
    "pre-commit": pytest.mark.needs_precommit,
    "prek": pytest.mark.needs_prek,
    "husky": pytest.mark.needs_husky,
    "lefthook": pytest.mark.needs_lefthook,
}
MANAGERS = (PRE_COMMIT, PREK, HUSKY, LEFTHOOK)


def each(*usual: Manager) -> pytest.MarkDecorator:
    """Run a test for every manager: for these in the usual tier too, for the others in deep runs alone."""
    return pytest.mark.parametrize(
        "manager",
        [
            pytest.param(one, id=one.name, marks=[MARKS[one.name], *([pytest.mark.deep] * (one not in usual))])
            for one in MANAGERS
        ],
    )


every_manager = each(*MANAGERS)


def set_up(bench: Bench, manager: Manager) -> None:
    """Commit the manager's configuration, and make a task active."""
    bench.repo.write("check.sh", CHECK)
    for name, text in manager.files.items():
        bench.repo.write(name, text)
    bench.repo.write(".gitignore", "lefthook-local.yml\n")
    bench.repo.commit("checks")
    bench.ok("init", "TASK-1", "--title", "Mend the parser")


def do(bench: Bench, words: tuple[str, ...]) -> None:
    """Run a manager's own command."""
    done = subprocess.run(words, cwd=bench.repo.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def ours(bench: Bench, manager: Manager) -> None:
    """Install ours, as it must be beside this manager."""
    bench.ok("install", *([TRACKED] if manager.writes else []))


def ours_away(bench: Bench, manager: Manager) -> None:
    """Take ours away."""
    bench.ok("uninstall", *([TRACKED] if manager.writes else []))
