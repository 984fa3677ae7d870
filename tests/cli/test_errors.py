"""Exit codes, streams, the JSON document, and every place that a verb may be run from."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from desk import TASK, Desk, executable, plain
from gitrepo import GitRepo
from nobody import as_nobody, readable_python

from git_taskctx.errors import TryAgain
from git_taskctx.files import held_lock


def hint_of(said: str) -> str:
    """Hold that this is one error and one hint in git's own voice; return the hint."""
    error, *rest = said.splitlines()
    assert error.startswith("error: ")
    assert not re.match(r"error: [A-Z][a-z]", error), error
    assert not error.endswith("."), error
    hints = [line for line in rest if line.startswith("hint: ")]
    assert hints, said
    assert all(line.startswith(("hint: ", "  ")) for line in rest), said
    return hints[0].removeprefix("hint: ")


# Exit codes

CODES: dict[str, tuple[int, Callable[[Desk], object], tuple[str, ...]]] = {
    "yes": (0, lambda desk: desk.to_reviewer(), ("verify",)),
    "drift": (1, lambda desk: (desk.to_reviewer(), desk.repo.write("README", "x\n")), ("verify",)),
    "not its turn": (1, lambda desk: desk.implement(), ("start", "--agent", "validator")),
    "blocked": (
        1,
        lambda desk: (desk.to_reviewer(), desk.ok("block", "--agent", "reviewer", "--finding", "x")),
        ("start", "--agent", "validator"),
    ),
    "at work": (3, lambda desk: None, ("verify",)),
    "no context": (128, lambda desk: desk.ok("purge"), ("get",)),
    "one exists": (128, lambda desk: None, ("init", "TASK-2", "--title", "x")),
    "no such agent": (128, lambda desk: None, ("start", "--agent", "auditor")),
    "no such task": (128, lambda desk: None, ("get", "--task", "TASK-9")),
    "bad config": (128, lambda desk: desk.repo.config("taskctx.drift.allowanse", "1"), ("config",)),
    "no such verb": (129, lambda desk: None, ("snapshoot",)),
    "no such option": (129, lambda desk: None, ("verify", "--stict")),
    "no option": (129, lambda desk: None, ("start",)),
    "no value": (129, lambda desk: None, ("start", "--agent")),
    "no verb": (129, lambda desk: None, ("--task", "TASK-1")),
    "bad task id": (129, lambda desk: None, ("get", "--task", "../x")),
    "bad agent name": (129, lambda desk: None, ("init", "TASK-2", "--agents", "Dev")),
    "bad number": (129, lambda desk: None, ("restore", "--agent", "init", "--round", "0")),
    "bad format": (129, lambda desk: None, ("get", "--format", "yaml")),
    "both": (129, lambda desk: None, ("verify", "--for", "reviewer", "--expect", "reviewer")),
}


@pytest.mark.parametrize("name", CODES)
def test_every_ending_has_its_code_and_its_document(begun: Desk, name: str) -> None:
    """The code is the specification's, in text and in JSON; the document is whole, and says the same."""
    code, prepare, args = CODES[name]
    prepare(begun)
    if name == "bad format":
        assert begun.run(*args).code == code
        return
    said = begun.ends(code, *args)
    if code in (0, 1, 3) and args[0] == "verify":
        assert said.out.startswith("worktree: ")
        assert "error:" not in said.err
    elif code:
        assert said.out == ""
        hint_of(said.err)
    document = begun.ends(code, *args, "--format", "json").document()
    if code == 0:
        assert document["error"] is None
        return
    assert set(document["error"]) == {"code", "message", "hint", "paths"}
    assert document["error"]["message"]
    assert document["error"]["hint"]
    before = begun.ends(code, "--format", "json", *args).document()
    assert before["error"]["code"] == document["error"]["code"]


VERBS = (
    "init", "get", "status", "list", "log", "purge", "recover", "sweep", "start", "snapshot", "verify", "diff",
    "update", "block", "unblock", "resolve-drift", "restore", "fingerprint", "config", "schema",
)  # fmt: skip


def test_every_verb_answers_a_wrong_option_in_json(desk: Desk) -> None:
    """129, one document on stdout, nothing else there."""
    for verb in VERBS:
        for args in ((verb, "--no-such-option", "--format", "json"), ("--format=json", verb, "--no-such-option")):
            document = desk.ends(129, *args).document()
            assert document["error"]["code"] == "usage", verb
            assert document["error"]["hint"] == f"git taskctx {verb} -h"


def test_verbs_that_need_no_context_answer_in_json(desk: Desk) -> None:
    """One document, success."""
    for line in (
        "list", "status", "fingerprint", "config", "config --show-origin", "schema", "schema record", "purge", "sweep",
        f"init {TASK} --title x",
    ):  # fmt: skip
        assert desk.ends(0, *line.split(), "--format", "json").document()["success"] is True, line


def test_verbs_with_a_context_answer_in_json(implemented: Desk) -> None:
    """One document, success, with data; each finds what those before it left."""
    for line in (
        "get", "status", "log", "list", "diff", "diff --path", "report", "start --agent reviewer",
        "update --agent reviewer --session-id x", "snapshot --agent reviewer", "restore --agent init",
        "restore --agent reviewer", "block --agent reviewer --finding x", "purge", f"recover {TASK}",
    ):  # fmt: skip
        document = implemented.ends(0, *line.split(), "--format", "json").document()
        assert document["success"] is True, line
        assert document["data"] is not None, line


def test_warnings_are_told_beside_the_document(begun: Desk) -> None:
    """Data on stdout, everything else on stderr, also in JSON: a context edited by hand is never passed over."""
    path = begun.folder() / "context.json"
    path.write_bytes(path.read_bytes() + b"\n")
    said = begun.ends(0, "get", "--format", "json")
    assert said.document()["success"] is True
    assert said.err == "warning: context.json of TASK-1 was edited by hand\n"


def test_an_interrupt_ends_with_130(begun: Desk) -> None:
    """Ctrl-C: no traceback, and the context is before or after."""
    begun.repo.write("parser.py", "mended\n")
    process = begun.begin("snapshot", "--agent", "implementer")
    private = begun.repo.git_dir() / "taskctx"
    deadline = time.monotonic() + 20
    while not any(private.glob("tmp-*")) and process.poll() is None and time.monotonic() < deadline:
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == b""
    assert err.strip() == b""
    begun.ok("snapshot", "--agent", "implementer")
    assert list(private.glob("tmp-*")) == []


def test_a_lock_that_is_held_is_try_again(tmp_path: Path) -> None:
    """75: another process is at it; the lock is the kernel's and dies with its process."""
    path = tmp_path / "lock"
    with held_lock(path), pytest.raises(TryAgain) as caught, held_lock(path, seconds=0):
        pass
    assert caught.value.exit_code == 75
    with held_lock(path):
        pass


@pytest.mark.deep
def test_a_verb_waits_for_the_lock_and_gives_up(begun: Desk) -> None:
    """Ten seconds, then 75, with the hint to try again."""
    with (begun.repo.path / ".agent-output" / ".context_store.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "try again" in begun.refuses("block", "--agent", "reviewer", "--finding", "x", code=75)
        begun.ok("get")


def test_a_closed_pipe_is_no_bug(begun: Desk) -> None:
    """`git taskctx log | head -0`: no traceback, no message."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "git_taskctx", "schema"],
        cwd=begun.repo.path,
        env=begun.environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (1, 141)


# Which context


def test_the_task_may_stand_before_or_after_the_verb(begun: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--task`, then GIT_TASKCTX_TASK, then the active one."""
    assert begun.data("--task", TASK, "get")["task_id"] == TASK
    assert begun.data("get", "--task", TASK)["task_id"] == TASK
    monkeypatch.setenv("GIT_TASKCTX_TASK", "TASK-9")
    assert "TASK-9" in begun.refuses("get", code=128)
    assert begun.data("get", "--task", TASK)["task_id"] == TASK


def test_a_context_by_its_id(begun: Desk) -> None:
    """Where one task has several, `--context` chooses; another one is read, and not written to."""
    first = begun.context()["context_id"]
    begun.ok("purge")
    begun.init()
    second = begun.context()["context_id"]
    assert begun.data("get", "--task", TASK, "--context", first)["context_id"] == first
    assert begun.data("--context", second, "get")["context_id"] == second
    said = begun.refuses("block", "--agent", "reviewer", "--finding", "x", "--task", TASK, "--context", first, code=128)
    assert said == f"error: TASK-1 is archived\nhint: git taskctx recover TASK-1 --context {first}\n"


def test_the_actor(begun: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--actor`, else GIT_TASKCTX_ACTOR, else git's `user.name`."""
    begun.ok("block", "--agent", "reviewer", "--finding", "one")
    monkeypatch.setenv("GIT_TASKCTX_ACTOR", "ann")
    begun.ok("block", "--agent", "reviewer", "--finding", "two")
    begun.ok("block", "--agent", "reviewer", "--finding", "three", "--actor", "bob")
    assert [record["actor"] for record in begun.records("block")] == ["A U Thor", "ann", "bob"]


# From where

PLACES = ("sub-folder", "-C", "link", "git -C", "git -C sub-folder", "--git-dir", "linked worktree")


@pytest.fixture
def git_env(tmp_path: Path) -> dict[str, str]:
    """An environment in which `git taskctx` works."""
    return executable(tmp_path / "bin")


@pytest.mark.parametrize("place", PLACES)
def test_it_works_from_everywhere(begun: Desk, git_env: dict[str, str], tmp_path: Path, place: str) -> None:
    """The same worktree, however one comes to it: the snapshot is git's tree."""
    repo = begun.repo
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.write("deep/down/file", "x\n")
    args: tuple[str, ...] = ()
    cwd = outside
    if place == "sub-folder":
        cwd = repo.at("deep/down")
    elif place == "-C":
        args = ("taskctx", "-C", os.fspath(repo.at("deep")))
    elif place == "link":
        (tmp_path / "link").symlink_to(repo.path)
        cwd = tmp_path / "link" / "deep"
    elif place == "git -C":
        args = ("-C", os.fspath(repo.path), "taskctx")
    elif place == "git -C sub-folder":
        args = ("-C", os.fspath(repo.path), "-C", "deep/down", "taskctx")
    elif place == "--git-dir":
        args = ("--git-dir", os.fspath(repo.git_dir()), "--work-tree", os.fspath(repo.path), "taskctx")
    elif place == "linked worktree":
        repo.git("worktree", "add", "-q", os.fspath(tmp_path / "other"))
        repo = GitRepo(tmp_path / "other")
        cwd = repo.path
        Desk(repo).ok("init", "TASK-2", "--title", "x")
        repo.write("new", "new\n")
    runner = GitRepo(cwd)
    said = runner.run(*(args or ("taskctx",)), "snapshot", "--agent", "implementer", env=git_env)
    assert said.returncode == 0, said.stderr
    assert Desk(repo).seat("implementer")["worktree_snapshot"]["tree"] == repo.oracle()


def test_settings_on_the_command_line(begun: Desk, git_env: dict[str, str]) -> None:
    """`git -c taskctx.k=v taskctx` sees them, and an unknown key is an error with a suggestion."""
    said = begun.repo.git("-c", "taskctx.actor=eve", "taskctx", "config", "--format", "json", env=git_env)
    assert json.loads(said)["data"]["actor"] == "eve"
    done = begun.repo.run("-c", "taskctx.drift.allowanse=1", "taskctx", "config", env=git_env)
    assert done.returncode == 128
    assert b"allowance" in done.stderr


def test_on_an_unborn_branch(repo: GitRepo) -> None:
    """Before the first commit: init, handoff, validate, and the first commit seals."""
    desk = Desk(repo)
    said = desk.init()
    assert "began TASK-1 on the unborn branch main (" in said.out
    assert "on the unborn branch main, context " in desk.ok("status").out
    assert desk.context()["git"]["head"] is None
    desk.validate()
    desk.repo.commit("first")
    assert "is over" in desk.ok("verify").out


def test_on_a_detached_head(desk: Desk) -> None:
    """The branch is null, everything else is as ever."""
    desk.repo.checkout("--detach")
    desk.init()
    assert desk.context()["git"]["branch"] is None
    desk.validate()
    desk.ok("verify")
    desk.repo.commit("mended")
    assert "is over" in desk.ok("verify").out


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere", "not a git repository"),
        ("bare", "must be run in a work tree"),
        ("inside .git", "must be run in a work tree"),
    ],
)
@pytest.mark.parametrize(
    "args", [("status",), ("init", TASK, "--title", "x"), ("fingerprint",)], ids=lambda args: args[0]
)
def test_where_there_is_no_worktree(
    desk: Desk, tmp_path: Path, place: str, message: str, args: tuple[str, ...]
) -> None:
    """128 with git's reason, and nothing is made there."""
    folder = tmp_path / "nowhere"
    folder.mkdir()
    if place == "bare":
        GitRepo.init(folder, "--bare")
    if place == "inside .git":
        folder = desk.repo.git_dir() / "refs"
    before = sorted(folder.rglob("*"))
    said = desk.refuses(*args, code=128, cwd=folder)
    assert message in said
    hint_of(said)
    assert sorted(folder.rglob("*")) == before


def test_a_folder_that_is_not_there(desk: Desk) -> None:
    """`-C` says so."""
    assert plain(desk.run("-C", "/nonexistent", "status").err).startswith("error: cannot change to '/nonexistent'")
    assert desk.run("-C", "/nonexistent", "status").code == 128


def test_a_base_commit_that_is_not_there(desk: Desk) -> None:
    """`--base-commit` names what it did not find."""
    said = desk.refuses("init", TASK, "--title", "x", "--base-commit", "no-such", code=128)
    assert said.startswith("error: 'no-such' is not a commit\n")
    assert not desk.repo.at(".agent-output/active").exists()


def test_a_parent_that_ignores_the_end_of_its_children(implemented: Desk) -> None:
    """How each git ended is known all the same: here that one found no repository."""
    deaf = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    ours = [sys.executable, "-P", "-m", "git_taskctx"]
    for words in (["verify"], ["-C", "/", "status"]):
        heard, unheard = (
            subprocess.run(
                [*argv, *words], cwd=implemented.repo.path, capture_output=True, env=implemented.environment()
            )
            for argv in (ours, [sys.executable, "-c", deaf, *ours])
        )
        assert (unheard.returncode, unheard.stdout, unheard.stderr) == (heard.returncode, heard.stdout, heard.stderr)


def test_verify_without_a_context_could_not_tell(desk: Desk) -> None:
    """On a dirty tree there is nothing to compare with: 3, never a pass."""
    desk.repo.write("README", "dirty\n")
    assert desk.run("verify").code == 3


@pytest.mark.parametrize("text", ["", "   ", "x" * 2049])
def test_findings_and_notes_have_a_size(begun: Desk, text: str) -> None:
    """Neither empty nor longer than 2 KiB."""
    begun.refuses("block", "--agent", "reviewer", "--finding", text)
    assert begun.seat("reviewer")["blocking_findings"] == []


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine may enter."""
    folder = Path(tempfile.mkdtemp(prefix="taskctx-open-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_on_a_read_only_store_the_verdict_stands(open_folder: Path) -> None:
    """Somebody who may only read gets the same answer, and is told that it was not counted; writing is 128."""
    python = readable_python()
    repo = GitRepo.init(open_folder / "work")
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk = Desk(repo)
    desk.init()
    desk.implement()
    repo.write("parser.py", "drift\n")
    subprocess.run(["chmod", "-R", "a+rX", open_folder], check=True)
    before = repo.census()
    answers = [as_nobody(python, repo, *args) for args in (("verify",), ("get",), ("purge",))]
    assert repo.census() == before
    assert [answer.returncode for answer in answers] == [1, 0, 128]
    assert b"(not counted: the store cannot be written)" in answers[0].stdout
    assert desk.seat("implementer")["drift_budget"] == 0


# Control characters

EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnp\x9b31m"


def test_control_characters_never_reach_the_terminal(desk: Desk) -> None:
    """In titles, descriptions, findings, notes, actors and paths: escaped on every stream, in every format."""
    desk.repo.write(f"{EVIL}.txt".encode(), "x\n")
    verbs: list[tuple[str, ...]] = [
        ("init", TASK, "--title", f"Mend {EVIL}", "--description", f"It {EVIL} breaks", "--actor", f"me{EVIL}"),
        ("snapshot", "--agent", "implementer", "--allow-clean", "--actor", f"me{EVIL}"),
        ("block", "--agent", "reviewer", "--finding", f"no {EVIL} test"),
        ("start", "--agent", "reviewer"),
        ("start", "--agent", "implementer", "--take-over", f"died {EVIL}"),
        ("unblock", "--agent", "reviewer", "--finding", f"F1{EVIL}"),
        ("get",),
        ("status",),
        ("log",),
        ("list",),
        ("diff", "--path"),
        ("start", "--agent", f"rev{EVIL}"),
        ("get", "--task", f"T{EVIL}"),
        ("restore", "--agent", "init", "--paths", f"{EVIL}.txt"),
        (f"verb{EVIL}",),
    ]
    for args in verbs:
        for form in ((), ("--format", "json")):
            said = desk.run(*args, *form)
            bad = [character for character in said.both if not character.isprintable() and character != "\n"]
            assert bad == [], (args, said.both)
    desk.repo.write(f"{EVIL}.txt".encode(), "edited\n")
    desk.run("snapshot", "--agent", "implementer")
    desk.repo.write(f"{EVIL}.txt".encode(), "drift\n")
    for verb in ("verify", "status"):
        said = desk.run(verb)
        assert [character for character in said.both if not character.isprintable() and character != "\n"] == []
