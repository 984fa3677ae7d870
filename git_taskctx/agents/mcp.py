"""The verbs that an agent needs, as tools of an MCP server on stdin and stdout, for agents that run no commands.

A verb that only reads runs in this process, where all is loaded; one that writes, or does not succeed here, in one of
its own. So each says what the command line says. The server ends when its client closes the pipe, or is gone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from git_taskctx import __version__
from git_taskctx.errors import Fatal, Usage
from git_taskctx.model.values import dataclass

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

LONGEST = 24_000
"""Characters of an answer; what is more is left out, and said to be."""
_ROLE = {"type": "string", "description": "Agent in the chain, such as reviewer"}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}


@dataclass(frozen=True)
class _Tool:
    about: str
    words: tuple[str, ...]
    """The verb."""
    options: Mapping[str, tuple[str, Mapping[str, str]]]
    """By argument: the option, and its schema; a flag is given where it is true."""
    required: tuple[str, ...] = ()
    reads: bool = True


TOOLS = {
    "brief": _Tool(
        "Your brief: task, standards, checks, findings. Read it first.",
        ("get", "--format=md"),
        {"role": ("--role", _ROLE)},
        ("role",),
    ),
    "status": _Tool("Who owns the tree, what is blocking, what comes next.", ("status",), {}),
    "diff": _Tool(
        "What an agent changed; by default the last one.",
        ("diff",),
        {
            "role": ("--agent", _ROLE),
            "type": ("--type", {"type": "string", "description": "incremental (default) or from-base"}),
        },
    ),
    "verify": _Tool(
        "Is the tree as recorded? With start_as, also take it over as that agent: your turn begins.",
        ("verify",),
        {"start_as": ("--for", _ROLE)},
        reads=False,
    ),
    "snapshot": _Tool(
        "Record what you leave: your turn ends. done approves this tree.",
        ("snapshot",),
        {"role": ("--agent", _ROLE), "done": ("--done", _FLAG), "wip": ("--wip", _FLAG)},
        ("role",),
        reads=False,
    ),
    "finding": _Tool(
        "Block the chain with text, or close your own finding by its id.",
        ("block",),
        {"role": ("--agent", _ROLE), "text": ("--finding", _TEXT), "close": ("--finding", _TEXT)},
        ("role",),
        reads=False,
    ),
}


def schema_of(tool: _Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    properties = {name: dict(schema) for name, (_, schema) in tool.options.items()}
    needed = {"required": list(tool.required)} if tool.required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def argv_of(name: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command line of a call. Raises: Usage for arguments that make no sense."""
    tool = TOOLS.get(name)
    if tool is None:
        raise Usage(f"there is no tool {name!r}, only {', '.join(TOOLS)}")
    if unknown := given.keys() - tool.options.keys():
        raise Usage(f"{name} has no argument {min(unknown)!r}")
    if lacking := [one for one in tool.required if not given.get(one)]:
        raise Usage(f"{name} needs {lacking[0]}")
    words = list(tool.words)
    if name == "finding":
        if bool(given.get("text")) == bool(given.get("close")):
            raise Usage("finding needs text, or close with the id of a finding")
        words = ["unblock" if given.get("close") else "block"]
    for key, value in given.items():
        option, schema = tool.options[key]
        if not isinstance(value, bool if schema["type"] == "boolean" else str):
            raise Usage(f"{key} of {name} must be a {schema['type']}")
        if value:
            words.append(option if value is True else f"{option}={value}")
    return tuple(words)


def bounded(text: str) -> str:
    """Return an answer that no agent chokes on."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… ({len(text) - LONGEST} more characters are left out)\n"


def serve(read: Callable[[Sequence[str]], str | None]) -> None:
    """Serve until the client closes stdin. `read` runs a verb here, and returns None where it does not succeed.

    Raises: Fatal where the SDK is not installed.
    """
    try:
        import anyio
        from mcp.server import Server
        from mcp.server.stdio import stdio_server
        from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
    except ImportError as error:
        raise Fatal("the SDK of MCP is not installed", hint='pipx install "git-taskctx[mcp]"') from error

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=tool.about,
                    input_schema=schema_of(tool),
                    annotations=ToolAnnotations(read_only_hint=True) if tool.reads else None,
                )
                for name, tool in TOOLS.items()
            ]
        )

    one_at_a_time = anyio.CapacityLimiter(1)  # what a verb writes goes to sys.stdout

    async def call_tool(_: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        try:
            words = argv_of(asked.name, asked.arguments or {})
        except Usage as error:
            return CallToolResult(content=[TextContent(text=error.message)], is_error=True)
        if TOOLS[asked.name].reads:
            found = await anyio.to_thread.run_sync(read, words, limiter=one_at_a_time)
            if found is not None:
                return CallToolResult(content=[TextContent(text=bounded(found))])
        done = await anyio.run_process([sys.executable, "-m", "git_taskctx", *words], check=False)
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        return CallToolResult(content=[TextContent(text=bounded(said))], is_error=done.returncode != 0)

    server: Server[Any] = Server("git-taskctx", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:  # the client was killed while a call went on: nobody reads the answer
        pass
