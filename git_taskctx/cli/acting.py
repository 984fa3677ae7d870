"""Add the named `--actor` to hints."""

from __future__ import annotations

import re

from git_taskctx.report.document import Document
from git_taskctx.shell import shell_words

_ACTS = re.compile(
    r"git taskctx (?:start|snapshot|update|block|unblock|resolve-drift|record-qa|attach)"
    r"""(?: (?![ #&])(?:"[^"]*"|'[^']*'|[^\s"'])+)*"""
)
"""A command with an actor, without a comment or a following command."""
_AGENT = re.compile(r"--agent (\S+)")


def keep_actor(text: str, actor: str, agent: str | None) -> str:
    """Return a hint whose commands of the same agent, or of none, name the actor too."""

    def named(found: re.Match[str]) -> str:
        whose = _AGENT.search(found[0])
        if "--actor" in found[0] or (whose is not None and whose[1] != agent):
            return found[0]
        return f"{found[0].rstrip()} --actor {shell_words([actor])}"

    return _ACTS.sub(named, text)


def keep_actors(document: Document, actor: str, agent: str | None) -> None:
    """Do the same in every command of a document."""
    for part in document.parts:
        if isinstance(part, list):
            part[:] = [
                (keep_actor(span[0], actor, agent), span[1])
                if isinstance(span, tuple) and span[1] == "command"
                else span
                for span in part
            ]
