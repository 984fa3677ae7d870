"""No verb touches what is the user's, in this repository or in another one."""

from __future__ import annotations

import os
from pathlib import Path

from desk import TASK, Desk
from gitrepo import GitRepo


def test_no_verb_touches_what_is_the_users(desk: Desk) -> None:
    """Index, HEAD, stash, files, ignore files, configuration: byte for byte, times and inodes included."""
    repo = desk.repo
    repo.write("README", "stashed\n")
    repo.git("stash")
    repo.write("parser.py", "staged\n")
    repo.add()
    repo.write("parser.py", "mended\n")
    repo.write("new.txt", "new\n")
    before = repo.census()
    for code, args in (
        (0, ("init", TASK, "--title", "Mend")),
        (0, ("snapshot", "--agent", "implementer", "--allow-clean")),
        (0, ("verify",)),
        (0, ("start", "--agent", "reviewer")),
        (0, ("block", "--agent", "reviewer", "--finding", "no test")),
        (3, ("verify",)),
        (0, ("status",)),
        (0, ("get",)),
        (0, ("diff", "--agent", "implementer")),
        (0, ("diff", "--agent", "implementer", "--type", "from-base")),
        (0, ("log",)),
        (0, ("list",)),
        (0, ("unblock", "--agent", "reviewer", "--finding", "F1")),
        (0, ("update", "--agent", "reviewer", "--session-id", "s1")),
        (0, ("snapshot", "--agent", "reviewer")),
        (0, ("start", "--agent", "implementer")),
        (0, ("fingerprint",)),
        (0, ("fingerprint", "--exact", "--write")),
        (0, ("config",)),
        (0, ("purge",)),
        (0, ("recover", TASK)),
    ):
        desk.ends(code, *args)
        assert repo.census() == before, args
    repo.write("new.txt", "edited\n")
    desk.ok("snapshot", "--agent", "implementer", "--wip")
    desk.ok("snapshot", "--agent", "implementer")
    repo.write("new.txt", "drift\n")
    before = repo.census()
    desk.ends(1, "verify")
    desk.ok("resolve-drift", "--accept", "--note", "mine")
    assert repo.census() == before


def test_inside_a_hook_no_other_repository_is_touched(begun: Desk, tmp_path: Path) -> None:
    """git sets GIT_DIR and GIT_INDEX_FILE there; they say which repository is meant, wherever one stands."""
    other = GitRepo.init(tmp_path / "other")
    other.write("a", "a\n")
    other.commit("other")
    before = other.census(), sorted(path for path in other.git_dir().rglob("*"))
    begun.repo.write("parser.py", "mended\n")
    env = {
        "GIT_DIR": os.fspath(begun.repo.git_dir()),
        "GIT_WORK_TREE": os.fspath(begun.repo.path),
        "GIT_INDEX_FILE": os.fspath(begun.repo.git_dir() / "index"),
    }
    said = begun.process("snapshot", "--agent", "implementer", cwd=other.path, env=env)
    assert said.code == 0, said.both
    assert begun.seat("implementer")["worktree_snapshot"]["tree"] == begun.repo.oracle()
    assert (other.census(), sorted(path for path in other.git_dir().rglob("*"))) == before
