"""What must hold of every verb of ours, whatever it was asked: its answer, its silence elsewhere, its records."""

from __future__ import annotations

import hashlib
import itertools
import json
from random import Random
from typing import Any

from desk import Said

from stateful.model import FATAL, Task
from stateful.world import World

_FILES = "PosixPath("
"""How a census names files of the worktree; all other entries are git's own."""


def act(world: World, draw: Random, *argv: str, ends: int | tuple[int, ...], writes: bool = False) -> Said:
    """Run a verb, that must end so, and leave the user's index, HEAD, refs and (but for `writes`) files alone."""
    before = world.census()
    whole = draw.random() < 0.03
    place = draw.choice(["dir", "dir/sub", *["."] * 8])
    cwd = world.repo.at(place if world.repo.at(place).is_dir() and not world.repo.at("dir").is_symlink() else ".")
    said = (world.desk.process if whole else world.desk.run)(*argv, cwd=cwd)
    world.tell(f"(cd {place} && git taskctx {' '.join(argv)})   # {said.code}{', a process' if whole else ''}")
    world.count(f"{argv[0]} {said.code}")
    touched = differences(before, world.census())
    if writes:
        touched = [key for key in touched if not key.startswith(_FILES)]
    assert touched == [], f"{argv} touched {touched}"
    expected = (ends,) if isinstance(ends, int) else ends
    assert said.code in expected, f"{argv} ended with {said.code}, not {expected}\n{said.both}"
    assert "this is a bug" not in said.both, said.both
    if said.code not in (0, 3) and "json" not in argv:
        assert "error: " in said.err or argv[0] == "verify", said.both
    check_context(world)
    return said


def answer(said: Said) -> Any:
    """Return the data of a JSON answer."""
    return said.document()["data"]


def differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Return what two censuses disagree on."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def active(world: World) -> Task | None:
    """Return the active context, where its files are there."""
    return world.task if not world.lost else None


def ends_first(world: World) -> bool:
    """Return whether the next verb finds the task's commit; the task is over then."""
    task = active(world)
    if task is None or not task.is_committed():
        return False
    task.head = task.sealed = world.witness.head()
    put_away(world)
    world.count("a task sealed")
    return True


def put_away(world: World) -> None:
    """Take the active context out of the worktree."""
    assert world.task is not None
    world.past[world.task.name] = world.task
    world.task, world.lost = None, False


def owner_code(world: World) -> int | None:
    """Return how any verb that writes ends, where there is no context to write to; None where there is one."""
    return FATAL if ends_first(world) or active(world) is None else None


def check_context(world: World) -> None:
    """Hold that `context.json`, the refs and the ledger say what the model says."""
    task = active(world)
    if task is None:
        return
    folder = world.repo.path / ".agent-output" / "tasks" / task.name
    raw = (folder / "context.json").read_bytes()
    context = json.loads(raw)
    for agent, seat in task.seats.items():
        told = context["coordination"][agent]
        last = told["worktree_snapshot"]
        taken = seat["taken"]
        found = {finding["id"] for finding in told["blocking_findings"] if not finding.get("closed_at")}
        assert (agent, told["status"], told["stale"], told["drift_budget"], found) == (
            agent, task.status(agent), seat["stale"], seat["budget"], set(task.open(agent)),
        )  # fmt: skip
        assert (last["n"], last["tree"]) == (len(taken), taken[-1].tree) if taken else last is None
    _check_ledger(world, task, hashlib.sha256(raw).hexdigest())


def _check_ledger(world: World, task: Task, sha: str) -> None:
    """Hold that records are linked by their hashes, in order, and that the last names `context.json` as it is."""
    lines: list[str] = []
    for page in itertools.count():
        anchor = world.repo.git("hash-object", "--stdin", input=f"taskctx context {task.id}" + f" {page}" * (page > 0))
        shown = world.repo.git("notes", "--ref=taskctx", "show", anchor, check=False).split("\n")
        if not any(shown):
            break
        lines += filter(None, shown)
    previous = None
    for number, line in enumerate(lines, 1):
        record = json.loads(line)
        assert (record["seq"], record["prev"]) == (number, previous), line
        previous = hashlib.sha256(line.encode()).hexdigest()
    assert json.loads(lines[-1])["context_sha"] == sha


def adopt(world: World, task: Task, agent: str, before: tuple[str | None, str | None]) -> None:
    """Take over from `context.json` where the task's commit must sit, and hold that its tree follows from that."""
    context = json.loads((world.repo.path / ".agent-output" / "tasks" / task.name / "context.json").read_bytes())
    head, parent = world.witness.head(), context["git"]["parent"]
    if head == before[0] == before[1]:
        assert parent == before[1]
    else:
        first = world.witness.parents(head)[:1] if head else []
        assert parent in (head, *(first or [None]))
    task.parent = parent
    snapshot = context["coordination"][agent]["worktree_snapshot"]
    held = world.witness.entries(snapshot["commit_tree"])
    assert held == task.commit_entries(snapshot["tree"], parent)
    ref = f"refs/taskctx/snapshots/{task.id}/{agent}/{snapshot['n']}"
    assert world.repo.git("rev-parse", ref) == snapshot["tree"] == snapshot["tree_ref"] or snapshot["tree_ref"] == ref
