"""Reading from inside git's own hooks, where git has set its variables and holds its locks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from gitrepo import ROOT, GitRepo
from tiers import some

READER = f"""#!{sys.executable}
import os, sys
sys.path[:0] = {[os.fspath(ROOT), os.fspath(ROOT / "tests"), os.fspath(ROOT / "tests/compat")]!r}
from pathlib import Path
from engine import MODES, witness
from gitrepo import GitRepo
from git_taskctx.git.repository import open_repository
from git_taskctx.git.worktree import read_worktree
repo = GitRepo(Path.cwd())
before = witness(repo)
repository = open_repository(Path.cwd(), dict(os.environ))
found = set()
for mode in MODES:
    with read_worktree(repository, **mode) as reading:
        found.add((reading.tree, reading.index_tree))
repository.close()
wrong = [] if witness(repo).kept == before.kept else ["touched"]
wrong += [] if {{tree for tree, _ in found}} == {{repo.oracle()}} else ["differs"]
with open(os.environ["SEEN"], "a") as seen:
    print(*(word for pair in found for word in pair), *wrong, file=seen)
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the hook writes what it read."""
    monkeypatch.setenv("SEEN", os.fspath(tmp_path / "seen"))
    return tmp_path / "seen"


def hooked(repo: GitRepo, name: str) -> None:
    """Commit some files, make the worktree dirty, and put the reader in a hook."""
    repo.write(".gitignore", "*.o\n")
    for path in ("a", "b", "d/c"):
        repo.write(path, "one\n")
    repo.commit()
    repo.write("a", "two\n")
    repo.write("b", "two\n")
    repo.write("new", "x")
    hook = repo.common_dir() / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(READER)
    hook.chmod(0o755)


def read_in_hook(seen: Path) -> list[str]:
    """Return the worktree's tree and the staged one, on which all engines and git agreed, touching nothing."""
    (line,) = seen.read_text().splitlines()
    words = line.split()
    assert len(words) == 2, words
    return words


@pytest.mark.parametrize(
    "args",
    some(
        [("--allow-empty",), ("-a",), ("a",), ("-i", "a"), ("--amend",), ("-o", "a")], [("-a",), ("a",), ("--amend",)]
    ),
)
def test_in_pre_commit(repo: GitRepo, seen: Path, args: tuple[str, ...]) -> None:
    """In pre-commit the tree is the worktree's, the staged tree what is about to be committed."""
    hooked(repo, "pre-commit")
    expected = repo.oracle()
    repo.git("commit", "-q", "-m", "x", *args)
    assert read_in_hook(seen) == [expected, repo.tree()]
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_in_post_commit(repo: GitRepo, seen: Path) -> None:
    """In post-commit too."""
    hooked(repo, "post-commit")
    expected = repo.oracle()
    repo.git("commit", "-q", "-a", "-m", "x")
    assert read_in_hook(seen) == [expected, repo.tree()]


def test_in_post_checkout(repo: GitRepo, seen: Path) -> None:
    """And in post-checkout, where git sets no index."""
    hooked(repo, "post-checkout")
    repo.checkout("-b", "topic")
    assert read_in_hook(seen)[0] == repo.oracle()


@pytest.mark.parametrize("name", some(("prepare-commit-msg", "commit-msg", "post-commit"), ("commit-msg",)))
@pytest.mark.parametrize("args", [("-a",), ("a",)])
def test_in_other_hooks_of_a_commit(repo: GitRepo, seen: Path, name: str, args: tuple[str, ...]) -> None:
    """So it is in the other hooks of a commit."""
    hooked(repo, name)
    expected = repo.oracle()
    repo.git("commit", "-q", "-m", "x", *args)
    assert read_in_hook(seen) == [expected, repo.tree()]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("post-checkout", ["checkout", "-q", "--", "d/c"]),
        ("post-checkout", ["checkout", "-q", "--detach"]),
        ("post-checkout", ["switch", "-q", "-c", "topic"]),
        ("post-merge", ["merge", "-q", "side"]),
        ("post-rewrite", ["commit", "-q", "--amend", "--no-edit"]),
        ("pre-push", ["push", "-q", "../remote.git", "HEAD:refs/heads/x"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value[:3]),
)
def test_in_hooks_beside_a_commit(repo: GitRepo, seen: Path, name: str, args: list[str]) -> None:
    """And in the hooks of every other command: what git has set or locked there changes nothing."""
    hooked(repo, "unused")
    repo.git("branch", "side", repo.git("commit-tree", "-p", "HEAD", "-m", "side", repo.tree()))
    repo.git("init", "-q", "--bare", "../remote.git")
    hook = repo.common_dir() / "hooks"
    (hook / "unused").rename(hook / name)
    expected = repo.oracle()
    repo.git(*args)
    assert read_in_hook(seen)[0] == expected


def test_in_pre_rebase(repo: GitRepo, seen: Path) -> None:
    """Where git has put the dirt aside for the time of a rebase, it is not in the tree."""
    hooked(repo, "pre-rebase")
    repo.git("branch", "side", repo.git("commit-tree", "-p", "HEAD", "-m", "side", repo.tree()))
    repo.git("rebase", "-q", "--autostash", "side")
    assert read_in_hook(seen) == [
        repo.git("mktree", input=repo.git("ls-tree", "HEAD") + "\n" + new_file(repo)),
        repo.tree(),
    ]


def new_file(repo: GitRepo) -> str:
    return f"100644 blob {repo.git('hash-object', 'new')}\tnew\n"


def test_while_a_rebase_stops_and_goes_on(repo: GitRepo, seen: Path) -> None:
    """post-commit runs inside a rebase, with the rebase's own state around it."""
    hooked(repo, "unused")
    base = repo.commit("one")
    repo.write("d/new", "x")
    repo.commit("two")
    repo.git("rebase", "-q", "-i", base, env={"GIT_SEQUENCE_EDITOR": "sed -i s/^pick/edit/"})
    repo.write("d/new", "y")
    hook = repo.common_dir() / "hooks"
    (hook / "unused").rename(hook / "post-commit")
    repo.add()
    expected = repo.oracle()
    repo.git("rebase", "--continue", env={"GIT_EDITOR": "true"})
    assert read_in_hook(seen) == [expected, repo.tree()]


@pytest.mark.parametrize("args", [(), ("-a",), ("a",)])
def test_in_a_linked_worktree(repo: GitRepo, seen: Path, tmp_path: Path, args: tuple[str, ...]) -> None:
    """git sets GIT_DIR alone in the hooks of a linked worktree; the worktree is still the right one."""
    hooked(repo, "pre-commit")
    repo.git("worktree", "add", "-q", os.fspath(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    other.write("a", "linked\n")
    other.write("d/new", "x")
    expected = other.oracle()
    before = repo.census()
    other.git("commit", "-q", "--allow-empty", "-m", "x", *args)
    assert read_in_hook(seen) == [expected, other.tree()]
    after = repo.census()
    assert before["index"] == after["index"]


def test_from_a_sub_folder(repo: GitRepo, seen: Path) -> None:
    """A commit begun in a sub-folder is read from the top."""
    hooked(repo, "pre-commit")
    expected = repo.oracle()
    GitRepo(repo.at("d")).git("commit", "-q", "-a", "-m", "x")
    assert read_in_hook(seen)[0] == expected


def test_in_rebase_exec(repo: GitRepo, seen: Path) -> None:
    """`git rebase --exec` is a state like any other."""
    hooked(repo, "unused")
    base = repo.commit("one")
    repo.write("a", "three\n")
    repo.commit("two")
    script = repo.common_dir() / "hooks/unused"
    repo.git("rebase", "-q", "--exec", f"'{script}'", base)
    assert read_in_hook(seen)[0] == repo.tree()


def test_in_an_alias(repo: GitRepo, seen: Path) -> None:
    """An alias runs at the top with GIT_PREFIX set."""
    hooked(repo, "unused")
    repo.config("alias.read", f"!'{repo.common_dir() / 'hooks/unused'}'")
    GitRepo(repo.at("d")).git("read")
    assert read_in_hook(seen)[0] == repo.oracle()


def test_in_pre_merge_commit(repo: GitRepo, seen: Path) -> None:
    """A merge without conflict runs pre-merge-commit."""
    hooked(repo, "pre-merge-commit")
    repo.checkout("-b", "side")
    repo.commit("side")
    repo.checkout("main")
    repo.write("d/c", "main\n")
    repo.commit("main")
    repo.git("merge", "-q", "--no-edit", "side")
    assert read_in_hook(seen) == [repo.tree(), repo.tree()]
