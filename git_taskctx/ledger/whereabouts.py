"""Where records may be: the ledger, notes fetched from remotes, and the remote that may have more."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.process import Git
from git_taskctx.git.refs import read_refs
from git_taskctx.git.remote import fetch_places, remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.lean import regex
from git_taskctx.ledger.refs import REMOTES
from git_taskctx.model.canonical import sha256_hex

_NO_REF = regex(r"[\s\x00-\x1f\x7f~^:?*\[\\]|\.\.|@\{|//|(?:^|/)\.|\.lock(?:/|$)|^/|[/.]$")
"""Characters that a ref must not contain (git-check-ref-format)."""


def all_notes(repository: Repository) -> tuple[str, ...]:
    """Return the notes commits of this clone: the ledger and the fetched ledgers of remotes.

    Other fetched refs do not count: a server may let anyone push them.
    """
    known = fetch_places(repository.git, NOTES_REF)
    places = [NOTES_REF, *(f"{REMOTES}/{remote}/notes" for remote, _ in known)]
    places += (place for _, place in known if place is not None and place.startswith(f"{REMOTES}/"))
    found = read_refs(repository.git, *places)
    return tuple(dict.fromkeys(found[place] for place in places if place in found))


def likely_remote(names: Sequence[str]) -> str:
    """Return the most likely remote: origin, or the first."""
    return "origin" if "origin" in names or not names else names[0]


def place_of(git: Git, remote: str) -> str:
    """Return the folder of what is fetched from `remote`, which may be an address."""
    is_name = remote in remotes_of(git) and not _NO_REF.search(remote)
    name = remote if is_name else f"at-{sha256_hex(remote.encode('utf-8', 'surrogateescape'))[:12]}"
    return f"{REMOTES}/{name}"
