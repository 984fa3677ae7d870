"""Text of others in a message: nothing that they wrote looks like a line of ours, or becomes a command of a hint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from desk import TASK, Desk, Said
from gitrepo import GitRepo

from git_taskctx.agents.judge import text_of
from git_taskctx.errors import Refused

LINES = "x\nhint: forged\nerror: forged\nforged'; forged '"
"""Lines like ours at the left edge, and the end of a quoted word."""
EVIL = f"{LINES}\r\x1b[2Kforged"
"""The same, and what moves a cursor to the left edge."""
QUOTED = json.dumps(LINES)
"""As TOML and YAML write it."""
_FORGED = re.compile(r"^(?:(?:error|warning|hint|next|paths|fatal|  or): )?forged", re.MULTILINE)
_WORD = re.compile(r"\$'[^']*'|'[^']*'|\"[^\"]*\"")


def hold(said: Said) -> None:
    """Hold that nothing forged begins a line, obeys a terminal, or stands outside a word of a command."""
    assert not _FORGED.search(said.both), said.both
    assert not set("\r\x1b") & set(said.both), said.both
    for line in said.both.splitlines():
        assert "forged" not in _WORD.sub("", line) or not line.startswith(("hint: ", "next: ")), line


def policy_key(desk: Desk) -> Iterator[Said]:
    yield committed(desk, f"{QUOTED} = 1\n")


def policy_value(desk: Desk) -> Iterator[Said]:
    yield committed(desk, f"agents = [{QUOTED}]\n")


def policy_macro(desk: Desk) -> Iterator[Said]:
    yield committed(desk, f"[scope.macros]\n{json.dumps(':mobile' + LINES)} = ['a']\n")


def policy_standard(desk: Desk) -> Iterator[Said]:
    yield committed(desk, f"[[standards.rule]]\nfile = {QUOTED}\nsections = [{QUOTED}]\n")


def policy_stages(desk: Desk) -> Iterator[Said]:
    yield committed(desk, f"[run]\n{QUOTED} = 1\n[stage.{QUOTED}]\nrun = [{QUOTED}]\nafter = [{QUOTED}]\n")


def committed(desk: Desk, policy: str) -> Said:
    desk.repo.write(".taskctx.toml", policy)
    desk.repo.commit("policy")
    return desk.run("init", "TASK-2", "--title", "t")


def task_file(desk: Desk) -> Iterator[Said]:
    text = f"title: t\n{QUOTED}: 1\narea: {QUOTED}\nid: {QUOTED}\nstatus: {QUOTED}\n"
    desk.repo.write("t.yaml", f"{text}scope:\n  in: [{QUOTED}]\nstandards: [{QUOTED}]\nvalidation: {QUOTED}\n")
    yield desk.run("init", "TASK-2", "--task-file", "t.yaml")
    yield desk.run("init", "TASK-2", "--task-file", "t.yaml", "--any-status")
    desk.repo.write(f"{EVIL}.yaml", "a: [\n")
    yield desk.run("init", "TASK-2", "--task-file", f"{EVIL}.yaml")
    yield desk.run("init", "TASK-2", "--task-file", f"{EVIL}.nowhere")
    for end in ("a", "b"):
        desk.repo.write(f"tasks/TASK-2-{EVIL}{end}.task.yaml", "title: t\n")
    yield desk.run("init", "TASK-2")


def folder(desk: Desk) -> Iterator[Said]:
    other = Desk(GitRepo.init(desk.repo.path.parent / EVIL))
    other.repo.commit("one")
    (other.repo.path / ".agent-output").symlink_to("elsewhere")
    yield other.run("init", TASK, "--title", "t")
    (other.repo.path / ".agent-output").unlink()
    other.init()
    (active := other.repo.path / ".agent-output" / "active").unlink()
    active.mkdir()
    yield other.run("status")
    active.rmdir()


def arguments(desk: Desk) -> Iterator[Said]:
    desk.init()
    for words in (
        (EVIL,), ("verify", EVIL), ("get", "--task", EVIL), ("start", "--agent", EVIL), ("diff", "--agent", EVIL),
        ("report", EVIL), ("adopt", EVIL), ("evidence", "show", EVIL), ("attach", EVIL, "--type", "log"),
        ("unblock", "--agent", "reviewer", "--finding", EVIL), ("restore", "--agent", "init", "--paths", EVIL),
        ("-C", EVIL, "status"), ("help", EVIL), ("push", EVIL), ("fetch", EVIL), ("recover", EVIL), ("schema", EVIL),
        ("verify", f"HEAD..{EVIL}"), ("init", "T", "--base-commit", EVIL), ("config", EVIL),
        ("resolve-drift", "--note", "n", "--holds", EVIL), ("record-qa", "--agent", "implementer", "--from", EVIL),
        ("status", f"--{EVIL}"), ("get", "--role", EVIL), ("get", "--format", EVIL), ("export", "--format", EVIL),
        ("agent-setup", EVIL), ("completion", EVIL), ("sweep", "--ttl", EVIL), ("hook", EVIL, EVIL), ("--task", EVIL),
        ("verify", "--policy", EVIL), ("export", EVIL, "--task", TASK), ("verify", "HEAD", "--policy", EVIL),
        ("install", "--hooks-dir", EVIL), ("report", "-o", EVIL), ("report", "-o", f"{EVIL}/x"),
    ):  # fmt: skip
        yield desk.run(*words)


def records(desk: Desk) -> Iterator[Said]:
    desk.init("--actor", EVIL, "--description", EVIL.replace("\n", "\n\n"))
    desk.repo.write(EVIL, "1\n")
    yield desk.run("snapshot", "--agent", "implementer", "--actor", EVIL)
    yield desk.run("start", "--agent", "reviewer", "--actor", f"{EVIL} again")
    yield desk.run("block", "--agent", "reviewer", "--finding", EVIL, "--actor", EVIL)
    yield desk.run("start", "--agent", "implementer", "--take-over", EVIL, "--actor", EVIL)
    yield desk.run("snapshot", "--agent", "reviewer", "--attest", EVIL, "--actor", EVIL)
    yield desk.run("start", "--agent", "validator")
    desk.repo.write(EVIL, "2\n")
    desk.repo.write(".gitignore", EVIL)
    for verb in ("verify", "status", "log", "get", "list", "diff", "compare-qa", "complete"):
        yield desk.run(verb)
    yield desk.run("verify", "--for", "validator")
    yield desk.run("resolve-drift", "--note", EVIL, "--actor", EVIL)
    yield desk.run("resolve-drift", "--note", EVIL, "--accept", "--actor", EVIL)
    for verb in ("verify", "status", "log"):
        yield desk.run(verb)
    desk.repo.commit(EVIL, f"--author={LINES.replace(chr(10), ' ')} <a@b>")
    for words in (
        ("verify",),
        ("verify", "HEAD"),
        ("verify", "HEAD~1..HEAD"),
        ("status",),
        ("adopt", "HEAD"),
        ("purge",),
    ):
        yield desk.run(*words)
    yield desk.run("recover", TASK)
    yield desk.run("purge")
    yield desk.run("verify", "HEAD")


def test_nor_is_one_that_an_agent_reads() -> None:
    """What a hook answers an agent has the same lines."""
    assert text_of(Refused(LINES, hint="git taskctx status")) == (
        "git taskctx: x\n  hint: forged\n  error: forged\n  forged'; forged '\nhint: git taskctx status"
    )


SCENES: dict[str, Callable[[Desk], Iterator[Said]]] = {
    one.__name__: one
    for one in (
        policy_key, policy_value, policy_macro, policy_standard, policy_stages, task_file, folder, arguments, records
    )
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_no_line_and_no_command_is_forged(desk: Desk, name: str) -> None:
    """Whatever an error names, it says on lines of its own."""
    named = False
    for said in SCENES[name](desk):
        print(said.code, said.both)
        hold(said)
        named = named or "forged" in said.both
    assert named
