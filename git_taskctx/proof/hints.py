"""What to type about a commit that is not proved."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.remote import remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.refs import REMOTES
from git_taskctx.ledger.whereabouts import fetch_command
from git_taskctx.model.proof import Code, Proof, Weight
from git_taskctx.proof.range import Range

SHOWN = 3
"""So many tasks are named in hints."""
NO_RECORDS = {Code.NO_NOTES, Code.NO_RECORD, Code.NOT_SEALED}
CUT_OFF = {Code.POLICY_MISSING, Code.OBJECTS_MISSING, Code.MERGE_UNCHECKED, Code.BASE_NOT_ANCESTOR, Code.OTHER_PARENT}
"""Reasons that may go away with more history."""
_HISTORY = {Code.MERGE_UNCHECKED, Code.BASE_NOT_ANCESTOR, Code.OBJECTS_MISSING}
_ELSEWHERE = {Code.MISPLACED, Code.OTHER_PARENT}


def ways_on(repository: Repository, what: Range, found: Proof) -> tuple[str, ...]:
    """Return commands that may bring what is missing, or show what is wrong; each is one line to be typed."""
    codes = found.codes
    asked, tip, ways = shlex.quote(what.name), what.tip, list[str]()
    if Code.EMPTY_RANGE in codes:
        ways.append(f"git log --oneline --end-of-options {asked}   # what is in the range")
    if Code.PART_OPEN in codes and what.without:
        end = "HEAD" if repository.find_commit("HEAD") not in (None, tip) else "BRANCH"
        ways.append(f"git taskctx verify {what.without[0][:12]}..{end}   # up to the commit that ends the task")
    if NO_RECORDS & set(codes):
        ways.append(_records_command(repository, codes))
    if Code.POLICY_MISSING in codes:
        ways.append(f"git fetch --deepen=1   # or: git taskctx verify {asked} --policy COMMIT, which you trust")
    if _HISTORY & set(codes) and repository.is_shallow:
        ways.append("git fetch --unshallow   # the history that is cut")
    elif Code.OBJECTS_MISSING in codes:
        ways.append(f"git for-each-ref {NOTES_REF} {REMOTES}   # each is a commit; git fsck tells what is missing")
    if Code.MERGE_UNCHECKED in codes:
        ways.append(f"git taskctx verify {tip[:12]}^2   # what was merged, alone")
    if Code.PARENT_UNPROVEN in codes and what.first is not None:
        trusted = f"or, where that is trusted: git taskctx verify {tip[:12]}^1..{tip[:12]}"
        ways.append(f"git taskctx verify {tip[:12]}^1   # its first parent, alone; {trusted}")
    if _ELSEWHERE & set(codes):
        ways.append("git taskctx verify BRANCH   # the commit that was validated, before it was squashed or rebased")
    if Code.SIGNATURE_UNCHECKED in codes:
        ways.append("gpg --import KEYS   # the signers' public keys; for ssh see: git config gpg.ssh.program")
    violated = [one for one in found.required if any(reason.weight is Weight.VIOLATED for reason in one.reasons)]
    for one in violated[:SHOWN]:
        if Code.COMMIT_BAD in {reason.code for reason in one.reasons}:
            ways.append(f"git cat-file commit {one.commit[:12]}   # its head")
            continue
        shown = f"git taskctx log --task {one.task}" if one.task else f"git notes --ref=taskctx show {one.commit[:12]}"
        ways.append(f"{shown}   # {'what was done' if one.task else 'the records'}")
    return tuple(dict.fromkeys(ways))


def _records_command(repository: Repository, codes: Collection[Code]) -> str:
    """Return what may bring records, and say that there may be none to bring."""
    if not remotes_of(repository.git):
        return "git taskctx list   # tasks known here; there is no remote to ask, and outside a task nobody validates"
    aside = "   # or it was committed outside a task: nobody validated it" if Code.NO_RECORD in codes else ""
    return fetch_command(repository) + aside
