"""Each reason on its own: a chain that is whole but for one thing gives that code, and no other."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gitrepo import GitRepo
from proof.scene import Scene

from git_taskctx.config import load_config
from git_taskctx.errors import CouldNotTell
from git_taskctx.git.changes import compare_many, compare_trees
from git_taskctx.git.notes import find_notes
from git_taskctx.git.patch import Patch
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Code, Reason
from git_taskctx.proof.claims import RecordedContext, read_claims
from git_taskctx.proof.found import Judged
from git_taskctx.proof.prove import _prove_parts
from git_taskctx.proof.range import Commit

INIT, WORK, LATER, BASE, SEALED = (letter * 40 for letter in "abcde")
Step = tuple[str, str | None, dict[str, Any]]


def taken(agent: str, n: int, tree: str = WORK, **more: Any) -> Step:
    """A snapshot."""
    return "snapshot", agent, {"tree": tree, "commit_tree": tree, "commit": BASE, "n": n, **more}


def started(agent: str, tree: str = WORK, **more: Any) -> Step:
    """A start."""
    return "start", agent, {"tree": tree, "commit": BASE, **more}


BEGUN: Step = ("init", "dev", {"tree": INIT, "commit": BASE, "agents": ["dev", "checker"]})
DONE = (BEGUN, taken("dev", 1), started("checker"), taken("checker", 1, done=True))


def codes(
    *steps: Step, policy: str = "", agents: tuple[str, ...] | None = None, tree: str = WORK
) -> tuple[list[str], list[str]]:
    """Return the reasons and the notices that a chain of these steps has at its seal."""
    told = read(*steps, policy=policy, agents=agents, tree=tree)
    (claim,) = told.claims
    return [one.code.value for one in (*told.reasons, *claim.reasons)], [one.code.value for one in claim.notices]


def read(*steps: Step, policy: str = "", agents: tuple[str, ...] | None = None, tree: str = WORK) -> RecordedContext:
    """Return what is told by a chain of these steps, and its seal."""
    lines: list[str] = []
    for seq, (kind, agent, fields) in enumerate(
        [*steps, ("seal", "checker", {"tree": tree, "commit_tree": tree, "commit": SEALED})], 1
    ):
        value = {
            "id": f"20260101T000000Z-{'0' * 16}-{seq:06d}", "v": 1, "type": kind, "context": "0" * 16, "task": "T-1",
            "agent": agent, "actor": "Ann", "time": "2026-01-01T00:00:00Z", "seq": seq, "base": BASE, "tree": None,
            "commit_tree": None, "commit": None, "diff_sha": None, "context_sha": "",
            "prev": hashlib.sha256(lines[-1].encode()).hexdigest() if lines else None,
        }  # fmt: skip
        lines.append(json.dumps({**value, **fields}))
    config = load_config(taskctx_toml=policy.encode(), pyproject=None, committed_name="x", personal=[])
    (told,) = read_claims(lines, config.policy, agents).contexts
    return told


BOBS = taken("checker", 1, done=True, actor="Bob")
RESOLVE: Step = ("resolve", "dev", {"note": "back as it was"})
DRIFT: Step = ("drift", "dev", {"digest": "x"})
BLOCK: Step = ("block", "checker", {"finding": "F1", "text": "wrong"})


@pytest.mark.parametrize(
    ("steps", "reasons", "notices"),
    [
        (DONE, [], []),
        (DONE[:3], ["not-done", "not-done"], []),
        ((*DONE[:2], DONE[3]), ["out-of-turn", "not-done", "not-done", "edited-by"], []),
        ((*DONE, started("checker", resume=True)), ["not-done"], []),
        ((*DONE, ("rebuild", "checker", {})), ["stale", "stale"], []),
        ((*DONE, BLOCK), ["not-done", "finding-open"], []),
        ((*DONE[:3], BLOCK, ("unblock", "checker", {"finding": "F1"}), DONE[3]), [], []),
        ((*DONE, DRIFT), ["budget-open"], []),
        ((*DONE, DRIFT, RESOLVE), [], []),
        ((*DONE, DRIFT, ("resolve", "dev", {})), ["no-note"], []),
        ((*DONE, DRIFT, ("resolve", "dev", {"note": "  "})), ["no-note"], []),
        ((*DONE, ("bypass", "checker", {"kind": "no-verify", "commit": BASE})), ["bypass"], []),
        ((*DONE, ("bypass", "checker", {"kind": "no-verify"})), ["bypass"], []),
        ((*DONE, ("bypass", "checker", {"kind": "other", "commit": LATER})), ["bypass"], []),
        ((*DONE, ("bypass", "checker", {"kind": "no-verify", "commit": LATER})), [], []),
        ((*DONE[:2], started("checker", attest="mine"), DONE[3]), [], ["bypass-allowed"]),
        ((*DONE[:2], started("checker", attest=" "), DONE[3]), ["no-note"], ["bypass-allowed"]),
        ((*DONE[:2], started("checker", attest=["x"]), DONE[3]), ["record-bad"], []),
        ((*DONE[:3], taken("checker", 1, done=True, force_secrets=True)), [], ["bypass-allowed"]),
        ((*DONE[:3], taken("checker", 1, LATER, done=True)), ["edited-by", "tree-differs"], []),
    ],
)  # fmt: skip
def test_a_chain_with_one_thing_wrong(steps: tuple[Step, ...], reasons: list[str], notices: list[str]) -> None:
    """What the verbs would have refused is a reason, when somebody wrote the records without them."""
    assert codes(*steps) == (reasons, notices)


@pytest.mark.parametrize(
    ("policy", "steps", "reasons"),
    [
        ("[drift]\nallowance = 1\n", (*DONE, DRIFT), []),
        ("[commit]\nallow_bypass = ['no-verify']\n", (*DONE, ("bypass", "checker", {"kind": "no-verify"})), []),
        ("[commit]\nallow_bypass = []\n", (*DONE[:2], started("checker", attest="mine"), DONE[3]), ["bypass"]),
        ("[chain]\ndistinct_actors = true\n", DONE, ["same-actor"]),
        ("[chain]\ndistinct_actors = true\n", (*DONE[:2], started("checker", actor="Bob"), BOBS), []),
    ],
)  # fmt: skip
def test_policy_decides(policy: str, steps: tuple[Step, ...], reasons: list[str]) -> None:
    """The same chain is judged by the policy that holds."""
    assert codes(*steps, policy=policy)[0] == reasons


def ran(command: str | None, status: str = "passed", tree: str = WORK, code: int = 0, agent: str = "checker") -> Step:
    """A run of QA."""
    run = {"command": command, "exit_code": code, "status": status, "reports": [], "log": "E1"}
    return "qa", agent, {"tree": tree, "run": run}


def named(*commands: str) -> tuple[Step, ...]:
    """The chain that is done, of a task with these commands on record."""
    return (("init", "dev", {**BEGUN[2], "commands": list(commands)}), *DONE[1:])


@pytest.mark.parametrize(
    ("steps", "reasons"),
    [
        (named("make", "lint"), ["qa-missing", "qa-missing"]),
        ((*named("make", "lint"), ran("make")), ["qa-missing"]),
        ((*named("make", "lint"), ran("make"), ran("lint")), []),
        ((*named("make", "lint"), ran("make"), ran("lint", "failed", code=1)), ["qa-failed"]),
        ((*named("make"), ran("make", "failed", code=1), ran("make")), []),
        ((*named("make"), ran("make"), ran("make", "contradiction")), ["qa-failed"]),
        ((*named("make"), ran("make", "unknown")), []),
        ((*named("make"), ran("make", "unknown", code=1)), ["qa-failed"]),
        ((*named("make"), ran("make", tree=LATER)), ["qa-missing"]),
        ((*named("make"), ran("make"), ran("make", "failed", code=1, agent="dev"), ran("lint")), ["qa-failed"]),
        (
            (*named("make"), ran("make", agent="dev"), ran("make", "failed", code=1), ran("make", tree=LATER)),
            ["qa-failed"],
        ),
        ((*DONE, ran("make", "failed", code=1), *(ran(f"make {one}") for one in range(20))), ["qa-failed"]),
        ((*named("make"), ran("make"), ran("other", "failed", code=1)), []),
        ((*named(), ran("other")), []),
        (named(), ["qa-missing"]),
        (DONE, ["qa-missing"]),
        ((*DONE, ran("other")), []),
        ((*DONE, ran("other"), ran("more", "failed", code=1)), ["qa-failed"]),
        ((*DONE, ("rebuild", "checker", {"same_text": True, "commands": ["make"]})), ["qa-missing"]),
        ((*DONE, ("rebuild", "checker", {"same_text": True, "commands": "make"})), ["record-bad"]),
        ((*named("make"), ran("make"), ("rebuild", "checker", {"same_text": True})), []),
    ],
)  # fmt: skip
def test_every_command_on_record_must_have_passed(steps: tuple[Step, ...], reasons: list[str]) -> None:
    """`qa.require` goes by the commands that `init` or `rebuild` named; where none did, any run will do."""
    assert codes(*steps, policy="[qa]\nrequire = true\n")[0] == reasons


def test_agents_and_trees() -> None:
    """A chain of other agents, and a seal of another tree than was validated, are told."""
    assert codes(*DONE, agents=("dev", "checker"))[0] == []
    assert codes(*DONE, agents=("dev", "reviewer", "checker"))[0] == ["agents-differ"]
    assert codes(*DONE, tree=LATER)[0] == ["tree-differs"]


@pytest.mark.slow
def test_a_long_chain_is_not_held_once_for_each_record() -> None:
    """A chain takes memory as it has records, not as their square; one that tells of too many commits is too large."""
    tracemalloc.start()
    try:
        assert codes(BEGUN, *(taken("dev", number) for number in range(1, 4001)))[0] == ["not-done"] * 3
        assert tracemalloc.get_traced_memory()[1] < 32 * 1024 * 1024  # the square are more than 64
    finally:
        tracemalloc.stop()
    part: Step = ("part", "dev", {"commit": LATER, "commit_tree": WORK})
    assert len(read(BEGUN, *[part] * 999).claims) == 1000
    too_many = read(BEGUN, *[part] * 1000)
    assert ([one.code.value for one in too_many.reasons], too_many.claims) == (["too-large"], ())


def test_parts_count_with_the_end_of_the_task() -> None:
    """A part is proved by the sealed commit above it, on its line of first parents, and only with its tree."""

    def found(
        name: str, parent: str, by: str | None = None, parts: tuple[tuple[CommitOid, TreeOid], ...] = ()
    ) -> Judged:
        commit = Commit(CommitOid(name), TreeOid(f"tree of {name}"), (CommitOid(parent),), "")
        open_part = () if by else (Reason(Code.PART_OPEN, "open"),)
        return Judged(commit, open_part, by=by, task="T-1", context="0" * 16, parts=parts)

    named = tuple((CommitOid(name), TreeOid(f"tree of {name}")) for name in ("one", "elsewhere"))
    odd = (CommitOid("two"), TreeOid("another tree"))
    all_found = {
        one.commit.oid: one
        for one in (
            found("end", "two", "commit", (*named, odd)),
            found("two", "one"),
            found("one", "base"),
            found("elsewhere", "base"),
        )
    }
    _prove_parts(all_found, {oid: one.commit for oid, one in all_found.items()})
    assert {oid: one.by for oid, one in all_found.items()} == {
        "end": "commit",
        "two": None,
        "one": "part",
        "elsewhere": None,
    }
    assert all_found[CommitOid("one")].reasons == ()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """A repository with a few commits and their notes."""
    scene = Scene.sealed(tmp_path)
    scene.repo.write('a "b"\n\tc', "odd name\n")
    scene.repo.commit("odd")
    repository = open_repository(scene.repo.path, dict(os.environ))
    yield repository
    repository.close()


def test_trees_are_compared_in_one_process(repository: Repository) -> None:
    """Many pairs give what each gives alone, equal ones and odd names included; a missing tree is told."""
    revisions = ("main", "topic~1", "topic", "topic")
    trees = [TreeOid(repository.tree_of(repository.resolve_commit(one))) for one in revisions]
    pairs = [(old, new) for old in trees for new in trees]
    alone = [sorted(compare_trees(repository, *pair), key=lambda one: one.path) for pair in pairs]
    assert compare_many(repository, pairs) == alone
    with pytest.raises(CouldNotTell):
        compare_many(repository, [(trees[0], TreeOid("1" * 40))])


def test_notes_are_found_side_by_side(repository: Repository) -> None:
    """Every note is found as git lists it, and an object without one has none."""
    repo = GitRepo(repository.toplevel)
    listed = [line.split() for line in repo.git("notes", "--ref=taskctx", "list").splitlines()]
    expected = {target: [note] for note, target in listed} | {"0" * 40: []}
    assert find_notes(repository.objects, repo.git("rev-parse", "refs/notes/taskctx"), list(expected)) == expected


def test_a_large_object_is_not_held(repository: Repository) -> None:
    """What is larger than was asked for is passed over, alone and among others, and the next one reads well."""
    objects = repository.objects
    large, small = objects.add_blob(b"x" * 100_000), objects.add_blob(b"small")
    objects.flush()
    assert objects.find(large, limit=1000) == (large, "blob", b"", False)
    objects.read_ahead([large, small], limit=1000)
    assert (objects.find(large, limit=1000), objects.find(small)) == (
        (large, "blob", b"", False),
        (small, "blob", b"small", True),
    )


def diff(repo: GitRepo, old: str, new: str) -> Patch:
    """Return git's diff of two versions of a file, with the fixed options that matter here."""
    for text in (old, new):
        repo.write("file", text)
        repo.commit("version")
    return Patch(repo.run("diff", "--full-index", "HEAD~1", "HEAD").stdout, 0, 0)


def test_the_identity_of_a_patch(tmp_path: Path) -> None:
    """Where a patch applies does not matter; what it changes does, white space and all."""
    repo = GitRepo.init(tmp_path / "repo")
    lines = [f"line {number}\n" for number in range(20)]
    changed = [*lines[:10], "changed\n", *lines[11:]]
    one = diff(repo, "".join(lines), "".join(changed)).identity
    shifted = diff(repo, "top\n" + "".join(lines), "top\n" + "".join(changed)).identity
    other = diff(repo, "".join(lines), "".join(changed).replace("changed", "changed ")).identity
    assert one == shifted != other
    assert diff(repo, "\0a", "\0b").identity != diff(repo, "\0a", "\0c").identity
