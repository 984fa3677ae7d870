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
from gitrepo import ROOT, GitRepo

NOBODY = 65534

READER = f"""
import json, os, sys
sys.path.insert(0, {os.fspath(ROOT)!r})
from pathlib import Path
from git_taskctx.errors import TaskctxError
from git_taskctx.git.refs import RefMove, move_refs
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree
try:
    repository = open_repository(Path.cwd(), dict(os.environ))
    with read_worktree(repository, keep="keep" in sys.argv) as reading:
        said = {{"tree": reading.tree}}
    if "ref" in sys.argv:
        head = repository.head().commit
        move_refs(repository.git, [RefMove("refs/taskctx/x", head, None)], reason="test")
    repository.close()
except TaskctxError as error:
    said = {{"error": error.message, "hint": error.hint, "code": error.code}}
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


def test_unreadable_folder(repo: GitRepo) -> None:
    """git leaves an unreadable folder out and ends with 0; we refuse."""
    repo.write("closed/c", "x")
    give_away(repo)
    repo.chmod("closed", 0o000)
    said = as_nobody(repo)
    assert "closed" in said["error"]


def test_unreadable_tracked_folder(repo: GitRepo) -> None:
    """A tracked folder that cannot be read does not count as deleted."""
    give_away(repo)
    repo.chmod("d", 0o000)
    assert "error" in as_nobody(repo)


def test_folder_that_can_be_listed_but_not_entered(repo: GitRepo) -> None:
    """Names without content are no tree."""
    repo.write("closed/c", "x")
    give_away(repo)
    repo.chmod("closed", 0o444)
    assert "error" in as_nobody(repo)


def test_unreadable_file(repo: GitRepo) -> None:
    """A file that cannot be read is refused."""
    repo.write("new", "x")
    give_away(repo)
    repo.chmod("new", 0o000)
    assert "error" in as_nobody(repo)


def test_unreadable_tracked_file(repo: GitRepo) -> None:
    """So is a tracked one that changed."""
    give_away(repo)
    repo.chmod("a", 0o000)
    assert "error" in as_nobody(repo)


def test_unreadable_ignore_file(repo: GitRepo) -> None:
    """Ignore rules that cannot be read are no reason to guess."""
    repo.write(".gitignore", "*.o\n")
    repo.write("x.o", "x")
    give_away(repo)
    repo.chmod(".gitignore", 0o000)
    assert "error" in as_nobody(repo)


def test_unreadable_and_ignored(repo: GitRepo) -> None:
    """An ignored folder may be closed."""
    repo.write(".gitignore", "closed/\n")
    repo.write("closed/c", "x")
    expected = repo.oracle()
    give_away(repo)
    repo.chmod("closed", 0o000)
    assert as_nobody(repo) == {"tree": expected}
