"""The commits made here since the last record.

The reflog's words are the caller's (`GIT_REFLOG_ACTION`, `update-ref -m`): they can accuse, never excuse. A commit that
is on no remote and no other branch was made here. Commits of others, brought by pull or merge, are known by where else
they are; rebased ones by author and the commit they replace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_taskctx.context.session import Session
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.repository import Repository
from git_taskctx.lean import regex
from git_taskctx.model.oids import CommitOid

LOOKED_BACK = 100
"""Maximum number of moves of HEAD, and of commits, examined."""
_MADE = regex(r"(commit|cherry-pick|revert|am)\b.*|(merge|pull)\b.*: Merge made\b.*", re.DOTALL)
"""The reflog's words for a commit made here."""


def commits_since(session: Session) -> list[tuple[CommitOid, str]]:
    """Return the commits made here since HEAD was where the chain expects it, oldest first, and how each was made."""
    repository, chain = session.repository, session.chain
    head, expected = repository.find_commit("HEAD"), chain.head
    if head in (None, expected) or head is None or repository.operation() in ("rebase", "am"):
        return []
    words = _moves(repository, expected)
    before = [f"^{expected}"] if expected is not None and repository.objects.has(expected) else []
    seen = _in_order(list(words)[::-1], _listed(repository, head, *before))
    around = set(chain.bypassed)
    replaced = _listed(repository, *(one[1:] for one in before), *sorted(around), f"^{head}")
    lost = {_author(repository, oid): oid for oid in replaced}
    near = set(_listed(repository, *seen, *before, "--not", "--remotes", *_fetched(repository)))
    own = [chain.branch] if chain.branch is not None else []
    if expected is None or expected not in replaced:  # HEAD came here by going on from there
        current = repository.head().branch
        own += [current] if current is not None else []
    others = [f"--exclude={branch}" for branch in own]
    apart = near & set(
        _listed(repository, *seen, *before, "--not", "--remotes", *_fetched(repository), *others, "--branches")
    )
    found: list[tuple[CommitOid, str]] = []
    for oid in seen:
        named = _MADE.fullmatch(words.get(oid, ""))
        former = lost.get(_author(repository, oid))
        if former is not None and repository.parents_of(former) == repository.parents_of(oid):
            former = None  # it was made in the place of that one, not anew on another base
        if former is not None and former != oid and former in around:
            how = "rebase"
        elif named is not None:
            how = named[1] or named[2]
        elif former is None and (oid in apart or (oid in near and _holds_work(session, oid))):
            how = "merge" if len(repository.parents_of(oid)) > 1 else "update-ref"
        else:
            continue
        found.append((oid, how))
        around.add(oid)
    return found


def _moves(repository: Repository, expected: CommitOid | None) -> dict[CommitOid, str]:
    """Return the moves of HEAD since it was expected, newest first, with the reflog's words; none if unknown."""
    # log.showSignature would put what gpg says between the lines (git-log).
    log = repository.git.run(
        "log", "-g", "-n", str(LOOKED_BACK), "--no-show-signature", "--format=%H %gs", "HEAD", "--", ok=(0, 128)
    )
    moves = [line.partition(" ") for line in log.out.decode("utf-8", "replace").splitlines()]
    found: dict[CommitOid, str] = {}
    for oid, _, words in moves:
        if oid == expected:
            return found
        found.setdefault(CommitOid(oid), words)
    return found if expected is None and len(moves) < LOOKED_BACK else dict(list(found.items())[:1])


def _listed(repository: Repository, *words: str) -> list[CommitOid]:
    """Return the commits that `git rev-list` lists, oldest first; none without arguments."""
    if not words or words[0].startswith(("^", "--")):
        return []
    options = ("--topo-order", "--reverse", "--ignore-missing", "-n", str(LOOKED_BACK))
    git = repository.git.with_env(GIT_NO_REPLACE_OBJECTS="1")
    return [CommitOid(oid) for oid in git.run("rev-list", *options, *words, "--", ok=(0, 128)).out.decode().split()]


def _in_order(moves: Sequence[CommitOid], listed: Sequence[CommitOid]) -> list[CommitOid]:
    """Return all commits, parents first, and those that HEAD left in the order of its moves."""
    found, left = dict[CommitOid, None](), list(listed)
    for oid in moves:
        if oid in left:
            end = left.index(oid) + 1
            found |= dict.fromkeys(left[:end])
            left = left[end:]
        found.setdefault(oid)
    return [*found, *(oid for oid in left if oid not in found)]


def _author(repository: Repository, commit: CommitOid) -> bytes:
    """Return a commit's author and date, which a rebase keeps."""
    head = repository.objects.get(commit, "commit").partition(b"\n\n")[0]
    return next((line for line in head.split(b"\n") if line.startswith(b"author ")), b"")


def _fetched(repository: Repository) -> Iterator[str]:
    """Yield what was fetched last, which no ref may keep."""
    from git_taskctx.files import read_plain

    data = read_plain(repository.git_dir / "FETCH_HEAD") or b""
    for line in data.decode("ascii", "replace").splitlines()[:LOOKED_BACK]:
        oid = line.partition("\t")[0]
        if repository.find_commit(oid) == oid:
            yield oid


def _holds_work(session: Session, commit: CommitOid) -> bool:
    """Return whether a commit contains an agent's work, which nobody else can have made."""
    repository, chain = session.repository, session.chain
    before = repository.tree_of(chain.head if chain.head is not None else None)
    work = {(change.path, change.oid) for change in compare_trees(repository, before, chain.settled_tree)}
    parent = repository.parent_of(commit)
    brought = compare_trees(repository, repository.tree_of(parent), repository.tree_of(commit))
    return any((change.path, change.oid) in work for change in brought)
