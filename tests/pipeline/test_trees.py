"""Stages in trees of their own: side by side, brought together, and nothing left of them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from desk import TASK
from gitrepo import ROOT, modules_after
from scripted import Line, answer, script
from test_faults import alive, until

OURS = f"{sys.executable!r}, '-P', '-m', 'git_taskctx'"
PASSES = '[run]\nenv = ["PATH", "HOME", "PYTHONPATH", "GIT_*", "XDG_*"]\n'


def says(*words: str) -> str:
    """Return the line that prints what one of our verbs says, and how it ends."""
    listed = ", ".join(map(repr, words))
    return (
        f"done = subprocess.run([{OURS}, {listed}], text=True, capture_output=True); "
        f"print({words[0]!r}, done.returncode, done.stdout, done.stderr)"
    )


def two(first: str, second: str, **more: Any) -> dict[str, dict[str, Any]]:
    """Return two stages of the implementer side by side, a check, and who approves."""
    return {
        "api": {"agent": "implementer", "run": script(first)},
        "page": {"agent": "implementer", "run": script(second)},
        "test": {"after": ["api", "page"], "run": ["true"]},
        "review": {"agent": "reviewer", "after": ["test"], "run": script(answer({"flags": {"approve": True}}))},
        **more,
    }


@pytest.fixture
def trees(sealed_home: Path) -> Path:
    """The folder of the trees of all runs."""
    return sealed_home / ".cache/git-taskctx/trees"


def begin(line: Line, stages: dict[str, dict[str, Any]], more: str = PASSES) -> None:
    """Begin a task of two agents on a file of some lines."""
    line.repo.write("a.txt", "".join(f"line {number}\n" for number in range(9)))
    line.begin_task(stages, more, "--agents", "implementer,reviewer")


def change(number: int, text: str) -> str:
    """Return the line that changes one line of the file."""
    return (
        f"lines = open('a.txt').read().splitlines(True); lines[{number}] = {text + chr(10)!r}; "
        "open('a.txt', 'w').writelines(lines); "
    )


def test_two_at_once_become_one_snapshot(line: Line, trees: Path, tmp_path: Path) -> None:
    """Each waits for the other to be there; both edit one file; the merge is one snapshot, and the commit is proved."""
    meet = (
        "open({mine!r}, 'w').write('here'); "
        "[time.sleep(0.01) for _ in iter(lambda: os.path.exists({other!r}), True)]; "
        "print(os.getcwd(), os.environ['TASKCTX_PORT']); "
    )
    mine, other = os.fspath(tmp_path / "one"), os.fspath(tmp_path / "two")
    first = meet.format(mine=mine, other=other) + change(0, "API") + "open('api.txt', 'w').write('x')"
    begin(line, two(first, meet.format(mine=other, other=mine) + change(8, "PAGE") + "os.mkdir('b')"))
    states = line.states(line.carry(0))
    assert sorted(states[:2]) == ["api done", "page done"]
    assert states[2:] == ["api+page done", "test done", "review done"]
    assert (line.repo.read("a.txt").splitlines()[::8], line.repo.read("api.txt")) == ([b"API", b"PAGE"], b"x")
    snapshots = [one for one in line.records() if (one["type"], one["agent"]) == ("snapshot", "implementer")]
    assert [one["stage"]["stage"] for one in snapshots] == ["api+page"]
    assert list(trees.iterdir()) == []
    places = {line.ok("run", "--log", name).out.split()[-2] for name in ("api", "page")}
    assert len(places) == 2
    assert line.repo.git("worktree", "list").count("\n") == 0
    line.repo.commit("work")
    line.ok("verify")


def test_a_collision_waits_until_a_person_solved_it(line: Line) -> None:
    """Paths and hunks are named and lie in the worktree; both trees are kept; only what is solved goes on."""
    begin(line, two(change(4, "API"), change(4, "PAGE")))
    events = line.carry(3)
    (collision,) = (one for one in events if one["type"] == "collision" and one["state"] == "done")
    assert (collision["stages"], "a.txt: lines 5 to 9" in collision["text"]) == (["api", "page"], True)
    assert "api and page collide in a.txt" in events[-1]["why"]
    text = line.repo.read("a.txt").decode()
    assert "<<<<<<< api\nAPI\n=======\nPAGE\n>>>>>>> page\n" in text
    kept = line.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx/snapshots")
    assert [name for name in ("run/api/1", "run/page/1") if name not in kept] == []
    assert "still collide in a.txt" in line.carry(3, "--resume")[-1]["why"]
    assert "run --resume" in line.ok("status").out
    line.repo.write("a.txt", text.replace("<<<<<<< api\n", "").replace("=======\n", "").replace(">>>>>>> page\n", ""))
    assert line.states(line.carry(0, "--resume")) == [
        "api known", "page known", "api+page done", "test done", "review done",
    ]  # fmt: skip
    assert b"API\nPAGE\n" in line.repo.read("a.txt")


def test_a_collision_without_lines_waits_for_a_snapshot(line: Line) -> None:
    """One deletes what the other edits: a person says which it is by recording it."""
    begin(line, two("os.remove('a.txt')", change(4, "PAGE")))
    assert "collide in a.txt" in line.carry(3)[-1]["why"]
    assert "git taskctx snapshot --agent implementer" in line.ends(3, "run", "--resume").err
    line.ok("snapshot", "--agent", "implementer")
    assert line.states(line.carry(0, "--resume"))[2:] == ["api+page done", "test done", "review done"]
    assert b"PAGE" in line.repo.read("a.txt")


def test_what_comes_after_one_of_them_has_its_work(line: Line) -> None:
    """Between two of a group: a check and a stage see the work before them, and not that beside them."""
    more = "print(sorted(name for name in os.listdir() if name.endswith('.new')))"
    stages = {
        "api": {"agent": "implementer", "run": script("open('api.new', 'w').write('x')")},
        "page": {"agent": "implementer", "run": script("open('page.new', 'w').write('x')")},
        "look": {"after": ["api"], "run": script(f"open('junk', 'w').write('x'); {more}")},
        "docs": {"agent": "implementer", "after": ["look"], "run": script(f"open('docs.new', 'w').write('x'); {more}")},
        "all": {"after": ["docs", "page"], "run": script(more)},
    }
    begin(line, stages)
    states = line.states(line.carry(0))
    assert states[-2:] == ["api+page+docs done", "all done"]
    logs = {name: line.ok("run", "--log", name).out for name in ("look", "docs", "all")}
    assert logs == {
        "look": "['api.new']\n",
        "docs": "['api.new', 'docs.new']\n",
        "all": "['api.new', 'docs.new', 'page.new']\n",
    }
    assert not line.repo.at("junk").exists()
    trees = {one["stage"]["stage"]: one["tree"] for one in line.records() if "stage" in one and one["type"] == "qa"}
    assert "api.new" in line.repo.git("ls-tree", "--name-only", trees["look"])


def test_work_that_is_handed_back_goes_on_from_what_was_merged(line: Line) -> None:
    """One of two is sent back: it begins with the work of both, and the other does not run again."""
    found = answer({"data": {"findings": ["twice, please"]}})
    approves = answer({"data": {"findings": []}, "flags": {"approve": True}})
    review = f"n = open('api.new').read().count('x'); {found} if n < 2 else {approves}"
    stages = two("open('api.new', 'a').write('x'); print(os.path.exists('page.new'))",
                 "open('page.new', 'a').write('x')")  # fmt: skip
    stages["review"] |= {"run": script(review), "again": {"from": "api", "times": 1}}
    begin(line, stages)
    states = line.states(line.carry(0))
    assert states[-4:] == ["api done", "api+page done", "test done", "review done"]
    assert (line.repo.read("api.new"), line.repo.read("page.new")) == (b"xx", b"x")
    assert line.ok("run", "--log", "api").out == "True\n"


def test_a_check_with_a_tree_of_its_own_may_write(line: Line, trees: Path) -> None:
    """It is no drift, and its result is of the tree it was given; a check beside an agent has one unasked."""
    writes = script("open('junk', 'w').write('x'); print(open('a.txt').read().count('API'))")
    stages = {
        "before": {"run": writes},
        **two(change(0, "API"), change(8, "PAGE")),
    }
    stages["test"] |= {"run": writes, "tree": "own"}
    stages["review"]["after"] = ["test", "before"]
    begin(line, stages)
    line.carry(0)
    assert [line.ok("run", "--log", name).out for name in ("before", "test")] == ["0\n", "1\n"]
    results = {one["stage"]["stage"]: one["tree"] for one in line.records() if one["type"] == "qa"}
    snapshots = [one["tree"] for one in line.records() if one["type"] == "snapshot"]
    assert (results["test"], results["before"]) == (snapshots[0], line.repo.git("rev-parse", "HEAD^{tree}").strip())
    assert (line.repo.at("junk").exists(), list(trees.iterdir())) == (False, [])


def test_what_is_brought_is_a_copy(line: Line) -> None:
    """Ignored paths that are named are there, as copies; `setup` runs first; nothing of it gets into the tree."""
    for name in ("node_modules/x/index.js", ".env.local", "other/secret"):
        line.repo.write(name, "theirs\n")
    line.repo.write(".gitignore", "node_modules/\n.env*\nother/\nready\n")
    line.repo.at("node_modules/link").symlink_to("x")
    writes = (
        "open('node_modules/x/index.js', 'a').write('mine'); "
        "print(sorted(os.listdir()), os.readlink('node_modules/link'))"
    )
    more = f"{PASSES}bring = ['node_modules', '.env*', 'a.txt', '../*']\nsetup = [['touch', 'ready']]\n"
    begin(line, two(writes, change(8, "PAGE")), more)
    line.carry(0)
    listed = line.ok("run", "--log", "api").out
    assert [name in listed for name in ("node_modules", ".env.local", "ready", "other")] == [True, True, True, False]
    assert line.repo.read("node_modules/x/index.js") == b"theirs\n"
    assert not line.repo.at("ready").exists()


def test_verbs_in_such_a_tree(line: Line) -> None:
    """What only looks answers for the task; what would write, and a commit, say whose tree it is."""
    looks = "; ".join(says(*words) for words in (("get",), ("status",), ("diff",)))
    refused = (("init", "TASK-2", "--title", "t"), ("start", "--agent", "reviewer"),
               ("snapshot", "--agent", "implementer"), ("purge",))  # fmt: skip
    writes = "; ".join(says(*words) for words in refused)
    commits = (
        "open('x', 'w').write('x'); subprocess.run(['git', 'add', 'x']); "
        "print('commit', subprocess.run(['git', 'commit', '-m', 'x'], stderr=1).returncode)"
    )
    begin(line, two(f"{looks}; {writes}; {commits}", "open('y', 'w').write('y')"))
    assert line.process("run").code == 0
    out = line.ok("run", "--log", "api").out
    whose = f"this tree belongs to stage api of run 1 of {TASK}"
    assert [f"{verb} 0 {shows}" in out for verb, shows in (("get", TASK), ("status", TASK))] == [True, True], out
    assert "diff 0  implementer has changed nothing yet" in out
    assert [f"{words[0]} 1" in out for words in refused] == [True] * 4
    assert (out.count(f"error: {whose}"), "commit 1" in out) == (5, True)


def test_what_a_stage_does_to_its_repository_is_of_no_account(line: Line) -> None:
    """It commits, stashes, ignores and points elsewhere: its files alone count, and the main one has nothing of it."""
    spoils = (
        "run = lambda *words: subprocess.run(['git', *words], check=True, capture_output=True); "
        "open('api.new', 'w').write('x'); run('add', '-A'); run('commit', '--no-verify', '-qm', 'mine'); "
        "run('tag', 'mine'); open('a.txt', 'a').write('stashed'); run('stash'); "
        "open('.git/info/exclude', 'w').write('*.new'); run('config', 'core.autocrlf', 'true'); "
        "run('config', 'core.worktree', '/tmp'); open('more.new', 'w').write('x')"
    )
    begin(line, two(spoils, change(8, "PAGE")))
    refs = line.repo.git("for-each-ref", "refs/heads", "refs/tags", "refs/stash")
    line.carry(0)
    assert [line.repo.at(name).exists() for name in ("api.new", "more.new")] == [True, True]
    assert b"stashed" not in line.repo.read("a.txt")
    assert line.repo.git("for-each-ref", "refs/heads", "refs/tags", "refs/stash") == refs


def test_a_stage_that_deletes_its_tree_fails(line: Line, trees: Path) -> None:
    """Nothing of it is merged; the other's work is kept, and known when the run goes on."""
    begin(line, two("import shutil; shutil.rmtree(os.getcwd())", change(8, "PAGE")))
    events = line.carry(1)
    assert "its tree is gone" in next(one["why"] for one in events if one.get("stage") == "api" and "why" in one)
    assert (b"PAGE" in line.repo.read("a.txt"), list(trees.iterdir())) == (False, [])
    assert "page known" in line.states(line.carry(1, "--resume"))


def test_what_a_failed_stage_left_is_where_its_next_attempt_begins(line: Line) -> None:
    """As in the worktree: an agent that failed goes on from what it had done."""
    begin(line, two("open('api.new', 'a').write('x'); sys.exit(len(open('api.new').read()) < 2)", "open('b', 'w')"))
    line.carry(1)
    assert not line.repo.at("api.new").exists()
    line.carry(0, "--resume")
    assert line.repo.read("api.new") == b"xx"


def test_edits_of_the_worktree_meanwhile_are_merged(line: Line) -> None:
    """The implementer is at work, so what is done in its worktree is its work too."""
    edits = f"open({os.fspath(line.repo.at('hand.txt'))!r}, 'w').write('by hand')"
    begin(line, two(f"{change(0, 'API')}; {edits}".replace("; ;", ";"), change(8, "PAGE")))
    line.carry(0)
    assert (line.repo.read("hand.txt"), line.repo.read("a.txt").splitlines()[::8]) == (b"by hand", [b"API", b"PAGE"])


@pytest.mark.needs_linux
def test_a_killed_run_leaves_nothing_for_long(line: Line, trees: Path, tmp_path: Path) -> None:
    """Trees and processes of a killed run are gone with the next one; what had ended is known."""
    place = tmp_path / "pid"
    hangs = (
        f"os.path.exists({os.fspath(tmp_path / 'done')!r}) or "
        f"(open({os.fspath(place)!r}, 'w').write(str(os.getpid())), time.sleep(600)); open('b.txt', 'w').write('b')"
    )
    begin(line, two(change(0, "API"), hangs))
    process = line.begin("run", "--jobs", "2")
    events = line.repo.at(f".agent-output/tasks/{TASK}/runs/1/events.jsonl")
    until(lambda: place.exists() and place.read_text() and b'"stage-ended"' in events.read_bytes(), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list(trees.glob("tmp-*/page"))) == 1
    (tmp_path / "done").touch()
    assert line.states(line.carry(0, "--resume"))[:2] == ["api known", "page done"]
    assert (list(trees.iterdir()), alive(int(place.read_text()))) == ([], False)
    assert (line.repo.read("b.txt"), line.repo.read("a.txt")[:3]) == (b"b", b"API")


@pytest.mark.parametrize("wrote", ["nothing", "a part", "all"])
def test_a_merge_that_a_kill_broke_off_is_done_again(line: Line, wrote: str) -> None:
    """Killed between the first and the last file: the next run comes to the same tree."""
    begin(line, two(change(3, "API") + "open('api.new', 'w')", change(5, "PAGE") + "open('page.new', 'w')"))
    before = line.repo.read("a.txt")
    line.carry(0)
    after = line.repo.read("a.txt")
    events = line.repo.at(f".agent-output/tasks/{TASK}/runs/1/events.jsonl")
    lines = events.read_bytes().splitlines(keepends=True)
    writing = next(at for at, one in enumerate(lines) if b'"state":"writing"' in one)
    kept = b"".join(lines[: writing + 1])
    line.ok("purge")
    line.repo.git("clean", "-qfd")
    line.repo.write("a.txt", before)
    line.ok("init", TASK, "--title", "t", "--agents", "implementer,reviewer")
    line.repo.write(f".agent-output/tasks/{TASK}/runs/1/events.jsonl", kept)
    if wrote != "nothing":
        line.repo.write("a.txt", after)
    if wrote == "all":
        line.repo.write("api.new", "")
        line.repo.write("page.new", "")
    assert line.states(line.carry(0, "--resume"))[:3] == ["api known", "page known", "api+page done"]
    assert (line.repo.read("a.txt"), line.repo.at("page.new").exists()) == (after, True)


def test_only_runs_load_libgit2(line: Line) -> None:
    """The start of every other verb is not slowed down by it, nor by what runs stages."""
    begin(line, two("pass", "pass"))
    code, loaded = modules_after("status", cwd=line.repo.path)
    assert not {"pygit2", "git_taskctx.pipeline.trees", "git_taskctx.runner"} & loaded
    assert code == 0
    assert "pygit2" not in (ROOT / "git_taskctx/pipeline/run.py").read_text()
