"""Which commits a proof is about, and what of each can be read without a worktree."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from git_taskctx.errors import CouldNotTell, Fatal, GitFailed, Usage
from git_taskctx.files import read_plain
from git_taskctx.git.objects import read_head
from git_taskctx.git.refs import read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation

COMMIT_LIMIT = 4 * 1024 * 1024
"""Bytes of a commit; what is larger is not read."""
BATCH = 100
"""Maximum number of commits that are read with one question each way."""
MAP_LIMIT = 256 * 1024 * 1024
NEAR = 64
"""Maximum number of commits down first parents that are looked at before git is asked for an ancestor."""
_NAME = re.compile(r"(?:(?![~^:]|@\{).)*", re.DOTALL)
"""The ref in what names a commit (gitrevisions)."""
_SHORT = re.compile(r"[0-9a-f]{4,64}")
_DESCRIBED = re.compile(r"\A.*-g(?=[0-9a-fA-F]{4,64}\Z)", re.DOTALL)
"""What stands before an oid in what `git describe` says."""
COMMIT_MAP = "filter-repo/commit-map"
"""Where git-filter-repo leaves the old and new names of commits, in the git dir."""


@dataclass(frozen=True)
class Commit:
    """A commit as its raw object has it: history that is cut, grafted or replaced does not matter."""

    oid: CommitOid
    tree: TreeOid
    parents: tuple[CommitOid, ...]
    subject: str
    time: int | None = None
    """When it was committed, in seconds since the epoch; None where that does not read."""
    odd: str | None = None
    """What in its head git would not have written; None for a plain commit."""

    @property
    def parent(self) -> CommitOid | None:
        """Its first parent."""
        return self.parents[0] if self.parents else None


@dataclass(frozen=True)
class Range:
    """What is to be proved: all that `tip` reaches and none of `without` does."""

    name: str
    tip: CommitOid
    without: tuple[CommitOid, ...]
    policy: CommitOid | None
    """The commit that the policy is read from; None before the first commit."""
    is_alone: bool = False
    """True when it is the tip alone: one commit was asked for, and no merge."""
    first: CommitOid | None = None
    """The first parent of a merge that was asked for alone: nobody named it as a base, so it must be proved itself."""
    start: CommitOid | None = None
    """What the tip comes after, as somebody named it; None where nothing is said to come before it."""
    depth: int = 0
    """How many merges were asked for on the way down first parents to this one."""


def resolve_range(repository: Repository, text: str, policy: str | None = None) -> Range:
    """Read `REV` or `A..B`; a lone commit is judged by the policy of its first parent, a range by that of A.

    `policy` names another commit for that. Raises: Fatal for what names no commit, or two; Usage for `A...B`.
    """
    start, dots, end = text.partition("..")
    if end.startswith("."):
        raise Usage(f"'{text}' is not a range with a base", Situation("proof.not_a_range", start=start, end=end[1:]))
    if dots:
        base, tip = (resolve_name(repository, word or "HEAD") for word in (start, end))
        what = Range(text, tip, (base,), base, start=base)
    else:
        what = lone_range(repository, text, resolve_name(repository, text))
    return what if policy is None else replace(what, policy=resolve_name(repository, policy))


def lone_range(repository: Repository, name: str, tip: CommitOid) -> Range:
    """Return the range of one commit, which is judged by the policy of its first parent; of a merge, what it merged.

    Raises: CouldNotTell when the commit is not here.
    """
    parents = read_commit(repository, tip).parents
    first, is_merge = next(iter(parents), None), len(parents) > 1
    without = (first,) if first is not None and repository.objects.has(first) else ()
    return Range(name, tip, without, first, not is_merge, first if is_merge else None)


def resolve_name(repository: Repository, text: str) -> CommitOid:
    """Resolve a user's words to a commit, as git does. Raises: Fatal for none, and where they may mean another.

    git takes a tag before a branch, and any ref before the beginning of an oid (gitrevisions(7), <refname>). Many may
    push one who may not push to the branch, and a base decides what is new and whose rules hold.
    """
    commit = repository.resolve_commit(text)
    name, _ = split_name(text)
    if name in ("", "@", "HEAD") or (len(name) == len(repository.objects.zero) and _SHORT.fullmatch(name.lower())):
        return commit  # git looks for no other meaning, whatever refs there are
    meant = repository.find_commit(name)
    refs = _refs_called(repository, name)
    taken = next((what for ref, what in refs.items() if repository.find_commit(ref) == meant), "a file of the git dir")
    others = [*refs.items(), *((oid, "the beginning of an oid") for oid in _abbreviated(repository, name))]
    for other, what in others:
        if repository.find_commit(other) not in (None, meant):
            where = other if other in refs else other[:12]
            hint = f"git show-ref {shlex.quote(name)}   # name the one that is meant in full"
            raise Fatal(f"'{text}' is {taken}, and {what} ({where})", hint=hint)
    return commit


_PLACES = {"refs/": "a ref", "refs/tags/": "a tag", "refs/heads/": "a branch", "refs/remotes/": "a branch"}
"""Where git looks for a name, in its order."""


def _refs_called(repository: Repository, name: str) -> dict[str, str]:
    """Return the refs that git may take for a name, the one that it takes first, and what to call each."""
    places = {f"{place}{name}": what for place, what in _PLACES.items()}
    places[f"refs/remotes/{name}/HEAD"] = "a branch"
    there = read_refs(repository.git, *places)
    return {ref: what for ref, what in places.items() if ref in there}


def split_name(text: str) -> tuple[str, str]:
    """Split what names a commit into the ref, and how it goes on from there (`~2`, `^`, `@{1}`)."""
    end = _NAME.match(text).end()  # type: ignore[union-attr] # it matches anything
    return text[:end], text[end:]


def find_short(repository: Repository, name: str, rest: str) -> CommitOid | None:
    """Return the only commit whose oid begins with `name`, gone on from; None where there is none, or are more.

    `git rev-parse` would take a ref of that name.
    """
    found = _abbreviated(repository, name) if _SHORT.fullmatch(name) else []
    return repository.find_commit(found[0] + rest) if len(found) == 1 else None


def _abbreviated(repository: Repository, name: str) -> list[CommitOid]:
    """Return the commits whose oids begin with `name`, or with how it ends in the way of `git describe`."""
    name = _DESCRIBED.sub("", name).lower()
    if not _SHORT.fullmatch(name):
        return []
    oids = repository.git.run("rev-parse", f"--disambiguate={name}").out.decode().split()
    return [CommitOid(oid) for oid in dict.fromkeys(oids) if repository.find_commit(oid) == oid]


def list_commits(repository: Repository, what: Range) -> list[Commit]:
    """Return the commits of a range, newest first and none after its parents.

    Raises: CouldNotTell when one is missing.
    """
    tip = read_commit(repository, what.tip)
    if what.is_alone or tip.odd is not None:  # no more is needed to judge it, and git itself may not read it
        return [tip]
    try:
        return _walk(repository, what)
    except GitFailed as error:
        raise CouldNotTell(f"the history of {what.name} does not read: {error.message}", hint="git fsck") from error


def find_cuts(repository: Repository, what: Range, listed: Mapping[CommitOid, Commit]) -> list[CommitOid]:
    """Return the listed commits of a range below which history is cut, so that more of the range may be missing."""
    here = {*listed, *what.without}
    return [oid for oid in shallow_commits(repository) if oid in listed and not here.issuperset(listed[oid].parents)]


def count_dropped(repository: Repository, what: Range, listed: Iterable[Commit]) -> int | None:
    """Return how many commits the start of a range has that its tip has not; None where history is cut before that."""
    start = what.start
    if start in (None, what.tip) or any(start in commit.parents for commit in listed):
        return 0
    dropped = len(between(repository, [start], [what.tip]))
    return None if dropped and repository.is_shallow else dropped


def shallow_commits(repository: Repository) -> list[CommitOid]:
    """Return the commits below which history is cut."""
    data = read_plain(repository.common_dir / "shallow", limit=MAP_LIMIT)
    return [CommitOid(oid) for oid in (data or b"").decode("ascii", "replace").split()]


def between(repository: Repository, tips: Iterable[CommitOid], without: Iterable[CommitOid]) -> list[CommitOid]:
    """Return what `tips` reach and `without` do not, newest first and none after its parents."""
    git = repository.as_written
    listed = git.run("rev-list", "--topo-order", "--end-of-options", *tips, *(f"^{one}" for one in without))
    return [CommitOid(oid) for oid in listed.out.decode().split()]


def _walk(repository: Repository, what: Range) -> list[Commit]:
    oids, commits = between(repository, [what.tip], what.without), []
    for start in range(0, len(oids), BATCH):
        some = oids[start : start + BATCH]
        repository.objects.read_ahead(some, limit=COMMIT_LIMIT)
        commits += [read_commit(repository, oid) for oid in some]
    return commits


def find_commit(repository: Repository, oid: CommitOid) -> Commit | None:
    """Return a commit; None where it is not in this clone, or is none."""
    try:
        return read_commit(repository, oid)
    except CouldNotTell:
        return None


def read_commit(repository: Repository, oid: CommitOid) -> Commit:
    """Read a raw commit. Raises: CouldNotTell when it is missing, damaged, or too large to be one."""
    found = repository.objects.find(oid, limit=COMMIT_LIMIT)
    if found is None or found.kind != "commit":
        raise CouldNotTell(f"the commit {oid} is not in this repository", hint="git fetch --deepen=1")
    if not found.whole:
        raise CouldNotTell(f"the commit {oid} has more than {COMMIT_LIMIT} bytes", hint="git fsck")
    try:
        head = read_head(found.data, digits=len(repository.objects.zero))
    except CouldNotTell as error:
        raise CouldNotTell(f"the commit {oid} is damaged", hint=error.hint) from error
    subject = head.message.lstrip(b"\n").partition(b"\n")[0].decode("utf-8", "replace")
    return Commit(oid, head.tree, head.parents, subject[:200], head.time, head.odd)


def read_commit_map(repository: Repository, path: Path | None) -> Mapping[CommitOid, CommitOid]:
    """Return the new name of each rewritten commit; by default what git-filter-repo left in the git dir.

    Raises: Fatal, BadData for a file that does not read.
    """
    data = read_plain(path or repository.common_dir / COMMIT_MAP, limit=MAP_LIMIT)
    if data is None:
        if path is not None:
            raise Usage(f"there is no file '{path}'", hint="--commit-map .git/filter-repo/commit-map")
        return {}
    pairs = (line.split() for line in data.decode("ascii", "replace").splitlines())
    return {CommitOid(pair[0]): CommitOid(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] != "old"}


def reaches(repository: Repository, commit: Commit, wanted: CommitOid) -> bool | None:
    """Return whether `wanted` is an ancestor of a commit; None where history ends before that can be told."""
    at: Commit | None = commit
    for _ in range(NEAR):
        if at is None or at.parent is None:
            break
        if wanted in at.parents:
            return True
        at = find_commit(repository, at.parent)
    if not repository.objects.has(wanted):
        return None
    reached = repository.is_ancestor(wanted, commit.oid)
    return None if reached is False and repository.is_shallow else reached


def first_parents(commits: Mapping[CommitOid, Commit], tip: Commit) -> Iterable[Commit]:
    """Yield the commits of a range that lie below one, along first parents."""
    at = commits.get(tip.parent) if tip.parent else None
    while at is not None:
        yield at
        at = commits.get(at.parent) if at.parent else None
