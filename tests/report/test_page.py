"""`report`: the whole page, where it is written, for which tasks it is, and what it says when it cannot tell."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from desk import TASK, Desk, plain
from gitrepo import GitRepo
from hypothesis import given
from hypothesis import strategies as st
from proof.scene import Scene
from proof.test_attacks import Attacker, signed_scene
from proof.test_processes import counted
from report.reading import Page
from report.story import HOSTILE_WORDS, account, begun, played

from git_taskctx import __version__
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.record import RECORD_TYPES, load_record
from git_taskctx.model.values import replace
from git_taskctx.report.account import Account
from git_taskctx.report.page import LIMIT, MARK, RECORDS, render_page

WHOLE = """\
TASK-1: Discount on a cart
Skip to the last approval
Task report / TASK-1
Discount on a cart
context <context>, begun on main, base commit <oid>
Commit: verified
<oid> Give a discount tree <oid>, by the records of this commit
Do not take this page’s word for it: git taskctx verify <oid> judges by the policy of <oid>.
Since approval 0 Findings 1 Checks 1 Files 3 Changes 5 Chain 19 Drift 2 Bypasses 0 Task
Since the last approval
validator approved tree <oid> <time>, record 18. No change has been recorded since.
Findings
F1 closed
a discount over 100 makes the total negative
raised by reviewer (coder-model-reviewer) <time>, record 5 · closed by reviewer (coder-model-reviewer) <time>, record 14
Checks, before and after
worse 1 new failure
python -m unittest
worse 1 new failure
before the task
passed, exit code 0, by implementer (coder-model-implementer), <time>, log E1, tree <oid>
last run
failed, exit code 1, by validator (coder-model-validator), <time>, log E2, tree <oid>
fails now: unittest: test_bounds (test_prices.TotalTest.test_bounds)
unittest failures 0 -> 1
Files
README +1 −1 by implementer
logo.bin by reviewer
prices.py +2 −0 by implementer
Changes, agent by agent
implementer, round 1 +1 −0
by coder-model-implementer · snapshot 1 · in the chain · git diff <oid> <oid>
prices.py +1 −0 new file, mode 100644
@@ -0,0 +1 @@ +return 1
implementer, round 2 +1 −0
by coder-model-implementer · snapshot 2 · in the chain · git diff <oid> <oid>
prices.py +1 −0
@@ -1 +1,2 @@ return 1 +checked
implementer, round 2: drift that was accepted +1 −1
by A U Thor · snapshot 3 · in the chain · git diff <oid> <oid>
README +1 −1
@@ -1 +1 @@ -read me +accepted
reviewer, round 2 +0 −0
by coder-model-reviewer · snapshot 1 · in the chain · git diff <oid> <oid>
logo.bin new file, mode 100644, binary, content not shown
validator, round 1
by coder-model-validator · snapshot 1 · in the chain · git diff <oid> <oid>
Nothing was changed.
The chain
Who did what, when, oldest first. Times are UTC. All in one place: worktree main of clone <clone>. \
The records are not signed: whoever can push notes could have written them.
implementer done coder-model-implementer
reviewer done coder-model-reviewer
validator done coder-model-validator
implementer, round 1 its changes
<time>
init implementer began at <oid>, tree <oid>
by A U Thor
<time>
qa implementer python -m unittest: passed, exit code 0, E1 (baseline)
by coder-model-implementer · tree <oid>
<time>
snapshot implementer 1: tree <oid> +1 -0
by coder-model-implementer · commit <oid>
reviewer, round 1
<time>
start reviewer from implementer, round 1, tree <oid>
by coder-model-reviewer · commit <oid>
<time>
block reviewer F1: a discount over 100 makes the total negative
by coder-model-reviewer
implementer, round 2 its changes
<time>
start implementer back from reviewer, round 2, tree <oid>
by coder-model-implementer · commit <oid>
<time>
snapshot implementer 2: tree <oid> +2 -0
by coder-model-implementer · commit <oid>
<time>
drift implementer parser.py edited
by A U Thor · tree <oid> · commit <oid>
<time>
resolve implementer as expected again
tried the rounding by hand; put back
by A U Thor · tree <oid>
<time>
drift implementer README edited
by A U Thor · tree <oid> · commit <oid>
<time>
snapshot implementer 3: tree <oid> +3 -1 [accepted]
by A U Thor · commit <oid>
<time>
resolve implementer accepted
tried the rounding by hand; put back
by A U Thor · tree <oid>
reviewer, round 2 its changes
<time>
start reviewer from implementer, round 2, tree <oid>
by coder-model-reviewer · commit <oid>
<time>
unblock reviewer F1 closed
by coder-model-reviewer
<time>
snapshot reviewer 1: tree <oid> +3 -1
by coder-model-reviewer · commit <oid>
validator, round 1 its changes
<time>
start validator from reviewer, round 1, tree <oid>
by coder-model-validator · commit <oid>
<time>
qa validator python -m unittest: failed, exit code 1, E2
by coder-model-validator · tree <oid>
<time>
snapshot validator 1: tree <oid> +3 -1 [done]
by coder-model-validator · commit <oid>
<time>
seal validator commit <oid> is what was validated
by A U Thor · tree <oid>
After the commit
These records came after the one that says which commit is the task’s. \
No proof has looked at them, and nothing else on this page counts them.
<time> purge validator by A U Thor: put away
Drift
After implementer’s snapshot resolved
parser.py edited
found <time> by A U Thor, record 8
tried the rounding by hand; put back
put back <time> by A U Thor, record 9
After implementer’s snapshot resolved
README edited
found <time> by A U Thor, record 10
tried the rounding by hand; put back
accepted as the work of the owner <time> by A U Thor, record 12
Bypasses
None is on record.
The task, as it was captured
Regular customers get a discount, in percent.
Evidence
E1 qa_log: <log>, 100 bytes: python -m unittest sha256 <oid>
E2 qa_log: <log>, 364 bytes: python -m unittest sha256 <oid>
Made by git-taskctx <version> from the records in refs/notes/taskctx and the trees of this clone.
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A worktree with one commit."""
    return begun(tmp_path / "work")


def read(desk: Desk, *args: str) -> Page:
    """Report to standard output, and read it."""
    said = desk.ok("report", *args)
    assert said.out.encode().startswith(MARK)
    return Page(said.out.encode())


def test_the_whole_page(tmp_path: Path) -> None:
    """Everything about a task stands on the page, from its commit and by its name, with links that lead somewhere."""
    desk = played(tmp_path / "work")
    desk.repo.commit("Give a discount")
    desk.ok("verify")
    page = read(desk, TASK)
    text = plain("".join(f"{line}\n" for line in page.lines))
    text = re.sub(r"/\S+/(before|after)\.log", "<log>", text)
    clone = desk.ok("log", "--task", TASK, "--format", "json").document()["data"][0]["clone"]
    assert text.replace(clone, "<clone>").replace(__version__, "<version>") == WHOLE
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert desk.ok("report", "--task", TASK).out == desk.ok("report", TASK).out
    sealed = read(desk, "HEAD").lines
    assert "After the commit" not in sealed
    assert sealed[1:5] == page.lines[1:5]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two reports are equal, also when the first one is what notices the commit, and in another time and place."""
    desk = played(tmp_path / "work")
    assert desk.ok("report").out == desk.ok("report").out
    desk.repo.commit("Give a discount")
    desk.ok("status")
    first = desk.process("report", TASK, env={"TZ": "Asia/Tokyo", "LC_ALL": "C"})
    second = desk.process("report", TASK, cwd=desk.repo.path / ".git", env={"GIT_WORK_TREE": str(desk.repo.path)})
    assert first.out == second.out
    assert (first.err, first.code) == ("", 0)


# Where it is written


def test_to_a_file(desk: Desk, tmp_path: Path) -> None:
    """The page is written whole, as the umask has it; only a report of ours is replaced, unless it is forced."""
    desk.init()
    path = tmp_path / "pages" / "report.html"
    assert "no such file or directory" in desk.refuses("report", "-o", str(path), code=128)
    path.parent.mkdir()
    said = desk.ok("report", "-o", str(path))
    assert (said.out, said.err) == (f"wrote {path}\n", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert path.read_bytes() == desk.ok("report").out.encode()
    desk.ok("block", "--agent", "implementer", "--finding", "one")
    desk.ok("report", "--output", str(path))
    assert b"F1" in path.read_bytes()
    path.write_bytes(b"mine\n")
    assert desk.refuses("report", "-o", str(path)) == (
        f"error: {path} is not a report of git-taskctx, and is not replaced\n"
        f"hint: git taskctx report --force -o {path}   # replaces it\n"
    )
    assert path.read_bytes() == b"mine\n"
    desk.ok("report", "-o", str(path), "--force")
    assert path.read_bytes().startswith(MARK)
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


def test_no_odd_place_is_written(desk: Desk, tmp_path: Path) -> None:
    """A link, a FIFO, a folder and a large file are left alone, forced or not; an empty name is refused."""
    desk.init()
    target = tmp_path / "target"
    target.write_bytes(MARK)
    link, fifo, folder, large = (tmp_path / name for name in ("link", "fifo", "folder", "large"))
    link.symlink_to(target)
    os.mkfifo(fifo)
    folder.mkdir()
    for place in (link, fifo, folder):
        for more in ((), ("--force",)):
            said = desk.refuses("report", "-o", str(place), *more, code=128)
            assert "and git-taskctx opens none there" in said
    assert target.read_bytes() == MARK
    with large.open("wb") as file:
        file.write(MARK)
        file.truncate(LIMIT + 1)
    assert "is not a report" in desk.refuses("report", "-o", str(large))
    assert "the name of the output file is empty" in desk.refuses("report", "-o", "", code=129)


def test_in_the_worktree_it_is_a_change(desk: Desk) -> None:
    """A page in the worktree is told to be one, unless git ignores it; from a folder below it counts from there."""
    desk.init()
    below = desk.repo.write("docs/readme").parent
    said = desk.ok("report", "-o", "report.html", cwd=below)
    assert said.err == "warning: docs/report.html lies in the worktree, and is a change there like any other\n"
    desk.repo.write(".gitignore", "*.html\n")
    assert desk.ok("report", "-o", "report.html", cwd=below).err == ""
    assert desk.ok("report", "-o", ".git/page").err == ""


def test_on_a_terminal(desk: Desk) -> None:
    """Without a file a terminal gets no markup: the page goes to the git dir, where it is no change; a pipe gets it."""
    desk.init()
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "git_taskctx", "report"],
        cwd=desk.repo.path,
        env=desk.environment({"NO_COLOR": "1"}),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
        check=True,
    )
    os.close(follower)
    path = desk.repo.git_dir() / "taskctx" / f"report-{TASK}.html"
    assert os.read(leader, 10_000).decode() == f"wrote {path}\r\n"
    os.close(leader)
    assert done.stderr == b""
    assert path.read_bytes() == desk.ok("report").out.encode() == desk.ok("report", "-o", "-").out.encode()
    assert desk.repo.git("status", "--porcelain") == ""


def test_for_machines(desk: Desk, tmp_path: Path) -> None:
    """JSON tells where the page is, or holds it, with the verdict."""
    desk.init()
    path = tmp_path / "report.html"
    told = desk.data("report", "-o", str(path))
    assert (told["path"], told["bytes"], told["html"]) == (str(path), path.stat().st_size, None)
    assert (told["task"], told["proof"], told["verdict"]["outcome"]) == (TASK, None, "could-not-tell")
    assert desk.data("report")["html"] == path.read_text()


# What it is about


def test_the_states_of_a_task(desk: Desk, tmp_path: Path) -> None:
    """At work, drifted, as recorded, put away: each is told as what it is, and nothing but a proof as verified."""
    desk.init()
    seen = [read(desk).lines[5:7]]
    desk.implement()
    seen.append(read(desk).lines[5:7])
    desk.repo.write("parser.py", "drift\n")
    seen.append(read(desk).lines[5:8])
    desk.repo.write("parser.py", "mended\n")
    desk.ok("purge")
    page = read(desk, TASK)
    seen.append(page.lines[5:9])
    assert [[plain(line) for line in lines] for lines in seen] == [
        ["Worktree: in use by implementer", "implementer has been at work since <time>; nothing changed yet"],
        ["Worktree: matches", "unchanged since implementer's snapshot 1 (<time>)"],
        [
            "Worktree: drifted",
            "drift since implementer's snapshot 1 (<time>): 1 path changed",
            "parser.py edited",
        ],
        [
            "Verdict: could not tell",
            "nothing was proved here",
            "What this page cannot tell",
            "no commit of the task is on record, so there is nothing to prove",
        ],
    ]
    for name in ("nonsense", ""):
        assert desk.refuses("report", name, code=128) == (
            f"error: '{name}' is neither a commit nor a task that is known here\nhint: git taskctx list\n"
        )
    assert "nothing is known of" in desk.refuses("report", code=3)
    assert desk.refuses("report", "HEAD~1..HEAD", code=129) == (
        "error: a report is about one commit, and not about a range as 'HEAD~1..HEAD'\n"
        'hint: git taskctx verify "HEAD~1..HEAD"   # judges each commit of it\n'
    )


def test_drift_counts_nothing(desk: Desk) -> None:
    """A report is a reading verb: the budget, the ledger and the worktree are as they were."""
    desk.init()
    desk.implement()
    desk.repo.write("parser.py", "drift\n")
    before, records = desk.repo.census(), desk.records()
    assert desk.ok("report").out
    assert (desk.repo.census(), desk.records()) == (before, records)


def test_a_title_alone_and_two_who_acted(desk: Desk) -> None:
    """A task without a text says so, and everybody who acted as an agent is named with its seat."""
    desk.ok("init", "TASK-1", "--title", "A title")
    desk.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "ann")
    desk.ok("start", "--agent", "implementer", "--actor", "bob")
    desk.repo.write("parser.py", "mended again\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "bob")
    lines = read(desk).lines
    assert "implementer in progress, owns the tree ann, bob" in lines
    assert lines[lines.index("The task, as it was captured") + 1] == "It was given by its title alone."


def clone_of(desk: Desk, place: Path, *args: str, notes: bool = True) -> Desk:
    """Clone as CI would."""
    desk.repo.git("clone", "-q", *args, desk.repo.path.as_uri(), str(place))
    made = Desk(GitRepo(place))
    if notes:
        made.repo.git("fetch", "-q", "origin", "refs/notes/taskctx:refs/notes/taskctx")
    return made


def test_a_clone_with_the_notes_alone(tmp_path: Path) -> None:
    """The records are told, and proved; the text, and diffs whose trees are not here, are told to be missing."""
    desk = played(tmp_path / "work")
    desk.repo.commit("Give a discount")
    desk.ok("verify")
    clone = clone_of(desk, tmp_path / "clone")
    said = clone.ok("report", "HEAD")
    page = Page(said.out.encode())
    assert plain(read(clone, TASK).section("After the commit", "Drift")[-1]) == (
        "<time> purge validator by A U Thor: put away"
    )
    assert read(clone, TASK).lines[5:8] == page.lines[5:8]
    assert "Commit: verified" in page.lines
    assert page.section("What this page cannot tell", "Since the last approval")[:4] == [
        "What this page cannot tell",
        "the text of TASK-1 is not in this clone, only its records",
        "trees of some snapshots are not in this clone, so what changed between them cannot be shown",
        "git taskctx fetch origin --with-snapshots # where another clone has what is missing",
    ]
    assert "warning: the text of TASK-1 is not in this clone" in said.err
    assert page.lines.count("Could not tell: a tree is not in this clone.") == 4
    assert "Its text is not in this clone." in page.lines
    assert "fails now: unittest: test_bounds (test_prices.TotalTest.test_bounds)" in page.lines
    clone.repo.git("update-ref", "refs/taskctx/remotes/origin/notes", "refs/notes/taskctx")
    clone.repo.git("update-ref", "-d", "refs/notes/taskctx")
    assert clone.ok("report", "HEAD").out == said.out
    desk.repo.git("init", "-q", "--bare", str(tmp_path / "hub"))
    desk.ok("push", str(tmp_path / "hub"), "--with-snapshots", "--task", TASK)
    clone.repo.git("remote", "set-url", "origin", str(tmp_path / "hub"))
    clone.ok("fetch", "origin", "--with-snapshots")
    whole = Page(clone.ok("report", "HEAD").out.encode())
    assert "What this page cannot tell" not in whole.lines
    assert whole.section("Changes, agent by agent", "The chain") == Page(
        desk.ok("report", "HEAD").out.encode()
    ).section("Changes, agent by agent", "The chain")


def test_a_word_that_names_a_task_and_a_branch(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task wins, unless another one is named beside it; the word on the line wins over the environment."""
    for task in ("topic", "TASK-2"):
        desk.ok("init", task, "--title", f"Title of {task}")
        desk.validate()
        if task == "topic":
            desk.repo.commit("Mend the parser")
            desk.ok("verify")
        else:
            desk.ok("purge")
        desk.repo.write("parser.py", "again\n")
        desk.repo.commit("again")
    desk.repo.git("branch", "topic", "HEAD~1")
    assert "Title of topic" in read(desk, "topic").lines
    assert "Title of TASK-2" in read(desk, "TASK-2").lines
    assert "nothing is known of" in desk.refuses("report", "topic", "--task", "TASK-2", code=3)
    monkeypatch.setenv("GIT_TASKCTX_TASK", "topic")
    assert "Title of TASK-2" in read(desk, "TASK-2").lines


def test_signatures(tmp_path: Path) -> None:
    """Of signed records each says how its signature is; one that names somebody else is told, and its commit."""
    scene, _ = signed_scene(tmp_path)
    assert scene.done
    lines = read(scene.desk, TASK).lines
    assert "Commit: verified" in lines
    assert sum(line.endswith(" · signature good") for line in lines) == len(scene.desk.records()) - 1  # but the last
    assert "The records are not signed" not in " ".join(lines)
    (tmp_path / "forged").mkdir()
    forged, _ = signed_scene(tmp_path / "forged", names="somebody")
    assert forged.done
    lines = read(forged.desk, TASK).lines
    assert "Commit: violated" in lines
    assert "signature good" not in " ".join(lines)
    assert any(line.endswith("names A U Thor, and is signed by somebody") for line in lines)


@pytest.mark.parametrize("signed", [True, False])
def test_records_after_the_commit(tmp_path: Path, signed: bool) -> None:
    """What anybody appends after the record that names the commit is told apart, and changes nothing of the rest.

    That is so of the commit and of the task, where the policy asks for signatures and where it does not.
    """
    scene = signed_scene(tmp_path)[0] if signed else Scene.sealed(tmp_path)
    commit = scene.done
    attacker = Attacker(scene.clone("clone"), commit)
    before = {asked: read(attacker.clone, asked).lines for asked in ("HEAD", TASK)}
    records = [load_record(json.dumps(one)) for one in scene.desk.records()]
    place, time = {"clone": "0" * 16, "worktree": "main"}, records[-1].time
    seal = replace(records[-2], time=time, diff_sha=None, commit_tree=None, body=place)
    run = {"command": "make test", "exit_code": 0, "status": "passed", "reports": [], "log": "E9"}
    log = {"id": "E9", "type": "qa_log", "path": "x.log", "sha256": "0" * 64, "size": 1, "stored_sha256": "0" * 64}
    log |= {"description": None}
    back = {"previous": "validator", "round": 2, "back": True, "verified": True}
    forged = [
        replace(seal, type="qa", agent="validator", body={**seal.body, "run": run, "evidence": log}),
        replace(seal, type="start", agent="implementer", body={**seal.body, **back}),
    ]
    noted = [line.split()[1] for line in attacker.repo.git("notes", "--ref=taskctx", "list").splitlines()]
    attacker.put(attacker.rechain([*records, *forged]), *noted)
    for asked, lines in before.items():
        page = read(attacker.clone, asked)
        section = page.section("After the commit", "Drift")
        told = ["<time> purge validator by A U Thor: put away"]
        if not signed or asked == TASK:  # a proof that asks for signatures reads no unsigned line as a record
            told += [
                "<time> qa validator by A U Thor: make test: passed, exit code 0, E9",
                "<time> start implementer by A U Thor: back from validator, round 2, tree <oid>",
            ]
        assert [plain(line) for line in section[2:]] == told
        assert "Commit: verified" in page.lines
        start = lines.index("After the commit") if "After the commit" in lines else lines.index("Drift")
        at = page.lines.index("After the commit")
        shown = [line for line in page.lines[:at] if not line.startswith("notice, foreign-lines")]
        assert shown == lines[:start]
        rest = "Drift"
        assert page.lines[page.lines.index(rest) :] == lines[lines.index(rest) :]


def test_without_a_worktree(desk: Desk, tmp_path: Path) -> None:
    """A bare clone, as on a server, tells what a clone with a worktree does."""
    desk.init()
    desk.validate()
    desk.repo.commit("Mend the parser")
    desk.ok("verify")
    clone, bare = clone_of(desk, tmp_path / "clone"), clone_of(desk, tmp_path / "bare.git", "--bare")
    for asked in ("HEAD", TASK):
        assert bare.ok("report", asked).out == clone.ok("report", asked).out
    assert bare.ok("report").out == bare.ok("report", "HEAD").out


def test_what_is_not_here_is_no_report(desk: Desk, tmp_path: Path) -> None:
    """Without notes, and for a commit that no record is about, the exit code is 3 and no file is written."""
    desk.init()
    desk.validate()
    desk.repo.commit("Mend the parser")
    desk.ok("verify")
    clone = clone_of(desk, tmp_path / "clone", "--depth=1", notes=False)
    path = tmp_path / "report.html"
    said = clone.refuses("report", "HEAD", "-o", str(path), code=3)
    assert plain(said) == (
        "error: nothing is known of <oid>: there is no refs/notes/taskctx in this clone\n"
        "hint: git taskctx fetch origin\n"
        "hint: git fetch --deepen=1\n"
        "hint: git taskctx verify HEAD --policy COMMIT   # or by a policy that you trust\n"
    )
    assert "no record mentions this commit or its tree" in desk.refuses("report", "HEAD~1", "-o", str(path), code=3)
    assert not path.exists()


def test_a_violated_commit_is_shown_as_one(desk: Desk, tmp_path: Path) -> None:
    """Records that were edited are listed for what they are; nothing that depends on them is shown."""
    desk.init()
    desk.validate()
    desk.repo.commit("Mend the parser")
    desk.ok("verify")
    repo = desk.repo
    for place in ("HEAD", "HEAD^{tree}"):
        note = repo.git("notes", "--ref=taskctx", "show", place)
        repo.git("notes", "--ref=taskctx", "add", "-f", "-F", "-", place, input=note.replace("A U Thor", "Mallory", 4))
    page = read(desk, "HEAD")
    assert page.lines[5] == "Commit: violated"
    assert "the records do not make one chain, so nothing that depends on them is shown" in page.lines
    assert page.section("Findings", "Files") == [
        "Findings",
        "Could not tell: the records do not add up.",
        "Checks, before and after",
        "Could not tell: the records do not add up.",
    ]
    assert "verified" not in " ".join(page.lines)


def test_a_merge_of_one_task(desk: Desk) -> None:
    """A merge commit is told by the task that it merges, and as unproven where nobody validated what it merges into."""
    desk.repo.checkout("-b", "topic")
    desk.init()
    desk.validate()
    desk.repo.commit("Mend the parser")
    desk.ok("verify")
    desk.repo.checkout("main")
    desk.repo.write("elsewhere.py", "elsewhere\n")
    desk.repo.commit("others")
    desk.repo.git("merge", "-q", "--no-ff", "-m", "merge it", "topic")
    assert [plain(line) for line in read(desk, "HEAD").lines[3:9]] == [
        "Mend the parser",
        "context <context>, begun on topic, base commit <oid>",
        "Commit: unproven",
        "1 of 1 that must be proved is unproven; 1 of 2 commits not proved",
        "<oid> unproven: merge it tree <oid>",
        "parent-unproven: not proved: <oid>",
    ]


def test_a_bypass(desk: Desk) -> None:
    """What bypassed the gate is listed, with the record that says so."""
    desk.ok("install")
    desk.init()
    desk.implement()
    desk.repo.add()
    commit = desk.repo.commit_staged("early", "--no-verify")
    desk.run("verify")
    page = read(desk)
    listed = page.section("Bypasses", "The task, as it was captured")
    assert len(listed) == 2
    assert listed[1].startswith("no-verify 2")
    assert f"commit {commit[:12]} bypassed the gate (commit): " in listed[1]


def test_processes_do_not_grow(desk: Desk, tmp_path: Path) -> None:
    """A task of many rounds takes as many git processes as a short one, but for one more for every eight diffs."""
    desk.init()
    env = counted(tmp_path / "bin")

    def processes() -> int:
        log = tmp_path / "bin" / "log"
        log.write_text("")
        assert desk.process("report", "-o", str(tmp_path / "page.html"), env=env).code == 0
        return len(log.read_text().splitlines())

    numbers = []
    for rounds in (1, 6, 2):
        for number in range(rounds):
            desk.implement(f"{rounds} {number}\n")
            desk.ok("start", "--agent", "reviewer")
            desk.ok("block", "--agent", "reviewer", "--finding", f"{number}")
            desk.ok("start", "--agent", "implementer")
        numbers.append(processes())
    assert numbers == [numbers[0], numbers[0], numbers[0] + 1]


# What anybody can have written


def test_hostile_words_are_text(tmp_path: Path) -> None:
    """No word of anybody becomes an element, an attribute or a character that a screen obeys."""
    friendly, desk = played(tmp_path / "friendly"), played(tmp_path / "work", HOSTILE_WORDS)
    data = desk.ok("report").out.encode()
    page = Page(data)
    assert page.names == Page(friendly.ok("report").out.encode()).names
    assert {name for _, attributes in page.elements for name in attributes} == {
        "aria-label", "charset", "class", "content", "dir", "href", "http-equiv", "id", "lang", "name", "open", "role",
        "tabindex",
    }  # fmt: skip
    assert all(link.startswith("#") for link in page.links)
    assert all(character.isprintable() or character in "\n\t" for character in data.decode())


EXTRA = (
    "attest", "causes", "clone", "count", "evidence", "fields", "finding", "from", "holds", "how", "kind", "n", "note",
    "reason", "reopened", "run", "signature", "stat", "text", "worktree",
)  # fmt: skip
"""What of a record the page looks at."""


def anything() -> st.SearchStrategy[Any]:
    """JSON of any shape."""
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
    return st.recursive(leaves, lambda some: st.lists(some) | st.dictionaries(st.text(max_size=5), some), max_leaves=6)


@pytest.fixture(scope="module")
def plain_account(tmp_path_factory: pytest.TempPathFactory) -> Account:
    """What there is to report of a task that was just begun."""
    desk = begun(tmp_path_factory.mktemp("plain") / "work")
    desk.init()
    return account(desk)


@pytest.mark.slow
@given(
    written=st.lists(
        st.tuples(
            st.sampled_from(sorted(RECORD_TYPES)),
            st.dictionaries(st.sampled_from(EXTRA), anything()),
            st.text(max_size=30),
        ),
        max_size=8,
    )
)
def test_records_of_others_never_break_the_page(
    plain_account: Account, written: list[tuple[Any, dict[str, Any], str]]
) -> None:
    """Whatever stands in records that are no chain, there is a page, sound and without a new kind of element."""
    told = plain_account
    (first,) = told.records
    records = tuple(
        replace(first, type=kind, body=extra, actor=text, time=text, id=f"{number}", seq=number)
        for number, (kind, extra, text) in enumerate(written, 1)
    )
    page = Page(render_page(replace(told, chain=None, turns=(), records=records or told.records, signatures={})))
    assert len(page.ids) == len(set(page.ids))
    assert "script" not in page.names
    assert "img" not in page.names


def test_the_size_is_bounded(plain_account: Account) -> None:
    """Thousands of long records give a page that says how many it leaves out, and is not larger than its limit."""
    told = plain_account
    (first,) = told.records
    long = "<" * 1_000_000
    records = tuple(
        replace(first, seq=number, actor=long, commit=CommitOid(long), body={"note": long})
        for number in range(1, 2 * RECORDS + 1)
    )
    page = render_page(replace(told, chain=None, turns=(), records=records))
    assert len(page) < LIMIT
    assert f"{RECORDS} records in the middle are not shown" in page.decode()
