"""Objects and HEAD read by libgit2, for a process that lives long: it loads once, and starts no `git cat-file`.

git itself is asked whatever libgit2 cannot answer: sha256, reftable, partial clones, other object folders, missing and
damaged objects, any other name.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from git_taskctx.git.objects import Kind, Look, Object
from git_taskctx.git.process import Git
from git_taskctx.lean import regex

_KINDS: dict[int, Kind] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OID = regex(r"[0-9a-f]{40}")
_HEAD = "HEAD^{commit}"
_ELSEWHERE = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR")
"""Variables that libgit2 does not read when it opens a git dir."""


def look_inside(git_dir: Path, git: Git, algorithm: str) -> Look | None:
    """Open a repository as it is now; None where git reads it all."""
    import pygit2

    if algorithm != "sha1" or not git.environment().keys().isdisjoint(_ELSEWHERE):
        return None
    try:
        opened: Any = pygit2.Repository(os.fspath(git_dir))
    except (pygit2.GitError, KeyError, ValueError):  # an extension that it does not know, a path that is no text
        return None

    def look(name: str, limit: int | None) -> Object | None:
        with contextlib.suppress(pygit2.GitError, KeyError, ValueError):
            oid = str(opened.head.peel(pygit2.Commit).id) if name == _HEAD else name
            if _OID.fullmatch(oid) is None:
                return None
            kind, size = opened.odb.read_header(oid)
            if limit is not None and size > limit:
                return Object(oid, _KINDS[kind], b"", whole=False)
            return Object(oid, _KINDS[kind], opened.odb.read(oid)[1])
        return None

    return look
