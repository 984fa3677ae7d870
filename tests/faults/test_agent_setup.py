"""SIGKILL at any step of `agent-setup`: every file is the old one or the new one, and the next run finishes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from desk import Desk
from steps import Fault, Hook, run_steps
from tiers import some

BEFORE = {
    ".claude/settings.json": b'{\r\n\t"model": "m", // mine\r\n\t"hooks": {"Stop": []}\r\n}\r\n',
    "AGENTS.md": b"# Ours\r\nno end",
    "README": b"README\n",
    "parser.py": b"parser.py\n",
    "tool": b"tool\n",
}
MOST = 60
"""More steps than either takes; after the last one nothing is killed."""


def there(desk: Desk) -> dict[str, bytes]:
    """Return every file of the worktree."""
    top = desk.repo.path
    files = (path for path in top.rglob("*") if path.is_file() and ".git" not in path.relative_to(top).parts)
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("at", some(range(1, MOST), (2, 9, 20, 33)))
def test_killed(desk: Desk, tmp_path: Path, at: int) -> None:
    """Nothing of the user's is lost at any moment, nothing half-written is left for good, in either direction."""
    for name, data in BEFORE.items():
        desk.repo.write(name, data)
    desk.ok("agent-setup", "claude")
    after = there(desk)
    desk.ok("agent-setup", "claude", "--remove")
    assert there(desk) == BEFORE
    for options, old, new in (((), BEFORE, after), (("--remove",), after, BEFORE)):
        done = run_steps(Hook(), desk, "agent-setup", "claude", *options, record=tmp_path / "r", fault=Fault(at=at))
        assert done.said.code == (-signal.SIGKILL if done.hit else 0)
        left = {name: data for name, data in there(desk).items() if "/.tmp-" not in f"/{name}"}
        assert all(data in (old.get(name), new.get(name)) for name, data in left.items())
        assert old.keys() & new.keys() <= left.keys()
        desk.ok("agent-setup", "claude", *options)
        assert there(desk) == new
