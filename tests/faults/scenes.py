"""Every verb that writes, in a state in which it has something to write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from desk import TASK, Desk

TASK_FILE = """\
id: TASK-1
status: in_progress
title: Mend the parser
description: It breaks.
acceptance_criteria:
  - it parses
"""


@dataclass(frozen=True)
class Scene:
    """A verb, and how to come to where it is typed."""

    name: str
    prepare: Callable[[Desk], object]
    verb: tuple[str, ...]
    code: int = 0
    """How the verb ends when nothing is in its way."""
    again: int = 0
    """How it ends when it is typed a second time."""
    writes_files: bool = False
    """True when it is the verb's work to change the worktree."""
    git: bool = False
    """True for a command of git's, that has our hooks."""


def edit(desk: Desk) -> None:
    """Change, add, delete and chmod files."""
    desk.repo.write("parser.py", "mended\n")
    desk.repo.write("deep/new.py", "new\n")
    desk.repo.remove("README")
    desk.repo.chmod("tool", 0o755)


def begun(desk: Desk) -> None:
    desk.init()
    edit(desk)


def _filtered(desk: Desk) -> None:
    desk.repo.write(".gitattributes", "*.py filter=up\n")
    desk.repo.config("filter.up.clean", "tr a-z A-Z")
    begun(desk)


def _filed(desk: Desk) -> None:
    desk.repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
    desk.repo.commit("task")
    desk.ok("init", TASK)
    desk.repo.write("tasks/TASK-1.task.yaml", TASK_FILE.replace("it parses", "it parses everything"))


def implemented(desk: Desk) -> None:
    begun(desk)
    desk.ok("snapshot", "--agent", "implementer")


def _reviewed(desk: Desk) -> None:
    implemented(desk)
    desk.ok("snapshot", "--agent", "reviewer")


def validated(desk: Desk) -> None:
    _reviewed(desk)
    desk.ok("snapshot", "--agent", "validator", "--done")


def committed(desk: Desk) -> None:
    validated(desk)
    desk.repo.commit("mended")


def drifted(desk: Desk) -> None:
    implemented(desk)
    desk.repo.write("parser.py", "drift\n")
    desk.repo.write("stray.py", "stray\n")
    desk.repo.remove("deep/new.py")


def _counted(desk: Desk) -> None:
    drifted(desk)
    desk.ends(1, "verify")


def _put_right(desk: Desk) -> None:
    _counted(desk)
    desk.ok("restore", "--agent", "implementer")


def _blocked(desk: Desk) -> None:
    implemented(desk)
    desk.ok("block", "--agent", "reviewer", "--finding", "no test")


def purged(desk: Desk) -> None:
    implemented(desk)
    desk.ok("purge")


def _lost(desk: Desk) -> None:
    implemented(desk)
    shutil.rmtree(desk.repo.at(".agent-output"))


LOG = os.fspath(Path(__file__).resolve().parent.parent / "capture" / "logs" / "pytest-8-fail.log")


def staged(desk: Desk) -> None:
    validated(desk)
    desk.repo.add()


def partly_committed(desk: Desk) -> None:
    desk.repo.config("taskctx.commit.partial", "true")
    validated(desk)
    desk.repo.add("parser.py")
    desk.repo.commit_staged("a part")


def _around(desk: Desk) -> None:
    implemented(desk)
    desk.repo.commit("early")


def _switched(desk: Desk) -> None:
    implemented(desk)
    desk.repo.git("stash", "-q", "-u")
    desk.repo.git("commit", "-q", "--allow-empty", "-m", "elsewhere")


def linked(desk: Desk) -> None:
    """Make a repository to share with; it lies in the git dir, so that a copy of one has its own."""
    desk.repo.git("init", "-q", "--bare", os.fspath(desk.repo.git_dir() / "other.git"))
    desk.repo.git("remote", "add", "origin", "./.git/other.git")
    desk.repo.git("push", "-q", "origin", "main", env={"GIT_TASKCTX": "0"})


def _shared(desk: Desk) -> None:
    linked(desk)
    implemented(desk)


def _fetched(desk: Desk) -> None:
    _shared(desk)
    desk.ok("push", "origin", "--with-snapshots")
    desk.repo.git("push", "-q", "origin", "refs/notes/taskctx:refs/notes/theirs")
    desk.ok("block", "--agent", "reviewer", "--finding", "ours alone")


HOOK = ("hook",)
INIT = ("init", TASK, "--title", "Mend the parser")
SNAPSHOT = ("snapshot", "--agent")

SCENES = (
    Scene("init", edit, INIT, again=128),
    Scene("start", implemented, ("start", "--agent", "reviewer")),
    Scene("snapshot", begun, (*SNAPSHOT, "implementer")),
    Scene("handoff", implemented, (*SNAPSHOT, "reviewer")),
    Scene("verify", drifted, ("verify",), code=1, again=1),
    Scene("accept", _counted, ("resolve-drift", "--accept", "--note", "mine"), again=1),
    Scene("restore", drifted, ("restore", "--agent", "implementer"), writes_files=True),
    Scene("block", implemented, ("block", "--agent", "reviewer", "--finding", "no test")),
    Scene("purge", implemented, ("purge",)),
    Scene("recover", purged, ("recover", TASK)),
    Scene("seal", committed, ("verify",), again=0),
    Scene("rebuild", _filed, ("rebuild",)),
    # the same doors again, by other verbs
    Scene("snapshot through a filter", _filtered, (*SNAPSHOT, "implementer")),
    Scene("wip", begun, (*SNAPSHOT, "implementer", "--wip")),
    Scene("done", _reviewed, (*SNAPSHOT, "validator", "--done")),
    Scene("attest", _counted, (*SNAPSHOT, "reviewer", "--attest", "mine")),
    Scene("take over", begun, ("start", "--agent", "reviewer", "--take-over", "it died")),
    Scene("note", _put_right, ("resolve-drift", "--note", "put back"), again=1),
    Scene("unblock", _blocked, ("unblock", "--agent", "reviewer", "--finding", "F1"), again=1),
    Scene("update", implemented, ("update", "--agent", "implementer", "--session-id", "s1")),
    Scene("attach", begun, ("attach", "deep/new.py", "--type", "other")),
    Scene("record-qa", begun, ("record-qa", "--agent", "implementer", "--from", LOG, "--command", "pytest")),
    Scene("recover what is lost", _lost, ("recover", TASK)),
    Scene("purge seals", committed, ("purge",)),
    Scene("init seals", committed, ("init", "TASK-2", "--title", "Another"), again=128),
    Scene("gate passes", staged, (*HOOK, "pre-commit")),
    Scene("gate counts drift", drifted, (*HOOK, "pre-commit"), code=1, again=1),
    Scene("hook seals", committed, (*HOOK, "post-commit")),
    Scene("hook records a part", partly_committed, (*HOOK, "post-commit")),
    Scene("hook records a bypass", _around, (*HOOK, "post-commit")),
    Scene("switch", _switched, (*HOOK, "post-checkout", "1" * 40, "2" * 40, "1")),
    Scene("complete", committed, ("complete",)),
    Scene("sweep", purged, ("sweep", "--ttl", "0")),
    Scene("push", _shared, ("push", "origin", "--with-snapshots")),
    Scene("fetch", _fetched, ("fetch", "origin", "--with-snapshots")),
    Scene("snapshot is too late", committed, (*SNAPSHOT, "implementer"), code=128, again=128),
)
CORE = SCENES[:12]
QUICK = tuple(scene for scene in CORE if scene.name in {"init", "snapshot", "verify", "restore", "purge", "seal"})
