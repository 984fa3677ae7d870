"""Standards: what is cited of them, when the text is stale, what the manifest says, and what `rebuild` does."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from desk import TASK, Desk
from gitrepo import GitRepo, modules_after

UI = """\
# Frontend

## State management

State lives in one store. Nothing else holds it.

## Components

At most 75 lines a component.

### Props

Props are typed.

## State management

A second one.
"""
POLICY = """\
[[standards.rule]]
area = "mobile"
priority = ["P0", "P1"]
file = "standards/ui.md"
sections = ["state-management", "Components"]
[[standards.rule]]
file = "AGENTS.md"
[[standards.rule]]
area = "backend"
file = "standards/none.md"
[scope]
macros_file = "docs/scope.json"
[scope.macros]
":lib" = ["lib/**"]
"""
TASK_FILE = """\
title: Mend the parser
status: in_progress
area: mobile
priority: P1
description: |
  It breaks, see standards/ui.md#props, and (standards/later.md#x).
acceptance_criteria: [it parses]
standards:
  - "standards/ui.md#components: at most 60 lines"
  - {file: ../standards/api.md, section: Errors, requirement: No bare 500s, threshold: 0 of them}
  - Follow the rules of good taste
context:
  repo_paths: [":ui", ":lib"]
"""


@pytest.fixture
def desk(repo: GitRepo) -> Desk:
    """A repository with standards, rules and a task file."""
    repo.write("standards/ui.md", UI)
    repo.write("standards/api.md", "# API\n\n## Errors\n\nNo bare 500s.\n")
    repo.write("CLAUDE.md", "# Agents\n\nRun the tests.\n\n# Style\n\nBe short.\n")
    repo.symlink("AGENTS.md", "CLAUDE.md")
    repo.write(".taskctx.toml", POLICY)
    repo.write("docs/scope.json", '{"ui": ["src/ui/**"], ":lib": ["nowhere/**"]}')
    repo.write("src/ui/a.ts", "a\n")
    repo.write("lib/b.py", "b\n")
    repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
    repo.commit("base")
    return Desk(repo)


def cited(desk: Desk) -> list[tuple[str, str, str, str]]:
    found = desk.context()["immutable"]["standards_citations"]
    return [(one["file"], one["section"], one["line_span"], one["requirement"]) for one in found]


def sha_of(desk: Desk, file: str, first: int, last: int) -> str:
    lines = desk.repo.read(file).splitlines(keepends=True)[first - 1 : last]
    return hashlib.sha256(b"".join(lines)).hexdigest()


def test_what_is_cited(desk: Desk) -> None:
    """Rules that fit, the task's own standards and references in its text are cited, and the task has the word."""
    said = desk.ok("init", TASK)
    assert cited(desk) == [
        ("CLAUDE.md", "agents", "L1-L4", "Run the tests."),
        ("CLAUDE.md", "style", "L5-L7", "Be short."),
        ("standards/api.md", "errors", "L3-L5", "No bare 500s; 0 of them"),
        ("standards/ui.md", "state-management", "L3-L6", "State lives in one store."),
        ("standards/ui.md", "components", "L7-L14", "at most 60 lines"),
        ("standards/ui.md", "props", "L11-L14", "Props are typed."),
    ]
    immutable = desk.context()["immutable"]
    assert immutable["standards_citations"][4]["content_sha"] == sha_of(desk, "standards/ui.md", 7, 14)
    assert immutable["scope_patterns"] == ["src/ui/**", "lib/**"]
    assert immutable["repo_paths"] == ["lib/b.py", "src/ui/a.ts"]
    sources = immutable["sources"]
    assert sources["standards_citations.standards/ui.md#props"] == "tasks/TASK-1.task.yaml:L6"
    assert sources["standards_citations.standards/ui.md#state-management"] == ".taskctx.toml"
    assert "tasks/TASK-1.task.yaml:11: standards: names no Markdown file" in said.err
    assert "tasks/TASK-1.task.yaml:6: there is no file standards/later.md" in said.err


def test_a_section_that_is_not_there(desk: Desk) -> None:
    """Every wrong anchor and path is told at once, with the nearest sections."""
    desk.repo.write(
        "tasks/TASK-1.task.yaml", TASK_FILE.replace("ui.md#props", "ui.md#propz").replace("../standards/api", "api")
    )
    assert desk.refuses("init", TASK, code=128) == (
        "error: tasks/TASK-1.task.yaml:10: there is no file api.md in the worktree, or git ignores it\n"
        "  tasks/TASK-1.task.yaml:6: standards/ui.md has no section 'propz'\n"
        "hint: did you mean standards/ui.md#props?\n"
    )


def test_a_file_of_standards_is_at_most_a_mebibyte_long(desk: Desk) -> None:
    """A longer one is refused, and one that has grown beyond it since is stale; neither is parsed, or held whole."""
    most = UI.ljust(2**20 - 1) + "\n"
    desk.repo.write("standards/ui.md", most + "\n")
    desk.repo.commit("one byte too long")
    assert "standards/ui.md has more than 1048576 bytes" in desk.refuses("init", TASK, code=128)
    desk.repo.write("standards/ui.md", most)
    desk.ok("init", TASK)
    desk.repo.write("standards/ui.md", most + "\n")
    stale = "standards/ui.md has more than 1048576 bytes, which has state-management"
    assert stale in desk.ok("get").err
    desk.ok("snapshot", "--agent", "implementer")
    assert stale in desk.refuses("start", "--agent", "reviewer")


def test_a_standard_is_required(desk: Desk) -> None:
    """With rules, or `standards.require`, a task file that cites nothing is refused; without, it is not."""
    task = TASK_FILE[: TASK_FILE.index("standards:")].replace("standards/ui.md#props", "it").replace("mobile", "web")
    desk.repo.write("tasks/TASK-1.task.yaml", task)
    for policy, code in {
        "": 0,
        "[standards]\nrequire = true\n": 1,
        '[[standards.rule]]\narea = "x"\nfile = "CLAUDE.md"\n': 1,
    }.items():
        desk.repo.write(".taskctx.toml", policy)
        desk.repo.commit("policy")
        said = desk.ends(code, "init", TASK)
        if code:
            assert "is not ready: no standard is cited" in said.err
        else:
            desk.ok("purge")


def test_staleness_goes_by_section(desk: Desk) -> None:
    """An edit elsewhere in a file is no staleness; one in a cited section stops the handoff until `rebuild`."""
    desk.ok("init", TASK)
    desk.repo.write("standards/ui.md", UI + "\nMore of the second.\n")
    said = desk.ok("snapshot", "--agent", "implementer")
    assert "has changed" not in said.err
    desk.repo.write("standards/ui.md", UI.replace("typed", "frozen"))
    said = desk.ok("snapshot", "--agent", "implementer")
    stale = "standards/ui.md#components has changed since the context began"
    assert f"warning: {stale}" in said.err
    assert stale in desk.ok("get").err
    error = desk.refuses("start", "--agent", "reviewer")
    assert stale in error and "git taskctx rebuild" in error
    told = desk.data("rebuild")
    names = sorted(change["field"] for change in told["changes"])
    assert names == [
        "standards_citations.standards/ui.md#components.content_sha",
        "standards_citations.standards/ui.md#props.content_sha",
        "standards_citations.standards/ui.md#props.requirement",
    ]
    desk.ok("start", "--agent", "reviewer")


def test_rebuild_voids_approvals_of_the_old_text(desk: Desk) -> None:
    """Approvals given under the old text are void, the rest of the coordination stays, and it is on record."""
    desk.ok("init", TASK)
    desk.repo.write("src/ui/a.ts", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("snapshot", "--agent", "reviewer")
    desk.repo.write("standards/ui.md", UI.replace("one store", "two stores"))
    told = desk.data("rebuild")
    assert told["voided"] == ["implementer"]
    assert desk.seat("implementer")["stale"] is True
    assert desk.seat("implementer")["worktree_snapshot"]["n"] == 1
    (record,) = desk.records("rebuild")
    assert record["fields"] == [change["field"] for change in told["changes"]]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_section_that_moved(desk: Desk, elsewhere: bool) -> None:
    """A section that moved unchanged, in its file or to another, is found by its hash; approvals stand."""
    desk.ok("init", TASK)
    desk.repo.write("src/ui/a.ts", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    if elsewhere:
        desk.repo.remove("standards/ui.md")
        desk.repo.write("docs/new.md", UI)
    else:
        desk.repo.write("standards/ui.md", UI.replace("# Frontend\n", "# Frontend\n\nHello.\n"))
    told = desk.ok("get").err
    place = "docs/new.md#state-management, L3-L6" if elsewhere else "standards/ui.md#state-management, L5-L8"
    assert f"standards/ui.md#state-management, cited as L3-L6, is now {place}; its text is the same" in told
    assert "has changed" not in told and "is gone" not in told
    if not elsewhere:
        desk.ok("snapshot", "--agent", "implementer")
        desk.ok("snapshot", "--agent", "reviewer")
        rebuilt = desk.data("rebuild")
        assert (rebuilt["voided"], rebuilt["same_text"]) == ([], True)
        assert cited(desk)[3][2] == "L5-L8"
        assert desk.seat("implementer")["stale"] is False
        assert desk.data("rebuild")["changes"] == []


def test_rebuild_takes_a_newer_policy(desk: Desk) -> None:
    """`--policy REV` goes on under the policy of a commit, with its rules and macros, and records it."""
    desk.ok("init", TASK)
    desk.repo.write(".taskctx.toml", POLICY.replace('"Components"', '"state-management-1"').replace("lib/**", "src/**"))
    assert desk.data("rebuild")["changes"] == []
    commit = desk.repo.commit("policy")
    fields = [change["field"] for change in desk.data("rebuild", "--policy", "HEAD")["changes"]]
    assert fields == [
        "policy.scope.macros.:lib",
        "policy.standards.rule",
        "scope_patterns",
        "standards_citations.standards/ui.md#state-management-1",
    ]
    assert desk.records("rebuild")[0]["policy"] == commit
    assert desk.data("rebuild")["changes"] == []


def manifest(desk: Desk) -> Any:
    return json.loads((desk.folder() / "context.manifest").read_bytes())


def test_the_manifest(desk: Desk) -> None:
    """The manifest lists every source by the blob that git gives it, and follows `rebuild` and `recover`."""
    desk.ok("init", TASK)
    found = manifest(desk)
    assert [(one["purpose"], one["path"]) for one in found["sources"]] == [
        ("task", "tasks/TASK-1.task.yaml"),
        ("policy", ".taskctx.toml"),
        ("scope macros", "docs/scope.json"),
        ("standards", "CLAUDE.md"),
        ("standards", "standards/api.md"),
        ("standards", "standards/ui.md"),
    ]
    for one in found["sources"]:
        assert one["oid"] == desk.repo.git("rev-parse", f"HEAD:{one['path']}")
    assert set(found["tools"]) == {"git-taskctx", "markdown-it-py", "normalize_multiline", "ruamel.yaml"}
    assert found["serializer"] == "canonical-json 1.0.0"
    desk.repo.write("standards/api.md", "# API\n\n## Errors\n\nNone.\n")
    desk.ok("rebuild")
    again = manifest(desk)
    assert again["sources"][4]["oid"] == desk.repo.git("hash-object", "standards/api.md")
    desk.ok("purge")
    desk.ok("recover", TASK)
    assert manifest(desk) == again


PLACES = [
    {"LC_ALL": "C", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "1"},
    {"LC_ALL": "C.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "America/St_Johns", "PYTHONHASHSEED": "4242"},
    {"LC_ALL": "POSIX", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONUTF8": "0", "HOME": "/nonexistent", "COLUMNS": "20"},
]


def test_two_machines_write_the_same_bytes(desk: Desk, tmp_path: Path) -> None:
    """Other locales, time zones, umasks, homes and hash seeds change no byte of the block, or of the manifest."""
    desk.repo.write("standards/ü.md", "# Ü\n\nÄ.\n")
    desk.repo.write("tasks/TASK-1.task.yaml", TASK_FILE.replace("it parses", "it parses ß, standards/ü.md#ü"))
    desk.repo.commit("more")
    told = set()
    for index, place in enumerate(PLACES):
        clone = Desk(GitRepo(tmp_path / f"clone-{index}" / ("x" * index)))
        desk.repo.git("clone", "-q", os.fspath(desk.repo.path), os.fspath(clone.repo.path))
        mask = os.umask((0o022, 0o077, 0o002)[index])
        try:
            said = clone.process("init", TASK, "--actor", "me", env=place)
        finally:
            os.umask(mask)
        assert said.code == 0, said.both
        context = json.loads((clone.folder() / "context.json").read_bytes())
        text = (clone.folder() / "context.manifest").read_text("utf-8").replace(context["context_id"], "<id>")
        told.add((json.dumps(context["immutable"], ensure_ascii=False), text))
    assert len(told) == 1
    assert "standards/ü.md" in next(iter(told))[0]


def heavy(desk: Desk, *words: str) -> set[str]:
    """Return which libraries that agents' verbs do without a verb loads."""
    code, loaded = modules_after(*words, cwd=desk.repo.path)
    assert code == 0
    return loaded & {"markdown_it", "rich", "ruamel", "typer"}


def test_unchanged_standards_are_not_parsed(desk: Desk) -> None:
    """The agents' verbs compare blobs, and load no Markdown, also where line ends differ on disk."""
    desk.ok("init", TASK)
    desk.repo.write("src/ui/a.ts", "mended\n")
    assert heavy(desk, "snapshot", "--agent", "implementer") == set()
    assert heavy(desk, "verify") == set()
    assert heavy(desk, "get") == set()
    desk.repo.config("core.autocrlf", "true")
    desk.repo.write("standards/ui.md", UI.replace("\n", "\r\n"))
    assert heavy(desk, "start", "--agent", "reviewer") == set()
    desk.repo.write("standards/ui.md", UI + "\n")
    assert "markdown_it" in heavy(desk, "snapshot", "--agent", "reviewer")


def test_twelve_citations_of_large_standards(desk: Desk) -> None:
    """A task that cites twelve sections of 100 KB starts as many processes of git as one that cites one."""
    filler = "Some text with **bold** words and a [link](x).\n\n" * 16
    text = "# Large\n\n" + "".join(f"## Part {index}\n\nRule {index} holds.\n\n{filler}" for index in range(140))
    assert len(text) > 100_000
    desk.repo.write("standards/large.md", text)
    counts = []
    for number in (1, 12):
        references = " ".join(f"standards/large.md#part-{index * 11}" for index in range(number))
        desk.repo.write("tasks/TASK-1.task.yaml", TASK_FILE.replace("it parses", references))
        desk.repo.commit("more")
        trace = desk.repo.git_dir() / f"trace-{number}"
        assert desk.process("init", TASK, env={"GIT_TASKCTX_TRACE": os.fspath(trace)}).code == 0
        assert len([one for one in cited(desk) if one[0] == "standards/large.md"]) == number
        counts.append(len(trace.read_text().splitlines()))
        desk.ok("purge")
    assert counts[0] == counts[1]


def test_the_cited_text_stands_in_the_brief(desk: Desk) -> None:
    """No agent needs a second read: each section once, a long one up to a line, and the lines that are left named."""
    long = "# Errors\n\nNo bare 500s.\n\n" + "A line of forty characters, more or less\n" * 400
    desk.repo.write("standards/api.md", long)
    desk.repo.commit("a long section")
    desk.ok("init", TASK)
    for agent in ("implementer", "reviewer", "validator"):
        brief = desk.ok("get", "--role", agent, "--format", "md").out
        assert brief.count("State lives in one store. Nothing else holds it.\n") == 1
        assert brief.count("          ### Props\n") == 1
        held = brief.count("          A line of forty characters, more or less\n")
        assert 150 < held < 200
        assert f"          … read on in L{5 + held}-L404\n" in brief
    citations = {one["section"]: one for one in desk.context()["immutable"]["standards_citations"]}
    assert "text" not in citations["props"]
    assert sum(len(one.get("text", "")) for one in citations.values()) < 24 * 1024
