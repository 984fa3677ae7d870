"""`--deep`: more is found, what was clean is not searched again, and a terminal sees how far it is."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from desk import Desk

from git_taskctx.model.progress import Progress
from git_taskctx.report.progress import LEAST, Bar

SECRET = "SG" + "." + "q7ZkU2m9XwB4t8RdNpL3vY" + "." + "q7ZkU2m9XwB4t8RdNpL3vYc6HsGfJ1aE0iQoT5eWuK7"
ZERO = "0" * 40
WORDS = b"the quick brown fox jumps over the lazy dog and reads 0123456789 lines\n"


def memory(desk: Desk) -> list[Path]:
    """Return the files in which clean blobs are remembered."""
    return sorted((desk.repo.git_dir() / "taskctx").glob("clean-*"))


def test_a_deep_snapshot_finds_more(begun: Desk) -> None:
    """The everyday snapshot passes; a deep one refuses, looks at all since the base, and never prints it."""
    begun.repo.write("mail.py", f"key = x({SECRET})\n")
    begun.ok("snapshot", "--agent", "implementer")
    begun.repo.write("more.py", "clean\n")
    begun.ok("start", "--agent", "implementer")
    said = begun.refuses("snapshot", "--agent", "implementer", "--deep")
    assert said.startswith("error: found what looks like a secret:\n  mail.py:1: SendGrid API Key\n")
    assert SECRET not in said
    begun.repo.write("mail.py", f"key = x({SECRET})  # taskctx: allow-secret\n")
    begun.ok("snapshot", "--agent", "implementer", "--deep")


def test_every_door_has_it(desk: Desk, tmp_path: Path) -> None:
    """init, attach and record-qa search deep as well, for what they are about to record."""
    desk.repo.write("mail.py", f"key = x({SECRET})\n")
    assert "mail.py:1: SendGrid API Key" in desk.refuses("init", "TASK-1", "--title", "Mend the parser", "--deep")
    desk.init()
    log = tmp_path / "qa.log"
    log.write_text(f"one\nsent with {SECRET}\n3 passed in 0.10s\n")
    for verb in (
        ("attach", os.fspath(log), "--type", "other"),
        ("record-qa", "--agent", "implementer", "--from", os.fspath(log)),
    ):
        assert f"{log}:2: SendGrid API Key" in desk.refuses(*verb, "--deep")
        desk.ok(*verb)
    assert (
        "recorded by force: SendGrid API Key"
        in desk.ok("attach", os.fspath(log), "--type", "summary", "--deep", "--force-secrets").err
    )


def test_what_was_clean_is_not_searched_again(begun: Desk) -> None:
    """Clean blobs are remembered, also where a hit elsewhere refuses; that is believed until it is gone."""
    begun.repo.write("large.bin", b"\0" + WORDS)
    begun.repo.write("clean.txt", WORDS)
    begun.repo.write("mail.py", f"key = x({SECRET})\n")
    begun.refuses("snapshot", "--agent", "implementer", "--deep")
    (one,) = memory(begun)
    blobs = {name: begun.repo.git("hash-object", name) for name in ("large.bin", "clean.txt", "mail.py")}
    assert set(one.read_text().split()) == {f"{ZERO}..{blobs[name]}" for name in ("large.bin", "clean.txt")}
    one.write_text(one.read_text() + f"{ZERO}..{blobs['mail.py']}\n")
    begun.ok("snapshot", "--agent", "implementer", "--deep")
    one.unlink()
    begun.ok("start", "--agent", "implementer")
    begun.refuses("snapshot", "--agent", "implementer", "--deep")


def test_the_everyday_scan_remembers_what_is_large(begun: Desk) -> None:
    """From 64 KiB on; below that a look into the memory would take longer than the scan."""
    begun.repo.write("small.txt", WORDS * 10)
    begun.ok("snapshot", "--agent", "implementer")
    assert memory(begun) == []
    begun.repo.write("large.txt", WORDS * 2_000)
    begun.ok("snapshot", "--agent", "implementer")
    (one,) = memory(begun)
    assert one.read_text() == f"{ZERO}..{begun.repo.git('hash-object', 'large.txt')}\n"
    assert one.stat().st_mode & 0o777 == 0o600


def test_without_the_library_it_is_said(begun: Desk, tmp_path: Path) -> None:
    """128 with what to type, and nothing is recorded; without --deep all goes on."""
    (tmp_path / "detect_secrets.py").write_text("raise ImportError('not here')\n")
    begun.repo.write("parser.py", "mended\n")
    path = os.pathsep.join((os.fspath(tmp_path), begun.environment()["PYTHONPATH"]))
    said = begun.process("snapshot", "--agent", "implementer", "--deep", env={"PYTHONPATH": path})
    assert (said.code, said.err) == (
        128,
        "error: a deep scan needs detect-secrets, which is not installed\n"
        "hint: pip install detect-secrets   # beside git-taskctx; without --deep our own patterns are used\n",
    )
    assert begun.records("snapshot") == []
    assert begun.process("snapshot", "--agent", "implementer", env={"PYTHONPATH": path}).code == 0


# How far it is.


class Terminal(io.StringIO):
    """What was drawn."""

    def isatty(self) -> bool:
        return True


def test_the_line_is_drawn_over_itself_and_wiped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small work draws nothing, nor does the same percentage; what is given up is wiped out too."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    bar = Bar(terminal, colour=False)
    total = 10 * 1024 * 1024
    bar.show(Progress("looking for secrets", 10, 1000))
    assert terminal.getvalue() == ""
    bar.show(Progress("asking origin for records", 0, -1))
    assert terminal.getvalue() == "asking origin for records …\n"
    for done in (0, total // 2, total // 2 + 1):
        bar.show(Progress("looking for secrets", done, total))
    drawn = terminal.getvalue()
    assert list(dict.fromkeys(re.findall(r"(\d+)% (\S+ MiB)", drawn))) == [
        ("0", "0.0/10.0 MiB"),
        ("50", "5.0/10.0 MiB"),
    ]
    bar.show(Progress("looking for secrets", 1, total))
    bar.close()
    bar.close()
    assert terminal.getvalue().endswith("\x1b[1A\x1b[2K")


def test_a_terminal_sees_how_far_it_is(begun: Desk) -> None:
    """More than four megabytes on a real terminal: the percentage goes up, and the line goes; a pipe sees nothing."""
    large = WORDS * (LEAST // len(WORDS) + 1)
    begun.repo.write("large.txt", large)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "git_taskctx", "snapshot", "--agent", "implementer", "--deep"]
    process = subprocess.Popen(
        command,
        cwd=begun.repo.path,
        env={**begun.environment(), "NO_COLOR": "1", "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # nobody holds the other end any more
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    process.communicate()
    assert process.returncode == 0
    numbers = [int(number) for number in re.findall(rb"looking for secrets[^%]* (\d+)%", drawn)]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) >= 5
    assert re.search(rb"\x1b\[2K(warning|hint)", drawn)
    begun.repo.write("large.txt", large + b"more\n")
    assert "looking for secrets" not in begun.process("snapshot", "--agent", "implementer", "--deep").both
