"""A refspec that makes `git fetch` bring a remote's ledger too, never over ours.

It is a pattern: a full ref name would make the fetch fail while the remote lacks it. The target is
`refs/taskctx/remotes`, so that `--prune` and `--force` cannot remove anything of ours; proofs read it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.errors import Fatal, Refused
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.quoting import shown
from git_taskctx.git.refs import read_refs
from git_taskctx.git.remote import remotes_of
from git_taskctx.hooks import steps
from git_taskctx.hooks.place import Place
from git_taskctx.hooks.steps import HookChange
from git_taskctx.ledger.refs import REMOTES, SEEN
from git_taskctx.situation import Situation

_OURS = re.compile(re.escape(f"+{NOTES_REF}*:{REMOTES}/") + r"(?P<remote>.+)/notes\*")
_FETCHED = re.compile(
    re.escape(f"{REMOTES}/") + rf"(?P<remote>(?!at-[0-9a-f]{{12}}/).+?)/(?:{SEEN}|notes.*|(?:contexts|snapshots)/.*)"
)


def find_named(value: str) -> str | None:
    """Return the remote that a line of ours is for; None if it is not ours."""
    found = _OURS.fullmatch(value)
    return found["remote"] if found else None


def let_fetch(place: Place, remote: str) -> Iterator[HookChange]:
    """Yield the steps that make `git fetch` bring the ledger of `remote`. Raises: Fatal for an unknown remote; Refused.

    Refused where it has no refspec of its own: with ours alone `git fetch` would bring nothing else.
    """
    known = remotes_of(place.git)
    if remote not in known:
        raise Fatal(f"there is no remote {shown(remote)!r} (known: {', '.join(known) or 'none'})", hint="git remote -v")
    key = f"remote.{remote}.fetch"
    lines = [value for name, value in _lines(place) if name == key]
    if all(find_named(line) for line in lines):
        raise Refused(
            f"{key} is not set, and with a line of ours alone `git fetch` would bring nothing else",
            Situation("hooks.no_line_of_its_own", remote=remote),
        )
    wanted = f"+{NOTES_REF}*:{REMOTES}/{remote}/notes*"
    for line in lines:
        if find_named(line) and line != wanted:
            yield steps.unset_config(place.git, "--local", key, line)
    if wanted not in lines:
        yield steps.add_config(place.git, "--local", key, wanted)


def let_be(place: Place) -> Iterator[HookChange]:
    """Yield the steps that remove our lines; what was fetched stays."""
    for key, value in dict.fromkeys(_lines(place)):
        if find_named(value):
            yield steps.unset_config(place.git, "--local", key, value)


def find_left(place: Place) -> list[str]:
    """Return the names of removed remotes that left something here. Raises: BadData for a damaged ref.

    Fetches from an address have no name; a folder that contains another remote's is left out.
    """
    refs = read_refs(place.git, REMOTES)
    names = {found["remote"] for ref in refs if (found := _FETCHED.fullmatch(ref))}
    if not names:
        return []
    kept = {*remotes_of(place.git), *filter(None, (find_named(value) for _, value in _lines(place)))}
    return sorted(name for name in names if not any(f"{one}/".startswith(f"{name}/") for one in kept))


def _lines(place: Place) -> list[tuple[str, str]]:
    found = place.git.run("config", "-z", "--get-regexp", r"^remote\..*\.fetch$", ok=(0, 1)).out
    entries = found.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [(key, value) for key, _, value in (entry.partition("\n") for entry in entries)]
