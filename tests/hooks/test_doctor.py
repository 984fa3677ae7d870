"""`doctor`: each finding with the command that mends it, no check of the user's run, nothing changed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from bench import CHECK, Bench
from desk import Desk
from gitrepo import GitRepo

from git_taskctx.hooks.health import HookState, judge
from git_taskctx.hooks.shims import EVENTS

NOTES = "refs/notes/taskctx"


def findings(bench: Bench, *, holds: bool | None = None) -> list[tuple[str, str, str | None]]:
    """Return what doctor finds: level, text and command; `holds` is what it must say of the gate."""
    said = bench.run("doctor", "--format", "json")
    data = said.document()["data"]
    assert data["holds"] is (said.code == 0)
    assert holds is None or data["holds"] is holds, said.out
    return [(one["level"], one["what"], one["command"]) for one in data["findings"]]


def mend(bench: Bench, command: str) -> None:
    """Type what doctor says."""
    done = subprocess.run(["sh", "-c", command], cwd=bench.repo.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_is_well(bench: Bench) -> None:
    """The whole output where nothing is wrong, and its JSON."""
    bench.ok("install")
    said = bench.run("doctor")
    table = "hook              state  by\n" + "".join(f"{event:<16}  fires  file\n" for event in EVENTS)
    assert (said.code, said.out, said.err) == (0, f"{table}the gate holds\n", "")
    assert bench.document("doctor") == {
        "holds": True,
        "hooks": [{"hook": event, "state": "fires", "by": "file"} for event in EVENTS],
        "findings": [],
    }


def test_nothing_is_installed(bench: Bench) -> None:
    """The whole output without hooks: no, with the command that puts them in."""
    said = bench.run("doctor")
    table = "hook              state    by\n" + "".join(f"{event:<16}  missing  -\n" for event in EVENTS)
    assert (said.code, said.err) == (1, "")
    assert said.out == (
        f"{table}"
        "error: no hook is installed here: nothing stops a commit\n"
        "  git taskctx install\n"
        "warning: amended and rebased commits lose their record: neither post-rewrite nor notes.rewriteRef carries it "
        "along\n"
        f"  git config --add notes.rewriteRef {NOTES}\n"
        "the gate does not hold\n"
    )
    document = bench.run("doctor", "--format", "json").document()
    assert document["error"]["message"] == "the gate does not hold"
    assert document["error"]["hint"] == "git taskctx install"


def test_nothing_is_changed_and_no_check_is_run(bench: Bench) -> None:
    """Not a byte, mode or time of the repository's changes, no hook of the user's runs, and no call of ours is made."""
    for event in EVENTS:
        bench.write_hook(event)
    bench.ok("install")
    bench.activate()
    before = bench.repo.census()
    assert bench.run("doctor").code == 0
    assert bench.repo.census() == before
    assert (bench.called(), bench.checked()) == ([], 0)


def _not_executable(bench: Bench) -> None:
    (bench.repo.common_dir() / "hooks" / "pre-commit").chmod(0o644)


def _overwritten(bench: Bench) -> None:
    bench.write_hook("pre-commit")


def _deleted(bench: Bench) -> None:
    (bench.repo.common_dir() / "hooks" / "pre-merge-commit").unlink()


def _shadowed(bench: Bench) -> None:
    bench.repo.config("core.hooksPath", os.fspath(bench.program.parent.with_name("elsewhere")))


def _broken(bench: Bench) -> None:
    path = bench.repo.common_dir() / "hooks" / "pre-commit"
    first, second, rest = path.read_bytes().split(b"\n", 2)
    path.write_bytes(b"\n".join((first, second, b"exit 0", rest)))


def _tracked_store(bench: Bench) -> None:
    bench.repo.write(".agent-output/file", "x")
    bench.repo.git("add", "-f", ".agent-output/file")


def _rules_of_git(bench: Bench) -> None:
    bench.repo.config("core.hooksPath", "/dev/null")


@pytest.mark.parametrize(
    ("spoil", "level", "text"),
    [
        (_not_executable, "error", "is not executable, and git ignores it"),
        (_overwritten, "error", "pre-commit is displaced: another hook has its place"),
        (_deleted, "error", "pre-merge-commit is not installed"),
        (_shadowed, "error", "pre-commit is shadowed: core.hooksPath = "),
        (_broken, "error", "pre-commit is not what this version writes, and was not fired"),
        (_tracked_store, "error", ".agent-output is tracked by git"),
        (_rules_of_git, "error", "pre-commit is off: core.hooksPath = /dev/null"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_the_gate_would_not_hold(bench: Bench, spoil: Callable[[Bench], None], level: str, text: str) -> None:
    """Each of these ends with 1, and the command that is named mends it."""
    bench.ok("install")
    spoil(bench)
    (command,) = {command for found, what, command in findings(bench, holds=False) if text in what and found == level}
    assert command is not None
    mend(bench, command)
    assert [what for found, what, _ in findings(bench, holds=True) if found == level] == []


def _mirror(repo: GitRepo) -> None:
    repo.git("remote", "add", "--mirror=push", "origin", "../there")


def _push_all(repo: GitRepo) -> None:
    repo.git("remote", "add", "origin", "../there")
    repo.git("config", "--add", "remote.origin.push", "+refs/*:refs/*")


def _fetch_notes(repo: GitRepo) -> None:
    repo.git("remote", "add", "origin", "../there")
    repo.git("config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*")


def _fetch_all(repo: GitRepo) -> None:
    repo.git("remote", "add", "--mirror=fetch", "origin", "../there")


def _rewrite(repo: GitRepo) -> None:
    repo.config("notes.rewriteRef", "refs/notes/*")
    repo.config("notes.rewriteMode", "overwrite")


def _notes_ref(repo: GitRepo) -> None:
    repo.config("core.notesRef", NOTES)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (_mirror, "remote.origin.mirror: a push there sends every snapshot"),
        (_push_all, "remote.origin.push = +refs/*:refs/*: a push there sends every snapshot"),
        (_fetch_notes, "remote.origin.fetch = +refs/notes/*:refs/notes/*: a fetch overwrites records"),
        (_fetch_all, "remote.origin.fetch = +refs/*:refs/*: a fetch overwrites records"),
        (_rewrite, "notes.rewriteMode = overwrite: an amended commit may lose records"),
        (_notes_ref, f"git's own notes are written into {NOTES}"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_settings_under_which_records_get_lost(bench: Bench, spoil: Callable[[GitRepo], None], text: str) -> None:
    """A warning, the gate holds, and the command that is named takes the setting away and no other."""
    bench.ok("install")
    spoil(bench.repo)
    found = findings(bench, holds=True)
    ((level, command),) = [(level, command) for level, what, command in found if what.startswith(text)]
    assert level == "warning"
    assert command is not None
    mend(bench, command)
    assert [what for _, what, _ in findings(bench) if what.startswith(text)] == []


def test_settings_that_are_right(bench: Bench) -> None:
    """A usual remote, notes carried along by git itself, and notes of others: nothing is said of them."""
    bench.ok("install")
    bench.repo.git("remote", "add", "origin", "../there")
    bench.repo.config("notes.rewriteRef", "refs/notes/commits")
    bench.repo.git("config", "--add", "notes.rewriteRef", NOTES)
    bench.repo.config("core.notesRef", "refs/notes/commits")
    bench.repo.git("config", "--add", "remote.origin.fetch", "+refs/notes/review/*:refs/notes/review/*")
    assert findings(bench) == []


def test_switched_off(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIT_TASKCTX=0 in the environment: the hooks fire in the trial, and would not for the user."""
    bench.ok("install")
    monkeypatch.setenv("GIT_TASKCTX", "0")
    assert findings(bench) == [("error", "GIT_TASKCTX=0 is set: every hook is switched off", "unset GIT_TASKCTX")]


def test_the_program_is_missing_or_broken(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No git-taskctx where git looks, or one that does not run: no gate."""
    bench.ok("install")
    bench.program.write_text("#!/nonexistent/python\n")
    ((level, what, _),) = findings(bench)
    assert (level, what) == ("error", f"{bench.program} does not run, so the hooks let every commit go")
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("git", "sh", "cat"):
        (bare / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", os.fspath(bare))
    ((level, what, command),) = findings(bench)
    assert (level, what) == ("error", "git does not find git-taskctx on PATH, so the hooks let every commit go")
    noted = bench.repo.git_dir() / "taskctx" / "program"
    noted.parent.mkdir(exist_ok=True)
    noted.write_text(f"{bench.program.parent}\n")
    ((level, what, _),) = findings(bench)
    assert level == "warning"
    assert f"the hooks fall back to {bench.program}" in what
    assert (command or "").startswith("export PATH=")


def test_two_installs(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another git-taskctx on PATH is named, and that the first of them is another version; a link is the same one."""
    bench.ok("install")
    other = tmp_path / "other" / "git-taskctx"
    other.parent.mkdir()
    other.symlink_to(bench.program)
    monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    assert findings(bench) == []
    other.unlink()
    other.write_text("#!/bin/sh\necho git-taskctx 0.0.1\n")
    other.chmod(0o755)
    told = [(level, what) for level, what, _ in findings(bench)]
    assert [level for level, _ in told] == ["warning", "warning"]
    assert told[0][1].startswith(f"the hooks run {other}, which is 0.0.1; this is ")
    assert told[1][1] == f"git-taskctx is installed more than once: {other}, {bench.program}; the first one is run"


def test_an_old_git(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that is too old is an error."""
    bench.ok("install")
    real = shutil.which("git") or "git"
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    answers = 'for word; do [ "$word" != version ] || { echo git version 2.30.9; exit; }; done'
    old.write_text(f'#!/bin/sh\n{answers}\nexec {shlex.quote(real)} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    assert ("error", "git 2.30 is too old: it must be 2.31", "git --version") in findings(bench)


def test_stale_refs(bench: Bench) -> None:
    """Contexts that were put away long ago still keep refs: a note, and sweep takes them."""
    bench.ok("install")
    desk = Desk(bench.repo)
    desk.init()
    desk.ok("purge")
    assert findings(bench) == []
    bench.repo.config("taskctx.lifecycle.archiveDays", "0")
    assert findings(bench) == [("note", "1 context put away more than 0 days ago still keep refs", "git taskctx sweep")]
    mend(bench, "git taskctx sweep")
    assert findings(bench) == []


def test_a_hook_that_hangs_or_complains_elsewhere(bench: Bench) -> None:
    """Other hooks of the user's (commit-msg, or configured ones) are not fired with ours."""
    bench.write_hook("commit-msg", "#!/bin/sh\nexit 1\n")
    bench.write_hook("reference-transaction", "#!/bin/sh\nexit 1\n", 0o644)
    bench.repo.config("hook.other.event", "pre-commit")
    bench.repo.config("hook.other.command", "exit 1")
    bench.ok("install")
    assert bench.run("doctor").code == 0


@pytest.mark.parametrize(
    ("seats", "line", "holds"),
    [
        ([HookState(event, "in place", "file") for event in EVENTS], "in place", True),
        ([HookState(event, "missing", "") for event in EVENTS], "not installed", False),
        (
            [HookState("pre-commit", "displaced", "lefthook"), HookState("pre-merge-commit", "in place", "file")],
            "pre-commit displaced (lefthook)",
            False,
        ),
        (
            [
                HookState("pre-commit", "in place", "file"),
                HookState("post-commit", "missing", ""),
                HookState("post-merge", "missing", ""),
                HookState("pre-push", "not executable", "pre-push"),
            ],
            "post-commit, post-merge missing; pre-push not executable (pre-push)",
            True,
        ),
    ],
)
def test_one_line(seats: list[HookState], line: str, holds: bool) -> None:
    """The hooks' health in one line, and whether the gate holds, told from what was seen alone."""
    assert (judge(seats).line, judge(seats).holds) == (line, holds)


def test_whatever_is_in_the_users_script(bench: Bench) -> None:
    """Control characters in what is found do not reach the terminal."""
    bench.repo.config("core.hooksPath", "a\x1b[31m")
    said = bench.run("doctor")
    assert said.code == 1
    assert "\x1b" not in said.both


def test_check_stays_out_of_it(bench: Bench) -> None:
    """A pre-commit of the user's that only fails is no reason for the gate not to hold."""
    bench.write_hook("pre-commit", "#!/bin/sh\nexit 1\n")
    bench.ok("install")
    assert bench.run("doctor").code == 0
    assert CHECK not in bench.run("doctor").out


@pytest.mark.parametrize("with_block", [True, False], ids=["our lines", "our script"])
def test_nothing_that_a_repository_brings_is_run(bench: Bench, with_block: bool) -> None:
    """What looks like ours, in a folder that the repository brings, is run only where it is ours to the last byte."""
    evil = "#!/bin/sh\n# git-taskctx hook 1: x\ntouch ../pwned $HOME/pwned\n"
    if with_block:
        evil = "#!/bin/sh\ntrue\n\n# git-taskctx: begin\ntouch $HOME/pwned\n# git-taskctx: end\n"
    bench.repo.write("githooks/pre-commit", evil, mode=0o755)
    manager = "#!/bin/sh\n# File generated by pre-commit: x\ntouch $HOME/pwned\n"
    for event in ("post-commit", "post-merge"):
        bench.repo.write(f"githooks/{event}", manager, mode=0o755)
    bench.repo.write("githooks/post-merge.legacy", evil, mode=0o755)
    bench.repo.commit("hooks")
    bench.repo.config("core.hooksPath", "githooks")
    said = bench.run("doctor")
    assert said.code == 1
    assert not (Path.home() / "pwned").exists()


def test_where_no_program_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder for temporary files on which nothing may be run proves nothing: could not tell, and no false alarm."""
    import ctypes

    bench.ok("install")
    place = tmp_path / "noexec"
    place.mkdir()
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"none", os.fsencode(place), b"tmpfs", ctypes.c_ulong(8), None) != 0:
        pytest.skip("needs the right to mount")
    try:
        monkeypatch.setattr("tempfile.tempdir", os.fspath(place))
        said = bench.run("doctor")
    finally:
        library.umount(os.fsencode(place))
    assert said.code == 3
    assert "no program runs in " in said.err
