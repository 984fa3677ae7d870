"""`start`, `snapshot` and findings: who may act, what is recorded, and what the hints name next."""

from __future__ import annotations

import re

import pytest
from desk import Desk, plain
from gitrepo import GitRepo


def test_nobody_starts_without_a_snapshot(begun: Desk) -> None:
    """The implementer forgot: its work is named, and the command to type."""
    begun.repo.write("parser.py", "mended\n")
    assert plain(begun.refuses("start", "--agent", "reviewer")) == (
        "error: implementer has been at work since <time>; 1 path changed: parser.py\n"
        "hint: git taskctx snapshot --agent implementer   # when its work is done\n"
        'hint: git taskctx start --agent reviewer --take-over "what happened"   # or when it died or gave up\n'
    )


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


def test_a_snapshot_from_a_sub_folder_covers_the_whole_worktree(begun: Desk) -> None:
    """Where one stands makes no difference."""
    begun.repo.write("deep/down/file", "x\n")
    begun.repo.write("parser.py", "mended\n")
    begun.ok("snapshot", "--agent", "implementer", cwd=begun.repo.at("deep/down"))
    tree = begun.seat("implementer")["worktree_snapshot"]["tree"]
    assert tree == begun.repo.oracle()
    begun.repo.write("README", "changed\n")
    begun.ends(1, "verify", cwd=begun.repo.at("deep/down"))


def test_a_diff_over_ten_megabytes_warns_and_goes_on(begun: Desk) -> None:
    """Somebody added a dump by mistake; the snapshot is taken, and verifies."""
    begun.repo.write("log.txt", (b"x" * 1023 + b"\n") * 11_000)
    said = begun.ok("snapshot", "--agent", "implementer")
    assert re.search(r"^warning: the diff from the base has 10\.\d MiB, more than 10", said.err, re.MULTILINE)
    begun.ok("start", "--agent", "reviewer")


@pytest.mark.parametrize("branch", ["(unknown)", "(detached)", "(initial)"])
def test_a_branch_that_is_called_as_git_calls_none(begun: Desk, branch: str) -> None:
    """What git says where HEAD did not read, or names no branch, may be a branch's name as well."""
    begun.repo.git("switch", "-q", "-c", branch)
    begun.implement()
    begun.ok("verify")
    assert begun.seat("implementer")["worktree_snapshot"]["branch"] == branch
    assert begun.data("status")["branch"] == branch


# Actors that must differ


REFUSED = "error: A U Thor edited as implementer and may not act as reviewer (chain.distinct_actors)\n"


@pytest.fixture
def strict(repo: GitRepo) -> Desk:
    """A task whose later agents must be others than who edited."""
    repo.write("parser.py", "broken\n")
    repo.write(".taskctx.toml", "[chain]\ndistinct_actors = true\n")
    repo.commit("base")
    desk = Desk(repo)
    desk.init()
    desk.implement()
    return desk


def test_a_snapshot_asks_who_acts_as_start_does(strict: Desk) -> None:
    """With or without a start: an actor who edited cannot act for a later agent, and the hint keeps what was typed."""
    assert strict.refuses("start", "--agent", "reviewer") == (
        REFUSED + "hint: git taskctx start --agent reviewer --actor SOMEBODY-ELSE\n"
    )
    assert strict.refuses("snapshot", "--agent", "reviewer", "--done") == (
        REFUSED + "hint: git taskctx snapshot --agent reviewer --done --actor SOMEBODY-ELSE\n"
    )
    strict.ok("start", "--agent", "reviewer", "--actor", "bob b")
    assert strict.refuses("snapshot", "--agent", "reviewer") == (
        REFUSED + 'hint: git taskctx snapshot --agent reviewer --actor "bob b"\n'
    )
    assert strict.refuses("start", "--agent", "reviewer") == (
        REFUSED + 'hint: git taskctx start --agent reviewer --actor "bob b"\n'
    )
    strict.ok("snapshot", "--agent", "reviewer", "--actor", "bob b")
    assert strict.refuses("update", "--agent", "reviewer", "--status", "done") == (
        REFUSED + 'hint: git taskctx update --agent reviewer --status done --actor "bob b"\n'
    )
    strict.ok("snapshot", "--agent", "validator", "--done", "--actor", "carol")
    strict.repo.commit("final")
    strict.ok("verify")
    assert strict.ok("verify", "HEAD").out.startswith("commit: verified\n")


def test_hints_keep_the_actor(strict: Desk) -> None:
    """What was given with `--actor` stands in what the same agent types next; others name theirs."""
    keep = ("--actor", "bob b")
    assert strict.ok("start", "--agent", "reviewer", *keep).err == (
        'hint: git taskctx snapshot --agent reviewer --actor "bob b"\n'
    )
    assert strict.refuses("start", "--agent", "validator", *keep, "--task", "TASK-1").split("hint: ")[1:] == [
        "git taskctx snapshot --agent reviewer   # when its work is done\n",
        'git taskctx start --agent validator --take-over "what happened" --actor "bob b"   '
        "# or when it died or gave up\n",
    ]
    assert strict.ok("snapshot", "--agent", "reviewer", *keep).err == "hint: git taskctx start --agent validator\n"
    strict.repo.write("parser.py", "drifted\n")
    assert strict.refuses("start", "--agent", "validator", *keep).split("hint: ")[1:] == [
        "git taskctx restore --agent reviewer\n",
        'git taskctx resolve-drift --accept --note "what happened" --actor "bob b"'
        "   # or keep it as it is now, which voids what was approved\n",
    ]


def test_a_blocker_is_told_who_has_the_tree(strict: Desk) -> None:
    """While an earlier agent owns the tree nothing is to be handed back."""
    said = strict.ok("block", "--agent", "reviewer", "--finding", "wrong", "--actor", "bob")
    assert said.both == "F1 by reviewer: wrong\nhint: git taskctx start --agent implementer   # to fix it\n"
    strict.ok("start", "--agent", "implementer")
    said = strict.ok("block", "--agent", "reviewer", "--finding", "too", "--actor", "bob")
    assert said.both == "F2 by reviewer: too\nhint: git taskctx snapshot --agent implementer   # once it is fixed\n"


def test_a_finding_of_before_is_closed_first(reviewed: Desk) -> None:
    """In the next round the tree was mended: closing comes first, handing back again second."""
    reviewed.ok("block", "--agent", "reviewer", "--finding", "wrong")
    reviewed.ok("start", "--agent", "implementer")
    reviewed.implement("better\n")
    assert reviewed.ok("start", "--agent", "reviewer").err == (
        "hint: git taskctx unblock --agent reviewer --finding F1   # once it is fixed\n"
        "hint: git taskctx start --agent implementer   # or hand back again\n"
    )


def test_the_last_agent_is_told_of_done(reviewed: Desk) -> None:
    """`resolve-drift` and `verify` name the same command as `status` while it is at work."""
    reviewed.ok("start", "--agent", "validator")
    hint = "hint: git taskctx snapshot --agent validator --done\n"
    assert reviewed.refuses("resolve-drift", "--note", "why") == (
        f"error: validator is at work: what changes now is its own\n{hint}"
    )
    assert reviewed.ends(3, "verify").err == hint


def test_who_may_not_approve_its_edits_is_told_so(reviewed: Desk) -> None:
    """`--done` on a tree that the last agent edited: it may vouch for the changes, and hand them back."""
    reviewed.repo.write("parser.py", "by the validator\n")
    said = plain(reviewed.refuses("snapshot", "--agent", "validator", "--done"))
    assert said.split("hint: ")[1] == (
        'git taskctx snapshot --agent validator --attest "what happened"'
        "   # the changes are its own, which it may hand back, not approve (chain.may_edit)\n"
    )
    said = plain(reviewed.ok("snapshot", "--agent", "validator", "--attest", "mine").err)
    assert (
        said
        == "hint: git taskctx start --agent reviewer   # validator may not approve its own edits (chain.may_edit)\n"
    )


def test_who_may_approve_is_told_of_done(implemented: Desk) -> None:
    """Where policy lets it edit, the hint keeps `--done`."""
    implemented.repo.write("parser.py", "by the reviewer\n")
    said = plain(implemented.refuses("snapshot", "--agent", "reviewer", "--done"))
    assert said.split("hint: ")[1] == (
        'git taskctx snapshot --agent reviewer --done --attest "what happened"   # the changes are its own\n'
    )


def test_an_unfinished_merge_is_told_wherever_the_tree_is_handed_on(implemented: Desk) -> None:
    """Conflict markers and the merge itself: at the snapshot, in the next agent's brief, and by `status`."""
    implemented.repo.write("README", "<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\n")
    implemented.repo.write("notes.md", "Title\n=======\n\n<<<<<<< is how a conflict begins\n")
    (implemented.repo.git_dir() / "MERGE_HEAD").write_text(f"{implemented.repo.head()}\n")
    told = ["merge in progress: finish it, or abort it", "README holds conflict markers"]
    said = implemented.ok("snapshot", "--agent", "implementer").err
    brief = implemented.ok("get", "--role", "reviewer", "--format", "md").out
    overview = implemented.data("status")["warnings"]
    for sentence in told:
        assert f"warning: {sentence}\n" in said
        assert f"    - {sentence}\n" in brief
        assert sentence in overview
    assert "notes.md holds" not in said + brief
    implemented.ok("start", "--agent", "reviewer")
    (implemented.repo.git_dir() / "MERGE_HEAD").unlink()
    assert implemented.data("status")["warnings"] == ["README holds conflict markers"]
