"""Ranges, scopes, policies, parts, patches and adoption, each on real commits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo
from proof.scene import NOTES, TASK, Scene
from proof.test_matrix import cherry_pick, filter_names, merge, rebase_moved, squash_moved, squash_shifted


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A validated commit on `topic`, and one upon it that nobody validated."""
    scene = Scene.sealed(tmp_path)
    scene.repo.write("more.py", "more\n")
    scene.repo.commit("more")
    return scene


def verdicts(desk: Desk, *args: str) -> list[str]:
    """Return the verdict on each commit, newest first; those that must be proved are marked."""
    found = json.loads(desk.run("verify", *args, "--format", "json").out)["data"]
    return [found["verdict"], *(f"{'*' if one['required'] else ''}{one['verdict']}" for one in found["commits"])]


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        ("tip", ["unproven", "*unproven", "verified"]),
        ("tasks", ["verified", "unproven", "*verified"]),
        ("every", ["unproven", "*unproven", "*verified"]),
    ],
)
def test_scope(scene: Scene, scope: str, told: list[str]) -> None:
    """The tip, the commits of tasks, or every one must be proved; the others are shown, and do not count."""
    scene.repo.config("taskctx.proof.scope", scope)
    assert verdicts(scene.desk, "main..topic") == told


def test_a_tag_in_the_place_of_the_base(scene: Scene) -> None:
    """A tag that is named like the base branch, which git would take, neither shortens a range nor sets its rules."""
    clone = scene.clone("clone")
    clone.repo.git("branch", "-q", "main", "origin/main")
    asked = ("main..HEAD", "main~0..HEAD", "origin/main..HEAD", "refs/remotes/origin/main..HEAD")
    tip = scene.repo.git("rev-parse", "topic~1")
    for name in ("main", "origin/main"):
        scene.repo.git("tag", name, tip)
    clone.repo.git("fetch", "-q", "--tags", "origin")
    for one in asked[:3]:
        said = clone.refuses("verify", one, code=128)
        assert "is a tag, and a branch (refs/" in said
        assert "hint: git show-ref " in said
        assert len(clone.prove("--ci", one, code=3)["commits"]) == 2
    assert len(clone.prove(asked[3], code=3)["commits"]) == 2
    for name in ("main", "origin/main"):  # the same commit is no other
        scene.repo.git("tag", "-f", name, "refs/heads/main")
    clone.repo.git("fetch", "-q", "--tags", "--force", "origin")
    assert len(clone.prove("origin/main..HEAD", code=3)["commits"]) == 2


def test_what_a_range_drops_and_leaves_open(scene: Scene) -> None:
    """A range says how many of its commits are not proved, and what of its start its end does not contain."""
    for number in range(2):
        moved = scene.move_main(f"elsewhere-{number}.py")
    scene.repo.git("branch", "-q", "same", scene.done)
    found = scene.desk.data("verify", "main..same", code=0)
    assert found["summary"] == f"{scene.done[:12]} is verified; without 2 commits of main"
    (notice,) = found["notices"]
    assert notice["code"] == "drops-commits"
    assert notice["message"] == "2 commits of main are not in it: a push there would drop them"
    out = scene.desk.ends(3, "verify", f"{moved}..topic").out.splitlines()
    assert out[1:3] == [
        f"1 of 1 that must be proved is unproven; without 2 commits of {moved}; 1 of 2 commits not proved in "
        f"{moved}..topic (proof.scope = tip)",
        f"notice: drops-commits: 2 commits of {moved} are not in it: a push there would drop them",
    ]
    assert scene.desk.data("verify", f"{scene.base}..topic", code=3)["notices"] == []
    cut = scene.clone("cut", "--depth", "2", "--no-single-branch")
    told = cut.prove("origin/main..HEAD", code=3)["notices"]
    assert [one["message"] for one in told] == ["history is cut: it may not hold all of origin/main"]


def test_a_ref_in_the_place_of_an_oid(scene: Scene) -> None:
    """A ref named like the beginning of an oid, or as `git describe` would say it, is refused; not a whole oid."""
    repo, tip = scene.repo, scene.repo.git("rev-parse", "topic~1")
    for name, ref in (
        (scene.base[:10], f"refs/tags/{scene.base[:10]}"),
        (scene.base[:7], f"refs/heads/{scene.base[:7]}"),
        (f"v1-0-g{scene.base[:8]}", f"refs/tags/v1-0-g{scene.base[:8]}"),
        ("both", "refs/tags/both"),
        ("up", "refs/remotes/up/HEAD"),
    ):
        repo.git("update-ref", "refs/remotes/both", scene.base)
        repo.git("update-ref", "refs/heads/up", scene.base)
        repo.git("update-ref", ref, tip)
        for words in ((f"{name}..HEAD",), ("HEAD", "--policy", f"{name}~0")):
            said = scene.desk.refuses("verify", *words, code=128)
            assert " is a tag, and " in said or " is a branch, and " in said
            assert f"hint: git show-ref {name} " in said
        repo.git("update-ref", ref, scene.base)  # the same commit is no other
        assert len(scene.desk.data("verify", f"{name}..HEAD", code=3)["commits"]) == 2
    for name in (scene.base, "HEAD"):
        repo.git("update-ref", f"refs/tags/{name}", tip)
        assert scene.desk.data("verify", f"{name}~0" if name == "HEAD" else f"{name}..HEAD", code=3)["range"]


def test_a_tag_as_the_base_of_a_job(scene: Scene) -> None:
    """In a clone that has no branch but its own a tag is no base, however it is called; named as a tag it is one."""
    base, tip = scene.base, scene.repo.git("rev-parse", "topic~1")
    names = ("main", "origin/main", "heads/main", "remotes/origin/main", "refs/heads/main", base[:10])
    for name in names:
        scene.repo.git("update-ref", f"refs/tags/{name}", tip)
    clone = scene.clone("clone", "--single-branch")
    clone.repo.git("fetch", "-q", "--tags", "origin")
    for name in names:
        found = clone.prove("--ci", f"{name}..HEAD", code=3)
        assert (len(found["commits"]), found["policy"]) == (2, base), name
        assert clone.prove("--ci", "HEAD", "--policy", name)["policy"] == base, name
    for name in ("tags/main", "refs/tags/origin/main"):
        assert clone.prove("--ci", f"{name}..HEAD")["policy"] == tip, name
    scene.repo.git("tag", "v1", base)
    clone.repo.git("fetch", "-q", "--tags", "origin")
    (hint,) = clone.prove("--ci", "v1..HEAD", code=3)["hints"]
    assert hint == "git fetch origin refs/heads/v1   # what git says about it; there is a tag of that name: tags/v1"
    said = clone.refuses("verify", "--ci", "", code=129)
    assert "hint: git taskctx verify --ci BASE..HEAD   # name the commits" in said
    for words in (("HEAD@{9}",), ("--ci", "HEAD@{9}")):
        assert "error: 'HEAD@{9}' is not a commit\n" in clone.refuses("verify", *words, code=128)


def test_what_touches_a_task_is_a_tasks(scene: Scene) -> None:
    """A commit without a record must be proved when it changes what a task changed, or a task file."""
    scene.repo.config("taskctx.proof.scope", "tasks")
    scene.repo.write("parser.py", "slipped in\n")
    scene.repo.commit("slip")
    for number, name in enumerate(("tasks/TASK-7.task.yaml", "docs/d\u00e9j\u00e0 vu.task.yml", "TASK-8.task.md")):
        scene.repo.write(name, "title: T\n")
        scene.repo.commit(f"task file {number}")
    others = ["*unproven", "unproven", "*verified"]
    assert verdicts(scene.desk, "main..topic") == ["unproven", "unproven", "*unproven", "*unproven", *others]
    scene.repo.config("taskctx.task.roots", "./")
    assert verdicts(scene.desk, "main..topic") == ["unproven", "*unproven", "*unproven", "*unproven", *others]


def test_words_for_people(scene: Scene) -> None:
    """Each commit is a line with its verdict, its reasons below, and what to type is a hint."""
    said = scene.desk.ends(3, "verify", "main..topic")
    first, done = scene.repo.git("log", "--format=%h", "--abbrev=12", "main..topic").splitlines()
    assert said.out == (
        "commit: unproven\n"
        "1 of 1 that must be proved is unproven; 1 of 2 commits not proved in main..topic (proof.scope = tip)\n"
        f"{first}  unproven  more\n"
        "  no-record: no record mentions this commit or its tree\n"
        f"{done}  verified for TASK-1, by the records of this commit (not required)  Mend the parser\n"
    )
    aside = "there is no remote to ask, and a commit made outside a task has no records"
    assert said.err == f"hint: git taskctx list   # tasks known here; {aside}\n"
    scene.repo.git("remote", "add", "origin", "nowhere")
    aside = "or it was committed outside a task: nobody validated it"
    assert scene.desk.ends(3, "verify", "HEAD").err == f"hint: git taskctx fetch origin   # {aside}\n"


def test_who_is_told_of_a_violated_commit_is_led_to_its_log(scene: Scene) -> None:
    """The hint of a violated commit whose task is known is a log that people can read."""
    scene.repo.checkout("main")
    scene.repo.write(".taskctx.toml", 'agents = ["one", "two"]\n')
    policy = scene.repo.commit("other agents")
    said = scene.desk.ends(1, "verify", scene.done, "--policy", policy)
    assert said.err == "hint: git taskctx log --task TASK-1   # what was done\n"


def test_a_range_without_commits_is_no_pass(scene: Scene) -> None:
    """Nothing to prove is told, and is not a yes."""
    assert "main..main holds no commit" in scene.desk.ends(3, "verify", "main..main").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("verify", "main...topic"), 129, "hint: git taskctx verify main..topic"),
        (("verify", "nonsense"), 128, "'nonsense' is not a commit"),
        (("verify", "HEAD", "--strict"), 129, "--strict is about the worktree, not about HEAD"),
        (("verify", "--task", TASK, "--format", "sarif"), 129, "--format sarif is for the proof of commits"),
        (("verify", "--task", TASK, "--policy", "a b"), 129, 'hint: git taskctx verify HEAD --policy "a b"'),
        (("verify", "HEAD", "--commit-map", "none"), 129, "there is no file"),
        (("verify", "HEAD", "--policy", "none"), 128, "'none' is not a commit"),
        (("verify", "HEAD", "--reports", ""), 129, "hint: git taskctx verify HEAD --reports DIR"),
        (("adopt", "HEAD"), 129, "hint: git taskctx adopt HEAD --task TASK-1"),
    ],
)
def test_usage(scene: Scene, words: tuple[str, ...], code: int, said: str) -> None:
    """What makes no sense is refused with the command that does."""
    assert said in scene.desk.refuses(*words, code=code)


def test_a_clean_tree_proves_head(scene: Scene) -> None:
    """Without a context, a clean worktree asks about HEAD; a dirty one cannot be told anything of.

    Nor does a name that turned out empty, as an unset variable's, stand for HEAD.
    """
    scene.repo.checkout("-q", "HEAD~1")
    assert scene.desk.ok("verify").out.startswith("commit: verified\n")
    assert scene.desk.refuses("verify", "", code=128) == "error: '' is not a commit\nhint: git log --oneline\n"
    assert scene.desk.ends(3, "verify", "--expect", "").out.startswith("worktree: could not tell\n")
    scene.repo.write("dirt", "dirt\n")
    assert scene.desk.ends(3, "verify").out.startswith("worktree: could not tell\n")
    assert scene.desk.ok("verify", "HEAD").out.startswith("commit: verified\n")


def test_the_worktree_does_not_matter(scene: Scene) -> None:
    """A proof is the same with any worktree, index and HEAD, and leaves all of them alone."""
    before = scene.desk.ok("verify", "topic~1", "--format", "json").out
    scene.repo.checkout("-q", "--orphan", "empty")
    scene.repo.git("rm", "-rfq", ".")
    scene.repo.write(".taskctx.toml", "nonsense")
    scene.repo.write(".gitattributes", "* merge=evil filter=evil\n")
    census = scene.repo.census()
    assert scene.desk.ok("verify", "topic~1", "--format", "json").out == before
    assert scene.repo.census() == census


def test_policy_is_the_bases(tmp_path: Path) -> None:
    """What the change says of policy does not count; the base's does, or that of the commit that is named."""
    scene = Scene(tmp_path, policy="[commit]\nallow_bypass = []\n")
    scene.repo.checkout("-q", "-b", "topic")
    scene.desk.init()
    scene.repo.write(".taskctx.toml", "")
    scene.desk.ok("snapshot", "--agent", "implementer")
    scene.repo.write("parser.py", "edited without a start\n")
    scene.desk.ok("snapshot", "--agent", "reviewer", "--attest", "mine")
    scene.desk.ok("snapshot", "--agent", "validator", "--done")
    scene.seal()
    clone = scene.clone("clone")
    assert clone.told("HEAD") == "violated bypass bypass"
    assert clone.told("HEAD", "--policy", "HEAD") == "verified by commit"
    assert clone.told("HEAD~1..HEAD") == "violated bypass bypass"


def test_a_policy_that_is_not_here(tmp_path: Path) -> None:
    """A policy whose content is missing is not taken for none: nothing is proved, and a file that is none is none."""
    scene = Scene.sealed(tmp_path, policy="[proof]\nrequire_signed = false\nallowed_signers = 'parser.py/x'\n")
    clone = scene.clone("clone")
    assert clone.told("HEAD") == "verified by commit"
    for pack in list((clone.repo.git_dir() / "objects" / "pack").glob("*.pack")):
        data = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        clone.repo.git("unpack-objects", "-q", input=data)
    blob = clone.repo.git("rev-parse", "HEAD:.taskctx.toml")
    (clone.repo.git_dir() / "objects" / blob[:2] / blob[2:]).unlink()
    said = clone.run("verify", "HEAD")
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("error: .taskctx.toml of the commit ")


def test_agents_are_the_teams(tmp_path: Path) -> None:
    """Where the team committed its agents, a chain of others is none of theirs."""
    scene = Scene(tmp_path, policy='agents = ["implementer", "reviewer", "validator"]\n')
    scene.desk.init("--agents", "dev")
    scene.repo.write("parser.py", "alone\n")
    scene.desk.ok("snapshot", "--agent", "dev", "--done")
    scene.seal()
    assert scene.clone("clone", branch="main").told("HEAD") == "violated agents-differ"


@pytest.mark.parametrize("step", [squash_moved, squash_shifted, cherry_pick, rebase_moved])
def test_an_equal_patch(tmp_path: Path, step: object) -> None:
    """Where policy allows it the same change on another base is accepted, and the verdict says so."""
    scene = Scene.sealed(tmp_path, policy="[proof]\nby_patch = true\n")
    step(scene)  # type: ignore[operator]
    clone = scene.clone("clone")
    assert clone.told("HEAD") == "verified by patch"
    assert clone.prove("HEAD")["commits"][0]["notices"][0]["code"] == "by-patch"
    clone.repo.write("other.py", "slipped in\n")
    clone.repo.add()
    clone.repo.git("commit", "-q", "--amend", "--no-edit")
    assert clone.told("HEAD") == "unproven no-record"


def test_a_merge_under_every_scope(tmp_path: Path) -> None:
    """A merge is proved by its parents; one parent that is not takes the proof from it."""
    scene = Scene.sealed(tmp_path)
    merge(scene)
    scene.repo.config("taskctx.proof.scope", "every")
    whole, tip, *parents = verdicts(scene.desk, f"{scene.base}..main")
    assert (whole, tip, sorted(parents)) == ("unproven", "*unproven", ["*unproven", "*verified"])
    assert verdicts(scene.desk, "main^1..main") == ["verified", "*verified", "*verified"]


@pytest.mark.parametrize("words", [(), ("--ci",)], ids=["verify", "ci"])
def test_a_merge_that_is_asked_for_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What nobody validated is not proved by a merge upon it: a first parent is trusted where it is named as a base."""
    scene = Scene.sealed(tmp_path)
    repo = scene.repo
    tree = repo.git("rev-parse", "topic^{tree}")
    good = repo.git("commit-tree", "-m", "Merge", "-p", "topic", "-p", "main", tree)
    again = repo.git("commit-tree", "-m", "Merge", "-p", good, "-p", "topic", tree)
    repo.write("parser.py", "evil\n")
    evil = repo.commit("evil")
    bad = [evil]
    for _ in range(2):
        merged = repo.git("commit-tree", "-m", "Merge", "-p", bad[-1], "-p", scene.done, f"{evil}^{{tree}}")
        bad.append(merged)
    for number, oid in enumerate((again, *bad)):
        repo.git("update-ref", f"refs/heads/n{number}", oid)
    clone = scene.clone("clone")
    assert clone.told(*words, again) == "verified by merge"
    for oid in bad[1:]:
        assert clone.told(*words, oid) == "unproven parent-unproven"
        short = oid[:12]
        assert clone.prove(*words, oid)["hints"][-2:] == [
            f'git taskctx verify "{short}^1"   # its first parent, alone',
            f'git taskctx verify "{short}^1..{short}"   # or where that one is trusted',
        ]
        assert clone.told(*words, f"{evil}..{oid}") == "verified by merge"
    cut = scene.clone("cut", "--depth", "2", branch="n0")
    assert cut.told("HEAD") == "unproven merge-unchecked"
    assert cut.told("--ci", "HEAD") == "verified by merge"


def test_the_rules_for_what_lies_below_a_merge(tmp_path: Path) -> None:
    """A first parent that loosens the policy is not judged by it because a merge was put upon it."""
    scene = Scene(tmp_path, policy='agents = ["implementer", "reviewer", "validator"]\n')
    scene.repo.checkout("-q", "-b", "topic")
    scene.desk.init("--agents", "dev")
    scene.repo.write(".taskctx.toml", "")
    scene.desk.ok("snapshot", "--agent", "dev", "--done")
    loose = scene.seal()
    merged = scene.repo.git("commit-tree", "-m", "Merge", "-p", loose, "-p", "main", f"{loose}^{{tree}}")
    scene.repo.git("update-ref", "refs/heads/merged", merged)
    clone = scene.clone("clone", branch="merged")
    assert clone.told("HEAD^1") == "violated agents-differ"
    assert clone.told("HEAD") == "unproven parent-unproven"
    assert clone.told("HEAD", "--policy", "HEAD") == "verified by merge"


def test_a_hostile_merge_driver_is_not_run(tmp_path: Path) -> None:
    """The merge is made again without any driver, attribute or setting of the repository."""
    scene = Scene.sealed(tmp_path)
    merge(scene)
    mark = tmp_path / "ran"
    scene.repo.config("merge.evil.driver", f"touch {mark}")
    scene.repo.config("merge.default", "evil")
    scene.repo.write(".gitattributes", "* merge=evil\n")
    assert scene.desk.ok("verify", "main^1..main").out.startswith("commit: verified\n")
    assert not mark.exists()


def test_a_commit_map(tmp_path: Path) -> None:
    """A map of git-filter-repo links new names with old ones where nothing else does."""
    scene = Scene.sealed(tmp_path)
    filter_names(scene)
    clone = scene.clone("clone")
    notes = clone.repo.git("notes", "--ref=taskctx", "list", clone.repo.tree())
    clone.repo.git("notes", "--ref=taskctx", "remove", clone.repo.tree())
    assert notes
    assert clone.told("HEAD") == "unproven no-record"
    place = scene.repo.path / "filter-repo/commit-map"
    assert clone.told("HEAD", "--commit-map", os.fspath(place)) == "verified by commit"
    (clone.repo.git_dir() / "filter-repo").mkdir()
    (clone.repo.git_dir() / "filter-repo/commit-map").write_bytes(place.read_bytes())
    assert clone.told("HEAD") == "verified by commit"


def test_adopt(tmp_path: Path) -> None:
    """A chain is attached to a commit that it proves, here and in another clone; twice is once."""
    scene = Scene.sealed(tmp_path)
    done = scene.done
    scene.repo.commit_staged("Another message", "--amend")
    clone = scene.clone("clone")
    clone.repo.git("notes", "--ref=taskctx", "remove", done)
    said = clone.ok("adopt", "HEAD", "--task", TASK)
    assert said.out == f"adopted {clone.repo.head()[:12]} is what was validated for TASK-1\n"
    assert clone.told("HEAD") == "verified by commit"
    before = clone.repo.git("rev-parse", NOTES)
    assert "it was proved before" in clone.ok("adopt", "HEAD", "--task", TASK).err
    assert clone.repo.git("rev-parse", NOTES) == before


def test_adopt_refuses_any_other(tmp_path: Path) -> None:
    """Another tree, another parent, a chain that does not hold, a task that is not known: nothing is written."""
    scene = Scene.sealed(tmp_path)
    scene.repo.write("parser.py", "slipped in\n")
    other = scene.repo.commit("other tree")
    before = scene.repo.git("rev-parse", NOTES)
    said = scene.desk.refuses("adopt", other, "--task", TASK)
    was = scene.repo.tree("HEAD~1")[:12]
    assert f"{other[:12]} does not have the tree that was validated for TASK-1 ({was})\n" in said
    assert "parser.py" in said
    scene.repo.git("revert", "--no-edit", "HEAD")
    told = f"error: the records of TASK-1 do not prove {scene.repo.head()[:12]} (parent-differs: "
    assert scene.desk.refuses("adopt", "HEAD", "--task", TASK).startswith(told)
    assert "no records of TASK-9" in scene.desk.refuses("adopt", "HEAD", "--task", "TASK-9", code=3)
    assert scene.repo.git("rev-parse", NOTES) == before


def test_adopt_refuses_a_fork(tmp_path: Path) -> None:
    """While two records follow the same one, and nobody said which holds, there is nothing to attach."""
    scene = Scene.sealed(tmp_path)
    record = scene.repo.git("notes", "--ref=taskctx", "show", scene.done).splitlines()[3]
    scene.repo.git("notes", "--ref=taskctx", "append", "-m", record.replace("A U Thor", "Somebody"), "HEAD")
    told = f"error: the records of TASK-1 do not prove {scene.repo.head()[:12]} (fork: "
    assert scene.desk.refuses("adopt", "HEAD", "--task", TASK).startswith(told)


def test_volatile_keys(tmp_path: Path) -> None:
    """A commit that also sets a volatile key of the task file is proved, and adopted once more; other text is not."""
    text = "title: Mend it\nstatus: {}\ndescription: {}\nacceptance_criteria:\n  - it works\n"
    path = "tasks/d\u00e9j\u00e0/TASK-1 vu.task.yaml"
    scene = Scene(tmp_path, before=lambda repo: repo.write(path, text.format("in_progress", "words")))
    scene.desk.ok("init", TASK)
    scene.desk.validate()
    scene.repo.write(path, text.format("done", "words"))
    scene.seal()
    clone = scene.clone("clone", branch="main")
    assert clone.told("HEAD") == "verified by commit"
    assert [one["code"] for one in clone.prove("HEAD")["commits"][0]["notices"]] == ["volatile-keys"]

    def amend(status: str, words: str) -> None:
        scene.repo.write(path, text.format(status, words))
        scene.repo.add()
        scene.repo.commit_staged("Mend the parser", "--amend")

    amend("cancelled", "words")
    amended = scene.clone("amended", branch="main")
    assert amended.told("HEAD") == "unproven no-record"
    amended.ok("adopt", "HEAD", "--task", TASK)  # the notes alone are here, and say which file it was
    assert amended.told("HEAD") == "verified by commit"
    scene.desk.ok("adopt", "HEAD", "--task", TASK)
    assert scene.clone("adopted", branch="main").told("HEAD") == "verified by commit"
    entries = scene.repo.run("cat-file", "tree", "HEAD^{tree}").stdout
    twice = b"100644 parser.py\0" + b"\x11" * 20 + entries  # a name that stands twice hides neither
    odd = scene.repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", input=twice)
    crafted = scene.repo.git("commit-tree", "-p", "HEAD~1", "-m", "x", odd)
    assert "does not have the tree that was validated" in scene.desk.refuses("adopt", crafted, "--task", TASK)
    amend("cancelled", "other words")
    assert "does not have the tree that was validated" in scene.desk.refuses("adopt", "HEAD", "--task", TASK)
    assert "does not have the tree that was validated" in scene.clone("other", branch="main").refuses(
        "adopt", "HEAD", "--task", TASK
    )


def test_volatile_keys_in_a_file_of_many_tasks(tmp_path: Path) -> None:
    """Where tasks share a file the state of any may change, but the text of none, the task's own or another's."""
    path = "tasks/tasks.json"

    def tasks(**changes: str) -> str:
        one = {
            "id": 1,
            "title": "Mend it",
            "status": "in_progress",
            "description": "words",
            "acceptance_criteria": ["a"],
        }
        two = {"id": 2, "title": "Other", "status": "pending", "description": "their words"}
        two["subtasks"] = [{"id": 1, "title": "Step", "details": "slowly"}]  # type: ignore[assignment]
        beside = {"scripts": {"test": "make test"}, "metadata": {"updated": "then"}}
        text = json.dumps({"tasks": [one, two], **beside}, indent=1)
        for old, new in changes.items():
            text = text.replace(f'"{old.replace("_", " ")}"' if old != "in_progress" else '"in_progress"', f'"{new}"')
        return text

    scene = Scene(tmp_path, before=lambda repo: repo.write(path, tasks()))
    scene.desk.ok("init", TASK, "--task-file", path)
    scene.desk.validate()
    scene.repo.write(path, tasks(in_progress="done", pending="in-progress", then="now"))
    scene.seal()
    assert scene.clone("clone", branch="main").told("HEAD") == "verified by commit"
    for old in ("their words", "Step", "slowly", "Other", "make test"):
        scene.repo.write(path, tasks(in_progress="done", **{old.replace(" ", "_"): "evil"}))
        scene.repo.add()
        scene.repo.commit_staged("Mend the parser", "--amend")
        assert scene.repo.read(path).count(b"evil") == 1
        assert "does not have the tree that was validated" in scene.desk.refuses("adopt", "HEAD", "--task", TASK), old


def test_volatile_keys_by_the_ledger_alone(tmp_path: Path) -> None:
    """What was sealed as it was validated, and got another status after: adopted where no context of the task is."""
    text, path = (
        "title: Mend it\nstatus: {}\ndescription: words\nacceptance_criteria: [it works]\n",
        "tasks/TASK-1.task.yaml",
    )
    scene = Scene(tmp_path, before=lambda repo: repo.write(path, text.format("in_progress")))
    scene.desk.ok("init", TASK)
    scene.desk.validate()
    scene.seal()
    scene.repo.write(path, text.format("done"))
    scene.repo.add()
    scene.repo.commit_staged("Mend the parser", "--amend")
    clone = scene.clone("clone", branch="main")
    assert clone.told("HEAD") == "unproven no-record"
    clone.ok("adopt", "HEAD", "--task", TASK)
    assert clone.told("HEAD") == "verified by commit"
    assert [one["code"] for one in clone.prove("HEAD")["commits"][0]["notices"]] == ["volatile-keys"]


def test_adopt_an_unfinished_task(tmp_path: Path) -> None:
    """What is not validated cannot be adopted."""
    scene = Scene(tmp_path)
    scene.desk.init()
    scene.repo.write("parser.py", "mended\n")
    scene.desk.ok("snapshot", "--agent", "implementer")
    commit = scene.repo.commit("too early")
    assert "not-done: " in scene.desk.refuses("adopt", commit, "--task", TASK)


def test_the_hint_brings_the_notes(tmp_path: Path) -> None:
    """What a verdict says to type makes it a yes, with no notes here and with older ones."""
    scene = Scene.sealed(tmp_path)
    scene.repo.git("update-ref", "refs/notes/before", scene.stale)
    for name, notes in (("none", None), ("stale", f"refs/notes/before:{NOTES}")):
        clone = scene.clone(name, notes=notes)
        (hint,) = clone.prove("HEAD")["hints"]
        aside = "   # or it was committed outside a task: nobody validated it" if notes else ""
        assert hint == f"git taskctx fetch origin{aside}"
        clone.ok(*hint.partition("   # ")[0].split()[2:])
        assert clone.told("HEAD") == "verified by commit"
    cut = scene.clone("cut", "--depth", "1")
    hint, _ = cut.prove("HEAD")["hints"]
    subprocess.run(hint, shell=True, cwd=cut.repo.path, check=True, capture_output=True)
    assert cut.told("HEAD") == "verified by commit"


@pytest.mark.parametrize("scope", ["tip", "tasks", "every"])
def test_history_that_is_cut(scene: Scene, scope: str) -> None:
    """Commits of a range that a shallow clone does not have are not passed over, where they would have to be proved."""
    scene.desk.ok("init", "TASK-2", "--title", "more")
    scene.repo.write("other.py", "mended\n")
    for agent in ("implementer", "reviewer"):
        scene.desk.ok("snapshot", "--agent", agent)
    scene.desk.ok("snapshot", "--agent", "validator", "--done")
    scene.seal()
    cut = scene.clone("cut", "--depth", "1")
    cut.repo.git("fetch", "-q", "--depth=1", "origin", "main:main")
    cut.repo.config("taskctx.proof.scope", scope)
    found = cut.prove("main..HEAD")
    if scope == "tip":
        assert (found["verdict"], found["reasons"]) == ("verified", [])
        return
    assert (found["verdict"], [one["verdict"] for one in found["commits"]]) == ("unproven", ["verified"])
    assert found["summary"] == f"the commits before {cut.repo.head()[:12]} are not here"
    assert [reason["code"] for reason in found["reasons"]] == ["objects-missing"]
    (hint,) = found["hints"]
    assert hint == "git fetch --unshallow   # the history that is cut"
    subprocess.run(hint, shell=True, cwd=cut.repo.path, check=True, capture_output=True)
    whole = [one["verdict"] for one in cut.prove("main..HEAD")["commits"]]
    assert whole == ["verified", "unproven", "verified"]


@pytest.mark.parametrize("base", ["topic", "elsewhere"])
def test_a_merge_that_is_cut_from_its_parents(tmp_path: Path, base: str) -> None:
    """What was merged is not taken for older than the range where a shallow clone has it, and does not say so."""
    scene = Scene.sealed(tmp_path)
    scene.repo.checkout("-b", "slip")
    scene.repo.write("slip.py", "nobody saw it\n")
    scene.repo.commit("slip")
    scene.repo.checkout("topic")
    if base == "elsewhere":
        scene.repo.write("elsewhere.py", "elsewhere\n")
        scene.repo.commit("others")
    scene.repo.git("merge", "-q", "--no-ff", "-m", "Merge", "slip")
    cut = scene.clone("cut", "--depth", "1")
    for parent in ("topic~1", "slip"):
        oid = scene.repo.git("rev-parse", parent)
        cut.repo.git("fetch", "-q", "--depth=1", "origin", oid)
    assert cut.told("HEAD") == "unproven merge-unchecked"
    assert cut.prove("HEAD")["hints"][0] == "git fetch --unshallow   # the history that is cut"
    cut.prove("--ci", f"{scene.repo.git('rev-parse', 'topic~1')}..HEAD", code=3)
    assert cut.told("HEAD") == "unproven parent-unproven"


@pytest.mark.parametrize("words", [(), ("--ci",)], ids=["verify", "ci"])
def test_a_merge_whose_base_is_cut_off(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Cut history that shows an older base, with which another merge is the automatic one, does not prove it."""
    scene = Scene(tmp_path, policy='agents = ["dev"]\n')
    repo = scene.repo
    repo.write("other.py", "X\n")
    repo.commit("base 2")
    repo.checkout("-b", "topic")
    for number in range(3):
        repo.git("commit", "-q", "--allow-empty", "-m", f"c{number}")
    scene.desk.init("--agents", "dev")
    repo.write("parser.py", "mended\n")
    scene.desk.ok("snapshot", "--agent", "dev", "--done")
    repo.add()
    sealed = repo.git("commit-tree", "-m", "task", "-p", "HEAD", "-p", scene.base, repo.git("write-tree"))
    repo.git("reset", "-q", "--soft", sealed)
    scene.desk.ok("verify")
    scene.move_main("other.py", "other\n")
    repo.git("merge", "-q", "-m", "M", "main")
    repo.write("other.py", "X\n")
    repo.git("commit", "-qa", "--amend", "-m", "M")
    assert scene.clone("whole").told("origin/main..HEAD") == "unproven merge-edited"
    cut = scene.clone("cut", "--no-single-branch", "--depth=4")
    told = "unproven merge-edited" if words else "unproven merge-unchecked"
    assert cut.told(*words, "origin/main..HEAD").startswith(told)


def test_sha256(tmp_path: Path) -> None:
    """Repositories of the other hash are proved the same way."""
    repo = GitRepo.init(tmp_path / "repo", "--object-format=sha256")
    desk = Desk(repo)
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk.init()
    desk.validate()
    repo.commit("Mend the parser")
    desk.ok("verify")
    assert desk.ok("verify", "HEAD").out.startswith("commit: verified\n")
