"""Check that every prompt and command that an agent has in the repository uses the context.

A prompt that does not states the task in its own words, and starts on an unverified tree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from git_taskctx import files
from git_taskctx.agents.dialects import Dialect
from git_taskctx.agents.judge import Said, role_of
from git_taskctx.errors import TaskctxError
from git_taskctx.git.quoting import quote
from git_taskctx.limits import PROMPTS_LIMIT, TEXT_FILE
from git_taskctx.model.values import dataclass

EXEMPT = "git-taskctx: no task prompt"
"""Words anywhere in a prompt that exempt it."""
_PLACES = {
    "claude": (("agents", ".md"), ("commands", ".md")),
    "codex": (("agents", ".toml"), ("prompts", ".md")),
    "gemini": (("agents", ".md"), ("commands", ".toml")),
    "cursor": (("agents", ".md"), ("commands", ".md")),
}
_VERB = re.compile(
    r"\bgit[ -]taskctx((?:\s+-{1,2}[A-Za-z][\w-]*(?:[= ][^\s`]+)?)*)[ \t]+([a-z][a-z-]*)\b"
    r"((?:(?!\bgit[ -]taskctx\b)[^\n`#])*)"
)
"""A command of ours, up to the next one or the end of the line."""
_DIRECT = re.compile(r"(?<![\w.-])(?:[\w./{}$<>*-]*/)?context(?:-[\w{}$<>*]+)?\.json\b")
_UNLESS = re.compile(
    r"\b(?:not|never|no|don't|cannot|nobody|prohibited|forbidden|instead of|rather than)\b", re.IGNORECASE
)
"""Words of a sentence that forbid what it names."""
_VALIDATORS = re.compile(r"test-validation-[\w-]+")
"""File names of validating prompts, whatever the chain calls the role."""


@dataclass(frozen=True)
class Lack:
    """A missing command of a prompt."""

    path: str
    what: str
    add: str
    """What to add."""


@dataclass(frozen=True)
class PromptReport:
    prompts: tuple[str, ...]
    """Every prompt that was read."""
    lacks: tuple[Lack, ...]


def check_prompts(dialect: Dialect, top: Path, agents: tuple[str, ...], verbs: Collection[str]) -> PromptReport:
    """Read an agent's prompts and commands in a worktree; `agents` is the chain, `verbs` are ours."""
    prompts, lacks = [], []
    for path in _prompts(dialect, top):
        name = quote(os.fsencode(path.relative_to(top)))
        prompts.append(name)
        try:
            data = files.read_plain(path, limit=TEXT_FILE) or b""
        except TaskctxError as error:
            lacks.append(Lack(name, f"is not read: {error.message}", "a regular file of its own"))
            continue
        lacks += [Lack(name, what, add) for what, add in _lacks(path, data.decode("utf-8", "replace"), agents, verbs)]
    return PromptReport(tuple(prompts), tuple(lacks))


def _prompts(dialect: Dialect, top: Path) -> Iterator[Path]:
    count = 0
    for folder, suffix in _PLACES[dialect.name]:
        for place, folders, names in os.walk(top / f".{dialect.name}" / folder):
            folders.sort()
            for name in sorted(names):
                if name.endswith(suffix) and count < PROMPTS_LIMIT:
                    count += 1
                    yield Path(place, name)


def _lacks(path: Path, text: str, agents: tuple[str, ...], verbs: Collection[str]) -> Iterator[tuple[str, str]]:
    if EXEMPT in text:
        return
    found = [(match[2], match[3]) for match in _VERB.finditer(text)]
    for verb in dict.fromkeys(verb for verb, _ in found if verb not in verbs):
        yield f"names the verb {verb!r}, which there is not", "git taskctx -h   # the verbs that there are"
    if any(_DIRECT.search(one) and not _UNLESS.search(one) for one in _sentences(text)):
        yield "reads or writes context.json itself, which is the tool's own", "git taskctx get   # in its place"
    role = role_of(Said(None, None, path.stem), agents) if path.parent.name == "agents" else None
    if role is None and path.parent.name == "agents" and _VALIDATORS.fullmatch(path.stem):
        role = agents[-1]
    if role is None:
        if not found:
            yield (
                "does not use the task context",
                f"git taskctx status, or the words {EXEMPT!r} where it is about no task",
            )
        return
    needed = [("snapshot", f"git taskctx snapshot --agent {role}", "does not record its work")]
    if role != agents[0]:
        needed.insert(0, ("start", f"git taskctx start --agent {role}", "does not verify the tree before it starts"))
    for verb, line, what in needed:
        if not any(_is_for(role, verb, one) for one in found):
            yield what, line
    if not any(verb == "get" for verb, _ in found) and "TASK_CONTEXT_PATH" not in text:
        yield "does not read the task from the context", f"git taskctx get --role {role} --format md"


def _sentences(text: str) -> Iterator[str]:
    """Yield sentences; list items and paragraphs end one, lines do not."""
    for paragraph in re.split(r"\n\s*(?:\n|(?=[-*+#]\s|\d+[.)]\s|```))", text):
        yield from re.split(r"(?<=[.!?;])\s+", paragraph)


def _is_for(role: str, verb: str, called: tuple[str, str]) -> bool:
    """Return whether a command is the verb for a role; `verify --for` is a start."""
    name, rest = called
    words = re.findall(r"[A-Za-z0-9-]+", rest)
    if name == "verify" and verb == "start":
        return "--for" in words and role in words
    return name == verb and role in words
