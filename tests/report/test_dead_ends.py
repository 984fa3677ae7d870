"""Places where what was shown to be typed led nowhere: each says now what leads on, and it does when it is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from desk import TASK, Desk, executable, hints_of
from gated import has_config_hooks, put_hooks
from gitrepo import GitRepo


def follow(desk: Desk, *argv: str, code: int = 1) -> str:
    """Run a verb that ends with `code`, type the first thing that it says, which must do; return that."""
    first = hints_of(desk.ends(code, *argv))[0]
    said = desk.typed(first)
    assert said.code == 0, f"{first}\n{said.both}"
    return first.partition("   # ")[0]


def clone_of(desk: Desk, tmp_path: Path) -> Desk:
    """Share the task at hand through a bare repository; return a desk in a second clone, fetched and not begun."""
    bare = GitRepo.init(tmp_path / "hub.git", "--bare")
    desk.repo.git("remote", "add", "origin", os.fspath(bare.path))
    desk.repo.git("push", "-q", "origin", "main")
    desk.ok("push", "origin", "--with-snapshots")
    bare.git("clone", "-q", os.fspath(bare.path), os.fspath(tmp_path / "second"))
    second = Desk(GitRepo(tmp_path / "second"))
    second.ok("fetch", "origin", "--with-snapshots")
    return second


def test_an_unknown_key_of_git_config_is_taken_away(desk: Desk) -> None:
    """Not by the command that just failed: by the one that takes the setting out of the file that it stands in."""
    desk.repo.config("taskctx.drift.strct", "true")
    assert follow(desk, "config", code=128) == "git config --unset-all taskctx.drift.strct"
    desk.ok("config")
    desk.repo.git("config", "--global", "taskctx.nonsense", "1")
    assert follow(desk, "config", code=128).startswith("git config --file /")
    desk.ok("config")
    desk.repo.config("taskctx.drift.strict", "perhaps")
    assert follow(desk, "config", code=128) == "git config --unset-all taskctx.drift.strict"
    desk.ok("config")


def test_recover_without_a_task_names_one_that_can_come_back(validated: Desk) -> None:
    """A task that is over is none."""
    validated.repo.commit("done")
    validated.ok("verify")
    validated.ok("init", "TASK-2", "--title", "the next")
    validated.ok("purge")
    assert follow(validated, "recover", code=129) == "git taskctx recover TASK-2"


def test_status_after_a_fetch_brings_the_task_back(implemented: Desk, tmp_path: Path) -> None:
    """A task in progress that came with its snapshots is recovered, and its id is not offered for another."""
    second = clone_of(implemented, tmp_path)
    said = second.ok("status")
    assert hints_of(said) == [
        f"git taskctx recover {TASK}   # brings it back",
        'git taskctx init TASK-2 --title "what is to be done"',
    ]
    assert follow(second, "status", code=0) == f"git taskctx recover {TASK}"


def test_recover_in_a_second_clone_brings_the_files(begun: Desk, tmp_path: Path) -> None:
    """A clean checkout is not to be accepted as what the implementer left: its files are to be brought."""
    begun.implement("the work\n")
    second = clone_of(begun, tmp_path)
    said = second.ok("recover", TASK)
    assert "--accept" not in said.both
    assert hints_of(said) == ["git taskctx restore --agent implementer   # brings what implementer left"]
    assert second.typed(hints_of(said)[0]).code == 0
    assert second.repo.read("parser.py") == b"the work\n"
    assert hints_of(second.ok("status")) == ["git taskctx start --agent reviewer"]


def test_the_last_agent_has_edited(reviewed: Desk) -> None:
    """`--done` would be refused: it may record its edits and hand back, or take them back."""
    reviewed.ok("start", "--agent", "validator")
    reviewed.repo.write("parser.py", "better\n")
    back, undo = hints_of(reviewed.ok("status"))
    assert back.startswith("git taskctx snapshot --agent validator && git taskctx start --agent reviewer   # ")
    assert undo == "git taskctx restore --agent reviewer   # takes the edits back"
    said = reviewed.ends(1, "snapshot", "--agent", "validator", "--done")
    assert hints_of(said)[1] == "git taskctx restore --agent reviewer   # or takes the edits back"
    assert reviewed.typed(undo).code == 0
    assert follow(reviewed, "status", code=0) == "git taskctx snapshot --agent validator --done"


def test_what_is_not_recorded_yet_can_be_seen(begun: Desk) -> None:
    """`diff` of the agent at work shows what it changed since it was handed the tree; without a name, the last one."""
    begun.repo.write("parser.py", "mended\n")
    pending = begun.ok("diff")
    assert "+mended" in pending.out
    begun.ok("snapshot", "--agent", "implementer")
    begun.ok("start", "--agent", "reviewer")
    said = begun.ok("diff", "--agent", "reviewer")
    assert (said.out, said.err) == (
        "", "reviewer has changed nothing yet\nhint: git taskctx diff   # what the last snapshot recorded\n",
    )  # fmt: skip
    begun.repo.write("parser.py", "reviewed\n")
    said = begun.ok("diff", "--agent", "reviewer")
    assert "-mended" in said.out
    assert "+reviewed" in said.out
    assert "+reviewed" in begun.ok("diff", "--agent", "reviewer", "--type", "from-base").out
    assert begun.ok("diff").out == pending.out
    data = begun.data("diff", "--agent", "reviewer")
    assert (data["agent"], data["round"], data["path"]) == ("reviewer", None, None)
    assert follow(begun, "diff", "--agent", "reviewer", "--path", code=129).startswith("git taskctx diff --agent")


def test_a_commit_around_the_gate_is_taken_back(desk: Desk, tmp_path: Path) -> None:
    """No remote has a record that proves it: the bypass is on record here."""
    desk.repo.env |= executable(tmp_path / "bin")
    put_hooks(desk.repo)
    desk.repo.git("remote", "add", "origin", "https://example.invalid/x.git")
    desk.init()
    desk.repo.write("parser.py", "hasty\n")
    desk.repo.git("add", "-A")
    desk.repo.git("commit", "-q", "--no-verify", "-m", "hasty")
    hints = hints_of(desk.ends(3, "verify", "HEAD"))
    assert not any("fetch" in hint for hint in hints)
    assert hints[0].startswith("git reset --soft ")
    before = desk.repo.git("rev-parse", "HEAD~")
    assert desk.typed(hints[0]).code == 0
    assert desk.repo.git("rev-parse", "HEAD") == before


def test_a_commit_that_does_not_end_the_task_is_looked_at_here(desk: Desk) -> None:
    """With what was dirty before it in the commit, no remote has a record either; the steps here end in a proof."""
    desk.repo.git("remote", "add", "origin", "https://example.invalid/x.git")
    desk.repo.write("README", "dirty before\n")
    desk.init("--agents", "one")
    desk.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "one", "--done")
    desk.repo.git("add", "-A")
    desk.repo.git("commit", "-q", "-m", "all of it")
    hints = hints_of(desk.ends(3, "verify", "HEAD"))
    assert hints == ["git taskctx status   # TASK-1 is active here, and this commit has not ended it"]
    desk.typed(hints_of(desk.ok("status"))[0])
    assert desk.typed(hints_of(desk.ok("status"))[0]).code == 0
    assert desk.ok("verify", "HEAD").out.startswith("commit: verified\n")


def test_the_hooks_are_left_and_the_tool_is_gone(desk: Desk, tmp_path: Path) -> None:
    """They say how to do without it, and not to ask it; as typed, nothing is said at the next commit."""
    desk.ok("install")
    desk.init()
    env = {"PATH": "/usr/bin:/bin"}
    desk.repo.write("parser.py", "mended\n")
    done = desk.repo.run("commit", "-a", "-m", "one", env=env)
    assert done.returncode == 0
    told = done.stderr.decode().splitlines()[0]
    assert told.startswith("git-taskctx cannot be run, so the task was not looked at: install it again, or leave the")
    assert desk.typed(told.rpartition(": ")[2]).code == 0
    desk.repo.write("parser.py", "again\n")
    assert b"taskctx" not in desk.repo.run("commit", "-a", "-m", "two", env=env).stderr


def test_a_sealed_task_is_pushed_where_there_is_a_remote(validated: Desk, tmp_path: Path) -> None:
    """CI proves nothing before the records are there; without a remote there is nobody to send them to."""
    bare = GitRepo.init(tmp_path / "hub.git", "--bare")
    validated.repo.git("remote", "add", "origin", os.fspath(bare.path))
    validated.repo.commit("done")
    hints = hints_of(validated.ok("verify"))
    assert hints == [
        "git taskctx push origin   # so that others, and CI, can prove it", f"git taskctx log --task {TASK}",
    ]  # fmt: skip
    assert validated.typed(hints[0]).code == 0


def test_a_worktree_inside_the_worktree_is_moved_out(implemented: Desk) -> None:
    """`restore` leaves a repository of its own alone, so that it would be told for ever."""
    implemented.repo.git("worktree", "add", "-q", "wt")
    inside = os.fspath(implemented.repo.path / "wt")
    first = follow(implemented, "verify")
    assert first == f"git worktree move {inside} {implemented.repo.path.parent / 'wt'}"
    implemented.ok("verify")


def test_a_repository_that_moved_without_gitmodules_is_put_back(begun: Desk) -> None:
    """`git submodule update` knows only what .gitmodules names."""
    inner = GitRepo.init(begun.repo.path / "inner")
    inner.write("file", "one\n")
    inner.commit("one")
    begun.implement()
    inner.write("file", "two\n")
    inner.commit("two")
    assert follow(begun, "verify").startswith(f"git -C {inner.path} checkout -q --detach ")
    begun.ok("verify")


def test_hooks_that_the_repository_tracks_are_put_in_when_asked(desk: Desk) -> None:
    """One hint for all of them, that writes them, or git's configuration where that can hold hooks."""
    desk.repo.write(".githooks/README", "our hooks\n")
    desk.repo.commit("hooks")
    desk.repo.config("core.hooksPath", ".githooks")
    hints = hints_of(desk.process("doctor", "--format", "json"))
    document = desk.ends(1, "doctor", "--format", "json").document()
    assert hints == []
    tracked = not has_config_hooks(desk.repo)
    hint = f"git taskctx install{' --write-tracked   # writes into the worktree, for all clones' if tracked else ''}"
    assert [line for line in document["error"]["hint"].splitlines() if "install" in line] == [hint]
    assert desk.typed(hint).code == 0
    assert (desk.repo.path / ".githooks" / "pre-commit").exists() is tracked


@pytest.mark.parametrize("name", [b"new\nline", b"esc\x1b", b"caf\xe9", b"quo'te\"", b"sp ace"])
def test_odd_paths_are_left_out_as_typed(desk: Desk, name: bytes) -> None:
    """The commit of a task leaves out what was dirty before it, whatever it is called."""
    desk.repo.write(name, "dirt\n")
    desk.init()
    desk.validate()
    assert follow(desk, "status", code=0).startswith("git add -A -- :/ ")
    assert "parser.py" in desk.repo.git("show", "--name-only", "--format=", "HEAD")
    assert os.fsencode(desk.repo.path) + b"/" + name in [
        os.fsencode(desk.repo.path) + b"/" + one
        for one in desk.repo.run("ls-files", "-o", "-z").stdout.split(b"\0")
        if not one.startswith((b".agent-output", b"programs"))
    ]
    assert "is over" in desk.ok("status").out


@pytest.mark.parametrize("name", [b"new\nline", b"caf\xe9", b"br[ack]et"])
def test_odd_paths_outside_the_scope_are_undone_as_typed(desk: Desk, name: bytes) -> None:
    """`restore --paths` takes a whole name, whatever is in it."""
    desk.repo.write(".taskctx.toml", "[scope]\noutside = 'block'\n[standards]\nrequire = false\n")
    desk.repo.write(
        "tasks/TASK-1.task.yaml",
        "id: TASK-1\nstatus: in_progress\ntitle: t\ndescription: d\nacceptance_criteria: [a]\n"
        "scope: {in: [parser.py]}\n",
    )
    desk.repo.commit("task")
    desk.ok("init", TASK)
    desk.repo.write("parser.py", "mended\n")
    desk.repo.write(name, "outside\n")
    assert follow(desk, "snapshot", "--agent", "implementer").startswith("git taskctx restore --agent init --paths ")
    desk.ok("snapshot", "--agent", "implementer")


def test_a_take_over_under_distinct_actors(desk: Desk) -> None:
    """Whoever takes over is on record for the work: so the one who did it records it, and another one starts."""
    desk.repo.write(".taskctx.toml", "[chain]\ndistinct_actors = true\n")
    desk.repo.commit("policy")
    desk.init("--actor", "ann")
    desk.repo.write("parser.py", "mended\n")
    said = desk.ends(1, "start", "--agent", "reviewer", "--take-over", "gone", "--actor", "bob")
    assert hints_of(said) == [
        "git taskctx snapshot --agent implementer --actor ann && git taskctx start --agent reviewer --actor bob"
        "   # as whoever did the work"
    ]
    assert desk.typed(hints_of(said)[0]).code == 0
    assert desk.seat("reviewer")["actor"] == "bob"


def test_init_that_is_not_ready_keeps_what_was_typed(desk: Desk) -> None:
    """Words that were given are part of the line to type again, `--any-status` among them."""
    desk.repo.write("tasks/TASK-1.task.yaml", "id: TASK-1\nstatus: done\ntitle: t\ndescription: d\n")
    desk.repo.commit("task")
    again = 'git taskctx init TASK-1 --title "another title" --any-status   # once tasks/TASK-1.task.yaml is filled in'
    said = desk.ends(1, "init", TASK, "--title", "another title", "--any-status")
    assert hints_of(said)[0] == again
    said = desk.ends(1, "init", TASK, "--title", "another title")
    assert hints_of(said) == [f"{again}; or set its status"]


def test_an_id_that_a_list_of_tasks_does_not_hold(desk: Desk) -> None:
    """Nothing is wrong with the file: another task of it can be begun."""
    desk.repo.write("tasks.json", '{"tasks": [{"id": 7, "title": "seven", "description": "d", "testStrategy": "t"}]}')
    desk.repo.commit("tasks")
    first = follow(desk, "init", "TASK-9", "--task-file", "tasks.json", code=128)
    assert first == "git taskctx init 7 --task-file tasks.json"
