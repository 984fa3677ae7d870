"""What a task may change: its patterns against the paths of a tree."""

from __future__ import annotations

from collections.abc import Iterable

from git_taskctx.capture.scope import compile_patterns, scope_hash
from git_taskctx.git.process import Git
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.worktree import Reading
from git_taskctx.model.context import Context
from git_taskctx.model.oids import TreeOid


def paths_in(git: Git, tree: TreeOid, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of a tree that the patterns match, sorted; none where there are no patterns."""
    if not patterns:
        return ()
    listed = git.run("ls-tree", "-r", "-z", "--name-only", tree).out.split(b"\0")[:-1]
    covers = compile_patterns(patterns).covers
    return tuple(sorted(quote(path) for path in listed if covers(path.decode("utf-8", "surrogateescape"))))


def scope_hash_of(reading: Reading, context: Context) -> str:
    """Hash the paths that the context's patterns match in a reading; empty where there are no patterns."""
    patterns = context.immutable.scope_patterns
    return scope_hash(paths_in(reading.git, reading.tree, patterns)) if patterns else ""


def outside(patterns: tuple[str, ...], paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths, quoted, that no pattern covers, sorted; none where there are no patterns."""
    if not patterns:
        return ()
    covers = compile_patterns(patterns).covers
    return tuple(sorted(path for path in paths if not covers(unquote(path).decode("utf-8", "surrogateescape"))))
