"""What git does not pass to the hooks of a commit: whether it replaces HEAD, when it began, and what was put aside.

Whether it amends has two signs: the command line of the git above us, where the system shows it, and the author that
git sets for the new commit (`GIT_AUTHOR_*`, in every pre-commit hook), which `--amend` keeps. The first decides if it
is readable: two commits of one second have the same author too.

A tool may have put unstaged changes aside while it runs us, so that they are missing in the worktree. pre-commit and
prek set a variable for every hook. lint-staged and lefthook write the changes to a file in the git dir, with a stash as
a backup. The file alone proves nothing: lint-staged 16.4 leaves it, and so does a killed tool.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from git_taskctx.git.repository import Repository
from git_taskctx.lean import regex
from git_taskctx.model.oids import CommitOid
from git_taskctx.system import process

_DEPTH = 12
"""Maximum number of processes examined: shims, hook managers and shells come between git and us."""
_AMEND = regex(rb"--am(e(nd?)?)?")
"""git accepts every unique prefix of an option."""
_TOOLS = (
    ("lint-staged_unstaged.patch", b"lint-staged", b"lint-staged automatic backup"),
    ("info/lefthook-unstaged*.patch", b"lefthook", b"lefthook auto backup"),
)
"""The file, the tool's name and its stash. lefthook 2.2 names a linked worktree in its file."""


def is_amend(repository: Repository, environ: Mapping[str, str], head: CommitOid) -> bool:
    """Return whether a commit replaces `head`."""
    above = _find_commit_above()
    if above is not None:
        words = above[0]
        options = words[1 : words.index(b"--")] if b"--" in words else words[1:]
        return any(_AMEND.fullmatch(word) for word in options)
    return _has_author_of(repository, environ, head)


def _has_author_of(repository: Repository, environ: Mapping[str, str], head: CommitOid) -> bool:
    name, mail, date = (environ.get(f"GIT_AUTHOR_{part}") for part in ("NAME", "EMAIL", "DATE"))
    if name is None or mail is None or date is None:
        return False
    author = os.fsencode(f"author {name} <{mail}> {date.removeprefix('@')}")
    return author in repository.objects.get(head, "commit").split(b"\n\n", 1)[0].split(b"\n")


def is_put_aside(repository: Repository, environ: Mapping[str, str]) -> bool:
    """Return whether the worktree holds only what is staged."""
    if environ.get("PRE_COMMIT") == "1":
        return True
    return any(
        any(_patches(repository, file)) and (_is_above(name) or _is_stashed(repository, stash))
        for file, name, stash in _TOOLS
    )


def find_start(repository: Repository, *, put_aside: bool) -> float | None:
    """Return when the commit above us began, in seconds since the epoch, if later file changes are a hook's.

    None where the system does not show it, or a tool has put changes back.
    """
    above = _find_commit_above()
    if above is None:
        return None
    since = time.time() - above[1]
    patches = [patch for file, *_ in _TOOLS for patch in _patches(repository, file)]
    try:
        is_put_back = any(patch.lstat().st_ctime >= since for patch in patches)
    except FileNotFoundError:  # just now
        is_put_back = True
    return None if is_put_back and not put_aside else since


def _patches(repository: Repository, file: str) -> Iterator[Path]:
    return (found for place in (repository.git_dir, repository.common_dir) for found in place.glob(file))


def _is_above(name: bytes) -> bool:
    words = (word for line, _ in _processes_above() for word in line[:2])
    return any(os.path.basename(word).startswith(name) for word in words)  # noqa: PTH119 - bytes


def _is_stashed(repository: Repository, words: bytes) -> bool:
    """Return whether the last stash has this message, the only sign on a system without /proc."""
    return words in repository.git.run("stash", "list", "-n", "1", "--format=%gs", ok=(0, 1, 128)).out


def _find_commit_above() -> tuple[list[bytes], float] | None:
    """Return the command line of the `git commit` that runs us, and its minimum age in seconds; None if not shown."""
    for words, age in _processes_above():
        if os.path.basename(words[0]) == b"git" and b"commit" in words[1:]:  # noqa: PTH119 - bytes
            return words, age
    return None


def _processes_above() -> Iterator[tuple[list[bytes], float]]:
    """Yield the command line of each process above us, nearest first, and its age in seconds."""
    pid = os.getppid()
    for _ in range(_DEPTH):
        found = process(pid)
        if found is None:
            return
        pid = found.parent
        if found.words:
            yield found.words, found.age
