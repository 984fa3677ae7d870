"""Worktree to tree: the fingerprint, exactly as git itself would write it.

Two engines give the same tree. The fast one hashes only what git says changed, and declines if unsure; the exact one
lets git do everything. Neither touches the user's index, refs or files, and without `keep` no object stays.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Collection, Iterator, Sequence

from git_taskctx.errors import CouldNotTell, GitFailed, hint_in
from git_taskctx.files import ReadOnly
from git_taskctx.git.ahead import AS_WRITTEN, QUIET, STATUS, UNORDERED
from git_taskctx.git.background import Background
from git_taskctx.git.changes import NO_INDEX, compare_trees
from git_taskctx.git.fast import Declined, Later, Scan, read_fast
from git_taskctx.git.hidden import REGULAR, find_flagged, find_hidden, find_left_out, find_temporary, list_index
from git_taskctx.git.index import IndexCopy, Remembered
from git_taskctx.git.objects import ObjectStore
from git_taskctx.git.private import private_folder, quarantine, release
from git_taskctx.git.process import Git, trace
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Head, Repository
from git_taskctx.git.tree import Tree
from git_taskctx.lean import digest
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import Change, HiddenChange, Operation
from git_taskctx.model.values import dataclass


@dataclass
class Reading:
    """A reading of the worktree; facts beside its tree are read once, on demand."""

    repository: Repository
    """The repository, with the reading's objects in quarantine."""
    tree: TreeOid
    """Tracked files plus untracked files that are neither ignored nor an editor's own."""
    _real: Repository
    _scan: Scan | None
    _status: bytes | None
    _index: IndexCopy
    _listing: Background[bytes]
    _staged: Background[TreeOid | None]
    _held: bool
    _lasting: bool
    _remembered: Remembered

    @property
    def objects(self) -> ObjectStore:
        """The objects of the reading, kept or not."""
        return self.repository.objects

    @property
    def git(self) -> Git:
        """A git that sees the objects of the reading, kept or not."""
        self.objects.flush()
        return self.repository.git.with_env(GIT_INDEX_FILE=NO_INDEX)

    def keep(self) -> None:
        """Move the reading's objects into the repository, durably. Raises: ReadOnly, GitFailed."""
        if not self._held:
            raise ValueError("the reading may lack objects, or leave them to be collected: it was made without `hold`")
        self._staged.wait()  # it writes there too
        self.objects.flush()
        try:
            release(self.repository.object_dir, self._real.object_dir)
        except PermissionError as error:
            raise ReadOnly(f"cannot write objects: {(error.strerror or '').lower()}") from error
        except OSError as error:
            reason = error.strerror or ""
            raise GitFailed(f"cannot write objects: {reason.lower()}", hint=hint_in(reason)) from error
        if self._lasting:
            self._remembered.save()

    def changes_since(self, tree: TreeOid) -> list[Change]:
        """Return what differs from `tree`, by path. Raises: CouldNotTell when objects are missing."""
        return compare_trees(self.repository, tree, self.tree)

    def find_changes(self, tree: TreeOid) -> list[Change] | None:
        """Return what differs from `tree`, by path; None where objects of it are gone."""
        try:
            return self.changes_since(tree)
        except CouldNotTell:
            return None

    @functools.cached_property
    def index_tree(self) -> TreeOid | None:
        """The staged tree; None while the index is unmerged."""
        return self._scan.index_tree if self._scan is not None else self._staged.result()

    @functools.cached_property
    def head(self) -> Head:
        return self._scan.head if self._scan is not None else self.repository.head()

    @functools.cached_property
    def operation(self) -> Operation | None:
        return self.repository.operation()

    @functools.cached_property
    def status(self) -> bytes:
        """git's status, porcelain v2 with NULs, of the user's index."""
        return self._status if self._status is not None else _status_git(self.repository).run(*STATUS).out

    def find_hash(self, path: bytes) -> tuple[str, int] | None:
        """Return sha256 and size of a file that was read for the tree."""
        return self._scan.hashes.find(path) if self._scan is not None and self._scan.hashes is not None else None

    @functools.cached_property
    def hidden(self) -> tuple[HiddenChange, ...]:
        """Content that no tree shows: dirty submodules, and edits under assume-unchanged or skip-worktree."""
        listing = self._listing.result() if self.flagged else b""
        return find_hidden(self.repository, self.status, listing, _state_of)

    @functools.cached_property
    def temporary(self) -> tuple[str, ...]:
        """Editors' files beside open ones, which the tree leaves out: quoted and sorted."""
        return tuple(sorted(map(quote, find_temporary(self.status))))

    @functools.cached_property
    def flagged(self) -> frozenset[bytes]:
        """Paths under assume-unchanged or skip-worktree."""
        found = frozenset() if self._index.unflagged else find_flagged(self._listing.result())
        if not found and self._lasting:
            self._index.remember_unflagged()
        return found


@contextlib.contextmanager
def read_worktree(
    repository: Repository,
    *,
    keep: bool,
    hold: bool = False,
    cold: bool = False,
    exact: bool = False,
    lasting: bool = True,
) -> Iterator[Reading]:
    """Read the worktree into a tree.

    `keep` writes its objects to the repository at once. `hold` lets `Reading.keep` do so later: every changed file is
    read and hashed, whatever is remembered of earlier readings. Otherwise the objects are discarded.
    `exact` lets git do all of it; `cold` too, and reads every file again. `lasting` keeps what makes the next reading
    faster. Raises: GitFailed where git refuses or would leave files out; TryAgain while the worktree keeps changing.
    """
    with private_folder(repository) as folder:
        index = IndexCopy(repository, folder)
        view = repository.view(**quarantine(repository, folder / "objects"), GIT_INDEX_FILE=os.fspath(index.path))
        view.git = view.git.with_env(**_no_config_hooks(repository))
        view.ignores_case, view.ignores_known_case = repository.ignores_case, repository.ignores_known_case
        if view.ignores_known_case:
            view.git = view.git.with_settings(("core.ignorecase=false",))
        hold = hold or keep
        view.objects = ObjectStore(
            view.git, view.algorithm, durable=False, young=hold, scratch=folder, behind=repository.objects
        )
        remembered = Remembered(repository, folder, used=not (hold or cold or exact or repository.is_partial))
        listing = Background(lambda: list_index(view))
        staged = Background(lambda: index.write_tree(view.git))
        try:
            scan, status, later = None, None, None
            if not (cold or exact):
                try:
                    git = _status_git(view)
                    scan = read_fast(view, git, STATUS, view.objects, index, staged, listing, remembered, hold=hold)
                except Declined as reason:
                    trace(repository.git.environ, f"the fast engine declines: {reason}")
                    status, later = reason.status, reason.later
                    view.objects.close()
                    view.objects = ObjectStore(view.git, view.algorithm, durable=False, young=hold, scratch=folder)
            if scan is None:
                view.objects.stand_alone()
                staged.start()  # its trees are kept with the others, however late it is asked for
            if scan is not None:
                tree, stored = scan.tree, scan.stored
            else:
                from git_taskctx.git.exact import read_exact

                tree = read_exact(index, view.git, folder, cold=cold)
                tree = _without(view, tree, find_left_out(view, status if status is not None else _untracked(view)))
                _remember(view, tree, later or (), remembered)
                stored = bool(later) and repository.objects.is_stored(tree)
            status = scan.raw if scan is not None else status
            reading = Reading(view, tree, repository, scan, status, index, listing, staged, hold, lasting, remembered)
            if keep:
                reading.keep()
            elif stored and lasting:
                remembered.save()
            yield reading
        finally:
            listing.wait()
            staged.wait()
            view.close()


def _remember(view: Repository, tree: TreeOid, later: Sequence[Later], remembered: Remembered) -> None:
    """Remember the blobs that git made of files, unless one changed since it was first looked at."""
    if not later:
        return
    made = Tree(view.objects, tree)
    made.read_ahead(path for path, _, _ in later)
    for path, way, place in later:
        entry = made.find(path)
        with contextlib.suppress(OSError):
            found = os.lstat(os.fsencode(view.toplevel) + b"/" + path)
            if entry is not None and entry.mode in REGULAR:
                remembered.fill(place, remembered.key(path, found, way), found, entry.oid)


def _without(view: Repository, tree: TreeOid, paths: Collection[bytes]) -> TreeOid:
    if not paths:
        return tree
    made = Tree(view.objects, tree)
    for path in sorted(paths):
        made.remove(path)
    return made.write()


def _untracked(view: Repository) -> bytes:
    """Return the untracked files of git's status, which fails without HEAD's tree."""
    listed = view.git.run("ls-files", "--others", "--exclude-standard", "-z").out
    return b"".join(b"? %s\0" % path for path in listed.split(b"\0") if path)


def _status_git(view: Repository) -> Git:
    return view.git.with_settings(UNORDERED).with_env(**AS_WRITTEN)


def _state_of(repository: Repository) -> str:
    """Return a name for a worktree's whole state, hidden changes included."""
    with read_worktree(repository, keep=False, lasting=False) as reading:
        nested = "".join(f"{change.path}\0{change.sha256}\0" for change in reading.hidden)
        return digest("sha256", f"{reading.tree}\0{nested}".encode()).hexdigest()


def _no_config_hooks(repository: Repository) -> dict[str, str]:
    """Return the variables that disable hooks in the configuration (git 2.54 and later).

    Not `-c`, which ends a key at its first `=`, as a hook's name may have one.
    """
    off = {setting.rpartition(".")[0] for setting in QUIET}
    names = sorted({key.rsplit(".", 1)[0] for key in repository.core if key.startswith("hook.")} - off)
    count = int(repository.git.environ.get("GIT_CONFIG_COUNT") or 0)
    result = {"GIT_CONFIG_COUNT": str(count + len(names))} if names else {}
    for number, name in enumerate(names, count):
        result |= {f"GIT_CONFIG_KEY_{number}": f"{name}.enabled", f"GIT_CONFIG_VALUE_{number}": "false"}
    return result
