"""The MCP server, asked by the SDK's own client, says what the command line says, and ends with its client."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from benchmarks.tokens import counter
from desk import Desk
from gitrepo import ROOT

from git_taskctx.agents import mcp as served
from git_taskctx.errors import Usage

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the SDK of MCP is not installed")
MOST_TOKENS = 600
OLD = "no task context is active here"


def talk(desk: Desk, use: Callable[[Any], Awaitable[None]], *, package: Path = ROOT) -> None:
    """Start the server as a client does, and use it."""
    import anyio  # here, as the SDK is: it takes seconds to import
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def run() -> None:
        env = desk.environment({"PYTHONPATH": os.fspath(package)})
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "git_taskctx", "mcp"], env=env, cwd=desk.repo.path
        )
        async with stdio_client(command) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            await use(session)

    anyio.run(run)


def test_a_turn(desk: Desk) -> None:
    """Brief, work, snapshot, handover, finding and its end: what a reviewer does without a single command.

    At most six tools, in at most 600 tokens, and those that only read say so; they answer in the server's process what
    a process of its own answers, in every state of the turn.
    """

    async def use(session: Any) -> None:
        async def say(name: str, **given: Any) -> tuple[bool, str]:
            answer = await session.call_tool(name, given)
            if name in reads and "verbose" not in given:
                typed = desk.process(*served.argv_of(name, given))
                said = served.bounded(typed.out + typed.err)
                assert (answer.is_error, answer.content[0].text) == (typed.code != 0, said)
            return answer.is_error, answer.content[0].text

        reads: list[str] = []

        found = [
            one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in (await session.list_tools()).tools
        ]
        assert [one["name"] for one in found] == list(served.TOOLS)
        assert len(found) <= 6
        assert counter()(json.dumps(found)) <= MOST_TOKENS
        reads += [one["name"] for one in found if one.get("annotations", {}).get("readOnlyHint")]
        assert reads == ["brief", "status", "diff"]
        assert "You own the tree" in (await say("brief", role="implementer"))[1]
        failed, text = await say("snapshot", role="implementer")
        assert not failed, text
        assert "+fixed" in (await say("diff"))[1]
        assert (await say("verify"))[1].startswith("worktree: matches\n")
        assert "reviewer owns the tree" in (await say("verify", start_as="reviewer"))[1]
        assert (await say("finding", role="reviewer", text="--not an option"))[1].startswith("F1 by reviewer: --not an")
        assert "F1 by reviewer" in (await say("status"))[1]
        assert (await say("finding", role="reviewer", close="F1"))[1].startswith("F1 closed, 0 open\n")
        desk.repo.write("notes.txt", "x\n" * 40_000)
        assert not (await say("snapshot", role="reviewer"))[0]
        text = (await say("diff", type="incremental"))[1]
        assert len(text) < served.LONGEST + 100
        assert text.endswith("more characters are left out)\n")
        desk.repo.write("notes.txt", "drift\n")
        failed, text = await say("verify")
        assert (failed, text.startswith("worktree: drifted\n")) == (True, True)
        assert "hint: git taskctx restore --agent reviewer" in text
        assert "drifted" in (await say("status"))[1]
        assert (await say("brief", role="-nobody"))[0]
        assert (await say("diff", role="validator"))[0]
        assert (await say("snapshot"))[1] == "snapshot needs role"
        assert (await say("snapshot", role=1))[1] == "role of snapshot must be a string"
        assert (await say("status", verbose=True))[1] == "status has no argument 'verbose'"
        assert (await say("finding", role="reviewer"))[1] == "finding needs text, or close with the id of a finding"

    desk.run("init", "TASK-1", "--title", "discount")
    desk.repo.write("parser.py", "fixed\n")
    talk(desk, use)


def test_another_version_is_installed_meanwhile(desk: Desk, tmp_path: Path) -> None:
    """What the server has loaded no longer answers: the new version does."""
    shutil.copytree(ROOT / "git_taskctx", tmp_path / "git_taskctx", ignore=shutil.ignore_patterns("__pycache__"))

    async def use(session: Any) -> None:
        before = (await session.call_tool("status", {})).content[0].text
        assert OLD in before
        for name in ("report/text.py", "__init__.py"):
            place = tmp_path / "git_taskctx" / name
            text = place.read_text()
            place.unlink()
            place.write_text(text.replace(OLD, "new words"))
        assert (await session.call_tool("status", {})).content[0].text == before.replace(OLD, "new words")

    talk(desk, use, package=tmp_path)


def test_it_ends_with_its_client(desk: Desk) -> None:
    """The SDK's client, killed in the middle of a call, leaves no server: nobody holds the client's stderr any more."""
    client = subprocess.Popen(
        [sys.executable, "-c", _KILLED], cwd=desk.repo.path, env=desk.environment(), stderr=subprocess.PIPE
    )
    assert client.stderr is not None
    said = client.stderr.read()  # until the server that inherited it has ended, too
    client.stderr.close()
    assert (client.wait(), said) == (-signal.SIGKILL, b"")


_KILLED = """
import os, signal, sys
import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def run():
    command = StdioServerParameters(command=sys.executable, args=["-m", "git_taskctx", "mcp"], env=dict(os.environ))
    async with stdio_client(command) as pipes, ClientSession(*pipes) as session, anyio.create_task_group() as group:
        await session.initialize()
        group.start_soon(session.call_tool, "status", {})
        await session.list_tools()  # answered while the call goes on
        os.kill(os.getpid(), signal.SIGKILL)

anyio.run(run)
"""


def test_without_the_sdk(desk: Desk) -> None:
    """One error with what to install."""
    script = "import sys; sys.modules['mcp'] = None; from git_taskctx.__main__ import main; sys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=desk.repo.path, env=desk.environment(), capture_output=True, check=False
    )
    said = 'error: the SDK of MCP is not installed\nhint: pipx install "git-taskctx[mcp]"\n'
    assert (done.returncode, done.stdout, os.fsdecode(done.stderr)) == (128, b"", said)


def test_a_tool_that_there_is_not() -> None:
    """It is refused by name."""
    with pytest.raises(Usage, match="there is no tool 'purge', only brief, status"):
        served.argv_of("purge", {})
