"""Other owners, and places where one may not read or write; as a user that is not root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine import look
from gitrepo import ROOT, GitRepo

NOBODY = 65534

READER = f"""
import json, os, sys
sys.path[:0] = {[os.fspath(ROOT), os.fspath(ROOT / "tests")]!r}
from pathlib import Path
from gitrepo import GitRefused, GitRepo
from git_taskctx.report.advice import advise
from git_taskctx.errors import TaskctxError
from git_taskctx.git.refs import RefMove, move_refs
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree
said = {{}}
for exact in (False, True):
    try:
        repository = open_repository(Path.cwd(), dict(os.environ))
        with read_worktree(repository, keep="keep" in sys.argv, exact=exact) as reading:
            if said.setdefault("tree", reading.tree) != reading.tree:
                said["differs"] = reading.tree
        if "ref" in sys.argv:
            head = repository.head().commit
            move_refs(repository.git, [RefMove("refs/taskctx/x", head, None)], reason="test")
        repository.close()
    except TaskctxError as error:
        said |= {{"error": error.message, "hint": advise(error).hint, "code": error.code, "exit": error.exit_code}}
try:
    if "git" in sys.argv:
        said["git"] = GitRepo(Path.cwd()).oracle()
except (GitRefused, PermissionError) as error:
    said["git refuses"] = str(error)
print(json.dumps(said))
"""


@pytest.fixture
def repo(sealed_home: Path) -> Iterator[GitRepo]:
    """A repository that its owner, who is not root, may enter."""
    folder = Path(tempfile.mkdtemp(prefix="taskctx-open-"))
    folder.chmod(0o755)
    repo = GitRepo.init(folder / "work")
    repo.write("a", "x")
    repo.write("d/b", "x")
    repo.commit()
    repo.write("a", "changed")
    yield repo
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


def give_away(repo: GitRepo) -> None:
    """Make everything the other user's."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", repo.path.parent], check=True)


def as_nobody(repo: GitRepo, *args: str, argv: Sequence[str] = (), env: dict[str, str] | None = None) -> Any:
    """Read as a user that is not root; return what it says."""
    home = repo.path.parent
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv here: nothing that root may do shows what others may not")
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = subprocess.run(
        [*prefix, *(argv or (sys.executable, "-B", "-c", READER, *args))],
        cwd=repo.path,
        env={**os.environ, "HOME": os.fspath(home), "XDG_CONFIG_HOME": os.fspath(home), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 0 and not argv:
        if any(text in done.stderr for text in ("Permission denied", "ModuleNotFoundError", "shared object file")):
            pytest.skip(f"another user cannot run this Python or read this checkout: {done.stderr.splitlines()[-1]}")
        pytest.fail(done.stderr)
    return done if argv else json.loads(done.stdout)


def test_of_another_owner(repo: GitRepo) -> None:
    """git's safe.directory holds, and its own advice is the hint."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository away")
    said = as_nobody(repo)
    assert "dubious ownership" in said["error"]
    assert said["error"].isprintable()
    assert said["hint"] == f"git config --global --add safe.directory {repo.path}"


def test_of_another_owner_declared_safe(repo: GitRepo) -> None:
    """With safe.directory set it is read, though nothing can be written there."""
    (repo.path.parent / ".gitconfig").write_text(f"[safe]\n\tdirectory = {repo.path}\n")
    before = repo.census()
    assert as_nobody(repo) == {"tree": repo.oracle()}
    assert repo.census() == before


def test_read_only_repository(repo: GitRepo) -> None:
    """A fingerprint can be taken of a repository that one may only read."""
    expected = repo.oracle()
    give_away(repo)
    for path in [repo.path, *repo.path.rglob("*")]:
        if path.is_dir():
            path.chmod(0o555)
    assert as_nobody(repo) == {"tree": expected}


def test_read_only_store(repo: GitRepo) -> None:
    """Keeping a tree where objects cannot be written is an error in one line."""
    give_away(repo)
    for path in [repo.path / ".git/objects", *(repo.path / ".git/objects").rglob("*")]:
        if path.is_dir():
            path.chmod(0o555)
    said = as_nobody(repo, "keep")
    assert said["error"].isprintable()
    assert as_nobody(repo).keys() == {"tree"}


def test_read_only_refs(repo: GitRepo) -> None:
    """A ref that cannot be written is told as read-only, not as a conflict."""
    give_away(repo)
    for path in [repo.path / ".git/refs", *(repo.path / ".git/refs").rglob("*")]:
        if path.is_dir():
            path.chmod(0o555)
    assert as_nobody(repo, "ref")["code"] == "read-only"


def closed(repo: GitRepo, place: str, mode: int) -> Any:
    """Shut a place to its owner, and return what a reading says; hold that it touched nothing."""
    give_away(repo)
    repo.chmod(place, mode)
    before: tuple[dict[str, object], dict[Path, int]] = ({}, {})
    after: tuple[dict[str, object], dict[Path, int]] = ({}, {})
    look(repo.path, *before)
    said = as_nobody(repo, "git")
    look(repo.path, *after)
    assert after == before
    return said


REFUSED = [
    ("closed", 0o000), ("closed", 0o444), ("closed", 0o111), ("closed/c", 0o000), ("d", 0o000), ("d", 0o444),
    ("d/b", 0o000), ("a", 0o000), ("new", 0o000), ("inner", 0o000),  (".gitignore", 0o000),
    (".gitattributes", 0o000), ("d/.gitignore", 0o000), ("d/.gitattributes", 0o000), (".git/index", 0o000),
    (".git/HEAD", 0o000), (".git/config", 0o000), (".git/info/exclude", 0o000), (".git/info/attributes", 0o000),
    (".git/objects", 0o000), ("../git/ignore", 0o000), ("../git/attributes", 0o000),
]  # fmt: skip
OPEN = [("inner/.git", 0o000), ("../.gitconfig", 0o000),
    ("x.o", 0o000), ("shut.o", 0o000), (".git/hooks", 0o000), (".git/COMMIT_EDITMSG", 0o000), (".git/logs", 0o000),
    (".git/index.lock", 0o000), (".git", 0o555), (".git/taskctx", 0o555), (".", 0o555), ("d", 0o555), ("link", 0o000),
]  # fmt: skip


@pytest.fixture
def full(repo: GitRepo) -> GitRepo:
    """A repository with everything that may be shut."""
    rules = [
        "d/.gitignore",
        "d/.gitattributes",
        "../git/ignore",
        "../git/attributes",
        "../.gitconfig",
        ".git/index.lock",
    ]
    for path in ("closed/c", "new", "x.o", "shut.o/x", ".gitattributes", ".git/info/attributes", *rules):
        repo.write(path, "")
    repo.write(".gitignore", "*.o\n")
    repo.symlink("link", "shut.o")
    repo.at(".git/taskctx").mkdir(exist_ok=True)
    GitRepo.init(repo.at("inner")).commit()
    return repo


@pytest.mark.parametrize(("place", "mode"), REFUSED)
def test_refused_where_something_is_shut(full: GitRepo, place: str, mode: int) -> None:
    """What cannot be read is no content, and no rule; git, too, refuses or says what it leaves out."""
    said = closed(full, place, mode)
    assert said.keys() == {"error", "hint", "code", "exit", "git refuses"}
    assert said["exit"] == 128
    assert said["error"].isprintable()


@pytest.mark.parametrize(("place", "mode"), OPEN)
def test_read_where_nothing_that_counts_is_shut(full: GitRepo, place: str, mode: int) -> None:
    """What git need not read may be shut, and nothing need be writable."""
    said = closed(full, place, mode)
    assert said == {"tree": said["git"], "git": said["git"]}
