"""Worktree to tree: the fingerprint, exactly as git itself would write it.

The exact engine lets git do it (`git add -A` on a private copy of the index, then `git write-tree`) and refuses
wherever git would leave something out. It never touches the user's index, refs or files, and without `keep` it
leaves no object behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from git_taskctx.errors import GitFailed, TryAgain
from git_taskctx.git.changes import LINK, SUBMODULE, Change, compare_trees
from git_taskctx.git.objects import ObjectStore
from git_taskctx.git.process import QUIET, Git, Result
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.snapshot import HiddenChange

PASSES = 4
"""How often the worktree is read at most, until two trees in a row are equal."""

_LEFT_OUT = re.compile(rb"^(?:warning: )?(?:could not open directory .*|.*: Permission denied)$", re.MULTILINE)
"""git says this, ends with 0, and leaves files out."""
_REGULAR = ("100644", "100755")
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")


@dataclass(frozen=True)
class Reading:
    """A worktree as it was read; valid inside `read_worktree` when nothing was kept."""

    tree: TreeOid
    """Tracked files plus untracked files that are not ignored."""
    git: Git
    """Sees the objects of the reading, kept or not."""
    objects: ObjectStore
    index: Path
    """The private index that holds exactly `tree`."""
    repository: Repository

    def changes_since(self, tree: TreeOid) -> list[Change]:
        """Return what differs from `tree`, by path. Raises: CouldNotTell when objects are missing."""
        return [] if tree == self.tree else compare_trees(self.git, tree, self.tree)

    def index_tree(self) -> TreeOid | None:
        """Return the tree of what is staged; None while the index is unmerged."""
        copy = self.index.with_name("staged")
        _copy_index(self.repository.index, copy)
        staged = self.git.with_env(GIT_INDEX_FILE=os.fspath(copy)).run("write-tree", "--missing-ok", ok=(0, 128))
        if staged.code != 0 and b"unmerged" not in staged.err and b"cannot" not in staged.err:
            raise GitFailed(f"`git write-tree`: {staged.complaint}")
        return TreeOid(staged.out.decode().strip()) if staged.code == 0 else None

    def status(self) -> bytes:
        """Return git's own status, porcelain v2 with NULs, as the user's index has it."""
        return self.repository.git.with_settings((*QUIET, "diff.orderFile=/dev/null")).run(*_STATUS).out

    def hidden(self, status: bytes | None = None) -> tuple[HiddenChange, ...]:
        """Return what no tree can show: dirty submodules, and edits under assume-unchanged or skip-worktree."""
        status = self.status() if status is None else status
        return tuple(sorted((*_dirty_submodules(self.repository, status), *_flagged(self.repository)), key=_path_of))


@contextlib.contextmanager
def read_worktree(repository: Repository, *, keep: bool, cold: bool = False) -> Iterator[Reading]:
    """Read the worktree into a tree.

    With `keep` its objects go to the repository, otherwise to a folder that is gone afterwards. `cold` makes git read
    every file again, whatever times and sizes say.

    Raises: GitFailed where git refuses or would leave files out; TryAgain while the worktree keeps changing.
    """
    with private_folder(repository) as folder:
        index = folder / "index"
        began = folder.stat().st_mtime_ns
        _copy_index(repository.index, index, cold=cold)
        git = repository.git.with_settings((*QUIET, *_no_config_hooks(repository))).with_env(
            GIT_INDEX_FILE=os.fspath(index)
        )
        if not keep:
            git = git.with_env(**quarantine(repository, folder / "objects"))
        tree = _settle(git, index, began)
        objects = ObjectStore(git, repository.algorithm)
        try:
            yield Reading(tree, git.with_env(GIT_INDEX_FILE="/nonexistent"), objects, index, repository)
        finally:
            objects.close()


def quarantine(repository: Repository, folder: Path) -> dict[str, str]:
    """Return the environment in which new objects go to `folder` and all others are read where they are."""
    folder.mkdir()
    real = repository.git.environment().get("GIT_OBJECT_DIRECTORY") or os.fspath(repository.common_dir / "objects")
    real = os.fspath(repository.toplevel / real)
    more = repository.git.environment().get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    return {
        "GIT_OBJECT_DIRECTORY": os.fspath(folder),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, (_c_quote(real), more))),
    }


@contextlib.contextmanager
def private_folder(repository: Repository) -> Iterator[Path]:
    """Create a folder of our own for the time of the call, in the git dir where it can be written.

    It never lies in the worktree. Folders of killed runs are swept: the kernel's lock on a folder dies with its
    process.
    """
    home = repository.private_dir
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        folder = home / f"tmp-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="git-taskctx-", dir=_outside(repository)))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.parent == home:
            _sweep(home, but=folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _settle(git: Git, index: Path, began: int) -> TreeOid:
    """Read until two trees in a row are equal.

    After each pass the index is dated back to when we began, so that git reads every file again that was written since,
    also when a second write left its size and its time (of a clock that ticks every 4 ms) as they were.
    """
    previous = None
    for _ in range(PASSES):
        added = git.run("--literal-pathspecs", "add", "-A", "--sparse", ok=(0, 1, 128))
        _refuse_left_out(added)
        with contextlib.suppress(FileNotFoundError):
            os.utime(index, ns=(began, began))
        tree = TreeOid(git.run("write-tree", "--missing-ok").out.decode().strip())
        if tree == previous:
            return tree
        previous = tree
    raise TryAgain("the worktree keeps changing while it is read", hint="stop what writes into it, then try again")


def _refuse_left_out(added: Result) -> None:
    left_out = _LEFT_OUT.search(added.err)
    if added.code == 0 and left_out is None:
        return
    reason = left_out[0].decode("utf-8", "replace").removeprefix("warning: ") if left_out else added.complaint
    raise GitFailed(
        f"git cannot read the whole worktree: {reason}", hint="git add -A --dry-run, and mend what it complains about"
    )


def _copy_index(source: Path, target: Path, *, cold: bool = False) -> None:
    """Copy through one descriptor and keep the mtime: git's racy check compares entries with it.

    With `cold` the copy is a second older than every file, so that git trusts no entry.
    """
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise GitFailed(f"cannot read the index: {(error.strerror or '').lower()}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise GitFailed("the index is no regular file", hint='ls -l "$(git rev-parse --git-path index)"')
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            target.write_bytes(file.read())
    finally:
        os.close(descriptor)
    times = (1_000_000_000, 1_000_000_000) if cold else (found.st_atime_ns, found.st_mtime_ns)
    os.utime(target, ns=times)


def _no_config_hooks(repository: Repository) -> tuple[str, ...]:
    """Switch off hooks that git 2.54 and later take from the configuration."""
    names = {key.rsplit(".", 1)[0] for key, _, _ in repository.settings(r"^hook\..*\.(command|event)$")}
    return tuple(f"{name}.enabled=false" for name in sorted(names))


def _outside(repository: Repository) -> str | None:
    """Choose a folder for temporary files that is not in the worktree; None is the system's."""
    top = repository.toplevel.resolve()
    if top not in (Path(tempfile.gettempdir()).resolve(), *Path(tempfile.gettempdir()).resolve().parents):
        return None
    return next((place for place in ("/dev/shm", "/var/tmp", "/tmp") if top not in Path(place).resolve().parents), None)  # noqa: S108


def _sweep(home: Path, *, but: Path) -> None:
    for folder in home.glob("tmp-*"):
        if folder == but:
            continue
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # gone already, or not ours
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # in use
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _dirty_submodules(repository: Repository, status: bytes) -> Iterator[HiddenChange]:
    for entry in status.split(b"\0"):
        fields = {b"1": 9, b"u": 11}.get(entry[:1], 0)
        words = entry.split(b" ", fields - 1)
        if len(words) == fields and words[2][:1] == b"S" and (b"M" in words[2] or b"U" in words[2]):
            path = words[-1]
            inner = {key: value for key, value in repository.git.environ.items() if not _is_local(key)}
            submodule = open_repository(repository.toplevel / os.fsdecode(path), inner)
            with read_worktree(submodule, keep=False) as reading:
                nested = "".join(f"{change.path}\0{change.sha256}\0" for change in reading.hidden())
                state = hashlib.sha256(f"{reading.tree}\0{nested}".encode()).hexdigest()
            submodule.close()
            yield HiddenChange(quote(path), "submodule dirty", state)


@dataclass(frozen=True)
class _Flagged:
    """A file under assume-unchanged or skip-worktree, as the index has it and as it lies there."""

    path: bytes
    kind: Literal["assume-unchanged", "skip-worktree"]
    mode: str
    oid: str
    found_mode: str | None
    """None where there is no file, or none that git could take."""
    link_oid: str
    """What a link's target would be called as a blob."""
    state: str


def _flagged(repository: Repository) -> Iterator[HiddenChange]:
    """Yield files under assume-unchanged or skip-worktree that are not as the index has them.

    A file that is missing under skip-worktree is how a sparse checkout looks, and no change.
    """
    files = list(_list_flagged(repository))
    regular = [file.path for file in files if file.found_mode in _REGULAR]
    names = b"".join(b'"' + _escaped(path) + b'"\n' for path in regular)
    hashed = repository.git.run("hash-object", "--stdin-paths", stdin=names).out.decode().split() if regular else []
    oids = dict(zip(regular, hashed, strict=True))
    wanted = _modes_that_count(repository)
    for file in files:
        if file.found_mode is None and file.kind == "skip-worktree":
            continue
        found = wanted(file), oids.get(file.path, file.link_oid)
        if found != (file.mode, file.oid):
            yield HiddenChange(quote(file.path), file.kind, file.state)


def _list_flagged(repository: Repository) -> Iterator[_Flagged]:
    for entry in repository.git.run("ls-files", "-v", "-s", "-z").out.split(b"\0"):
        tag = entry[:1]
        if not (tag.islower() or tag == b"S"):
            continue
        meta, _, path = entry[2:].partition(b"\t")
        mode, oid = meta.decode().split(" ")[:2]
        if mode == SUBMODULE:
            continue
        found_mode, data = _look(repository.toplevel / os.fsdecode(path))
        state = hashlib.sha256(f"{found_mode} ".encode() + data).hexdigest()
        link_oid = repository.objects.hash("blob", data) if found_mode == LINK else ""
        yield _Flagged(
            path, "skip-worktree" if tag == b"S" else "assume-unchanged", mode, oid, found_mode, link_oid, state
        )


def _modes_that_count(repository: Repository) -> Callable[[_Flagged], str | None]:
    """Return how to see a file's mode: as it is, or as the index has it where the file system cannot tell."""
    settings = repository.settings(r"^core\.(filemode|symlinks)$")
    off = {key for key, value, _ in settings if (value or "true").lower() in ("false", "no", "off", "0")}

    def see(file: _Flagged) -> str | None:
        blind = file.mode in _REGULAR if "core.filemode" in off else False
        blind = blind or (file.mode == LINK and "core.symlinks" in off)
        return file.mode if blind and file.found_mode in _REGULAR else file.found_mode

    return see


def _look(file: Path) -> tuple[str | None, bytes]:
    """Return the mode that git would give a file, and its bytes; None where git could take nothing."""
    try:
        found = file.lstat()
        if stat.S_ISLNK(found.st_mode):
            return LINK, os.fsencode(file.readlink())
        if stat.S_ISREG(found.st_mode):
            return ("100755" if found.st_mode & 0o100 else "100644"), file.read_bytes()
    except OSError:
        return None, b""
    return None, b""


def _escaped(path: bytes) -> bytes:
    return path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _is_local(variable: str) -> bool:
    """Tell whether a variable speaks of one repository only (`git rev-parse --local-env-vars`)."""
    return variable in {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX",
    }  # fmt: skip


def _c_quote(path: str) -> str:
    """Quote a path for GIT_ALTERNATE_OBJECT_DIRECTORIES where it holds the separator or a quote."""
    if os.pathsep in path or path.startswith('"') or "\n" in path:
        return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return path


def _path_of(change: HiddenChange) -> str:
    return change.path
