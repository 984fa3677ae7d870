"""Another repository, by name or address: list, fetch and push refs.

The only use of the network. git may ask for a password as usual; no user's hook runs.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence

from git_taskctx.errors import Fatal, GitFailed, Refused
from git_taskctx.git.process import Git, Result, way_out
from git_taskctx.git.quoting import shown
from git_taskctx.git.refs import RefMove, break_left, move_refs, read_refs
from git_taskctx.git.repository import Repository
from git_taskctx.lean import regex
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation

_ALONE = (
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "push.recurseSubmodules=no",
    "push.gpgSign=false",
    "push.followTags=false",
)
"""Settings under which only the named refs are transferred, without side effects."""
_LOST_RACE = regex(
    r"fetch first|non-fast-forward|stale info|cannot lock ref|failed to (?:update|lock) ref|incorrect old value|"
    r"reference already exists|unable to (?:lock|create)|failed to (?:update|write)"
)
"""The answers to a push that lost a race; the next try may succeed."""
_LOCK_THERE = regex(rb"^remote: .*Unable to create '(.*?\.lock)': File exists", re.MULTILINE)


@dataclass(frozen=True)
class Rejection:
    """A ref that the remote refused."""

    ref: str
    reason: str
    lock: str | None = None
    """The file on the remote that blocks it, according to its git."""

    @property
    def lost_race(self) -> bool:
        """True where another push was faster, so that a retry may succeed."""
        return _LOST_RACE.search(self.reason) is not None


def remotes_of(git: Git) -> tuple[str, ...]:
    """Return the names of the configured remotes."""
    return tuple(git.run("remote").out.decode("utf-8", "replace").splitlines())


def fetch_places(git: Git, ref: str) -> tuple[tuple[str, str | None], ...]:
    """Return the configured remotes, each with where `git fetch` puts its `ref`."""
    found = git.run("config", "-z", "--get-regexp", r"^remote\..*\.(url|fetch)$", ok=(0, 1)).out
    entries = (entry.partition("\n") for entry in found.decode("utf-8", "replace").split("\0")[:-1])
    named = ((key.removeprefix("remote.").rpartition("."), value) for key, _, value in entries)
    return tuple((remote, _place(value, ref) if kind == "fetch" else None) for (remote, _, kind), value in named)


def _place(refspec: str, ref: str) -> str | None:
    """Return where a refspec puts a ref, if anywhere."""
    source, _, target = refspec.lstrip("+").partition(":")
    head, star, tail = source.partition("*")
    found = re.fullmatch(f"{re.escape(head)}({'.*' if star else ''}){re.escape(tail)}", ref)
    return target.replace("*", found[1], 1) if found and target else None


def url_of(git: Git, remote: str) -> str:
    """Return the address that a push to `remote` uses, without password."""
    found = git.run("remote", "get-url", "--push", "--end-of-options", remote, ok=(0, 2, 128, 129))
    url = found.out.decode("utf-8", "replace").strip() if found.code == 0 else remote
    return shown(url)


def require_remote(repository: Repository, remote: str) -> str:
    """Return `remote`, a configured one or an address. Raises: Refused for anything else."""
    if remote in remotes_of(repository.git) or any(mark in remote for mark in "/:\\."):
        return remote
    known = ", ".join(remotes_of(repository.git)) or "none"
    raise Refused(f"there is no remote {remote!r} (known: {known})", hint="git remote -v")


def default_remote(repository: Repository) -> str:
    """Return the remote of `git fetch`: the branch's, the only one, or origin. Raises: Fatal."""
    git, names = repository.git, remotes_of(repository.git)
    branch = repository.head().branch
    if branch is not None:
        found = git.run("config", "--get", f"branch.{branch}.remote", ok=(0, 1)).out.decode("utf-8", "replace").strip()
        if found in names:
            return found
    if len(names) == 1:
        return names[0]
    if "origin" in names:
        return "origin"
    what = "none of the remotes is called origin" if names else "there is no remote"
    raise Fatal(what, Situation("clone.which_remote"))


def list_remote(git: Git, remote: str, *patterns: str) -> dict[str, str]:
    """Return the matching refs of `remote` with their oids. Raises: GitFailed."""
    listed = _talk(git, "ls-remote", "--refs", "--end-of-options", remote, *patterns)
    pairs = (line.split("\t", 1) for line in listed.out.decode("utf-8", "replace").splitlines())
    return {ref: oid for oid, ref in pairs}


def fetch_refs(git: Git, remote: str, refspecs: Sequence[str], *words: str) -> None:
    """Fetch just these refs, without tags; `words` limit the history, as `--depth=1`. Raises: GitFailed."""
    # Also where refs are named git moves the remote-tracking branches that remote.*.fetch maps them to; an empty
    # --refmap keeps it from that (git-fetch).
    alone = ("--no-tags", "--no-write-fetch-head", "--refmap=")
    _talk(git, "fetch", "-q", *alone, *words, "--end-of-options", remote, *refspecs)


def fetch_ref(git: Git, remote: str, ref: str, place: str, *more: str, words: Sequence[str] = ()) -> None:
    """Fetch one ref to a place of ours, and `more`; refs below that place are deleted. Raises: GitFailed.

    A pattern brings those while the remote has refs below its own.
    """
    try:
        fetch_refs(git, remote, [f"+{ref}:{place}", *more], *words)
    except GitFailed:
        in_the_way = read_refs(git, f"{place}/")
        if not in_the_way:
            raise
        move_refs(git, [RefMove(name, None, oid) for name, oid in in_the_way.items()], reason="made way")
        fetch_refs(git, remote, [f"+{ref}:{place}", *more], *words)


def push_refs(git: Git, remote: str, refs: Sequence[RefMove]) -> tuple[Rejection, ...]:
    """Push just these refs, each only if the remote's is as expected; return the rejected ones.

    Raises: GitFailed where the remote cannot be asked.
    """
    # A lease with nothing expected is refused where the ref is there already (git-push).
    leases = (f"--force-with-lease={one.ref}:{one.old or ''}" for one in refs)
    specs = (f"{one.new}:{one.ref}" for one in refs)
    words = ("push", "--porcelain", "--no-verify", *leases, "--end-of-options", remote, *specs)
    pushed = _talk(git, *words, ok=(0, 1, 128))
    locks = [os.fsdecode(lock) for lock in _LOCK_THERE.findall(pushed.err)]
    rejected = []
    for line in pushed.out.decode("utf-8", "replace").splitlines():
        if line.startswith("!\t"):
            _, names, reason = line.split("\t", 2)
            ref = names.rpartition(":")[2]
            lock = next((one for one in locks if one.endswith(f"/{ref}.lock")), None)
            rejected.append(Rejection(ref, reason, posixpath.normpath(lock) if lock else None))
    if pushed.code != 0 and not rejected:
        raise GitFailed(f"`git push`: {shown(pushed.complaint)}", hint=_hint(remote))
    return tuple(rejected)


def _talk(git: Git, *args: str, ok: Sequence[int] = (0,)) -> Result:
    words = [*(word for one in _ALONE for word in ("-c", one)), *args]
    remote = args[args.index("--end-of-options") + 1]
    talking = git.with_env(GIT_TERMINAL_PROMPT=git.environ.get("GIT_TERMINAL_PROMPT")).in_foreground()
    done = talking.run(*words, ok=(*ok, 1, 2, 128, 129))
    if done.code not in ok:
        if break_left(done.err):
            return _talk(git, *args, ok=ok)
        raise GitFailed(f"`git {args[0]}`: {shown(done.complaint)}", hint=way_out(done, git.cwd) or _hint(remote))
    return done


def _hint(remote: str) -> str:
    return f"git ls-remote {shell_word(shown(remote))}   # what git says of it"
