"""A commit that bypassed the gate counts in the history of what is proved, and not once it was undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from desk import plain
from gated import Gated

OFF = {"GIT_TASKCTX": "0"}
STANDS = (
    "warning: commit <oid> bypassed the gate: as long as it is in the history, the proof will be violated (bypass)\n"
)
TAKE_OUT = (
    'hint: git reset --soft <oid> && git taskctx resolve-drift --accept --note "what happened"'
    "   # takes out <oid>, which bypassed the gate\n"
)
UNDONE = "bypass-undone: no-verify, by A U Thor at <time>: <oid> is not in this history\n"


def approve(desk: Gated) -> str:
    """Have the later agents approve the tree; return what the last one is told."""
    desk.ok("snapshot", "--agent", "reviewer")
    return plain(desk.ok("snapshot", "--agent", "validator", "--done").both)


def proof(desk: Gated) -> str:
    """Return what the proof of HEAD says after its first lines; every way on is the same."""
    said = desk.run("verify", "HEAD")
    verdict, _, *rest = plain(said.out).splitlines(keepends=True)
    return verdict + "".join(line.strip() + "\n" for line in rest)


@pytest.fixture
def early(desk: Gated) -> Gated:
    """Where the implementer's tree was committed around the gate."""
    desk.init()
    desk.implement()
    said = desk.passes("commit", "-q", "--no-verify", "-a", "-m", "early")
    assert plain(said.err) == (
        "warning: TASK-1: commit <oid> bypassed the gate: "
        "not validated: implementer, reviewer and validator have not approved this tree\nhint: git taskctx status\n"
    )
    return desk


@pytest.mark.parametrize("counted", [True, False])
def test_what_was_undone_is_a_notice(early: Gated, counted: bool) -> None:
    """Reset, approved and committed through the gate, the commit is verified, whether or not drift was counted."""
    if counted:
        early.ends(1, "verify")
    early.passes("reset", "-q", "--soft", "HEAD~1")
    if counted:
        early.ok("resolve-drift", "--note", "committed too early")
    assert approve(early) == (
        "snapshot 1 of validator: tree <oid>, +1 -1 in 1 path since the base\nvalidator owns the tree now\n"
        "validated: every agent approved this tree; commit it\nhint: git add -A && git commit\n"
    )
    said = early.passes("commit", "-q", "-a", "-m", "final")
    assert plain(said.err) == (
        "taskctx: TASK-1 is over: commit <oid> is what was validated, and its proof is in refs/notes/taskctx\n"
        "hint: git taskctx log --task TASK-1\n"
    )
    assert proof(early) == "commit: verified\nnotice: " + UNDONE


def test_what_is_kept_is_said_to_violate_the_proof(early: Gated) -> None:
    """`--accept`, `status`, `--done`, the end and `complete` say that the proof is violated, and what to type."""
    said = early.ok("resolve-drift", "--accept", "--note", "kept")
    assert plain(said.err) == STANDS + TAKE_OUT + "hint: git taskctx start --agent reviewer\n"
    shown = plain(early.ok("status").both)
    assert shown.endswith(
        f"next: {TAKE_OUT.removeprefix('hint: ')}      git taskctx start --agent reviewer\n{STANDS}"
    ), shown
    assert approve(early).endswith(
        "validated: every agent approved this tree; commit <oid> holds it already\n"
        f"{STANDS}{TAKE_OUT}hint: git add -A && git commit\n"
    )
    assert plain(early.ok("complete").both) == (
        "complete: TASK-1 is commit <oid>\n"
        "warning: commit <oid> is what was validated, "
        "but it bypassed the gate, so that its proof is violated (bypass)\n"
        "hint: git reset --soft <oid> && git commit   # the same tree, committed once it was approved, is proved\n"
    )
    assert proof(early) == "commit: violated\nbypass: no-verify, by A U Thor at <time>\n"
    early.passes("reset", "-q", "--soft", "HEAD~1")
    early.passes("commit", "-q", "-m", "again")
    assert proof(early) == "commit: verified\nnotice: " + UNDONE


def test_the_end_says_it_to_whoever_asks_first(early: Gated) -> None:
    """`verify` ends the task, and says no."""
    early.ok("resolve-drift", "--accept", "--note", "kept")
    approve(early)
    assert plain(early.ends(1, "verify").both) == (
        "commit: differs\nTASK-1 is over: commit <oid> is what was validated, "
        "but it bypassed the gate, so that its proof is violated (bypass)\n"
        "hint: git reset --soft <oid> && git commit   # the same tree, committed once it was approved, is proved\n"
        "hint: git taskctx log --task TASK-1\n"
    )


def test_it_is_taken_out_as_the_hint_says(early: Gated) -> None:
    """The approvals stand: the tree is the same."""
    early.ok("resolve-drift", "--accept", "--note", "kept")
    approve(early)
    early.passes("reset", "-q", "--soft", "HEAD~1")
    assert plain(early.ok("resolve-drift", "--accept", "--note", "what happened").both) == (
        "accepted: today's tree <oid> is validator's snapshot 2, by A U Thor\nhint: git add -A && git commit\n"
    )
    early.passes("commit", "-q", "-a", "-m", "final")
    assert proof(early) == "commit: verified\nnotice: " + UNDONE


@pytest.mark.parametrize("flags", [(), ("--no-verify",)])
def test_an_amended_one_is_another_commit(early: Gated, flags: tuple[str, ...]) -> None:
    """Amended around the gate it counts as well; amended once it was approved it is what was validated."""
    if flags:
        early.passes("commit", "-q", "--amend", *flags, "-m", "again")
    early.ok("resolve-drift", "--accept", "--note", "kept")
    approve(early)
    if flags:
        early.ends(1, "verify")
        assert proof(early).startswith("commit: violated\nbypass: no-verify, by A U Thor at <time>\n")
        return
    early.passes("commit", "-q", "--amend", "-m", "again")
    assert proof(early) == "commit: verified\nnotice: " + UNDONE


def work_on_top(desk: Gated) -> None:
    """Go on as the implementer, with a commit around the gate below."""
    desk.init()
    desk.repo.write("evil.py", "nobody looked\n")
    desk.repo.git("add", "evil.py")
    desk.passes("commit", "-q", "--no-verify", "-m", "evil", env=OFF)


def rebased(desk: Gated) -> None:
    """Give the commit another name, by a rebase that no hook sees."""
    desk.init()
    desk.passes("commit", "-q", "--allow-empty", "-m", "first", env=OFF)
    desk.repo.write("evil.py", "nobody looked\n")
    desk.repo.git("add", "evil.py")
    desk.passes("commit", "-q", "-m", "evil", env=OFF)
    desk.passes("-c", "sequence.editor=sed -i 1d", "rebase", "-q", "-i", "HEAD~2", env=OFF)
    assert desk.repo.git("log", "--format=%s", "-2").split("\n")[0] == "evil"


def merged(desk: Gated) -> None:
    """Bring the commit in by a merge."""
    desk.branch_off()
    desk.init()
    desk.passes("merge", "-q", "--no-ff", "--no-verify", "--no-edit", "side", env=OFF)


@pytest.mark.parametrize("scene", [work_on_top, rebased, merged])
def test_what_the_commit_rests_on_counts(desk: Gated, scene: Callable[[Gated], None]) -> None:
    """What nobody approved below the commit violates its proof, under whatever name; the gate says so before."""
    scene(desk)
    desk.implement()
    told = approve(desk)
    assert told.count(STANDS) == 1
    assert TAKE_OUT in told
    said = plain(desk.passes("commit", "-q", "-a", "-m", "final").err)
    assert said == (
        f"{STANDS}{TAKE_OUT.partition('   # ')[0]}   # then commit again\n"
        "warning: TASK-1 is over: commit <oid> is what was validated, "
        "but <oid> bypassed the gate, so that its proof is violated (bypass)\nhint: git taskctx log --task TASK-1\n"
    )
    assert proof(desk).startswith("commit: violated\nbypass: no-verify, by A U Thor at <time>\n")


def test_undone_before_the_base_moved(desk: Gated) -> None:
    """What is pulled in after it was undone does not hold it: the history is looked through."""
    desk.branch_off()
    desk.init()
    desk.implement()
    desk.ok("start", "--agent", "implementer")
    desk.passes("commit", "-q", "--no-verify", "-a", "-m", "early")
    desk.passes("reset", "-q", "--soft", "HEAD~1")
    desk.passes("reset", "-q")
    desk.passes("merge", "-q", "--ff-only", "side")
    desk.ok("snapshot", "--agent", "implementer")
    assert "warning" not in approve(desk)
    desk.passes("commit", "-q", "-a", "-m", "final")
    assert proof(desk) == "commit: verified\nnotice: " + UNDONE


def test_a_bypassed_part(desk: Gated) -> None:
    """A part that was committed around the gate counts, though the rest came through it."""
    desk.repo.write(".taskctx.toml", "[commit]\npartial = true\n")
    desk.repo.commit("policy")
    desk.init()
    desk.repo.write("new.py", "new\n")
    desk.implement()
    desk.repo.git("add", "new.py")
    desk.passes("commit", "-q", "--no-verify", "-m", "a part, early")
    desk.ok("resolve-drift", "--accept", "--note", "kept")
    approve(desk)
    desk.git("commit", "-q", "-a", "-m", "final")
    assert proof(desk).startswith("commit: violated\nbypass: no-verify, by A U Thor at <time>\n")


def test_policy_tolerates_it(desk: Gated) -> None:
    """With `no-verify` in `commit.allow_bypass` nothing is warned of."""
    desk.repo.write(".taskctx.toml", '[commit]\nallow_bypass = ["no-verify"]\n')
    desk.repo.commit("policy")
    desk.init()
    desk.implement()
    desk.passes("commit", "-q", "--no-verify", "-a", "-m", "early")
    assert plain(desk.ok("resolve-drift", "--accept", "--note", "kept").err) == (
        "hint: git taskctx start --agent reviewer\n"
    )
    assert approve(desk).endswith(
        "validated: every agent approved this tree; commit <oid> holds it already\n"
        "hint: git taskctx complete   # HEAD is the commit of the validated tree already: the task is over\n"
    )
    desk.ok("complete")
    assert proof(desk) == "commit: verified\nnotice: bypass-allowed: no-verify, by A U Thor at <time>\n"
