"""Commands of git's, in states in which our hooks have something to do."""

from __future__ import annotations

from pathlib import Path

from desk import Desk, executable
from scenes import Scene, committed, drifted, implemented, linked, partly_committed, staged, validated

DATES = {"GIT_AUTHOR_DATE": "1767229200 +0000", "GIT_COMMITTER_DATE": "1767229200 +0000"}


def put_in(desk: Desk, folder: Path) -> None:
    """Install our hooks, and make a branch `side` to go to; commits are the same whenever they are made."""
    desk.repo.env |= executable(folder) | DATES
    desk.repo.git("switch", "-q", "-c", "side")
    desk.repo.write("side", "side\n")
    desk.repo.commit("side")
    desk.repo.git("switch", "-q", "main")
    desk.ok("install")


def _part(desk: Desk) -> None:
    desk.repo.config("taskctx.commit.partial", "true")
    validated(desk)
    desk.repo.add("parser.py")


def _last_part(desk: Desk) -> None:
    partly_committed(desk)
    desk.repo.add()


def _left(desk: Desk) -> None:
    implemented(desk)
    desk.repo.git("stash", "-q", "-u")
    desk.repo.git("switch", "-q", "side")


def _loose(desk: Desk) -> None:
    """A task that only asks for its budget, so that a merge may be made in it."""
    desk.repo.config("taskctx.commit.require", "budget")
    desk.init()


def _proved(desk: Desk) -> None:
    linked(desk)
    desk.repo.config("taskctx.hooks.prePush", "true")
    committed(desk)


def _git(name: str, prepare: object, *command: str, code: int = 0) -> Scene:
    return Scene(name, prepare, command, code=code, again=code, git=True)  # type: ignore[arg-type]


GIT_SCENES = (
    _git("commit", staged, "commit", "-q", "-m", "mended"),
    _git("commit -a after drift", drifted, "commit", "-q", "-a", "-m", "drift", code=1),
    _git("commit --no-verify", implemented, "commit", "-q", "-a", "--no-verify", "-m", "early"),
    _git("commit of a part", _part, "commit", "-q", "-m", "a part"),
    _git("commit of the last part", _last_part, "commit", "-q", "-m", "the rest"),
    _git("amend", committed, "commit", "-q", "--amend", "-m", "reworded"),
    _git("switch", implemented, "switch", "-q", "side"),
    _git("return", _left, "switch", "-q", "main"),
    _git("switch -c", implemented, "switch", "-q", "-c", "new"),
    _git("rebase", committed, "rebase", "-q", "--no-ff", "HEAD~1"),
    _git("merge", _loose, "merge", "-q", "--no-ff", "--no-edit", "side"),
    _git("merge --ff", _loose, "merge", "-q", "--ff-only", "side"),
    _git("push", _proved, "push", "-q", "origin", "main"),
)
"""Those of verbs are `scenes.SCENES`; `install` and `uninstall` have tests of their own."""
