"""A repository that wants to run something: no verb runs a command that its configuration or its hooks name."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from afterwards import copy_of
from desk import TASK, Desk
from gitrepo import GitRepo
from tiers import some

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "push-to-checkout", "reference-transaction",
    "sendemail-validate", "update",
)  # fmt: skip
SETTINGS = (
    "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor", "core.askPass",
    "core.alternateRefsCommand", "sequence.editor", "credential.helper", "diff.external", "gpg.program",
    "gpg.ssh.program", "gpg.x509.program", "interactive.diffFilter", "uploadpack.packObjectsHook",
    "diff.evil.textconv", "diff.evil.command", "merge.evil.driver", "filter.evil.smudge", "mergetool.evil.cmd",
    "difftool.evil.cmd", "browser.evil.cmd", "trailer.evil.command", "trailer.evil.cmd", "remote.origin.uploadpack",
    "remote.origin.receivepack", "remote.origin.vcs", "hook.evil.command",
)  # fmt: skip
PLAIN = {
    "diff.tool": "evil", "merge.tool": "evil", "web.browser": "evil", "commit.gpgSign": "true", "tag.gpgSign": "true",
    "log.showSignature": "true", "core.untrackedCache": "true", "status.submoduleSummary": "true",
    "gc.auto": "1", "maintenance.auto": "true", "gc.autoDetach": "false", "fetch.recurseSubmodules": "true",
    "submodule.recurse": "true", "diff.submodule": "log", "core.fsmonitorHookVersion": "2",
    "protocol.ext.allow": "always", "hook.evil.event": "reference-transaction",
}  # fmt: skip
ALIASED = ("status", "cat-file", "update-ref", "rev-parse", "taskctx", "ls-files", "write-tree", "for-each-ref")
PAGED = ("status", "log", "diff", "config", "cat-file", "ls-tree", "diff-tree", "rev-parse")
READING: tuple[tuple[str, ...], ...] = (
    ("status",), ("get",), ("log",), ("list",), ("verify",), ("verify", "--exact"), ("verify", "--for", "reviewer"),
    ("verify", "--strict"), ("diff",), ("diff", "--type", "from-base"), ("diff", "--path"), ("fingerprint",),
    ("report",), ("fingerprint", "--exact"), ("config", "--show-origin"), ("schema",), ("status", "--format", "json"),
)  # fmt: skip
WRITING: tuple[tuple[str, ...], ...] = (
    ("snapshot", "--agent", "implementer"), ("start", "--agent", "reviewer"),
    ("block", "--agent", "reviewer", "--finding", "no test"), ("unblock", "--agent", "reviewer", "--finding", "F1"),
    ("update", "--agent", "reviewer", "--session-id", "s1"), ("snapshot", "--agent", "reviewer"),
    ("restore", "--agent", "init"), ("restore", "--agent", "implementer"), ("purge",), ("recover", TASK),
)  # fmt: skip


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a line in a log when it is run."""
    program = tmp_path / "canary"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >>"{tmp_path}/sung"\n[ "$1" = --fetch ] || cat\n')
    program.chmod(0o755)
    return program


def song(canary: Path) -> str:
    """Return what the canary was run for."""
    sung = canary.with_name("sung")
    return sung.read_text() if sung.exists() else ""


def arm(repo: GitRepo, canary: Path) -> None:
    """Name the canary wherever git's configuration, and its folder of hooks, can name a command."""
    hooks = repo.git_dir() / "hooks"
    for folder in (hooks, canary.with_name("elsewhere")):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(canary)
    lines = [f"[{section}]\n\t{key} = {value}\n" for section, key, value in _settings(canary)]
    with (repo.git_dir() / "config").open("a") as config:
        config.writelines(lines)


def _settings(canary: Path) -> list[tuple[str, str, str]]:
    found = [(name, os.fspath(canary)) for name in SETTINGS] + list(PLAIN.items())
    found += [(f"alias.{verb}", f"!{canary}") for verb in ALIASED] + [(f"pager.{verb}", f"{canary}") for verb in PAGED]
    found += [
        ("core.hooksPath", os.fspath(canary.with_name("elsewhere"))),
        ("remote.origin.url", f"ext::{canary} --fetch"),
    ]
    settings = []
    for name, value in found:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        settings.append((f'{section} "{middle}"' if middle else section, key, value))
    return settings


@pytest.fixture
def armed(desk: Desk, canary: Path) -> Desk:
    """A worktree with work in it, in a repository where everything names the canary."""
    desk.repo.write(".gitattributes", "*.py diff=evil merge=evil\nsmudged.txt filter=evil\n")
    desk.repo.write("smudged.txt", "smudged\n")
    desk.repo.commit("attributes")
    alternate = GitRepo.init(canary.with_name("alternate"))
    alternate.commit("alternate")
    (desk.repo.git_dir() / "objects/info/alternates").write_text(f"{alternate.git_dir()}/objects\n")
    arm(desk.repo, canary)
    desk.init()
    desk.repo.write("parser.py", "mended\n")
    desk.repo.write("new.py", "new\n")
    assert song(canary) == ""
    return desk


def test_the_canary_sings_for_git(armed: Desk, canary: Path) -> None:
    """What the other tests rest on: git itself runs it, for its monitor, its hooks, its diffs and its pager."""
    armed.repo.git("status")
    armed.repo.git("diff")
    armed.repo.git("update-ref", "refs/heads/x", "HEAD")
    assert f"{canary} 2 " in song(canary)
    assert "reference-transaction prepared" in song(canary)
    assert "parser.py" in song(canary)


def test_reading_runs_nothing(armed: Desk, canary: Path) -> None:
    """At work, after a snapshot, and with drift: no verb that reads runs a command of the repository's."""
    moments = (lambda: None, lambda: armed.ok("snapshot", "--agent", "implementer"), lambda: _drift(armed))
    for prepare, verbs in zip(moments, (READING[::2], READING[1::2], READING), strict=True):
        prepare()
        for verb in verbs:
            armed.run(*verb)
            assert song(canary) == "", verb


def _drift(desk: Desk) -> None:
    desk.repo.write("parser.py", "drift\n")
    desk.repo.remove("tool")


def test_writing_runs_nothing(armed: Desk, canary: Path) -> None:
    """Nor does one that writes: refs and objects of ours concern no hook, and what is restored is not this filter's."""
    for verb in WRITING:
        armed.ok(*verb)
        assert song(canary) == "", verb
    armed.ok("snapshot", "--agent", "validator", "--done")
    armed.repo.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "commit.gpgSign=false", "add", "-A")
    armed.repo.git(
        "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "commit.gpgSign=false", "commit", "-qm", "x"
    )
    canary.with_name("sung").unlink(missing_ok=True)
    assert "is over" in armed.ok("verify").out
    assert song(canary) == ""


def test_the_environment_names_nothing_either(armed: Desk, canary: Path) -> None:
    """Editors, pagers, helpers and external diffs that the environment names are not run."""
    names = (
        "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_SEQUENCE_EDITOR", "GIT_SSH",
        "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "BROWSER", "LESSOPEN",
    )  # fmt: skip
    env = dict.fromkeys(names, os.fspath(canary))
    for verb in (*READING[:5:2], ("snapshot", "--agent", "implementer"), ("diff",), ("verify",)):
        armed.process(*verb, env=env)
        assert song(canary) == "", verb


def test_a_clean_filter_runs_as_under_git(desk: Desk, canary: Path) -> None:
    """The one command that decides what the tree is: git's `add` would run it, and so do we, for its files alone."""
    desk.repo.write(".gitattributes", "*.txt filter=clean\n")
    desk.repo.config("filter.clean.clean", os.fspath(canary))
    desk.repo.config("filter.clean.smudge", "false")
    desk.repo.config("filter.other.clean", "false")
    desk.init()
    assert song(canary) == ""
    desk.repo.write("page.txt", "page\n")
    desk.implement()
    lines = song(canary).splitlines()
    assert set(lines) == {f"{canary} "}
    assert desk.seat("implementer")["worktree_snapshot"]["tree"] == desk.repo.oracle()


def test_a_hostile_submodule_runs_nothing(begun: Desk, canary: Path, tmp_path: Path) -> None:
    """Its configuration is not ours, and `-c` of the outer repository does not reach it."""
    library = GitRepo.init(tmp_path / "library")
    library.write("lib.c", "one\n")
    library.commit("one")
    begun.repo.git("submodule", "--quiet", "add", os.fspath(library.path), "lib")
    begun.repo.commit("lib")
    inner = GitRepo(begun.repo.at("lib"))
    arm(inner, canary)
    begun.repo.write("lib/lib.c", "edited\n")
    begun.ok("snapshot", "--agent", "implementer", "--allow-clean")
    begun.repo.write("lib/new.c", "new\n")
    for verb in READING:
        begun.run(*verb)
        assert song(canary) == "", verb
    begun.repo.git("status")
    assert song(canary) != "", "git itself runs nothing there: this test shows nothing"


def test_nothing_is_fetched(armed: Desk, canary: Path) -> None:
    """A partial clone whose promisor is a command: a missing object is told, and not fetched."""
    armed.ok("snapshot", "--agent", "implementer")
    blob = armed.repo.git("rev-parse", "HEAD:README")
    (armed.repo.git_dir() / "objects" / blob[:2] / blob[2:]).unlink()
    with (armed.repo.git_dir() / "config").open("a") as config:
        config.write("[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryFormatVersion = 1\n")
        config.write('[remote "origin"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n')
    armed.repo.write("README", "edited\n")
    for verb in (*READING, ("snapshot", "--agent", "implementer"), ("restore", "--agent", "init")):
        armed.run(*verb)
        assert song(canary) == "", verb
    armed.repo.run("-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "cat-file", "-p", blob)
    assert song(canary) != "", "git itself fetches nothing: this test shows nothing"


# A .git that is none, or another's

ODD_GIT: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "dangling link": lambda path: path.symlink_to("/nonexistent"),
    "loop": lambda path: path.symlink_to(path),
    "garbage": lambda path: path.write_bytes(b"\xff\0garbage"),
    "nowhere": lambda path: path.write_text("gitdir: /nonexistent\n"),
    "itself": lambda path: path.write_text("gitdir: .git\n"),
    "a file as git dir": lambda path: path.write_text("gitdir: /etc/passwd\n"),
    "an empty folder": lambda path: path.mkdir(),
    "a huge file": lambda path: path.write_bytes(b"gitdir: " + b"x" * 5_000_000),
}


@pytest.mark.parametrize("kind", ODD_GIT)
def test_a_git_dir_that_is_none(desk: Desk, tmp_path: Path, kind: str) -> None:
    """128 in one line, at once, and nothing is written."""
    desk.repo.git_dir().rename(tmp_path / "moved")
    ODD_GIT[kind](desk.repo.at(".git"))
    before = sorted(desk.repo.path.iterdir())
    for verb in (("status",), ("verify",), ("init", TASK, "--title", "x"), ("snapshot", "--agent", "implementer")):
        assert len(desk.refuses(*verb, code=128)) < 500
    assert sorted(desk.repo.path.iterdir()) == before


def test_a_git_file_that_points_to_another_repository(desk: Desk, canary: Path, tmp_path: Path) -> None:
    """It is the repository that git takes: its ledger is read, its commands are not run, its files stay."""
    other = GitRepo.init(tmp_path / "other")
    other.write("a", "a\n")
    other.commit("other")
    arm(other, canary)
    before = other.census()
    desk.repo.git_dir().rename(tmp_path / "moved")
    desk.repo.write(".git", f"gitdir: {other.git_dir()}\n")
    desk.init()
    desk.implement()
    desk.ok("verify")
    desk.ok("status")
    assert song(canary) == ""
    assert other.census() == before
    assert not other.at(".agent-output").exists()


# Odd files where ours should be

DEVICES = {"device": ("c", "1", "3"), "full device": ("c", "1", "7")}
PLACES = (
    ".agent-output/tasks/TASK-1/context.json", ".agent-output/tasks/TASK-1/implementer-1-files.json.gz",
    ".agent-output/tasks/TASK-1/implementer-1-incremental.diff.gz", ".agent-output/tasks/TASK-1",
    ".agent-output/tasks", ".agent-output/archive", ".agent-output/active", ".agent-output/.context_store.lock",
    ".agent-output/.gitignore", ".agent-output/tasks/TASK-1/metrics-implementer.json", ".git/taskctx/context",
    ".git/taskctx",
)  # fmt: skip
KINDS = ("FIFO", "socket", "link", *DEVICES)
VERBS = (*READING[:8], ("diff",), ("snapshot", "--agent", "implementer"), ("purge",), ("recover", TASK))


def _put(place: Path, kind: str, target: Path) -> None:
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(target)
    elif kind == "socket":
        with contextlib.chdir(place.parent), socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place.name)  # whose whole name may be too long for one
    elif subprocess.run(["mknod", place, *DEVICES[kind]], capture_output=True, check=False).returncode:
        pytest.skip("only root may make devices")


@pytest.mark.parametrize("kind", some(KINDS, ("FIFO", "link")))
def test_odd_files_where_ours_should_be(begun: Desk, tmp_path: Path, kind: str) -> None:
    """No verb waits for one, writes through one, or is a bug because of one; what a link points to stays as it is."""
    begun.implement()
    begun.repo.write("parser.py", "mended more\n")
    target = tmp_path / "target"
    target.mkdir()
    (target / "tmp-precious").mkdir()
    (target / "tmp-precious" / "file").write_text("precious\n")
    for number, name in enumerate(PLACES):
        desk = copy_of(begun, tmp_path / f"copy-{number}")
        place = desk.repo.at(name)
        if place.is_dir():
            place.rename(place.with_name("away"))
        else:
            place.unlink(missing_ok=True)
        _put(place, kind, target)
        for verb in VERBS[number % 3 :: 3]:
            said = desk.run(*verb)
            assert said.code in (0, 1, 3, 128), f"{name} {verb}: {said.code} {said.both}"
        assert (target / "tmp-precious" / "file").read_text() == "precious\n"
        assert [path.name for path in target.iterdir()] == ["tmp-precious"], name


@pytest.mark.parametrize("place", [".git/taskctx/tmp-planted", ".agent-output/.tmp-planted", ".agent-output/archive/x"])
def test_sweeping_follows_no_link(begun: Desk, tmp_path: Path, place: str) -> None:
    """A link under a name that is swept leads nowhere."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("precious\n")
    begun.repo.at(place).parent.mkdir(exist_ok=True)
    begun.repo.at(place).symlink_to(tmp_path / "precious")
    begun.implement()
    begun.ok("verify")
    begun.ok("purge")
    begun.ok("recover", TASK)
    begun.ok("list")
    assert (tmp_path / "precious" / "file").read_text() == "precious\n"


# Names

NAMES = (
    b"\x1b[31mred\x07", b"new\nline", b"tab\there", b"carriage\rreturn", b"\xff\xfe", b"back\\slash", b'quo"te',
    b"-rf", b"--agent", b" space ", b"*", b":(top)x", b"\xe2\x80\xae", b"\xc2\x9b31m", b"%s%n", b"$(touch x)", b"`id`",
    b"a;b", b"a&b", b"error: no", b"\x7f",
)  # fmt: skip


def test_names_with_control_characters(begun: Desk) -> None:
    """Recorded, told, and put back as they are; never printed as they are."""
    for name in NAMES:
        begun.repo.write(b"names/" + name, name + b"\n")
    begun.ok("snapshot", "--agent", "implementer")
    assert begun.seat("implementer")["worktree_snapshot"]["tree"] == begun.repo.oracle()
    for name in NAMES:
        begun.repo.write(b"names/" + name, b"drift\n")
    begun.repo.remove(*(b"names/" + name for name in NAMES[::2]))
    for verb in (("verify",), ("status",), ("verify", "--format", "json")):
        said = begun.run(*verb)
        assert [one for one in said.both if not one.isprintable() and one != "\n"] == [], verb
    said = begun.ok("restore", "--agent", "implementer")
    assert [one for one in said.both if not one.isprintable() and one != "\n"] == []
    assert {name: begun.repo.read(b"names/" + name) for name in NAMES} == {name: name + b"\n" for name in NAMES}
    assert not begun.repo.at("x").exists()
