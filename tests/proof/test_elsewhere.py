"""Records that another clone wrote, or a client without our checks: they count, and do not count for more."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from prepared import own_folder
from proof.scene import NOTES, TASK, Clone, Scene
from proof.test_attacks import Attacker, signed_scene
from proof.test_hostile_notes import hashed

DISTINCT = "[chain]\ndistinct_actors = true\n"


def codes(clone: Clone | Any, *words: str) -> tuple[str, set[str]]:
    """Return the verdict on HEAD, and the codes of its reasons."""
    found = json.loads(clone.run("verify", *(words or ("HEAD",)), "--format", "json").out)["data"]
    return found["verdict"], {reason["code"] for reason in found["commits"][0]["reasons"]}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Scene, Clone]:
    """A task that one clone finished and committed, while a reviewer blocked it in another, which pushed that."""
    scene = Scene(tmp_path)
    scene.repo.checkout("-b", "topic")
    scene.desk.init()
    scene.repo.write("parser.py", "mended\n")
    scene.desk.ok("snapshot", "--agent", "implementer")
    scene.desk.ok("snapshot", "--agent", "reviewer")
    other = scene.clone("other", notes=None)
    other.ok("fetch", "origin", "--with-snapshots")
    other.ok("recover", TASK)
    other.ok("block", "--agent", "reviewer", "--finding", "it loses the last line")
    scene.desk.ok("snapshot", "--agent", "validator", "--done")
    scene.seal()
    assert codes(scene.desk) == ("verified", set())
    return scene, other


def test_a_finding_of_another_clone(two: tuple[Scene, Clone]) -> None:
    """What another clone found meanwhile forks the ledger, and the commit is violated once anybody has both sides."""
    scene, other = two
    prover = scene.clone("prover")
    assert codes(prover) == ("verified", set())
    other.run("push", "origin")
    prover.repo.git("fetch", "-q", "-f", "origin", f"+{NOTES}:refs/taskctx/remotes/origin/notes")
    assert codes(prover) == ("violated", {"fork"})
    assert codes(prover, "HEAD~1..HEAD") == ("violated", {"fork"})
    assert codes(scene.desk) == ("violated", {"fork"})


def test_a_side_that_was_chosen_after_the_seal(two: tuple[Scene, Clone]) -> None:
    """Whoever says, on record, that the sealed side holds makes the commit verified again, though the task is over."""
    scene, other = two
    other.run("push", "origin")
    seal = next(one for one in scene.repo.git("notes", "--ref=taskctx", "show", "HEAD").splitlines() if '"seal"' in one)
    name = json.loads(seal)["id"]
    scene.desk.ok("resolve-drift", "--task", TASK, "--note", "it does not", "--holds", name)
    assert codes(scene.desk) == ("verified", set())
    prover = scene.clone("prover")
    assert codes(prover) == ("verified", set())


def values_of(attacker: Attacker) -> list[dict[str, Any]]:
    """Return the records of the good chain."""
    return [json.loads(one.to_line()) for one in attacker.records()]


def rewritten(attacker: Attacker, values: Sequence[dict[str, Any]]) -> None:
    """Put records in the place of the good ones, numbered and hashed as a whole chain."""
    for seq, value in enumerate(values, 1):
        value |= {"seq": seq, "id": f"{value['id'].rpartition('-')[0]}-{seq:06d}"}
    attacker.put(hashed([dict(value) for value in values]))


def scene_of_three(folder: Path, policy: str = DISTINCT) -> Attacker:
    """Return a client without our checks, in a clone where three people validated a task with a finding."""
    clone, good = _three(policy)
    return Attacker(clone.copied(folder), good)


@functools.cache
def _three(policy: str) -> tuple[Clone, str]:
    scene = Scene(own_folder("three"), policy=policy)
    desk = scene.desk
    scene.repo.checkout("-b", "topic")
    desk.init("--actor", "ann")
    scene.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "ann")
    desk.ok("start", "--agent", "reviewer", "--actor", "rob")
    desk.ok("block", "--agent", "reviewer", "--finding", "a typo", "--actor", "rob")
    desk.ok("unblock", "--agent", "reviewer", "--finding", "F1", "--actor", "rob")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "rob")
    desk.ok("snapshot", "--agent", "validator", "--done", "--actor", "val")
    good = scene.seal()
    clone = scene.clone("clone")
    assert codes(clone) == ("verified", set())
    return clone, good


# The kinds of the records: 0 init, 1 snapshot, 2 start, 3 block, 4 unblock, 5 snapshot, 6 start, 7 snapshot, 8 seal.
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({4: {"actor": "ann"}}, "same-actor"),
        ({2: {"actor": "ann"}}, "same-actor"),
        ({5: {"actor": "ann"}}, "same-actor"),
        ({7: {"actor": "ann"}}, "same-actor"),
        ({5.5: {"type": "resolve", "agent": "reviewer", "note": "fine", "actor": "ann"}}, "same-actor"),
        ({5.5: {"type": "resolve", "agent": "implementer", "note": "fine", "actor": "ann"}}, "same-actor"),
        ({5.5: {"type": "update", "agent": "reviewer", "done": True, "actor": "ann"}}, "same-actor"),
        ({4: {"agent": "implementer"}}, "out-of-turn"),
        ({4: {"finding": "F7"}}, "out-of-turn"),
        ({4.5: {"type": "unblock", "agent": "reviewer", "finding": "F1"}}, "out-of-turn"),
        ({4: None, 6.5: {"type": "unblock", "agent": "reviewer", "finding": "F1"}}, "finding-open"),
        ({2: {"agent": "validator"}}, "out-of-turn"),
        ({2: None}, "out-of-turn"),
        ({6: None}, "out-of-turn"),
        ({1.5: {"type": "update", "agent": "reviewer", "done": True}}, "out-of-turn"),
        ({2.5: {"type": "update", "agent": "reviewer", "done": True}}, "out-of-turn"),
        ({1: None, 2.5: {"type": "snapshot", "agent": "implementer"}}, "out-of-turn"),
        ({6.5: {"type": "snapshot", "agent": "reviewer"}}, "out-of-turn"),
        ({1: {"wip": True}}, "out-of-turn"),
        ({2.5: {"type": "start", "agent": "reviewer"}}, "out-of-turn"),
        ({7: {"actor": "ann", "takeover": True}}, "same-actor"),
        ({5: {"actor": "ann", "takeover": True}}, "out-of-turn"),
        ({7.5: {"type": "rebase", "parent": "a" * 40, "from": "b" * 40}}, "out-of-turn"),
    ],
)
def test_what_the_chain_forbids_was_not_to_be_done(tmp_path: Path, change: dict[float, Any], code: str) -> None:
    """Records that no verb of ours would write, in a chain whose hashes hold, are violated, each by its own name."""
    attacker = scene_of_three(tmp_path)
    values = values_of(attacker)
    assert [one["type"] for one in values] == [
        "init", "snapshot", "start", "block", "unblock", "snapshot", "start", "snapshot", "seal",
    ]  # fmt: skip
    placed: dict[float, dict[str, Any]] = {float(number): value for number, value in enumerate(values)}
    for place, fields in change.items():
        if fields is None:
            placed.pop(place)
        else:
            like = placed.get(place) or {
                **values[5],
                "time": values[int(place)]["time"],
                "id": values[int(place)]["id"],
            }
            placed[place] = {**like, **fields}
    rewritten(attacker, [placed[place] for place in sorted(placed)])
    verdict, found = codes(attacker.clone)
    assert (verdict, code in found) == ("violated", True), found


def test_verbs_ask_the_same_rule(tmp_path: Path) -> None:
    """Whoever edited closes no finding and resolves no drift for a later agent; the hint names who may."""
    scene = Scene(tmp_path, policy=DISTINCT)
    desk = scene.desk
    desk.init("--actor", "ann")
    scene.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "ann")
    desk.ok("start", "--agent", "reviewer", "--actor", "rob")
    desk.ok("block", "--agent", "reviewer", "--finding", "a typo", "--actor", "rob")
    words = ("--agent", "reviewer", "--finding", "F1")
    said = desk.refuses("unblock", *words, "--actor", "ann")
    assert "ann edited as implementer and may not act as reviewer (chain.distinct_actors)" in said
    assert "hint: git taskctx unblock --agent reviewer --finding F1 --actor rob" in said
    desk.ok("unblock", *words, "--actor", "rob")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "rob")
    scene.repo.write("other.py", "drift\n")
    desk.ends(1, "verify")
    for words in (("--note", "mine"), ("--note", "mine", "--accept")):
        said = desk.refuses("resolve-drift", *words, "--actor", "ann")
        assert "may not act as reviewer" in said
    desk.ok("resolve-drift", "--note", "mine", "--accept", "--actor", "rob")


@pytest.mark.needs_git(2, 34)
def test_distinct_actors_need_distinct_keys(tmp_path: Path) -> None:
    """Where records are signed, one key by two names is one actor, for the verbs and for the proof."""
    scene, _ = signed_scene(tmp_path, names='"A U Thor,reviewer-*"')
    loose = scene.repo.read(".taskctx.toml")
    scene.repo.write(".taskctx.toml", loose + DISTINCT.encode())
    strict = scene.repo.commit("policy")
    desk = scene.desk
    desk.init()
    scene.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    said = desk.refuses("start", "--agent", "reviewer", "--actor", "reviewer-1")
    assert "reviewer-1 edited as implementer (as A U Thor, with the same key) and may not act as reviewer" in said
    desk.ok("purge")
    scene.repo.git("checkout", "-q", "--", ".")
    scene.repo.write(".taskctx.toml", loose)
    scene.repo.commit("loose")
    desk.ok("init", "TASK-2", "--title", "more")
    scene.repo.write("parser.py", "mended\n")
    desk.ok("snapshot", "--agent", "implementer")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "reviewer-1")
    desk.ok("snapshot", "--agent", "validator", "--done", "--actor", "reviewer-2")
    scene.seal()
    assert codes(desk) == ("verified", set())
    assert codes(desk, "HEAD", "--policy", strict) == ("violated", {"same-actor"})
