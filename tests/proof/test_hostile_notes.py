"""Notes are text from anybody: whatever stands in them becomes a reason, and nothing crashes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proof.scene import Clone, Scene
from proof.test_attacks import Attacker

from git_taskctx.limits import NOTE_LIMIT
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.policy import Policy
from git_taskctx.proof.claims import read_claims


@pytest.fixture
def attacker(tmp_path: Path) -> Attacker:
    """Somebody who can write notes, in a clone with a validated commit."""
    scene = Scene.sealed(tmp_path)
    return Attacker(scene.clone("clone"), scene.done)


def lines_of(attacker: Attacker) -> list[str]:
    """Return the lines of the good note."""
    return attacker.repo.git("notes", "--ref=taskctx", "show", attacker.good).splitlines()


def changed(line: str, **fields: Any) -> str:
    """Return a record with other values, as a line."""
    return json.dumps({**json.loads(line), **fields}, separators=(",", ":"))


def proved(clone: Clone) -> tuple[str, set[str]]:
    """Return the verdict on HEAD, and every code that was told."""
    found = clone.prove("HEAD")
    one = found["commits"][0]
    return found["verdict"], {reason["code"] for reason in [*one["reasons"], *one["notices"]]}


def test_foreign_lines_do_not_count(attacker: Attacker) -> None:
    """Text, JSON of others, records that do not read and control characters are counted, and change nothing."""
    junk = ["hello", "{}", "[1]", '{"v":1}', "\x1b[31mred", "null", '{"id":"' + "x" * 3000, "[" * 5000, '{"v":1e999}']
    deep = "{" + '"a":{' * 100 + "}" * 101
    attacker.put([*lines_of(attacker), *junk, deep, changed(lines_of(attacker)[0], context="../../etc")])
    assert proved(attacker.clone) == ("verified", {"foreign-lines"})
    said = attacker.clone.ok("verify", "HEAD")
    assert "\x1b" not in said.both


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"seq": 10**15}, "record-missing"),
        ({"seq": 0}, "record-missing"),
        ({"seq": -1}, "record-missing"),
        ({"seq": True}, "record-missing"),
        ({"seq": "2"}, "record-missing"),
        ({"type": "nonsense"}, "record-missing"),
        ({"v": 2}, "record-missing"),
        ({"agent": "stranger"}, "record-edited"),
        ({"n": []}, "record-edited"),
        ({"task": "TASK-2"}, "record-edited"),
        ({"time": "yesterday"}, "record-edited"),
        ({"actor": "\u202e\x07\ud800"}, "record-missing"),
    ],
    ids=lambda value: str(value)[:30].encode("ascii", "backslashreplace").decode(),
)
def test_a_record_with_another_value(attacker: Attacker, fields: dict[str, Any], code: str) -> None:
    """Whatever a value in the middle of the chain becomes, the chain no longer holds."""
    lines = lines_of(attacker)
    attacker.put([*lines[:2], changed(lines[2], **fields), *lines[3:]])
    verdict, codes = proved(attacker.clone)
    assert (verdict, code in codes) == ("violated", True), codes


@pytest.mark.parametrize(
    ("number", "fields", "code"),
    [
        (1, {"agents": "abc"}, "record-bad"),
        (1, {"agents": [["a"], {}]}, "record-bad"),
        (1, {"agents": ["../x"]}, "record-bad"),
        (1, {"tree": None}, "record-bad"),
        (2, {"n": None}, "record-bad"),
        (2, {"n": "9" * 5000}, "record-bad"),
        (2, {"hidden": [{"path": 1}]}, "record-bad"),
        (2, {"hidden": 3}, "record-bad"),
        (2, {"tree": "../../x"}, "record-bad"),
        (2, {"id": "x"}, "record-bad"),
        (3, {"time": "1999-01-01T00:00:00Z", "id": None}, "order"),
        (3, {"agent": None}, "record-bad"),
        (7, {"commit_tree": "0" * 40}, "not-sealed"),
    ],
)  # fmt: skip
def test_a_whole_chain_with_odd_values(attacker: Attacker, number: int, fields: dict[str, Any], code: str) -> None:
    """A chain whose hashes hold, but whose records say what nobody of ours writes, is no proof."""
    values = [json.loads(line) for line in lines_of(attacker)]
    values[number - 1] |= fields
    if "id" in fields and fields["id"] is None:
        values[number - 1]["id"] = f"19990101T000000Z-{values[0]['context']}-{number:06d}"
    attacker.put(hashed(values))
    verdict, codes = proved(attacker.clone)
    assert verdict != "verified"
    assert code in codes or (code == "not-sealed" and codes & {"tree-differs", "misplaced"}), codes


def hashed(values: list[dict[str, Any]]) -> list[str]:
    """Return records as lines, each with the hash of the one before."""
    import hashlib

    lines: list[str] = []
    for value in values:
        prev = hashlib.sha256(lines[-1].encode()).hexdigest() if lines else None
        lines.append(json.dumps({**value, "prev": prev}, separators=(",", ":")))
    return lines


def test_a_fork(attacker: Attacker) -> None:
    """Two records after the same one are a fork, and nobody's word is taken."""
    lines = lines_of(attacker)
    attacker.put([*lines, changed(lines[3], actor="Somebody")])
    assert proved(attacker.clone) == ("violated", {"fork"})


def test_a_fork_that_was_decided(attacker: Attacker) -> None:
    """Where a later record says which side holds, that side is the chain."""
    values = [json.loads(line) for line in lines_of(attacker)]
    lost = changed(lines_of(attacker)[3], actor="Somebody")
    held = json.loads(hashed(values)[3])
    assert held == values[3]
    holds = {"type": "resolve", "note": "ours", "holds": sha256_hex(lines_of(attacker)[3].encode())}
    seal = values.pop()
    last = values[-1]
    own = ("n", "index_tree", "branch", "in_progress", "scope_hash", "stat", "files", "verified_start", "done")
    resolve = {**{name: value for name, value in last.items() if name not in own}, **holds}
    resolve |= {"seq": last["seq"] + 1, "id": last["id"][:-6] + f"{last['seq'] + 1:06d}"}
    later = {**seal, "seq": seal["seq"] + 1, "id": seal["id"][:-6] + f"{seal['seq'] + 1:06d}"}
    attacker.put([*hashed([*values, resolve, later]), lost])
    assert proved(attacker.clone) == ("verified", set())


def test_records_of_others_beside_them(attacker: Attacker) -> None:
    """A chain of another context in the same note, broken or not, takes nothing from a good one."""
    lines = lines_of(attacker)
    other = [changed(line, context="f" * 16, task="TASK-2") for line in lines]
    attacker.put([*lines, *other])
    assert proved(attacker.clone)[0] == "verified"


def test_sizes(attacker: Attacker) -> None:
    """A note that is larger than anything of ours is told, not read; and too many lines are."""
    lines = lines_of(attacker)
    attacker.put([*lines, "x" * NOTE_LIMIT])
    assert proved(attacker.clone) == ("unproven", {"too-large"})
    attacker.put([*lines, *(f"{number}" for number in range(20_001))])
    assert proved(attacker.clone) == ("unproven", {"too-large"})


def test_missing_and_damaged_notes(attacker: Attacker) -> None:
    """Notes whose objects are gone, or whose tree is none, are told as that."""
    repo = attacker.repo
    blob = repo.git("notes", "--ref=taskctx", "list", attacker.good)
    tree = repo.git("hash-object", "-w", "--literally", "-t", "tree", "--stdin", input=b"100644 broken")
    commit = repo.git("hash-object", "-w", "--literally", "-t", "commit", "--stdin", input=f"tree {tree}\n\nx\n")
    repo.git("notes", "--ref=taskctx", "remove", repo.tree(attacker.good))
    held = repo.common_dir() / "objects" / blob[:2] / blob[2:]
    held.unlink()
    assert proved(attacker.clone) == ("unproven", {"objects-missing"})
    repo.git("update-ref", "refs/notes/taskctx", commit)
    assert proved(attacker.clone) == ("unproven", {"objects-missing"})
    for kind, name in (("blob", repo.git("hash-object", "-w", "--stdin", input="x")), ("tree", repo.tree())):
        repo.git("update-ref", "refs/notes/taskctx", name)
        found = attacker.clone.prove("HEAD", code=3)
        (reason,) = found["commits"][0]["reasons"]
        assert reason["message"] == f"the notes do not read: {name} is not a commit, but a {kind}"
        assert found["hints"] == [
            "git for-each-ref refs/notes/taskctx refs/taskctx/remotes   "
            "# each is a commit; git fsck names what is missing"
        ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_NAMES = (
    "agent", "seq", "tree", "commit_tree", "commit", "time", "type", "agents", "n", "hidden", "finding", "text",
    "note", "attest", "signature", "run", "parent", "task_file", "kind", "base", "patch", "done", "extra",
)  # fmt: skip


@pytest.fixture(scope="module")
def good_lines() -> list[str]:
    """Records of a whole chain, as they would stand in a note."""
    context = "0123456789abcdef"
    shared = {
        "v": 1,
        "context": context,
        "task": "TASK-1",
        "actor": "A",
        "base": None,
        "diff_sha": None,
        "context_sha": "",
    }
    oid = "a" * 40
    steps = [
        ("init", "dev", {"agents": ["dev"], "tree": oid}),
        ("snapshot", "dev", {"tree": "b" * 40, "commit_tree": "b" * 40, "n": 1, "done": True}),
        ("seal", "dev", {"tree": "b" * 40, "commit_tree": "b" * 40, "commit": "c" * 40}),
    ]
    values = []
    for number, (kind, agent, fields) in enumerate(steps, 1):
        fixed = {"id": f"20260101T000000Z-{context}-{number:06d}", "type": kind, "agent": agent, "seq": number,
                 "time": "2026-01-01T00:00:00Z", "tree": None, "commit_tree": None, "commit": None}  # fmt: skip
        values.append({**shared, **fixed, **fields})
    return hashed(values)


def test_the_good_lines_are_good(good_lines: list[str]) -> None:
    """What is mangled below was whole."""
    (told,) = read_claims(good_lines, Policy(), None).contexts
    assert (told.reasons, [claim.reasons for claim in told.claims]) == ((), [()])


@given(number=st.integers(0, 2), name=st.sampled_from(_NAMES), value=_JSON, rehash=st.booleans())
def test_no_value_crashes(good_lines: list[str], number: int, name: str, value: object, rehash: bool) -> None:
    """Any JSON in the place of any value, with and without hashes that fit, is judged and never raises."""
    values = [json.loads(line) for line in good_lines]
    values[number][name] = value
    lines = hashed(values) if rehash else [json.dumps(one, separators=(",", ":")) for one in values]
    note = read_claims([line for line in lines if "\n" not in line], Policy(), ("dev",))
    for told in note.contexts:
        assert all(len(reason.message) < 1000 for reason in told.reasons)


@given(
    lines=st.lists(
        st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("utf-8", "surrogateescape")),
        max_size=5,
    )
)
def test_no_text_crashes(lines: list[str]) -> None:
    """Any text at all is a foreign line."""
    note = read_claims(lines, Policy(), None)
    assert (note.contexts, note.foreign) == ((), len(lines))
