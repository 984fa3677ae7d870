"""`agent-setup --check`: no prompt and no command of an agent goes round the context."""

from __future__ import annotations

import pytest
from callers import AGENTS, Hooked

from git_taskctx.agents.dialects import DIALECTS

GOOD = """\
Read `git taskctx get --role reviewer --format md`, type `git taskctx start --agent reviewer`,
and at the end `git taskctx snapshot --agent=reviewer`.
"""
PLACES = {
    "claude": (".claude/agents/code-reviewer.md", ".claude/commands/team/task-runner.md"),
    "codex": (".codex/agents/code-reviewer.toml", ".codex/prompts/task-runner.md"),
    "gemini": (".gemini/agents/code-reviewer.md", ".gemini/commands/team/task-runner.toml"),
    "cursor": (".cursor/agents/code-reviewer.md", ".cursor/commands/task-runner.md"),
}


def test_without_hooks(hooked: Hooked) -> None:
    """An agent that does not call us fails the check, and the command that sets it up is named."""
    said = hooked.ends(1, "agent-setup", "claude", "--check")
    assert said.out == ("Claude Code: no hooks\nit has no prompts or commands here that could bypass the context\n")
    assert said.err == "hint: git taskctx agent-setup claude\n"


@pytest.mark.parametrize("agent", AGENTS)
def test_prompts_that_go_their_own_way(hooked: Hooked, agent: str) -> None:
    """A role's prompt starts, reads and records; a command names the context; each lack is told with its line."""
    prompt, command = PLACES[agent]
    hooked.ok("agent-setup", agent)
    hooked.repo.write(prompt, "You review. The standards are: ...\n")
    hooked.repo.write(command, "Run the implementer, then the reviewer.\n")
    said = hooked.ends(1, "agent-setup", agent, "--check")
    assert said.out.split("\n", 1)[1] == (
        f"{prompt}: does not verify the tree before it starts\n  add: git taskctx start --agent reviewer\n"
        f"{prompt}: does not record its work\n  add: git taskctx snapshot --agent reviewer\n"
        f"{prompt}: does not read the task from the context\n  add: git taskctx get --role reviewer --format md\n"
        f"{command}: does not use the task context\n"
        "  add: git taskctx status, or the words 'git-taskctx: no task prompt' where it is about no task\n"
        "2 prompts and commands read, 2 to be changed\n"
    )
    data = hooked.ends(1, "agent-setup", agent, "--check", "--format", "json").document()
    assert data["error"]["paths"] == [prompt, command]
    hooked.repo.write(prompt, GOOD)
    hooked.repo.write(command, "First `git taskctx init TASK`.\n")
    name = {"codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}.get(agent, f".{agent}/settings.json")
    assert hooked.ok("agent-setup", agent, "--check").out == (
        f"{DIALECTS[agent].title}: hooks in place ({name})\n2 prompts and commands read, none to be changed\n"
    )


def test_prompts_out_of_date(hooked: Hooked) -> None:
    """A verb that there is not, another agent's name, and the first agent, who need not start."""
    hooked.ok("agent-setup", "claude")
    hooked.repo.write(".claude/agents/implementer.md", GOOD.replace("reviewer", "implementer"))
    hooked.repo.write(".claude/agents/validator.md", GOOD + "git taskctx frobnicate --hard\n")
    hooked.repo.write(".claude/commands/changelog.md", "<!-- git-taskctx: no task prompt -->\nWrite it.\n")
    said = hooked.ends(1, "agent-setup", "claude", "--check")
    assert [line for line in said.out.splitlines() if line.startswith(".claude")] == [
        ".claude/agents/validator.md: names the verb 'frobnicate', which there is not",
        ".claude/agents/validator.md: does not verify the tree before it starts",
        ".claude/agents/validator.md: does not record its work",
    ]


def test_the_chain_of_the_repository(hooked: Hooked) -> None:
    """Roles are those of the committed policy, and `verify --for` is a start."""
    hooked.repo.write(".taskctx.toml", 'agents = ["dev", "checker"]\n')
    hooked.repo.commit("policy")
    hooked.ok("agent-setup", "cursor")
    hooked.repo.write(".cursor/agents/checker.md", "git taskctx verify --for checker; TASK_CONTEXT_PATH\n")
    said = hooked.ends(1, "agent-setup", "cursor", "--check")
    assert ".cursor/agents/checker.md: does not record its work" in said.out
    assert said.out.count("checker.md") == 1


def test_odd_prompts(hooked: Hooked) -> None:
    """A link, a large file and bytes that are no text are told, and nothing is read through a link."""
    hooked.ok("agent-setup", "claude")
    hooked.repo.symlink(".claude/commands/a.md", "/etc/passwd")
    hooked.repo.write(".claude/commands/b.md", b"\xff\xfe git taskctx status")
    hooked.repo.write(".claude/commands/c.md", "x" * (2 << 20))
    said = hooked.ends(1, "agent-setup", "claude", "--check")
    lines = [line for line in said.out.splitlines() if line.startswith(".claude")]
    assert [line.split(":")[0] for line in lines] == [".claude/commands/a.md", ".claude/commands/c.md"]
    assert all("is not read" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "complains"),
    [
        ("Read `.agent-output/tasks/TASK-1/context.json` first.", True),
        ("Read\n.agent-output/TASK-XXXX/context-reviewer.json for the task.", True),
        ("Never commit.\n- Open context.json.", True),
        ("Do not read `.agent-output/tasks/TASK-1/context.json`;\nask `git taskctx get`.", False),
        ("Direct reads of `context.json` are **prohibited**.", False),
        ("It is in mycontext.json and context.jsonl.", False),
    ],
)
def test_prompts_that_read_the_context_itself(hooked: Hooked, words: str, complains: bool) -> None:
    """A prompt that sends an agent to `context.json` is a complaint; one that forbids it is not."""
    hooked.ok("agent-setup", "claude")
    hooked.repo.write(".claude/agents/code-reviewer.md", f"{GOOD}\n{words}\n")
    told = "code-reviewer.md: reads or writes context.json itself, which is the tool's own\n  add: git taskctx get "
    said = hooked.ends(1 if complains else 0, "agent-setup", "claude", "--check")
    assert (told in said.out) is complains


def test_prompts_of_validators(hooked: Hooked) -> None:
    """`test-validation-*.md` validates; commands that stand on one line are all found."""
    hooked.ok("agent-setup", "claude")
    hooked.repo.write(".claude/agents/test-validation-mobile.md", "Run the tests.\n")
    said = hooked.ends(1, "agent-setup", "claude", "--check")
    assert (
        "test-validation-mobile.md: does not record its work\n  add: git taskctx snapshot --agent validator" in said.out
    )
    start, snapshot = (f"git taskctx {verb} --agent validator" for verb in ("start", "snapshot"))
    line = f"{start} && git taskctx get --role validator; {snapshot}"
    hooked.repo.write(".claude/agents/test-validation-mobile.md", f"{line}\n")
    hooked.ok("agent-setup", "claude", "--check")
