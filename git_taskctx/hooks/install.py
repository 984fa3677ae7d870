"""Install our hooks beside whatever is there, and remove them again.

First a plan is made without changes, then its steps run in order. Interrupted between two steps, every hook of the user
still runs, or the next `install` or `uninstall` restores it.

The way depends on what has the place: nothing or a script of the user (ours takes its name and runs it first);
pre-commit and prek (ours becomes `<hook>.legacy`, which they run); husky, lefthook and folders inside the worktree
(git's configuration where git supports hooks there, else lines in their files, only on request); a folder shared with
other repositories (a folder of our own that leads to it).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from git_taskctx import files
from git_taskctx.commits.managers import LEFTHOOK
from git_taskctx.hooks import prek, steps
from git_taskctx.hooks.health import is_executable, look, read_author, read_script
from git_taskctx.hooks.place import PREFIX, Place, beside, look_again
from git_taskctx.hooks.refspec import let_be, let_fetch
from git_taskctx.hooks.shims import (
    EVENTS,
    OTHERS,
    added_to_block,
    author,
    block_of,
    is_shell,
    parses,
    shim,
    with_block,
    without_block,
    without_shim,
)
from git_taskctx.hooks.steps import HookChange
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.values import dataclass, field

_STDIN = ("post-rewrite", "pre-push")
_OUT = "is a link that leads out of the worktree, and is not followed"
_LEFTHOOK_LINE = re.compile(
    rb"|# git-taskctx: (begin|end).*|[a-z-]+:|  commands:|    ~taskctx:|      run: .*taskctx.*|      use_stdin: true"
)
_LAST = "~taskctx"
"""A command that lefthook runs last: without a priority they come after all others, by name."""


@dataclass
class InstallPlan:
    steps: list[HookChange] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    """Hooks that are not installed, or not removed, and why."""
    notes: list[str] = field(default_factory=list)
    """Remarks."""


def install(place: Place, *, write_tracked: bool, dry_run: bool, notes: str | None = None) -> InstallPlan:
    """Install every hook, or only plan it. Raises: TryAgain, Fatal, ReadOnly, GitFailed; as `let_fetch`."""

    def make(place: Place) -> InstallPlan:
        lines = list(let_fetch(place, notes)) if notes is not None else []
        plan = plan_install(place, write_tracked=write_tracked)
        plan.steps += lines
        return plan

    return _carry_out(place, make, dry_run=dry_run)


def uninstall(place: Place, *, write_tracked: bool, dry_run: bool) -> InstallPlan:
    """Remove every hook and restore what was there, or only plan it. Raises: as `install`."""
    return _carry_out(place, lambda place: plan_uninstall(place, write_tracked=write_tracked), dry_run=dry_run)


def _carry_out(place: Place, make: Callable[[Place], InstallPlan], *, dry_run: bool) -> InstallPlan:
    if dry_run:
        return make(place)
    with files.held_folder(place.common_dir):
        place = look_again(place)  # while we waited for the lock another one may have changed the settings
        steps.sweep(place.default, beside(place.default), place.folder, beside(place.folder), place.private)
        plan = make(place)
        for step in plan.steps:
            step.run()
    return plan


def plan_install(place: Place, *, write_tracked: bool) -> InstallPlan:
    """Plan the installation; what is installed stays as it is. Raises: Fatal, GitFailed."""
    plan = InstallPlan()
    folder = place.folder
    if place.leads_out(folder):
        plan.left += [(event, f"{folder} {_OUT}") for event in EVENTS]
        return plan
    if not place.is_private(folder) and not _is_dead(folder) and _is_shared(place):
        if place.has_config_hooks:
            _configure(plan, place, [seat.event for seat in look(place) if seat.state != "in place"])
        else:
            _lead_on(plan, place, folder)
        return plan
    if place.is_private(folder):
        _lead_on(plan, place, shared_folder(place))
        return plan
    if _is_content(place):
        _put_into_content(plan, place, write_tracked=write_tracked)
        return plan
    theirs = [event for event in EVENTS if read_author(folder / event, event) == "lefthook"]
    for event in EVENTS:
        if event not in theirs and not (place.config_hooks(event) and place.has_config_hooks):
            put_file(plan, folder, event)
    plan.left += [(event, why) for event in EVENTS if (why := prek.find_fault(folder / event, event, place.environ))]
    lead_neighbours(plan, folder)
    if theirs:
        _put_into_lefthook(plan, place, theirs, write_tracked=write_tracked)
    return plan


def plan_uninstall(place: Place, *, write_tracked: bool) -> InstallPlan:
    """Plan the removal, and restore what was there before. Raises: GitFailed."""
    plan = InstallPlan()
    for event in EVENTS:
        section = f"{PREFIX}{event}"
        if any(key.startswith(f"{section}.") and place.is_own_setting(origin) for key, _, origin in place.settings):
            plan.steps.append(steps.remove_section(place.git, "--local", section))
    for value, origin in place.hooks_paths():
        if place.is_private(place.resolve(value)) and place.is_own_setting(origin):
            plan.steps.append(steps.unset_config(place.git, "--local", "core.hooksPath", value))
    _take_out_of_content(plan, place, write_tracked=write_tracked)
    folders = [place.default]
    if (
        place.folder != place.default
        and not place.leads_out(place.folder)
        and not place.is_private(place.folder)
        and not _is_content(place)
        and not _is_shared(place)
    ):
        folders.append(place.folder)
    for folder in folders:
        take_files(plan, folder)
    _take_private(plan, place)
    plan.steps += let_be(place)
    return plan


# --- files in a hooks folder -----------------------------------------------------------------------------


def put_file(plan: InstallPlan, folder: Path, event: str) -> None:
    """Install one shim under the hook's name, or as `<hook>.legacy` under pre-commit or prek, keeping what is there."""
    path = folder / event
    steps.require_script(path)
    if read_author(path, event) in ("pre-commit", "prek"):
        path = path.with_name(f"{event}.legacy")
        steps.require_script(path)
    data = read_script(path)
    who = author(data, event) if data is not None else None
    if who in ("block", "calls"):
        return
    if os.path.lexists(path) and who != "ours":
        aside = beside(folder) / event
        if os.path.lexists(aside) and not _same(aside, path):
            kept = _free(aside)
            plan.steps.append(steps.give_back(aside, kept))
            plan.notes.append(
                f"{kept} was put aside earlier, and {path} has come in its place: it is kept, and not run"
            )
        plan.steps.append(steps.put_aside(path, aside))
    renew(plan, path, event, beside(folder), before=beside(folder) / event)


def renew(plan: InstallPlan, path: Path, event: str, kept: Path, *, before: Path | None = None) -> None:
    """Rewrite our script if it is missing or outdated, keeping lines that somebody added to it.

    These become the hook `before` ours if possible; else the script is kept in folder `kept` and not run.
    """
    data = read_script(path)
    rest, whole = without_shim(data, event) if data is not None and author(data, event) == "ours" else (b"", True)
    if rest and whole and before is not None and not os.path.lexists(before) and parses(rest):
        plan.steps.append(steps.put(before, rest))
        plan.notes.append(f"{path} had lines that are not ours: they are {before} now, which is run first")
    elif rest:
        place = _free(kept / event)
        plan.steps.append(steps.put_aside(path, place))
        plan.notes.append(f"{path} is not as this version writes it: it is kept as {place}, and not run")
    if data != shim(event) or not is_executable(path) or path.is_symlink():
        plan.steps.append(steps.put(path, shim(event)))


def take(plan: InstallPlan, path: Path, event: str, *, taken: bool = False) -> None:
    """Remove our script, keeping lines that somebody added, under another name if its own is `taken`."""
    data = read_script(path) or b""
    rest, whole = without_shim(data, event)
    if rest and whole and not taken:
        plan.steps.append(steps.edit(path, rest))
        plan.notes.append(f"{path} has lines that are not ours: they stay")
    elif rest:
        kept = _free(path)
        plan.steps.append(steps.put_aside(path, kept))
        plan.notes.append(f"{path} has lines that are not ours: it is kept as {kept}, and not run")
    if not (rest and whole) and not taken:
        plan.steps.append(steps.remove(path))


def lead_neighbours(plan: InstallPlan, folder: Path) -> None:
    """Let hooks that were put aside find the other files of their folder."""
    there = beside(folder)
    moved = [step for step in plan.steps if step.what == "put aside"]
    if not folder.is_dir() or not (moved or there.is_dir()):
        return
    ours = {f"{event}{end}" for event in EVENTS for end in ("", ".legacy", ".old")}
    links = []
    for entry in sorted(folder.iterdir()):
        name = entry.name
        odd = name in ours or name.endswith(".sample") or name.startswith(files.TEMPORARY)
        if not odd and not os.path.lexists(there / name):
            links.append(steps.link(there / name, f"../{folder.name}/{name}"))
    plan.steps[:0] = links  # they are there before the hook is run from its new place


def take_files(plan: InstallPlan, folder: Path) -> None:
    aside = beside(folder)
    for event in EVENTS:
        there = aside / event
        waiting = os.path.lexists(there)
        path = folder / event
        places = [path, folder / f"{event}.legacy", folder / f"{event}.old"]
        for slot in places:
            if read_author(slot, event) == "ours":
                take(plan, slot, event, taken=waiting)
                if waiting:
                    plan.steps.append(steps.give_back(there, slot))
                waiting = False
        if waiting:
            _give_back_late(plan, there, places)
    if aside.is_dir():
        known = set(EVENTS)
        for entry in sorted(aside.iterdir()):
            if entry.is_symlink() and os.fspath(entry.readlink()) == f"../{folder.name}/{entry.name}":
                plan.steps.append(steps.remove(entry))
            elif entry.name not in known and not entry.name.startswith(files.TEMPORARY):
                plan.notes.append(f"{entry} was put aside by an earlier install, and stays there")
        plan.steps.append(steps.remove_folder(aside))


def _give_back_late(plan: InstallPlan, there: Path, places: list[Path]) -> None:
    """Restore a hook that was put aside, though somebody removed ours meanwhile."""
    path, legacy, old = places
    who = read_author(path, path.name)
    free = {None: path, "pre-commit": legacy, "prek": legacy, "lefthook": old}.get(who)
    if free is not None and not os.path.lexists(free):
        plan.steps.append(steps.give_back(there, free))
    elif any(os.path.lexists(one) and _same(there, one) for one in places):
        plan.steps.append(steps.remove(there))
    else:
        plan.notes.append(f"{there} was here before; {path} has come in its place since: it stays there")


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths are the same file or have the same content."""
    if one.lstat().st_ino == other.lstat().st_ino:
        return True
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return one.lstat().st_mode == other.lstat().st_mode and one.read_bytes() == other.read_bytes()


def _free(path: Path) -> Path:
    number = 1
    while os.path.lexists(path.with_name(f"{path.name}.kept-{number}")):
        number += 1
    return path.with_name(f"{path.name}.kept-{number}")


# --- git's configuration, and a folder of our own --------------------------------------------------------


def _configure(plan: InstallPlan, place: Place, events: list[str]) -> None:
    """Add our hooks to the repository's configuration."""
    for event in events:
        renew(plan, place.private / event, event, beside(place.private))
    for event in events:
        if not place.config_hooks(event):
            plan.steps += configure(place, "--local", event, place.private / event)


def configure(place: Place, scope: str, event: str, path: Path) -> Iterator[HookChange]:
    """Yield the steps that configure a hook; git fails on an event without a command."""
    word = shlex.quote(os.fspath(path))
    yield steps.set_config(place.git, scope, f"{PREFIX}{event}.command", f"test ! -x {word} || {word}")
    yield steps.set_config(place.git, scope, f"{PREFIX}{event}.event", event)


def _is_shared(place: Place) -> bool:
    """Return whether core.hooksPath is set outside the repository."""
    found = place.hooks_paths()
    return bool(found) and not place.is_own_setting(found[-1][1]) and not place.is_content(place.folder)


def shared_folder(place: Place) -> Path:
    """Return the shared hooks folder behind our own."""
    values = [place.resolve(value) for value, _ in place.hooks_paths()]
    return next((one for one in reversed(values) if not place.is_private(one)), place.default)


def _lead_on(plan: InstallPlan, place: Place, theirs: Path) -> None:
    """Make git use our own folder, and lead from there to the shared hooks."""
    own, aside = place.private, beside(place.private)
    for event in EVENTS:
        renew(plan, own / event, event, own)
    if not aside.is_symlink() or aside.readlink() != theirs:
        plan.steps.append(steps.link(aside, theirs))
    present = [entry.name for entry in theirs.iterdir()] if theirs.is_dir() else []
    for name in sorted({*OTHERS, *present} - set(EVENTS)):
        target = f"../{aside.name}/{name}"
        if not (own / name).is_symlink() or os.fspath((own / name).readlink()) != target:
            plan.steps.append(steps.link(own / name, target))
    if place.folder != own:
        plan.steps.append(steps.set_config(place.git, "--local", "core.hooksPath", os.fspath(own)))


def _take_private(plan: InstallPlan, place: Place) -> None:
    own, aside = place.private, beside(place.private)
    if own.is_dir():
        for entry in sorted(own.iterdir()):
            if entry.is_symlink():
                plan.steps.append(steps.remove(entry))
            elif entry.name in EVENTS and read_author(entry, entry.name) == "ours":
                take(plan, entry, entry.name)
        plan.steps.append(steps.remove_folder(own))
    if aside.is_symlink():
        plan.steps.append(steps.remove(aside))


# --- hooks that are content of the worktree --------------------------------------------------------------


def _is_dead(folder: Path) -> bool:
    """Return whether core.hooksPath names something that cannot hold hooks, as /dev/null."""
    return os.path.lexists(folder) and not folder.is_dir()


def _is_content(place: Place) -> bool:
    """Return whether git's hooks folder here is content of the worktree, or cannot exist."""
    return place.husky is not None or _is_dead(place.folder) or place.is_content(place.folder)


def _scripts(place: Place) -> Path:
    return place.husky or place.folder


def _put_into_content(plan: InstallPlan, place: Place, *, write_tracked: bool) -> None:
    open_events = [seat.event for seat in look(place) if seat.state != "in place"]
    if place.has_config_hooks and not write_tracked:
        _configure(plan, place, open_events)
        return
    folder = _scripts(place)
    if _is_dead(folder):
        plan.left += [
            (event, f"core.hooksPath = {place.hooks_paths()[-1][0]} turns every hook off") for event in EVENTS
        ]
        return
    if place.husky is not None and not (place.folder / "h").is_file():
        plan.left += [
            (event, f"husky has not been set up in this worktree: {place.folder} is not there") for event in EVENTS
        ]
        return
    for event in open_events:
        path = folder / event
        data = read_script(path)
        if not write_tracked:
            plan.left.append((event, f"{path} is a file of the worktree's, and is written only when asked"))
        elif why := _find_unsafe(place, path):
            plan.left.append((event, why))
        elif data is None:
            plan.steps.append(steps.put(path, shim(event)))
        elif place.husky is None and not is_shell(data):
            plan.left.append((event, f"{path} is not a shell script: have it run `git-taskctx hook {event}`"))
        else:
            rest, whole = without_shim(data, event) if author(data, event) == "ours" else (data, True)
            if rest and whole:
                plan.steps.append(steps.edit(path, with_block(rest, event)))
            else:
                renew(plan, path, event, folder)
    if any(Path(step.target).is_relative_to(folder) for step in plan.steps):
        plan.notes.append(f"what is written into {folder} is for all clones: commit it before a task begins")


def _put_into_lefthook(plan: InstallPlan, place: Place, events: list[str], *, write_tracked: bool) -> None:
    open_events = [seat.event for seat in look(place) if seat.event in events and seat.state != "in place"]
    if place.has_config_hooks and not write_tracked:
        _configure(plan, place, open_events)
        return
    if not open_events or place.top is None:
        return
    local = place.top / "lefthook-local.yml"
    unsafe = _find_unsafe(place, local) or _added_to_lefthook(local)
    others = [name for name in LEFTHOOK if "-local" in name and name != local.name and (place.top / name).exists()]
    data = without_block(read_script(local) or b"")
    if not write_tracked:
        reason = f"lefthook has it, and would run us from {local.name}, which is written only when asked"
    elif unsafe:
        reason = unsafe
    elif others or any(f"\n{event}:".encode() in b"\n" + data for event in events):
        reason = f"{others[0] if others else local.name} is yours: add a command to it that runs `git-taskctx hook`"
    else:
        for event in events:
            plan.steps.append(steps.put(place.private / event, shim(event)))
        whole = data + _lefthook_block(place, events)
        plan.steps.append(steps.edit(local, whole) if local.exists() else steps.put(local, whole, mode=0o644))
        plan.notes.append(f"{local} is for this clone alone: let git ignore it")
        return
    plan.left += [(event, reason) for event in open_events]


def _lefthook_block(place: Place, events: list[str]) -> bytes:
    """Return our lefthook configuration, run after all other commands."""
    lines = ["", '# git-taskctx: begin ("git taskctx uninstall --write-tracked" takes this away)']
    for event in events:
        word = shlex.quote(os.fspath(place.private / event))
        run = json.dumps(f"test ! -x {word} || {word} {{0}}", ensure_ascii=False)
        lines += [f"{event}:", "  commands:", f"    {_LAST}:", f"      run: {run}"]
        if event in _STDIN:
            lines.append("      use_stdin: true")
    return "\n".join([*lines, "# git-taskctx: end", ""]).encode("utf-8", "surrogateescape")


def _take_out_of_content(plan: InstallPlan, place: Place, *, write_tracked: bool) -> None:
    folders = [_scripts(place)] if _is_content(place) else []
    if place.top is not None and place.top / ".husky" not in folders:
        folders.append(place.top / ".husky")
    places = [folder / event for folder in folders for event in EVENTS]
    if place.top is not None:
        places.append(place.top / "lefthook-local.yml")
    for path in places:
        data = read_script(path)
        if data is None or author(data, path.name) not in ("ours", "block"):
            continue
        rest = without_block(data)
        unsafe = _find_unsafe(place, path) or (_added_to_lefthook(path) if path.suffix == ".yml" else None)
        if not write_tracked and place.is_content(path.parent):
            plan.left.append((path.name, f"{path} is a file of the worktree's, and is written only when asked"))
        elif unsafe:
            plan.left.append((path.name, unsafe))
        elif author(data, path.name) == "ours":
            take(plan, path, path.name)
        elif rest != data and rest:
            plan.steps.append(steps.edit(path, rest))
            if added_to_block(data):
                plan.notes.append(f"{path} has lines between ours that are not ours: they stay")
        else:
            plan.steps.append(steps.remove(path))


def _find_unsafe(place: Place, path: Path) -> str | None:
    """Return why a file of the worktree is not written to: its link leads elsewhere, or it was not read completely."""
    if place.leads_out(path):
        return f"{path} {_OUT}"
    if path.is_file() and path.stat().st_size > TEXT_FILE:
        return f"{path} has more than {TEXT_FILE} bytes: add our lines by hand"
    return None


def _added_to_lefthook(path: Path) -> str | None:
    """Return a warning if somebody wrote between our lines in lefthook's configuration."""
    block = block_of(read_script(path) or b"") or b""
    if all(_LEFTHOOK_LINE.fullmatch(line) for line in block.splitlines()):
        return None
    return f"{path} has lines between ours that are not ours: take them out by hand"
