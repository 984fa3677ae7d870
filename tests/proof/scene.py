"""A task that was validated and committed, what git does to its commit afterwards, and what a clone makes of it."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desk import TASK, Desk
from gitrepo import GitRepo
from prepared import own_folder

NOTES = "refs/notes/taskctx"
FETCH_NOTES = f"{NOTES}:{NOTES}"


class Scene:
    """A repository where TASK-1 was done on the branch `topic`, off `main`, and a folder for clones of it."""

    def __init__(self, folder: Path, *, policy: str | None = None, before: Callable[[GitRepo], object] | None = None):
        self.folder = folder
        self.repo = GitRepo.init(folder / "work")
        self.desk = Desk(self.repo)
        self.repo.write("parser.py", "".join(f"line {number}\n" for number in range(20)))
        self.repo.write("other.py", "other\n")
        if policy is not None:
            self.repo.write(".taskctx.toml", policy)
        if before is not None:
            before(self.repo)
        self.base = self.repo.commit("base")
        self.stale = ""
        """Where the notes were before the commit was sealed."""

    @classmethod
    def sealed(cls, folder: Path, *, policy: str | None = None) -> Scene:
        """Return one in which the task is done; it is made once in a process, and copied."""
        return _sealed(policy).copied(folder)

    def copied(self, folder: Path) -> Scene:
        """Return a copy in another folder."""
        scene = copy.copy(self)
        scene.folder, scene.repo = folder, GitRepo(folder / "work")
        scene.repo.become(self.repo)
        scene.desk = Desk(scene.repo)
        return scene

    def validate(self, text: str = "mended\n") -> None:
        """Begin the task on a branch of its own, and come to where every agent approved the tree."""
        self.repo.checkout("-b", "topic")
        self.desk.init()
        self.repo.write("parser.py", self.repo.read("parser.py").decode() + text)
        self.desk.ok("snapshot", "--agent", "implementer")
        self.desk.ok("snapshot", "--agent", "reviewer")
        self.desk.ok("snapshot", "--agent", "validator", "--done")
        self.stale = self.repo.git("rev-parse", NOTES)

    def seal(self) -> str:
        """Commit what was validated, and have it noticed; return the commit."""
        commit = self.repo.commit("Mend the parser")
        self.desk.ok("verify")
        return commit

    @functools.cached_property
    def done(self) -> str:
        """The commit of the task, sealed."""
        self.validate()
        return self.seal()

    def move_main(self, path: str = "elsewhere.py", text: str = "elsewhere\n") -> str:
        """Let others go on with `main`; come back to where we were, and return its tip."""
        self.repo.checkout("main")
        self.repo.write(path, text)
        moved = self.repo.commit("others")
        self.repo.checkout("topic")
        return moved

    def clone(self, name: str, *args: str, notes: str | None = FETCH_NOTES, branch: str = "topic") -> Clone:
        """Clone the repository as CI would, over the file protocol, with the notes that it fetches."""
        source = f"file://{os.fspath(self.repo.path)}"
        place = self.folder / name
        self.repo.git("clone", "-q", "--branch", branch, *args, source, os.fspath(place))
        made = Clone(GitRepo(place))
        if notes is not None:
            made.repo.git("fetch", "-q", "origin", notes)
        return made


@functools.cache
def _sealed(policy: str | None) -> Scene:
    scene = Scene(own_folder("scene"), policy=policy)
    assert scene.done
    return scene


class Clone(Desk):
    """A clone, and what is proved in it."""

    def copied(self, folder: Path) -> Clone:
        """Return a copy in another folder; its `origin` is the same."""
        copied = Clone(GitRepo(folder / self.repo.path.name))
        copied.repo.become(self.repo)
        copied.repo.run("update-index", "-q", "--refresh")
        return copied

    def prove(self, *args: str, code: int | None = None) -> Any:
        """Return the proof as data; its exit code must be that of its verdict."""
        said = self.run("verify", *args, "--format", "json")
        found = said.document()["data"]
        assert found is not None, said.both
        assert said.code == {"verified": 0, "violated": 1, "unproven": 3}[found["verdict"]]
        assert code in (None, said.code), said.both
        return found

    def told(self, *args: str) -> str:
        """Return the verdict on the tip in a few words: how it was found, or the codes of its reasons."""
        found = self.prove(*args)
        tip = found["commits"][0]
        assert found["verdict"] == tip["verdict"], found
        words = [f"by {tip['by']}"] if tip["by"] else [reason["code"] for reason in tip["reasons"]]
        return " ".join([tip["verdict"], *words])


__all__ = ["FETCH_NOTES", "NOTES", "TASK", "Clone", "Scene"]
