"""Whether the commit about to be made replaces HEAD, which git does not pass to its hooks.

Two signs: the command line of the git above us, where the system shows it, and the author that git sets for the new
commit (`GIT_AUTHOR_*`, in every pre-commit hook), which `--amend` keeps. The first decides if it is readable: two
commits of one second have the same author too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from git_taskctx.git.repository import Repository
from git_taskctx.hooks.above import commit_above
from git_taskctx.lean import regex
from git_taskctx.model.oids import CommitOid

_AMEND = regex(rb"--am(e(nd?)?)?")
"""git accepts every unique prefix of an option."""


def is_amend(repository: Repository, environ: Mapping[str, str], head: CommitOid) -> bool:
    """Return whether a commit replaces `head`."""
    above = commit_above()
    if above is not None:
        words = above[0]
        options = words[1 : words.index(b"--")] if b"--" in words else words[1:]
        return any(_AMEND.fullmatch(word) for word in options)
    return _has_author_of(repository, environ, head)


def _has_author_of(repository: Repository, environ: Mapping[str, str], head: CommitOid) -> bool:
    name, mail, date = (environ.get(f"GIT_AUTHOR_{part}") for part in ("NAME", "EMAIL", "DATE"))
    if name is None or mail is None or date is None:
        return False
    author = os.fsencode(f"author {name} <{mail}> {date.removeprefix('@')}")
    return author in repository.objects.get(head, "commit").split(b"\n\n", 1)[0].split(b"\n")
