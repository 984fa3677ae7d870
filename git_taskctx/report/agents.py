"""What is said of coding agents: which of their files would change or did, and what their prompts lack."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from typing import Any

from git_taskctx.git.quoting import quote
from git_taskctx.report.document import Document


def planned(document: Document, agent: str, changes: Sequence[Any], *, dry_run: bool, remove: bool) -> None:
    """Show which files changed, or would."""
    if not changes:
        document.line(f"nothing of git taskctx is in the files of {agent}" if remove else f"{agent} is set up already")
        return
    for change in changes:
        name = quote(os.fsencode(change.name))
        if dry_run:
            _diff(document, name, change.before, change.after)
            continue
        word = "added" if change.before is None else "removed" if change.after is None else "changed"
        document.line((f"{word} ", "ok"), (name, "path"))
    if not dry_run and not remove:
        program = {"cursor": "cursor-agent"}.get(agent, agent)
        document.line("to start it as the reviewer: ", (f"GIT_TASKCTX_AGENT=reviewer {program}", "command"))


def checked(document: Document, title: str, *, wired: Sequence[str], old: bool, checked: Any) -> None:
    """Show where the hooks are, and what each prompt lacks; `old` are hooks as another version wrote them."""
    if wired:
        places = ", ".join(quote(os.fsencode(name)) for name in wired)
        document.line(f"{title}: ", ("hooks in place", "ok"), f" ({places})")
    else:
        document.line(f"{title}: ", ("hooks of another version" if old else "no hooks", "bad"))
    for lack in checked.lacks:
        document.line((lack.path, "path"), ": ", (lack.what, "bad"))
        document.line("  add: ", (lack.add, "command"))
    count, wrong = len(checked.prompts), len({lack.path for lack in checked.lacks})
    if not count:
        document.line("it has no prompts or commands here that could bypass the context")
        return
    what = "1 prompt or command" if count == 1 else f"{count} prompts and commands"
    document.line(f"{what} read, {f'{wrong} to be changed' if wrong else 'none to be changed'}")


def _diff(document: Document, name: str, before: bytes | None, after: bytes | None) -> None:
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", (data or b"").decode("utf-8", "replace")) for data in (before, after))
    home = name.startswith(("~", "/"))
    names = (name, name) if home else (f"a/{name}", f"b/{name}")
    sides = ("/dev/null" if before is None else names[0], "/dev/null" if after is None else names[1])
    for line in difflib.unified_diff(old, new, *sides):
        document.line(line.rstrip("\r\n"))
        if not line.endswith("\n"):
            document.line("\\ No newline at end of file")
