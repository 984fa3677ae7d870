"""A task's scope: its patterns applied to the paths of a tree."""

from __future__ import annotations

from collections.abc import Iterable

from git_taskctx.capture.scope import compile_patterns, places_of, scope_hash
from git_taskctx.errors import CouldNotTell
from git_taskctx.git.process import Git
from git_taskctx.git.quoting import quote, unquote
from git_taskctx.git.worktree import Reading
from git_taskctx.ledger.seats import Expectation
from git_taskctx.model.context import Context
from git_taskctx.model.oids import TreeOid


def paths_in(git: Git, tree: TreeOid, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of a tree that the patterns match, sorted; none without patterns."""
    if not patterns:
        return ()
    places = (place.encode("utf-8", "surrogateescape") for place in places_of(patterns))
    listed = git.run("--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", tree, "--", *places).out
    covers = compile_patterns(patterns).covers
    paths = listed.split(b"\0")[:-1]
    return tuple(sorted(quote(path) for path in paths if covers(path.decode("utf-8", "surrogateescape"))))


def scope_hash_of(reading: Reading, context: Context, known: Expectation | None) -> str:
    """Hash the paths that the context's patterns match in a reading; empty without patterns.

    It is the `known` snapshot's if no such path was added or removed since.
    """
    patterns = context.immutable.scope_patterns
    if not patterns:
        return ""
    if known is not None and known.scope_hash and _has_same_paths(reading, known.tree, patterns):
        return known.scope_hash
    return scope_hash(paths_in(reading.git, reading.tree, patterns))


def _has_same_paths(reading: Reading, tree: TreeOid, patterns: tuple[str, ...]) -> bool:
    try:
        changes = reading.changes_since(tree)
    except CouldNotTell:
        return False
    moved = [change.path.decode("utf-8", "surrogateescape") for change in changes if change.status in "AD"]
    return not moved or not any(map(compile_patterns(patterns).covers, moved))


def outside(patterns: tuple[str, ...], paths: Iterable[str]) -> tuple[str, ...]:
    """Return the quoted paths that no pattern covers, sorted; none without patterns."""
    if not patterns:
        return ()
    covers = compile_patterns(patterns).covers
    return tuple(sorted(path for path in paths if not covers(unquote(path).decode("utf-8", "surrogateescape"))))
