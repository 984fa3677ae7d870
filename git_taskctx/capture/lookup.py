"""Find a task's file by its id."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence

from git_taskctx.errors import Fatal
from git_taskctx.git.quoting import quote

_KINDS = ((r"\.task\.ya?ml", False), (r"\.task\.(?:md|markdown|json)", False), (r"\.(?:md|markdown|json|ya?ml)", True))
"""Suffixes in search order, and whether the content must be checked too: other files may have the task's name."""
_LIST = r"tasks\.(?:json|ya?ml)"
"""A file of many tasks."""


def find_task_file(
    task_id: str, paths: Iterable[str], roots: Sequence[str], *, holds: Callable[[str], bool]
) -> str | None:
    """Pick the task's file among the worktree's paths. Raises: Fatal when several fit equally well.

    First `ID.task.yaml` under a root, then `ID*.task.yaml`; else `ID*.task.md` and `ID*.task.json`; else
    `ID*.md`, `.json`, `.yaml` and `tasks.json`, if `holds` says that the task is in the file. Paths are the system's;
    the result, and what `holds` gets, are quoted as git does.
    """
    folders = _folders(roots)
    inside = [path for path in paths if _is_under(folders, path)]
    given = re.escape(task_id)
    either = re.sub(r"\\[.-]", "[.-]", given)  # story 1.2 lies in 1-2-login.md
    names = [(f"{either if look else given}{rest}{end}", look) for end, look in _KINDS for rest in ("", r"[-_. ].*")]
    for name, look in [*names, (_LIST, True)]:
        # Some tools write an id in capitals in the file, and in small letters in its name.
        pattern = re.compile(rf"(?:.*/)?{name}", re.DOTALL | (re.IGNORECASE if look else re.NOFLAG))
        found = sorted({quote(os.fsencode(path)) for path in inside if pattern.fullmatch(path)})
        if look:
            found = [path for path in found if holds(path)]
        if len(found) > 1:
            shown = [*found[:10], f"… and {len(found) - 10} more"] if len(found) > 10 else found
            raise Fatal(
                "\n  ".join([f"{len(found)} task files fit {task_id}:", *shown]),
                hint=f"choose one, as in `--task-file {found[0]}`",
                paths=found,
            )
        if found:
            return found[0]
    return None


def is_task_file(path: str, roots: Sequence[str]) -> bool:
    """Return whether a path under the roots has a name that only task files have."""
    ends = "|".join(end for end, look in _KINDS if not look)
    return _is_under(_folders(roots), path) and re.search(rf"(?:{ends})\Z", path) is not None


def _folders(roots: Sequence[str]) -> list[str]:
    return [root.removeprefix("./").rstrip("/") for root in roots]


def _is_under(folders: Sequence[str], path: str) -> bool:
    return any(folder in ("", ".") or path.startswith(f"{folder}/") for folder in folders)
