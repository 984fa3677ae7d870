"""The gate beside real tools that put unstaged changes aside: recognised, never counted, and everything comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from around import TOOLS, Around, Tool
from desk import plain
from gated import Gated
from gitrepo import GitRepo

LINES = "".join(f"{number}\n" for number in range(30))
every_tool = pytest.mark.parametrize("tool", [pytest.param(one, id=one.name, marks=one.mark) for one in TOOLS])
each_tool = pytest.mark.parametrize(
    "tool",
    [
        pytest.param(one, id=one.name, marks=[one.mark, *([pytest.mark.deep] if one.name.endswith("-hide") else [])])
        for one in TOOLS
    ],
)
"""Every tool, in the way that most have it; the others in deep runs."""


@pytest.fixture
def around(desk: Gated, tool: Tool, tmp_path: Path) -> Around:
    """A repository with the tool and the gate, dirty in three ways before the task, and a validated task in it."""
    desk.repo.write("gone", "gone\n")
    desk.repo.write("parser.py", LINES)
    one = Around(desk.repo, tool, tmp_path / "seen")
    one.set_up()
    one.repo.write("README", "mine\n")
    one.repo.write("scratch", "mine\n")
    one.repo.remove("gone")
    one.init()
    one.repo.write("new.py", "new\n")
    one.repo.remove("deep/lexer.py")
    one.implement(LINES.replace("1\n", "one\n", 1).replace("28\n", "twenty-eight\n"))
    one.ok("snapshot", "--agent", "reviewer")
    one.ok("snapshot", "--agent", "validator", "--done")
    return one


TASK = ("parser.py", "new.py", "deep/lexer.py")
PART = "".join(f"{number}\n" for number in range(30)).replace("1\n", "one\n", 1)
ACCEPT = 'git taskctx resolve-drift --accept --note "what happened"'
RESTORE = "git taskctx restore --agent validator"
BY_HOOK = (
    f"hint: {ACCEPT}   # keep what a formatter wrote, which voids what was approved; "
    f"or undo it, and format before the last snapshot: {RESTORE}"
)
DRIFT = f"hint: {RESTORE}   # or keep it as it is now, which voids what was approved: {ACCEPT}"
DIRT = " D gone\n M README\n?? scratch\n"


@every_tool
def test_what_is_put_aside_is_no_drift_and_comes_back(around: Around, tool: Tool) -> None:
    """A check that fails, a half staged file, then all of the task with a changed, a new and a deleted file.

    Nothing is counted, the first two are stopped with everything as it was, and in the end the dirt is there alone.
    """
    around.repo.git("add", "-A", "--", *TASK)
    around.ask("fail")
    around.stops()
    around.ask("fail", on=False)
    around.ok("verify")

    around.stage(PART)
    around.was_asked()
    said = around.stops()
    assert "error: 1 path differs from validator's snapshot 1\n" in said.both
    assert "paths: parser.py\n" in said.both
    (seen,) = around.was_asked()
    assert seen + "\n" == ("broken\n" if tool.hides_all else "mine\n") + PART

    around.repo.git("add", "parser.py")
    _, files, _ = around.state()
    around.passes("commit", "-q", "-m", "x")
    around.was_asked()
    assert around.is_over()
    assert around.records("drift") == around.records("bypass") == []
    assert around.state() == (DIRT, files, "")


@each_tool
def test_what_a_check_formats_is_not_what_was_validated(around: Around, tool: Tool) -> None:
    """The commit is stopped, whether the tool stages what its check wrote or not; nothing of the dirt is lost.

    It is said that a hook did it, unless the tool has put back what it had put aside. Accepted, where the tool has not
    undone it, and approved again, the commit passes.
    """
    around.repo.git("add", "-A", "--", *TASK)
    around.ask("format")
    dirt = [around.repo.read(name) for name in ("README", "scratch")]
    head = around.repo.head()
    said = around.git("commit", "-q", "-m", "x")
    assert said.code != 0, said.both
    assert around.repo.head() == head
    told = [plain(line.strip()) for line in said.both.splitlines()]
    known = tool.inside or not tool.hides_all
    assert [line for line in told if line.startswith(("error: ", "paths: ", "hint: "))] == [
        "error: drift since validator's snapshot 1 (<time>): 1 path changed"
        + " while the hooks of this commit ran" * known,
        "paths: parser.py",
        BY_HOOK if known else DRIFT,
    ]
    assert [around.repo.read(name) for name in ("README", "scratch")] == dirt
    assert not around.repo.at("gone").exists()
    assert around.repo.git("stash", "list") == ""

    around.ask("format", on=False)
    if tool.stages and tool.inside and tool.name != "lefthook":  # lint-staged undoes all when one of its commands fails
        around.repo.write("parser.py", around.repo.read("parser.py") + b"formatted\n")
    around.ok("resolve-drift", "--accept", "--note", "what happened")
    around.repo.git("add", "-A", "--", *TASK[:2])
    for agent in ("implementer", "reviewer", "validator"):
        around.ok("start", "--agent", agent)
        around.ok("snapshot", "--agent", agent, *(["--done"] if agent == "validator" else []))
    around.passes("commit", "-q", "-m", "x")
    assert around.is_over()
    assert around.repo.read("parser.py").endswith(b"formatted\n")


def test_a_formatted_file_that_was_put_aside(begun: Gated) -> None:
    """Staged by its formatter while the rest is away, it is as staged: that what is there may be kept is said too."""
    begun.validate()
    begun.repo.add()
    hook = begun.repo.common_dir() / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho formatted >>parser.py\ngit add -u\nPRE_COMMIT=1 git taskctx hook pre-commit\n")
    for _ in range(2):
        assert begun.blocked("commit", "-m", "x") == [
            "error: 1 path differs from validator's snapshot 1",
            "paths: parser.py",
            'hint: git add -A -- ":(top,literal)parser.py"   # then commit again; or where a formatter wrote it, keep '
            'that: git taskctx resolve-drift --accept --note "what happened"',
        ]


@each_tool
def test_an_edit_on_top_of_what_is_staged(around: Around, tool: Tool) -> None:
    """Put aside while the gate is asked, it leaves the commit what was validated; seen by the gate, it is drift."""
    around.repo.git("add", "-A", "--", *TASK)
    edited = around.repo.read("parser.py") + b"later\n"
    around.repo.write("parser.py", edited)
    said = around.git("commit", "-q", "-m", "x")
    assert around.repo.read("parser.py") == edited
    assert (said.code == 0, len(around.records("drift"))) == ((True, 0) if tool.inside else (False, 1)), said.both
    assert around.is_over() is tool.inside


HUSKY = next(one for one in TOOLS if one.name == "husky")
LEFTHOOK = next(one for one in TOOLS if one.name == "lefthook")


@pytest.mark.needs_lint_staged
@pytest.mark.parametrize("tool", [HUSKY], ids=["husky"])
def test_what_the_tool_leaves_behind_is_no_sign(around: Around, tool: Tool) -> None:
    """lint-staged leaves its patch in the git dir: once it is done, what was taken away is drift as ever."""
    around.repo.git("add", "-A", "--", *TASK)
    around.stage(PART)
    around.stops()
    assert (around.repo.git_dir() / "lint-staged_unstaged.patch").exists()
    around.repo.git("add", "parser.py")
    around.repo.git("checkout", "-q", "--", "README")
    assert "error: drift since validator's snapshot" in around.git("commit", "-q", "-m", "x").err
    assert len(around.records("drift")) == 1


@pytest.mark.needs_lefthook
@pytest.mark.parametrize("tool", [LEFTHOOK], ids=["lefthook"])
def test_in_a_linked_worktree(desk: Gated, tool: Tool, tmp_path: Path) -> None:
    """lefthook names its file otherwise there; what it puts aside is recognised all the same."""
    one = Around(desk.repo, tool, tmp_path / "seen")
    one.set_up()
    ours = one.repo.read("lefthook-local.yml")
    one.repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Around(GitRepo(tmp_path / "linked"), tool, tmp_path / "seen")
    linked.repo.env |= one.repo.env
    linked.repo.write("lefthook-local.yml", ours)
    linked.init()
    linked.validate()
    linked.stage("half\n")
    assert "error: 1 path differs from validator's snapshot 1\n" in linked.stops().both
    linked.repo.add()
    linked.passes("commit", "-q", "-m", "x")
    assert linked.is_over()
    assert linked.records("drift") == []
