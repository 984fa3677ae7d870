"""What is said of coding agents: which of their files would change or did, and what their prompts lack."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any

from git_taskctx.git.quoting import quote
from git_taskctx.report.document import Document


def planned(document: Document, agent: str, changes: Sequence[Any], *, dry_run: bool, remove: bool) -> None:
    """Say which files changed, or show how they would."""
    if not changes:
        document.line(f"nothing of git taskctx is in the files of {agent}" if remove else f"{agent} is set up already")
        return
    for change in changes:
        name = quote(os.fsencode(change.path))
        if dry_run:
            _diff(document, name, change.before, change.after)
            continue
        word = "added" if change.before is None else "removed" if change.after is None else "changed"
        document.line((f"{word} ", "ok"), (name, "path"))


def checked(document: Document, title: str, *, wired: bool, checked: Any) -> None:
    """Say whether the hooks are there, and what each prompt lacks."""
    document.line(f"{title}: ", ("hooks in place", "ok") if wired else ("no hooks of this version", "bad"))
    for lack in checked.lacks:
        document.line((lack.path, "path"), ": ", (lack.what, "bad"))
        document.line("  add: ", (lack.add, "command"))
    count, wrong = len(checked.prompts), len({lack.path for lack in checked.lacks})
    plural = "s" * (count != 1)
    document.line(f"{count} prompt{plural} and command{plural} read, {wrong} of them to be mended")


def _diff(document: Document, name: str, before: bytes | None, after: bytes | None) -> None:
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    names = ("/dev/null" if before is None else f"a{name}", "/dev/null" if after is None else f"b{name}")
    for line in difflib.unified_diff(old, new, *names, lineterm=""):
        document.line(line.rstrip("\r"))
