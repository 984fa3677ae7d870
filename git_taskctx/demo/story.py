"""The story itself: who does what, in which order, and with which exit code."""

from __future__ import annotations

from git_taskctx.demo import project
from git_taskctx.demo.stage import Player

TASK = "TASK-0824"


def play_story(stage: Player) -> None:
    """Play it. Raises: Mismatch at the first unexpected exit code."""
    _prepare(stage)
    _begin(stage)
    _implement(stage)
    _review(stage)
    _fix(stage)
    _drift(stage)
    _resolve(stage)
    _review_again(stage)
    _validate(stage)
    _commit(stage)
    _end(stage)


def _prepare(stage: Player) -> None:
    for path, text in project.FILES.items():
        stage.write(path, text)
    stage.quiet("git", "init", "-q", "--template=", "--initial-branch=main")
    stage.quiet("git", "add", "-A")
    stage.quiet("git", "commit", "-q", "-m", "A cart that adds up")
    stage.line(("git taskctx demo", "bold"), ": three agents, one dirty worktree, every handoff verified")
    stage.say(
        "A small project in a temporary folder, committed once; your own repositories and",
        "settings are not touched. Every command below is run as you would type it.",
    )
    stage.shell("git ls-files")


def _begin(stage: Player) -> None:
    stage.title("1. the task")
    stage.say(
        "`init` reads the task file once and freezes it. From now on every agent reads the",
        "same text with `git taskctx get`, instead of a prompt that somebody pasted.",
    )
    stage.taskctx("init", TASK)


def _implement(stage: Player) -> None:
    stage.title("2. the implementer")
    stage.actor = "coder-model"
    stage.say("It edits prices.py and test_prices.py, commits nothing, and records what it leaves.")
    stage.write("prices.py", project.PRICES_DISCOUNT)
    stage.write("test_prices.py", project.TESTS_DISCOUNT)
    stage.taskctx("snapshot", "--agent", "implementer")
    stage.say("A snapshot is a git tree. Your index, files, branches and stash are left alone:")
    stage.shell("git status --short")


def _review(stage: Player) -> None:
    stage.title("3. the reviewer")
    stage.actor = "critic-model"
    stage.say("The handoff. The reviewer gets the tree only if it is exactly what was recorded.")
    stage.taskctx("start", "--agent", "reviewer")
    stage.say("What the implementer changed, without a commit to look at:")
    stage.taskctx("diff", "--agent", "implementer")
    stage.say("The task wants a discount over 100 refused. The finding blocks the chain.")
    stage.taskctx("block", "--agent", "reviewer", "--finding", "a discount of 120 gives a negative total")


def _fix(stage: Player) -> None:
    stage.title("4. back to the implementer")
    stage.actor = "coder-model"
    stage.taskctx("start", "--agent", "implementer")
    stage.say("It fixes prices.py, and records the tree again.")
    stage.write("prices.py", project.PRICES_CHECKED)
    stage.taskctx("snapshot", "--agent", "implementer")


def _drift(stage: Player) -> None:
    stage.title("5. somebody touches the tree between two agents")
    stage.actor = "you"
    stage.say("Nobody is at work. A person tries something out in the same folder, and forgets it:")
    for command in ("echo 'print(total([]))' >>prices.py", "echo 'round up?' >notes.txt", "chmod +x test_prices.py"):
        stage.shell(command)
    stage.say("One question finds all of it, path by path, with the cause:")
    stage.taskctx("verify", code=1)
    stage.say("The reviewer cannot start until somebody has dealt with it.")
    stage.actor = "critic-model"
    stage.taskctx("start", "--agent", "reviewer", code=1)


def _resolve(stage: Player) -> None:
    stage.title("6. the drift is resolved")
    stage.actor = "you"
    stage.say("Put the files back. What is overwritten or deleted is saved first, so it can come back.")
    stage.taskctx("restore", "--agent", "implementer")
    stage.say("And say what happened: the note stays in the record.")
    stage.taskctx("resolve-drift", "--note", "tried the rounding by hand; put back")
    stage.say('To keep such edits instead: git taskctx resolve-drift --accept --note "..."')


def _review_again(stage: Player) -> None:
    stage.title("7. the reviewer again")
    stage.actor = "critic-model"
    stage.taskctx("start", "--agent", "reviewer")
    stage.say("The check is there now. It closes its finding, and adds the test that was missing.")
    stage.taskctx("unblock", "--agent", "reviewer", "--finding", "F1")
    stage.write("test_prices.py", project.TESTS_BOUNDS)
    stage.taskctx("snapshot", "--agent", "reviewer")
    stage.say("Its own diff holds its own lines alone, though all of it is uncommitted:")
    stage.taskctx("diff", "--agent", "reviewer")


def _validate(stage: Player) -> None:
    stage.title("8. the validator")
    stage.actor = "test-runner"
    stage.taskctx("start", "--agent", "validator")
    stage.python("-m", "unittest", "-q")
    stage.say("--done approves this tree, and no other: one more edit by anybody voids it.")
    stage.taskctx("snapshot", "--agent", "validator", "--done")
    stage.taskctx("status")


def _commit(stage: Player) -> None:
    stage.title("9. the commit")
    stage.actor = "you"
    stage.shell('git add -A && git commit -q -m "Give a discount on the total" && git log --oneline')
    stage.say(
        "Is the commit what was reviewed and validated, byte for byte? Then the task is over,",
        "and its record goes into git notes.",
    )
    stage.taskctx("verify")
    stage.say("Who did what, newest first:")
    stage.taskctx("--task", TASK, "log", "--graph")


def _end(stage: Player) -> None:
    stage.title("now in your own repository")
    for command, what in (
        ('git taskctx init TASK-1 --title "what to do"', "the implementer is at work"),
        ("git taskctx snapshot --agent implementer", "when its work is done"),
        ("git taskctx start --agent reviewer", "refused if anything changed"),
        ("git taskctx status", "what to type next"),
        ("git taskctx report", "the whole task as a page"),
        ("git taskctx help", "the manual"),
    ):
        stage.line(f"  {command:<45}", (f"# {what}", "path"))
