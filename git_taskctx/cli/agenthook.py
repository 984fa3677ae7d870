"""Fast path of the agents' hooks, before other imports: agents call it at every tool call."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from git_taskctx.limits import PAYLOAD_LIMIT, PIECE, SETTINGS_LIMIT

TYPE_CHECKING = False  # typing itself would cost more than all that is done here
if TYPE_CHECKING:
    from datetime import datetime

_OPTIONS = ("--agent", "--role")
_AGENTS = ("claude", "codex", "gemini", "cursor")
_STOPS = ("stop", "subagentstop", "afteragent")
"""The agents' names of events that require a recorded worktree."""


def run_plainly(argv: Sequence[str]) -> int | None:
    """Run a plain `agent-hook` line; None for any other."""
    given: dict[str, str] = {}
    events = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name in _OPTIONS and name not in given:
            given[name] = value if equals else next(words, "-")
        else:
            events.append(word)
    if (
        len(events) != 1
        or given.get("--agent") not in _AGENTS
        or any(one.startswith("-") for one in (*events, *given.values()))
    ):
        return None
    return run_hook(events[0], given["--agent"], given.get("--role") or None)


def run_hook(event: str, agent: str, role: str | None) -> int:
    """Answer one hook call on stdout. Returns 0 always: our faults stop no agent."""
    try:
        from git_taskctx.agents import payload

        folder = os.getcwd()  # noqa: PTH109 - no pathlib here
        sent: payload.HookPayload | payload.Unreadable
        try:
            sent = payload.read(_read_stdin(), folder)
        except payload.Unreadable as error:
            sent = error
        if isinstance(sent, payload.HookPayload) and sent.is_idle:
            return 0
        concerned = _find_concerned(sent, folder)
        if concerned is None or (agent == "claude" and _is_second(event)):
            return 0
        _begin(concerned, scan=event.lower() in _STOPS)
        from git_taskctx.lean import load_pathlib

        load_pathlib()
        from git_taskctx.agents.answer import answer

        said = answer(event, agent, role, sent, folder=folder, environ=os.environ, clock=_now)
        if said.note:
            _note(said.note)
        if said.document is not None:
            sys.stdout.write(json.dumps(said.document) + "\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise
    except BrokenPipeError:  # whoever asked is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except BaseException as error:
        first = (str(error) or type(error).__name__).split("\n", 1)[0]
        _note(f"agent-hook {event} could not answer: {first}")
    return 0


def _is_second(event: str) -> bool:
    """Return whether this is Claude Code's plug-in where `agent-setup` added the same hook to the project.

    Claude Code names the plug-in's folder and the project's in the hook's environment, and runs both hooks.
    """
    project = os.environ.get("CLAUDE_PROJECT_DIR")
    if not project or "CLAUDE_PLUGIN_ROOT" not in os.environ:
        return False
    try:
        with open(f"{project}/.claude/settings.json", "rb") as file:  # noqa: PTH123 - no pathlib here
            return f"git taskctx agent-hook {event} --agent claude".encode() in file.read(SETTINGS_LIMIT)
    except OSError:
        return False


def _now() -> datetime:
    """Return the time; the clock takes long to load and is seldom needed."""
    from git_taskctx.cli.call import now

    return now()


def _note(text: str) -> None:
    """Write one line to stderr, if it is open."""
    if sys.stderr is not None:
        sys.stderr.write(f"git-taskctx: {ascii(text)[1:-1]}\n")


def _read_stdin() -> bytes:
    """Read all of stdin, so that the writer gets no closed pipe, keeping the beginning; None from a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return sys.stdin.read().encode("utf-8", "surrogatepass")
    data = bytearray()
    while chunk := stream.read(PIECE):
        if len(data) <= PAYLOAD_LIMIT:  # a longer one is refused whole
            data += chunk
    return bytes(data)


def _begin(worktree: tuple[str, str], *, scan: bool) -> None:
    """Let git answer the first questions while we load modules, with `scan` also about the worktree."""
    from git_taskctx.agents.here import FOLDER, refs_of
    from git_taskctx.git import ahead

    top, git_dir = worktree
    environ = {name: value for name, value in os.environ.items() if name not in ahead.PLACES}
    lock = f"{top}/{FOLDER}/.context_store.lock" if scan else None
    ahead.begin(top, environ, worktree, settings=scan, scan=lock, refs=refs_of(git_dir))


def _find_concerned(sent: object, folder: str) -> tuple[str, str] | None:
    """Return the worktree and git dir that may have a context: where a call comes from or writes."""
    from git_taskctx.agents.here import begins_in, find_worktree, is_active, places_of
    from git_taskctx.agents.payload import HookPayload

    def found_from(place: str) -> tuple[str, str] | None:
        try:
            return find_worktree(place)
        except ValueError:  # no path at all
            return None

    folders = {folder}
    if isinstance(sent, HookPayload):
        folders.add(sent.cwd)
        for path in (*sent.paths, *sent.roots):
            try:
                places = places_of(path, sent.cwd)
            except ValueError:
                folders.add(begins_in(path, sent.cwd))
                continue
            folders |= {*map(os.path.dirname, places), *(places if sent.served is not None else ())}
    return next((found for found in map(found_from, sorted(folders)) if found is not None and is_active(*found)), None)
