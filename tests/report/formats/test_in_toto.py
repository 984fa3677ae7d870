"""`export --format in-toto`: read back by the libraries of in-toto, and held against what is on record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from desk import TASK, Desk
from gitrepo import ROOT, GitRepo
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult as Result
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Message
from jsonschema import Draft202012Validator
from proof.scene import NOTES, Scene
from proof.test_attacks import signed_scene
from report.formats.story import exported, tell
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from git_taskctx import __version__
from git_taskctx.model.canonical import dump_canonical, sha256_hex
from git_taskctx.model.schema import build_schema

HANDOFF = "git-taskctx:handoff/v1"
SUMMARY = "https://slsa.dev/verification_summary/v1"
TESTS = "https://in-toto.io/attestation/test-result/v0.1"
PASSED, FAILED = (os.fspath(ROOT / "tests" / "capture" / "logs" / f"pytest-8-{how}.log") for how in ("pass", "fail"))
DIGEST = {
    "type": "object",
    "additionalProperties": False,
    "required": ["sha256"],
    "properties": {"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
}
REFERENCE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["uri", "digest"],
    "properties": {"uri": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:"}, "digest": DIGEST},
}
SUMMARY_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verifier", "resourceUri", "policy", "verificationResult", "verifiedLevels"],
    "properties": {
        "verifier": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "version"],
            "properties": {
                "id": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:"},
                "version": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "resourceUri": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:"},
        "policy": REFERENCE,
        "inputAttestations": {"type": "array", "items": REFERENCE, "minItems": 1},
        "verificationResult": {"enum": ["PASSED", "FAILED"]},
        "verifiedLevels": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^(?!SLSA_)"}},
    },
}
"""What SLSA 1.2 asks of a verification summary; in-toto's own reader of the registry knows an older form of it."""


def read(statement: dict[str, Any]) -> Any:
    """Have in-toto's library check a statement, and return the predicate, checked by its type."""
    checked = Statement.copy_from_pb(json_format.ParseDict(statement, Message()))
    checked.validate()
    predicate = statement["predicate"]
    if statement["predicateType"] == TESTS:
        return json_format.ParseDict(predicate, Result())
    schema = {HANDOFF: build_schema("handoff"), SUMMARY: SUMMARY_SCHEMA}[statement["predicateType"]]
    Draft202012Validator(schema).validate(predicate)
    return predicate


def told(desk: Desk, *args: str) -> dict[str, list[Any]]:
    """Return the predicates of an export, by their types."""
    found: dict[str, list[Any]] = {}
    for statement in exported(desk, "in-toto", *args):
        found.setdefault(statement["predicateType"], []).append(read(statement))
    return found


def test_the_whole_story(tmp_path: Path) -> None:
    """The chain is what the records say, the verdict names it by its hash, and both are about the commit alone."""
    desk, commit = tell(tmp_path)
    statements = exported(desk, "in-toto")
    assert [one["subject"] for one in statements] == [[{"digest": {"gitCommit": commit}}]] * 2
    handoff, summary = map(read, statements)
    records = desk.records()
    seal = next(one for one in records if one["type"] == "seal")
    by_id = {one["id"]: one for one in records}
    assert (handoff["task"], handoff["context"], handoff["commit"]) == (TASK, seal["context"], commit)
    assert (handoff["tree"], handoff["parent"]) == (desk.repo.tree(), desk.repo.git("rev-parse", "HEAD^"))
    assert handoff["record"] == seal["id"]
    note = desk.repo.git("notes", "--ref=taskctx", "show", commit).splitlines()
    assert handoff["sha256"] == sha256_hex(note[-1].encode())
    shown = [(one["agent"], one["actor"], one["accepted"], one["edited"]) for one in handoff["snapshots"]]
    assert shown == [
        ("implementer", "anthropic/claude-opus-4-5-20251101", False, True),
        ("reviewer", "Rita", False, True),
        ("reviewer", "Hank", True, True),
        ("validator", "Val", False, False),
    ]
    for one in handoff["snapshots"]:
        record = by_id[one["record"]]
        assert [one[name] for name in ("agent", "actor", "time", "tree")] == [
            record[name] for name in ("agent", "actor", "time", "tree")
        ]
    assert [(one["kind"], one["actor"]) for one in handoff["events"]] == [("drift", "A U Thor"), ("accepted", "Hank")]
    assert [(one["agent"], one["tree"]) for one in handoff["approvals"]] == [
        (agent, handoff["snapshots"][place]["tree"])
        for agent, place in (("implementer", 0), ("reviewer", 2), ("validator", 3))
    ]
    assert handoff["signatures"] == {"state": "none", "signed": 0, "records": len(note)}
    rules = handoff["policy"]["rules"]
    assert rules.keys() == desk.data("config").keys() - {"actor", "lifecycle.on_complete"}
    assert sha256_hex(dump_canonical(rules)) == handoff["policy"]["sha256"]
    assert summary == {
        "verifier": {"id": "git-taskctx:verify", "version": {"git-taskctx": __version__}},
        "resourceUri": f"swh:1:rev:{commit}",
        "policy": {"uri": "git-taskctx:policy", "digest": {"sha256": handoff["policy"]["sha256"]}},
        "inputAttestations": [
            {"uri": f"git-taskctx:record/{seal['id']}", "digest": {"sha256": handoff["sha256"]}},
        ],
        "verificationResult": "PASSED",
        "verifiedLevels": ["TASKCTX_VERIFIED"],
    }


def test_findings_bypasses_and_checks(tmp_path: Path) -> None:
    """What blocked, what was vouched for, and the last run of each command on the validated tree are told."""
    scene = Scene(tmp_path)
    desk, repo = scene.desk, scene.repo
    repo.checkout("-b", "topic")
    desk.init()
    desk.implement("half\n")
    desk.ok("record-qa", "--agent", "implementer", "--from", PASSED, "--command", "early")
    desk.ok("start", "--agent", "reviewer")
    desk.ok("block", "--agent", "reviewer", "--finding", "no test")
    desk.ok("start", "--agent", "implementer")
    desk.implement("whole\n")
    desk.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    repo.write("parser.py", "more\n")
    desk.ok("snapshot", "--agent", "reviewer", "--attest", "mine")
    desk.ok("record-qa", "--agent", "reviewer", "--from", FAILED, "--command", "pytest", "--exit-code", "1")
    desk.ok("start", "--agent", "validator")
    desk.ok("record-qa", "--agent", "validator", "--from", PASSED, "--command", "pytest", "--exit-code", "0")
    desk.ok("record-qa", "--agent", "validator", "--from", FAILED, "--command", "lint", "--exit-code", "1")
    desk.ok("record-qa", "--agent", "validator", "--from", FAILED, "--command", "odd", "--exit-code", "0")
    desk.ok("snapshot", "--agent", "validator", "--done")
    commit = scene.seal()
    found = told(desk)
    (handoff,) = found[HANDOFF]
    assert [(one["id"], one["agent"], one["closed"] is None) for one in handoff["findings"]] == [
        ("F1", "reviewer", False)
    ]
    assert [one["kind"] for one in handoff["events"]] == ["attest", "attest"]
    assert handoff["notices"] == ["bypass-allowed"]
    assert [(one["command"], one["agent"], one["status"]) for one in handoff["checks"]] == [
        ("early", "implementer", "passed"),
        ("pytest", "reviewer", "failed"),
        ("pytest", "validator", "passed"),
        ("lint", "validator", "failed"),
        ("odd", "validator", "contradiction"),
    ]
    results = [one for one in exported(desk, "in-toto") if one["predicateType"] == TESTS]
    tested = [{"digest": {"gitTree": repo.tree()}}, {"digest": {"gitCommit": commit}}]
    assert [one["subject"] for one in results] == [tested, tested]
    passed, broken = found[TESTS]
    assert (passed.result, passed.configuration[0].name, list(passed.failed_tests)) == ("PASSED", "pytest", [])
    assert (broken.result, broken.configuration[0].name) == ("FAILED", "lint")
    assert list(broken.failed_tests) == handoff["checks"][3]["failures"] != []


def test_what_was_tested_with_dirt_is_not_the_commit(tmp_path: Path) -> None:
    """A run on a tree that is not committed as it is says something of that tree alone."""
    repo = GitRepo.init(tmp_path / "work")
    repo.write("parser.py", "1\n")
    repo.write("dirty.py", "1\n")
    repo.commit("base")
    repo.checkout("-b", "topic")
    repo.write("dirty.py", "2\n")
    desk = Desk(repo)
    desk.init()
    desk.to_reviewer()
    desk.ok("start", "--agent", "validator")
    desk.ok("record-qa", "--agent", "validator", "--from", PASSED, "--command", "pytest")
    desk.ok("snapshot", "--agent", "validator", "--done")
    tree = desk.records("snapshot")[-1]["tree"]
    repo.add("parser.py")
    repo.commit_staged("Mend the parser")
    desk.ok("verify")
    (result,) = (one for one in exported(desk, "in-toto") if one["predicateType"] == TESTS)
    assert result["subject"] == [{"digest": {"gitTree": tree}}]
    assert tree != repo.tree()


def test_signatures(tmp_path: Path) -> None:
    """Where policy has each signature checked, the chain says so; where not, it says that nobody looked."""
    scene, _ = signed_scene(tmp_path)
    assert scene.done
    (handoff,) = told(scene.desk)[HANDOFF]
    count = handoff["signatures"]["records"]
    assert handoff["signatures"] == {"state": "verified", "signed": count, "records": count}
    assert handoff["policy"]["rules"]["proof.require_signed"] is True
    scene.repo.write(".taskctx.toml", "")
    other = scene.repo.commit("no policy")
    (unchecked,) = told(scene.desk, "HEAD~1", "--policy", other)[HANDOFF]
    assert unchecked["signatures"] == {"state": "unchecked", "signed": count, "records": count}


def test_violated_says_failed_and_nothing_else(tmp_path: Path) -> None:
    """Of a commit that is violated in-toto gets the verdict, with exit code 1; agent-trace gets nothing."""
    scene = Scene.sealed(tmp_path)
    text = scene.repo.git("notes", "--ref=taskctx", "show", "HEAD").replace('"actor":"A U Thor"', '"actor":"B"', 1)
    blob = scene.repo.git("hash-object", "-w", "--stdin", input=text + "\n")
    for target in (scene.done, scene.repo.tree()):
        scene.repo.git("notes", "--ref=taskctx", "add", "-f", "-C", blob, target)
    said = scene.desk.ends(1, "export", "--format", "in-toto", "-o", "out.jsonl")
    assert said.out == ""
    statement = json.loads(scene.repo.read("out.jsonl"))
    summary = read(statement)
    assert statement["subject"] == [{"digest": {"gitCommit": scene.done}}]
    assert (summary["verificationResult"], summary["verifiedLevels"]) == ("FAILED", ["FAILED"])
    assert "inputAttestations" not in summary
    assert scene.desk.ends(1, "export", "--format", "in-toto").out.encode() == scene.repo.read("out.jsonl")
    err = scene.desk.refuses("export", "--format", "agent-trace")
    assert err.startswith(f"error: {scene.done[:12]} is violated, and nothing is attested\n")
    document = scene.desk.ends(1, "--format", "json", "export", "--format", "in-toto").document()
    assert (document["data"], document["error"]["code"]) == ([statement], "no")


def test_unproven_is_refused(tmp_path: Path) -> None:
    """Where nothing is on record nothing is written, and the way on is told."""
    scene = Scene.sealed(tmp_path)
    for form in ("in-toto", "agent-trace"):
        err = scene.desk.refuses("export", "HEAD~1", "--format", form, "-o", "out", code=3)
        assert err.startswith(
            f"error: {scene.base[:12]} is unproven, and nothing is attested\nhint: git taskctx verify "
        )
        assert not scene.repo.at("out").exists()
    bare = scene.clone("bare", notes=None)
    assert "hint: git taskctx fetch" in bare.refuses("export", "--format", "in-toto", code=3)
    assert "hint: git taskctx fetch" in bare.refuses("export", "--format", "in-toto", "--task", TASK, code=3)
    assert "no commit of TASK-2 is on record here" in scene.desk.refuses(
        "export", "--format", "in-toto", "--task", "TASK-2", code=3
    )


def test_the_same_bytes_in_a_clone(tmp_path: Path) -> None:
    """Notes alone are enough, and a task is found by its name; another resource is another statement."""
    scene = Scene.sealed(tmp_path)
    expected = scene.desk.ok("export", "--format", "in-toto").out
    clone = scene.clone("clone")
    assert clone.ok("export", "--format", "in-toto").out == expected
    assert clone.ok("export", "--format", "in-toto", "--task", TASK).out == expected
    beside = scene.clone("beside", notes=f"{NOTES}:refs/taskctx/remotes/origin/notes")
    assert beside.ok("export", "--format", "in-toto", "--task", TASK).out == expected
    bare = scene.clone("bare", "--bare")
    assert bare.ok("export", "--format", "in-toto").out == expected
    trace = scene.desk.ok("export", "--format", "agent-trace").out
    assert bare.ok("export", "--format", "agent-trace", "--task", TASK).out == trace
    shallow = scene.clone("shallow", "--depth", "2")
    assert shallow.ok("export", "--format", "in-toto").out == expected
    uri = "git+https://example.com/parser"
    (summary,) = told(clone, "--resource-uri", uri)[SUMMARY]
    assert summary["resourceUri"] == uri


def test_a_range_leaves_out_what_need_not_be_proved(tmp_path: Path) -> None:
    """Of a range each proved commit is told about, the others are counted, and a merge has nothing of its own."""
    scene = Scene(tmp_path)
    scene.repo.write("more.py", "1\n")
    scene.repo.commit("others")
    assert scene.done
    said = scene.desk.ok("export", f"{scene.base}..HEAD", "--format", "in-toto")
    assert said.err == "warning: 1 of 2 commits is unproven, not required, and left out\n"
    assert [json.loads(line)["subject"][0]["digest"]["gitCommit"] for line in said.out.splitlines()] == [scene.done] * 2
    moved = scene.move_main()
    scene.repo.checkout("main")
    scene.repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    assert [one["commit"] for one in told(scene.desk, f"{moved}..HEAD")[HANDOFF]] == [scene.done]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("HEAD", "--task", TASK), "a revision and --task cannot be used together"),
        (("--human", "A"), "--human is for agent-trace"),
        (("--resource-uri", "nonsense"), "'nonsense' is not a URI"),
        (("--resource-uri", "x:a b"), "'x:a b' is not a URI"),
        (("--task", "../x"), "'../x' cannot be a task id"),
    ],
)
def test_usage(tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    """What does not go together is told before anything is read."""
    scene = Scene(tmp_path)
    assert scene.desk.refuses("export", "--format", "in-toto", *args, code=129).startswith(f"error: {message}\n")
    assert "is for in-toto" in scene.desk.refuses(
        "export", "--format", "agent-trace", "--resource-uri", "x:y", code=129
    )


def test_a_line_can_be_signed_as_it_is(tmp_path: Path) -> None:
    """A library for DSSE signs the bytes of a line, and whoever has the key reads the very statement."""
    scene = Scene.sealed(tmp_path)
    signer = CryptoSigner.generate_ed25519()
    for line in scene.desk.ok("export", "--format", "in-toto").out.splitlines():
        envelope = Envelope(line.encode(), "application/vnd.in-toto+json", {})
        envelope.sign(signer)
        received = Envelope.from_dict(json.loads(json.dumps(envelope.to_dict())))
        assert list(received.verify([signer.public_key], 1)) == [signer.public_key.keyid]
        read(json.loads(received.payload))


def test_where_to(tmp_path: Path) -> None:
    """A file is replaced whole, `-` is standard output; what is no plain file, or cannot be written, is told."""
    scene = Scene.sealed(tmp_path)
    expected = scene.desk.ok("export", "--format", "in-toto").out
    assert scene.desk.ok("export", "--format", "in-toto", "--output", "-").out == expected
    scene.repo.write("old", "old")
    for name in ("old", "new"):
        assert scene.desk.ok("export", "--format", "in-toto", "-o", name).both == ""
        assert scene.repo.read(name).decode() == expected
    assert scene.repo.at("new").stat().st_mode & 0o777 == 0o644
    scene.repo.symlink("link", "old")
    for name, message in (
        ("link", "is a symbolic link"), (".", "is a folder"), ("none/out", "no such file or directory")
    ):  # fmt: skip
        assert message in scene.desk.refuses("export", "--format", "in-toto", "-o", name, code=128)
    scene.desk.refuses("export", "--format", "in-toto", "-o", "", code=129)
