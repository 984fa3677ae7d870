"""Steps for git's hooks: to install or remove one, or to find out why one does not run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from git_taskctx.hooks.place import Place
from git_taskctx.model.step import Shell, Step, shell_words, taskctx


def no_such_hook() -> tuple[Step, ...]:
    """Suggest a known hook."""
    return (taskctx("hook", "pre-commit"),)


def no_line_of_its_own(remote: str) -> tuple[Step, ...]:
    """Suggest fetching the ledger without a setting."""
    return (taskctx("fetch", remote, why="brings the ledger when it is typed"),)


def no_program_runs() -> tuple[Step, ...]:
    """Suggest firing the hooks from a folder where programs may run."""
    place = Path("~/.cache").expanduser()
    step = Step(("env", f"TMPDIR={place}", "git", "taskctx", "doctor"))
    return (step.because("a folder on a file system that lets programs run"),)


def install(place: Place) -> tuple[Step, ...]:
    """Suggest installing the hooks; a folder that is part of the worktree is written only on request."""
    content = place.husky is not None or place.is_content(place.folder)
    if content and not place.has_config_hooks:
        return (taskctx("install", "--write-tracked", why="writes into the worktree, for all clones"),)
    return (taskctx("install"),)


def install_anew() -> tuple[Step, ...]:
    """Suggest installing the hooks again."""
    return (taskctx("uninstall").then("git", "taskctx", "install"),)


def instead_of(program: str) -> tuple[Step, ...]:
    """Suggest having git run a hook itself instead of a hook manager."""
    return (Step((program, "uninstall", "-t", "post-rewrite")).then("git", "taskctx", "install"),)


def husky_first() -> tuple[Step, ...]:
    """Suggest setting husky up, whose folder is missing."""
    return (Step(("npx", "husky"), "sets husky up in this worktree"), taskctx("install"))


def off(*, own: bool) -> tuple[Step, ...]:
    """Suggest removing the setting that disables every hook."""
    return (Step(("git", "config", *(() if own else ("--global",)), "--unset", "core.hooksPath")),)


def not_executable(path: Path) -> tuple[Step, ...]:
    """Suggest making a hook executable."""
    return (Step(("chmod", "+x", os.fspath(path))),)


def old_prek() -> tuple[Step, ...]:
    """Suggest updating prek."""
    return (Step(("prek", "self", "update"), "or as it was installed"),)


def twice() -> tuple[Step, ...]:
    """Suggest removing the hook files if git's configuration runs the hooks."""
    return (taskctx("uninstall", why="the configuration for all repositories stays"),)


def no_folder_there(top: Path) -> tuple[Step, ...]:
    """Suggest checking the hooks of another worktree."""
    return (Step(("git", "-C", os.fspath(top), "taskctx", "doctor")),)


def variable(name: str) -> tuple[Step, ...]:
    """Suggest unsetting a variable that disables hooks."""
    return (Step(("unset", name)),)


def old_git() -> tuple[Step, ...]:
    """Suggest looking at git's version."""
    return (Step(("git", "--version")),)


def not_on_path(folder: Path) -> tuple[Step, ...]:
    """Suggest putting git-taskctx on PATH."""
    return (Step(("export", Shell(f"PATH={shell_words([os.fspath(folder)])}:$PATH"))),)


def does_not_run(program: str) -> tuple[Step, ...]:
    """Suggest finding out why a program does not run."""
    return (Step((program, "--version")),)


def several() -> tuple[Step, ...]:
    """Suggest looking at each git-taskctx on PATH."""
    return (Step(("type", "-a", "git-taskctx"), "remove all but one"),)


def setting(words: Sequence[str]) -> tuple[Step, ...]:
    """Suggest a setting of git."""
    return (Step(("git", "config", *words)),)


def own_notes(*, variable: bool) -> tuple[Step, ...]:
    """Suggest that git write its own notes elsewhere."""
    return (Step(("unset", "GIT_NOTES_REF")) if variable else Step(("git", "config", "--unset", "core.notesRef")),)


def left_of_remote(folder: str) -> tuple[Step, ...]:
    """Suggest removing what was fetched from a removed remote."""
    script = f"git for-each-ref --format='delete %(refname)' {folder} | git update-ref --stdin"
    return (Step(("sh", "-c", script), "removes them"),)


def unset(key: str, value: str | None = None, remote: str | None = None) -> tuple[Step, ...]:
    """Suggest removing a setting; `remote` if its notes can be fetched without it."""
    named = ("--unset-all", key, f"^{re.escape(value)}$") if value is not None else ("--unset", key)
    instead = f"git taskctx install --notes {remote} brings them without that" if remote is not None else ""
    return (Step(("git", "config", *named), instead),)


def notes_of(remote: str) -> tuple[Step, ...]:
    """Suggest that `git fetch` bring the notes of a remote."""
    return (taskctx("install", "--notes", remote),)


def sweep() -> tuple[Step, ...]:
    """Suggest removing what was put away long ago."""
    return (taskctx("sweep"),)
