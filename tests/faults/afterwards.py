"""What must be true after a verb was stopped at any of its steps, whatever the step was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from desk import TASK, Desk, Said, plain
from gitrepo import GitRepo
from records import Records, added, read_records
from scenes import Scene

READING = ("status", "get", "log", "list", "verify")
PACKED = "packed-refs.lock"
"""What a git leaves that is killed while it deletes refs, or fetches; it may be the user's own, and is named alone."""
REPLAYED = "warning: context.json of TASK-1 was behind the ledger (an interrupted write) and is replayed"


@dataclass(frozen=True)
class Model:
    """How a scene goes when nothing is in its way: the verb typed once, and twice."""

    before: Records
    said: tuple[Said, ...]
    types: tuple[list[str], ...]
    """Of the records that each run adds."""
    states: tuple[Any, ...]
    """After one run, and after two."""
    codes: Mapping[str, set[int]]
    """How each reading verb ends before and after the first run."""
    lines: Mapping[str, set[str]]
    """What each reading verb says on stderr then."""


def copy_of(desk: Desk, place: Path) -> Desk:
    """Copy a worktree with its repository, times kept."""
    shutil.copytree(desk.repo.path, place, symlinks=True)
    return Desk(GitRepo(place, env=desk.repo.env))


def watch(scene: Scene, desk: Desk, scratch: Path) -> Model:
    """Run a scene's verb twice and return how it went; what is read meanwhile is read of copies."""
    said: list[Said] = []
    types: list[list[str]] = []
    states = []
    codes: dict[str, set[int]] = {verb: set() for verb in READING}
    lines: dict[str, set[str]] = {verb: {REPLAYED} for verb in READING}
    begun = read_records(desk.repo)
    for number, code in enumerate((scene.code, scene.again)):
        before = read_records(desk.repo)
        reader = copy_of(desk, scratch / f"reader-{number}")  # before the first run, and after it
        for verb in READING:
            answer = reader.run(verb)
            codes[verb].add(answer.code)
            lines[verb].update(plain(answer.err).splitlines())
        said.append(desk.ends(code, *scene.verb))
        types.append(added(before, read_records(desk.repo)))
        states.append(state(desk))
    return Model(begun, tuple(said), tuple(types), tuple(states), codes, lines)


def state(desk: Desk) -> Any:
    """Return what a user sees of the contexts here, without times and oids; not of those that were never begun."""
    status = desk.run("status", "--format", "json")
    shown = json.loads(plain(status.out).replace(f'"{REPLAYED.removeprefix("warning: ")}"', ""))
    listed = [(one["task"], one["state"], one["owner"]) for one in desk.data("list") if one["state"] != "kept"]
    return status.code, shown, sorted(listed)


def let_time_pass(desk: Desk) -> None:
    """Make the locks that a killed git left look as they do a while later; those of the other side are its own."""
    for place in desk.repo.common_dir().rglob("*.lock"):
        if "other.git" in place.parts:
            place.unlink()
        else:
            os.utime(place, (1, 1))


def hold_untouched(scene: Scene, before: Mapping[str, object], desk: Desk) -> None:
    """Hold that index, HEAD, branches and worktree are the user's own, but for what the verb is there to write."""
    after = desk.repo.census()
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    changed -= {key for key in changed if "refs/notes/taskctx.lock" in key or PACKED in key or ".git/other.git/" in key}
    if scene.writes_files:
        changed = {key for key in changed if key in ("refs", "index") or key.startswith("git: ")}
    assert changed == set(), sorted(changed)


def hold_reading(model: Model, desk: Desk) -> None:
    """Hold that every reading verb answers as before or as afterwards, and that the next verb that writes works."""
    for verb in READING:
        said = desk.run(verb)
        assert said.code in model.codes[verb], f"{verb} ended with {said.code}\n{said.both}"
        odd = set(plain(said.err).splitlines()) - model.lines[verb]
        assert odd == set(), f"{verb} says {odd}"
    added(model.before, read_records(desk.repo))
    _write_next(desk)
    assert leftovers(desk) == []


def _write_next(desk: Desk) -> None:
    """Type the next verb that writes, whatever was interrupted, and one that reads the worktree: both sweep."""
    told = desk.run("get")
    if told.code == 0:
        desk.ok("block", "--agent", "reviewer", "--finding", "the next command works")
    elif "hint: git taskctx recover" in told.err:
        desk.ok("recover", TASK)
    else:
        desk.ok("init", "TASK-9", "--title", "The next command works")
    desk.run("verify")


def leftovers(desk: Desk) -> list[str]:
    """Return what an interrupted write left lying about; git's own half-written objects are git's to sweep."""
    private = desk.repo.git_dir() / "taskctx"
    places = [*private.glob("tmp-*"), *private.glob(".tmp-*"), *desk.repo.at(".agent-output").rglob(".tmp-*")]
    return sorted(os.fspath(place.relative_to(desk.repo.path)) for place in places)


def locks(desk: Desk) -> list[str]:
    """Return the locks that are left in the git dir, but for those of contexts that were never begun."""
    known = read_records(desk.repo)
    places = [place.relative_to(desk.repo.git_dir()) for place in desk.repo.git_dir().rglob("*.lock")]
    ours = Path("refs/taskctx")
    places = [one for one in places if one.name != PACKED and "other.git" not in one.parts]
    return [str(one) for one in places if ours not in one.parents or any(context in str(one) for context in known)]


def hold_again(scene: Scene, model: Model, desk: Desk) -> None:
    """Hold that the verb typed again ends what was interrupted, or says that it was done."""
    there = added(model.before, read_records(desk.repo))
    said = desk.run(*scene.verb)
    if PACKED in said.err:
        command = said.err.split("hint: ")[1]
        subprocess.run(["sh", "-c", command], check=True)
        said = desk.run(*scene.verb)
    whole = added(model.before, read_records(desk.repo))
    expected = {one.code for one in model.said if there or one is model.said[0]}
    assert said.code in expected, said.both
    once, twice = model.types[0], model.types[0] + model.types[1]
    begun_anew = [*once, "init"] if "init" in once else once
    assert whole in (once, twice, begun_anew), f"{there} and then {whole}: {said.both}"
    now = state(desk)
    assert now in model.states, f"state: {now}\nexpected {model.states[0]}"
    if leftovers(desk):  # the verb had nothing to write any more
        _write_next(desk)
    assert leftovers(desk) == []
    assert locks(desk) == []
    assert desk.repo.git("fsck", "--no-dangling") == ""
