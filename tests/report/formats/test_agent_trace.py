"""`export --format agent-trace`: each line of a commit with the agent that brought it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from desk import TASK, Desk
from gitrepo import GitRepo
from jsonschema import Draft202012Validator
from proof.scene import Clone, Scene
from proof.test_attacks import Attacker
from report.formats.story import BASE, blamed, edit, exported, tell

from git_taskctx.model.values import replace

MODEL = "anthropic/claude-opus-4-5-20251101"


def an_object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the schema of an object with these fields, and no other."""
    properties = {**required, **optional}
    return {"type": "object", "additionalProperties": False, "required": [*required], "properties": properties}


def a_list(items: Any, least: int = 0) -> dict[str, Any]:
    """Return the schema of an array."""
    return {"type": "array", "items": items, "minItems": least}


def a_text(pattern: str = "") -> dict[str, Any]:
    """Return the schema of a string."""
    return {"type": "string", "pattern": pattern}


LINE = {"type": "integer", "minimum": 1}
KIND = {"enum": ["human", "ai", "mixed", "unknown"]}
CONVERSATION = an_object(
    {
        "contributor": an_object({"type": KIND}, model_id={**a_text("^[^/]+/.+$"), "maxLength": 250}),
        "ranges": a_list(
            an_object({"start_line": LINE, "end_line": LINE, "content_hash": a_text("^sha256:[0-9a-f]{64}$")})
        ),
        "related": a_list(
            an_object({"type": {"const": "record"}, "url": a_text("^git-taskctx:record/[0-9TZa-f-]+$")}), 1
        ),
    }
)
RECORD = an_object(
    {
        "version": {"const": "0.1.0"},
        "id": a_text("^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"),
        "timestamp": a_text("^[0-9-]{10}T[0-9:]{8}Z$"),
        "vcs": an_object({"type": {"const": "git"}, "revision": a_text("^[0-9a-f]{40}([0-9a-f]{24})?$")}),
        "tool": an_object({"name": a_text(), "version": a_text()}),
        "files": a_list(an_object({"path": a_text(), "conversations": a_list(CONVERSATION, 1)})),
        "metadata": an_object({"git-taskctx": {"type": "object"}}),
    }
)
"""What the specification of Agent Trace 0.1.0 asks of a record, and nothing beside it that it does not name."""


def trace(desk: Desk, *args: str) -> dict[str, Any]:
    """Return the one record of an export, which must be one."""
    (record,) = exported(desk, "agent-trace", *args)
    Draft202012Validator(RECORD).validate(record)
    return record


def lines_of(record: dict[str, Any]) -> dict[str, dict[int, str]]:
    """Return who brought each line, by file, as the turns of the record name them."""
    turns = {turn["record"]: turn for turn in record["metadata"]["git-taskctx"]["turns"]}
    found: dict[str, dict[int, str]] = {}
    for file in record["files"]:
        mine = found.setdefault(file["path"], {})
        for conversation in file["conversations"]:
            who = " or ".join(
                f"{turn['agent']} {turn['actor']}" if (turn := turns[one["url"]])["agent"] else "init"
                for one in conversation["related"]
            )
            for one in conversation["ranges"]:
                numbers = range(one["start_line"], one["end_line"] + 1)
                assert mine.keys().isdisjoint(numbers)
                mine |= dict.fromkeys(numbers, who)
    return {path: dict(sorted(mine.items())) for path, mine in found.items()}


def kinds(record: dict[str, Any], path: str) -> list[dict[str, str]]:
    """Return the contributors of a file."""
    (file,) = (one for one in record["files"] if one["path"] == path)
    return [conversation["contributor"] for conversation in file["conversations"]]


def test_every_line_is_whose_git_blame_says(tmp_path: Path) -> None:
    """The lines of a commit, and who brought them: git's own answer for commits of the recorded trees."""
    desk, commit = tell(tmp_path)
    record = trace(desk, "HEAD")
    oracle = blamed(desk, commit)
    binary = {"image.png": {}}
    assert lines_of(record) == oracle | binary
    assert lines_of(record)["parser.py"] == {
        2: f"implementer {MODEL}", 8: "reviewer Rita", 10: "reviewer Hank"
    }  # fmt: skip
    assert lines_of(record)["dirty.py"] == {1: "init", 6: f"implementer {MODEL}"}
    assert record["vcs"] == {"type": "git", "revision": commit}
    mine = record["metadata"]["git-taskctx"]
    assert (mine["task"], mine["by"], mine["deleted"]) == (TASK, "commit", ["gone.py"])
    assert [turn["accepted"] for turn in mine["turns"]] == [False, False, False, True]
    assert kinds(record, "parser.py") == [{"type": "ai", "model_id": MODEL}, {"type": "ai"}, {"type": "unknown"}]
    assert kinds(record, "dirty.py") == [{"type": "unknown"}, {"type": "ai", "model_id": MODEL}]
    assert kinds(record, "run.sh") == [{"type": "ai", "model_id": MODEL}]
    people = trace(desk, "HEAD", "--human", "Rita", "--human", "Hank")
    assert kinds(people, "parser.py") == [{"type": "ai", "model_id": MODEL}, {"type": "human"}, {"type": "human"}]
    check_hashes(desk.repo, record)


def check_hashes(repo: GitRepo, record: dict[str, Any]) -> None:
    """Hold each content hash against the bytes of the commit."""
    for file in record["files"]:
        ranges = [one for conversation in file["conversations"] for one in conversation["ranges"]]
        if not ranges or file["path"].startswith('"'):
            continue
        data = repo.run("cat-file", "blob", f"{record['vcs']['revision']}:{file['path']}").stdout
        text = data.split(b"\n")
        text = [line + b"\n" for line in text[:-1]] + text[-1:]
        for one in ranges:
            part = b"".join(text[one["start_line"] - 1 : one["end_line"]])
            assert one["content_hash"] == f"sha256:{hashlib.sha256(part).hexdigest()}"


def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """From a sub-folder, from another worktree, by the task's name, into a file, and in a clone with the snapshots."""
    desk, commit = tell(tmp_path)
    expected = desk.ok("export", "--format", "agent-trace").out
    below = desk.repo.path / "below"
    below.mkdir()
    assert desk.ok("export", "--format", "agent-trace", commit, cwd=below).out == expected
    assert desk.ok("export", "--format", "agent-trace", "--task", TASK).out == expected
    assert desk.ok("--task", TASK, "export", "--format=agent-trace").out == expected
    assert desk.ok("export", "--format", "agent-trace", "-o", "out.jsonl", cwd=below).both == ""
    assert (below / "out.jsonl").read_text() == expected
    desk.repo.git("worktree", "add", "-q", "--detach", os.fspath(tmp_path / "linked"), commit)
    assert desk.ok("export", "--format", "agent-trace", cwd=tmp_path / "linked").out == expected
    hub = GitRepo.init(tmp_path / "hub.git", "--bare")
    desk.repo.git("remote", "add", "origin", os.fspath(hub.path))
    desk.repo.git("push", "-q", "origin", "main", "topic")
    desk.ok("push", "origin", "--with-snapshots", "--task", TASK)
    desk.repo.git("clone", "-q", "--no-local", "-b", "topic", os.fspath(hub.path), os.fspath(tmp_path / "clone"))
    clone = Desk(GitRepo(tmp_path / "clone"))
    clone.refuses("export", "--format", "agent-trace", code=3)
    clone.ok("fetch", "origin")
    together = clone.ok("export", "--format", "agent-trace")
    assert together.out != expected
    assert together.err.count("warning: ") == 3
    clone.ok("fetch", "origin", "--with-snapshots")
    assert clone.ok("export", "--format", "agent-trace").out == expected
    documents = clone.ok("--format", "json", "export", "--format", "agent-trace").document()["data"]
    assert documents == [json.loads(expected)]


def test_a_partial_clone_is_told_what_brings_the_rest(tmp_path: Path) -> None:
    """Blobs that were left out are no damage: the hints, typed, bring them, and then the answer is the same."""
    desk, _ = tell(tmp_path)
    for setting in ("allowFilter", "allowAnySHA1InWant"):
        desk.repo.config(f"uploadpack.{setting}", "true")
    address = f"file://{desk.repo.path}"
    desk.repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", "-b", "topic", address, str(tmp_path / "clone"))
    clone = Desk(GitRepo(tmp_path / "clone"))
    clone.repo.git("fetch", "-q", "origin", "+refs/notes/*:refs/notes/*", "+refs/taskctx/*:refs/taskctx/*")
    clone.repo.git("log", "-p", "refs/notes/taskctx")  # brings every note
    for _ in range(20):
        said = clone.process("export", "--format", "agent-trace")
        if said.code == 0:
            break
        hint = said.err.splitlines()[1].removeprefix("hint: ")
        assert hint.endswith("# lets git fetch what this partial clone left out")
        subprocess.run(["sh", "-c", hint], cwd=clone.repo.path, check=True, capture_output=True)
    assert said.out == desk.ok("export", "--format", "agent-trace").out


def clean(folder: Path) -> Desk:
    """Return a repository where a task begins on a clean tree."""
    repo = GitRepo.init(folder / "work")
    repo.write("parser.py", BASE)
    repo.write("other.py", BASE)
    repo.commit("base")
    repo.checkout("-b", "topic")
    desk = Desk(repo)
    desk.init()
    return desk


def seal(desk: Desk) -> str:
    """Have the tree approved and committed."""
    desk.ok("snapshot", "--agent", "validator", "--done")
    commit = desk.repo.commit("Mend the parser")
    desk.ok("verify")
    return commit


def test_what_was_put_back_is_nobodys(tmp_path: Path) -> None:
    """Lines that the commit has like its parent are nobody's, though an agent took them away and another put them back.

    Which lines a commit brought, `git diff` says; also of a file that was renamed meanwhile, or gone for a turn.
    """
    desk = clean(tmp_path)
    repo = desk.repo
    kept, added = BASE.splitlines(keepends=True), "added\n"
    repo.write("parser.py", "".join(kept[8:]) + added)
    repo.remove("other.py")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("start", "--agent", "reviewer")
    repo.write("parser.py", BASE + added)
    repo.write("renamed.py", BASE + "by the reviewer\n")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "Rita")
    commit = seal(desk)
    told = repo.git("diff", "--unified=0", "--find-renames", f"{commit}~1", commit)
    assert [line for line in told.splitlines() if line.startswith("@@")] == ["@@ -12,0 +13 @@ line 11"] * 2
    record = trace(desk)
    assert lines_of(record) == {"parser.py": {13: "implementer A U Thor"}, "renamed.py": {13: "reviewer Rita"}}
    assert kinds(record, "parser.py") == [{"type": "ai"}, {"type": "ai"}]
    check_hashes(repo, record)


def test_with_notes_alone_one_editor_is_told_whole(tmp_path: Path) -> None:
    """Where one agent edited, a clone needs no snapshot to tell whose the lines are."""
    scene = Scene.sealed(tmp_path)
    clone = scene.clone("clone")
    assert clone.ok("export", "--format", "agent-trace").err == ""
    assert lines_of(trace(clone)) == {"parser.py": {21: "implementer A U Thor"}}


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ((), {"type": "ai"}),
        (("--human", "Rita"), {"type": "mixed"}),
        (("--human", "Rita", "--human", "Ian"), {"type": "human"}),
    ],
)
def test_with_notes_alone_several_editors_are_told_together(tmp_path: Path, args: tuple[str, ...], kind: Any) -> None:
    """Where the tree between two agents is not in a clone, neither is credited with the other's lines."""
    desk = clean(tmp_path)
    edit(desk.repo, "parser.py", 1, "by the implementer\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "Ian")
    desk.ok("start", "--agent", "reviewer", "--actor", "Rita")
    edit(desk.repo, "parser.py", 5, "by the reviewer\n")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "Rita")
    commit = seal(desk)
    desk.repo.git("clone", "-q", "--no-local", os.fspath(desk.repo.path), os.fspath(tmp_path / "clone"))
    clone = Clone(GitRepo(tmp_path / "clone"))
    clone.repo.git("fetch", "-q", "origin", "refs/notes/taskctx:refs/notes/taskctx")
    said = clone.ok("export", commit, "--format", "agent-trace", *args)
    assert said.err == (
        f"warning: {commit[:12]}: the tree that implementer left is not in this clone, and what it changed is shown "
        "with what came after (git taskctx fetch --with-snapshots)\n"
    )
    record = json.loads(said.out)
    both = "implementer Ian or reviewer Rita"
    assert lines_of(record) == {"parser.py": {2: both, 6: both}}
    assert kinds(record, "parser.py") == [kind]
    assert [turn["missing"] for turn in record["metadata"]["git-taskctx"]["turns"]] == [True, False]


def test_what_others_did_meanwhile_is_nobodys(tmp_path: Path) -> None:
    """Lines that came with a moved HEAD are not the agent's, and what it did before and after is."""
    desk = clean(tmp_path)
    repo = desk.repo
    edit(repo, "parser.py", 1, "by the implementer\n")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("start", "--agent", "implementer")
    repo.git("stash", "-q")
    repo.checkout("main")
    repo.write("other.py", "by others\n" + BASE)
    edit(repo, "parser.py", 10, "by others\n")
    repo.commit("others")
    repo.git("update-ref", "refs/heads/topic", "main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/topic")
    repo.git("stash", "pop", "-q")
    repo.write("other.py", repo.read("other.py") + b"by the implementer\n")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("snapshot", "--agent", "reviewer")
    seal(desk)
    mine = "implementer A U Thor"
    assert lines_of(trace(desk)) == {"other.py": {14: mine}, "parser.py": {2: mine}}


def test_what_was_merged_is_nobodys(tmp_path: Path) -> None:
    """In a merge that an agent made, the lines of the other side are not its own; what it wrote into it is."""
    desk = clean(tmp_path)
    repo = desk.repo
    repo.git("branch", "others", "main")
    repo.git("worktree", "add", "-q", os.fspath(tmp_path / "others"), "others")
    others = GitRepo(tmp_path / "others")
    others.write("other.py", "by others\n" + BASE)
    others.write("theirs.py", "theirs\n")
    others.commit("others")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "others")
    repo.write("other.py", repo.read("other.py") + b"by the implementer\n")
    repo.write("mine.py", "mine\n")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("snapshot", "--agent", "reviewer")
    seal(desk)
    assert repo.git("rev-list", "--no-walk", "--parents", "HEAD").count(" ") == 2
    mine = "implementer A U Thor"
    record = trace(desk)
    assert record["metadata"]["git-taskctx"]["by"] == "commit"
    assert lines_of(record) == {"mine.py": {1: mine}, "other.py": {14: mine}}


@pytest.mark.parametrize("snapshots", [True, False])
def test_the_same_patch_on_another_base(tmp_path: Path, snapshots: bool) -> None:
    """A commit that is proved by its patch has the lines of the turn that made the patch, and none of its new base."""
    scene = Scene.sealed(tmp_path, policy="[proof]\nby_patch = true\n")
    moved = scene.move_main()
    scene.repo.checkout("-b", "rebased", moved)
    scene.repo.write("parser.py", "first\n" + scene.repo.read("parser.py").decode())
    scene.repo.commit("others again")
    scene.repo.git("cherry-pick", scene.done)
    desk = scene.desk if snapshots else scene.clone("clone", "--single-branch", branch="rebased")
    record = trace(desk)
    assert record["metadata"]["git-taskctx"]["by"] == "patch"
    assert lines_of(record) == {"parser.py": {22: "implementer A U Thor"}}
    assert [turn["missing"] for turn in record["metadata"]["git-taskctx"]["turns"]] == [False]


def test_parts_of_a_task(tmp_path: Path) -> None:
    """A range over parts has a record for each commit; a part alone, or a forked ledger, is not proved."""
    repo = GitRepo.init(tmp_path / "work")
    repo.write("a.py", BASE)
    repo.write("b.py", BASE)
    repo.write(".taskctx.toml", "[commit]\npartial = true\n")
    base = repo.commit("base")
    repo.checkout("-b", "topic")
    desk = Desk(repo)
    desk.ok("install")
    desk.init()
    edit(repo, "a.py", 1, "in a\n")
    edit(repo, "b.py", 2, "in b\n")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("snapshot", "--agent", "reviewer")
    desk.ok("snapshot", "--agent", "validator", "--done")
    repo.add("a.py")
    part = repo.commit_staged("a")
    assert desk.refuses("export", "--format", "agent-trace", code=3)
    last = repo.commit("b")
    desk.ok("verify")
    records = exported(desk, "agent-trace", f"{base}..HEAD")
    mine = "implementer A U Thor"
    assert [(one["vcs"]["revision"], lines_of(one)) for one in records] == [
        (part, {"a.py": {2: mine}}),
        (last, {"b.py": {3: mine}}),
    ]
    assert exported(desk, "agent-trace", "--task", TASK) == records
    assert [one["metadata"]["git-taskctx"]["by"] for one in records] == ["part", "commit"]
    note = repo.git("notes", "--ref=taskctx", "show", part)
    forged = repo.git("hash-object", "-w", "--stdin", input=note.replace("A U Thor", "Mallory") + "\n")
    repo.git("notes", "--ref=taskctx", "add", "-f", "-C", forged, part)
    assert "2 records follow the same one" in desk.ends(1, "verify", f"{base}..HEAD").out
    desk.refuses("export", "--format", "agent-trace", f"{base}..HEAD")


def test_hostile_names(tmp_path: Path) -> None:
    """Nothing that a terminal obeys comes out raw, no path is mistaken for another, and JSON reads it all back."""
    desk = clean(tmp_path)
    names = [b"a\x1b[31m\n", b"\xff", b'"\\377"', "\u202e".encode(), "caf\u00e9".encode(), b"a\\b"]
    for name in names:
        desk.repo.write(name, "1\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "\x1b[31m/\u202e")
    desk.ok("snapshot", "--agent", "reviewer")
    seal(desk)
    out = desk.ok("export", "--format", "agent-trace").out
    assert all(character.isprintable() or character == "\n" for character in out)
    paths = [file["path"] for file in trace(desk)["files"]]
    assert sorted(paths) == sorted(["a\x1b[31m\n", '"\\377"', '"\\"\\\\377\\""', "\u202e", "caf\u00e9", "a\\b"])


@pytest.mark.parametrize("what", ["a blob", "a commit", "nothing"])
def test_a_record_that_names_no_tree(tmp_path: Path, what: str) -> None:
    """A snapshot's tree that is none is told as missing: an unsigned chain can name anything."""
    scene = Scene.sealed(tmp_path)
    attacker = Attacker(scene.clone("clone"), scene.done)
    names = {"a blob": "HEAD:parser.py", "a commit": "HEAD", "nothing": ""}
    oid = attacker.repo.git("rev-parse", names[what]) if names[what] else "1" * 40
    records = [
        replace(one, tree=oid, commit_tree=oid) if one.type == "snapshot" and one.agent == "implementer" else one
        for one in attacker.records()
    ]
    attacker.put(attacker.rechain(records))
    record = trace(attacker.clone)
    assert lines_of(record) == {"parser.py": {21: "implementer A U Thor or reviewer A U Thor"}}
    assert [turn["missing"] for turn in record["metadata"]["git-taskctx"]["turns"]] == [True, False]


def test_depth_one(tmp_path: Path) -> None:
    """Where the parent is not in the clone the lines cannot be told, whatever policy is trusted."""
    scene = Scene.sealed(tmp_path)
    clone = scene.clone("shallow", "--depth", "1")
    assert "hint: git fetch --deepen=1" in clone.refuses("export", "--format", "agent-trace", code=3)
    said = clone.refuses("export", "--format", "agent-trace", "--policy", "HEAD", code=3)
    assert said == (
        f"error: the commit {scene.base}, that {scene.done[:12]} sits on, is not in this clone\n"
        "hint: git fetch --deepen=1\n"
    )
