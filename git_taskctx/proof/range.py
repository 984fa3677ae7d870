"""Which commits a proof is about, and what their raw objects say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from git_taskctx.errors import CouldNotTell, Fatal, GitFailed, Usage
from git_taskctx.files import read_plain
from git_taskctx.git.objects import read_head
from git_taskctx.git.refs import read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.lean import regex
from git_taskctx.limits import COMMIT_LIMIT, MAP_LIMIT
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, replace
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation

BATCH = 100
"""Maximum number of commits read in one batch."""
NEAR = 64
"""Maximum number of first parents checked before git is asked for an ancestor."""
_NAME = regex(r"(?:(?![~^:]|@\{).)*", re.DOTALL)
"""The ref in a revision (gitrevisions)."""
_SHORT = regex(r"[0-9a-f]{4,64}")
_DESCRIBED = regex(r"\A.*-g(?=[0-9a-fA-F]{4,64}\Z)", re.DOTALL)
"""The part before the oid in the output of `git describe`."""
COMMIT_MAP = "filter-repo/commit-map"
"""Where git-filter-repo records rewritten commits, in the git dir."""


@dataclass(frozen=True)
class Commit:
    """A commit as its raw object has it; shallow history, grafts and replacements have no effect."""

    oid: CommitOid
    tree: TreeOid
    parents: tuple[CommitOid, ...]
    subject: str
    time: int | None = None
    """Committer date, in seconds since the epoch; None if malformed."""
    odd: str | None = None
    """What in its header git would not have written."""

    @property
    def parent(self) -> CommitOid | None:
        return self.parents[0] if self.parents else None


@dataclass(frozen=True)
class Range:
    """The commits to prove: reachable from `tip` and not from `without`."""

    name: str
    tip: CommitOid
    without: tuple[CommitOid, ...]
    policy: CommitOid | None
    """The commit whose policy applies; None before the first commit."""
    is_alone: bool = False
    """True for a single commit that is not a merge."""
    first: CommitOid | None = None
    """The first parent of a single merge: nobody named it as a base, so it must be proved itself."""
    start: CommitOid | None = None
    """What the tip should descend from; None where nobody named it."""
    depth: int = 0
    """How many merges were followed along first parents to reach this one."""


def resolve_range(repository: Repository, text: str, policy: str | None = None) -> Range:
    """Read `REV` or `A..B`. Raises: Fatal for an unknown or ambiguous commit; Usage for `A...B`.

    A single commit is judged by the policy of its first parent, a range by that of A, unless `policy` names a commit.
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
    """Return the range of one commit, judged by its first parent's policy; for a merge, what it merged.

    Raises: CouldNotTell when the commit is missing.
    """
    parents = read_commit(repository, tip).parents
    first, is_merge = next(iter(parents), None), len(parents) > 1
    without = (first,) if first is not None and repository.objects.has(first) else ()
    return Range(name, tip, without, first, not is_merge, first if is_merge else None)


def resolve_name(repository: Repository, text: str) -> CommitOid:
    """Resolve a name as git does. Raises: Fatal for none, and where it is ambiguous.

    git prefers a tag to a branch, and any ref to an abbreviated oid (gitrevisions(7), <refname>). Whoever may push a
    ref but not the branch could otherwise choose the base, and so what is new and whose rules apply.
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
            hint = f"git show-ref {shell_word(name)}   # name the one that is meant in full"
            raise Fatal(f"'{text}' is {taken}, and {what} ({where})", hint=hint)
    return commit


_PLACES = {"refs/": "a ref", "refs/tags/": "a tag", "refs/heads/": "a branch", "refs/remotes/": "a branch"}
"""Where git looks up a name, in order."""


def _refs_called(repository: Repository, name: str) -> dict[str, str]:
    """Return the refs that a name may mean, git's choice first, with a description of each."""
    places = {f"{place}{name}": what for place, what in _PLACES.items()}
    places[f"refs/remotes/{name}/HEAD"] = "a branch"
    there = read_refs(repository.git, *places)
    return {ref: what for ref, what in places.items() if ref in there}


def split_name(text: str) -> tuple[str, str]:
    """Split a revision into the ref and its suffix (`~2`, `^`, `@{1}`)."""
    end = _NAME.match(text).end()  # type: ignore[union-attr] # it matches anything
    return text[:end], text[end:]


def find_short(repository: Repository, name: str, rest: str) -> CommitOid | None:
    """Return the only commit whose oid begins with `name`, with the suffix applied; None if there is not exactly one.

    `git rev-parse` would prefer a ref of that name.
    """
    found = _abbreviated(repository, name) if _SHORT.fullmatch(name) else []
    return repository.find_commit(found[0] + rest) if len(found) == 1 else None


def _abbreviated(repository: Repository, name: str) -> list[CommitOid]:
    """Return the commits whose oids begin with `name`, also in the form of `git describe`."""
    name = _DESCRIBED.sub("", name).lower()
    if not _SHORT.fullmatch(name):
        return []
    oids = repository.git.run("rev-parse", f"--disambiguate={name}").out.decode().split()
    return [CommitOid(oid) for oid in dict.fromkeys(oids) if repository.find_commit(oid) == oid]


def list_commits(repository: Repository, what: Range) -> list[Commit]:
    """Return a range's commits, newest first and before their parents. Raises: CouldNotTell when one is missing."""
    tip = read_commit(repository, what.tip)
    if what.is_alone or tip.odd is not None:  # no more is needed to judge it, and git itself may not read it
        return [tip]
    try:
        return _walk(repository, what)
    except GitFailed as error:
        raise CouldNotTell(f"the history of {what.name} cannot be read: {error.message}", hint="git fsck") from error


def find_cuts(repository: Repository, what: Range, listed: Mapping[CommitOid, Commit]) -> list[CommitOid]:
    """Return the listed commits of a range at which history is cut, so that more may be missing."""
    here = {*listed, *what.without}
    return [oid for oid in shallow_commits(repository) if oid in listed and not here.issuperset(listed[oid].parents)]


def count_dropped(repository: Repository, what: Range, listed: Iterable[Commit]) -> int | None:
    """Return how many commits of the start are not in the tip; None where history is cut before that."""
    start = what.start
    if start in (None, what.tip) or any(start in commit.parents for commit in listed):
        return 0
    dropped = len(between(repository, [start], [what.tip]))
    return None if dropped and repository.is_shallow else dropped


def shallow_commits(repository: Repository) -> list[CommitOid]:
    """Return the commits at which history is cut."""
    data = read_plain(repository.common_dir / "shallow", limit=MAP_LIMIT)
    return [CommitOid(oid) for oid in (data or b"").decode("ascii", "replace").split()]


def between(repository: Repository, tips: Iterable[CommitOid], without: Iterable[CommitOid]) -> list[CommitOid]:
    """Return what `tips` reach and `without` do not, newest first and before their parents."""
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
    """Return a commit; None where it is missing or is not a commit."""
    try:
        return read_commit(repository, oid)
    except CouldNotTell:
        return None


def read_commit(repository: Repository, oid: CommitOid) -> Commit:
    """Read a raw commit. Raises: CouldNotTell when it is missing, damaged or too large."""
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
    """Return the new name of each rewritten commit, by default from git-filter-repo's map. Raises: Fatal, BadData."""
    data = read_plain(path or repository.common_dir / COMMIT_MAP, limit=MAP_LIMIT)
    if data is None:
        if path is not None:
            raise Usage(f"there is no file '{path}'", hint="--commit-map .git/filter-repo/commit-map")
        return {}
    pairs = (line.split() for line in data.decode("ascii", "replace").splitlines())
    return {CommitOid(pair[0]): CommitOid(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] != "old"}


def reaches(repository: Repository, commit: Commit, wanted: CommitOid) -> bool | None:
    """Return whether `wanted` is an ancestor of a commit; None where history is cut before."""
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
    """Yield the commits of a range below one, along first parents."""
    at = commits.get(tip.parent) if tip.parent else None
    while at is not None:
        yield at
        at = commits.get(at.parent) if at.parent else None
