"""What to type about hooks of git: to put them in, to see what keeps one from running, to take one away."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from git_taskctx.hooks.place import Place
from git_taskctx.model.step import Shell, Step, shell_words, taskctx


def no_such_hook() -> tuple[Step, ...]:
    """Name a hook that there is."""
    return (taskctx("hook", "pre-commit"),)


def no_line_of_its_own(remote: str) -> tuple[Step, ...]:
    """Bring the ledger without a setting."""
    return (taskctx("fetch", remote, why="brings the ledger when it is typed"),)


def no_program_runs() -> tuple[Step, ...]:
    """Fire the hooks from a folder in which programs may run."""
    place = Path("~/.cache").expanduser()
    step = Step(("env", f"TMPDIR={place}", "git", "taskctx", "doctor"))
    return (step.because("a folder on a file system that lets programs run"),)


def install(place: Place) -> tuple[Step, ...]:
    """Put the hooks in; a folder that is content of the worktree is written only when asked."""
    content = place.husky is not None or place.is_content(place.folder)
    if content and not place.has_config_hooks:
        return (taskctx("install", "--write-tracked", why="writes into the worktree, for all clones"),)
    return (taskctx("install"),)


def install_anew() -> tuple[Step, ...]:
    """Put the hooks in again."""
    return (taskctx("uninstall").then("git", "taskctx", "install"),)


def instead_of(program: str) -> tuple[Step, ...]:
    """Have git run a hook itself, and not by a tool."""
    return (Step((program, "uninstall", "-t", "post-rewrite")).then("git", "taskctx", "install"),)


def husky_first() -> tuple[Step, ...]:
    """Set husky up, whose folder is missing."""
    return (Step(("npx", "husky"), "sets husky up in this worktree"), taskctx("install"))


def off(*, own: bool) -> tuple[Step, ...]:
    """Take the setting away that turns every hook off."""
    return (Step(("git", "config", *(() if own else ("--global",)), "--unset", "core.hooksPath")),)


def not_executable(path: Path) -> tuple[Step, ...]:
    """Let git run a hook."""
    return (Step(("chmod", "+x", os.fspath(path))),)


def old_prek() -> tuple[Step, ...]:
    """Bring prek up to date."""
    return (Step(("prek", "self", "update"), "or as it was installed"),)


def twice() -> tuple[Step, ...]:
    """Take the files away, where git's configuration runs the hooks."""
    return (taskctx("uninstall", why="the configuration for all repositories stays"),)


def no_folder_there(top: Path) -> tuple[Step, ...]:
    """Look at the hooks of another worktree."""
    return (Step(("git", "-C", os.fspath(top), "taskctx", "doctor")),)


def variable(name: str) -> tuple[Step, ...]:
    """Take a variable away that switches hooks off."""
    return (Step(("unset", name)),)


def old_git() -> tuple[Step, ...]:
    """See which git it is."""
    return (Step(("git", "--version")),)


def not_on_path(folder: Path) -> tuple[Step, ...]:
    """Let git find git-taskctx."""
    return (Step(("export", Shell(f"PATH={shell_words([os.fspath(folder)])}:$PATH"))),)


def does_not_run(program: str) -> tuple[Step, ...]:
    """See why a program does not run."""
    return (Step((program, "--version")),)


def several() -> tuple[Step, ...]:
    """See which git-taskctx there are."""
    return (Step(("type", "-a", "git-taskctx"), "all but one are to be removed"),)


def setting(words: Sequence[str]) -> tuple[Step, ...]:
    """Set something of git's."""
    return (Step(("git", "config", *words)),)


def own_notes(*, variable: bool) -> tuple[Step, ...]:
    """Have git write its own notes elsewhere."""
    return (Step(("unset", "GIT_NOTES_REF")) if variable else Step(("git", "config", "--unset", "core.notesRef")),)


def left_of_remote(folder: str) -> tuple[Step, ...]:
    """Take away what was fetched from a remote that is gone."""
    script = f"git for-each-ref --format='delete %(refname)' {folder} | git update-ref --stdin"
    return (Step(("sh", "-c", script), "takes them away"),)


def unset(key: str, value: str | None = None, remote: str | None = None) -> tuple[Step, ...]:
    """Take a setting away; the notes of a remote come without it where they are asked for."""
    named = ("--unset-all", key, f"^{re.escape(value)}$") if value is not None else ("--unset", key)
    instead = f"git taskctx install --notes {remote} brings them without that" if remote is not None else ""
    return (Step(("git", "config", *named), instead),)


def notes_of(remote: str) -> tuple[Step, ...]:
    """Have `git fetch` bring the notes of a remote as its own."""
    return (taskctx("install", "--notes", remote),)


def sweep() -> tuple[Step, ...]:
    """Remove what was put away long ago."""
    return (taskctx("sweep"),)
