"""What the gate says, rule by rule: what is wrong, which paths, and what to type, each in one line."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable

import pytest
from gated import Gated


def _at_work(desk: Gated) -> None:
    desk.init()
    desk.repo.write("parser.py", "x\n")
    desk.repo.add()


def _nobody_approved(desk: Gated) -> None:
    desk.init("--agents", "one,two,three,four,five,six,seven,eight")
    desk.repo.write("parser.py", "x\n")
    desk.ok("snapshot", "--agent", "one")
    desk.repo.add()


def _two_missing(desk: Gated) -> None:
    desk.init()
    desk.to_reviewer()
    desk.repo.add()


def _one_missing(desk: Gated) -> None:
    desk.init()
    desk.to_reviewer()
    desk.ok("snapshot", "--agent", "validator")
    desk.repo.add()


def _validated(desk: Gated) -> None:
    desk.init()
    for number in range(7):
        desk.repo.write(f"file-{number}", "x\n")
    desk.validate()
    desk.repo.add()


def _many_findings(desk: Gated) -> None:
    _validated(desk)
    for number in range(7):
        desk.ok("block", "--agent", "validator", "--finding", f"finding {number}")


def _foreign(desk: Gated) -> None:
    _validated(desk)
    blob = desk.repo.git("hash-object", "-w", "--stdin", input="smuggled\n")
    for number in range(7):
        desk.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},extra-{number}")
    desk.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},odd\nname")


def _part(desk: Gated) -> None:
    _validated(desk)
    desk.repo.git("reset", "-q", "--", "file-*")


def _drift(desk: Gated) -> None:
    _validated(desk)
    for number in range(7):
        desk.repo.write(f"stray-{number}", "x\n")


def _unresolved(desk: Gated) -> None:
    _validated(desk)
    desk.repo.write("stray", "x\n")
    desk.ends(1, "verify")
    desk.repo.remove("stray")


def _by_hand(desk: Gated) -> None:
    _validated(desk)
    file = desk.folder() / "context.json"
    file.write_text(file.read_text().replace("Mend", "Break"))


def _cleaned(desk: Gated) -> None:
    _validated(desk)
    shutil.rmtree(desk.repo.at(".agent-output"))


def _linked(desk: Gated) -> None:
    _validated(desk)
    desk.repo.at(".agent-output").rename(desk.repo.path.parent / "elsewhere")
    desk.repo.at(".agent-output").symlink_to(desk.repo.path.parent / "elsewhere")


def _no_ledger(desk: Gated) -> None:
    _validated(desk)
    desk.repo.git("update-ref", "-d", "refs/notes/taskctx")


def _broken_ledger(desk: Gated) -> None:
    _validated(desk)
    anchor = desk.repo.git("hash-object", "--stdin", input=f"taskctx context {desk.context()['context_id']}")
    text = desk.repo.git("notes", "--ref=taskctx", "show", anchor).replace("mended", "broken").replace('"n":1', '"n":2')
    desk.repo.git("notes", "--ref=taskctx", "add", "-f", "-F", "-", anchor, input=text)


def _merging(desk: Gated) -> None:
    desk.branch_off()
    desk.repo.write("main", "main\n")
    desk.repo.commit("main")
    desk.init()
    desk.validate()
    desk.repo.add()
    desk.repo.git("update-ref", "MERGE_HEAD", "side")


def _formatted(desk: Gated) -> None:
    _validated(desk)
    hook = desk.repo.common_dir() / "hooks" / "pre-commit"
    hook.write_text(hook.read_text().replace("exec git", f"'{sys.executable}' -c '{FORMATTER}'\ngit add -u\nexec git"))


def _deleted_by_a_hook(desk: Gated) -> None:
    _formatted(desk)
    hook = desk.repo.common_dir() / "hooks" / "pre-commit"
    hook.write_text(hook.read_text().replace("git add -u", "rm file-0"))


FORMATTER = 'import time; time.sleep(0.1); [open(f"file-{n}", "a").write("formatted\\n") for n in (0, 2)]'
"""It takes as long as a formatter: when a commit began is known to some hundredths of a second."""
KEEP = (
    'or keep it as it is now, which voids what was approved: git taskctx resolve-drift --accept --note "what happened"'
)
ALL = "paths: file-0, file-1, file-2, file-3, file-4, and 3 more"
RULES: tuple[tuple[Callable[[Gated], None], str, str, str], ...] = (
    (
        _at_work,
        "error: implementer has been at work since <time>, and nothing it does now has been approved",
        "paths: parser.py",
        "hint: git taskctx snapshot --agent implementer   # when its work is done",
    ),
    (
        _nobody_approved,
        "error: not validated: one, two, three, four, five and 3 more have not approved this tree",
        "paths: parser.py",
        "hint: git taskctx start --agent two",
    ),
    (
        _two_missing,
        "error: not validated: reviewer and validator have not approved this tree",
        "paths: parser.py",
        "hint: git taskctx start --agent validator",
    ),
    (
        _one_missing,
        "error: not validated: validator has not approved this tree",
        "paths: parser.py",
        "hint: git taskctx snapshot --agent validator --done",
    ),
    (
        _many_findings,
        "error: findings are open: F1 (by validator), F2 (by validator), F3 (by validator), F4 (by validator), "
        "F5 (by validator) and 2 more",
        ALL,
        "hint: git taskctx unblock --agent validator --finding F1   # once it is fixed",
    ),
    (
        _foreign,
        "error: 8 paths differ from validator's snapshot 1",
        "paths: extra-0, extra-1, extra-2, extra-3, extra-4, and 3 more",
        "hint: git reset -q && git add -A && git commit",
    ),
    (
        _part,
        "error: only a part of the task: 7 paths of it are not staged (commit.partial)",
        "paths: file-0, file-1, file-2, file-3, file-4, and 2 more",
        "hint: git add -A && git commit",
    ),
    (
        _drift,
        "error: drift since validator's snapshot 1 (<time>): 7 paths changed",
        "paths: stray-0, stray-1, stray-2, stray-3, stray-4, and 2 more",
        f"hint: git taskctx restore --agent validator   # {KEEP}",
    ),
    (
        _formatted,
        "error: drift since validator's snapshot 1 (<time>): 2 paths changed while the hooks of this commit ran",
        "paths: file-0, file-2",
        'hint: git taskctx resolve-drift --accept --note "what happened"   # keep what a formatter wrote, which voids '
        "what was approved; or undo it, and format before the last snapshot: git taskctx restore --agent validator",
    ),
    (
        _deleted_by_a_hook,
        "error: drift since validator's snapshot 1 (<time>): 2 paths changed",
        "paths: file-0, file-2",
        f"hint: git taskctx restore --agent validator   # {KEEP}",
    ),
    (
        _merging,
        "error: drift since validator's snapshot 1 (<time>): operation in progress",
        "paths: parser.py",
        f"hint: git merge --abort   # {KEEP}",
    ),
    (
        _unresolved,
        "error: 1 unresolved drift (0 allowed) since validator's snapshot",
        "paths: stray",
        'hint: git taskctx resolve-drift --note "what happened"',
    ),
    (
        _by_hand,
        "error: finding by taskctx: context.json of TASK-1 was edited by hand",
        ALL,
        "hint: git taskctx recover TASK-1",
    ),
    (
        _cleaned,
        "error: the files of the active context, TASK-1, are gone",
        ALL,
        "hint: git taskctx recover TASK-1",
    ),
    (
        _linked,
        "error: <top>/.agent-output is a symbolic link, and git-taskctx opens none there",
        ALL,
        "hint: ls -ld <top>/.agent-output   # look at it, then move it away",
    ),
    (
        _no_ledger,
        "error: the ledger has no record of context <context> of TASK-1",
        ALL,
        "hint: git taskctx recover TASK-1",
    ),
    (
        _broken_ledger,
        "error: the ledger of TASK-1 is broken at record <id>: a record was edited, inserted or removed",
        ALL,
        "hint: git log -p refs/notes/taskctx",
    ),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule[0].__name__.strip("_"))
def test_each_rule_is_told_in_three_lines(desk: Gated, rule: tuple[Callable[[Gated], None], str, str, str]) -> None:
    """The commit is stopped, and these three lines are all that is said."""
    scene, *expected = rule
    scene(desk)
    said = desk.blocked("commit", "-m", "x")
    told = [re.sub(r"\b[0-9TZ]{16}-<context>-[0-9]{6}", "<id>", line) for line in said]
    assert [line.replace(str(desk.repo.path), "<top>") for line in told] == expected


def test_drift_that_is_gone_is_named_by_its_own_paths(validated: Gated) -> None:
    """What is unresolved was found at paths of its own, which are not those that are staged now."""
    validated.repo.write("extra.txt", "scratch\n")
    validated.ends(1, "verify")
    validated.repo.remove("extra.txt")
    assert validated.blocked("commit", "-q", "-a", "-m", "final") == [
        "error: 1 unresolved drift (0 allowed) since validator's snapshot",
        "paths: extra.txt",
        'hint: git taskctx resolve-drift --note "what happened"',
    ]
