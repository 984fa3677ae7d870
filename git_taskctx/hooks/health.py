"""Whether git would run each of our hooks, and what prevents it: for `status`, `install` and `doctor`.

Only reads files, apart from one `git version` where hooks are configured.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from git_taskctx.commits.managers import LEFTHOOK, PRE_COMMIT
from git_taskctx.hooks.place import Place, beside
from git_taskctx.hooks.shims import EVENTS, GATES, Author, author
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.values import dataclass

State = Literal["in place", "missing", "displaced", "shadowed", "not executable", "off"]


@dataclass(frozen=True)
class HookState:
    """One hook, as git would run it."""

    event: str
    state: State
    by: str
    """What runs it, or prevents it."""
    path: Path | None = None
    """The file that git runs; None where there is none."""


@dataclass(frozen=True)
class Health:
    """All hooks together."""

    line: str
    holds: bool
    """Whether a commit is gated."""
    whole: bool
    """Whether every hook is in place."""


def judge(seats: Iterable[HookState]) -> Health:
    """Return the health that follows from the hooks' states."""
    seats = list(seats)
    away = [seat for seat in seats if seat.state != "in place"]
    holds = all(seat.state == "in place" for seat in seats if seat.event in GATES)
    if not away:
        return Health("in place", holds, True)
    if all(seat.state == "missing" for seat in seats):
        return Health("not installed", False, False)
    reasons: dict[str, list[str]] = {}
    for seat in away:
        reasons.setdefault(f"{seat.state} ({seat.by})" if seat.by else seat.state, []).append(seat.event)
    line = "; ".join(f"{', '.join(events)} {reason}" for reason, events in reasons.items())
    return Health(line, holds, False)


def look(place: Place) -> tuple[HookState, ...]:
    """Return each hook's state."""
    return tuple(_look(place, event) for event in EVENTS)


def read_author(path: Path, event: str) -> Author | None:
    """Return who wrote the script at `path`, None if it cannot be read."""
    data = read_script(path)
    return None if data is None else author(data, event)


def read_script(path: Path) -> bytes | None:
    """Read a script, also through a link, as git does; None where it is missing or not a file."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(TEXT_FILE)
    except OSError:
        return None


def is_executable(path: Path) -> bool:
    """Return whether git would run it: any x bit."""
    try:
        return bool(path.stat().st_mode & 0o111)
    except OSError:
        return False


def _look(place: Place, event: str) -> HookState:
    if place.config_hooks(event) and place.has_config_hooks:
        return HookState(event, "in place", "git's configuration")
    folder = place.folder
    husky = place.husky
    if husky is not None:
        return _look_husky(folder, husky, event)
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        return HookState(event, "off", f"core.hooksPath = {folder}")
    path = folder / event
    who = read_author(path, event)
    if who is None:
        if folder != place.default and read_author(place.default / event, event) == "ours":
            return HookState(event, "shadowed", f"core.hooksPath = {place.hooks_paths()[-1][0]}")
        return HookState(event, "missing", "")
    if not is_executable(path):
        return HookState(event, "not executable", path.name, path)
    if who in ("ours", "block", "calls"):
        return HookState(event, "in place", {"block": "your own hook", "calls": "your own hook"}.get(who, "file"), path)
    if who in ("pre-commit", "prek"):
        return _look_beside(place, path, event, who)
    if who == "lefthook" and place.top is not None and in_lefthook(place.top, event, place.private):
        return HookState(event, "in place", "lefthook", path)
    if who == "lefthook" and read_author(path.with_name(f"{event}.old"), event) != "ours":  # it keeps what was there
        return HookState(event, "missing", "lefthook", path)
    return HookState(event, "displaced", "another hook" if who == "other" else who, path)


def _look_husky(folder: Path, husky: Path, event: str) -> HookState:
    if not is_executable(folder / event):
        if (folder / "h").is_file():
            return HookState(event, "off", "this husky does not know it, a later one does: npm install husky@latest")
        return HookState(event, "off", f"husky's folder {folder} is not there: npx husky")
    script = husky / event
    who = read_author(script, event)
    if who in ("block", "calls", "ours"):
        return HookState(event, "in place", "husky", folder / event)
    return HookState(event, "missing", "husky", folder / event)  # a script of the user's is where our lines would be


def _look_beside(place: Place, path: Path, event: str, tool: Author) -> HookState:
    legacy = path.with_name(path.name + ".legacy")
    if read_author(legacy, event) in ("ours", "block", "calls") and is_executable(legacy):
        return HookState(event, "in place", tool, path)
    if event in GATES and place.top is not None:
        for name in PRE_COMMIT:
            if re.search(rb"""\bid *[:=] *["']?taskctx\b""", read_script(place.top / name) or b""):
                return HookState(event, "in place", f"{tool}'s configuration", path)
    return HookState(event, "displaced", tool, path)


def in_lefthook(top: Path, event: str, private: Path) -> bool:
    """Return whether lefthook's configuration runs us for an event, directly or through our own folder."""
    ours = rb"taskctx hook |" + re.escape(os.fsencode(private) + b"/")
    pattern = re.compile(rb"^[^#\n]*(" + ours + rb")" + event.encode() + rb"\b", re.MULTILINE)
    return any(pattern.search(read_script(top / name) or b"") for name in LEFTHOOK)


def displaced(folder: Path) -> list[Path]:
    """Return the hooks that we put aside beside the folder and no shim runs."""
    return [
        there
        for event in EVENTS
        if (there := beside(folder) / event).is_file()
        and not any(read_author(folder / f"{event}{end}", event) == "ours" for end in ("", ".legacy"))
    ]
