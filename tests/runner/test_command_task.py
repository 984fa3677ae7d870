"""Commands: their three keys, their output, and that nothing of them stays."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from git_taskctx.runner import BadValue, CommandTask, DagExecutor, Event, Task
from runner.kit import of_type, processes, run, states

PY = sys.executable


def script(name: str, code: str, **options: Any) -> CommandTask:
    """Return a command that runs some Python."""
    return CommandTask(name, [PY, "-c", code], **options)


def lives(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_three_keys_are_there_whatever_the_code(tmp_path: Path) -> None:
    """stdout and stderr as tail, size, sha256 and path of the whole; exit_code; after 0, 3 and a signal."""
    codes = {"ok": "pass", "three": "sys.exit(3)", "killed": "os.kill(os.getpid(), 9)"}
    tasks = [
        script(name, f"import os, sys; print('out'); print('err', file=sys.stderr); sys.stdout.flush(); {code}")
        for name, code in codes.items()
    ]
    result = run(*tasks, logs=tmp_path)
    assert states(result) == {"ok": "done", "three": "failed", "killed": "failed"}
    assert [result.store[f"{name}.exit_code"] for name in codes] == [0, 3, -signal.SIGKILL]
    for name in codes:
        for stream, text in (("stdout", "out\n"), ("stderr", "err\n")):
            value = result.store[f"{name}.{stream}"]
            assert (value["tail"], value["size"]) == (text, 4)
            assert value["sha256"] == hashlib.sha256(text.encode()).hexdigest()
            assert Path(value["path"]) == tmp_path / name / "1" / stream
            assert Path(value["path"]).read_text() == text
    errors = {name: status.error.message for name, status in result.status.items() if status.error}
    assert errors["three"].endswith("ended with 3")
    assert errors["killed"].endswith("was killed by SIGKILL")


def test_what_follows_reads_the_keys_of_a_command() -> None:
    """Of one that is done; and of one that failed, where it runs always."""
    seen: list[Any] = []
    run(
        CommandTask("a", ["sh", "-c", "echo hi; exit 1"]),
        Task("b", lambda ctx: seen.append(ctx.inputs["a.stdout"]["tail"]), after=["a"], always=True),
    )
    assert seen == ["hi\n"]


def test_without_a_folder_the_logs_are_in_a_temporary_one() -> None:
    """Which stays: the store names its files."""
    path = Path(run(CommandTask("a", ["echo", "hi"])).store["a.stdout"]["path"])
    assert path.read_text() == "hi\n"


def test_output_goes_out_as_events() -> None:
    """Whole, in order, by stream; and none of it stays in the result's events."""
    events: list[Event] = []
    result = run(script("a", "print('x' * 200_000)"), on_event=events.append)
    output = of_type(events, "output")
    assert "".join(event.data["text"] for event in output) == "x" * 200_000 + "\n"
    assert {event.data["stream"] for event in output} == {"stdout"}
    assert not of_type(result.events, "output")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_a_tail_keeps_whole_letters() -> None:
    """64 KiB of the end, valid text also where a letter would be cut; bytes that are no text are replaced."""
    result = run(
        script("a", "import sys; sys.stdout.buffer.write('€'.encode() * 50_000)"),
        script("b", "import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb')"),
    )
    assert result.store["a.stdout"]["tail"] == "€" * (64 * 1024 // 3)
    assert result.store["a.stdout"]["size"] == 150_000
    assert result.store["b.stdout"]["tail"] == "a\ufffd\ufffdb"


@pytest.mark.parametrize("blocks", [96, pytest.param(1024, marks=pytest.mark.deep)])
def test_a_flood_of_output_takes_no_memory(tmp_path: Path, blocks: int) -> None:
    """Of 96 MiB, or 1 GiB, on stdout all is in the file, and this process grows by less than 20 MB."""
    code = f"import os\nfor _ in range({blocks}):\n    b = b'x' * (1 << 20)\n    while b: b = b[os.write(1, b):]"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = run(script("flood", code), logs=tmp_path, on_event=lambda _: None)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    value = result.store["flood.stdout"]
    assert value["size"] == blocks << 20 == Path(value["path"]).stat().st_size
    assert len(value["tail"]) == 64 * 1024
    assert grown * 1024 < 20_000_000


STAYS = "import os, signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def pids(events: list[Event]) -> list[int]:
    """Return the process ids that a command printed."""
    return [int(word) for event in of_type(events, "output") for word in event.data["text"].split()]


@pytest.mark.parametrize("ignores", [False, True], ids=["ends at SIGTERM", "ignores SIGTERM"])
def test_cancelling_twice_ends_the_whole_group(ignores: bool) -> None:
    """The command, its child and grandchild are gone when run returns, also those that ignore SIGTERM."""
    sleeps = f"{STAYS if ignores else 'import time'}\ntime.sleep(600)"
    code = f"""{STAYS if ignores else "import os, subprocess, sys, time"}
child = subprocess.Popen([sys.executable, "-c", {sleeps!r}])
print(f"{{os.getpid()}} {{child.pid}}", flush=True)
time.sleep(600)"""
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if event.type == "output" and "\n" in event.data["text"]:
            executor.cancel()
            executor.cancel()

    executor = DagExecutor([script("a", code, grace=0.1)], on_event=listen)
    result = executor.run()
    assert states(result) == {"a": "cancelled"}
    assert [lives(pid) for pid in pids(events)] == [False, False]
    assert result.store["a.exit_code"] == (-signal.SIGKILL if ignores else -signal.SIGTERM)


def test_a_child_in_the_background_does_not_outlive_its_command() -> None:
    """A command that ends by itself leaves nothing of its group, though its child holds the pipe open."""
    events: list[Event] = []
    result = run(CommandTask("a", ["sh", "-c", "sleep 600 & echo $!"]), on_event=events.append)
    assert states(result) == {"a": "done"}
    assert [lives(pid) for pid in pids(events)] == [False]


def test_who_left_the_group_does_not_hold_the_run() -> None:
    """A child with a session of its own that keeps the pipe open is not waited for; it is the caller's to find."""
    events: list[Event] = []
    result = run(CommandTask("a", ["sh", "-c", "setsid sleep 600 & echo $!"]), on_event=events.append)
    assert states(result) == {"a": "done"}
    for pid in pids(events):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("limit", ["wall", "idle"])
def test_a_command_times_out(limit: str) -> None:
    """In all, or without output; what it wrote until then is kept."""
    code = "import time; print('begun', flush=True); time.sleep(600)"
    result = run(script("a", code, grace=0.1, **{limit: 0.5}), Task("b", lambda _: None, after=["a"]))
    assert states(result) == {"a": "timed out", "b": "skipped"}
    assert result.status["b"].why == "a timed out"
    assert result.store["a.exit_code"] == -signal.SIGTERM


def test_output_restarts_the_idle_time() -> None:
    """A command that writes more often than its idle limit, for longer than that, is done."""
    code = "import time\nfor _ in range(8): print(1, flush=True); time.sleep(0.25)"
    assert run(script("a", code, idle=1.5)).ok


def test_a_program_that_is_not_there_fails_the_task() -> None:
    """With its name; so does a folder that is not there."""
    result = run(CommandTask("a", ["no-such-program"]), CommandTask("b", ["true"], cwd="/no/such/folder"))
    errors = {name: status.error.message for name, status in result.status.items() if status.error}
    assert "no-such-program" in errors["a"]
    assert "/no/such/folder" in errors["b"]


@pytest.mark.parametrize("argv", ["echo hi", [], ["echo", 1]])
def test_argv_is_never_a_shell_line(argv: Any) -> None:
    """Only a list of strings is a command."""
    with pytest.raises(BadValue, match="list of strings"):
        CommandTask("a", argv)


def test_standard_input_is_empty_and_the_environment_is_what_is_given() -> None:
    """A command that reads its input sees the end at once."""
    code = "import os, sys; print(sys.stdin.read() + os.environ['ONLY'], len(os.environ) < 4)"
    result = run(script("a", code, env={"ONLY": "this"}))
    assert result.store["a.stdout"]["tail"] == "this True\n"


def test_a_full_disk_fails_the_task_and_leaves_no_process(tmp_path: Path) -> None:
    """The error is the machine's, and the process group is gone."""
    folder = tmp_path / "a" / "1"
    folder.mkdir(parents=True)
    (folder / "stdout").symlink_to("/dev/full")
    code = (
        "import os, sys, time; os.write(2, b'%d ' % os.getpid()); time.sleep(0.1); os.write(1, b'x'); time.sleep(600)"
    )
    events: list[Event] = []
    result = run(script("a", code), logs=tmp_path, on_event=events.append)
    assert result.status["a"].error is not None
    assert isinstance(result.status["a"].error.exception, OSError)
    assert result.status["a"].error.exception.errno == errno.ENOSPC
    assert [lives(pid) for pid in pids(events)] == [False]


def test_the_same_failure_has_the_same_signature_and_hash(tmp_path: Path) -> None:
    """Wherever its logs lie: a path is none of what a command found. Another output is another failure."""
    found = []
    for name, word in (("x", "a"), ("y", "a"), ("z", "b")):
        result = run(CommandTask("t", ["sh", "-c", 'echo "$0"; exit 1', word], definition={}), logs=tmp_path / name)
        assert result.status["t"].error is not None
        found.append((result.hashes["t"], result.status["t"].error.signature))
    assert found[0][0] == found[1][0] != found[2][0]
    assert found[0][1] == found[1][1] != found[2][1]


def test_commands_run_in_other_processes(tmp_path: Path) -> None:
    """With the same keys and hashes; what they wrote last arrives as events."""
    tasks = [CommandTask("a", ["sh", "-c", "echo hi"]), CommandTask("b", ["sh", "-c", "exit 2"], after=["a"])]
    events: list[Event] = []
    with processes(1) as pool:
        there = DagExecutor(tasks, pool, events.append, logs=tmp_path).run()
    here = run(*tasks, logs=tmp_path)
    assert (dict(there.store), there.hashes, there.status) == (dict(here.store), here.hashes, here.status)
    assert [event.data["text"] for event in of_type(events, "output")] == ["hi\n"]


def test_a_command_in_another_process_is_ended_too(temporary_folder: Path) -> None:
    """Cancelling twice reaches it there; nothing of it, and no file of ours, stays."""
    code = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
    path = Path("pid").resolve()
    os.mkfifo(path)
    with processes(1) as pool:
        executor = DagExecutor([CommandTask("a", [PY, "-c", code, os.fspath(path)], grace=0.1)], pool)
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(executor.run()))
        thread.start()
        pid = int(path.read_text())
        executor.cancel()
        executor.cancel()
        thread.join()
    assert states(results[0]) == {"a": "cancelled"}
    assert not lives(pid)
    assert list(temporary_folder.glob("taskctx-run-*")) == []
