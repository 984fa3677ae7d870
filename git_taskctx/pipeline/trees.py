"""Trees of their own: where stages work side by side, each made from one tree, and gone when its stage ends.

Such a tree is a small repository: its refs, index, stash, hooks and settings are its own, and its objects are read
where the main one has them. What a stage does to it is of no account: its files alone are read, through an index and
a git dir that are not in it. All of them lie in one folder, which is locked while the run lives, so that a later run
finds what a killed one left.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from git_taskctx.errors import Fatal
from git_taskctx.files import make_folder
from git_taskctx.git.checkout import NO_FETCH
from git_taskctx.git.private import make_held_folder, remove_folder, sweep_folders
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.git.worktree import read_worktree
from git_taskctx.model.codec import to_plain
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass, replace
from git_taskctx.pipeline.here import NOTE, TreeOwner

_COPIED = re.compile(
    r"(?:user|author|committer|filter|diff|i18n)\..*|"
    r"core\.(?:autocrlf|eol|safecrlf|filemode|ignorecase|symlinks|precomposeunicode|attributesfile|excludesfile|"
    r"quotepath|sparsecheckout|sparsecheckoutcone)"
)
"""Settings of the repository that hold in such a tree too."""
_FICLONE = 0x40049409
"""Of ioctl_ficlone(2): the copy shares its blocks."""


@dataclass(frozen=True)
class OwnTree:
    """A tree, and what it is read by."""

    top: Path
    index: Path


class Trees:
    """The trees of one run; made in a folder of their own, which goes with all that is in it when the run ends."""

    def __init__(self, home: Path, bring: Sequence[str] = ()) -> None:
        self._home, self._bring = home, bring
        self._folder: Path | None = None
        self._held: int | None = None

    def __enter__(self) -> Trees:
        sweep_folders(self._home)
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            remove_folder(self._folder)
        if self._held is not None:
            os.close(self._held)

    def make(self, repository: Repository, tree: TreeOid, owner: TreeOwner) -> OwnTree:
        """Make a tree; where it is of a stage that had one before, in its place. Raises: Fatal, GitFailed."""
        with _as_fatal(self._home):
            if self._folder is None:
                _require_outside(self._home, repository.toplevel)
                make_folder_of(self._home)
                self._folder = self._home / f"tmp-{os.urandom(8).hex()}"
                self._held = make_held_folder(self._folder)
            own = OwnTree(self._folder / owner.stage, self._folder / f"{owner.stage}.index")
            self.remove(own)
            own.top.mkdir(mode=0o700)
            _seen(repository, own, "read-tree", "--reset", "-u", tree)
            self._copy_brought(repository.toplevel, own.top)
            _make_repository(repository, own, owner)
        return own

    def read(self, repository: Repository, own: OwnTree) -> TreeOid:
        """Return the tree of its files, in the main repository for good. Raises: Fatal where it is gone, GitFailed."""
        if not own.top.is_dir():
            raise Fatal("its tree is gone")
        environ = {
            **{name: value for name, value in repository.git.environ.items() if name != "GIT_COMMON_DIR"},
            **_places(repository, own),
            "GIT_OBJECT_DIRECTORY": os.fspath(repository.object_dir),
        }
        opened = open_repository(own.top, environ)
        try:
            with read_worktree(opened, keep=True, lasting=False) as reading:
                return reading.tree
        finally:
            opened.close()

    def remove(self, own: OwnTree) -> None:
        """Remove a tree, whatever its stage made of it."""
        remove_folder(own.top)
        own.index.unlink(missing_ok=True)

    def _copy_brought(self, top: Path, into: Path) -> None:
        """Copy what is asked for from the worktree: never over what is there, and never as a hard link."""
        for pattern in self._bring:
            for source in sorted(top.glob(pattern.strip("/"))):
                below = source.relative_to(top)
                if ".." not in below.parts and below.parts[0] not in (".git", ".agent-output"):
                    (into / below).parent.mkdir(parents=True, exist_ok=True)
                    _copy(source, into / below)


def _places(repository: Repository, own: OwnTree) -> dict[str, str]:
    """Return the variables by which git sees the files of a tree through the main repository."""
    places = {"GIT_DIR": repository.git_dir, "GIT_WORK_TREE": own.top, "GIT_INDEX_FILE": own.index}
    return {name: os.fspath(place) for name, place in places.items()}


def _seen(repository: Repository, own: OwnTree, *args: str) -> None:
    git = replace(repository.git, cwd=own.top).with_settings(NO_FETCH)
    git = git.with_env(GIT_LFS_SKIP_DOWNLOAD_ERRORS="1", GIT_NO_REPLACE_OBJECTS="1", **_places(repository, own))
    git.run(*args)


def _make_repository(repository: Repository, own: OwnTree, owner: TreeOwner) -> None:
    """Make the repository that a stage sees (gitrepository-layout(5)): HEAD and branch as in the main one."""
    head, git_dir = repository.head(), own.top / ".git"
    branch = f"refs/heads/{head.branch}" if head.branch is not None else None
    listed = repository.git.run("config", "-z", "--list").out.decode("utf-8", "surrogateescape")
    settings = [entry.partition("\n") for entry in listed.split("\0")[:-1]]
    sha256 = repository.algorithm == "sha256"
    head_of_core = [f"[core]\n\trepositoryformatversion = {int(sha256)}\n\tbare = false\n"]
    contents = {
        "HEAD": f"ref: {branch}\n" if branch is not None else f"{head.commit}\n",
        "config": "".join(head_of_core + ["[extensions]\n\tobjectformat = sha256\n"] * sha256 +
                          [_setting(key, value if mark else None) for key, mark, value in settings
                           if _COPIED.fullmatch(key)]),
        "objects/info/alternates": f"{repository.object_dir}\n",
        "hooks/pre-commit": f"#!/bin/sh\ncat >&2 <<'.'\nerror: {owner}\n.\nexit 1\n",
        NOTE: json.dumps(to_plain(owner)),
    }  # fmt: skip
    if branch is not None and head.commit is not None:
        contents[branch] = f"{head.commit}\n"
    for name, text in contents.items():
        (git_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (git_dir / name).write_text(text, "utf-8", "surrogateescape")
    (git_dir / "hooks/pre-commit").chmod(0o700)
    (git_dir / "refs").mkdir(exist_ok=True)
    for name in ("shallow", "info/exclude", "info/attributes", "info/sparse-checkout"):
        for folder in (repository.common_dir, repository.git_dir):
            if (folder / name).is_file():
                (git_dir / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(folder / name, git_dir / name)
    shutil.copy2(own.index, git_dir / "index")
    inside = replace(repository.git, cwd=own.top).with_env(
        GIT_DIR=os.fspath(git_dir), GIT_WORK_TREE=os.fspath(own.top), GIT_INDEX_FILE=None,
        GIT_OBJECT_DIRECTORY=None, GIT_COMMON_DIR=None,
    )  # fmt: skip
    inside.run("read-tree", *(("-m", head.commit) if head.commit is not None else ("--empty",)))


def _setting(key: str, value: str | None) -> str:
    """Return a setting as git-config(1) has it in a file."""
    section, _, rest = key.partition(".")
    below, _, name = rest.rpartition(".")
    inner = ' "{}"'.format(below.replace("\\", "\\\\").replace('"', '\\"')) if below else ""
    quoted = "" if value is None else ' = "{}"'.format(
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t"))  # fmt: skip
    return f"[{section}{inner}]\n\t{name}{quoted}\n"


def _copy(source: Path, target: Path) -> None:
    """Copy a file, a link as a link, or a folder with all that is in it; what is there already stays."""
    mode = source.lstat().st_mode
    if stat.S_ISDIR(mode):
        target.mkdir(exist_ok=True)
        for inner in source.iterdir():
            _copy(inner, target / inner.name)
        shutil.copystat(source, target)
    elif os.path.lexists(target):
        return
    elif stat.S_ISLNK(mode):
        target.symlink_to(source.readlink())
    elif stat.S_ISREG(mode):
        with source.open("rb") as old, target.open("xb") as new:
            try:
                fcntl.ioctl(new, _FICLONE, old.fileno())
            except OSError:  # another file system, or one that cannot share blocks
                shutil.copyfileobj(old, new)
        shutil.copystat(source, target)


def make_folder_of(home: Path) -> None:
    """Make the folder in which the trees of all runs are, and those above it."""
    home.parent.mkdir(parents=True, exist_ok=True)
    make_folder(home)


def _require_outside(home: Path, top: Path) -> None:
    if top.resolve() in (home.resolve(), *home.resolve().parents):
        raise Fatal(f"the cache folder {home} lies in the worktree", hint="XDG_CACHE_HOME=/a/folder git taskctx run")


@contextlib.contextmanager
def _as_fatal(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Fatal(f"cannot make a tree in {home}: {(error.strerror or str(error)).lower()}", hint="df -h") from error


def trees_home(environ: Mapping[str, str]) -> Path:
    """Return where the trees of all runs are, by the XDG Base Directory Specification."""
    cache = environ.get("XDG_CACHE_HOME") or ""
    home = Path(cache) if cache.startswith("/") else Path(environ.get("HOME") or "/tmp") / ".cache"  # noqa: S108
    return home / "git-taskctx" / "trees"
