"""What no tree can show, under assume-unchanged and skip-worktree, and that it is told."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from gitrepo import GitRepo

from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree


def three_files(repo: GitRepo) -> None:
    for name in ("a", "d/b", "d/e/c"):
        repo.write(name, f"{name}\n")
    repo.commit()


@pytest.mark.parametrize(("flag", "sparse"), [("assume-unchanged", 0), ("skip-worktree", 0), ("skip-worktree", 1)])
def test_hidden_edits_are_told(repo: GitRepo, flag: str, sparse: int) -> None:
    """What flags hide from every tree is told, but not files as in the index, nor those that a sparse checkout lacks.

    In a sparse checkout git itself takes the flag off a file that is there.
    """
    three_files(repo)
    repo.config("core.sparseCheckout", str(sparse))
    repo.git("update-index", f"--{flag}", "a", "d/b", "d/e/c")
    repo.write("a", "hidden")
    repo.remove("d/e/c")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        told = [(change.path, change.kind) for change in reading.hidden]
    repository.close()
    assert told == ([] if sparse else [("a", flag), ("d/e/c", flag)])


def hidden(repo: GitRepo) -> list[tuple[str, str]]:
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        found = [(change.path, change.kind) for change in reading.hidden]
    repository.close()
    return found


ODD_NAMES = [b"caf\xe9", b"new\nline", b'"quoted"', b"back\\slash", b" lead", "é".encode(), b"-n"]


def test_hidden_edits_of_files_with_odd_names(repo: GitRepo) -> None:
    """Names are bytes here too, and unchanged files stay untold."""
    for name in ODD_NAMES:
        repo.write(name, "x")
    repo.commit()
    repo.git("update-index", "-z", "--assume-unchanged", "--stdin", input=b"\0".join(ODD_NAMES))
    assert hidden(repo) == []
    for name in ODD_NAMES:
        repo.write(name, "y")
    assert len(hidden(repo)) == len(ODD_NAMES)


def test_hidden_changes_of_kind_and_mode(repo: GitRepo) -> None:
    """A mode, a link with the bytes of the file, and a FIFO are changes as well; nothing waits for the FIFO."""
    for name in ("fifo", "folder", "kind", "link", "mode", "same"):
        repo.write(name, "target")
    repo.remove("link")
    repo.symlink("link", "target")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "fifo", "folder", "kind", "link", "mode", "same")
    assert hidden(repo) == []
    repo.remove("fifo", "folder", "kind", "link")
    os.mkfifo(repo.at("fifo"))
    repo.at("folder").mkdir()
    repo.symlink("kind", "target")
    repo.write("link", "target")
    repo.chmod("mode", 0o755)
    told = [path for path, _ in hidden(repo)]
    assert told == ["fifo", "folder", "kind", "link", "mode"]
    repo.config("core.fileMode", "false")
    repo.config("core.symlinks", "false")
    assert [path for path, _ in hidden(repo)] == ["fifo", "folder", "kind"]


def test_hidden_edits_take_no_process_each(repo: GitRepo, tmp_path: Path) -> None:
    """The number of git processes does not grow with the files under a flag."""
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/git"
    script.write_text(f'#!/bin/sh\necho call >>"{log}"\nexec "{shutil.which("git")}" "$@"\n')
    script.chmod(0o755)
    for number in range(50):
        repo.write(str(number), "x")
    repo.commit()
    counts = []
    for flagged in (["0"], [str(number) for number in range(50)]):
        repo.git("update-index", "--assume-unchanged", *flagged)
        log.write_text("")
        environ = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        repository = open_repository(repo.path, environ)
        with read_worktree(repository, keep=False) as reading:
            assert reading.hidden == ()
        repository.close()
        counts.append(len(log.read_text().splitlines()))
    assert counts[0] >= counts[1]


def test_hidden_edits_are_converted_before_they_are_judged(repo: GitRepo) -> None:
    """A file under a flag that differs only as its filter says is no edit."""
    repo.config("core.autocrlf", "true")
    repo.write("a", "one\r\n")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "a")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.hidden == ()
    repository.close()
