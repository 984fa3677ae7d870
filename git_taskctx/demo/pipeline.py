"""The story of a pipeline: two implementers at once, two checks, a reviewer who sends it back once, and a person."""

from __future__ import annotations

from git_taskctx.demo import project
from git_taskctx.demo.stage import Player

TASK = "TASK-0824"
POLICY = """\
[stage.prices]
agent = "implementer"
run   = ["coder", "prices"]

[stage.page]                    # beside the other, in a tree of its own
agent = "implementer"
run   = ["coder", "page"]

[stage.test]
after = ["prices", "page"]
run   = ["python3", "-m", "unittest", "-q"]

[stage.lint]
after = ["prices", "page"]
run   = ["git", "diff", "--check", "HEAD"]

[stage.review]
agent = "reviewer"
after = ["test", "lint"]
run   = ["critic"]
again = { from = "prices", times = 2 }

[stage.validate]
agent = "validator"
after = ["review"]
run   = ["python3", "-m", "unittest", "-q"]
ask   = "Approve this tree?"
"""
_PAGE = """\
from prices import total


def line(items, discount=0):
    return f"{total(items, discount) / 100:.2f}"
"""
_CODER = """\
import os, pathlib, sys

files = {files!r}
again = "Handed back" in pathlib.Path(os.environ["TASK_CONTEXT_PATH"]).read_text()
for name, text in files[sys.argv[1] + (" again" if again else "")].items():
    pathlib.Path(name).write_text(text)
"""
_CRITIC = """\
import json, os, pathlib

found = [] if "raise" in pathlib.Path("prices.py").read_text() else ["a discount of 120 gives a negative total"]
pathlib.Path(os.environ["TASKCTX_RESPONSE"]).write_text(json.dumps({"data": {"findings": found}}))
"""


def play_pipeline(stage: Player) -> None:
    """Play it. Raises: Mismatch at the first unexpected exit code."""
    files = {
        "prices": {"prices.py": project.PRICES_DISCOUNT, "test_prices.py": project.TESTS_DISCOUNT},
        "prices again": {"prices.py": project.PRICES_CHECKED, "test_prices.py": project.TESTS_BOUNDS},
        "page": {"page.py": _PAGE},
    }
    stage.program("coder", _CODER.format(files=files))
    stage.program("critic", _CRITIC)
    for path, text in {**project.FILES, ".taskctx.toml": POLICY}.items():
        stage.write(path, text)
    stage.quiet("git", "init", "-q", "--template=", "--initial-branch=main")
    stage.quiet("git", "add", "-A")
    stage.quiet("git", "commit", "-q", "-m", "A cart that adds up")
    stage.line(("git taskctx demo --pipeline", "bold"), ": one command from the task to a proved commit")
    stage.title("1. the pipeline")
    stage.say(
        "It is in .taskctx.toml, and is frozen when the task begins: no agent can change what",
        "checks it. The agents here are scripts; everything else is real.",
    )
    stage.taskctx("init", TASK)
    stage.taskctx("run", "--dry-run")
    stage.title("2. the run")
    stage.say(
        "Two implementers work at once, each in a tree of its own, and are merged into one",
        "snapshot. Two checks run on it. The reviewer finds something and sends it back, once;",
        "what does not depend on that is not run again. In the end a person is asked.",
    )
    stage.taskctx("run", code=3)
    stage.say("The brief of the second attempt says what sent the work back:")
    brief = f".agent-output/tasks/{TASK}/runs/1/stages/prices/2/brief.md"
    stage.shell(f"grep -A 2 '^## Handed back' {brief}")
    stage.title("3. a person decides")
    stage.say("The answer holds for this tree, and for no other.")
    stage.taskctx("run", "--approve", "validate")
    stage.title("4. the commit")
    stage.shell('git add -A && git commit -q -m "Give a discount on the total" && git log --oneline')
    stage.taskctx("verify")
    stage.say("Which stage did what, newest first:")
    stage.taskctx("--task", TASK, "log", "--graph")
    stage.title("now in your own repository")
    stage.line("  git taskctx help pipelines         ", ("# a pipeline to begin with", "path"))
    stage.line("  git taskctx run --dry-run          ", ("# what would run", "path"))
