"""What git and the file system say of a worktree: the only source of the model, which knows nothing of our code."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from gitrepo import GitRefused, GitRepo

Entries = dict[bytes, tuple[str, str]]
"""A tree: path to mode and oid."""
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\"}
_OPERATIONS = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")


@dataclass(frozen=True)
class Seen:
    """A worktree as it was at one moment."""

    tree: str
    """What `git add -A` would make of it."""
    head: str | None
    operation: str | None
    index_tree: str | None
    """What is staged; None while the index is unmerged."""
    hidden: frozenset[tuple[bytes, str]] = frozenset()
    """Edits that no tree can show, with their state."""


@dataclass
class Witness:
    """Asks git about a worktree, and keeps the objects that answers need in a store of its own."""

    repo: GitRepo
    store: Path
    _known: dict[str, Entries] = field(default_factory=dict)

    def ask(self, *args: str | bytes) -> str:
        """Ask a git that sees the objects of every answer, and writes none of the user's files."""
        env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fspath(self.store), "GIT_OPTIONAL_LOCKS": "0"}
        return self.repo.git(*args, env=env)

    def see(self, *, cold: bool = False) -> Seen | None:
        """Look at the worktree; None where git itself refuses to say what its tree is."""
        try:
            tree = self.repo.oracle(cold=cold, store=self.store)
            hidden = frozenset(self._hidden())
        except GitRefused:
            return None
        return Seen(tree, self.head(), self.operation(), self._index_tree(), hidden)

    def head(self) -> str | None:
        """Return the oid of HEAD; None on an unborn branch. What it holds is remembered: git may prune the commit."""
        head = self.repo.git("rev-parse", "-q", "--verify", "HEAD", check=False) or None
        self.entries(head)
        return head

    def operation(self) -> str | None:
        """Return the mark of the operation in progress."""
        return next((name for name in _OPERATIONS if (self.repo.git_dir() / name).exists()), None)

    def entries(self, tree: str | None) -> Entries:
        """Return what a tree, or the tree of a commit, holds."""
        if tree is None:
            return {}
        if tree not in self._known:
            lines = self.ask("ls-tree", "-r", "-z", tree).split("\0")[:-1]
            pairs = (line.split("\t", 1) for line in lines)
            self._known[tree] = {os.fsencode(path): _mode_and_oid(meta) for meta, path in pairs}
        return self._known[tree]

    def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit."""
        return self.ask("rev-list", "--parents", "-n", "1", commit).split()[1:]

    def changed(self, old: str | None, new: str | None) -> set[bytes]:
        """Return the paths at which two trees differ."""
        before, after = self.entries(old), self.entries(new)
        return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}

    def ignored(self) -> list[bytes]:
        """Return the ignored files that lie in the worktree, ours left out."""
        listed = self.ask("ls-files", "-o", "-i", "--exclude-standard", "-z").split("\0")[:-1]
        return [os.fsencode(path) for path in listed if not path.startswith(".agent-output/")]

    def files(self) -> dict[bytes, tuple[str, bytes]]:
        """Return every file and link of the worktree, ours left out: path to mode and bytes."""
        found: dict[bytes, tuple[str, bytes]] = {}
        for folder, names, files in os.walk(self.repo.path):
            place = Path(folder)
            if place == self.repo.path:
                names[:] = [name for name in names if name not in (".git", ".agent-output")]
            for name in (*files, *(name for name in names if (place / name).is_symlink())):
                found[os.fsencode((place / name).relative_to(self.repo.path))] = _look(place / name)
        return found

    def missing(self, trees: list[str]) -> str:
        """Return what git misses of `trees` in the repository itself; empty where all of it is there."""
        done = self.repo.run("rev-list", "--objects", "--quiet", *trees)
        return done.stderr.decode(errors="replace") if done.returncode else ""

    def _index_tree(self) -> str | None:
        index = self.repo.git_dir() / "index"
        with tempfile.TemporaryDirectory(dir=self.store.parent) as folder:
            copy = Path(folder, "index")
            if index.exists():
                shutil.copy2(index, copy)
            env = {
                "GIT_INDEX_FILE": os.fspath(copy),
                "GIT_OBJECT_DIRECTORY": os.fspath(self.store),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fspath(self.repo.common_dir() / "objects"),
            }
            quiet = ("-c", "core.splitIndex=false")
            return self.repo.git(*quiet, "write-tree", "--missing-ok", env=env, check=False) or None

    def _hidden(self) -> list[tuple[bytes, str]]:
        """List dirty submodules, and flagged files (assume-unchanged, skip-worktree) that are not as indexed."""
        found = []
        for line in self.ask("ls-files", "-v", "-s", "-z").split("\0")[:-1]:
            if not (line[0].islower() or line[0] == "S"):
                continue
            meta, name = line[2:].split("\t", 1)
            mode, oid, _ = meta.split(" ")
            path = os.fsencode(name)
            full = self.repo.at(path)
            there = full.is_symlink() or full.is_file()
            if mode == "160000":
                continue
            now = _look(full) if there else ("", b"")
            if not self._is_as_indexed(path, mode, oid, now):
                found.append((path, f"{line[0]} {now[0]} {hashlib.sha256(now[1]).hexdigest()}"))
        return found + self._dirty_submodules()

    def _is_as_indexed(self, path: bytes, mode: str, oid: str, now: tuple[str, bytes]) -> bool:
        if now[0] == "120000":
            return mode == "120000" and self._hash(now[1]) == oid
        seen = mode if self._blind() and {now[0], mode} <= {"100644", "100755"} else now[0]
        return (seen, self.ask("hash-object", "--", path) if now[0] else "") == (mode, oid)

    def _hash(self, data: bytes) -> str:
        return self.repo.git("hash-object", "--stdin", input=data)

    def _blind(self) -> bool:
        return self.ask("config", "--type=bool", "--default=true", "core.fileMode") == "false"

    def _dirty_submodules(self) -> list[tuple[bytes, str]]:
        found: list[tuple[bytes, str]] = []
        if not (self.repo.path / ".gitmodules").exists() and not (self.repo.git_dir() / "modules").exists():
            return found
        status = self.ask("status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none")
        for entry in status.split("\0"):
            words = entry.split(" ", {"1": 8, "u": 10}.get(entry[:1], 0))
            if len(words) in (9, 11) and words[2][0] == "S" and ("M" in words[2] or "U" in words[2]):
                path = os.fsencode(words[-1])
                inner = GitRepo(self.repo.at(path), env=self.repo.env)
                found.append((path, "submodule " + inner.oracle()))
        return found


def unquoted(text: str) -> bytes:
    """Return the path that stands in `text` as git quotes paths."""
    raw = os.fsencode(text)
    if not raw.startswith(b'"'):
        return raw
    return re.sub(rb"\\([0-7]{3}|.)", lambda match: _ESCAPES.get(match[1]) or bytes([int(match[1], 8)]), raw[1:-1])


def _look(file: Path) -> tuple[str, bytes]:
    if file.is_symlink():
        return "120000", os.fsencode(file.readlink())
    return "100755" if file.stat().st_mode & 0o100 else "100644", file.read_bytes()


def _mode_and_oid(meta: str) -> tuple[str, str]:
    mode, _, oid = meta.split(" ")
    return mode, oid
