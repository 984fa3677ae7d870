"""Where hooks are put, and how they are given back: users' own scripts, core.hooksPath, worktrees, odd places."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from bench import CHECK, Bench
from desk import Desk
from gitrepo import GitRepo

from git_taskctx.hooks.place import place_of
from git_taskctx.hooks.shims import EVENTS, shim

HELPED = '#!/bin/sh\n. "$(dirname "$0")/lib/helper"\n[ "$(basename "$0")" = pre-commit ] && run_check\n'
PYTHON = '#!/usr/bin/env python3\nimport os\nopen(os.environ["CHECKS"], "a").write("checked\\n")\n'
HELPER = 'run_check () { echo checked >>"$CHECKS"; [ ! -e "$CHECKS.fail" ]; }\n'


def test_whole_output(bench: Bench) -> None:
    """What is done is said step by step, what would be done alike, and that nothing is left to do."""
    top = bench.repo.common_dir()
    bench.write_hook("post-merge")
    steps = [f"put aside {top}/hooks/post-merge"]
    order = ["pre-commit", "pre-merge-commit", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-push"]
    writes = [f"write {top}/hooks/{event}" for event in order]
    writes.insert(order.index("post-merge"), steps[0])
    table = ["hook              state     by", *(f"{event:<16}  in place  file" for event in order)]
    before = bench.hooks()
    dry = bench.run("install", "--dry-run")
    assert (dry.code, dry.err, dry.out.splitlines()) == (0, "", [f"would {line}" for line in writes])
    assert bench.hooks() == before
    done = bench.run("install")
    assert done.out.splitlines() == [line.replace("write ", "wrote ") for line in writes] + table
    assert (done.code, done.err) == (0, "hint: git taskctx doctor   # proves that each hook fires\n")
    again = bench.run("install")
    assert again.out.splitlines() == table
    assert again.err == "hint: git taskctx doctor   # proves that each hook fires\nnothing to do\n"
    away = [
        f"give back {top}/hooks/{event}" if event == "post-merge" else f"remove {top}/hooks/{event}" for event in order
    ]
    away.append(f"remove {top}/hooks.before-taskctx")
    dry = bench.run("uninstall", "--dry-run")
    assert (dry.code, dry.err, dry.out.splitlines()) == (0, "", [f"would {line}" for line in away])
    done = bench.run("uninstall")
    said = [line.replace("remove ", "removed ").replace("give back", "gave back") for line in away]
    assert (done.code, done.err, done.out.splitlines()) == (0, "", said)
    assert bench.hooks() == before
    assert bench.run("uninstall").err == "nothing to do\n"


def test_json(bench: Bench) -> None:
    """One document: the steps, what was left alone, and the hooks."""
    data = bench.document("install")
    assert [step["what"] for step in data["steps"]] == ["write"] * 7
    assert (data["dry_run"], data["left"], data["warnings"]) == (False, [], [])
    assert data["hooks"] == [{"hook": event, "state": "in place", "by": "file"} for event in EVENTS]
    assert bench.document("uninstall")["steps"][0]["what"] == "remove"


def test_a_script_keeps_its_name_and_its_neighbours(bench: Bench) -> None:
    """A hook that asks for its own name, and reads a file beside it, is run as it always was; and comes back itself."""
    path = bench.write_hook("pre-commit", HELPED, 0o751)
    (path.parent / "lib").mkdir()
    bench.write_hook("lib/helper", HELPER, 0o644)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    before = path.lstat()
    bench.ok("install")
    bench.activate()
    bench.hold_both()
    bench.ok("uninstall")
    after = path.lstat()
    assert path.read_text() == HELPED
    for what in ("st_mode", "st_mtime_ns", "st_ino"):
        assert getattr(after, what) == getattr(before, what), what
    assert sorted(entry.name for entry in bench.repo.common_dir().glob("hooks*")) == ["hooks"]
    bench.hold_theirs_alone()


@pytest.mark.parametrize("kind", ["link", "dangling", "not executable", "python", "empty"])
def test_odd_scripts(bench: Bench, kind: str) -> None:
    """A link, a dead link, a script that is switched off, one that is no shell's: kept, run as before, given back."""
    bench.repo.write("scripts/check", CHECK, mode=0o755)
    path = bench.repo.common_dir() / "hooks" / "pre-commit"
    path.parent.mkdir(exist_ok=True)
    runs = 0
    if kind == "link":
        path.symlink_to("../../scripts/check")
        runs = 1
    elif kind == "dangling":
        path.symlink_to("../../nothing")
    elif kind == "python":
        bench.write_hook("pre-commit", PYTHON)
        runs = 1
    else:
        bench.write_hook("pre-commit", CHECK if kind == "not executable" else "", 0o644)
    before = bench.hooks()
    bench.ok("install")
    bench.activate()
    bench.called(), bench.checked()
    assert bench.commit() == 0, bench.said
    assert (bench.called()[0], bench.checked()) == ("pre-commit", runs)
    bench.ok("uninstall")
    bench.repo.git("reset", "-q", "--hard", "HEAD~1")
    assert bench.hooks() == before


def test_a_folder_in_a_hooks_place(bench: Bench) -> None:
    """Something that is no file where a hook would be is named, and nothing is changed."""
    (bench.repo.common_dir() / "hooks" / "pre-push").mkdir(parents=True)
    before = bench.hooks()
    said = bench.run("install")
    assert (said.code, said.out) == (128, "")
    assert "pre-push is not a file" in said.err
    assert bench.hooks() == before


def test_a_hook_that_calls_us_in_its_own_words(bench: Bench) -> None:
    """A script of the user's that runs `git taskctx hook` is left as it is, and is not fired by doctor."""
    path = bench.write_hook("pre-commit", '#!/bin/sh\nmake || exit\nexec git taskctx hook pre-commit "$@"\n')
    before = path.read_bytes()
    bench.ok("install")
    assert path.read_bytes() == before
    said = bench.run("doctor")
    assert said.code == 0
    assert "note: pre-commit was not fired: your own hook runs it, and that would run your checks" in said.out


def test_another_version_is_replaced(bench: Bench) -> None:
    """A shim of another version is told by doctor, which does not run it, and written anew by install."""
    bench.ok("install")
    path = bench.repo.common_dir() / "hooks" / "pre-commit"
    path.write_bytes(shim("pre-commit").replace(b"hook 1:", b"hook 0:"))
    path.write_bytes(path.read_bytes().replace(b"theirs=", b"touch pwned; theirs=", 1))
    assert "pre-commit is not what this version writes, and was not fired" in bench.run("doctor").out
    bench.ok("install")
    assert path.read_bytes() == shim("pre-commit")


@pytest.mark.parametrize(("version", "code"), [(b"prek 0.2.30\n", 1), (b"prek 0.3.5\n", 0), (b"\xff\0\n", 0)])
def test_a_prek_of_another_version(bench: Bench, tmp_path: Path, version: bytes, code: int) -> None:
    """A prek that runs no hook beside its own is told of, and what is no version at all stops nothing."""
    program = tmp_path / os.fsdecode(b"prek \xff")
    program.write_bytes(b"#!/bin/sh\ncat <<'end'\n" + version + b"end\n")
    program.chmod(0o755)
    hook = bench.write_hook("pre-commit")
    hook.write_bytes(b'#!/bin/sh\n# File generated by prek: x\nPREK="' + os.fsencode(program) + b'"\n')
    said = bench.run("install")
    assert said.code == code, said.both
    assert ("left alone: pre-commit (prek 0.2.30 runs no hook beside its own" in said.err) is (code == 1)


def test_a_hook_that_came_in_our_place(bench: Bench) -> None:
    """The user overwrites ours: his new hook is kept and run, and so is what was put aside, though nothing runs it."""
    bench.write_hook("pre-commit", CHECK.replace("checked", "old"))
    bench.ok("install")
    path = bench.write_hook("pre-commit", CHECK)
    assert "pre-commit is displaced: another hook has its place" in bench.run("doctor").out
    said = bench.ok("install")
    kept = path.parent.with_name("hooks.before-taskctx") / "pre-commit.kept-1"
    assert (
        f"warning: {kept} was put aside earlier, and {path} has come in its place: it is kept, and not run" in said.err
    )
    bench.activate()
    bench.hold_both()
    assert f"warning: {kept} was put aside by an earlier install, and stays there" in bench.ok("uninstall").err
    assert path.read_text() == CHECK
    assert kept.read_text() == CHECK.replace("checked", "old")


def test_ours_was_deleted_by_hand(bench: Bench) -> None:
    """Somebody removes our shim: uninstall still gives back what was put aside, and doctor tells of it meanwhile."""
    path = bench.write_hook("pre-commit")
    before = bench.hooks()
    bench.ok("install")
    path.unlink()
    said = bench.run("doctor")
    assert "pre-commit was put aside by us, and nothing runs it now" in said.out
    bench.ok("uninstall")
    assert bench.hooks() == before


# --- core.hooksPath --------------------------------------------------------------------------------------


@pytest.fixture
def shared(bench: Bench, sealed_home: Path) -> Path:
    """A folder of hooks for all repositories, as the user has set it."""
    folder = sealed_home / "hooks for all"
    folder.mkdir()
    for name in ("pre-commit", "commit-msg"):
        (folder / name).write_text(HELPED if name == "pre-commit" else '#!/bin/sh\necho message >>"$CHECKS"\n')
        (folder / name).chmod(0o755)
    (folder / "lib").mkdir()
    (folder / "lib" / "helper").write_text(HELPER)
    bench.repo.git("config", "--global", "core.hooksPath", os.fspath(folder))
    return folder


def test_a_global_hooks_path(bench: Bench, shared: Path) -> None:
    """The shared folder is not written to: this repository gets its own, which leads there, also later."""
    before = {path: path.read_bytes() for path in shared.rglob("*") if path.is_file()}
    config = bench.hooks()
    bench.ok("install")
    assert {path: path.read_bytes() for path in shared.rglob("*") if path.is_file()} == before
    bench.activate()
    bench.hold_both(checks=2)
    (shared / "prepare-commit-msg").write_text('#!/bin/sh\necho later >>"$CHECKS"\n')
    (shared / "prepare-commit-msg").chmod(0o755)
    bench.hold_both(checks=3)
    assert set(bench.states().values()) == {"fires"}
    other = GitRepo.init(bench.program.parent.with_name("other"))
    other.env.update(bench.repo.env)
    bench.called(), bench.checked()
    other.write("f", "x")
    other.commit()
    assert (bench.called(), bench.checked()) == ([], 3)
    bench.ok("uninstall")
    assert {name: one for name, one in bench.hooks().items() if name.startswith(".git/")} == {
        name: one for name, one in config.items() if name.startswith(".git/")
    }
    bench.hold_theirs_alone(checks=3)


def test_a_global_hooks_path_that_moved(bench: Bench, shared: Path) -> None:
    """The user moves his folder: doctor tells that we lead to the old one, and install mends it."""
    if bench.repo.git("version").split()[2] >= "2.54":
        pytest.skip("there the configuration runs ours, and nothing leads anywhere")
    bench.ok("install")
    moved = shared.with_name("moved")
    shared.rename(moved)
    bench.repo.git("config", "--global", "core.hooksPath", os.fspath(moved))
    assert f"core.hooksPath for all repositories is {moved} now" in bench.run("doctor").out
    bench.ok("install")
    assert bench.run("doctor").code == 0
    bench.activate()
    bench.hold_both(checks=2)


@pytest.mark.parametrize("relative", [True, False])
def test_a_local_hooks_path_that_is_ignored(bench: Bench, relative: bool, tmp_path: Path) -> None:
    """A folder of this repository's own, that is nobody's content, is written to like .git/hooks."""
    folder = bench.repo.at("my-hooks") if relative else tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "pre-commit").write_text(CHECK)
    (folder / "pre-commit").chmod(0o755)
    bench.repo.write(".gitignore", "/my-hooks*\n")
    bench.repo.commit("ignore")
    bench.repo.config("core.hooksPath", "my-hooks" if relative else os.fspath(folder))
    bench.ok("install")
    bench.activate()
    bench.hold_both()
    assert set(bench.states().values()) == {"fires"}
    bench.ok("uninstall")
    assert [entry.name for entry in folder.iterdir()] == ["pre-commit"]
    assert not folder.with_name(folder.name + ".before-taskctx").exists()
    bench.hold_theirs_alone()


@pytest.mark.parametrize("link", [False, True], ids=["folder", "link"])
def test_a_tracked_hooks_folder(bench: Bench, link: bool) -> None:
    """A folder that git tracks: nothing without the yes; with it our lines come into the script, and go again."""
    bench.repo.write("githooks/pre-commit", CHECK, mode=0o755)
    bench.repo.write("githooks/post-commit", "#!/usr/bin/env python3\n", mode=0o755)
    bench.repo.commit("hooks")
    if link:
        hooks = bench.repo.common_dir() / "hooks"
        if hooks.exists():
            hooks.rename(hooks.with_name("samples"))
        hooks.symlink_to("../githooks")
    else:
        bench.repo.config("core.hooksPath", "githooks")
    before = bench.hooks()
    if bench.repo.git("version").split()[2] < "2.54":
        said = bench.run("install")
        assert said.code == 1
        assert "hint: git taskctx install --write-tracked" in said.err
        assert bench.hooks() == before
    said = bench.run("install", "--write-tracked")
    assert said.code == 1
    assert "post-commit is not a shell script: have it run `git-taskctx hook post-commit`" in said.err
    bench.activate()
    bench.hold_both()
    bench.repo.git("checkout", "-q", "HEAD~2", "--", "parser.py")
    states = bench.states()
    assert (states["pre-commit"], states["post-commit"]) == ("fires", "displaced")
    assert bench.run("uninstall").code == 1
    bench.ok("uninstall", "--write-tracked")
    after = bench.hooks()
    assert {name: one for name, one in after.items() if "hooks" in name} == {
        name: one for name, one in before.items() if "hooks" in name
    }


def test_hooks_switched_off(bench: Bench) -> None:
    """core.hooksPath=/dev/null: said, with the command that takes it back; nothing is written."""
    bench.repo.config("core.hooksPath", "/dev/null")
    if bench.repo.git("version").split()[2] >= "2.54":
        pytest.skip("there the configuration runs ours all the same")
    said = bench.run("install")
    assert said.code == 1
    assert "core.hooksPath = /dev/null turns every hook off" in said.err
    doctor = bench.run("doctor")
    assert doctor.code == 1
    assert "  git config --unset core.hooksPath\n" in doctor.out


# --- worktrees and places --------------------------------------------------------------------------------


def test_linked_worktrees_share(bench: Bench, tmp_path: Path) -> None:
    """Installed from a linked worktree, hooks run in all of them, and go again from any."""
    linked = tmp_path / "linked"
    bench.repo.git("worktree", "add", "-q", os.fspath(linked), "-b", "linked")
    bench.write_hook("pre-commit")
    before = bench.hooks()
    bench.ok("install", cwd=linked)
    for top in (linked, bench.repo.path):
        bench.activate(worktree=top)
        bench.hold_both(cwd=top)
    bench.ok("uninstall")
    assert {name for name in bench.hooks() if "hooks" in name} == {name for name in before if "hooks" in name}


def test_bare_with_worktrees(bench: Bench, tmp_path: Path) -> None:
    """A bare repository with worktrees: installed from the bare folder itself or from a worktree, it is the same."""
    bare, top = tmp_path / "bare.git", tmp_path / "tree"
    bench.repo.git("clone", "-q", "--bare", os.fspath(bench.repo.path), os.fspath(bare))
    bench.repo.git("worktree", "add", "-q", os.fspath(top), "main", cwd=bare)
    there = Desk(GitRepo(top, env=bench.repo.env))
    said = there.ok("install", cwd=bare)
    assert f"wrote {bare}/hooks/pre-commit" in said.out
    assert "nothing to do" in there.ok("install").err
    assert there.run("doctor").code == 0
    assert there.run("doctor", cwd=bare).code == 0
    bench.activate(worktree=top)
    assert bench.commit(cwd=top) == 0
    assert bench.called() == ["pre-commit", "post-commit"]
    there.ok("uninstall", cwd=bare)
    assert sorted(entry.name for entry in (bare / "hooks").iterdir() if entry.suffix != ".sample") == []


@pytest.mark.parametrize("name", [b"with space", b"with'quote", b"li\xf1e\n", "ünï".encode()])
def test_odd_folders(bench: Bench, tmp_path: Path, name: bytes) -> None:
    """Folders with spaces, quotes, line ends and bytes that are no text, and from a sub-folder."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    repo = GitRepo.init(place)
    repo.env.update(bench.repo.env)
    repo.write("sub/parser.py", "x")
    repo.write("parser.py", "x")
    repo.commit()
    there = Bench(repo, bench.program.parent)
    there.ok("install", cwd=place / "sub")
    there.activate()
    assert there.commit() == 0, there.said
    assert there.called() == ["pre-commit", "post-commit"]
    assert there.run("doctor").code == 0
    there.ok("uninstall")


def test_outside_a_repository(bench: Bench, tmp_path: Path) -> None:
    """Without a repository each verb says so, with 128."""
    for verb in ("install", "uninstall", "doctor"):
        said = bench.run(verb, cwd=tmp_path)
        assert (said.code, said.out) == (128, "")
        assert "not a git repository" in said.err


def test_no_home(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without HOME a repository is served all the same; only --global needs it."""
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    bench.ok("install")
    assert bench.run("doctor").code == 0
    said = bench.run("install", "--global")
    assert (said.code, said.err.splitlines()[0]) == (128, "error: HOME is not set")


def test_health_starts_no_git(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `status` says of the hooks is told from files, and from the settings that are read anyway."""
    from git_taskctx.git.repository import open_repository
    from git_taskctx.hooks.health import judge, look

    bench.ok("install")
    trace = tmp_path / "trace"
    repository = open_repository(bench.repo.path, {**os.environ, "GIT_TASKCTX_TRACE": os.fspath(trace)})
    assert repository.settings
    lines = trace.read_text()
    assert judge(look(place_of(repository))).line == "in place"
    assert trace.read_text() == lines
    repository.close()


def test_modes_are_git_s(bench: Bench) -> None:
    """Shims are readable and executable for everybody, as git's own samples are."""
    bench.ok("install")
    for event in EVENTS:
        assert stat.S_IMODE((bench.repo.common_dir() / "hooks" / event).stat().st_mode) == 0o755


def test_a_repository_that_was_moved(bench: Bench, shared: Path, tmp_path: Path) -> None:
    """Our own folder is named by its whole path: after a move doctor tells that no hook runs, and install mends it."""
    bench.ok("install")
    moved = tmp_path / "moved"
    bench.repo.path.rename(moved)
    there = Bench(GitRepo(moved), bench.program.parent)
    assert there.run("doctor").code == 1
    there.ok("install")
    there.activate()
    there.hold_both(checks=2)
    there.ok("uninstall")
    there.hold_theirs_alone(checks=2)
    assert "hooksPath" not in there.repo.git("config", "--local", "--list")
