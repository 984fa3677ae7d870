"""Stages that misbehave, and runs that are killed: nothing is left, nothing is lost, nothing runs twice."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk import TASK
from scripted import Line, answer, script

Stages = Callable[..., dict[str, dict[str, Any]]]


def until(condition: Callable[[], object], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait for something that a process brings about."""
    for _ in range(6000):
        if condition():
            return
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


LEAVES = (
    "pid = subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(15, 1); time.sleep(600)'], "
    "start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL{env}).pid; "
    "open('{place}', 'w').write(str(pid)); "
)


@pytest.mark.needs_linux
@pytest.mark.parametrize("leaves", ["", ", env={}", "fork"], ids=["with our variables", "without any", "a fork"])
def test_nothing_outlives_a_stage(line: Line, three: Stages, tmp_path: Path, leaves: str) -> None:
    """What left the process group, and the environment too, is ended with the run; so is a fork that stayed."""
    place = tmp_path / "pid"
    forks = f"os.fork() or (open({os.fspath(place)!r}, 'w').write(str(os.getpid())), os.close(1), time.sleep(600))"
    waits = f"[time.sleep(0.01) for _ in iter(lambda: os.path.exists({os.fspath(place)!r}), True)]"
    code = f"{forks}; {waits}" if leaves == "fork" else LEAVES.format(place=place, env=leaves)
    line.begin_task(three(test=script(code)))
    done = line.process("run")
    assert done.code == 0, done.both
    assert not alive(int(place.read_text()))


def test_a_stage_that_hangs_is_ended(line: Line, three: Stages) -> None:
    """Silent for its limit, and deaf to SIGTERM: it timed out, and what comes after it is left out."""
    stages = three(test=script("signal.signal(15, signal.SIG_IGN); time.sleep(600)"))
    stages["test"]["limit"] = {"idle": "1s"}
    line.begin_task(stages)
    events = line.carry(1)
    assert line.states(events) == ["implement done", "test timed out", "review skipped", "validate skipped"]


@pytest.mark.needs_linux
def test_a_flood_is_kept_whole_and_held_nowhere(
    line: Line, three: Stages, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of 64 MiB of output, or 1 GiB, the file has all, the event of the end a tail, and the runner no more of it."""
    length, peaks = tmp_path / "length", []
    line.begin_task(three(test=["sh", "-c", f"head -c $(cat {length}) /dev/zero"]))
    for run, size in enumerate((1024, 1 << (30 if request.config.getoption("--deep") else 26)), 1):
        length.write_text(str(size))
        process = line.begin("run", "--from", "test" if run > 1 else "implement")
        out, err = (stream.read() for stream in (process.stdout, process.stderr) if stream is not None)
        _, process.returncode, used = os.wait4(process.pid, 0)
        process.communicate()
        assert process.returncode == 0, (out, err)
        peaks.append(used.ru_maxrss // 1024)
        assert (line.folder("test", run=run) / "stdout").stat().st_size == size
        events = line.repo.at(f".agent-output/tasks/{TASK}/runs/{run}/events.jsonl")
        assert events.stat().st_size < 2 * 1024 * 1024
    assert peaks[1] - peaks[0] < 24


@pytest.mark.parametrize("apart", [False, True], ids=["in the worktree", "in trees of their own"])
def test_a_full_disk_fails_a_stage_and_loses_nothing(line: Line, three: Stages, apart: bool) -> None:
    """No file may grow beyond a limit: what could not be written fails, and goes on once there is room."""
    stages = three(test=["head", "-c", "6000000", "/dev/zero"])
    if apart:
        stages["test"]["tree"] = "own"
    line.begin_task(stages)
    verb = shlex.join([sys.executable, "-m", "git_taskctx", "run"])
    done = line.typed(f"ulimit -f 4096; {verb}")
    assert (done.code, "test              failed" in done.out, "too large" in done.both) == (1, True, True), done.both
    assert line.states(line.carry(0, "--resume"))[:2] == ["implement known", "test done"]


@pytest.mark.needs_linux
def test_a_stage_that_is_killed_fails(line: Line, three: Stages) -> None:
    """As by the kernel when memory is short: it says by which signal."""
    line.begin_task(three(test=script("os.kill(os.getpid(), signal.SIGKILL)")))
    events = line.carry(1)
    assert "was killed by SIGKILL" in next(one["why"] for one in events if one.get("stage") == "test" and "why" in one)


@pytest.mark.needs_linux
def test_a_run_that_is_killed_again_and_again_comes_to_its_end(line: Line, sealed_home: Path) -> None:
    """Killed whenever an event was written: no stage that had ended runs again, and nothing is left."""
    adds = "open('{0}.txt', 'w').write('{0}')"
    approves = answer({"flags": {"approve": True}})
    line.begin_task({
        "api": {"agent": "implementer", "run": script(adds.format("api"))},
        "page": {"agent": "implementer", "run": script(adds.format("page"))},
        "test": {"after": ["api", "page"], "run": ["true"]},
        "review": {"agent": "reviewer", "after": ["test"], "run": script(approves)},
    }, "", "--agents", "implementer,reviewer")  # fmt: skip
    events = line.repo.at(f".agent-output/tasks/{TASK}/runs/1/events.jsonl")
    code, number = None, 0

    def count(kind: bytes) -> int:
        lines = events.read_bytes().splitlines() if events.exists() else []
        return sum(kind in one and b'"reused":true' not in one for one in lines)

    while code != 0 and number < 40:
        # When a stage starts, and the next time when one has ended, so that it comes further.
        kind, number = (b'"stage-started"', b'"stage-ended"')[number % 2], number + 1
        before = count(kind)
        process = line.begin("run", *(["--resume"] if events.exists() else []))
        while process.poll() is None and count(kind) == before:
            time.sleep(0.002)
        process.kill()
        process.communicate()
        code = process.returncode
    ended = [json.loads(one) for one in events.read_bytes().splitlines() if b'"stage-ended"' in one]
    ran = [one["stage"] for one in ended if one["state"] == "done" and not one.get("reused")]
    assert (code, sorted(ran)) == (0, ["api", "api+page", "page", "review", "test"])
    assert (line.repo.read("api.txt"), line.repo.read("page.txt")) == (b"api", b"page")
    assert list((sealed_home / ".cache/git-taskctx/trees").iterdir()) == []


def test_a_hostile_answer_fails_its_stage(line: Line, three: Stages) -> None:
    """A link in the place of the answer: nothing of it is taken, and no snapshot is made."""
    link = "os.symlink('/etc/passwd', os.environ['TASKCTX_RESPONSE'])"
    line.begin_task(three(implement=script(link)))
    events = line.carry(1)
    assert "cannot be read" in events[2]["why"]
    assert "snapshot" not in [one["type"] for one in line.records()]


def test_the_environment_is_what_is_allowed(line: Line, three: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are allowed, and ours; nothing of the caller's own agent, and standard input is empty."""
    for name in ("ALLOWED_ONE", "SECRET", "CLAUDECODE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, "set" if name != "GIT_INDEX_FILE" else os.fspath(line.repo.at(".git/index")))
    shows = script("print(sorted(os.environ), sys.stdin.read() == '', os.access(os.environ['TASK_CONTEXT_PATH'], 2))")
    line.begin_task(three(review=shows), '[run]\nenv = ["PATH", "ALLOWED_*", "CLAUDE*", "GIT_*"]\n')
    line.carry(0)
    names, empty, _ = (line.folder("review") / "stdout").read_text().rsplit(" ", 2)
    seen = set(names.strip("[]").replace("'", "").split(", ")) - {"LC_CTYPE"}
    ours = {"GIT_TASKCTX_TASK", "GIT_TASKCTX_AGENT", "GIT_TASKCTX_STAGE", "TASK_CONTEXT_PATH", "TASKCTX_RESPONSE"}
    assert ours | {"TRACEPARENT", "TASKCTX_PORT", "TASKCTX_RUN", "PATH", "ALLOWED_ONE"} <= seen
    assert not seen & {"SECRET", "CLAUDECODE", "GIT_INDEX_FILE"}
    assert (empty, (line.folder("review") / "brief.md").stat().st_mode & 0o222) == ("True", 0)


@pytest.mark.needs_linux
def test_a_killed_run_goes_on(line: Line, three: Stages, tmp_path: Path) -> None:
    """What had ended does not run again; what ran is ended, and runs anew; its checks are on record."""
    place, count = tmp_path / "pid", tmp_path / "count"
    counts = f"open({os.fspath(count)!r}, 'a').write('x'); open('a.txt', 'a').write('work\\n')"
    waits = f"p = pathlib.Path({os.fspath(place)!r}); first = not p.exists(); p.write_text(str(os.getpid())); "
    line.begin_task(three(implement=script(counts), review=script(f"{waits} time.sleep(600 * first)")))
    process = line.begin("run")
    until(lambda: place.exists() and place.read_text(), process)
    first = int(place.read_text())
    process.kill()
    process.communicate()
    states = line.states(line.carry(0, "--resume"))
    assert states == ["implement known", "test known", "review done", "validate done"]
    assert (count.read_text(), alive(first)) == ("x", False)
    assert [one["type"] for one in line.records()].count("qa") == 1


def test_a_torn_line_loses_no_other(line: Line, three: Stages) -> None:
    """A kill in the middle of a write: the stage whose end is torn is known from the ledger, and nothing runs again."""
    line.begin_task(three())
    line.carry(0)
    events = line.repo.at(".agent-output/tasks/TASK-1/runs/1/events.jsonl")
    lines = events.read_bytes().splitlines(keepends=True)
    torn = next(at for at, one in enumerate(lines) if b'"stage-ended","stage":"implement"' in one)
    events.write_bytes(b"".join(lines[:torn]) + lines[torn][:40])
    assert line.states(line.carry(0, "--resume"))[0] == "implement known"
    assert events.read_bytes().endswith(b"\n")


def test_an_approval_is_known_from_the_ledger(line: Line, three: Stages) -> None:
    """A kill between the record of an approval and the event of it: nobody is asked twice."""
    stages = three()
    stages["validate"]["ask"] = "Fine?"
    line.begin_task(stages)
    line.carry(3)
    line.carry(0, "--approve", "validate")
    events = line.repo.at(".agent-output/tasks/TASK-1/runs/1/events.jsonl")
    lines = events.read_bytes().splitlines(keepends=True)
    last = max(at for at, one in enumerate(lines) if b'"gate":true' in one)
    events.write_bytes(b"".join(lines[:last]))
    assert line.states(line.carry(0, "--resume"))[-1] == "validate? known"


def test_ctrl_c_once_lets_stages_end(line: Line, three: Stages, tmp_path: Path) -> None:
    """The stage that runs ends by itself; nothing new starts; `--resume` goes on."""
    place = tmp_path / "go"
    waits = (
        f"p = pathlib.Path({os.fspath(place)!r}); p.write_text('1'); [time.sleep(0.01) for _ in iter(p.exists, False)]"
    )
    line.begin_task(three(implement=script(f"open('a.txt', 'a').write('x'); {waits}")))
    process = line.begin("run")
    until(place.exists, process)
    process.send_signal(signal.SIGINT)
    place.unlink()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, b"git taskctx run --resume" in err) == (130, True), (out, err)
    assert line.states(line.carry(0, "--resume"))[0] == "implement known"


@pytest.mark.needs_linux
def test_ctrl_c_twice_ends_them(line: Line, three: Stages, tmp_path: Path) -> None:
    """The stage that runs is ended, and the run with it."""
    place = tmp_path / "pid"
    line.begin_task(
        three(implement=script(f"open({os.fspath(place)!r}, 'w').write(str(os.getpid())); time.sleep(600)"))
    )
    process = line.begin("run")
    until(lambda: place.exists() and place.read_text(), process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert (process.returncode, alive(int(place.read_text()))) == (130, False)


def test_a_stage_may_stop_without_a_snapshot(line: Line, three: Stages) -> None:
    """The hook of a coding agent that asks for a snapshot says nothing in a stage: `run` records it."""
    stop = [sys.executable, "-m", "git_taskctx", "agent-hook", "Stop", "--agent", "claude"]
    says = (
        f"said = subprocess.run({stop!r}, input=json.dumps({{'cwd': os.getcwd()}}), text=True, capture_output=True); "
    )
    works = f"open('a.txt', 'a').write('x'); {says} print([said.returncode, said.stdout, said.stderr])"
    line.begin_task(three(implement=script(works)), '[run]\nenv = ["PATH", "HOME", "PYTHONPATH"]\n')
    assert line.process("run").code == 0
    assert line.ok("run", "--log", "implement").out == "[0, '', '']\n"


def test_only_one_run_at_a_time(line: Line, three: Stages) -> None:
    """A run inside a stage of the same task is refused, and leaves no run behind."""
    nested = [sys.executable, "-m", "git_taskctx", "run"]
    line.begin_task(three(implement=script(f"sys.exit(subprocess.run({nested!r}).returncode)")),
                    '[run]\nenv = ["PATH", "HOME", "PYTHONPATH"]\n')  # fmt: skip
    done = line.process("run")
    assert done.code == 1
    assert "a run of TASK-1 is going on" in line.ok("run", "--log", "implement").out
    assert not line.repo.at(".agent-output/tasks/TASK-1/runs/2").exists()


def test_a_late_answer_is_none(line: Line, three: Stages) -> None:
    """What is written once the process has ended is not read: its group is ended with it."""
    late = f"import time, os; time.sleep(0.5); {answer({'flags': {'approve': False}})}"
    line.begin_task(three(review=script(f"subprocess.Popen([sys.executable, '-c', {late!r}])")))
    line.carry(0)
