"""A run of a pipeline is killed at a write step of its own, and resumed: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from afterwards import leftovers, let_time_pass, locks
from desk import TASK, Desk
from pipeline.scripted import toml
from records import read_records
from scenes import Scene
from stage import Prepare, Stage
from steps import Fault, spread

from git_taskctx.pipeline.processes import MARK
from git_taskctx.system import has_variable, parents

EVENTS = f".agent-output/tasks/{TASK}/runs/1/events.jsonl"
STAGES = ("api", "page", "api+page", "test", "review")
"""Two side by side, brought together, checked, and approved."""
PARTS = 8
RUN = Scene("run", lambda desk: None, ("run", "--jobs", "1"))


def says(name: str, *more: str) -> list[str]:
    """Return the command of a stage: it leaves a line beside the worktree, in which it may be told to work."""
    return ["sh", "-c", "; ".join((f'echo {name} >>"$HOME/ran"', *more))]


@pytest.fixture
def prepared(desk: Desk, stage: Prepare) -> Stage:
    """A pipeline that has not run."""
    approves = """echo '{"flags": {"approve": true}}' >"$TASKCTX_RESPONSE\""""
    stages = {
        "api": {"agent": "implementer", "run": says("api", "echo api >api.txt")},
        "page": {"agent": "implementer", "run": says("page", "echo page >page.txt")},
        "test": {"after": ["api", "page"], "run": says("test")},
        "review": {"agent": "reviewer", "after": ["test"], "run": says("review", approves)},
    }
    desk.repo.write(".taskctx.toml", toml(stages))
    desk.repo.commit("a pipeline")
    desk.ok("init", TASK, "--title", "t", "--agents", "implementer,reviewer")
    return stage(RUN)


def ended(desk: Desk) -> set[str]:
    """Return the stages whose end is among the events."""
    place = desk.repo.at(EVENTS)
    lines = place.read_bytes().splitlines() if place.exists() else []
    events = [json.loads(line) for line in lines if line.startswith(b"{") and line.endswith(b"}")]
    return {one["stage"] for one in events if one["type"] == "stage-ended" and one["state"] == "done"}


def ran(home: Path) -> Counter[str]:
    """Return how often each stage ran since this was asked last."""
    place = home / "ran"
    found = Counter(place.read_text().split() if place.exists() else ())
    place.unlink(missing_ok=True)
    return found


def types(desk: Desk) -> Counter[tuple[str, str | None]]:
    """Return how many records of a kind there are, of which stage."""
    found = [record for records in read_records(desk.repo).values() for record in records]
    return Counter((one["type"], (one.get("stage") or {}).get("stage")) for one in found)


def hold_resumed(prepared: Stage, home: Path, at: int) -> bool:
    """Kill a run at a step, and resume it; return whether it came so far."""
    desk = prepared.copy()
    killed = prepared.run(desk, Fault(at))
    if killed.said.code != -signal.SIGKILL:
        assert killed.said.code == 0, killed.said.both
        ran(home)
        return False
    done, before = ended(desk), ran(home)
    let_time_pass(desk)
    said = desk.run("run", "--jobs", "1", "--resume")
    if "no run of TASK-1 has begun" in said.err:
        assert not done
        said = desk.run("run", "--jobs", "1")
    where = f"killed at step {at}: {killed.steps[-1:]}\n{said.both}"
    assert said.code == 0, where
    again = ran(home)
    assert not done & again.keys(), where
    assert all(0 < before[name] + again[name] <= 2 for name in STAGES if "+" not in name), where
    assert (desk.repo.read("api.txt"), desk.repo.read("page.txt")) == (b"api\n", b"page\n"), where
    once = types(desk)
    assert {kind: count for kind, count in once.items() if kind[0] in ("snapshot", "qa")} == {
        ("snapshot", "api+page"): 1, ("qa", "test"): 1, ("snapshot", "review"): 1}, where  # fmt: skip
    desk.ok("verify")
    trees = home / ".cache/git-taskctx/trees"
    assert not trees.exists() or list(trees.iterdir()) == [], where
    assert (leftovers(desk), locks(desk), desk.repo.git("fsck", "--no-dangling")) == ([], [], ""), where
    marks = [f"{MARK}={context}/".encode() for context in read_records(desk.repo)]
    assert not [pid for pid in parents() if pid != os.getpid() for mark in marks if has_variable(pid, mark)], where
    prepared.discard(desk)
    return True


@pytest.mark.needs_linux
def test_a_run_killed_at_some_steps_goes_on(prepared: Stage, sealed_home: Path) -> None:
    """A few of the steps that the runner takes: evenly spread, and before a brief is there."""
    steps = prepared.steps()
    ran(sealed_home)
    brief = next(at for at, step in enumerate(steps, 1) if "rename" in step and "brief.md" in step)
    hits = [at for at in (brief, *spread(len(steps), 4)) if hold_resumed(prepared, sealed_home, at)]
    assert len(hits) >= 4


@pytest.mark.deep
@pytest.mark.needs_linux
@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_killed_at_every_step_goes_on(prepared: Stage, sealed_home: Path, part: int) -> None:
    """Every step, in parts."""
    steps = range(1 + part, len(prepared.steps()) + 1, PARTS)
    ran(sealed_home)
    hits = [at for at in steps if hold_resumed(prepared, sealed_home, at)]
    print(f"{len(hits)} of {len(steps)} steps")
    assert len(hits) >= len(steps) - 2
