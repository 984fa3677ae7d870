"""Damaged refs of ours, as after a power cut, and how to repair them."""

from __future__ import annotations

import os
from pathlib import Path

from git_taskctx.errors import BadData
from git_taskctx.git.process import Git
from git_taskctx.lean import regex
from git_taskctx.shell import shell_word

_NEW = regex(rb"[0-9a-f]+ ([0-9a-f]{40,64}) .*")
LOOKED_BACK = 100
"""Maximum number of examined moves of a ref."""


def damaged(git: Git, ref: str) -> BadData:
    """Return the error for an unreadable ref: its last value by the reflog, or that it may be deleted."""
    place = _place(git, ref)
    if not place.is_file():
        return BadData(f"the ref {ref} is damaged", hint="git fsck")
    found = _last_whole(git, _place(git, f"logs/{ref}"))
    again = (
        f" && git update-ref {ref} {found}   # where its reflog says it was"
        if found
        else "   # the next verb goes on without it"
    )
    return BadData(f"the ref {ref} is damaged", hint=f"rm {shell_word(place)}{again}")


def lost(ref: str, oid: str) -> BadData:
    """Return the error for a ref whose object is missing."""
    return BadData(
        f"the ref {ref} is damaged: {oid[:12]} is not in this repository",
        hint=f"git update-ref -d {ref}   # the next verb goes on without it",
    )


def _place(git: Git, name: str) -> Path:
    out = git.run("rev-parse", "--git-path", name).out
    return Path(os.path.normpath(git.cwd / os.fsdecode(out.removesuffix(b"\n"))))


def _last_whole(git: Git, log: Path) -> str | None:
    """Return a ref's last value in the reflog that is a commit here."""
    if not log.is_file():
        return None
    moves = reversed(log.read_bytes().splitlines()[-LOOKED_BACK:])
    oids = [match[1] for line in moves if (match := _NEW.fullmatch(line))]
    out = git.run("cat-file", "--batch-check", stdin=b"".join(oid + b"\n" for oid in oids)).out.splitlines()
    return next((line.split()[0].decode() for line in out if line.split()[1:2] == [b"commit"]), None)
