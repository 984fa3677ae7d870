"""What somebody wrote into our hook files is never lost, and nothing is written through a link of the repository's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from bench import CHECK, Bench

from git_taskctx.hooks.shims import EVENTS, shim

MINE = b'export PATH="$HOME/bin:$PATH"\n'


CHECKING = CHECK.encode().split(b"\n", 1)[1]


def with_lines(event: str, *, first: bytes = MINE, last: bytes = b"") -> bytes:
    """Return our script with lines of the user's in it."""
    head, rest = shim(event).split(b"\n", 1)
    return head + b"\n" + first + rest + last


def hook(bench: Bench, event: str = "pre-commit") -> Path:
    return bench.repo.common_dir() / "hooks" / event


@pytest.mark.parametrize("event", EVENTS)
def test_uninstall_leaves_lines_that_were_added(bench: Bench, event: str) -> None:
    """Ours are taken out of the script; it says so."""
    bench.ok("install")
    path = hook(bench, event)
    path.write_bytes(with_lines(event, last=b"npm test\n"))
    assert f"{path} has lines that are not ours: they stay" in bench.ok("uninstall").err
    assert path.read_bytes() == b"#!/bin/sh\n" + MINE + b"npm test\n"
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize("event", EVENTS)
def test_install_makes_lines_that_were_added_a_hook_of_their_own(bench: Bench, event: str) -> None:
    """The gate holds again, theirs run before it, and `uninstall` gives them back."""
    bench.ok("install")
    path = hook(bench, event)
    path.write_bytes(with_lines(event, first=CHECKING))
    said = bench.ok("install")
    before = path.parent.with_name("hooks.before-taskctx") / event
    assert f"{path} had lines that are not ours: they are {before} now, which is run first" in said.err
    assert path.read_bytes() == shim(event)
    assert before.read_bytes() == b"#!/bin/sh\n" + CHECKING
    if event == "pre-commit":
        bench.activate()
        bench.hold_both()
    bench.ok("uninstall")
    assert path.read_bytes() == b"#!/bin/sh\n" + CHECKING


def test_lines_that_are_no_script_are_kept_and_not_run(bench: Bench) -> None:
    """As where ours stand in the middle of theirs."""
    bench.ok("install")
    edited = with_lines("pre-commit", first=b"if true; then\n", last=b"fi\n")
    hook(bench).write_bytes(edited)
    bench.ok("install")
    assert hook(bench).read_bytes() == shim("pre-commit")
    kept = hook(bench).parent.with_name("hooks.before-taskctx") / "pre-commit.kept-1"
    assert kept.read_bytes() == edited
    bench.ok("uninstall")
    assert kept.read_bytes() == edited


def test_both_a_hook_before_and_lines_in_ours(bench: Bench) -> None:
    """The hook comes back under its name; what was in ours is kept beside it, as it was."""
    bench.write_hook("pre-commit", CHECK)
    bench.ok("install")
    hook(bench).write_bytes(with_lines("pre-commit"))
    said = bench.ok("uninstall")
    assert hook(bench).read_text() == CHECK
    kept = hook(bench).with_name("pre-commit.kept-1")
    assert kept.read_bytes() == with_lines("pre-commit")
    assert f"it is kept as {kept}, and not run" in said.err


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_script_of_another_version_is_kept(bench: Bench, verb: str) -> None:
    """Nobody can tell which of its lines are whose: it is put aside, and named."""
    bench.ok("install")
    other = shim("pre-commit").replace(b"code=0", b"code=00") + b"npm test\n"
    hook(bench).write_bytes(other)
    said = bench.ok(verb)
    kept = [path for path in bench.repo.common_dir().glob("hooks*/pre-commit.kept-1") if path.read_bytes() == other]
    assert len(kept) == 1
    assert os.fspath(kept[0]) in said.err
    if verb == "install":
        assert hook(bench).read_bytes() == shim("pre-commit")
    else:
        assert not hook(bench).exists()


def test_line_ends_of_another_editor_are_no_lines_of_anybody(bench: Bench) -> None:
    """A script saved with CRLF is ours, and is written anew."""
    bench.ok("install")
    hook(bench).write_bytes(shim("pre-commit").replace(b"\n", b"\r\n", 2).replace(b"#!/bin/sh\r\n", b"#!/bin/sh\n"))
    bench.ok("install")
    assert hook(bench).read_bytes() == shim("pre-commit")


def tracked(bench: Bench) -> Path:
    """Let a folder of the worktree's be the hooks folder; return its script for pre-commit."""
    bench.repo.write("githooks/pre-commit", CHECK, mode=0o755)
    bench.repo.commit("hooks")
    bench.repo.config("core.hooksPath", "githooks")
    bench.run("install", "--write-tracked")
    return bench.repo.at("githooks/pre-commit")


def test_lines_between_ours_stay(bench: Bench) -> None:
    """In a script of the user's with our lines in it, also what was written between them is the user's."""
    path = tracked(bench)
    edited = path.read_bytes().replace(b"result=$? input= code=0\n", b"result=$? input= code=0\n" + MINE)
    assert MINE in edited
    path.write_bytes(edited)
    said = bench.ok("uninstall", "--write-tracked")
    assert path.read_bytes() == CHECK.encode() + MINE
    assert "has lines between ours that are not ours: they stay" in said.err


def test_lines_between_ours_of_another_version_stay_as_comments(bench: Bench) -> None:
    """What cannot be told apart is not run, and not lost."""
    path = tracked(bench)
    path.write_bytes(path.read_bytes().replace(b"input= code=0\n", b"input= code=00\n" + MINE))
    bench.ok("uninstall", "--write-tracked")
    rest = path.read_bytes().removeprefix(CHECK.encode())
    assert b"# " + MINE in rest
    assert all(line.startswith(b"#") for line in rest.splitlines())


def test_lines_in_a_script_of_ours_in_the_worktree_stay(bench: Bench) -> None:
    """A tracked script that is all ours, but for what somebody added."""
    tracked(bench)
    path = bench.repo.at("githooks/post-commit")
    path.write_bytes(with_lines("post-commit"))
    bench.run("install", "--write-tracked")
    assert MINE in path.read_bytes()
    bench.run("uninstall", "--write-tracked")
    assert path.read_bytes() == b"#!/bin/sh\n" + MINE


def test_a_long_script_of_the_user_s_is_not_cut(bench: Bench) -> None:
    """More than is read of a script is not written back."""
    bench.repo.write("githooks/pre-commit", CHECK + "# long\n" * 200_000, mode=0o755)
    bench.repo.commit("hooks")
    bench.repo.config("core.hooksPath", "githooks")
    before = bench.repo.read("githooks/pre-commit")
    said = bench.run("install", "--write-tracked")
    assert (said.code, bench.repo.read("githooks/pre-commit")) == (1, before)
    assert "add our lines by hand" in said.err


@pytest.mark.parametrize("where", ["file", "folder", "git dir", "through .git/hooks", "husky"])
def test_a_link_of_the_repository_s_is_not_followed_out_of_it(
    bench: Bench, where: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing outside of the worktree is written, with or without `--write-tracked`."""
    outside = tmp_path_factory.mktemp("outside")
    victim = outside / "pre-commit"
    victim.write_text("theirs\n")
    target = os.fspath(outside)
    if where == "file":
        bench.repo.symlink("githooks/pre-commit", os.fspath(victim))
    elif where == "git dir":
        bench.repo.write("githooks/post-commit", CHECK, mode=0o755)
        bench.repo.symlink("githooks/pre-commit", "../.git/config")
    elif where == "husky":
        (outside / "_").mkdir()
        (outside / "_" / "h").write_text("husky\n")
        bench.repo.symlink(".husky", target)
    else:
        bench.repo.symlink("githooks", target)
    bench.repo.commit("hooks")
    if where == "through .git/hooks":
        shutil.rmtree(bench.repo.common_dir() / "hooks", ignore_errors=True)
        (bench.repo.common_dir() / "hooks").symlink_to("../githooks")
    else:
        bench.repo.config("core.hooksPath", ".husky/_" if where == "husky" else "githooks")
    config = (bench.repo.common_dir() / "config").read_bytes()
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    for verb in ("install", "uninstall"):
        for more in ((), ("--write-tracked",)):
            said = bench.run(verb, *more)
            assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
            if where == "git dir":
                assert (bench.repo.common_dir() / "config").read_bytes() == config
            if verb == "install" and more:
                assert "leads out of the worktree, and is not followed" in said.err
                assert said.code == 1


def test_lefthook_s_configuration_is_no_way_out(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nor is `lefthook-local.yml`, in which lines between ours may hold on to ours."""
    victim = tmp_path_factory.mktemp("outside") / "victim.yml"
    victim.write_text("theirs: 1\n")
    bench.write_hook("pre-commit", '#!/bin/sh\ncall_lefthook run "pre-commit" "$@"\n')
    bench.repo.symlink("lefthook-local.yml", os.fspath(victim))
    bench.run("install", "--write-tracked")
    assert victim.read_text() == "theirs: 1\n"
    bench.repo.remove("lefthook-local.yml")
    bench.run("install", "--write-tracked")
    local = bench.repo.at("lefthook-local.yml")
    edited = local.read_text().replace("    ~taskctx:\n", "    lint:\n      run: npm run lint\n    ~taskctx:\n")
    local.write_text(edited)
    said = bench.run("uninstall", "--write-tracked")
    assert local.read_text() == edited
    assert "take them out by hand" in said.err
