"""The everyday story, a line at a time: what people and agents do with one dirty tree, and what they are told."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from desk import TASK, Desk, plain
from gitrepo import GitRepo

pytestmark = pytest.mark.quick


def test_the_whole_story(desk: Desk) -> None:
    """Implement, review, block, mend, review again, validate, commit: every line that is printed on the way."""
    desk.repo.write("notes.txt", "")
    desk.repo.commit("notes")
    said = [
        desk.init(),
        desk.implement(),
        desk.ok("start", "--agent", "reviewer"),
        desk.ok("block", "--agent", "reviewer", "--finding", "no test"),
        desk.ok("start", "--agent", "implementer"),
    ]
    desk.repo.write("test_parser.py", "test\n")
    said += [
        desk.ok("snapshot", "--agent", "implementer"),
        desk.ok("start", "--agent", "reviewer"),
        desk.ok("unblock", "--agent", "reviewer", "--finding", "F1"),
        desk.ok("snapshot", "--agent", "reviewer"),
        desk.ok("verify"),
        desk.ok("snapshot", "--agent", "validator", "--done"),
    ]
    assert plain("".join(one.out for one in said)) == (
        "began TASK-1 on main at <oid> (context <context>)\n"
        "\n"
        "field  captured         source\n"
        "title  Mend the parser  command line\n"
        "\n"
        "agents: implementer -> reviewer -> validator; implementer is at work\n"
        "snapshot 1 of implementer: tree <oid>, +1 -1 in 1 path since the base\n"
        "verified: unchanged since implementer's snapshot 1 (<time>)\n"
        "reviewer owns the tree\n"
        "F1 by reviewer: no test\n"
        "unchanged: reviewer changed nothing since its start\n"
        "implementer owns the tree (back, round 2)\n"
        "snapshot 2 of implementer: tree <oid>, +2 -1 in 2 paths since the base\n"
        "  new, untracked: test_parser.py\n"
        "verified: unchanged since implementer's snapshot 2 (<time>)\n"
        "reviewer owns the tree (round 2)\n"
        "F1 closed, 0 open\n"
        "snapshot 1 of reviewer: tree <oid>, +2 -1 in 2 paths since the base\n"
        "  new, untracked: test_parser.py\n"
        "worktree: matches\n"
        "unchanged since reviewer's snapshot 1 (<time>)\n"
        "snapshot 1 of validator: tree <oid>, +2 -1 in 2 paths since the base\n"
        "validator owns the tree now\n"
        "  new, untracked: test_parser.py\n"
        "validated: every agent approved this tree; commit it\n"
    )
    desk.repo.commit("mended")
    over = desk.ok("verify")
    assert "is over" in over.out
    assert [record["type"] for record in desk.records()] == [
        "init", "snapshot", "start", "block", "start", "snapshot", "start", "unblock", "snapshot", "start", "snapshot",
        "seal", "purge",
    ]  # fmt: skip


def test_a_reviewer_blocks_and_the_way_forward_is_shut(implemented: Desk) -> None:
    """The validator is refused with the finding by name, and the next thing to type is to hand back."""
    implemented.ok("snapshot", "--agent", "reviewer")
    said = implemented.ok("block", "--agent", "reviewer", "--finding", "no test")
    assert said.err == "hint: git taskctx start --agent implementer   # hand back\n"
    assert plain(implemented.refuses("start", "--agent", "validator")) == (
        "error: reviewer has open findings: F1: no test\n"
        "hint: git taskctx start --agent implementer   # hand back\n"
        "hint: git taskctx unblock --agent reviewer --finding F1   # or once it is fixed\n"
    )


def test_status_says_who_owns_the_tree_and_what_to_type(implemented: Desk) -> None:
    """One screen, and the command on it works."""
    assert plain(implemented.ok("status").out) == (
        "TASK-1  Mend the parser\n"
        "on main at <oid>, context <context>\n"
        "\n"
        "   agent        status       round  snapshot         since base  drifts\n"
        "*  implementer  in_progress  1      1: <oid>  +1 -1       0\n"
        "   reviewer     pending      -      -                -           0\n"
        "   validator    pending      -      -                -           0\n"
        "\n"
        "worktree: matches\n"
        "unchanged since implementer's snapshot 1 (<time>)\n"
        "hooks: not installed   # git taskctx install\n"
        "next: git taskctx start --agent reviewer\n"
    )


def test_status_names_what_the_last_approval_waits_for(reviewed: Desk) -> None:
    """Another agent's finding, or an edit of an agent that may not edit: not a `--done` that would be refused."""
    reviewed.ok("start", "--agent", "validator")
    reviewed.ok("block", "--agent", "implementer", "--finding", "not yet")
    assert reviewed.data("status")["next"] == ["git taskctx unblock --agent implementer --finding F1"]
    reviewed.ok("unblock", "--agent", "implementer", "--finding", "F1")
    reviewed.repo.write("parser.py", "quick fix\n")
    reviewed.ok("snapshot", "--agent", "validator")
    reviewed.refuses("snapshot", "--agent", "validator", "--done")
    assert reviewed.data("status")["next"][0].startswith("git taskctx start --agent ")


def test_a_human_edit_in_between_is_drift(implemented: Desk) -> None:
    """Edited between snapshot and start: refused with path and cause, counted once, and the two ways out work."""
    implemented.repo.write("parser.py", "hand made\n")
    implemented.repo.write("new.txt", "new\n")
    assert plain(implemented.refuses("start", "--agent", "reviewer")) == (
        "error: drift since implementer's snapshot 1 (<time>): 2 paths changed\n"
        "  new.txt: added\n"
        "  parser.py: edited\n"
        "hint: git taskctx restore --agent implementer\n"
        'hint: git taskctx resolve-drift --accept --note "what happened"   # or keep it as it is now\n'
    )
    assert implemented.ends(1, "verify").out.count("\n") == 5
    assert implemented.seat("implementer")["drift_budget"] == 1
    implemented.ok("restore", "--agent", "implementer")
    assert implemented.repo.read("parser.py") == b"mended\n"
    assert not implemented.repo.at("new.txt").exists()
    implemented.refuses("start", "--agent", "reviewer")
    implemented.ok("resolve-drift", "--note", "put back")
    implemented.ok("start", "--agent", "reviewer")


def test_a_human_edit_can_be_accepted(implemented: Desk) -> None:
    """It becomes the owner's snapshot, on record under the name of who accepted it."""
    implemented.repo.write("parser.py", "hand made\n")
    implemented.ends(1, "verify")
    said = implemented.ok("resolve-drift", "--accept", "--note", "a typo", "--actor", "ann")
    assert plain(said.out) == "accepted: today's tree <oid> is implementer's snapshot 2, by ann\n  parser.py\n"
    implemented.ok("start", "--agent", "reviewer")
    record = implemented.records("resolve")[0]
    assert (record["actor"], record["note"], record["accepted"]) == ("ann", "a typo", True)


@pytest.mark.unfollowed  # the repository is none of ours to put aside
def test_another_library_reads_what_a_task_left(git_repo: Any) -> None:
    """In a repository that pytest-git makes, GitPython reads the commit, its tree and its record as git does."""
    repo, api = GitRepo(Path(git_repo.workspace)), git_repo.api
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk = Desk(repo)
    desk.init()
    desk.validate()
    repo.commit("Mend the parser")
    desk.ok("verify")
    (seal,) = desk.records("seal")
    assert (api.head.commit.hexsha, api.head.commit.tree.hexsha) == (seal["commit"], seal["tree"])
    assert not api.is_dirty(untracked_files=True)
    assert seal["id"] in api.git.notes("--ref=taskctx", "show", seal["commit"])
    api.close()


def test_after_an_accepted_edit_the_reviewer_looks_again(validated: Desk) -> None:
    """A tree that replaces a validated one is validated by nobody."""
    validated.repo.write("parser.py", "hand made\n")
    validated.ends(1, "verify")
    said = validated.ok("resolve-drift", "--accept", "--note", "hot fix")
    assert "void: " in said.out
    assert not validated.data("status")["validated"]
    validated.refuses("snapshot", "--agent", "validator", "--done")
    assert validated.data("status")["next"] == ["git taskctx start --agent implementer"]
    validated.ok("start", "--agent", "reviewer")
    validated.ok("snapshot", "--agent", "reviewer")
    status = validated.data("status")
    assert not status["validated"]


def test_resume_after_a_kill(begun: Desk) -> None:
    """A snapshot killed on its way leaves a context that reads; the agent starts again and snapshots."""
    begun.repo.write("parser.py", "mended\n")
    process = begun.begin("snapshot", "--agent", "implementer")
    deadline = time.monotonic() + 20
    while not any((begun.repo.git_dir() / "taskctx").glob("tmp-*")) and time.monotonic() < deadline:
        os.sched_yield()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    begun.ok("get")
    assert begun.ok("start", "--agent", "implementer").out == "implementer is at work again\n"
    begun.ok("snapshot", "--agent", "implementer")
    begun.ok("start", "--agent", "reviewer")


def test_take_over_of_a_dead_agent(begun: Desk) -> None:
    """Its changes are recorded as its own, and the note says why."""
    begun.repo.write("parser.py", "half\n")
    assert "--take-over" in begun.refuses("start", "--agent", "reviewer")
    said = begun.ok("start", "--agent", "reviewer", "--take-over", "its container died")
    assert plain(said.out) == ("taken over: implementer's changes are its snapshot 1 (+1 -1)\nreviewer owns the tree\n")
    assert begun.records("takeover")[0]["note"] == "its container died"
    assert "+half" in begun.ok("diff", "--agent", "implementer").out
    assert begun.seat("implementer")["status"] == "done"


def test_a_checkpoint_stays_at_work(begun: Desk) -> None:
    """`--wip` records, and the owner goes on; nobody may start on it."""
    begun.repo.write("parser.py", "half\n")
    said = begun.ok("snapshot", "--agent", "implementer", "--wip")
    assert said.out.startswith("checkpoint 1 of implementer: ")
    said = begun.ends(3, "verify").out
    assert said.startswith("worktree: in use by implementer\nimplementer has been at work since ")
    begun.refuses("start", "--agent", "reviewer")
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    assert begun.ok("restore", "--agent", "implementer", "--round", "1").code == 0
    assert begun.repo.read("parser.py") == b"half\n"


def test_dirt_from_before_is_nobodys_work(desk: Desk) -> None:
    """It is told at init, stands in no diff since the previous owner, and not in the tree to commit."""
    desk.repo.write("README", "my notes\n")
    desk.repo.write("scratch", "mine\n")
    said = desk.init()
    assert "warning: 2 paths were already dirty, and are not part of the task: README, scratch\n" in said.err
    desk.validate()
    assert "my notes" not in desk.ok("diff", "--agent", "implementer").out
    snapshot = desk.seat("validator")["worktree_snapshot"]
    assert snapshot["tree"] != snapshot["commit_tree"]
    listed = desk.repo.git("ls-tree", "-r", "--name-only", snapshot["commit_tree"]).splitlines()
    assert listed == ["README", "parser.py"]
    assert desk.repo.git("show", f"{snapshot['commit_tree']}:README") == "read me"
    desk.repo.add("parser.py")
    desk.repo.commit_staged("mended")
    assert "is over" in desk.ok("verify").out
    assert desk.repo.read("README") == b"my notes\n"


def test_dirt_that_the_task_changed_is_its_work(desk: Desk) -> None:
    """A path that was dirty and was touched since is committed with the task."""
    desk.repo.write("README", "my notes\n")
    desk.init()
    desk.repo.write("README", "our notes\n")
    desk.implement()
    snapshot = desk.seat("implementer")["worktree_snapshot"]
    assert snapshot["tree"] == snapshot["commit_tree"]


def test_stash_and_pop(implemented: Desk) -> None:
    """Stashed is drift with that cause; popped, everything is as it was."""
    implemented.repo.write("new.txt", "new\n")
    implemented.ok("snapshot", "--agent", "implementer")
    implemented.repo.git("stash", "-u")
    said = implemented.ends(1, "verify").out
    assert "  new.txt: stashed (git stash list)\n" in said
    assert "  parser.py: stashed (git stash list)\n" in said
    implemented.repo.git("stash", "pop")
    assert implemented.ends(0, "verify").out.startswith("worktree: matches\n")
    implemented.ok("resolve-drift", "--note", "I needed a clean tree")
    implemented.ok("start", "--agent", "reviewer")


def test_one_agent_alone(desk: Desk) -> None:
    """`--agents dev`: did anything change since it finished? Its own `--done` is the validation."""
    desk.init("--agents", "dev")
    desk.repo.write("parser.py", "mended\n")
    said = desk.ok("snapshot", "--agent", "dev", "--done")
    assert said.out.endswith("validated: every agent approved this tree; commit it\n")
    desk.ok("verify")
    desk.repo.write("parser.py", "changed\n")
    desk.ends(1, "verify")
    desk.repo.write("parser.py", "mended\n")
    desk.ok("resolve-drift", "--note", "undone")
    desk.repo.commit("mended")
    assert "is over" in desk.ok("verify").out


def test_no_task_file_and_no_standards(desk: Desk) -> None:
    """A title is enough, and the description may come from standard input."""
    desk.ok("init", TASK, "--title", "Mend the parser", "--description", "-", stdin="It breaks.\nAlways.\n")
    task = desk.context()["immutable"]["task_snapshot"]
    assert (task["title"], task["description"]) == ("Mend the parser", "It breaks. Always.\n")
    assert desk.context()["git"]["task_file"] is None


def test_without_a_title_and_a_task_file_there_is_no_task(desk: Desk) -> None:
    """The hint holds a command that works."""
    assert desk.refuses("init", TASK, code=128) == (
        "error: no task file TASK-1*.task.yaml under tasks/ or docs/\n"
        'hint: git taskctx init TASK-1 --title "what is to be done"\n'
        "hint: git taskctx init TASK-1 --task-file FILE   # or if it is somewhere else\n"
    )


def test_two_linked_worktrees_with_a_task_each(begun: Desk, tmp_path: Path) -> None:
    """Two contexts side by side: neither sees the other's drift, both are listed in both."""
    begun.repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    other = Desk(GitRepo(tmp_path / "other"))
    other.ok("init", "TASK-2", "--title", "Another")
    begun.implement()
    other.repo.write("README", "other\n")
    other.ok("snapshot", "--agent", "implementer")
    begun.ok("verify")
    other.ok("verify")
    assert {(one["task"], one["state"]) for one in begun.data("list")} == {(TASK, "active"), ("TASK-2", "elsewhere")}
    assert {(one["task"], one["state"]) for one in other.data("list")} == {(TASK, "elsewhere"), ("TASK-2", "active")}
    assert "TASK-2 is active here" in other.refuses("recover", TASK, code=128)
    begun.repo.git("worktree", "add", "-q", "-b", "third", str(tmp_path / "third"))
    assert "TASK-1 is alive in another worktree" in Desk(GitRepo(tmp_path / "third")).refuses("recover", TASK, code=128)
    assert [record["worktree"] for record in begun.data("log")] == ["main", "main"]
    assert [record["worktree"] for record in other.data("log")] == ["other", "other"]


def test_a_context_of_a_removed_worktree_comes_back_in_another(desk: Desk, tmp_path: Path) -> None:
    """`git worktree remove` takes folder and marker; the refs and the ledger are still there."""
    desk.repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    other = Desk(GitRepo(tmp_path / "other"))
    other.init()
    other.implement()
    desk.repo.git("worktree", "remove", "--force", str(tmp_path / "other"))
    assert [one["state"] for one in desk.data("list")] == ["kept"]
    desk.ok("recover", TASK)
    assert desk.seat("implementer")["worktree_snapshot"]["n"] == 1
    desk.ok("restore", "--agent", "implementer")
    assert desk.repo.read("parser.py") == b"mended\n"


def test_a_second_task_in_one_worktree_is_refused(begun: Desk) -> None:
    """128, and the way is another worktree."""
    said = begun.refuses("init", "TASK-2", "--title", "Another", code=128)
    assert said == (
        "error: TASK-1 is active in this worktree\n"
        "hint: git worktree add ../other && cd ../other   # one task per worktree\n"
        "hint: git taskctx purge   # or put this one away\n"
    )


def test_a_second_task_without_a_commit(tmp_path: Path) -> None:
    """git adds no worktree to a repository without a commit, so that none is hinted at."""
    desk = Desk(GitRepo.init(tmp_path / "unborn"))
    desk.init()
    purge = "hint: git taskctx purge   # puts that one away\n"
    assert desk.refuses("init", "TASK-2", "--title", "Another", code=128) == (
        f"error: TASK-1 is active in this worktree\n{purge}"
    )
    desk.ok("purge")
    desk.ok("init", "TASK-2", "--title", "Another")
    assert desk.refuses("recover", "TASK-1", code=128) == f"error: TASK-2 is active here\n{purge}"


def test_clean_and_recover(reviewed: Desk) -> None:
    """`git clean -fdx` takes our folder; ledger and refs bring the whole context back, and nothing else changed."""
    reviewed.ok("block", "--agent", "reviewer", "--finding", "no test")
    before = reviewed.context()
    base, again = (reviewed.ok("diff", "--type", kind, "--agent", "implementer").out for kind in ("from-base",) * 2)
    assert base == again
    reviewed.repo.git("clean", "-fdxq")
    assert not (reviewed.repo.path / ".agent-output").exists()
    assert "git taskctx recover TASK-1" in reviewed.refuses("status", code=128)
    reviewed.ok("recover", TASK)
    after = reviewed.context()
    assert {key: value for key, value in after.items() if key != "audit"} == {
        key: value for key, value in before.items() if key != "audit"
    }
    reviewed.ok("verify")
    assert reviewed.ok("diff", "--type", "from-base", "--agent", "implementer").out == base


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("Mend the parser", "Mend everything"),
        lambda text: text.replace('"drift_budget": 0', '"drift_budget": -1', 1),
        lambda text: text + "\n",
        lambda text: json.dumps(json.loads(text)),
    ],
    ids=["task", "budget", "blank line", "layout"],
)
def test_a_context_edited_by_hand_blocks_until_recover(implemented: Desk, edit: object) -> None:
    """Reading tells and shows what the ledger says; changing refuses; `recover` puts it back."""
    path = implemented.folder() / "context.json"
    text = path.read_text()
    path.write_text(edit(text))  # type: ignore[operator]
    got = implemented.ok("get")
    assert "warning: context.json of TASK-1 was edited by hand\n" in got.err
    assert "Mend the parser" in got.out
    assert implemented.refuses("start", "--agent", "reviewer") == (
        "error: finding by taskctx: context.json of TASK-1 was edited by hand\nhint: git taskctx recover TASK-1\n"
    )
    implemented.ok("recover", TASK)
    assert implemented.ok("get").err == ""
    implemented.ok("start", "--agent", "reviewer")


@pytest.mark.parametrize("asked", [("status",), ("verify", "HEAD"), ("get", "--task", TASK)])
def test_the_commit_of_the_validated_tree_seals(validated: Desk, asked: tuple[str, ...]) -> None:
    """The chain stands in notes on the commit and on its tree, the context is archived, git shows the records.

    Whatever is asked first says so in a line of its own, and warns of nothing.
    """
    head = validated.repo.commit("mended")
    lines = plain(validated.ok(*asked).both).splitlines()
    assert "TASK-1 is over: commit <oid> is what was validated, and its proof is in refs/notes/taskctx" in lines
    for target in (head, f"{head}^{{tree}}"):
        lines = validated.repo.git("notes", "--ref=taskctx", "show", target).splitlines()
        kinds = [json.loads(line)["type"] for line in lines]
        assert kinds == ["init", "snapshot", "start", "snapshot", "start", "snapshot", "seal"]
    assert json.loads(lines[-1])["commit"] == head
    assert [one["state"] for one in validated.data("list")] == ["archived"]
    assert not validated.folder().exists()
    assert "no task context is active" in validated.refuses("get", code=128)
    validated.ok("get", "--task", TASK)


def test_an_amended_message_keeps_the_proof_by_its_tree(validated: Desk) -> None:
    """A reworded commit has the same tree, and the note on that tree is still found."""
    validated.repo.commit("mended")
    validated.ok("verify")
    validated.repo.git("commit", "-q", "--amend", "-m", "mended the parser")
    assert validated.repo.git("notes", "--ref=taskctx", "show", "HEAD^{tree}")


def test_after_the_seal_the_next_task_begins(validated: Desk) -> None:
    """`init` of the next task finds the validated commit and ends the one before."""
    validated.repo.commit("mended")
    validated.ok("init", "TASK-2", "--title", "Another")
    assert {(one["task"], one["state"]) for one in validated.data("list")} == {(TASK, "archived"), ("TASK-2", "active")}


@pytest.mark.parametrize(
    "args",
    [
        ("start", "--agent", "reviewer"),
        ("snapshot", "--agent", "validator", "--done"),
        ("block", "--agent", "reviewer", "--finding", "late"),
        ("resolve-drift", "--accept", "--note", "late"),
        ("restore", "--agent", "implementer"),
        ("update", "--agent", "validator", "--session-id", "s"),
        ("get",),
        ("log",),
        ("diff",),
    ],
    ids=lambda args: args[0],
)
def test_any_verb_that_finds_the_commit_seals(validated: Desk, args: tuple[str, ...]) -> None:
    """Without hooks: whoever comes first finds the task over, and changes nothing of it."""
    validated.repo.commit("mended")
    validated.run(*args)
    assert [record["type"] for record in validated.records()][-2:] == ["seal", "purge"]
    assert validated.repo.read("parser.py") == b"mended\n"


def test_another_commit_seals_nothing(begun: Desk) -> None:
    """A commit of a part, or on another parent, is not what was validated."""
    begun.repo.write("README", "changed\n")
    begun.validate()
    begun.repo.add("README")
    begun.repo.commit_staged("half")
    begun.ends(1, "verify")
    assert begun.records("seal") == []


def test_committed_early_can_be_sealed_when_the_chain_is_done(begun: Desk) -> None:
    """HEAD moved with the same tree: accepted, the parent stays, and that commit is sealed at the end."""
    parent = begun.repo.head()
    begun.implement()
    head = begun.repo.commit("too early")
    assert "committed early" in begun.refuses("start", "--agent", "reviewer")
    begun.ok("resolve-drift", "--accept", "--note", "too early")
    assert begun.context()["git"]["parent"] == parent
    begun.ok("snapshot", "--agent", "reviewer")
    begun.ok("snapshot", "--agent", "validator", "--done")
    assert "is over" in begun.ok("verify").out
    assert begun.records("seal")[0]["commit"] == head


def test_no_seal_while_drift_is_unresolved(validated: Desk) -> None:
    """A budget above the allowance is settled with a note first, or the proof would never hold."""
    validated.repo.write("parser.py", "hand made\n")
    validated.ends(1, "verify")
    validated.repo.write("parser.py", "mended\n")
    validated.repo.commit("mended")
    validated.run("verify")
    assert validated.records("seal") == []
    validated.ok("resolve-drift", "--accept", "--note", "undone")
    validated.ok("verify")
    assert len(validated.records("seal")) == 1
