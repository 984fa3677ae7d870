"""Verbs refuse what holds a secret: named by its place, never printed, recorded only by force."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from desk import TASK, Desk

SECRET = "ghp_" + "a1B2c3D4e5" * 4  # no token of anybody

TASK_TEXT = f"id: {TASK}\nstatus: in_progress\ntitle: t\ndescription: d\nacceptance_criteria: [it works]\n"

PLACES: dict[str, tuple[Callable[[Desk], object], tuple[str, ...], str]] = {
    "finding": (
        lambda desk: None,
        ("block", "--agent", "reviewer", "--finding", f"token {SECRET}"),
        r"block record:\d+",
    ),
    "note": (
        lambda desk: (desk.implement(), desk.repo.write("parser.py", "drift\n"), desk.ends(1, "verify")),
        ("resolve-drift", "--accept", "--note", f"token {SECRET}"),
        r"resolve record:\d+",
    ),
    "take-over": (
        lambda desk: None,
        ("start", "--agent", "reviewer", "--take-over", f"token {SECRET}"),
        r"--take-over:\d+",
    ),
    "session id": (
        lambda desk: None,
        ("update", "--agent", "implementer", "--session-id", SECRET),
        r"update record:\d+",
    ),
    "actor": (
        lambda desk: None,
        ("block", "--agent", "reviewer", "--finding", "no test", "--actor", f"me {SECRET}"),
        r"the actor's name:1",
    ),
    "actor of the configuration": (
        lambda desk: desk.repo.config("taskctx.actor", SECRET),
        ("snapshot", "--agent", "implementer", "--allow-clean"),
        r"the actor's name:1",
    ),
    "branch": (
        lambda desk: desk.repo.git("branch", "-m", SECRET),
        ("snapshot", "--agent", "implementer", "--allow-clean"),
        r"snapshot record:\d+",
    ),
    "path of a log": (
        lambda desk: desk.repo.write(f"logs/{SECRET}.log", "1 passed in 0.1s\n"),
        ("update", "--agent", "implementer", "--qa-log", f"logs/{SECRET}.log"),
        r"attach record:\d+",
    ),
    "command of a log": (
        lambda desk: desk.repo.write("log.txt", "1 passed in 0.1s\n"),
        ("record-qa", "--agent", "implementer", "--from", "log.txt", "--command", f"TOKEN={SECRET} pytest"),
        r"(qa|attach) record:\d+",
    ),
    "description of evidence": (
        lambda desk: desk.repo.write("log.txt", "1 passed in 0.1s\n"),
        ("attach", "log.txt", "--type", "other", "--description", SECRET),
        r"attach record:\d+",
    ),
    "added line": (
        lambda desk: desk.repo.write("parser.py", f"broken\n\ntoken = {SECRET}\n"),
        ("snapshot", "--agent", "implementer"),
        r"parser\.py:3",
    ),
    "new file": (
        lambda desk: desk.repo.write("deep/new.env", f"\n\n\nTOKEN={SECRET}\n"),
        ("snapshot", "--agent", "implementer"),
        r"deep/new\.env:4",
    ),
    "binary file": (
        lambda desk: desk.repo.write("new.bin", b"\0\0\n" + SECRET.encode() + b"\0"),
        ("snapshot", "--agent", "implementer"),
        r"new\.bin:2",
    ),
    "attest": (
        lambda desk: desk.repo.write("parser.py", "x\n"),
        ("snapshot", "--agent", "implementer", "--attest", f"token {SECRET}"),
        r"snapshot record:\d+",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_refused_and_never_printed(begun: Desk, place: str) -> None:
    """Named by file, line and kind; on no stream in no format the value; forced, it warns and is recorded."""
    prepare, args, where = PLACES[place]
    prepare(begun)
    before = begun.records()
    said = begun.refuses(*args)
    assert re.search(rf"{where}: GitHub token", said), said
    assert "--force-secrets" in said
    document = begun.ends(1, *args, "--format", "json")
    traced = begun.process(*args, env={"GIT_TASKCTX_TRACE": "1"})
    for text in (said, document.both, traced.both):
        assert SECRET not in text
        assert SECRET[8:] not in text
    assert begun.records() == before
    forced = begun.ok(*args, "--force-secrets")
    assert re.search(rf"warning: {where}: recorded by force: GitHub token", forced.err), forced.err
    assert SECRET not in forced.err
    assert begun.records()[-1]["force_secrets"] is True


@pytest.mark.parametrize("way", ["title", "description", "actor", "comment of a task file", "dirty file"])
def test_a_secret_at_init_is_refused(desk: Desk, way: str) -> None:
    """In what is captured, and in what lies there already."""
    args = ["init", TASK, "--title", f"use {SECRET}" if way == "title" else "Mend"]
    if way == "description":
        args += ["--description", f"use {SECRET}"]
    if way == "actor":
        args += ["--actor", SECRET]
    if way == "comment of a task file":  # it is kept whole, also what is not captured of it
        desk.repo.write(f"tasks/{TASK}.task.yaml", f"# {SECRET}\n{TASK_TEXT}")
        desk.repo.commit("task")
        args = ["init", TASK]
    if way == "dirty file":
        desk.repo.write("notes.env", f"TOKEN={SECRET}\n")
    said = desk.refuses(*args)
    assert "GitHub token" in said
    assert SECRET not in said
    assert not desk.repo.at(".agent-output/active").exists()
    forced = desk.ok(*args, "--force-secrets")
    assert "recorded by force: GitHub token" in forced.err
    assert desk.records("init")[0]["force_secrets"] is True


def test_a_secret_that_was_there_is_not_asked_about_again(begun: Desk) -> None:
    """Only what is added is scanned: a committed line, and one forced before, pass."""
    begun.repo.write("parser.py", f"token = {SECRET}\n")
    begun.ok("snapshot", "--agent", "implementer", "--force-secrets")
    begun.repo.write("README", "changed\n")
    begun.ok("snapshot", "--agent", "implementer")
    begun.ok("start", "--agent", "reviewer")


def test_a_deleted_secret_is_no_secret(desk: Desk) -> None:
    """Taking one out is what everybody wants."""
    desk.repo.write("old.env", f"TOKEN={SECRET}\n")
    desk.repo.commit("oops")
    desk.init()
    desk.repo.write("old.env", "TOKEN=\n")
    desk.implement()
