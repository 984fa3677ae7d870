"""The gate before a commit: what was validated passes, anything else is named."""

from __future__ import annotations

import re

import pytest
from gated import Gated

ALL = "git add -A && git commit"


@pytest.mark.parametrize(
    ("stage", "commit"),
    [
        (("add", "-A"), ("commit", "-q", "-m", "x")),
        (("add", "new.py"), ("commit", "-q", "-a", "-m", "x")),
        (("add", "new.py"), ("commit", "-q", "-m", "x", "--", "new.py", "parser.py", "deep/lexer.py")),
        (("add", "-A"), ("commit", "-q", "-m", "x", "-i", "new.py")),
        (("add", "-A"), ("commit", "-q", "-m", "x", "--", ".")),
    ],
    ids=" ".join,
)
def test_what_was_validated_passes_and_ends_the_task(
    validated: Gated, stage: tuple[str, ...], commit: tuple[str, ...]
) -> None:
    """However the same tree gets into the commit, the commit is made, and the record is on it and on its tree."""
    validated.passes(*stage)
    said = validated.passes(*commit)
    assert re.search(r"TASK-1 is over: commit [0-9a-f]{12} is what was validated", said.err)
    assert validated.is_over()
    for target in ("HEAD", "HEAD^{tree}"):
        oid = validated.repo.git("rev-parse", target)
        assert '"type":"seal"' in validated.repo.git("notes", "--ref=taskctx", "show", oid)


def test_nothing_is_asked_without_a_task(desk: Gated) -> None:
    """Before `init`, and after the end of a task, commits are nobody's business."""
    desk.repo.write("parser.py", "anything\n")
    assert desk.passes("commit", "-q", "-a", "-m", "before").err == ""
    desk.init()
    desk.validate()
    desk.passes("commit", "-q", "-a", "-m", "the task")
    desk.repo.write("parser.py", "anything else\n")
    assert desk.passes("commit", "-q", "-a", "-m", "after").err == ""


def test_an_agent_at_work_is_no_reason_to_pass(begun: Gated) -> None:
    """What is being done has been approved by nobody; nothing is counted."""
    begun.repo.write("parser.py", "mended\n")
    assert begun.blocked("commit", "-a", "-m", "early") == [
        "error: implementer has been at work since <time>, and nothing it does now has been approved",
        "paths: parser.py",
        "hint: git taskctx snapshot --agent implementer   # when its work is done",
    ]
    assert begun.seat("implementer")["drift_budget"] == 0


def test_a_chain_that_is_not_done_blocks(begun: Gated) -> None:
    """The message names who has not approved, and the next step."""
    begun.to_reviewer()
    assert begun.blocked("commit", "-a", "-m", "early") == [
        "error: not validated: reviewer and validator have not approved this tree",
        "paths: parser.py",
        "hint: git taskctx start --agent validator",
    ]


def test_drift_blocks_and_is_counted_once(validated: Gated) -> None:
    """A file that changed after the last approval is named and counted; once it is put back, by the budget alone."""
    validated.repo.write("README", "changed\n")
    validated.repo.add()
    for _ in range(2):
        assert validated.blocked("commit", "-m", "x") == [
            "error: drift since validator's snapshot 1 (<time>): 1 path changed",
            "paths: README",
            "hint: git taskctx restore --agent validator   # or keep it as it is now, which voids what was approved: "
            'git taskctx resolve-drift --accept --note "what happened"',
        ]
        assert validated.seat("validator")["drift_budget"] == 1
    validated.repo.write("README", "broken\n")
    validated.repo.add()
    assert validated.blocked("commit", "-m", "x") == [
        "error: 1 unresolved drift (0 allowed) since validator's snapshot",
        "paths: README",
        'hint: git taskctx resolve-drift --note "what happened"',
    ]
    validated.ok("resolve-drift", "--note", "put back")
    validated.passes("commit", "-q", "-m", "x")
    assert validated.is_over()


def test_open_findings_block(validated: Gated) -> None:
    """A finding that nobody closed is named, whatever policy says of the chain."""
    validated.ok("block", "--agent", "validator", "--finding", "a typo")
    assert validated.blocked("commit", "-a", "-m", "x") == [
        "error: findings are open: F1 (by validator)",
        "paths: deep/lexer.py, parser.py",
        "hint: git taskctx unblock --agent validator --finding F1   # once it is fixed",
    ]


def test_a_staged_path_that_is_otherwise_is_named(validated: Gated) -> None:
    """The worktree is as validated, the index is not: the path, and the command that puts the index right."""
    validated.repo.add()
    blob = validated.repo.git("hash-object", "-w", "--stdin", input="smuggled\n")
    validated.repo.git("update-index", "--cacheinfo", f"100644,{blob},parser.py")
    validated.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},extra.py")
    assert validated.blocked("commit", "-m", "x") == [
        "error: 2 paths differ from validator's snapshot 1",
        "paths: extra.py, parser.py",
        'hint: git reset -q -- ":(top,literal)extra.py" && git add -A -- ":(top,literal)parser.py"   '
        "# then commit again",
    ]
    validated.repo.git("reset", "-q", "--", ":(top,literal)extra.py")
    validated.repo.git("add", "-A", "--", ":(top,literal)parser.py")
    validated.passes("commit", "-q", "-m", "x")
    assert validated.is_over()


def test_an_absence_that_is_otherwise_is_named(validated: Gated) -> None:
    """A path that was dropped from the index only is as foreign as one that was added."""
    validated.repo.add()
    validated.repo.git("rm", "-q", "--cached", "README")
    lines = validated.blocked("commit", "-m", "x")
    assert lines[0] == "error: 1 path differs from validator's snapshot 1"
    assert lines[1] == "paths: README"


def test_a_half_staged_file_is_named(desk: Gated) -> None:
    """What `commit -p` leaves of a file is neither HEAD's nor the validated one."""
    desk.repo.write("parser.py", "".join(f"{number}\n" for number in range(30)))
    desk.repo.git("commit", "-q", "-a", "-m", "lines")
    desk.init()
    text = "".join(f"{number}{'!' if number in (1, 28) else ''}\n" for number in range(30))
    desk.implement(text)
    desk.ok("snapshot", "--agent", "reviewer")
    desk.ok("snapshot", "--agent", "validator", "--done")
    said = desk.repo.run("commit", "-q", "-p", "-m", "x", input="y\nn\n")
    assert said.returncode != 0
    assert b"error: 1 path differs from validator's snapshot 1\npaths: parser.py\n" in said.stderr
    desk.passes("commit", "-q", "-a", "-m", "x")
    assert desk.is_over()


def test_a_part_is_refused_by_default(validated: Gated) -> None:
    """Without `commit.partial` the task is one commit; what is missing is named."""
    assert validated.blocked("commit", "-m", "x", "--", "parser.py") == [
        "error: only a part of the task: 2 paths of it are not staged (commit.partial)",
        "paths: deep/lexer.py, new.py",
        f"hint: {ALL}",
    ]


def test_parts_pass_by_policy_and_the_last_one_ends_the_task(desk: Gated) -> None:
    """`commit.partial`: each part is on record, moves the parent, is no drift; the last one seals."""
    desk.repo.config("taskctx.commit.partial", "true")
    desk.init()
    desk.repo.write("new.py", "new\n")
    desk.validate()
    said = desk.passes("commit", "-q", "-m", "first", "--", "parser.py")
    assert "is a part of it, and it goes on" in said.err
    first = desk.repo.head()
    assert [record["commit"] for record in desk.records("part")] == [first]
    assert desk.context()["git"]["parent"] == first
    assert '"type":"part"' in desk.repo.git("notes", "--ref=taskctx", "show", first)
    desk.ok("verify")
    base = desk.repo.git("rev-parse", "--short=12", f"{first}~1")
    told = "BRANCH   # up to the commit that ends the task\n"
    assert desk.ends(3, "verify", first).err == f"hint: git taskctx verify {base}..{told}"
    desk.passes("add", "-A")
    desk.passes("commit", "-q", "-m", "second")
    assert desk.is_over()
    assert desk.ends(3, "verify", first).err == f"hint: git taskctx verify {base}..{told.replace('BRANCH', 'HEAD')}"
    assert "verified for TASK-1, as a part of the task (not required)  " in desk.ok("verify", f"{base}..HEAD").out


def test_a_part_may_be_amended(desk: Gated) -> None:
    """Amending a part replaces it: the task goes on from where it sat, and may end with the amended commit."""
    desk.repo.config("taskctx.commit.partial", "true")
    desk.init()
    desk.repo.write("new.py", "new\n")
    desk.validate()
    base = desk.repo.head()
    desk.passes("commit", "-q", "-m", "first", "--", "parser.py")
    desk.passes("commit", "-q", "--amend", "-m", "reworded")
    assert desk.context()["git"]["parent"] == desk.repo.head()
    desk.passes("add", "-A")
    desk.passes("commit", "-q", "--amend", "-m", "all of it")
    assert desk.is_over()
    assert desk.repo.git("rev-parse", "HEAD~1") == base


def test_amending_the_commit_before_the_task_is_refused(validated: Gated) -> None:
    """The task is a commit of its own on its parent, not a change of that parent."""
    validated.repo.add()
    lines = validated.blocked("commit", "--amend", "-m", "x")
    assert lines[0] == "error: the task must be one commit on <oid>, and this one sits on no commit"
    assert lines[2] == "hint: git commit   # without --amend"


def test_amend_by_an_alias_is_seen_too(validated: Gated) -> None:
    """git does not tell its hooks of `--amend`, and an alias hides it in the command line."""
    validated.repo.config("alias.fix", "commit --amend --no-edit")
    validated.repo.add()
    assert "this one sits on no commit" in validated.blocked("fix")[0]


def test_dirt_from_before_does_not_block(desk: Gated) -> None:
    """What was dirty before the task stays out of its commit, and does not have to be put away."""
    desk.repo.write("README", "mine\n")
    desk.repo.write("scratch", "mine\n")
    desk.init()
    desk.validate()
    desk.passes("commit", "-q", "-m", "x", "--", "parser.py")
    assert desk.is_over()
    assert desk.repo.git("status", "--porcelain") == " M README\n?? scratch"


def test_dirt_that_is_staged_is_named(desk: Gated) -> None:
    """It is not part of the task, and the hint takes it out of the index."""
    desk.repo.write("README", "mine\n")
    desk.init()
    desk.validate()
    assert desk.blocked("commit", "-a", "-m", "x") == [
        "error: 1 path differs from validator's snapshot 1",
        "paths: README",
        'hint: git reset -q -- ":(top,literal)README"   # then commit again',
    ]


@pytest.mark.parametrize("policy", ["snapshot", "budget"])
def test_policy_may_ask_for_less(desk: Gated, policy: str) -> None:
    """`commit.require`: a snapshot is enough; the commit is no drift, and ends the task once every agent is done."""
    desk.repo.config("taskctx.commit.require", policy)
    desk.init()
    desk.implement()
    desk.passes("commit", "-q", "-a", "-m", "early")
    desk.ok("verify")
    desk.ok("snapshot", "--agent", "reviewer")
    desk.ok("snapshot", "--agent", "validator", "--done")
    assert "TASK-1 is over" in desk.ok("verify").out


def test_budget_lets_an_agent_commit_at_work(desk: Gated) -> None:
    """`commit.require = budget` asks only that no drift and no finding is open."""
    desk.repo.config("taskctx.commit.require", "budget")
    desk.init()
    desk.repo.write("parser.py", "half\n")
    desk.passes("commit", "-q", "-a", "-m", "half")
    desk.implement()
    desk.ok("block", "--agent", "reviewer", "--finding", "no test")
    assert desk.blocked("commit", "-a", "-m", "x")[0] == "error: findings are open: F1 (by reviewer)"


def test_snapshot_does_not_let_an_agent_commit_at_work(desk: Gated) -> None:
    """`commit.require = snapshot` wants what is committed to be on record."""
    desk.repo.config("taskctx.commit.require", "snapshot")
    desk.init()
    desk.repo.write("parser.py", "half\n")
    assert "implementer has been at work" in desk.blocked("commit", "-a", "-m", "half")[0]


@pytest.mark.parametrize("command", ["merge", "revert", "cherry-pick"])
def test_an_operation_in_the_middle_of_a_task_is_blocked(desk: Gated, command: str) -> None:
    """Where git asks before such a commit, it is refused like any other, and counted as the drift that it is."""
    desk.repo.git("branch", "side")
    desk.repo.write("README", "main\n")
    desk.repo.git("commit", "-q", "-a", "-m", "main")
    desk.repo.git("checkout", "-q", "side")
    desk.repo.write("README", "side\n")
    desk.repo.git("commit", "-q", "-a", "-m", "side")
    desk.repo.git("checkout", "-q", "main")
    desk.init()
    desk.validate()
    target = {"merge": "side", "revert": "HEAD", "cherry-pick": "side"}[command]
    desk.repo.git("stash", "-q")
    desk.git(command, *(["--no-edit"] if command != "cherry-pick" else []), target)
    if command != "revert":  # git does not ask before a revert without a conflict
        desk.repo.write("README", "both\n")
        desk.repo.add("README")
        assert "operation in progress" in desk.blocked("commit", "--no-edit")[0]


def test_a_merge_without_conflict_is_blocked(desk: Gated) -> None:
    """pre-merge-commit asks as pre-commit does; what git says after it is git's."""
    desk.branch_off()
    desk.repo.write("main", "main\n")
    desk.repo.commit("main")
    desk.init()
    assert "implementer has been at work" in desk.blocked("merge", "--no-edit", "side")[0]


def test_volatile_keys_of_the_task_file_pass(desk: Gated) -> None:
    """Setting the task's status with the commit is a notice, in the gate too."""
    text = "title: Mend it\nstatus: {}\ndescription: words\nacceptance_criteria:\n  - it works\n"
    desk.repo.write("tasks/TASK-1.task.yaml", text.format("in_progress"))
    desk.repo.commit("task")
    desk.ok("init", "TASK-1")
    desk.validate()
    desk.repo.write("tasks/TASK-1.task.yaml", text.format("done"))
    desk.passes("commit", "-q", "-a", "-m", "the task")
    assert desk.is_over()
    (seal,) = desk.records("seal")
    assert seal["task_file"]["blob"] == desk.repo.git("rev-parse", "HEAD~1:tasks/TASK-1.task.yaml")
    assert seal["task_file"]["volatile"] == ["status", "agent_*"]


def test_a_context_that_was_edited_by_hand_blocks(validated: Gated) -> None:
    """It is not believed, and the way to mend it is said."""
    file = validated.folder() / "context.json"
    file.write_text(file.read_text().replace("Mend", "Break"))
    lines = validated.blocked("commit", "-a", "-m", "x")
    assert lines[0] == "error: finding by taskctx: context.json of TASK-1 was edited by hand"
    assert lines[2] == "hint: git taskctx recover TASK-1"


def test_the_off_switch(validated: Gated) -> None:
    """`GIT_TASKCTX=0` turns every hook off, whoever calls it."""
    validated.repo.write("README", "changed\n")
    assert validated.passes("commit", "-q", "-a", "-m", "x", env={"GIT_TASKCTX": "0"}).err == ""
    for name in ("pre-commit", "post-commit", "no-such-hook"):
        said = validated.process("hook", name, env={"GIT_TASKCTX": "0"})
        assert (said.code, said.both) == (0, "")


def test_it_is_about_the_active_task_whatever_is_named(validated: Gated) -> None:
    """`GIT_TASKCTX_TASK` is for those who type verbs."""
    validated.repo.add()
    for named in ("TASK-9", "../no/id"):
        validated.blocked("commit", "--allow-empty", "-m", "x", "--", "new.py", env={"GIT_TASKCTX_TASK": named})
    validated.passes("commit", "-q", "-m", "x", env={"GIT_TASKCTX_TASK": "../no/id"})
    assert validated.is_over()


def test_conflict_markers_in_what_is_committed_are_told(begun: Gated) -> None:
    """Every agent approved them; the commit is made, and says what is in it."""
    begun.repo.write("notes.txt", "<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\n")
    begun.validate()
    begun.passes("add", "-A")
    assert "notes.txt holds conflict markers" in begun.passes("commit", "-q", "-m", "x").err
