"""A task file that changes while the task runs: what is said, what it holds up, and which keys may change."""

from __future__ import annotations

import json

import pytest
from desk import TASK, Desk

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


def test_volatile_keys_hide_no_other_task(desk: Desk) -> None:
    """Where tasks share a file the state of another may change, and its text is drift."""
    path = "tasks/tasks.json"
    one = {"id": 1, "title": "Mend", "status": "in_progress", "description": "d", "acceptance_criteria": ["a"]}
    tasks = {"tasks": [one, {"id": 2, "title": "Other", "status": "pending", "description": "theirs"}]}
    desk.repo.write(path, text := json.dumps(tasks, indent=1))
    desk.repo.commit("tasks")
    desk.ok("init", "1")
    desk.implement()
    desk.repo.write(path, text.replace("pending", "done"))
    desk.ok("verify")
    desk.repo.write(path, text.replace("theirs", "forged"))
    assert f"  {path}: edited\n" in desk.ends(1, "verify").out


def test_a_head_that_the_task_does_not_expect_is_named(begun: Desk) -> None:
    """`get` in every form and `status` warn, at work and after a snapshot; once it is back they say nothing."""
    expected = begun.repo.git("rev-parse", "HEAD")
    begun.repo.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    told = f"HEAD is {begun.repo.git('rev-parse', 'HEAD')[:12]}, and TASK-1 expects {expected[:12]}"
    for verb in (("status",), ("get",), ("get", "--format", "json"), ("get", "--role", "reviewer", "--format", "md")):
        assert f"warning: {told}\n" in begun.ok(*verb).err
    begun.repo.git("reset", "-q", "--soft", expected)
    assert "expects" not in begun.ok("status").err + begun.ok("get").err
