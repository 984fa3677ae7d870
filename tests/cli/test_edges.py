"""The edge cases that the design names, row by row."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import TASK, Desk, plain

from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.context import load_context
from git_taskctx.model.values import FrozenInstanceError

SECRET = "ghp_" + "a1B2c3D4e5" * 4  # no token of anybody
BEHIND = "was behind the ledger (an interrupted write) and is replayed"
TASK_FILE = """\
id: TASK-1
status: in_progress
priority: P1
title: Mend the parser
description: It breaks.
acceptance_criteria:
  - it parses
agent_notes: none
"""


@pytest.fixture
def filed(desk: Desk) -> Desk:
    """A context begun from a task file."""
    desk.repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
    desk.repo.commit("task")
    desk.ok("init", TASK)
    return desk


# Concurrent coordination updates


def test_findings_of_processes_at_once_are_all_kept(begun: Desk) -> None:
    """Four agents block at the same moment: four findings, four ids, nothing torn."""
    texts = [f"finding {number}" for number in range(4)]
    processes = [begun.begin("block", "--agent", "reviewer", "--finding", text) for text in texts]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 4
    findings = begun.seat("reviewer")["blocking_findings"]
    assert sorted(finding["text"] for finding in findings) == texts
    assert [finding["id"] for finding in findings] == ["F1", "F2", "F3", "F4"]
    processes = [
        begun.begin("unblock", "--agent", "reviewer", "--finding", "F1"),
        begun.begin("unblock", "--agent", "reviewer", "--finding", "F2"),
        begun.begin("block", "--agent", "validator", "--finding", "slow"),
    ]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 3
    open_now = [finding["id"] for finding in begun.data("status")["findings"]]
    assert open_now == ["F3", "F4", "F5"]


def test_two_inits_at_once(desk: Desk) -> None:
    """One begins, the other is told that one is active; there is one context."""
    processes = [desk.begin("init", f"TASK-{number}", "--title", "x") for number in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert sorted(process.returncode for process in processes) == [0, 128, 128]
    assert len(desk.data("list")) == 1


# The immutable section


def test_no_verb_changes_the_immutable_block(begun: Desk) -> None:
    """From the first record to the last, what every agent reads is the same bytes."""

    def fixed() -> bytes:
        context = begun.context()
        return dump_canonical({key: context[key] for key in ("immutable", "policy", "agents", "created_at")})

    before = fixed()
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    begun.ok("block", "--agent", "reviewer", "--finding", "no test")
    begun.ok("update", "--agent", "reviewer", "--session-id", "s", "--qa-log", "qa.log")
    begun.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    begun.ok("snapshot", "--agent", "reviewer")
    begun.repo.write("parser.py", "drift\n")
    begun.ends(1, "verify")
    begun.ok("resolve-drift", "--accept", "--note", "mine")
    begun.ok("restore", "--agent", "implementer")
    begun.ok("purge")
    begun.ok("recover", TASK)
    assert fixed() == before


def test_the_immutable_block_is_frozen(begun: Desk) -> None:
    """In memory too: no attribute of it, however deep, can be set."""
    context = load_context((begun.folder() / "context.json").read_bytes(), what="context.json")
    for place, name in (
        (context, "immutable"),
        (context.immutable, "task_snapshot"),
        (context.immutable.task_snapshot, "title"),
        (context.git, "head"),
        (context.policy.drift, "allowance"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(place, name, None)


@pytest.mark.parametrize("verb", ["set", "edit", "note", "write"])
def test_there_is_no_generic_verb(begun: Desk, verb: str) -> None:
    """No free-form notes and no `set`."""
    begun.refuses(verb, "title=other", code=129)


# Initialized twice


def test_init_twice_is_refused_and_changes_nothing(begun: Desk) -> None:
    """128; the context is byte for byte what it was."""
    before = (begun.folder() / "context.json").read_bytes()
    said = begun.refuses("init", TASK, "--title", "again", code=128)
    assert said.startswith("error: TASK-1 is active in this worktree\n")
    assert (begun.folder() / "context.json").read_bytes() == before


def test_the_same_task_begun_again_is_another_context(begun: Desk) -> None:
    """Each has its own id, ledger and refs; `recover --context` chooses."""
    first = begun.context()["context_id"]
    begun.implement()
    begun.ok("purge")
    begun.init()
    second = begun.context()["context_id"]
    assert first != second
    assert begun.seat("implementer")["worktree_snapshot"] is None
    begun.ok("purge")
    begun.ok("recover", TASK, "--context", first)
    assert begun.context()["context_id"] == first
    assert begun.seat("implementer")["worktree_snapshot"]["n"] == 1


def test_purging_twice_is_no_error(begun: Desk) -> None:
    """And what was put away comes back, budget and statuses included."""
    begun.implement()
    begun.repo.write("parser.py", "drift\n")
    begun.ends(1, "verify")
    begun.ok("purge")
    assert begun.ok("purge").err == "nothing to put away\n"
    begun.ok("recover", TASK)
    assert begun.seat("implementer")["drift_budget"] == 1


# git HEAD moves

MOVES: dict[str, tuple[Callable[[Desk], object], str]] = {
    "commit": (lambda desk: desk.repo.git("commit", "-q", "--allow-empty", "-m", "empty"), "commit: empty"),
    "reset": (lambda desk: desk.repo.git("reset", "-q", "--soft", "HEAD~1"), "reset: moving to HEAD~1"),
    "merge": (lambda desk: desk.repo.git("merge", "-q", "side"), "merge side: Fast-forward"),
    "checkout": (
        lambda desk: desk.repo.git("checkout", "-q", "side"),
        "from main to side",
    ),
    "pull": (lambda desk: desk.repo.git("pull", "-q", ".", "side"), "pull -q . side: Fast-forward"),
}


@pytest.mark.parametrize("move", MOVES)
def test_head_that_moved_is_drift_in_the_reflogs_own_words(desk: Desk, move: str) -> None:
    """Rebase, merge, pull, reset: what happened is told as git tells it, and the paths that came along."""
    desk.repo.commit("second")
    desk.repo.checkout("-b", "side")
    desk.repo.write("other.py", "other\n")
    desk.repo.commit("other")
    desk.repo.checkout("main")
    desk.init()
    desk.to_reviewer()
    MOVES[move][0](desk)
    said = plain(desk.ends(1, "verify").out)
    [line] = [line for line in said.splitlines() if line.startswith("  HEAD moved (<oid> to <oid>")]
    assert MOVES[move][1] in line
    assert ("  other.py: added\n" in said) == (move in ("merge", "checkout", "pull"))
    assert "drift after reviewer's snapshot is unresolved" in desk.refuses("start", "--agent", "validator")


def test_a_rebase_between_agents_is_drift(desk: Desk) -> None:
    """With autostash the files are the same; HEAD is not."""
    desk.repo.checkout("-b", "side")
    desk.repo.write("other.py", "other\n")
    desk.repo.commit("other")
    desk.repo.checkout("main")
    desk.init()
    desk.to_reviewer()
    desk.repo.git("rebase", "-q", "--autostash", "side")
    said = plain(desk.ends(1, "verify").out)
    assert "HEAD moved" in said
    assert "(rebase" in said
    desk.ok("resolve-drift", "--accept", "--note", "rebased")
    git = desk.context()["git"]
    assert git["head"] == git["parent"] == desk.repo.head()
    desk.ok("start", "--agent", "implementer")


def test_head_that_moves_at_work_moves_the_parent(desk: Desk) -> None:
    """Pulled while at work: a `rebase` record, and the diff holds only the task's own changes."""
    desk.repo.checkout("-b", "side")
    desk.repo.write("other.py", "other\n")
    desk.repo.commit("other")
    desk.repo.checkout("main")
    desk.init()
    desk.repo.git("merge", "-q", "side")
    desk.implement()
    assert [record["type"] for record in desk.records()] == ["init", "rebase", "snapshot"]
    assert desk.context()["git"]["parent"] == desk.repo.head()
    assert "other.py" not in desk.ok("diff", "--type", "from-base", "--agent", "implementer").out


def test_a_moved_head_over_old_content_is_refused(desk: Desk) -> None:
    """The snapshot would silently revert what the others committed."""
    desk.repo.write("README", "better\n")
    desk.repo.commit("better")
    desk.repo.git("reset", "-q", "--hard", "HEAD~1")
    desk.init()
    desk.repo.git("reset", "-q", "--soft", "HEAD@{1}")
    desk.repo.write("parser.py", "mended\n")
    said = desk.refuses("snapshot", "--agent", "implementer")
    assert "1 path that changed there still hold" in said
    assert "  README\n" in said


def test_an_operation_in_progress_is_drift(begun: Desk) -> None:
    """A merge that stopped at a conflict is named."""
    begun.to_reviewer()
    git_dir = begun.repo.git_dir()
    (git_dir / "MERGE_HEAD").write_text(begun.repo.head() + "\n")
    assert "  operation in progress (merge in progress)\n" in begun.ends(1, "verify").out


def test_committed_early(begun: Desk) -> None:
    """HEAD moved with the very tree: its own cause, and no path has changed."""
    begun.to_reviewer()
    begun.repo.commit("too early")
    said = plain(begun.ends(1, "verify").out)
    assert said.startswith("worktree: no\ndrift since reviewer's snapshot 1 (<time>): committed early\n")
    assert "  committed early (<oid> to <oid>, same tree)\n" in said


@pytest.mark.parametrize("way", ["reset --hard", "stash", "checkout -- ."])
def test_work_that_was_taken_away(begun: Desk, way: str) -> None:
    """Stash or reset between agents: file by file, and `restore` brings it back."""
    begun.to_reviewer()
    begun.repo.git(*way.split())
    cause = "stashed (git stash list)" if way == "stash" else "checked out (it is as in HEAD again)"
    assert f"  parser.py: {cause}\n" in begun.ends(1, "verify").out
    begun.ok("restore", "--agent", "reviewer")
    begun.ok("resolve-drift", "--note", "back")


# Secrets

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


@pytest.mark.parametrize("way", ["title", "description", "dirty file"])
def test_a_secret_at_init_is_refused(desk: Desk, way: str) -> None:
    """In what is captured, and in what lies there already."""
    args = ["init", TASK, "--title", f"use {SECRET}" if way == "title" else "Mend"]
    if way == "description":
        args += ["--description", f"use {SECRET}"]
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


# The task file


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "priority: P0\n", ", and its priority is P0, not unset"),
        ("priority: P1\n", "priority: P0\n", ", and its priority is P0, not P1"),
        ("priority: P1\n", "", ", and its priority is gone, not P1"),
        ("priority: P1\n", "priority: [P1\n", ""),
    ],
)
def test_a_changed_priority_is_told(desk: Desk, before: str, after: str, told: str) -> None:
    """Which one it is now, and which one was captured; a file that does not read says no more than that."""
    rest = TASK_FILE.replace("priority: P1\n", "")
    desk.repo.write("tasks/TASK-1.task.yaml", rest + before)
    desk.ok("init", "TASK-1")
    desk.repo.write("tasks/TASK-1.task.yaml", rest + after)
    said = desk.ok("get").err
    changed = "warning: the task file tasks/TASK-1.task.yaml has changed since the context began"
    unreadable = "warning: the task file tasks/TASK-1.task.yaml no longer reads"
    assert said == (f"{changed}{told}\n" if told else f"{unreadable}\n")


def test_a_changed_task_file_warns_and_holds_the_next_step(filed: Desk) -> None:
    """`get`, `status` and `snapshot` warn; the next agent's `start` and `--done` refuse."""
    filed.repo.write("tasks/TASK-1.task.yaml", TASK_FILE.replace("It breaks.", "It burns."))
    warning = "warning: the task file tasks/TASK-1.task.yaml has changed since the context began\n"
    assert warning in filed.ok("get").err
    assert warning in filed.ok("status").err
    assert warning in filed.implement().err
    for args in (("start", "--agent", "reviewer"), ("snapshot", "--agent", "implementer", "--done")):
        assert "error: the task file tasks/TASK-1.task.yaml has changed" in filed.refuses(*args)
    filed.repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
    filed.ok("snapshot", "--agent", "implementer")
    filed.ok("start", "--agent", "reviewer")


def test_a_task_file_that_is_gone_holds_too(filed: Desk) -> None:
    """What every agent reads must still be what somebody wrote."""
    filed.implement()
    filed.repo.remove("tasks/TASK-1.task.yaml")
    assert "is gone" in filed.ok("get").err
    assert "is gone" in filed.refuses("start", "--agent", "reviewer")


@pytest.mark.parametrize(
    ("old", "new"), [("in_progress", "in_review"), ("agent_notes: none", "agent_notes: many\nagent_x: 1")]
)
def test_volatile_keys_are_a_notice(filed: Desk, old: str, new: str) -> None:
    """`status` and `agent_*` may change while the task runs: no drift, no warning, no stop."""
    filed.implement()
    filed.repo.write("tasks/TASK-1.task.yaml", TASK_FILE.replace(old, new))
    assert filed.ok("get").err == ""
    assert "  notice: tasks/TASK-1.task.yaml: only keys that may change while the task runs" in filed.ok("verify").out
    said = filed.ok("start", "--agent", "reviewer")
    assert "notice: tasks/TASK-1.task.yaml: only keys that may change while the task runs" in said.out
    assert filed.seat("implementer")["drift_budget"] == 0


def test_volatile_keys_hide_nothing_else(filed: Desk) -> None:
    """Another path that changed beside them is drift."""
    filed.implement()
    filed.repo.write("tasks/TASK-1.task.yaml", TASK_FILE.replace("in_progress", "in_review"))
    filed.repo.write("README", "changed\n")
    said = filed.ends(1, "verify").out
    assert "  README: edited\n" in said


# Orphans, snapshots that are missing


def test_nobody_starts_without_a_snapshot(begun: Desk) -> None:
    """The implementer forgot: its work is named, and the command to type."""
    begun.repo.write("parser.py", "mended\n")
    assert plain(begun.refuses("start", "--agent", "reviewer")) == (
        "error: implementer is at work since <time>, 1 path changed: parser.py\n"
        "hint: git taskctx snapshot --agent implementer   # when its work is done\n"
        'hint: git taskctx start --agent reviewer --take-over "why"   # or when it died or gave up\n'
    )


def test_asking_for_a_snapshot_that_is_not_there(begun: Desk) -> None:
    """`verify --expect`, `diff` and `restore` say so."""
    assert "reviewer has no snapshot yet" in begun.ends(3, "verify", "--expect", "reviewer").out
    assert "has no snapshot yet" in begun.refuses("diff", "--agent", "reviewer", code=128)
    assert "has no snapshot yet" in begun.refuses("restore", "--agent", "reviewer", code=128)
    begun.implement()
    assert "has no snapshot 7" in begun.refuses("restore", "--agent", "implementer", "--round", "7", code=128)


def test_expect_asks_about_any_agents_snapshot_without_cost(begun: Desk) -> None:
    """Whoever owns the tree; budget only when that agent owns it."""
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    begun.repo.write("parser.py", "reviewed\n")
    begun.ok("snapshot", "--agent", "reviewer")
    assert "parser.py: edited" in begun.ends(1, "verify", "--expect", "implementer").out
    assert begun.seat("implementer")["drift_budget"] == 0
    begun.ok("verify", "--expect", "reviewer")
    begun.repo.write("parser.py", "drift\n")
    begun.ends(1, "verify", "--expect", "reviewer")
    assert begun.seat("reviewer")["drift_budget"] == 1


# Large diffs


def test_a_diff_over_ten_megabytes_warns_and_goes_on(begun: Desk) -> None:
    """Somebody added a dump by mistake; the snapshot is taken, and verifies."""
    begun.repo.write("log.txt", (b"x" * 1023 + b"\n") * 11_000)
    said = begun.ok("snapshot", "--agent", "implementer")
    assert re.search(r"^warning: the diff from the base has 10\.\d MiB, more than 10", said.err, re.MULTILINE)
    begun.ok("start", "--agent", "reviewer")


# Interrupted


KILLING_GIT = """\
#!/bin/sh
number=$(($(cat "$KILLS/count") + 1))
echo "$number" >"$KILLS/count"
if [ "$number" = "$KILL_AT" ] && grep -q git_taskctx "/proc/$PPID/cmdline"; then kill -9 "$PPID"; exit 137; fi
exec "$REAL_GIT" "$@"
"""


@pytest.mark.parametrize("seed", range(4))
def test_kills_at_random_steps_lose_nothing(begun: Desk, tmp_path: Path, seed: int) -> None:
    """A snapshot killed at its Nth call of git: the context reads, the next verb works, no record is lost."""
    chance = random.Random(seed)
    script = tmp_path / "git"
    script.write_text(KILLING_GIT)
    script.chmod(0o755)
    killed = 0
    for step in chance.sample(range(2, 10), 5):
        (tmp_path / "count").write_text("0")
        begun.repo.write("parser.py", f"{seed} {step}\n")
        env = {
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "REAL_GIT": shutil.which("git") or "git",
            "KILLS": os.fspath(tmp_path),
            "KILL_AT": str(step),
        }
        before = begun.records()
        killed += begun.process("snapshot", "--agent", "implementer", env=env).code == -signal.SIGKILL
        hold_together(begun, before)
    assert killed >= 4
    go_on(begun)


@pytest.mark.parametrize("seed", range(2))
def test_kills_at_random_moments_lose_nothing(begun: Desk, seed: int) -> None:
    """The same, killed after so many changes that can be seen on disk: files of ours are hit half written."""
    chance = random.Random(seed)
    for number in range(4):
        begun.repo.write("parser.py", f"{seed} {number}\n")
        before = begun.records()
        process = begun.begin("snapshot", "--agent", "implementer")
        wait_some(begun, process.pid, chance)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        hold_together(begun, before)
    go_on(begun)


def hold_together(desk: Desk, before: list[object]) -> None:
    """Hold that the context reads, that the ledger only grew, and that what is said of the worktree is true."""
    got = desk.ok("get")
    assert got.err in ("", f"warning: context.json of TASK-1 {BEHIND}\n")
    records = desk.records()
    assert records[: len(before)] == before
    context = desk.context()
    snapshots = [record for record in records if record["type"] == "snapshot"]
    recorded = context["coordination"]["implementer"]["worktree_snapshot"]
    assert (recorded and recorded["tree"]) == (snapshots[-1]["tree"] if snapshots else None)
    assert desk.run("verify").code in (0, 1, 3)
    if desk.data("status")["coordination"]["implementer"]["drift_budget"]:
        desk.ok("resolve-drift", "--accept", "--note", "killed")


def go_on(desk: Desk) -> None:
    """Hold that work goes on, and that nothing is left over."""
    desk.ok("snapshot", "--agent", "implementer")
    assert desk.ok("get").err == ""
    desk.ok("verify")
    desk.ok("start", "--agent", "reviewer")
    assert list(desk.folder().glob(".tmp-*")) == []
    assert list((desk.repo.git_dir() / "taskctx").glob("tmp-*")) == []
    assert desk.repo.git("fsck", "--no-dangling") == ""


def wait_some(desk: Desk, pid: int, chance: random.Random) -> None:
    """Wait until the process did so many things that can be seen from outside, or has ended."""
    wanted = chance.randrange(1, 40)
    seen: set[str] = set()
    watched = (desk.repo.git_dir() / "taskctx", desk.folder(), desk.repo.git_dir() / "refs" / "taskctx")
    deadline = time.monotonic() + 30
    while len(seen) < wanted and time.monotonic() < deadline:
        for place in watched:
            for folder, _, names in os.walk(place):
                seen.update(f"{folder}/{name}" for name in names)
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return


def test_a_file_that_a_crash_left_behind_the_ledger_is_replayed(begun: Desk) -> None:
    """The ledger is the truth: reading says so, and the next write mends it."""
    path = begun.folder() / "context.json"
    old = path.read_bytes()
    begun.implement()
    new = path.read_bytes()
    path.write_bytes(old)
    said = begun.ok("get")
    assert said.err == f"warning: context.json of TASK-1 {BEHIND}\n"
    assert begun.seat("implementer")["worktree_snapshot"]["n"] == 1
    assert path.read_bytes() == old
    begun.ok("start", "--agent", "reviewer")
    assert path.read_bytes() not in (old, new)
    assert begun.ok("get").err == ""


def test_leftovers_of_an_interrupted_write_are_cleaned(begun: Desk) -> None:
    """At the next lock, by name; what is not ours stays."""
    for place in (begun.folder(), begun.folder().parent.parent):
        (place / ".tmp-context.json-0123456789ab").write_text("half")
        (place / "mine.tmp").write_text("mine")
    begun.ok("block", "--agent", "reviewer", "--finding", "no test")
    names = [path.name for path in begun.repo.at(".agent-output").rglob("*")]
    assert not any(name.startswith(".tmp-") for name in names)
    assert names.count("mine.tmp") == 2


@pytest.mark.parametrize("branch", ["(unknown)", "(detached)", "(initial)"])
def test_a_branch_that_is_called_as_git_calls_none(begun: Desk, branch: str) -> None:
    """What git says where HEAD did not read, or names no branch, may be a branch's name as well."""
    begun.repo.git("switch", "-q", "-c", branch)
    begun.implement()
    begun.ok("verify")
    assert begun.seat("implementer")["worktree_snapshot"]["branch"] == branch
    assert begun.data("status")["branch"] == branch
