"""What only the record of a commit says, written by who edited: a proof reads it off the objects, or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from proof.scene import NOTES, TASK, Clone, Scene
from proof.test_attacks import Attacker, make_key, signed_scene, use_key
from proof.test_elsewhere import DISTINCT, codes, rewritten, scene_of_three, values_of
from proof.test_hostile_notes import hashed

from git_taskctx.capture.taskfile import lasting_sha
from git_taskctx.git.repository import open_repository
from git_taskctx.ledger.patches import find_patches

BY_PATCH = f"{DISTINCT}[proof]\nby_patch = true\n"
VOLATILE = ["status", "agent_*"]


def say(attacker: Attacker, commit: str, *more: str, **words: Any) -> None:
    """Have who edited say of a commit that it is the task's, with whatever words."""
    *others, seal = values_of(attacker)
    said = {**seal, "actor": "ann", "commit": commit, **words}
    attacker.put(hashed([*others, said]), commit, attacker.repo.tree(commit), *more)


def commit_on(attacker: Attacker, parent: str) -> str:
    """Commit the validated tree on another parent; return the commit, which HEAD is."""
    repo = attacker.repo
    commit = repo.git("commit-tree", repo.tree(attacker.good), "-p", parent, "-m", "work")
    repo.git("reset", "-q", "--hard", commit)
    return commit


def commit_other(attacker: Attacker) -> str:
    """Commit what nobody approved on what the task sits on."""
    attacker.repo.git("reset", "-q", "--hard", f"{attacker.good}~1")
    attacker.repo.write("elsewhere.py", "other\n")
    return attacker.repo.commit("other")


@pytest.mark.parametrize("text", ["title: evil\n", "import os\n"])
def test_the_text_of_a_task_file(tmp_path: Path, text: str) -> None:
    """No other file is put back as a task file, whatever the record says that it hashes to."""
    attacker = scene_of_three(tmp_path)
    repo = attacker.repo
    old = repo.git("rev-parse", "HEAD:parser.py")
    repo.write("parser.py", text)
    commit = repo.commit("work", "--amend")
    sha = lasting_sha(text.encode(), VOLATILE, name="parser.py", task=TASK)
    say(attacker, commit, task_file={"path": "parser.py", "blob": old, "text_sha": sha, "volatile": VOLATILE})
    assert codes(attacker.clone) == ("violated", {"tree-differs"})


def test_the_text_of_the_task_file(tmp_path: Path) -> None:
    """The task file itself is compared with the one that was validated, and not with what the record says of it."""
    attacker = scene_of_three(tmp_path)
    repo = attacker.repo
    blob, volatile = repo.git("rev-parse", "HEAD:parser.py"), "title: evil\n"
    values = values_of(attacker)
    values[0]["capture"] = {
        "sources": [{"path": "parser.py", "oid": blob, "purpose": "task"}],
        "tools": {"git-taskctx": "1"},
    }
    repo.write("parser.py", volatile)
    commit = repo.commit("work", "--amend")
    sha = lasting_sha(volatile.encode(), VOLATILE, name="parser.py", task=TASK)
    file = {"path": "parser.py", "blob": blob, "text_sha": sha, "volatile": VOLATILE}
    values[-1] |= {"actor": "ann", "commit": commit, "task_file": file}
    attacker.put(hashed(values), commit, repo.tree(commit))
    assert codes(attacker.clone) == ("violated", {"tree-differs"})


def test_a_patch(tmp_path: Path) -> None:
    """A patch is the one between what the task sits on and its tree, not the one that the record names."""
    attacker = scene_of_three(tmp_path, BY_PATCH)
    repo, commit = attacker.repo, commit_other(attacker)
    repository = open_repository(repo.path, dict(os.environ))
    (place,) = find_patches(repository, [(repo.tree("HEAD~1"), repo.tree(commit))])
    repository.close()
    assert place is not None
    blob = repo.git("hash-object", "-w", "--stdin", input=f"taskctx patch {place.sha}")
    say(attacker, attacker.good, blob, patch=place.sha)
    assert codes(attacker.clone) == ("unproven", {"no-record"})


def test_the_tree_of_a_parent(tmp_path: Path) -> None:
    """Another parent stays another one where the right one is not here, and the record says that they are equal."""
    attacker = scene_of_three(tmp_path)
    repo, other = attacker.repo, commit_other(attacker)
    commit = commit_on(attacker, other)
    say(attacker, commit, parent_tree=repo.tree(other))
    assert codes(attacker.clone) == ("violated", {"parent-differs"})
    place = tmp_path / "shallow"
    repo.git("clone", "-q", "--depth=2", "--branch", "topic", f"file://{os.fspath(repo.path)}", os.fspath(place))
    shallow = Clone(type(repo)(place))
    shallow.repo.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
    assert codes(shallow) == ("violated", {"parent-differs"})


def test_a_part(tmp_path: Path) -> None:
    """A part holds what agents left, and sits where it must; the commit that ends the task rests on it."""
    attacker = scene_of_three(tmp_path)
    values, other = values_of(attacker), commit_other(attacker)
    commit = commit_on(attacker, other)
    part = {key: value for key, value in values[-1].items() if key not in ("patch", "parent_tree", "task_file")}
    part |= {"type": "part", "index_tree": None, "from": values[0]["commit"], "parent": other}
    values[-1]["commit"] = commit
    for about, code in ((other, "tree-differs"), (attacker.good, "out-of-turn")):
        part |= {"commit": about, "commit_tree": attacker.repo.tree(about)}
        rewritten(attacker, [*values[:-1], part, values[-1]])
        lines = attacker.repo.git("notes", "--ref=taskctx", "show", attacker.good).splitlines()
        attacker.put(lines, commit, attacker.repo.tree(commit), other)
        verdict, found = codes(attacker.clone)
        assert (verdict, code in found) == ("violated", True), found
    proof = attacker.clone.prove("HEAD~2..HEAD")
    assert "verified" not in {one["verdict"] for one in proof["commits"]}


def test_a_rebuild(tmp_path: Path) -> None:
    """Approvals do not outlive a change of the commands that must pass, though the record says that no text changed."""
    attacker = scene_of_three(tmp_path)
    values = values_of(attacker)
    rebuild = {key: value for key, value in values[3].items() if key not in ("finding", "text")}
    rebuild |= {"type": "rebuild", "actor": "ann", "fields": [], "same_text": True, "commands": []}
    values[0]["commands"] = ["make test"]
    rebuild["time"] = values[-1]["time"]
    rebuild["id"] = values[-1]["id"]
    rewritten(attacker, [*values[:-1], rebuild, values[-1]])
    assert codes(attacker.clone) == ("violated", {"stale"})


def test_a_commit_without_parents(tmp_path: Path) -> None:
    """A root commit is not proved by the tree of a commit that has a parent."""
    attacker = scene_of_three(tmp_path)
    repo = attacker.repo
    root = repo.git("commit-tree", repo.tree(attacker.good), "-m", "root")
    assert codes(attacker.clone, root) == ("unproven", {"other-parent"})


def test_a_merge_that_drops_what_it_merges(tmp_path: Path) -> None:
    """The validated tree as a merge with what others did since takes that away, and is no commit of the task."""
    attacker = scene_of_three(tmp_path)
    repo, good, other = attacker.repo, attacker.good, commit_other(attacker)
    for parents in ((f"{good}~1", other), (f"{good}~1", good, other)):
        merge = repo.git("commit-tree", repo.tree(good), *(f"-p{parent}" for parent in parents), "-m", "merge")
        repo.git("reset", "-q", "--hard", merge)
        for words in ((), (f"{other}..HEAD",)):
            verdict, _ = codes(attacker.clone, *words)
            assert verdict == "unproven"
    merge = repo.git("commit-tree", repo.tree(good), "-p", f"{good}~1", "-p", good, "-m", "merge")
    assert codes(attacker.clone, merge) == ("verified", set())


def test_a_record_on_one_of_its_objects(tmp_path: Path) -> None:
    """A finding counts wherever it lies: on the commit, on its tree, or on an anchor."""
    attacker = scene_of_three(tmp_path)
    repo, notes = attacker.repo, attacker.repo.git("rev-parse", NOTES)
    finding = {**values_of(attacker)[3], "finding": "F2", "text": "no", "seq": 6}
    before = attacker.records()[4]
    finding |= {"prev": before.sha, "id": f"{finding['id'].rpartition('-')[0]}-000006", "time": before.time}
    for target in (attacker.good, repo.tree(attacker.good), attacker.anchors()[0]):
        repo.git("update-ref", NOTES, notes)
        repo.git("notes", "--ref=taskctx", "append", "-m", json.dumps(finding, separators=(",", ":")), target)
        assert codes(attacker.clone) == ("violated", {"fork"})


def test_who_was_taken_over(tmp_path: Path) -> None:
    """Whoever edited, and had the tree taken over before any snapshot, approves it as little as who has one."""
    scene = Scene(tmp_path, policy=DISTINCT)
    desk = scene.desk
    desk.init("--actor", "ann")
    desk.implement()
    desk.ok("start", "--agent", "reviewer", "--actor", "eve")
    scene.repo.write("parser.py", "evil\n")
    desk.ok("start", "--agent", "implementer", "--take-over", "eve is away", "--actor", "ann")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "ann")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "rob")
    said = desk.refuses("snapshot", "--agent", "validator", "--done", "--actor", "eve")
    assert "eve edited as reviewer and may not act as validator" in said
    desk.ok("snapshot", "--agent", "validator", "--done", "--actor", "val")
    good = scene.seal()
    scene.repo.git("branch", "-f", "topic")
    attacker = Attacker(scene.clone("clone"), good)
    values = values_of(attacker)
    for value in values:
        if value["agent"] == "validator" and value["type"] in ("start", "snapshot"):
            value["actor"] = "eve"
    rewritten(attacker, values)
    assert codes(attacker.clone) == ("violated", {"same-actor"})


@pytest.mark.needs_git(2, 34)
def test_copies_of_records(tmp_path: Path) -> None:
    """What anybody makes of a signed record, or signs as nothing does, takes no proof away."""
    scene, _ = signed_scene(tmp_path)
    good = scene.done
    clone = scene.clone("clone")
    vandal = Attacker(clone, good)
    line = vandal.records()[3].to_line()
    record = json.loads(line)
    value = record["signature"]["value"]

    def signed(text: str, finding: dict[str, str] | None = None) -> str:
        return json.dumps({**record, **(finding or {}), "signature": {**record["signature"], "value": text}})

    finding = {"type": "block", "finding": "F1", "text": "no"}
    copies = (
        line.replace("{", "{ ", 1),
        signed(value + "\n"),
        signed("-----BEGIN FOO-----\nabcd\n-----END FOO-----", finding),
        signed("-----BEGIN SIGNED MESSAGE-----\nabcd\n-----END SIGNED MESSAGE-----", finding),
    )
    for copy in copies:
        for target in (good, vandal.repo.tree(good)):
            clone.repo.git("notes", "--ref=taskctx", "append", "-m", copy, target)
        assert clone.told("HEAD") == "verified by commit"


@pytest.mark.needs_git(2, 34)
def test_two_keys_of_one_person(tmp_path: Path) -> None:
    """Whoever has a new key beside the old one is one actor: whose a key is says the first name in its line."""
    second = make_key(tmp_path, "second")
    scene, _ = signed_scene(tmp_path, names="ann,reviewer-*")
    signers = scene.repo.read(".taskctx.signers").decode()
    public = " ".join(second.with_suffix(".pub").read_text().split()[:2])
    scene.repo.write(".taskctx.signers", f"{signers}ann,reviewer-* {public}\n")
    scene.repo.commit("keys")
    desk = scene.desk
    desk.init("--actor", "ann")
    scene.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "ann")
    use_key(scene.repo, second)
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "reviewer-1")
    desk.ok("snapshot", "--agent", "validator", "--done", "--actor", "reviewer-2")
    scene.repo.commit("work")
    desk.ok("verify", "--actor", "ann")
    assert codes(desk) == ("verified", set())
    scene.repo.config("taskctx.chain.distinctActors", "true")
    assert codes(desk) == ("violated", {"same-actor"})


def test_the_tree_that_was_handed_over(tmp_path: Path) -> None:
    """Whoever approves began with what was left: its own edits are not what it was handed, as its record may say."""
    attacker = scene_of_three(tmp_path)
    repo = attacker.repo
    repo.write("parser.py", "its own\n")
    commit = repo.commit("work", "--amend")
    values, tree = values_of(attacker), repo.tree(commit)
    for value in values[6:]:
        value["tree"] = tree
    for value in values[7:]:
        value["commit_tree"] = tree
    values[8]["commit"] = commit
    attacker.put(hashed(values), commit, tree)
    assert codes(attacker.clone) == ("violated", {"edited-by"})


def test_the_tree_of_the_commit(tmp_path: Path) -> None:
    """Where nothing was dirty at `init` the commit has the tree that was approved, whatever the last approval adds."""
    attacker = scene_of_three(tmp_path)
    repo = attacker.repo
    repo.write("parser.py", "evil\n")
    commit = repo.commit("work", "--amend")
    values, tree = values_of(attacker), repo.tree(commit)
    for value in values[7:]:
        value["commit_tree"] = tree
    values[8]["commit"] = commit
    attacker.put(hashed(values), commit, tree)
    assert codes(attacker.clone) == ("violated", {"tree-differs"})
