"""Checks on a cluster of dask: a real scheduler, and two workers with clones of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from desk import TASK
from gitrepo import ROOT
from scripted import Line, script
from test_faults import alive, until

Stages = Callable[..., dict[str, dict[str, Any]]]
pytestmark = pytest.mark.slow
REMOTE = '[run]\nremote = "origin"\n'


@dataclass
class Cluster:
    """A scheduler and two workers."""

    url: str
    workers: dict[int, Path]
    """The cache folder of each, by its process."""

    def left(self) -> list[Path]:
        """Return what lies where the trees of stages are made."""
        return [one for cache in self.workers.values() for one in cache.glob("git-taskctx/trees/*")]


@pytest.fixture
def cluster(line: Line, tmp_path: Path) -> Iterator[Cluster]:
    """Start it, and end it; the worktree gets a remote that all of them reach."""
    hub = tmp_path / "hub.git"
    line.repo.git("init", "-q", "--bare", os.fspath(hub))
    line.repo.git("remote", "add", "origin", os.fspath(hub))
    started = list[subprocess.Popen[bytes]]()

    def begin(*words: str, **more: str) -> int:
        folder = tmp_path / f"dask{len(started)}"
        folder.mkdir()
        environ = {
            **os.environ,
            "PYTHONPATH": os.fspath(ROOT),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
            **more,
        }
        with (folder / "log").open("wb") as log:
            started.append(subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=folder, env=environ,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log))  # fmt: skip
        return started[-1].pid

    said = tmp_path / "scheduler.json"
    begin("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", os.fspath(said))
    try:
        until(lambda: said.exists() and said.read_bytes().rstrip().endswith(b"}"), started[0])
        address = json.loads(said.read_text())["address"]
        workers = dict[int, Path]()
        for name in ("one", "two"):
            cache = tmp_path / f"cache-{name}"
            words = ("--no-nanny", "--nthreads", "2", "--no-dashboard", "--host", "127.0.0.1", "--name", name)
            workers[begin("worker", address, *words, XDG_CACHE_HOME=os.fspath(cache))] = cache
        yield Cluster(address.replace("tcp://", "dask://"), workers)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def carry(line: Line, code: int, *words: str) -> list[dict[str, Any]]:
    """Run in a process of its own; return the events of its journal."""
    process = line.begin("run", *words)
    out, err = process.communicate()
    assert process.returncode == code, (out, err)
    events = line.repo.at(f".agent-output/tasks/{TASK}/runs/1/events.jsonl")
    return [json.loads(one) for one in events.read_bytes().splitlines()]


@pytest.mark.needs_dask
@pytest.mark.needs_linux
def test_checks_run_on_workers(line: Line, three: Stages, cluster: Cluster) -> None:
    """Each on the snapshot, with its file that no commit has; code and log are on record, and nothing stays there."""
    looks = "print(open('a.txt').read(), os.getppid()); print('why', file=sys.stderr); open('new', 'w'); "
    stages = three(test=script(looks + "sys.exit(3)"))
    stages["lint"] = {"after": ["implement"], "run": script(looks)}
    stages["review"]["after"] = ["lint", "test"]
    line.begin_task(stages, REMOTE)
    events = carry(line, 1, "--keep-going", "--executor", cluster.url)
    states = {one["stage"]: one["state"] for one in events if one["type"] == "stage-ended"}
    assert states == {"implement": "done", "lint": "done", "test": "failed", "review": "skipped", "validate": "skipped"}
    checks = {one["stage"]["stage"]: one for one in line.records() if one["type"] == "qa"}
    assert {name: one["run"]["exit_code"] for name, one in checks.items()} == {"lint": 0, "test": 3}
    tree = next(one["tree"] for one in line.records() if one["type"] == "snapshot")
    assert {one["tree"] for one in checks.values()} == {tree}
    for name in checks:
        work, parent, why = line.ok("run", "--log", name).out.split()
        assert (work, int(parent) in cluster.workers, why) == ("work", True, "why")
    assert (cluster.left(), line.repo.at("new").exists()) == ([], False)


@pytest.mark.needs_dask
@pytest.mark.needs_linux
def test_a_worker_that_is_killed_runs_no_stage_twice_unseen(
    line: Line, three: Stages, cluster: Cluster, tmp_path: Path
) -> None:
    """In the middle of a check: the other worker runs it as another attempt, and the run says so."""
    waits = (
        f"open({os.fspath(tmp_path)!r} + f'/began-{{os.getppid()}}-{{os.getpid()}}', 'w'); "
        f"[time.sleep(0.01) for _ in iter(lambda: os.path.exists({os.fspath(tmp_path / 'go')!r}), True)]"
    )
    line.begin_task(three(test=script(waits)), REMOTE)
    process = line.begin("run", "--executor", cluster.url)
    until(lambda: list(tmp_path.glob("began-*")), process)
    began = next(tmp_path.glob("began-*"))
    worker, check = map(int, began.name.split("-")[1:])
    os.kill(worker, signal.SIGKILL)
    until(lambda: len(list(tmp_path.glob("began-*"))) == 2, process)
    assert not alive(check)
    (tmp_path / "go").touch()
    out, err = process.communicate()
    assert process.returncode == 0, (out, err)
    parents = {int(one.name.split("-")[1]) for one in tmp_path.glob("began-*")}
    assert parents == set(cluster.workers)
    assert b"attempt 2" in out
    events = line.repo.at(f".agent-output/tasks/{TASK}/runs/1/events.jsonl").read_text()
    assert "test was lost with its worker" in events
    assert [one["stage"]["attempt"] for one in line.records() if one["type"] == "qa"] == [2]


@pytest.mark.needs_dask
@pytest.mark.needs_linux
def test_what_is_interrupted_ends_on_the_worker(line: Line, three: Stages, cluster: Cluster, tmp_path: Path) -> None:
    """Ctrl-C twice: the process there ends too, and its tree goes."""
    waits = f"open({os.fspath(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    line.begin_task(three(test=script(waits)), REMOTE)
    process = line.begin("run", "--executor", cluster.url)
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), process)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    out, err = process.communicate()
    assert process.returncode == 130, (out, err)
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not alive(pid) and not cluster.left())


@pytest.mark.needs_dask
def test_a_cluster_that_is_not_there_is_said_before_anything_starts(line: Line, three: Stages) -> None:
    """No address, no remote, no scheduler: one error each."""
    line.begin_task(three())
    assert "is not an executor" in line.ends(129, "run", "--executor", "http://here").err
    assert "run.remote" in line.ends(129, "run", "--executor", "dask://127.0.0.1:1").err
    assert line.ends(128, "run", "--log", "test").err
