"""Rules that are our verbs of the worktree: what it is, what changed, and how it comes back."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from random import Random

from desk import Desk
from gitrepo import GitRepo

from stateful.handoffs import provide
from stateful.held import act, active, answer, ends_first, owner_code
from stateful.model import FATAL, NO, YES, Task
from stateful.witness import Seen
from stateful.world import World, rule


@rule(30)
def fingerprint(world: World, draw: Random) -> None:
    """The oid is git's; where git refuses, so do we."""
    exact, write = draw.random() < 0.3, draw.random() < 0.1
    seen = world.see(cold=exact)
    argv = [*(["--exact"] if exact else []), *(["--write"] if write else [])]
    said = act(world, draw, "fingerprint", *argv, ends=FATAL if seen is None else YES)
    world.count("a fingerprint held against git's")
    assert seen is None or said.out == seen.tree + "\n", f"{said.out.strip()}, not git's {seen.tree}"


@rule(8)
def diff(world: World, draw: Random) -> None:
    """A stored diff is there, also after garbage collection, and is empty only where the trees are equal."""
    provide(world, draw)
    kind = draw.choice(("incremental", "from-base"))
    task = active(world)
    if task is None:
        act(world, draw, "diff", ends=FATAL)
        return
    agent = draw.choice([agent for agent in task.agents if task.seats[agent]["taken"]] * 3 + [task.owner])
    taken = task.seats[agent]["taken"]
    if ends_first(world):
        act(world, draw, "diff", ends=YES)
        return
    number = draw.randint(1, len(taken) + 1) if taken else 1
    code = YES if number <= len(taken) else FATAL
    if draw.random() < 0.3:
        for stored in world.repo.at(f".agent-output/tasks/{task.name}").glob("*.diff.gz"):
            world.tell(f"rm {stored.name}")
            stored.unlink()
    argv = ("--agent", agent, "--round", str(number), "--type", kind, "--format", "json")
    said = act(world, draw, "diff", *argv, ends=code)
    if code == YES and kind == "incremental" and Path(answer(said)["path"]).exists():
        assert gzip.decompress(Path(answer(said)["path"]).read_bytes()).decode(errors="replace") == answer(said)["diff"]


@rule(18)
def restore(world: World, draw: Random) -> None:
    """Files come back to a snapshot; what was there is saved, what is ignored is not written over."""
    provide(world, draw)
    code, task = owner_code(world), active(world)
    if code is not None or task is None:
        act(world, draw, "restore", "--agent", "init", ends=FATAL)
        return
    name, number, target = _choose(task, draw)
    argv = ["restore", "--agent", name, *(["--round", str(number)] if number else []), "--format", "json"]
    seen = world.see(cold=True)
    if target is None or seen is None:
        act(world, draw, *argv, ends=FATAL)
        return
    before, ignored = world.witness.files(), world.witness.ignored()
    said = act(world, draw, *argv, ends=(YES, NO) if ignored or world.elsewhere else YES, writes=True)
    after = world.witness.files()
    if said.code == NO:
        assert before == after
        return
    task.saved.append(seen.tree)
    assert world.repo.git("rev-parse", f"refs/taskctx/snapshots/{task.id}/saved/{len(task.saved)}") == seen.tree
    touched = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    _hold_saved(world, seen, {path: before[path] for path in touched if path in before})
    assert touched <= world.witness.changed(seen.tree, target), f"touched beside what differed: {touched}"
    _hold_restored(world, target, set(ignored), exact=answer(said)["exact"])


def _hold_saved(world: World, seen: Seen, gone: dict[bytes, tuple[str, bytes]]) -> None:
    """Hold that what was overwritten or deleted is in the tree that was saved, byte for byte."""
    if not world.converted:
        for path, (mode, data) in gone.items():
            oid = world.repo.git("hash-object", "--stdin", "--no-filters", input=data)
            assert world.witness.entries(seen.tree).get(path) == (mode, oid), f"{path!r} is lost: {data[:50]!r}"


def _choose(task: Task, draw: Random) -> tuple[str, int | None, str | None]:
    """Draw whose snapshot, which one, and the tree that it is; None where there is none."""
    known = [agent for agent in task.agents if task.seats[agent]["taken"]]
    name = draw.choice(("init", *(["saved"] * bool(task.saved)), *known * 2, draw.choice(("saved", *task.agents))))
    if name == "init":
        return name, None, task.begun.tree
    trees = task.saved if name == "saved" else [seen.tree for seen in task.seats[name]["taken"]]
    number = draw.randint(1, len(trees) + 1) if draw.random() < 0.4 else None
    wanted = number or len(trees)
    return name, number, trees[wanted - 1] if 1 <= wanted <= len(trees) else None


def _hold_restored(world: World, target: str, ignored: set[bytes], *, exact: bool) -> None:
    """Hold that the tree is there, but for what is ignored, or was: files that no snapshot could save."""
    now = world.see(cold=True)
    world.count(f"a tree restored{'' if exact else ', in part'}")
    assert now is not None
    assert exact is (now.tree == target)
    if not world.plain():
        return
    files = world.witness.files()
    differ = world.witness.changed(now.tree, target) - ignored - set(world.witness.ignored())
    assert not differ, f"not restored: {differ}"
    for path, (mode, oid) in world.witness.entries(target).items():
        assert files[path][0] == mode
        assert world.repo.git("hash-object", "--stdin", "--no-filters", input=files[path][1]) == oid


@rule(4, flavour="worktrees")
def another_worktree(world: World, draw: Random) -> None:
    """A linked worktree is a place of its own: its tree, its context; this one's context stays here."""
    place = world.repo.path.parent / "linked"
    if world.git("worktree", "add", "-q", "-f", "--detach", str(place), draw.choice(("HEAD", "side", "main"))):
        return
    other = Desk(GitRepo(place))
    other.repo.write("b", f"{draw.randrange(9)}\n")
    assert other.ok("fingerprint").out.strip() == other.repo.oracle()
    if world.task is not None:
        other.ends(FATAL, "recover", world.task.name)
    other.ok("init", "TASK-ELSEWHERE", "--title", "Elsewhere")
    other.ok("snapshot", "--agent", "implementer", "--allow-clean")
    before = other.repo.oracle()
    other.repo.write("b", "drift\n")
    other.ends(NO if other.repo.oracle() != before else YES, "verify")
    other.ok("purge")
    shutil.rmtree(place)
    world.git("worktree", "prune")


@rule(2)
def follow_a_hint(world: World, draw: Random) -> None:
    """What `status` says to type next is never refused as nonsense."""
    task: Task | None = active(world)
    seen: Seen | None = world.see()
    if task is None or seen is None:
        return
    ends_first(world)
    steps = answer(act(world, draw, "status", "--format", "json", ends=YES))["next"]
    assert steps, "status names no next step"
    assert all(step.startswith(("git ", "rm ")) for step in steps), steps
