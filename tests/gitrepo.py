"""One small helper over real git, and the two questions of every engine test: git's tree, and what was touched."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TEMPLATE = ROOT / "tests" / "template"
_MODULES = """
import sys
from git_taskctx.__main__ import main
code = main(sys.argv[1:])
print(",".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""
_OURS = ("refs/taskctx", "refs/notes/taskctx")
_LEFT_OUT = re.compile(rb"could not open directory|Permission denied$|[Ff]ile name too long", re.MULTILINE)
_FIRST_DATE = 1_767_225_600
"""2026-01-01T00:00:00Z."""


class GitRefused(Exception):
    """git ended with an error; the text is what it said."""


class GitRepo:
    """A worktree, driven by real git. Paths are relative to it; bytes for those that are not text."""

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.env = dict(env or {})
        """Set for every git of this helper, beside the process's own environment."""
        self._commits = 0

    @classmethod
    def init(cls, path: Path, *args: str) -> GitRepo:
        """Create a repository at `path` with `git init ARGS`; it holds one sample of a hook, where git has thirteen."""
        path.mkdir(parents=True, exist_ok=True)
        repo = cls(path)
        repo.git("init", "-q", f"--template={_TEMPLATE}", *args)
        return repo

    def become(self, other: GitRepo) -> None:
        """Take over all that `other` holds; this one must be empty. To git no file has changed since."""
        shutil.copytree(other.path, self.path, symlinks=True, dirs_exist_ok=True)
        self._commits = other._commits
        if self._commits:
            self.run("update-index", "-q", "--refresh")

    # Files

    def at(self, path: str | bytes) -> Path:
        """Return the whole path of `path`."""
        return self.path / os.fsdecode(path)

    def write(self, path: str | bytes, data: str | bytes = "", *, mode: int | None = None) -> Path:
        """Write a file, with the folders it needs."""
        file = self.at(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        if mode is not None:
            file.chmod(mode)
        return file

    def read(self, path: str | bytes) -> bytes:
        """Return a file's bytes."""
        return self.at(path).read_bytes()

    def remove(self, *paths: str | bytes) -> None:
        """Remove files, links, or folders with all they hold."""
        for path in paths:
            place = self.at(path)
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink()

    def chmod(self, path: str | bytes, mode: int) -> None:
        """Change a file's mode."""
        self.at(path).chmod(mode)

    def symlink(self, path: str | bytes, target: str | bytes) -> None:
        """Make a symbolic link at `path`."""
        link = self.at(path)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.fsdecode(target))

    # git

    def run(
        self,
        *args: str | bytes,
        env: Mapping[str, str] | None = None,
        input: str | bytes | None = None,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git and return all that it left."""
        return subprocess.run(
            ["git", *args],
            cwd=cwd or self.path,
            env={**os.environ, **self.env, **(env or {})},
            input=input.encode() if isinstance(input, str) else input if input is not None else b"",
            capture_output=True,
            check=False,
            timeout=120,
        )

    def git(
        self,
        *args: str | bytes,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        input: str | bytes | None = None,
        cwd: Path | None = None,
    ) -> str:
        """Run git and return its stdout as text, without the last newline. Raises: GitRefused."""
        done = self.run(*args, env=env, input=input, cwd=cwd)
        if check and done.returncode != 0:
            raise GitRefused(f"git {args} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return os.fsdecode(done.stdout).removesuffix("\n")

    def config(self, key: str, value: str) -> None:
        """Set a key of the repository's configuration."""
        self.git("config", key, value)

    def add(self, *paths: str | bytes) -> None:
        """Stage `paths`, or everything."""
        self.git(*(("add", "--", *paths) if paths else ("add", "-A")))

    def commit(self, message: str = "commit", *args: str) -> str:
        """Stage everything and commit it, a minute after the commit before; return the oid."""
        self.add()
        return self.commit_staged(message, *args)

    def commit_staged(self, message: str = "commit", *args: str) -> str:
        """Commit what is staged; return the oid."""
        self._commits += 1
        date = f"{_FIRST_DATE + 60 * self._commits} +0000"
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.git("commit", "-q", "--allow-empty", "-m", message, *args, env=dates)
        return self.head()

    def checkout(self, *args: str) -> None:
        """Run `git checkout -q ARGS`."""
        self.git("checkout", "-q", *args)

    def head(self) -> str:
        """Return the oid of HEAD; a loose ref is read as git does, without starting it."""
        own = self._plain_git_dir()
        if own is not None:
            name = (own / "HEAD").read_text().strip().removeprefix("ref: ")
            if name.startswith("refs/") and (own / name).is_file():
                return (own / name).read_text().strip()
        return self.git("rev-parse", "HEAD")

    def tree(self, revision: str = "HEAD") -> str:
        """Return the tree oid of a revision."""
        return self.git("rev-parse", f"{revision}^{{tree}}")

    def git_dir(self) -> Path:
        """Return the git dir of this worktree."""
        return self._plain_git_dir() or Path(self.git("rev-parse", "--absolute-git-dir"))

    def common_dir(self) -> Path:
        """Return the git dir that all worktrees share."""
        return self._plain_git_dir() or Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    def _plain_git_dir(self) -> Path | None:
        """Return `.git`, where that is a repository and no variable names another."""
        own = self.path / ".git"
        named = self._variable("GIT_DIR") or self._variable("GIT_COMMON_DIR")
        return own.resolve() if named is None and _is_git_dir(own) and not (own / "commondir").exists() else None

    def toplevel(self) -> Path:
        """Return the top of the worktree as git sees it."""
        return Path(self.git("rev-parse", "--show-toplevel"))

    # What the tests compare with

    def oracle(self, *, cold: bool = False, store: Path | None = None) -> str:
        """Return the tree that git itself would write of this worktree, leaving nothing behind.

        The copy of the index keeps its times, and new objects go to `store`, or to a throw-away folder. Raises:
        GitRefused, also where git leaves files out and only says so.
        """
        with tempfile.TemporaryDirectory(prefix="oracle-", dir=os.environ.get("HOME")) as folder:
            index, real = self.places("--git-path index", "--git-path objects")
            copy = Path(folder, "index")
            if index.exists():
                shutil.copy2(index, copy)
                if cold:
                    os.utime(copy, (1, 1))
            store = store or Path(folder, "objects")
            store.mkdir(exist_ok=True)
            others = self._variable("GIT_ALTERNATE_OBJECT_DIRECTORIES")
            env = {
                "GIT_INDEX_FILE": os.fspath(copy),
                "GIT_OBJECT_DIRECTORY": os.fspath(store),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, (_quoted(os.fspath(real)), others))),
                "GIT_OPTIONAL_LOCKS": "0",
            }
            quiet = ("-c", "core.splitIndex=false", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false")
            added = self.run(*quiet, "add", "-A", "--sparse", env=env)
            if added.returncode != 0 or _LEFT_OUT.search(added.stderr):
                raise GitRefused(added.stderr.decode(errors="replace"))
            return self.git(*quiet, "write-tree", "--missing-ok", env=env)

    def census(self) -> dict[str, object]:
        """Return all of the user's that nobody may touch, down to times and inodes."""
        git_dir, common, index, top = self.places(
            "--git-dir", "--git-common-dir", "--git-path index", "--show-toplevel"
        )
        found: dict[str, object] = {}
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        found["refs"] = [line for line in refs if not line.startswith(_OURS)]
        if index.exists():
            found["index"] = _exact(index)
        for folder in {git_dir, common}:
            found.update(_git_files(folder))
        found.update(_worktree_files(top, skip={git_dir, common}))
        return found

    def places(self, *questions: str) -> list[Path]:
        """Return what `git rev-parse` answers, whole paths, by one process unless a path has a newline."""
        ask = ("rev-parse", "--path-format=absolute")
        lines = self.git(*ask, *(word for question in questions for word in question.split())).split("\n")
        if len(lines) != len(questions):
            lines = [self.git(*ask, *question.split()) for question in questions]
        return [Path(line) for line in lines]

    def _variable(self, name: str) -> str | None:
        return self.env.get(name, os.environ.get(name))


def run_taskctx(
    *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, input: str | bytes | None = None
) -> tuple[int, str, str]:
    """Run `git taskctx ARGS` as a process of its own; return its code, stdout and stderr."""
    whole = {**os.environ, "PYTHONPATH": os.fspath(ROOT), **(env or {})}
    done = subprocess.run(
        [sys.executable, "-m", "git_taskctx", *args],
        cwd=cwd,
        env=whole,
        input=input.encode() if isinstance(input, str) else input if input is not None else b"",
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr)


def modules_after(*args: str, cwd: Path, env: Mapping[str, str] | None = None) -> tuple[int, set[str]]:
    """Run `git taskctx ARGS` in a process of its own; return its code, and what is in `sys.modules` at its end."""
    done = subprocess.run(
        [sys.executable, "-c", _MODULES, *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    loaded = set(done.stderr.splitlines()[-1].split(","))
    assert "git_taskctx" in loaded, done.stderr
    return done.returncode, loaded


def _exact(path: Path) -> tuple[object, ...]:
    """Return what makes a file the same file: content, mode, mtime and inode."""
    found = path.lstat()
    content: object = None
    if path.is_symlink():
        content = path.readlink()
    elif path.is_file():
        with contextlib.suppress(PermissionError):
            content = path.read_bytes()
    return content, found.st_mode, found.st_mtime_ns, found.st_ino


def _git_files(git_dir: Path) -> dict[str, object]:
    """Return every file of a git dir but objects, our own folder, our own refs and packed refs (read as refs)."""
    ours = {git_dir / "taskctx", git_dir / "reftable", git_dir / "packed-refs", *git_dir.glob("worktrees/*/taskctx")}
    ours.add(git_dir / "lfs")  # git-lfs's own object store: its clean filter writes there, as under `git add`
    ours |= {git_dir / place / ref for ref in _OURS for place in ("", "logs")}
    found: dict[str, object] = {}
    for path in _walk(git_dir, ours):
        if path.is_file():
            with contextlib.suppress(PermissionError):
                found[f"git: {path!r}"] = path.read_bytes()
        elif not path.is_dir():
            found[f"git: {path!r}"] = path.lstat().st_mode
    return found


def _worktree_files(top: Path, *, skip: set[Path]) -> dict[str, object]:
    """Return every file, link and folder of the worktree, and the git dirs inside it."""
    found: dict[str, object] = {}
    for path in _walk(top, {*skip, top / ".agent-output"}):
        if path.name == ".git" and _is_git_dir(path):
            found.update(_git_files(path))
        else:
            found[repr(path)] = _exact(path)
    return found


def _walk(folder: Path, skip: set[Path]) -> Iterator[Path]:
    """Yield what lies in `folder`; not into git dirs, nor their objects."""
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        return
    for path in entries:
        if path in skip or (path.name == "objects" and _is_git_dir(folder)):
            continue
        yield path
        if path.is_dir() and not path.is_symlink() and not (path.name == ".git" and _is_git_dir(path)):
            yield from _walk(path, skip)


def _is_git_dir(place: Path) -> bool:
    return (place / "HEAD").exists() and (place / "objects").is_dir()


def _quoted(path: str) -> str:
    if os.pathsep in path or path.startswith('"') or "\n" in path:
        return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return path
