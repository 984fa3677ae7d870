"""A worktree that changes while it is read."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from pathlib import Path

import pytest
from desk import Desk
from engine import MODES, read, write_home
from gitrepo import GitRepo

from git_taskctx.errors import TryAgain
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree

EDITOR = """#!/bin/sh
cat
if test "$1" = first.x; then
    test "$(cat second.x)" = new || printf mid >second.x
else
    touch -r second.x "$HOME/time"
    printf new >second.x
    touch -r "$HOME/time" second.x
fi
"""


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_worktree_that_keeps_changing_is_no_tree(repo: GitRepo, mode: dict[str, bool]) -> None:
    """A worktree that changes whenever it is read is told as that, in every way of reading, and never recorded."""
    repo.config("filter.grow.clean", "cat; head -c 16 /dev/urandom >>%f")
    repo.write(".gitattributes", "*.x filter=grow\n")
    repo.write("a.x", "text\n")
    before = repo.git("count-objects", "-v")
    with pytest.raises(TryAgain, match="keeps changing"):
        read(repo, **mode)
    assert repo.git("count-objects", "-v") == before
    assert "keeps changing" in Desk(repo).refuses("fingerprint", code=75)


@pytest.mark.deep
def test_a_file_replaced_while_it_is_read_is_one_or_the_other(repo: GitRepo) -> None:
    """Content is never a mixture of what was before and after."""
    contents = [bytes([letter]) * 4_000_000 for letter in b"ab"]
    trees = set()
    for content in contents:
        repo.write("large", content)
        trees.add(repo.oracle())
    stop = threading.Event()

    def alternate() -> None:
        while not stop.is_set():
            for content in contents:
                place = repo.git_dir() / "replacing"
                place.write_bytes(content)
                place.replace(repo.at("large"))

    writer = threading.Thread(target=alternate)
    writer.start()
    found = []
    for number in range(40):
        with contextlib.suppress(TryAgain):
            found.append(read(repo, exact=bool(number % 2)))
    stop.set()
    writer.join()
    assert set(found) <= trees
    assert found


def test_a_file_written_while_it_is_read_is_read_again(repo: GitRepo) -> None:
    """An edit that comes while a file is read, and leaves its size and its time as they were, is in the tree."""
    script = Path(os.environ["HOME"], "filter")
    script.write_text(EDITOR)
    script.chmod(0o755)
    repo.config("core.trustctime", "false")
    repo.config("filter.edit.clean", f"'{script}' %f")
    repo.write(".gitattributes", "*.x filter=edit\n")
    repo.write("first.x", "x")
    repo.write("second.x", "old")
    repository = open_repository(repo.path, dict(os.environ))
    with read_worktree(repository, keep=False) as reading:
        assert reading.objects.get(f"{reading.tree}:second.x", "blob") == b"new"
    repository.close()


LATE = """#!/bin/sh
case "$GIT_INDEX_FILE $*" in
*/staged*write-tree*) read -r line <"$HOME/go" ;;
*/index*write-tree*)
    echo pass >>"$HOME/passes"
    test "$(wc -l <"$HOME/passes")" = 2 && (echo >"$HOME/go") >/dev/null 2>&1 & ;;
esac
exec "$GIT" "$@"
"""


def test_what_is_staged_is_kept_however_late_it_is_read(repo: GitRepo) -> None:
    """Objects are taken into the repository when all that writes them has ended."""
    repo.write("a", "staged")
    repo.write("d/b", "staged")
    repo.add()
    repo.write("d/b", "edited")
    script = write_home("bin/git", LATE)
    script.chmod(0o755)
    os.mkfifo(os.path.expandvars("$HOME/go"))
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    repository = open_repository(repo.path, {**os.environ, "PATH": path, "GIT": str(shutil.which("git"))})
    with read_worktree(repository, keep=True, exact=True) as reading:
        staged = reading.index_tree
    repository.close()
    assert sorted(repo.git("ls-tree", "-r", "-t", "--name-only", str(staged)).split()) == ["a", "d", "d/b"]
