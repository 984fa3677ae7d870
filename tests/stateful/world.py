"""One worktree, what was done to it, and the rules by which anything may be done next."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from desk import Desk
from gitrepo import GitRepo

from stateful.model import FILE, Task
from stateful.witness import Seen, Witness

Rule = Callable[["World", Random], None]
FLAVOURS = (
    "attributes", "blind", "eol", "flags", "linked", "nested", "odd", "sha256", "sparse", "split", "stealth",
    "submodule", "taskfile", "worktrees",
)  # fmt: skip
"""Groups of rules that a run has or has not, so that some runs are plain and some are full of one thing."""
NAMES = (
    b"a", b"b", b"run.sh", b"dir/a", b"dir/b", b"dir/sub/c", b"dir", b"dir/sub", b"a/x", b"e/m/p/t/y", b"notes.o",
    b"dir/x.o",
)  # fmt: skip
ODD = (
    b"l\xe4tin", b"new\nline", b'quo"te', b"-dash", "ünïcode/é".encode(), b"sp ace ", b"tab\t", b"glob[*]?", b":colon",
    b"back\\slash", b"dir/\xff\xfe", b"#hash", b"!bang", b".gitignored", b"dir/.hidden",
)  # fmt: skip
_TASK = "title: Mend it\nstatus: {}\nagent_note: {}\ndescription: {}\nacceptance_criteria:\n  - it works\n"
TASK_FILES = [
    _TASK.format(status, note, words).encode()
    for status in ("in_progress", "review", "done")
    for note in ("none", "some")
    for words in ("first words", "other words")
]
_EPOCH = 1_767_225_600


_PLACES = {"--absolute-git-dir", "--show-toplevel", "--path-format=absolute"}


class Place(GitRepo):
    """A repository that is not moved: git is asked only once where its parts lie."""

    def git(self, *args: str | bytes, **options: Any) -> str:
        """Run git, or remember what it said."""
        if args[0] != "rev-parse" or _PLACES.isdisjoint(args):
            return super().git(*args, **options)
        if args not in self._parts:
            self._parts[args] = super().git(*args, **options)
        return self._parts[args]

    @functools.cached_property
    def _parts(self) -> dict[tuple[str | bytes, ...], str]:
        return {}


@dataclass
class Named:
    """A rule, how often it is drawn, and the flavour that it belongs to."""

    run: Rule
    weight: int
    flavour: str | None


RULES: dict[str, Named] = {}


def rule(weight: int = 10, flavour: str | None = None) -> Callable[[Rule], Rule]:
    """Add a function to the rules, as its decorator."""

    def add(function: Rule) -> Rule:
        RULES[function.__name__] = Named(function, weight, flavour)
        return function

    return add


@dataclass
class World:
    """A worktree, the model beside it, and the list of what was done."""

    repo: GitRepo
    desk: Desk
    witness: Witness
    flavours: frozenset[str]
    told: list[str] = field(default_factory=list)
    """What was done, in words that a shell nearly understands."""
    task: Task | None = None
    """The active context."""
    past: dict[str, Task] = field(default_factory=dict)
    """Contexts that were put away, by task."""
    lost: bool = False
    """True when the files of the active context are gone."""
    elsewhere: bool = False
    """True when submodules, nested repositories or sparse checkouts make files differ from the tree's."""
    converted: bool = False
    """True from when any conversion may be in force: bytes may differ from blobs then."""
    counts: dict[str, int] = field(default_factory=dict)
    """How often what was done, and how verbs ended."""
    _census: dict[str, object] | None = None
    _date: int = _EPOCH

    @classmethod
    def create(cls, folder: Path, flavours: frozenset[str]) -> World:
        """Make a repository with a little history and two branches."""
        kind = ("--object-format=sha256",) if "sha256" in flavours else ()
        repo = Place.init(folder / "repo", "-b", "main", *kind)
        if "linked" in flavours:
            repo.git("commit", "-q", "--allow-empty", "-m", "first")
            repo.git("worktree", "add", "-q", os.fspath(folder / "worktree"), "-b", "own")
            repo = Place(folder / "worktree")
        repo.env |= {"GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}
        (folder / "store").mkdir()
        world = cls(repo, Desk(repo), Witness(repo, folder / "store"), flavours)
        for key in ("gc.reflogExpire", "gc.reflogExpireUnreachable"):
            repo.config(key, "now")  # what a context rests on must not live by the reflog
        repo.write("a", "one\ntwo\nthree\n")
        repo.write("dir/a", "deep\n")
        repo.write("run.sh", "#!/bin/sh\n", mode=0o755)
        repo.write(".gitignore", "*.o\n")
        repo.symlink("link", "a")
        if "taskfile" in flavours:
            repo.write(FILE, TASK_FILES[0])
        repo.commit("base")
        repo.git("branch", "side")
        repo.write("b", "later\n")
        repo.commit("later")
        return world

    def names(self) -> tuple[bytes, ...]:
        """Return the paths that things happen at."""
        return (*NAMES, *ODD) if "odd" in self.flavours else NAMES

    def tell(self, what: str) -> None:
        """Write down what is done next; the worktree may be another afterwards."""
        self.told.append(what)
        self._census = None

    def count(self, what: str) -> None:
        """Count something for the report."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def git(self, *args: str | bytes, input: str | None = None, cwd: Path | None = None) -> int:
        """Run a git command of the user's, which may fail; return how it ended."""
        self._date += 60
        date = f"{self._date} +0000"
        env = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = self.repo.run(*args, env=env, input=input, cwd=cwd)
        self.tell(f"git {' '.join(ascii(os.fsdecode(arg)) for arg in args)}   # {done.returncode}")
        return done.returncode

    def census(self) -> dict[str, object]:
        """Return all of the user's, down to times and inodes."""
        if self._census is None:
            self._census = self.repo.census()
        return self._census

    def files(self) -> list[bytes]:
        """Return what lies in the worktree, sorted; submodules and nested repositories left out."""
        found = sorted(self.witness.files())
        return [
            path
            for path in found
            if b".git" not in path.split(b"/") and not path.startswith((b"sub/", b"nest", b"tasks/"))
        ]

    def see(self, *, cold: bool = False) -> Seen | None:
        """Look at the worktree as git does."""
        return self.witness.see(cold=cold)

    def plain(self) -> bool:
        """Return whether every file of a tree lies in the worktree with the bytes of its blob."""
        return not self.converted and not self.elsewhere
