"""What one system lacks, with its way round; what Windows says at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from gitrepo import ROOT

from git_taskctx import system


@pytest.fixture(params=["/proc", "/nowhere"], ids=["proc", "ps"])
def _shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes as /proc shows them, and as ps does where there is none."""
    if not os.path.isdir("/proc/self") and request.param == "/proc":  # noqa: PTH112
        pytest.skip("there is no /proc")
    monkeypatch.setattr(system, "PROC", request.param)


@pytest.mark.usefixtures("_shown")
def test_processes_are_found() -> None:
    """A child is known by its parent, with its words and an age that is not too high; one that is gone is not."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert system.parents()[child.pid] == os.getpid()
            found = system.process(child.pid)
            assert found is not None
            assert (found.parent, found.words) == (os.getpid(), [b"sleep", b"60"])
            assert found.age < 60
        finally:
            child.kill()
    assert system.process(child.pid) is None
    assert child.pid not in system.parents()


@pytest.mark.needs_linux
def test_a_variable_of_another_process() -> None:
    """What a process inherited is seen, from its beginning alone."""
    with subprocess.Popen(["sleep", "60"], env={"TASKCTX_RUN": "c/1/stage", "PATH": os.environ["PATH"]}) as child:
        try:
            while not Path(f"/proc/{child.pid}/environ").read_bytes():
                pass  # exec(2) has begun, and the environment is not there yet
            assert system.has_variable(child.pid, b"TASKCTX_RUN=c/1/")
            assert not system.has_variable(child.pid, b"RUN=c/1/")
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("elapsed", "seconds"), [(b"00:00", 0), (b"01:02", 62), (b"01:00:01", 3601), (b"2-00:00:03", 172803)]
)
def test_ages(elapsed: bytes, seconds: float) -> None:
    """Every form of etime that POSIX has."""
    assert system._seconds(elapsed) == seconds


@pytest.mark.parametrize(("words", "code"), [("status", 128), ("", 128), ("hook pre-commit", 0), ("agent-hook x", 0)])
def test_windows_is_told_at_once(words: str, code: int) -> None:
    """One sentence, and no traceback of a module that is not there; git and agents are not stopped."""
    script = (
        "import sys; sys.platform = 'win32'; sys.modules['fcntl'] = None\n"
        "from git_taskctx.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "error: git-taskctx does not run on Windows itself; run it in WSL (wsl --install)\n"


@pytest.mark.usefixtures("_shown")
def test_what_is_below_a_process() -> None:
    """Its children and theirs, with and without the kernel's list of children."""
    words = ["sh", "-c", "sleep 60 & echo $!; wait"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0) as child:
        try:
            assert child.stdout is not None
            inner = int(child.stdout.readline())
            assert {child.pid, inner} <= system.below(os.getpid())
            assert system.below(child.pid) == {inner}
        finally:
            os.killpg(child.pid, signal.SIGKILL)
