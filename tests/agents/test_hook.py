"""What each agent is told at each of its events, in its own form: from payloads in the shapes that it sends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from callers import AGENTS, EVENTS, Hooked, reason_in

from git_taskctx.cli import call

NOBODY = """\
git taskctx: nobody is at work on TASK-1, so a write now would be drift
hint: git taskctx start --agent reviewer
hint: git taskctx start --agent implementer   # or to go on as implementer"""
OUTSIDE = """\
git taskctx: README: outside the scope of TASK-1 (src/, docs/*.md, tasks/)
hint: git taskctx block --agent implementer --finding "what has to change, and why"   # to hand the question on
hint: git taskctx rebuild   # once the task file's scope has been widened"""
OWN = "git taskctx: .agent-output/active: only git taskctx itself writes there\nhint: git taskctx status"
UNRECORDED = """\
git taskctx: implementer is at work on TASK-1, and its work is not recorded
hint: git taskctx snapshot --agent implementer   # when the work is finished
hint: git taskctx snapshot --agent implementer --wip   # when it goes on later"""


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_context_there_is_silence(hooked: Hooked, agent: str) -> None:
    """Where no task is active no hook says a word, before one began and after it was put away."""
    for _ in range(2):
        for event in EVENTS[agent].values():
            assert hooked.call(agent, event, hooked.payload(agent, event)) is None
        assert hooked.denied(agent, "README") is None
        hooked.begin()
        hooked.ok("purge")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_begins_with_the_brief(hooked: Hooked, agent: str) -> None:
    """The brief of who is at work, or of the role that the session has; it is what `get` says of it."""
    hooked.begin()
    event = EVENTS[agent]["begin"]
    payload = hooked.payload(agent, event, source="startup")
    brief = {role: hooked.ok("get", "--role", role, "--format", "md").out for role in ("implementer", "reviewer")}
    assert reason_in(hooked.call(agent, event, payload)) == brief["implementer"]
    assert reason_in(hooked.call(agent, event, payload, "--role", "reviewer")) == brief["reviewer"]


def test_a_plug_in_leaves_it_to_agent_setup(hooked: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code runs the plug-in's hooks beside the project's: where both have one, the plug-in's is silent."""
    hooked.begin()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(hooked.repo.path))
    payload = hooked.payload("claude", "SessionStart", source="startup")
    brief = hooked.call("claude", "SessionStart", payload)
    assert brief is not None
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", "/plugin")
    assert hooked.call("claude", "SessionStart", payload) == brief
    hooked.ok("agent-setup", "claude")
    assert hooked.call("claude", "SessionStart", payload) is None
    monkeypatch.delenv("CLAUDE_PLUGIN_ROOT")
    assert hooked.call("claude", "SessionStart", payload) == brief


def test_a_session_between_two_turns_is_told_what_comes_next(hooked: Hooked) -> None:
    """With nobody at work and no role, the task is told without a turn, and then the command to type."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    told = reason_in(hooked.call("claude", "SessionStart", hooked.payload("claude", "SessionStart", source="clear")))
    assert told == hooked.ok("get", "--format", "md").out + "\nnext: git taskctx start --agent reviewer\n"


def test_a_long_brief_is_cut(hooked: Hooked) -> None:
    """What is longer than the agents take is cut at a line, and says where the rest is."""
    hooked.ok("init", "TASK-1", "--title", "T", "--description", "line after line of it\n\n" * 80)
    context = hooked.ok("get", "--role", "implementer", "--format", "md").out
    hooked.ok("update", "--agent", "implementer", "--session-id", "s")
    told = reason_in(hooked.call("codex", "SessionStart", hooked.payload("codex", "SessionStart", source="startup")))
    assert told == context
    for number in range(8):
        hooked.ok("block", "--agent", "reviewer", "--finding", f"{number} {'words of it ' * 160}")
    told = reason_in(hooked.call("codex", "SessionStart", hooked.payload("codex", "SessionStart", source="resume")))
    assert len(told) < 10_000
    assert told.endswith("\n… the whole of it: git taskctx get --role implementer --format md\n")


@pytest.mark.parametrize("agent", AGENTS)
def test_writes(hooked: Hooked, agent: str) -> None:
    """In the scope yes; outside, in .agent-output and with nobody at work no, each with its reason and a way on."""
    hooked.begin()
    assert hooked.denied(agent, "src/parser.py") is None
    assert hooked.denied(agent, str(hooked.repo.path / "docs/new.md")) is None
    assert hooked.denied(agent, "README") == OUTSIDE
    assert hooked.denied(agent, ".agent-output/active") == OWN
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    assert hooked.denied(agent, "src/parser.py") == NOBODY
    hooked.ok("start", "--agent", "reviewer")
    assert hooked.denied(agent, "src/parser.py") is None


def test_a_denial_word_for_word(hooked: Hooked) -> None:
    """Each agent's own form of a no, whole."""
    hooked.begin()
    answers = {
        agent: hooked.call(agent, EVENTS[agent]["write"], hooked.write_payload(agent, "README")) for agent in AGENTS
    }
    specific = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": OUTSIDE,
        }
    }
    assert answers == {
        "claude": specific,
        "codex": specific,
        "gemini": {"decision": "deny", "reason": OUTSIDE},
        "cursor": {"permission": "deny", "user_message": OUTSIDE, "agent_message": OUTSIDE},
    }


def test_writes_while_drift_is_unresolved(hooked: Hooked) -> None:
    """A budget above the allowance denies every write in the worktree, until it is resolved; other places stay free."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    hooked.repo.write("src/parser.py", "by hand\n")
    hooked.ends(1, "verify")
    assert hooked.denied("claude", "src/parser.py") == (
        "git taskctx: 1 unresolved drift (0 allowed) since implementer's snapshot\n"
        "hint: git taskctx verify   # what differs, and how to put it right\n"
        'hint: git taskctx resolve-drift --note "what happened"   # when it is put right'
    )
    assert hooked.denied("claude", "/elsewhere/notes.txt") is None
    hooked.ok("resolve-drift", "--accept", "--note", "mine")
    hooked.ok("start", "--agent", "implementer")
    assert hooked.denied("claude", "src/parser.py") is None


def test_what_git_ignores_is_free(hooked: Hooked) -> None:
    """A write to an ignored file changes no tree: neither the scope nor the turn is asked about."""
    hooked.begin()
    assert hooked.denied("claude", "build/out.o") is None
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    assert hooked.denied("claude", "build/out.o") is None
    assert hooked.denied("codex", "build/out.o", "src/parser.py") == NOBODY


def test_roles(hooked: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option wins, then the kind of sub-agent, then the variable; who is not at work may not write."""
    hooked.begin()
    mine = (
        "git taskctx: implementer is at work on TASK-1, not reviewer\n"
        "hint: git taskctx snapshot --agent implementer   # when its work is done\n"
        'hint: git taskctx start --agent reviewer --take-over "what happened"   # or when it died or gave up'
    )
    assert hooked.denied("claude", "src/a", options=("--role", "reviewer")) == mine
    monkeypatch.setenv("GIT_TASKCTX_AGENT", "reviewer")
    assert hooked.denied("claude", "src/a") == mine
    assert hooked.denied("claude", "src/a", options=("--role", "implementer")) is None
    payload = {**hooked.write_payload("claude", "src/a"), "agent_id": "a1", "agent_type": "task-implementer"}
    assert hooked.call("claude", "PreToolUse", payload) is None
    monkeypatch.setenv("GIT_TASKCTX_AGENT", "helper")
    assert hooked.denied("claude", "src/a") == (
        "git taskctx: 'helper' is not an agent of TASK-1 (implementer, reviewer, validator)\n"
        "hint: export GIT_TASKCTX_AGENT=implementer   # the agent that this session acts as"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_stopping(hooked: Hooked, agent: str) -> None:
    """Who is at work stops with its work on record: asked once, and never again for the same stop."""
    hooked.begin()
    assert hooked.kept(agent) is None, "nothing was done, so nothing can be recorded"
    hooked.repo.write("src/parser.py", "mended\n")
    assert hooked.kept(agent) == UNRECORDED
    again: dict[str, Any] = {"loop_count": 1} if agent == "cursor" else {"stop_hook_active": True}
    assert hooked.kept(agent, **again) is None
    assert hooked.kept(agent, "--role", "reviewer") is None, "it is not the reviewer's work"
    hooked.ok("snapshot", "--agent", "implementer", "--wip")
    assert hooked.kept(agent) is None
    hooked.repo.write("src/parser.py", "mended well\n")
    assert hooked.kept(agent) == UNRECORDED
    hooked.ok("snapshot", "--agent", "implementer")
    assert hooked.kept(agent) is None


def test_stopping_of_those_who_come_later(hooked: Hooked) -> None:
    """A reviewer records even that it changed nothing, unless it hands back what it found; the last one approves."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    hooked.ok("start", "--agent", "reviewer")
    assert hooked.kept("claude") == UNRECORDED.replace("implementer", "reviewer")
    hooked.ok("block", "--agent", "reviewer", "--finding", "no test")
    assert hooked.kept("claude") is None
    hooked.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    hooked.ok("snapshot", "--agent", "reviewer")
    hooked.ok("start", "--agent", "validator")
    assert hooked.kept("claude") == (
        "git taskctx: validator is at work on TASK-1, and its work is not recorded\n"
        "hint: git taskctx snapshot --agent validator --done   # when the work is finished\n"
        "hint: git taskctx snapshot --agent validator --wip   # when it goes on later"
    )


def test_an_aborted_turn_of_cursor_is_let_go(hooked: Hooked) -> None:
    """Cursor takes a message only where the loop was completed."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    assert [hooked.kept("cursor", status=status) for status in ("aborted", "error")] == [None, None]


@pytest.mark.parametrize("agent", ["claude", "codex", "cursor"])
def test_sub_agents_stop_like_agents(hooked: Hooked, agent: str) -> None:
    """A sub-agent that acts in the chain, or in nobody's name, records its work; one that only reads does not."""
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    event = "subagentStop" if agent == "cursor" else "SubagentStop"
    kind = "subagent_type" if agent == "cursor" else "agent_type"
    first = {"status": "completed", "loop_count": 0} if agent == "cursor" else {"stop_hook_active": False}

    def kept(helper: str, **more: Any) -> str | None:
        payload = hooked.payload(agent, event, **{**first, "agent_id": "a1", kind: helper, **more})
        answer = hooked.call(agent, event, payload)
        return reason_in(answer) if answer is not None else None

    assert kept("general-purpose") == UNRECORDED
    assert kept("implementer") == UNRECORDED
    assert [kept("Explore"), kept("code-reviewer")] == [None, None]
    assert kept("implementer", **({"loop_count": 1} if agent == "cursor" else {"stop_hook_active": True})) is None


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_sub_agents_begin_with_the_brief_of_their_kind(hooked: Hooked, agent: str) -> None:
    """A sub-agent named after an agent of the chain gets that agent's brief; one that only reads gets none."""
    hooked.begin()
    brief = hooked.ok("get", "--role", "reviewer", "--format", "md").out
    for kind, expected in {"implementation-reviewer": brief, "Explore": None}.items():
        payload = hooked.payload(agent, "SubagentStart", agent_id="a1", agent_type=kind)
        answer = hooked.call(agent, "SubagentStart", payload)
        assert (reason_in(answer) if answer is not None else None) == expected


def test_other_tools_and_events_are_none_of_ours(hooked: Hooked) -> None:
    """Reading, shells and events that we do not know are let through without a word."""
    hooked.begin()
    payload = hooked.payload("claude", "PreToolUse", tool_name="Read", tool_input={"file_path": "README"})
    assert hooked.call("claude", "PreToolUse", payload) is None
    payload = hooked.payload("claude", "PreToolUse", tool_name="Bash", tool_input={"command": "echo > README"})
    assert hooked.call("claude", "PreToolUse", payload) is None
    assert hooked.call("gemini", "BeforeModel", hooked.payload("gemini", "BeforeModel")) is None
    assert hooked.call("claude", "Nonsense", {}) is None


@pytest.mark.parametrize(
    ("agent", "tool", "given"),
    [
        ("claude", "Edit", {"file_path": "README"}),
        ("claude", "MultiEdit", {"file_path": "README", "edits": [{"old_string": "a", "new_string": "b"}]}),
        ("claude", "NotebookEdit", {"notebook_path": "README"}),
        ("claude", "mcp__filesystem__write_file", {"path": "README", "content": ""}),
        ("claude", "mcp__filesystem__move_file", {"source": "src/a", "destination": "README"}),
        ("codex", "apply_patch", {"command": "*** Begin Patch\n*** Add File: README\n+x\n*** End Patch"}),
        ("codex", "apply_patch", {"command": "*** Begin Patch\r\n*** Delete File: README\r\n*** End Patch"}),
        (
            "codex",
            "apply_patch",
            {"command": ["apply_patch", "*** Begin Patch\n*** Update File: src/a\n*** Move to: README\n*** End Patch"]},
        ),
        ("gemini", "replace", {"file_path": "README", "old_string": "a", "new_string": "b"}),
        ("cursor", "StrReplace", {"path": "README", "old_string": "a", "new_string": "b"}),
        ("cursor", "Delete", {"path": "README"}),
        ("cursor", "MCP:write_file", '{"path": "README"}'),
    ],
)
def test_every_tool_that_writes(hooked: Hooked, agent: str, tool: str, given: Any) -> None:
    """The path is found wherever a tool has it."""
    hooked.begin()
    event = EVENTS[agent]["write"]
    answer = hooked.call(agent, event, hooked.payload(agent, event, tool_name=tool, tool_input=given))
    assert reason_in({key: text for key, text in answer.items() if key != "user_message"}) == OUTSIDE


def test_a_committed_task_is_over(hooked: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the commit of the validated tree a hook ends the task as any verb does, by the same clock, and stands in
    nobody's way.
    """
    hooked.begin()
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    hooked.ok("snapshot", "--agent", "reviewer")
    hooked.ok("snapshot", "--agent", "validator", "--done")
    hooked.repo.commit("done")
    monkeypatch.setattr(call, "now", lambda: datetime(2100, 1, 1, tzinfo=UTC))
    assert hooked.denied("claude", "README") is None
    time = "2100-01-01T00:00:00Z"
    assert [(one["type"], one["time"]) for one in hooked.records()][-2:] == [("seal", time), ("purge", time)]
