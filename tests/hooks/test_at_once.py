"""Two installations at once, or one beside its own removal: the hooks are whole or gone, and the user's are there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from bench import CHECK, Bench

from git_taskctx.hooks.install import install, uninstall
from git_taskctx.hooks.place import find_place


def _shared(bench: Bench, tmp_path: Path) -> Path:
    """Have a folder of hooks for all repositories, with a check of the user's in it."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "pre-commit").write_text(CHECK)
    (folder / "pre-commit").chmod(0o755)
    bench.repo.git("config", "--global", "core.hooksPath", os.fspath(folder))
    return folder


def _plain(bench: Bench, tmp_path: Path) -> Path:
    return bench.write_hook("pre-commit")


def together(bench: Bench, *verbs: str) -> None:
    """Begin all verbs at once; each ends well, but for an installation that was undone before it looked again."""
    running = [
        subprocess.Popen([bench.program, *verb.split()], cwd=bench.repo.path, stdout=subprocess.PIPE, stderr=-2)
        for verb in verbs
    ]
    for verb, process in zip(verbs, running, strict=True):
        said, _ = process.communicate(timeout=120)
        undone = verb == "install" and "uninstall" in verbs and b"says what stands in the way" in said
        assert process.returncode == (1 if undone else 0), said


@pytest.mark.parametrize("prepare", [_plain, _shared])
@pytest.mark.parametrize("verbs", [("install",) * 4, ("install", "uninstall", "install", "uninstall")], ids="-".join)
def test_several_at_once(
    bench: Bench, tmp_path: Path, prepare: Callable[[Bench, Path], Path], verbs: tuple[str, ...]
) -> None:
    """All begin together, and each ends well; what is left is one or the other, and the next verb makes it whole."""
    prepare(bench, tmp_path)
    bench.activate()
    before = bench.hooks()
    bench.ok("install")
    whole = bench.hooks()
    bench.ok("uninstall")
    assert bench.hooks() == before
    together(bench, *verbs)
    assert bench.hooks() in ([whole] if set(verbs) == {"install"} else [whole, before])
    bench.ok("install")
    assert bench.hooks() == whole
    bench.hold_both()
    bench.repo.git("reset", "-q", "--keep", "HEAD~2")
    bench.ok("uninstall")
    assert bench.hooks() == before
    bench.hold_theirs_alone()


def test_settings_are_read_once_the_lock_is_held(bench: Bench, tmp_path: Path) -> None:
    """One that looked before another installed, and comes after it, takes away all that was put in, and the reverse."""
    _shared(bench, tmp_path)
    bench.activate()
    before = bench.hooks()
    early = find_place(bench.repo.path, os.environ)
    bench.ok("install")
    late, whole = find_place(bench.repo.path, os.environ), bench.hooks()
    uninstall(early, write_tracked=False, dry_run=False)
    assert bench.hooks() == before
    bench.hold_theirs_alone()
    bench.repo.git("reset", "-q", "--hard", "HEAD~1")
    install(late, write_tracked=False, dry_run=False)
    assert bench.hooks() == whole
    bench.hold_both()


def test_everywhere_and_here_at_once(bench: Bench, sealed_home: Path) -> None:
    """`install --global` beside `install` and `uninstall`: none of them disturbs another."""
    bench.activate()
    path = bench.write_hook("pre-commit")
    home = {one: one.read_bytes() for one in sealed_home.rglob("*") if one.is_file()}
    before = path.read_bytes()
    for verbs in (("install --global", "install", "install --global"), ("uninstall --global", "install", "uninstall")):
        together(bench, *verbs)
    bench.ok("install")
    bench.hold_both()
    bench.repo.git("reset", "-q", "--keep", "HEAD~2")
    bench.ok("uninstall")
    bench.ok("uninstall", "--global")
    assert path.read_bytes() == before
    assert {one: one.read_bytes() for one in sealed_home.rglob("*") if one.is_file()} == home
    bench.hold_theirs_alone()
