"""Task files of other kinds through the verbs: found, captured, and stale only where the task itself has changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from desk import TASK, Desk

from git_taskctx.context.session import size_warning
from git_taskctx.errors import Refused
from git_taskctx.model.context import load_context
from git_taskctx.model.policy import LimitsPolicy
from git_taskctx.model.values import replace
from git_taskctx.report.advice import advise
from git_taskctx.store import CONTEXT

NOTICE = "  notice: {}: only keys that may change while the task runs"
STALE = "warning: the task file {} has changed since the context began\n"
ISSUE: dict[str, Any] = {
    "number": 12,
    "title": "Parser stops",
    "body": "It stops.\r\n\r\n## Acceptance criteria\r\n\r\n- [ ] it parses\r\n",
    "labels": [{"name": "P1"}],
    "state": "OPEN",
    "updatedAt": "2026-01-01T00:00:00Z",
    "comments": [],
}
TASKS: list[dict[str, Any]] = [
    {"id": 1, "title": "Set up", "description": "Folders.", "status": "done", "testStrategy": "They are there."},
    {
        "id": 2, "title": "Parser", "description": "Read.", "status": "in-progress", "testStrategy": "It reads.",
        "subtasks": [{"id": 1, "title": "Open", "status": "pending"}],
    },
]  # fmt: skip
MARKDOWN = """\
---
title: Parser
status: in_progress
---
Read a file.

## Acceptance criteria
- [ ] it reads

## Work log
"""


def tasks_with(number: int, **changes: Any) -> str:
    """Return a tagged `tasks.json`, with changes to one of its tasks."""
    tasks = [{**task, **(changes if task["id"] == number else {})} for task in TASKS]
    return json.dumps({"master": {"tasks": tasks}}, indent=2)


def holds_still(desk: Desk, path: str, text: str) -> None:
    """Assert that a new text of the task file is a notice: no warning, no drift."""
    desk.repo.write(path, text)
    assert desk.ok("get").err == ""
    assert NOTICE.format(path) in desk.ok("verify").out


def goes_stale(desk: Desk, path: str, text: str) -> None:
    """Assert that a new text of the task file is another task."""
    desk.repo.write(path, text)
    assert desk.ok("get").err == STALE.format(path)
    desk.ends(1, "verify")


def test_an_issue(desk: Desk) -> None:
    """An issue is captured from what `gh` writes; its state, times and ticks may change, its text may not."""
    path = "docs/issue.json"
    desk.repo.write(path, json.dumps(ISSUE))
    desk.repo.commit("issue")
    said = desk.ok("init", "ISSUE-12", "--task-file", path)
    assert said.err.splitlines()[0] == f"warning: {path}: not captured: comments, updatedAt"
    task = desk.context()["immutable"]["task_snapshot"]
    assert (task["title"], task["priority"], task["acceptance_criteria"]) == ("Parser stops", "P1", ["it parses"])
    desk.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    later = {**ISSUE, "state": "CLOSED", "updatedAt": "2026-02-02T00:00:00Z", "comments": [{"body": "done"}]}
    holds_still(desk, path, json.dumps({**later, "body": ISSUE["body"].replace("[ ]", "[x]")}, indent=4))
    goes_stale(desk, path, json.dumps({**later, "body": ISSUE["body"].replace("stops", "burns")}))


def test_criteria_of_the_command_line(desk: Desk) -> None:
    """An issue without criteria takes them from the command line; they come after the file's, and stay at `rebuild`."""
    path = "docs/issue.json"
    desk.repo.write(path, json.dumps({**ISSUE, "body": "It stops."}))
    desk.repo.commit("issue")
    init = ("init", "ISSUE-12", "--task-file", path)
    assert desk.refuses(*init, code=1).endswith(f'git taskctx {" ".join(init)} --criterion "what must hold"\n')
    desk.ok(*init, "--criterion", "it parses", "--criterion", "it is fast")
    assert desk.context()["immutable"]["task_snapshot"]["acceptance_criteria"] == ["it parses", "it is fast"]
    desk.repo.write(path, json.dumps({**ISSUE, "body": "It burns.\n\n## Acceptance criteria\n- it reads\n"}))
    desk.ok("rebuild")
    block = desk.context()["immutable"]
    assert block["task_snapshot"]["acceptance_criteria"] == ["it reads", "it parses", "it is fast"]
    sources = {key: value for key, value in block["sources"].items() if "criteria" in key}
    assert sources == {
        "task_snapshot.acceptance_criteria": f"{path}:L1",
        "task_snapshot.acceptance_criteria[1]": "command line",
        "task_snapshot.acceptance_criteria[2]": "command line",
    }


def test_a_title_with_criteria(desk: Desk) -> None:
    """Without a task file a title may have criteria."""
    desk.ok("init", TASK, "--title", "Parser", "--criterion", "it parses")
    assert desk.context()["immutable"]["task_snapshot"]["acceptance_criteria"] == ["it parses"]


def test_a_file_of_another_task(desk: Desk) -> None:
    """A task file whose id is another one's is refused, however it was found."""
    text = "id: TASK-1\ntitle: t\ndescription: d\nacceptance_criteria: [a]\n"
    desk.repo.write("t.yaml", text)
    desk.repo.write("tasks/TASK-7.task.yaml", text)
    refused = "error: t.yaml is not ready: its id is 'TASK-1', not TASK-9999\n"
    assert desk.refuses("init", "TASK-9999", "--task-file", "t.yaml", code=1).startswith(refused)
    assert "its id is 'TASK-1', not TASK-7" in desk.refuses("init", "TASK-7", code=1)
    desk.ok("init", TASK, "--task-file", "t.yaml")


def test_all_that_is_wrong_at_once(desk: Desk) -> None:
    """What does not read, a section that is not there and what the gates refuse are one report, each once."""
    desk.repo.write("docs/api.md", "# Errors\n")
    desk.repo.write(
        "t.yaml", "title: t\nid: TASK-2\nstatus: todo\nacceptance_criteria: text\nstandards: [docs/api.md#eror]\n"
    )
    assert desk.refuses("init", TASK, "--task-file", "t.yaml", code=128).splitlines()[:4] == [
        "error: t.yaml:4:22: acceptance_criteria: expected a list, found text: begin each item with '- '",
        "  t.yaml:5: docs/api.md has no section 'eror'",
        "  t.yaml is not ready: the description is empty; the status is 'todo', not in_progress; its id is 'TASK-2', "
        "not TASK-1",
        "hint: git taskctx init TASK-1 --task-file t.yaml --any-status   # once t.yaml is filled in; or set its status",
    ]


def test_a_list_of_tasks(desk: Desk) -> None:
    """The id picks a task in `tasks.json`, which is found by its name; the state of other tasks is not part of it."""
    path = "tasks/tasks.json"
    desk.repo.write(path, tasks_with(0))
    desk.repo.commit("tasks")
    desk.ok("init", "2")
    task = desk.context()["immutable"]["task_snapshot"]
    assert (task["title"], task["plan"], task["acceptance_criteria"]) == ("Parser", ["Open"], ["It reads."])
    desk.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    holds_still(desk, path, tasks_with(1, status="pending"))
    holds_still(desk, path, tasks_with(2, status="done", subtasks=[{"id": 1, "title": "Open", "status": "done"}]))
    goes_stale(desk, path, tasks_with(2, details="By lines."))
    assert "task_snapshot.description" in desk.ok("rebuild").out
    assert desk.context()["immutable"]["task_snapshot"]["description"] == "Read.\n\nBy lines.\n"
    assert desk.ok("get").err == ""


def test_markdown(desk: Desk) -> None:
    """Markdown with front matter is found by its name; ticks and the work log tell how far the work is."""
    path = "tasks/TASK-1-parser.md"
    desk.repo.write(path, MARKDOWN)
    desk.repo.write("docs/TASK-1.md", "# Notes on it, which are no task file\n")
    desk.repo.commit("task")
    desk.ok("init", TASK)
    assert desk.context()["git"]["task_file"] == path
    desk.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    holds_still(desk, path, MARKDOWN.replace("[ ]", "[x]").replace("in_progress", "done") + "- began\n")
    goes_stale(desk, path, MARKDOWN.replace("it reads", "it reads everything"))


def test_a_plan_in_markdown(desk: Desk) -> None:
    """A plan keeps what is done, which may change meanwhile; code between its steps is reported and left out."""
    path = "tasks/TASK-1-parser.md"
    front = MARKDOWN.replace("---\n", "---\nplan: '- [x] begin'\n", 1)
    text = front + "\n## Plan\n- [x] open\n- [ ] read\n  ```sh\n  make\n  ```\n\n```sh\nmake all\n```\n"
    desk.repo.write(path, text)
    desk.repo.commit("task")
    assert f"{path}:20: plan: code is not a step, and is left out" in desk.ok("init", TASK).err
    assert desk.context()["immutable"]["task_snapshot"]["plan"] == ["[x] begin", "[x] open", "read\n```sh\nmake\n```\n"]
    desk.repo.write("parser.py", "fixed\n")
    desk.ok("snapshot", "--agent", "implementer")
    holds_still(desk, path, text.replace("[ ] read", "[x] read"))
    goes_stale(desk, path, text.replace("[ ] read", "[x] write"))


def test_what_is_prohibited(desk: Desk) -> None:
    """What the task prohibits stands in every agent's brief."""
    text = "title: t\ndescription: d\nacceptance_criteria: [a]\nconstraints: {prohibited: [new dependencies]}\n"
    desk.repo.write("t.yaml", text)
    desk.ok("init", TASK, "--task-file", "t.yaml")
    for role in ("implementer", "reviewer", "validator"):
        assert "Prohibited: new dependencies" in desk.ok("get", "--role", role, "--format", "md").out


def test_a_list_that_is_too_large(desk: Desk) -> None:
    """A list over the limit names the way to begin without it, which works."""
    desk.repo.write("tasks/tasks.json", tasks_with(0) + " " * (1 << 20))
    desk.repo.commit("tasks")
    assert desk.refuses("init", "2", code=128).endswith(
        'hint: git taskctx init 2 --title "what is to be done"\n'
        "hint: git taskctx init 2 --task-file FILE   # or if it is somewhere else\n"
    )
    said = desk.refuses("init", "2", "--task-file", "tasks/tasks.json", code=128)
    assert said.endswith(
        ': a task file of that size is not read\nhint: git taskctx init 2 --title "what is to be done"\n'
    )
    desk.ok("init", "2", "--title", "what is to be done")


SPEC_KIT = """\
# Tasks: Login

**Input**: `/specs/001-login/`

## Phase 3.1: Setup
- [ ] T001 Create the project
- [x] T002 [P] Add the parser

## Phase 3.2: Tests first
- [ ] T004 [P] [US1] Test the form in tests/test_form.py
  It has two fields.
"""
OPENSPEC = "## 1. Database\n- [ ] 1.1 Add a column\n\n## 2. Server\n- [ ] 2.1 Ask for the code\n"


def test_a_checklist(desk: Desk) -> None:
    """Of a `tasks.md` the id picks a box, or all of them by the folder's name; ticks are how far the work is."""
    path = "specs/001-login/tasks.md"
    desk.repo.write(path, SPEC_KIT)
    desk.repo.commit("tasks")
    desk.ok("init", "T004", "--task-file", path, "--criterion", "it is tested")
    task = desk.context()["immutable"]["task_snapshot"]
    assert task["title"] == "Test the form in tests/test_form.py"
    assert task["description"].split("\n\n") == [task["title"], "Phase 3.2: Tests first", "It has two fields.\n"]
    desk.repo.write("form.py", "fields\n")
    desk.ok("snapshot", "--agent", "implementer")
    holds_still(desk, path, SPEC_KIT.replace("[ ] T00", "[x] T00"))
    goes_stale(desk, path, SPEC_KIT.replace("two fields", "three fields"))
    desk.ok("purge")
    desk.repo.write(path, SPEC_KIT)
    said = desk.refuses("init", "T9", "--task-file", path, code=128)
    assert "no task T9 in this file, which holds 001-login, T001, T002, T004\n" in said
    assert "the status is 'done'" in desk.refuses("init", "T002", "--task-file", path, code=1)
    desk.ok("init", "001-login", "--task-file", path, "--criterion", "all is done")
    assert desk.context()["immutable"]["task_snapshot"]["plan"] == [
        "T001 Create the project",
        "T002 Add the parser",
        "T004 Test the form in tests/test_form.py",
    ]


def test_the_tasks_of_a_change(desk: Desk) -> None:
    """OpenSpec numbers its boxes below numbered headings, and gives the file no title."""
    path = "openspec/changes/add-codes/tasks.md"
    desk.repo.write(path, OPENSPEC)
    desk.ok("init", "add-codes", "--task-file", path, "--criterion", "it asks")
    task = desk.context()["immutable"]["task_snapshot"]
    assert (task["title"], task["plan"]) == ("add-codes", ["1.1 Add a column", "2.1 Ask for the code"])
    desk.ok("purge")
    desk.ok("init", "2.1", "--task-file", path, "--criterion", "it asks")
    assert desk.context()["immutable"]["task_snapshot"]["title"] == "Ask for the code"


@pytest.mark.parametrize("name", ["1.2.story.md", "1-2-login.md"])
def test_a_story_by_its_id(desk: Desk, name: str) -> None:
    """A story of BMAD's is found by its number; the status that its agents write does not make it another one."""
    path = f"docs/stories/{name}"
    story = (
        "# Story 1.2: Login\n\n## Status\n{}\n\n## Story\nAs a user I log in.\n\n## Acceptance Criteria\n1. It works.\n"
    )
    desk.repo.write(path, story.format("Draft"))
    assert "the status is 'Draft'" in desk.refuses("init", "1.2", code=1)
    desk.repo.write(path, story.format("Approved"))
    assert "its id is '1.2', not TASK-9" in desk.refuses("init", "TASK-9", "--task-file", path, code=1)
    desk.ok("init", "1.2")
    desk.repo.write("login.py", "form\n")
    desk.ok("snapshot", "--agent", "implementer")
    holds_still(desk, path, story.format("Ready for Review"))
    goes_stale(desk, path, story.format("Approved").replace("works", "is fast"))


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "id,title\n1,x\n"), ("t.org", "* TODO x\n"), ("t.toml", "a = 1\n")]
)
def test_a_kind_that_is_not_read(desk: Desk, name: str, text: str) -> None:
    """It is said in one sentence, with the way to begin without the file."""
    desk.repo.write(name, text)
    assert desk.refuses("init", TASK, "--task-file", name, code=128) == (
        f"error: {name} is of a kind that is not read: YAML, JSON, JSON Lines and Markdown are\n"
        f'hint: git taskctx init {TASK} --title "what is to be done"\n'
    )


def test_a_task_that_left_the_list(desk: Desk) -> None:
    """A task that is no longer in its file is stale text, and no bug."""
    path = "tasks/tasks.json"
    desk.repo.write(path, tasks_with(0))
    desk.repo.commit("tasks")
    desk.ok("init", "2")
    desk.repo.write(path, json.dumps({"tasks": TASKS[:1]}))
    assert desk.ok("get").err == f"warning: the task file {path} no longer reads\n"
    assert desk.refuses("rebuild", code=128) == (
        f"error: {path}:1:1: no task 2 in this file, which holds 1\n"
        f"hint: git taskctx init 1 --task-file {path}   # or another one of them\n"
    )


def test_names_that_git_quotes(desk: Desk) -> None:
    """A task file is found and read whatever its name is, and through a link that stays in the worktree."""
    desk.repo.write("tasks/TASK-1-größe\t.md", MARKDOWN)
    desk.repo.commit("task")
    desk.ok("init", TASK)
    assert desk.context()["git"]["task_file"] == '"tasks/TASK-1-größe\\t.md"'
    assert desk.ok("get").err == ""
    desk.ok("purge")
    desk.repo.write("plan.yaml", "title: Linked\ndescription: d\nacceptance_criteria: [a]\n")
    (desk.repo.path / "tasks" / "TASK-2.task.yaml").symlink_to("../plan.yaml")
    desk.ok("init", "TASK-2")
    assert desk.context()["immutable"]["task_snapshot"]["title"] == "Linked"


@pytest.mark.parametrize(("name", "limit"), [("title", 2048), ("description", 65536)])
def test_texts_of_the_command_line(desk: Desk, name: str, limit: int) -> None:
    """A title of 2 KiB is taken, and a description of 64; a byte more is refused: there is no file to point to."""
    full = "x" * (limit - (name == "description"))
    title = () if name == "title" else ("--title", "T")
    assert desk.refuses("init", TASK, *title, f"--{name}", full + "x", code=128) == (
        f"error: the {name} has {limit + 1} bytes, more than {limit}\n"
        "hint: git taskctx init TASK-1 --task-file FILE   # put it into a task file\n"
    )
    desk.ok("init", TASK, *title, f"--{name}", full)
    assert desk.context()["immutable"]["task_snapshot"][name].strip() == full


def test_the_size_of_a_context(begun: Desk) -> None:
    """64 KiB are no word worth; a byte more is warned about, or refused where the policy says so."""
    data = (begun.folder() / CONTEXT).read_bytes()
    context = load_context(data, what="context")
    task = context.immutable.task_snapshot

    def sized(size: int, *, enforce: bool = False) -> Any:
        longer = replace(task, title=task.title + "x" * (size - len(data)))
        policy = replace(context.policy, limits=LimitsPolicy())
        wide = context.replace(immutable=replace(context.immutable, task_snapshot=longer), policy=policy)
        assert len(wide.to_bytes()) == size
        return wide.replace(policy=replace(policy, limits=LimitsPolicy(enforce=True))) if enforce else wide

    said = "the context has 65537 bytes, more than 65536 (limits.context_kib = 64)"
    assert size_warning(sized(64 * 1024)) == ()
    assert size_warning(sized(64 * 1024 + 1)) == (said,)
    assert size_warning(sized(64 * 1024 - 1, enforce=True)) == ()
    with pytest.raises(Refused) as caught:
        size_warning(sized(64 * 1024 + 2, enforce=True))
    assert caught.value.message == said
    assert advise(caught.value).hint == "shorten the task file or the findings, or raise limits.context_kib"


@pytest.mark.parametrize(("count", "warnings"), [(1000, ""), (1001, "the first 1000 are listed")])
def test_paths_that_are_listed(desk: Desk, count: int, warnings: str) -> None:
    """Of more than a thousand paths in scope the first thousand are listed, and it is said."""
    for number in range(count):
        desk.repo.write(f"src/{number:04}", "")
    desk.repo.write("t.yaml", "title: T\ndescription: d\nacceptance_criteria: [a]\nrepo_paths: [src]\n")
    desk.repo.commit("many")
    said = desk.ok("init", TASK, "--task-file", "t.yaml")
    assert warnings in said.err
    assert len(desk.context()["immutable"]["repo_paths"]) == 1000


@pytest.mark.parametrize(("count", "more"), [(20, ""), (21, " and 1 more")])
def test_keys_that_are_named(desk: Desk, count: int, more: str) -> None:
    """Twenty keys that are not captured are named; of more the rest is counted."""
    keys = [f"key_{number:02}" for number in range(count)]
    text = "title: T\ndescription: d\nacceptance_criteria: [a]\n" + "".join(f"{key}: x\n" for key in keys)
    desk.repo.write("t.yaml", text)
    desk.repo.commit("keys")
    said = desk.ok("init", TASK, "--task-file", "t.yaml").err.splitlines()[0]
    assert said == f"warning: t.yaml: not captured: {', '.join(keys[:20])}{more}"
