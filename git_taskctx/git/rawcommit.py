"""The head of a raw commit, read as git reads it: cut, grafted and replaced history does not matter.

git takes the `parent` lines that stand directly after `tree`, in either case, and looks at no others
(`parse_commit_buffer` in commit.c, up to git 2.54; `git fsck --strict` passes both). What git would not have written
itself is told apart, so that nobody has to guess what another reader makes of it.
"""

from __future__ import annotations

import re

from git_taskctx.errors import CouldNotTell
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass

_HEX = re.compile(rb"[0-9a-fA-F]+")
_ONCE = re.compile(rb"^(?:tree|parent|author|committer)\b", re.IGNORECASE | re.MULTILINE)
_WHO = re.compile(rb"author [^\n]*\ncommitter ([^\n]*)(?:\n|\Z)")
_TIME = re.compile(rb".*> ([0-9]{1,12}) [+-][0-9]{4}")


@dataclass(frozen=True)
class RawCommit:
    """What the head of a commit says."""

    tree: TreeOid
    parents: tuple[CommitOid, ...]
    """Those that git reads."""
    time: int | None
    """When it was committed, in seconds since the epoch; None where that does not read."""
    odd: str | None
    """What in it git would not have written; None for a plain commit."""
    message: bytes


def read_head(data: bytes, *, digits: int) -> RawCommit:
    """Read a raw commit of a repository whose oids have so many digits. Raises: CouldNotTell for what git cannot read.

    A parent that git cannot read ends the list, and makes the commit odd.
    """
    at, tree = len(b"tree ") + digits + 1, data[5 : 5 + digits]
    if not data.startswith(b"tree ") or data[at - 1 : at] != b"\n" or not _HEX.fullmatch(tree):
        raise CouldNotTell("the commit is damaged", hint="git fsck")
    parents: list[bytes] = []
    odd = "its tree is not in lower case" if tree != tree.lower() else None
    width = len(b"parent ") + digits
    while data.startswith(b"parent ", at) and len(data) > at + width:
        parent = data[at + len(b"parent ") : at + width]
        if not _HEX.fullmatch(parent) or data[at + width : at + width + 1] != b"\n":
            odd = "a parent of it does not read"
            break
        if parent != parent.lower():
            odd = "a parent of it is not in lower case"
        parents.append(parent.lower())
        at += width + 1
    head, _, message = data[at:].partition(b"\n\n")
    who = _WHO.match(head)
    if odd is None and (who is None or b"\0" in head):
        odd = "its head is not as git writes it"
    if odd is None and who is not None and (more := _ONCE.search(head, who.end())):
        odd = f"its head has another {more[0].decode().lower()}, which git does not read"
    time = _TIME.match(who[1]) if who is not None else None
    return RawCommit(
        tree=TreeOid(tree.lower().decode()),
        parents=tuple(CommitOid(parent.decode()) for parent in parents),
        time=int(time[1]) if time is not None else None,
        odd=odd,
        message=message,
    )
