"""Find the repository, and read its state: HEAD, branch, operation in progress, configuration."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from git_taskctx.errors import BadData, CouldNotTell, Fatal, GitFailed
from git_taskctx.files import begin_with, give_back
from git_taskctx.git.ahead import PLACES_OF, QUIET, SETTINGS, Process
from git_taskctx.git.objects import Look, ObjectStore, read_head
from git_taskctx.git.process import Git, stop
from git_taskctx.git.quoting import quote
from git_taskctx.limits import DISCOVERY_SECONDS, TEXT_FILE
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.snapshot import Operation
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word

if TYPE_CHECKING:
    from git_taskctx.model.snapshot import Change

_OPERATIONS: tuple[tuple[str, Operation], ...] = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/rebasing", "rebase"),
    ("rebase-apply", "am"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)

_WAITED_FOR = (
    "packed-refs", "shallow", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates",
    "refs/notes/taskctx",
)  # fmt: skip
"""Files of a git dir that git opens unchecked: a FIFO makes it wait for ever."""


_MADE = (
    "objects", "refs/notes", "refs/taskctx", "reftable", "packed-refs", "logs/refs/notes", "logs/refs/taskctx",
    "FETCH_HEAD", "taskctx",
)  # fmt: skip
"""Where we, or git for us, create files in a git dir."""


@dataclass(frozen=True)
class Head:
    """Where HEAD is."""

    commit: CommitOid | None
    """None on an unborn branch."""
    branch: str | None
    """Short name of the branch; None when detached."""


class Repository:
    """One worktree of a repository, or the repository alone where no worktree is needed."""

    inside: ClassVar[Callable[[Path, Git, str], Look | None] | None] = None
    """Opens a repository for a process that lives long, which reads objects without a git for them."""

    def __init__(
        self,
        git: Git,
        toplevel: Path,
        git_dir: Path,
        common_dir: Path,
        index: Path,
        algorithm: str,
        *,
        has_worktree: bool = True,
    ) -> None:
        self.git = git
        """Runs git at the top of the worktree."""
        self.toplevel = toplevel
        """The top of the worktree, else the git dir."""
        self.has_worktree = has_worktree
        self.git_dir = git_dir
        """The git dir of this worktree."""
        self.common_dir = common_dir
        self.index = index
        """The index in force, by `GIT_INDEX_FILE`."""
        self.algorithm = algorithm
        """`sha1` or `sha256`."""
        self._asked: Process | None = None
        """The process that reads the settings, not yet read."""
        self.compared: dict[tuple[TreeOid, TreeOid], list[Change]] = {}
        """Results of `compare_trees`; trees never change."""
        self.kept_trees: dict[str, TreeOid] = {}
        """Trees of commits, kept for when the commit is gone."""

    def view(self, **variables: str) -> Repository:
        """Return the same repository for git with more variables."""
        view = object.__new__(Repository)
        view.__dict__.update(self.__dict__)
        view.__dict__.pop("objects", None)  # the settings stay: they are the same
        view._asked = None
        view.git = self.git.with_env(**variables)
        return view

    @property
    def object_dir(self) -> Path:
        named = self.git.environment().get("GIT_OBJECT_DIRECTORY")
        return self.toplevel / named if named else self.common_dir / "objects"

    @property
    def as_written(self) -> Git:
        """A git that ignores replacements (git-replace) and grafts."""
        return self.git.with_env(GIT_NO_REPLACE_OBJECTS="1", GIT_GRAFT_FILE=os.devnull)

    @functools.cached_property
    def objects(self) -> ObjectStore:
        """The object store, with one long-running reader."""
        inside = Repository.inside
        look = inside(self.git_dir, self.git, self.algorithm) if inside is not None else None
        return ObjectStore(self.git, self.algorithm, look=look)

    @functools.cached_property
    def core(self) -> dict[str, str | None]:
        """git's settings for reading worktree and index, and configured hooks; the last of a key wins."""
        return {key: value for key, value, _ in self.settings if not key.startswith(("taskctx.", "color.", "pager."))}

    @functools.cached_property
    def settings(self) -> list[tuple[str, str | None, str]]:
        """Our part of git's configuration: key, value (None without `=`), origin."""
        process, self._asked = self._asked or self.git.start(*SETTINGS), None
        found = self.git.finish(process, *SETTINGS, ok=(0, 1))
        return parse_settings(found.out.decode("utf-8", "replace"))

    def begin(self) -> None:
        """Start reading settings and objects, while the caller loads modules."""
        if "settings" not in self.__dict__ and self._asked is None:
            self._asked = self.git.start(*SETTINGS)
        if self.objects.look is None:
            self.objects.begin()

    def read_index(self) -> tuple[bytes, os.stat_result] | None:
        """Return the index's bytes and stat. Raises: GitFailed for an unreadable or special file."""
        try:
            descriptor = os.open(self.index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise GitFailed(f"cannot read the index: {(error.strerror or '').lower()}") from error
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise GitFailed("the index is not a regular file", hint='ls -l "$(git rev-parse --git-path index)"')
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(), found
        finally:
            os.close(descriptor)

    @property
    def is_bare(self) -> bool:
        """Return whether the repository has no main worktree; others may be linked."""
        return not self.has_worktree and self.git.run("rev-parse", "--is-bare-repository").out == b"true\n"

    @property
    def is_shallow(self) -> bool:
        """Return whether history is cut now; a fetch may deepen it."""
        return (self.common_dir / "shallow").exists()

    @property
    def is_partial(self) -> bool:
        """Return whether objects may be missing that git would fetch (a partial clone)."""
        return any(key.endswith(".promisor") or key == "extensions.partialclone" for key in self.core)

    @property
    def has_split_index(self) -> bool:
        """Return whether another file may hold a part of the index."""
        return bool(begin_with(self.git_dir, "sharedindex."))

    @property
    def has_replacements(self) -> bool:
        """Return whether git may replace objects (git-replace)."""
        if "GIT_REPLACE_REF_BASE" in self.git.environ:
            return True
        if self.core.get("extensions.refstorage", "files") != "files":
            return bool(self.git.run("for-each-ref", "--count=1", "refs/replace/").out)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if any((self.common_dir / "refs/replace").iterdir()):
                return True
        with contextlib.suppress(FileNotFoundError):
            return b" refs/replace/" in (self.common_dir / "packed-refs").read_bytes()
        return False

    def is_indexed(self, name: str) -> bool:
        """Return whether the index holds `name` or anything below it.

        Usually its bytes suffice: up to version 3 it has every path whole (gitformat-index).
        """
        read = self.read_index()
        if read is None:
            return False
        data = read[0]
        version = int.from_bytes(data[4:8], "big")
        if data[:4] == b"DIRC" and version in (2, 3) and not self.has_split_index and name.encode() not in data:
            return False
        return bool(self.git.run("ls-files", "-z", "--", f":(top,literal){name}").out)

    @property
    def private_dir(self) -> Path:
        """Our own folder in the git dir of this worktree; safe to delete at any time."""
        return self.git_dir / "taskctx"

    def head(self) -> Head:
        """Read HEAD. Raises: CouldNotTell for an unreadable one."""
        symbolic = self.git.run("symbolic-ref", "-q", "HEAD", ok=(0, 1))
        branch = symbolic.out.decode("utf-8", "replace").strip() if symbolic.code == 0 else None
        commit = self.find_commit("HEAD")
        if commit is None:
            self.require_unborn()
        return Head(commit, branch.removeprefix("refs/heads/") if branch else None)

    def require_unborn(self) -> None:
        """Check that HEAD's branch has no commit yet. Raises: CouldNotTell.

        `git status` and `git rev-parse` take a damaged or unreadable ref for a missing one; only listing refs reports
        it.
        """
        symbolic = self.git.run("symbolic-ref", "-q", "HEAD", ok=(0, 1, 128)).out.rstrip(b"\n")
        listed = self.git.run("for-each-ref", "--format=%(refname)", symbolic) if symbolic else None
        if listed is None or symbolic in listed.out.split(b"\n") or listed.err:
            raise CouldNotTell("HEAD cannot be read", hint="git fsck; git reflog   # what it was")

    def find_commit(self, revision: str) -> CommitOid | None:
        """Resolve a revision to a commit, if any."""
        found = self.objects.find(f"{revision}^{{commit}}", limit=0)
        return CommitOid(found.oid) if found is not None else None

    def resolve_commit(self, revision: str) -> CommitOid:
        """Resolve a user's revision to a commit. Raises: Fatal."""
        commit = self.find_commit(revision)
        if commit is None:
            raise Fatal(f"'{revision}' is not a commit", hint="git log --oneline")
        return commit

    def tree_of(self, commit: CommitOid | None) -> TreeOid:
        """Return the tree of `commit`; the empty tree for None. Raises: CouldNotTell."""
        if commit is None:
            return self.objects.empty_tree
        if commit in self.kept_trees and not self.objects.has(commit):
            return self.kept_trees[commit]
        return self.objects.tree_of(commit)

    def parents_of(self, commit: CommitOid) -> tuple[CommitOid, ...]:
        """Return the parents in the raw commit, also where history is cut (shallow, grafts)."""
        return read_head(self.objects.get(commit, "commit"), digits=len(self.objects.zero)).parents

    def parent_of(self, commit: CommitOid) -> CommitOid | None:
        """Return the first parent in the raw commit, if any."""
        return next(iter(self.parents_of(commit)), None)

    def is_ancestor(self, commit: str, descendant: str) -> bool | None:
        """Return whether a commit is another or its ancestor, by raw commits; None where one is missing."""
        done = self.as_written.run("merge-base", "--is-ancestor", commit, descendant, ok=(0, 1, 128))
        return {0: True, 1: False}.get(done.code)

    @functools.cached_property
    def ignores_case(self) -> bool:
        """Whether git ignores case, on a disk that does."""
        return self._is_set("core.ignorecase") and not self.ignores_known_case

    @functools.cached_property
    def ignores_known_case(self) -> bool:
        """Whether git ignores case, on a disk that does not: a repository copied from another disk."""
        if not self._is_set("core.ignorecase"):
            return False
        # As git itself looks when it makes a repository (`init-db.c`), but at the worktree's disk where it can.
        probe = self.toplevel / ".gIT" if (self.toplevel / ".git").exists() else self.git_dir / "hEAD"
        return not os.path.lexists(probe)

    def _is_set(self, key: str) -> bool:
        return key in self.core and (self.core[key] or "true").lower() in ("true", "yes", "on", "1")

    def operation(self) -> Operation | None:
        """Return the operation in progress, as in `git status`."""
        for name, operation in _OPERATIONS:
            if (self.git_dir / name).exists():
                return operation
        return None

    def last_move(self) -> str | None:
        """Return the reflog's words for HEAD's last move, as in `checkout: moving from main to topic`."""
        found = self.git.run("reflog", "-1", "--format=%gs", "HEAD", ok=(0, 128))
        return found.out.decode("utf-8", "replace").strip() or None

    def find_blob(self, commit: CommitOid | None, path: str, *, limit: int = TEXT_FILE) -> bytes | None:
        """Return the content of `path` in `commit`, if there is such a file.

        Raises: CouldNotTell where it is missing in this clone, BadData above `limit` bytes, without reading it.
        """
        if commit is None:
            return None
        tree = self.tree_of(commit)
        found = self.objects.find(f"{tree}:{path}", limit=limit)
        if found is None and self._names_blob(tree, path.encode("utf-8", "surrogateescape")):
            raise CouldNotTell(f"{path} of the commit {commit[:12]} is not in this repository", hint="git fsck")
        if found is not None and not found.whole:
            raise BadData(f"{path} at {commit[:12]} has more than {limit} bytes")
        return found.data if found is not None and found.kind == "blob" else None

    def _names_blob(self, tree: str, path: bytes) -> bool:
        """Return whether a tree has this file, even if its content is missing. Raises: CouldNotTell."""
        name, _, rest = path.partition(b"/")
        entry = self.objects.find_entry(tree, name)
        if entry is None or entry.mode == "160000":
            return False
        return (
            self._names_blob(entry.oid, rest) if entry.mode == "40000" and rest else entry.mode != "40000" and not rest
        )

    def close(self) -> None:
        """End the processes that still run; what root made here is the owner's, whom it would lock out."""
        if self._asked is not None:
            stop(self._asked)
        if "objects" in self.__dict__:
            self.objects.close()
        give_back(self.common_dir, *_MADE)
        give_back(self.git_dir, "taskctx")


def parse_settings(listed: str) -> list[tuple[str, str | None, str]]:
    """Return the lines of `git config -z --show-origin`: key, value (None without `=`), origin."""
    fields = listed.split("\0")[:-1]
    entries = (entry.partition("\n") for entry in fields[1::2])
    return [
        (key, value if newline else None, origin)
        for (key, newline, value), origin in zip(entries, fields[::2], strict=True)
    ]


def open_repository(folder: Path, environ: Mapping[str, str], *, bare: bool = False) -> Repository:
    """Find the repository of `folder`, as git would with `environ`; `bare` accepts one without worktree.

    Raises: Fatal outside a worktree (bare repository, inside a git dir, no repository, dubious ownership), for a git
    dir that git would take for content, and for a git that is too old.
    """
    git = Git(folder, environ, time_limit=DISCOVERY_SECONDS, hard_limit=True)
    try:
        toplevel, git_dir, common_dir, index, algorithm = _discover(git, bare=bare)
    except GitFailed as error:
        raise Fatal(
            error.message.split(": ", 1)[-1], hint=error.hint or "run it inside the worktree of a repository"
        ) from error
    if bare and toplevel == git_dir:
        _refuse_special_files(git_dir, common_dir)
        named = {**_absolute(folder, environ, index), "GIT_DIR": os.fspath(git_dir), "GIT_WORK_TREE": None}
        git = Git(git_dir, environ, named, QUIET)
        return Repository(git, git_dir, git_dir, common_dir, index, algorithm, has_worktree=False)
    if _is_content(git_dir, toplevel):
        raise Fatal(
            f"the git dir {git_dir} lies inside the worktree under another name than .git, and git would add it",
            hint="move it out of the worktree, or name it .git",
        )
    _refuse_special_files(git_dir, common_dir)
    dot_git = toplevel / ".git"
    explicit = "GIT_DIR" in environ or "GIT_WORK_TREE" in environ or not dot_git.exists()
    git = Git(toplevel, environ, _absolute(folder, environ, index), QUIET)
    if explicit:
        git = git.with_env(GIT_DIR=os.fspath(git_dir), GIT_WORK_TREE=os.fspath(toplevel))
        if "GIT_COMMON_DIR" in environ:
            git = git.with_env(GIT_COMMON_DIR=os.fspath(common_dir))
    return Repository(git, toplevel, git_dir, common_dir, index, algorithm)


def _absolute(folder: Path, environ: Mapping[str, str], index: Path) -> dict[str, str | None]:
    """Return the file variables as absolute paths."""
    named: dict[str, str | None] = {"GIT_INDEX_FILE": os.fspath(index) if "GIT_INDEX_FILE" in environ else None}
    if environ.get("GIT_OBJECT_DIRECTORY"):
        named["GIT_OBJECT_DIRECTORY"] = os.path.abspath(folder / environ["GIT_OBJECT_DIRECTORY"])  # noqa: PTH100
    return named


def _discover(git: Git, *, bare: bool) -> tuple[Path, Path, Path, Path, str]:
    """Ask git for all places; `bare` accepts the git dir for a missing worktree.

    A server's hooks run in the git dir with GIT_DIR alone, which git takes for the worktree.
    """
    try:
        return _ask(git, *PLACES_OF[0])
    except GitFailed:
        if not bare:
            raise
    return _ask(git, "--absolute-git-dir")


def _ask(git: Git, top: str) -> tuple[Path, Path, Path, Path, str]:
    questions = ((top,), *PLACES_OF[1:])
    flat = [word for question in questions for word in question]
    lines = git.run("rev-parse", *flat).out.split(b"\n")[:-1]
    if len(lines) != len(questions):
        lines = [git.run("rev-parse", *question).out.removesuffix(b"\n") for question in questions]
    toplevel, git_dir, common_dir, index = (Path(os.fsdecode(line)) for line in lines[:4])
    return toplevel, git_dir, common_dir, index, lines[4].decode()


def _refuse_special_files(git_dir: Path, common_dir: Path) -> None:
    """Check the files that every git process reads. Raises: GitFailed for a FIFO, a socket or a device."""
    places = [common_dir / name for name in _WAITED_FOR]
    with contextlib.suppress(OSError):
        ref = (git_dir / "HEAD").read_bytes().strip().removeprefix(b"ref: ")
        places += [folder / os.fsdecode(ref) for folder in {git_dir, common_dir}]
    for place in places:
        with contextlib.suppress(OSError, ValueError):
            mode = place.stat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise GitFailed(
                    f"{quote(os.fsencode(place))} is not a regular file, and git would wait for it for ever",
                    hint=f"ls -l {shell_word(place)}",
                )


def _is_content(git_dir: Path, toplevel: Path) -> bool:
    try:
        inside = git_dir.resolve().relative_to(toplevel.resolve())
    except ValueError:
        return False
    return ".git" not in (part.lower() for part in inside.parts)
