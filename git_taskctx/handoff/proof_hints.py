"""What to type about a commit that is not proved."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from git_taskctx.git.remote import remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.handoff.proof_range import Range
from git_taskctx.model.proof import MEANINGS, Code, Weight

NO_RECORDS = {Code.NO_NOTES, Code.NO_RECORD, Code.NOT_SEALED}
_HISTORY = {Code.MERGE_UNCHECKED, Code.BASE_NOT_ANCESTOR, Code.OBJECTS_MISSING}
_ELSEWHERE = {Code.MISPLACED, Code.OTHER_PARENT}


def ways_on(repository: Repository, what: Range, codes: Collection[Code]) -> tuple[str, ...]:
    """Return commands that may bring what is missing, or show what is wrong; each is one line to be typed."""
    asked, tip, ways = shlex.quote(what.name), what.tip, list[str]()
    if Code.EMPTY_RANGE in codes:
        ways.append(f"git log --oneline --end-of-options {asked}   # what is in the range")
    if Code.PART_OPEN in codes and what.without:
        end = "HEAD" if repository.find_commit("HEAD") not in (None, tip) else "BRANCH"
        ways.append(f"git taskctx verify {what.without[0][:12]}..{end}   # up to the commit that ends the task")
    if NO_RECORDS & set(codes):
        ways.append(fetch_command(repository))
    if Code.POLICY_MISSING in codes:
        ways.append(f"git fetch --deepen=1   # or: git taskctx verify {asked} --policy COMMIT, which you trust")
    if _HISTORY & set(codes) and (repository.common_dir / "shallow").exists():
        ways.append("git fetch --unshallow   # the history that is cut")
    if Code.MERGE_UNCHECKED in codes:
        ways.append(f"git taskctx verify {tip[:12]}^2   # what was merged, alone")
    if _ELSEWHERE & set(codes):
        ways.append("git taskctx verify BRANCH   # the commit that was validated, before it was squashed or rebased")
    if Code.SIGNATURE_UNCHECKED in codes:
        ways.append("gpg --import KEYS   # the signers' public keys; for ssh see: git config gpg.ssh.program")
    if any(MEANINGS[code][0] is Weight.VIOLATED for code in codes):
        ways.append(f"git notes --ref=taskctx show {tip[:12]}   # the records")
    return tuple(ways)


def fetch_command(repository: Repository) -> str:
    """Return the command that brings the notes, and merges them with those that are here."""
    remotes = remotes_of(repository.git)
    remote = "origin" if "origin" in remotes or not remotes else remotes[0]
    return f"git taskctx fetch {shlex.quote(remote)}"
