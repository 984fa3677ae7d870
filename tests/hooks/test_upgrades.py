"""Hook managers that are brought up to date, from one real version to another, with ours beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench import Bench
from managers import HUSKY, MANAGERS, MARKS, PREK, TRACKED, Manager, do, ours_away, set_up
from tools import EARLIER, EARLIER_PATH, TOOL_PATH

EARLIER_MARKS = {
    "pre-commit": pytest.mark.needs_earlier_pip,
    "prek": pytest.mark.needs_earlier_pip,
    "husky": pytest.mark.needs_earlier_npm,
    "lefthook": pytest.mark.needs_earlier_npm,
}
each_manager = pytest.mark.parametrize(
    "manager",
    [
        pytest.param(
            one,
            id=one.name,
            marks=[MARKS[one.name], EARLIER_MARKS[one.name], *([pytest.mark.deep] * (one in (PREK, HUSKY)))],
        )
        for one in MANAGERS
    ],
)
HUSKY_8 = replace(
    HUSKY,
    files={".husky/pre-commit": '#!/usr/bin/env sh\n. "$(dirname -- "$0")/_/husky.sh"\n\nsh check.sh\n'},
    install=("node", f"{EARLIER}/node_modules/husky8/lib/bin.js", "install"),
)


def put_first(monkeypatch: pytest.MonkeyPatch, bench: Bench, path: str) -> None:
    """Let the managers of `path` be found, after the stand-in for us."""
    monkeypatch.setenv("PATH", f"{bench.program.parent}:{path}")


@each_manager
@pytest.mark.parametrize("first", ["theirs", pytest.param("ours", marks=pytest.mark.deep)])
def test_brought_up_to_date(bench: Bench, manager: Manager, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both run with the earlier version and with the later one, whoever was there first; what is left is theirs.

    pre-commit and lefthook; of the other two the tests below have an upgrade, and deep runs this one too.
    """
    set_up(bench, manager)
    twin = bench.twin()
    if first == "ours":
        bench.ok("install")
    scripts = []
    for path in (EARLIER_PATH, TOOL_PATH):
        put_first(monkeypatch, bench, path)
        for one in (bench, twin):
            do(one, manager.install)
        scripts.append(twin.hooks())
        bench.run("install", *([TRACKED] if manager.writes else []))
        bench.hold_both()
        bench.repo.git("reset", "-q", "--keep", "HEAD~2")
    assert scripts[0] != scripts[1]
    assert set(bench.states().values()) == {"fires"}
    ours_away(bench, manager)
    assert bench.hooks() == twin.hooks()
    bench.hold_theirs_alone()


@pytest.mark.needs_husky
@pytest.mark.needs_earlier_npm
def test_from_husky_8(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """husky 8 has its hooks in `.husky` itself, 9 in a folder below: both run before and after, and doctor knows."""
    set_up(bench, HUSKY_8)
    bench.repo.at(".husky/pre-commit").chmod(0o755)
    bench.repo.commit("as husky 8 makes it")
    twin = bench.twin()
    for one in (bench, twin):
        do(one, HUSKY_8.install)
    bench.ok("install", TRACKED)
    bench.hold_both()
    assert set(bench.states().values()) == {"fires"}
    bench.repo.git("reset", "-q", "--keep", "HEAD~2")
    for one in (bench, twin):
        do(one, HUSKY.install)
    bench.hold_both()
    assert set(bench.states().values()) == {"fires"}
    bench.repo.git("reset", "-q", "--keep", "HEAD~2")
    bench.ok("uninstall", TRACKED)
    assert bench.hooks() == twin.hooks()
    bench.hold_theirs_alone()


@pytest.mark.needs_prek
@pytest.mark.needs_earlier_pip
def test_a_prek_that_forgets_what_was_there(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 0.3.5 prek never runs the hook beside its own: install and doctor say so, and a later prek mends it."""
    set_up(bench, PREK)
    put_first(monkeypatch, bench, f"{EARLIER}/prek/bin:{TOOL_PATH}")
    do(bench, PREK.install)
    said = bench.run("install")
    assert said.code == 1
    told = "prek 0.2.30 runs no hook beside its own, as 0.3.5 and later do"
    assert f"left alone: pre-commit ({told})\n" in said.err
    assert f"error: pre-commit: {told}\n  prek self update   # or as it was installed\n" in bench.run("doctor").out
    bench.hold_theirs_alone()
    put_first(monkeypatch, bench, TOOL_PATH)
    do(bench, PREK.install)
    bench.hold_both()
    assert bench.run("doctor").code == 0


@pytest.mark.needs_husky
@pytest.mark.needs_earlier_npm
def test_a_husky_that_does_not_know_a_hook(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """husky 9.0 has no pre-merge-commit, so nothing stops a merge: told as that, and a later husky mends it."""
    set_up(bench, HUSKY)
    put_first(monkeypatch, bench, EARLIER_PATH)
    do(bench, HUSKY.install)
    bench.run("install", TRACKED)
    doctor = bench.run("doctor")
    assert doctor.code == 1
    assert (
        "error: pre-merge-commit is off: this husky does not know it, a later one does: npm install husky@latest\n"
        "  npx husky   # sets husky up in this worktree\n"
    ) in doctor.out
    put_first(monkeypatch, bench, TOOL_PATH)
    do(bench, HUSKY.install)
    bench.ok("install", TRACKED)
    assert set(bench.states().values()) == {"fires"}
