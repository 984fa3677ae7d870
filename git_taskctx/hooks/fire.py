"""Fire each hook in a throw-away repository with the user's hooks folder but none of their checks.

Copied are our shims, the scripts of pre-commit, prek, husky and lefthook, and our own lines in the user's files; no
scripts of the user and no manager configuration. A stand-in for `git-taskctx` records which hooks called it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from git_taskctx.errors import CouldNotTell, TaskctxError
from git_taskctx.git.ahead import PLACES, QUIET
from git_taskctx.git.process import Git
from git_taskctx.hooks.health import HookState, read_author, read_script
from git_taskctx.hooks.place import Place
from git_taskctx.hooks.shims import EVENTS, block_of, is_current, shim
from git_taskctx.limits import HOOK_SECONDS
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation

_DROP = (
    *PLACES,
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_TEMPLATE_DIR",
    "GIT_TASKCTX",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EDITOR",
)
_SETTINGS = (
    "user.name=taskctx doctor",
    "user.email=doctor@localhost",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "core.editor=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsmonitor=false",
    "advice.detachedHead=false",
)
_STANDIN = '#!/bin/sh\n[ "$1" != hook ] || echo "$2" >>"$TASKCTX_FIRED"\n'


@dataclass(frozen=True)
class Fired:
    """Which hooks called us."""

    events: frozenset[str]
    skipped: frozenset[str]
    """Hooks not fired: outdated, or part of the user's own scripts."""
    said: str
    """Output of git and the hooks, for those that did not fire."""


def fire(place: Place, seats: Iterable[HookState]) -> Fired:
    """Fire every installed hook, and return which called us. Raises: GitFailed without a scratch folder."""
    wired = [seat for seat in seats if seat.state == "in place"]
    with tempfile.TemporaryDirectory(prefix="taskctx-doctor-") as scratch:
        top = Path(scratch).resolve() / "repo"
        record = top.with_name("fired")
        program = top.with_name("bin") / "git-taskctx"
        program.parent.mkdir()
        program.write_text(_STANDIN)
        program.chmod(0o755)
        _require_programs(program)
        git = _git(place, top, program.parent, record)
        skipped = _furnish(place, git, top, wired)
        said = _play(git, top)
        came = record.read_text().split() if record.exists() else []
    return Fired(frozenset(came), frozenset(skipped), said)


def _require_programs(program: Path) -> None:
    """Check that programs in the temporary folder run. Raises: CouldNotTell."""
    try:
        subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=HOOK_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise CouldNotTell(
            f"no program runs in {program.parent}, so the hooks cannot be fired there",
            Situation("hooks.no_program_runs"),
        ) from error


def _git(place: Place, top: Path, programs: Path, record: Path) -> Git:
    """Return git in the scratch repository, with the user's environment and no other hooks."""
    ours = {name for event in EVENTS for name in place.config_hooks(event)}
    names = {key.removeprefix("hook.").rpartition(".")[0] for key, _, _ in place.settings if key.startswith("hook.")}
    count = int(place.environ.get("GIT_CONFIG_COUNT") or 0)
    overlay: dict[str, str | None] = dict.fromkeys(_DROP)
    overlay |= {
        "PATH": f"{programs}{os.pathsep}{place.environ.get('PATH', '')}",
        "TASKCTX_FIRED": os.fspath(record),
        "PRE_COMMIT_ALLOW_NO_CONFIG": "1",
        "PREK_ALLOW_NO_CONFIG": "1",
    }
    for number, name in enumerate(sorted(names - ours), count):
        overlay |= {f"GIT_CONFIG_KEY_{number}": f"hook.{name}.enabled", f"GIT_CONFIG_VALUE_{number}": "false"}
        overlay["GIT_CONFIG_COUNT"] = str(number + 1)
    return Git(top, place.environ, overlay, _SETTINGS, HOOK_SECONDS, hard_limit=True)


def _furnish(place: Place, git: Git, top: Path, wired: list[HookState]) -> list[str]:
    """Make the scratch repository; return the hooks that would need the user's own scripts."""
    top.mkdir()
    # init.templateDir may hold hooks of the user's own (git-init).
    git.run("init", "-q", "--template=", "--initial-branch=main", ".")
    (top / ".git" / "hooks").mkdir(exist_ok=True)
    for key, value, _ in place.settings:
        if key.startswith("hook.taskctx-"):
            git.run("config", key, value or "")
    skipped: list[str] = []
    husky = place.husky
    tracked = place.folder.is_dir() and place.is_content(place.folder)
    folder = top / ".git" / "hooks"
    if husky is not None:
        folder = top / ".husky" / "_"
        folder.mkdir(parents=True)
        if (place.folder / "h").is_file():
            _copy(place.folder / "h", folder / "h")
    if place.hooks_paths():
        git.run("config", "core.hooksPath", ".husky/_" if husky is not None else os.fspath(folder))
    for seat in wired:
        if seat.path is None:
            continue
        _copy(seat.path, folder / seat.event)
        target = folder.parent / seat.event if husky is not None else folder / seat.event
        source = husky / seat.event if husky is not None else seat.path
        runs = not (tracked and (husky is not None or read_author(source, seat.event) not in ("ours", "block")))
        if not runs or not _copy_ours(source, target, seat.event):
            (folder / seat.event).unlink(missing_ok=True)
            skipped.append(seat.event)
    _copy_lefthook(place, top)
    (top / ".agent-output" / "archive").mkdir(parents=True)
    (top / ".agent-output" / ".gitignore").write_text("*\n")
    (top / ".agent-output" / "active").write_text("TASK-0\n")
    return skipped


def _copy_ours(source: Path, target: Path, event: str) -> bool:
    """Copy our part of a script and its neighbours; False where only the user's own words lead to us."""
    who, data = read_author(source, event), read_script(source) or b""
    if who in ("ours", "block") and not is_current(data, event):
        return False
    if who == "block":
        first = data.split(b"\n", 1)[0] if data.startswith(b"#!") else b"#!/bin/sh"
        target.write_bytes(first + b"\n" + (block_of(data) or b""))
        target.chmod(0o755)
    elif who in ("pre-commit", "prek"):
        legacy = source.with_name(f"{event}.legacy")
        if read_script(legacy) != shim(event):
            return False
        _copy(legacy, target.with_name(legacy.name))
    elif who == "ours":
        _copy(source, target)
    return who in ("ours", "block", "pre-commit", "prek", "lefthook")


def _copy_lefthook(place: Place, top: Path) -> None:
    """Give lefthook only our part of its configuration."""
    ours = block_of(read_script(place.top / "lefthook-local.yml") or b"") if place.top is not None else None
    if ours is not None:
        (top / "lefthook.yml").write_bytes(ours)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(source.stat().st_mode & 0o777)


def _play(git: Git, top: Path) -> str:
    """Run what fires each hook; return the output of failed commands."""
    quiet = git.with_settings(QUIET).with_env(GIT_TASKCTX="0")
    said: list[str] = []

    def write(name: str) -> None:
        (top / name).write_text(name)
        quiet.run("add", name)

    def do(*words: str) -> None:
        try:
            done = git.run(*words, ok=range(256))
            if done.code:
                said.append((done.err or done.out).decode("utf-8", "replace").strip())
        except TaskctxError as error:
            said.append(error.message)

    write("base")
    quiet.run("commit", "-q", "-m", "base")
    quiet.run("branch", "topic")
    write("first")
    quiet.run("commit", "-q", "-m", "first")
    do("checkout", "-q", "topic")
    quiet.run("checkout", "-q", "-f", "topic")
    write("second")
    do("commit", "-q", "-m", "second")
    quiet.run("commit", "-q", "--allow-empty", "-m", "second")
    do("commit", "-q", "--amend", "--no-verify", "--allow-empty", "-m", "again")
    do("merge", "-q", "--no-ff", "--no-edit", "main")
    quiet.run("init", "-q", "--bare", "--template=", "../remote")
    do("push", "-q", "../remote", "topic")
    return "\n".join(said)
