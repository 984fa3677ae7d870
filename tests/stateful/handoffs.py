"""Rules that are our verbs of the chain, each held to the exit code and the state that the model predicts."""

from __future__ import annotations

import re
from random import Random

from stateful.held import act, active, adopt, answer, ends_first, owner_code, put_away
from stateful.model import FATAL, FILE, NO, UNKNOWN, YES, Task
from stateful.witness import unquoted
from stateful.world import TASK_FILES, World, rule

_CHAINS = (("implementer", "reviewer", "validator"),) * 3 + (("solo",), ("maker", "checker"))
_RENAMED = re.compile(r"from (.*)", re.DOTALL)


@rule(6)
def init(world: World, draw: Random) -> None:
    """A second context is refused while one is active; one whose commit is there ends first."""
    name, chain = f"TASK-{draw.randrange(10**6)}", draw.choice(_CHAINS)
    ends_first(world)
    seen, text = world.see(), _task_file(world) if draw.random() < 0.7 else None
    code = FATAL if world.task is not None or seen is None else YES
    file = f"{world.repo.path}/{FILE.decode()}"
    how = ("--title", "Mend it") if text is None else ("--any-status", "--task-file", file)
    said = act(world, draw, "init", name, *how, "--agents", ",".join(chain), "--format", "json", ends=code)
    if code == YES:
        assert seen is not None
        context = answer(said)["context"]
        assert context["git"]["init_tree"] == seen.tree
        assert text is None or context["immutable"]["task_snapshot"]["description"].encode() in text
        world.task = Task(name, context["context_id"], chain, seen, world.witness, captured=text)


def _task_file(world: World) -> bytes | None:
    """Return the task file, where it is one that `init` must take."""
    file = world.repo.at(FILE)
    data = file.read_bytes() if file.is_file() else None
    return data if data in TASK_FILES else None


@rule(8, flavour="taskfile")
def rebuild(world: World, draw: Random) -> None:
    """Approvals of another text are void; the same text again changes nothing."""
    provide(world, draw)
    task, text = active(world), _task_file(world)
    if task is None:
        return
    seen = world.see()
    if text is None or task.captured is None:
        act(world, draw, "rebuild", "--any-status", ends=NO if task.captured is None else (NO, FATAL))
    elif seen is None:
        act(world, draw, "rebuild", "--any-status", ends=FATAL)
    else:
        task.rebuild(text)
        act(world, draw, "rebuild", "--any-status", ends=YES)


def provide(world: World, draw: Random) -> None:
    """See, most often, that there is a context with its files."""
    if world.lost and draw.random() < 0.5:
        recover(world, draw)
    if world.task is None and draw.random() < 0.7:
        init(world, draw)


@rule(16)
def start(world: World, draw: Random) -> None:
    provide(world, draw)
    note = draw.random() < 0.25
    agent = _agent(world, draw)
    words = ("start", "--agent", agent, "--take-over", "it gave up") if note else _either(draw, agent)
    code = owner_code(world)
    task = active(world)
    if code is not None or task is None:
        act(world, draw, *words, ends=FATAL)
        return
    before, owner, count = (task.head, task.parent), task.owner, len(task.seats[task.owner]["taken"])
    code = task.begin_to(agent, world.see(), note)
    act(world, draw, *words, ends=code)
    if len(task.seats[owner]["taken"]) > count:
        adopt(world, task, owner, before)


@rule(34)
def snapshot(world: World, draw: Random) -> None:
    provide(world, draw)
    sometimes = {"done": 0.25, "wip": 0.12, "allow-clean": 0.5, "attest": 0.15}
    flags = {name for name, chance in sometimes.items() if draw.random() < chance}
    record(world, draw, _agent(world, draw), flags)


@rule(20)
def go_on(world: World, draw: Random) -> None:
    """Do what brings the task on: the owner's snapshot, or the next agent's; the last one says done."""
    provide(world, draw)
    task = active(world)
    if task is None:
        return
    seen = world.see()
    if seen is not None and not task.at_work and (task.blocked or task.verdict(seen) == NO) and draw.random() < 0.6:
        settle(world, draw, accept=True)
    if active(world) is not task:
        return
    place = task.place(task.owner)
    agent = task.owner if task.at_work else task.agents[min(place + 1, len(task.agents) - 1)]
    record(world, draw, agent, {"allow-clean"} | ({"done"} if agent == task.agents[-1] else set()))


@rule(10)
def go_on_and_look(world: World, draw: Random) -> None:
    go_on(world, draw)
    verify(world, draw)


@rule(4)
def finish(world: World, draw: Random) -> None:
    """Bring the task to its end, and commit it: the next verb seals it."""
    for _ in range(6):
        task = active(world)
        if task is None or task.validated:
            break
        go_on(world, draw)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "the task")


def record(world: World, draw: Random, agent: str, flags: set[str]) -> None:
    """Take a snapshot, and hold what must follow."""
    argv = [f"--{name}" if name != "attest" else "--attest=mine" for name in sorted(flags)]
    code, task = owner_code(world), active(world)
    if code is not None or task is None:
        act(world, draw, "snapshot", "--agent", agent, *argv, ends=FATAL)
        return
    before, seen = (task.head, task.parent), world.see()
    code = task.snapshot(agent, seen, flags)
    act(world, draw, "snapshot", "--agent", agent, *argv, ends=code)
    if code == YES:
        world.count("a snapshot")
        adopt(world, task, agent, before)


@rule(34)
def verify(world: World, draw: Random) -> None:
    """Yes exactly when nothing changed since the snapshot; otherwise every change is named with its path."""
    provide(world, draw)
    strict, exact = draw.random() < 0.2, draw.random() < 0.25
    expect = _agent(world, draw) if draw.random() < 0.2 else None
    argv = ["--strict"] * strict + ["--exact"] * exact + (["--expect", expect] if expect else [])
    if world.task is None or world.lost:
        act(world, draw, "verify", *argv, ends=FATAL if world.lost else UNKNOWN)
        return
    if expect is None and ends_first(world):
        act(world, draw, "verify", *argv, ends=YES)
        return
    task, seen = world.task, world.see(cold=exact)
    if seen is None:
        code = FATAL
    elif expect in (None, task.owner):
        code = task.count(seen, strict=strict)
    else:
        code = task.verdict(seen, expect, strict=strict)
    said = act(world, draw, "verify", *argv, "--format", "json", ends=code)
    world.count(f"a verdict: {code}")
    if code == NO and seen is not None:
        expected = task.expected if expect in (None, task.owner) else task.seats[str(expect)]["taken"][-1]
        assert expected is not None
        _hold_named(world, expected.tree, seen.tree, answer(said)["causes"] + answer(said)["notices"])


def _hold_named(world: World, old: str, new: str, causes: list[dict[str, str | None]]) -> None:
    told = [cause["path"] for cause in causes if cause["path"]]
    told += [match[1] for cause in causes if (match := _RENAMED.fullmatch(cause["detail"] or ""))]
    missed = world.witness.changed(old, new) - set(map(unquoted, told))
    assert not missed, f"changed and not named: {sorted(missed)} in {causes}"


@rule(12)
def resolve_drift(world: World, draw: Random) -> None:
    settle(world, draw, accept=draw.random() < 0.6)


def settle(world: World, draw: Random, *, accept: bool) -> None:
    """Acknowledge drift, and hold what must follow."""
    argv = ["resolve-drift", "--note", "it was me", *(["--accept"] if accept else [])]
    code, task = owner_code(world), active(world)
    if code is not None or task is None:
        act(world, draw, *argv, ends=FATAL)
        return
    before, taken = (task.head, task.parent), len(task.seats[task.owner]["taken"])
    code = task.resolve(world.see(), accept=accept)
    act(world, draw, *argv, ends=code)
    if len(task.seats[task.owner]["taken"]) > taken:
        adopt(world, task, task.owner, before)


@rule(4)
def block(world: World, draw: Random) -> None:
    provide(world, draw)
    agent = _agent(world, draw)
    code, task = owner_code(world), active(world)
    if task is not None and code is None:
        task.block(agent)
    act(world, draw, "block", "--agent", agent, "--finding", "it is wrong", ends=YES if code is None else code)


@rule(10)
def unblock(world: World, draw: Random) -> None:
    provide(world, draw)
    agent, name = _agent(world, draw), f"F{draw.randint(1, 3)}"
    code, task = owner_code(world), active(world)
    if task is not None and task.open() and draw.random() < 0.7:
        name = task.open()[0]
        agent = task.findings[name][0]
    if task is not None and code is None:
        code = task.unblock(agent, name)
    act(world, draw, "unblock", "--agent", agent, "--finding", name, ends=FATAL if code is None else code)


@rule(8)
def update(world: World, draw: Random) -> None:
    provide(world, draw)
    agent, status = _agent(world, draw), draw.choice(("pending", "in_progress", "done", "done", "blocked"))
    code, task = owner_code(world), active(world)
    if task is not None and code is None:
        code = task.update(agent, status, world.see())
    act(world, draw, "update", "--agent", agent, "--status", status, ends=FATAL if code is None else code)


@rule(5)
def purge(world: World, draw: Random) -> None:
    every = ("--all",) if draw.random() < 0.4 else ()
    if world.lost:
        act(world, draw, "purge", *every, ends=YES if every else FATAL)
        if every:
            put_away(world)
        return
    if not ends_first(world) and world.task is not None:
        put_away(world)
    act(world, draw, "purge", *every, ends=YES)


@rule(8)
def recover(world: World, draw: Random) -> None:
    """Back it comes, with budgets and statuses; never beside another one."""
    names = [*world.past, *([world.task.name] * 3 if world.task else []), "TASK-NONE"]
    name = draw.choice(names)
    code = FATAL if name == "TASK-NONE" or (world.task is not None and world.task.name != name) else YES
    if code == YES:
        world.task, world.lost = world.past.pop(name, None) or world.task, False
    act(world, draw, "recover", name, ends=code)


@rule(8)
def read(world: World, draw: Random) -> None:
    """Verbs that only read, in any state."""
    verb = draw.choice(("status", "get", "log", "list"))
    if verb == "list" or (verb == "status" and world.task is None):
        act(world, draw, verb, ends=YES)
    elif world.task is None or world.lost:
        act(world, draw, verb, ends=FATAL)
    else:
        task = world.task
        over = ends_first(world)
        said = act(world, draw, verb, "--format", "json", ends=YES)
        if verb == "status" and not over:
            assert (answer(said)["owner"], answer(said)["at_work"], answer(said)["validated"]) == (
                task.owner, task.at_work, task.validated,
            )  # fmt: skip
        assert not over or '"seal"' in world.repo.git("notes", "--ref=taskctx", "show", "HEAD")


def _agent(world: World, draw: Random) -> str:
    """Draw an agent: most often the owner or the next one."""
    task = world.task
    if task is None:
        return "implementer"
    if draw.random() < 0.02:
        return task.agents[-1]
    place = task.place(task.owner)
    near = [task.agents[min(max(place + step, 0), len(task.agents) - 1)] for step in (0, 0, 1, 1, 1, -1)]
    return draw.choice([*near, *task.agents])


def _either(draw: Random, agent: str) -> tuple[str, ...]:
    return ("verify", "--for", agent) if draw.random() < 0.1 else ("start", "--agent", agent)
