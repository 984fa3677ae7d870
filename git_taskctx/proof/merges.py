"""Merge commits, proved through their parents if git's automatic merge gives the same tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_taskctx.git.patch import bare_git
from git_taskctx.git.private import private_folder
from git_taskctx.git.process import Git
from git_taskctx.git.repository import Repository
from git_taskctx.limits import COMMIT_LIMIT, MERGES_LIMIT
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Code, Proof, Proven, Reason, is_violated
from git_taskctx.model.values import NamedTuple, replace
from git_taskctx.proof.found import CUT_OFF
from git_taskctx.proof.range import Commit, Range, between, find_commit, lone_range, shallow_commits

if TYPE_CHECKING:
    from git_taskctx.proof.found import Judged

WAYS = ((), ("merge.directoryRenames=false",))
"""How merges are made: git's default, and servers' merges, which do not follow renamed folders."""
_MERGE = ("merge-tree", "--write-tree", "--no-messages", "--name-only")
_CUT = "history is cut, and what was merged with it"
_USAGE = 129
"""git's exit code for an unknown option."""


class _Made(NamedTuple):
    """git's merge of two parents."""

    tree: TreeOid | None = None
    refused: str | None = None
    """Why git made no tree."""


def prove_merges(
    repository: Repository, merges: Sequence[Commit], found: dict[CommitOid, Judged], cuts: Collection[CommitOid]
) -> None:
    """Prove merges by their parents; `merges` lists each one after its parents.

    A parent that was not judged lies before the range. Below the commits in `cuts` nothing is known.
    """
    merges = [merge for merge in merges if not is_violated(found[merge.oid].reasons)]
    for merge in merges:
        if merge.oid in cuts:
            found[merge.oid] = replace(found[merge.oid], reasons=(_unchecked(_CUT),))
    merges = [merge for merge in merges if merge.oid not in cuts]
    hopeful: dict[CommitOid, Commit] = {}
    for merge in merges:
        if not (_open_parents(merge, found) - hopeful.keys()):
            hopeful[merge.oid] = merge
    faults = check_merges(repository, list(hopeful.values()))
    for merge in merges:
        one, open_parents = found[merge.oid], _open_parents(merge, found)
        if open_parents:
            names = ", ".join(parent[:12] for parent in merge.parents if parent in open_parents)
            codes = {reason.code for parent in open_parents for reason in found[parent].reasons}
            own = (reason for reason in one.reasons if reason.code is Code.OTHER_PARENT)
            found[merge.oid] = replace(one, reasons=(_open(repository, names, codes), *own))
        elif (reason := faults[merge.oid]) is not None:
            found[merge.oid] = replace(one, reasons=(reason,))
        else:
            found[merge.oid] = replace(one, task=None, context=None, reasons=(), by="merge")


def prove_first(
    repository: Repository, what: Range, found: dict[CommitOid, Judged], prove: Callable[[Range], Proof]
) -> None:
    """Reject a single merge proved as a merge if its first parent is not proved itself.

    `prove` judges another range. Such a parent may be a merge too, judged by the rules before it unless a policy was
    named.
    """
    rests = [oid for oid, one in found.items() if one.by == "merge"]
    if what.first is None or what.first not in what.without or not rests:  # what is not here is excluded from nothing
        return
    if what.depth == MERGES_LIMIT:
        reason = _unchecked(f"more than {MERGES_LIMIT} merges lie upon each other; name a base that is trusted")
    else:
        below = replace(lone_range(repository, what.first[:12], what.first), depth=what.depth + 1)
        judged = prove(below if what.policy == what.first else replace(below, policy=what.policy))
        if judged.commits[0].verdict is Proven.VERIFIED:  # whatever `proof.scope` lets be
            return
        codes = {reason.code for one in judged.commits for reason in one.reasons}
        reason = _open(repository, what.first[:12], codes)
    for oid in rests:
        found[oid] = replace(found[oid], reasons=(reason,), by=None)


def _open_parents(merge: Commit, found: Mapping[CommitOid, Judged]) -> set[CommitOid]:
    return {parent for parent in merge.parents if parent in found and found[parent].by is None}


def check_merges(repository: Repository, merges: Sequence[Commit]) -> dict[CommitOid, Reason | None]:
    """Return why each merge differs from the automatic merge of its parents; None where it does not.

    One git process makes them all, plus one for each that fails; git before 2.39 takes no list and needs one each.
    """
    repository.objects.read_ahead([parent for merge in merges for parent in merge.parents], limit=COMMIT_LIMIT)
    known = {parent: find_commit(repository, parent) for parent in {one for merge in merges for one in merge.parents}}
    faults: dict[CommitOid, Reason | None] = {}
    left = []
    for merge in merges:
        parents = [one for parent in merge.parents if (one := known[parent]) is not None]
        if len(merge.parents) != 2:
            faults[merge.oid] = _unchecked(f"a merge of {len(merge.parents)} parents is not made again")
        elif len(parents) != 2:
            faults[merge.oid] = _unchecked("a parent of the merge is not in this clone")
        elif parents[0].oid in parents[1].parents and parents[1].tree == merge.tree:
            faults[merge.oid] = None  # nothing had happened on the other side: no history is needed to see that
        else:
            left.append(merge)
    return {**faults, **(_make_again(repository, left) if left else {})}


def _make_again(repository: Repository, merges: Sequence[Commit]) -> dict[CommitOid, Reason | None]:
    """Check merges by making them again.

    git runs in an empty git dir, so that no configuration, attribute or driver applies; its objects are discarded.
    """
    faults: dict[CommitOid, Reason | None] = {}
    with private_folder(repository) as folder:
        (folder / "bare").mkdir()
        git = bare_git(repository, folder / "bare", new=folder / "new")
        if repository.is_shallow:
            git = git.with_env(GIT_SHALLOW_FILE=os.fspath(repository.common_dir / "shallow"))
        for settings in WAYS:
            left = [merge for merge in merges if merge.oid not in faults]
            for merge, made in zip(left, _make(git.with_settings(settings), left), strict=True):
                if made.refused is not None:
                    faults[merge.oid] = _unchecked(f"git cannot make the merge again: {made.refused}")
                elif made.tree == merge.tree:
                    faults[merge.oid] = None
    other = Reason(Code.MERGE_EDITED, "it is not the automatic merge of its parents")
    if repository.is_shallow:
        other = _unchecked("history is cut, and the merge base with it")
        faults |= dict.fromkeys(
            _on_cut_history(repository, [one for one in merges if faults.get(one.oid, other) is None]), other
        )
    return dict.fromkeys((merge.oid for merge in merges), other) | faults


def _on_cut_history(repository: Repository, merges: Iterable[Commit]) -> Iterator[CommitOid]:
    """Yield merges for which the full history may have another merge base.

    It cannot where no history is cut between the parents and a single base; several bases are merged recursively.
    """
    git = repository.as_written
    cuts = set(shallow_commits(repository))
    for merge in merges:
        found = git.run("merge-base", "--all", *merge.parents, ok=(0, 1)).out.decode().split()
        bases = [CommitOid(base) for base in found]
        if not cuts.isdisjoint(between(repository, merge.parents, bases if len(bases) == 1 else ())):
            yield merge.oid


def _open(repository: Repository, parents: str, codes: Collection[Code]) -> Reason:
    """Return the reason why unproved parents, for these reasons, prove no merge."""
    if repository.is_shallow and not CUT_OFF.isdisjoint(codes):
        return _unchecked(f"history is cut, and what the proof of {parents} rests on")
    return Reason(Code.PARENT_UNPROVEN, f"not proved: {parents}")


def _unchecked(why: str) -> Reason:
    return Reason(Code.MERGE_UNCHECKED, why)


def _make(git: Git, merges: Sequence[Commit]) -> list[_Made]:
    """Make merges; git stops at one it cannot make, and is restarted for those after it."""
    made: list[_Made] = []
    while len(made) < len(merges):
        left = merges[len(made) :]
        asked = "".join(f"{' '.join(merge.parents)}\n" for merge in left).encode()
        done = git.run(*_MERGE, "--stdin", stdin=asked, ok=(0, 1, 128, _USAGE))
        if done.code == _USAGE:
            return [*made, *(_make_alone(git, merge) for merge in left)]
        made += list(_read(done.out))[: len(left)]
        if len(made) < len(merges):
            made.append(_Made(refused=done.complaint))
    return made


def _make_alone(git: Git, merge: Commit) -> _Made:
    done = git.run(*_MERGE, *merge.parents, ok=(0, 1, 128, _USAGE))
    if done.code > 1:
        return _Made(refused=done.complaint)
    return _Made(TreeOid(done.out.decode("utf-8", "replace").split("\n")[0]) if done.code == 0 else None)


def _read(out: bytes) -> Iterator[_Made]:
    """Read `git merge-tree --stdin`: for each merge 1 or 0, the tree, the conflicting paths, an empty field."""
    fields = iter(out.split(b"\0"))
    for status in fields:
        tree = next(fields, b"")
        if not tree:
            return
        yield _Made(TreeOid(tree.decode("ascii", "replace")) if status == b"1" else None)
        while next(fields, b""):
            continue
