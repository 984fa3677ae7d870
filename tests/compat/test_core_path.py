"""The whole way of a task, from `init` to the seal, in every kind of repository that a worktree can belong to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import TASK, Desk, Said
from gitrepo import GitRepo

Shape = Callable[[Path], GitRepo]
SHAPES: list[Shape] = []


def shape(build: Shape) -> Shape:
    """Add a kind of repository to the table."""
    SHAPES.append(build)
    return build


def begin(repo: GitRepo) -> GitRepo:
    """Commit what every shape starts from."""
    repo.write("parser.py", "broken\n")
    repo.write("deep/er/file", "deep\n")
    repo.symlink("link", "parser.py")
    repo.commit("base")
    return repo


@shape
def plain(place: Path) -> GitRepo:
    return begin(GitRepo.init(place / "work"))


@shape
def sha256(place: Path) -> GitRepo:
    return begin(GitRepo.init(place / "work", "--object-format=sha256"))


@shape
def linked_worktree(place: Path) -> GitRepo:
    begin(GitRepo.init(place / "main")).git("worktree", "add", "-q", "-b", "topic", "../work")
    return GitRepo(place / "work")


@shape
def linked_worktree_of_a_bare_sha256_repository(place: Path) -> GitRepo:
    main = begin(GitRepo.init(place / "main", "--object-format=sha256"))
    main.git("clone", "-q", "--bare", ".", "../bare.git")
    GitRepo(place / "bare.git").git("worktree", "add", "-q", "../work")
    return GitRepo(place / "work")


@shape
def separate_git_dir(place: Path) -> GitRepo:
    return begin(GitRepo.init(place / "work", "--separate-git-dir", os.fspath(place / "sto:re")))


@shape
def core_worktree(place: Path) -> GitRepo:
    (place / "work").mkdir()
    GitRepo.init(place / "main").config("core.worktree", "../../work")
    return begin(GitRepo(place / "work", env={"GIT_DIR": os.fspath(place / "main/.git")}))


@shape
def git_dir_and_work_tree_in_the_environment(place: Path) -> GitRepo:
    GitRepo.init(place / "main")
    (place / "work").mkdir()
    env = {"GIT_DIR": os.fspath(place / "main/.git"), "GIT_WORK_TREE": os.fspath(place / "work")}
    return begin(GitRepo(place / "work", env=env))


@shape
def relative_alternates_in_the_environment(place: Path) -> GitRepo:
    begin(GitRepo.init(place / "main")).git("clone", "-q", "--shared", ".", "../work")
    (place / "work/.git/objects/info/alternates").unlink()
    return GitRepo(place / "work", env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": "../main/.git/objects"})


@shape
def relative_alternates(place: Path) -> GitRepo:
    begin(GitRepo.init(place / "main")).git("clone", "-q", "--shared", ".", "../work")
    (place / "work/.git/objects/info/alternates").write_text("../../../main/.git/objects\n")
    return GitRepo(place / "work")


@shape
def shallow(place: Path) -> GitRepo:
    begin(GitRepo.init(place / "main")).commit("more")
    GitRepo(place / "main").git("clone", "-q", "--depth=1", f"file://{place}/main", "../work")
    return GitRepo(place / "work")


@shape
def partial_clone(place: Path) -> GitRepo:
    main = begin(GitRepo.init(place / "main"))
    main.config("uploadpack.allowFilter", "true")
    main.write("parser.py", "broken\n")
    main.write("elsewhere/big", "not here\n")
    main.commit("more")
    main.git("clone", "-q", "--filter=blob:none", "--sparse", f"file://{place}/main", "../work")
    work = GitRepo(place / "work")
    work.config("remote.origin.url", "file:///nonexistent")
    return work


@shape
def sparse_with_a_sparse_index(place: Path) -> GitRepo:
    repo = begin(GitRepo.init(place / "work"))
    repo.write("out/side/file", "x\n")
    repo.commit("more")
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "deep")
    return repo


@shape
def split_index(place: Path) -> GitRepo:
    repo = GitRepo.init(place / "work")
    repo.config("core.splitIndex", "true")
    return begin(repo)


@shape
def in_a_folder_with_an_odd_name(place: Path) -> GitRepo:
    return begin(GitRepo.init(place / os.fsdecode(b"new\nline caf\xe9 :(top)")))


@shape
def unborn(place: Path) -> GitRepo:
    repo = GitRepo.init(place / "work")
    repo.write("parser.py", "broken\n")
    return repo


EVERYDAY = (linked_worktree_of_a_bare_sha256_repository, partial_clone, unborn)


@pytest.fixture(
    params=[pytest.param(build, marks=[pytest.mark.deep] * (build not in EVERYDAY)) for build in SHAPES],
    ids=[build.__name__ for build in SHAPES],
)
def desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A worktree of one kind of repository, whose variables are the caller's own."""
    repo = request.param(tmp_path)
    for name, value in repo.env.items():
        monkeypatch.setenv(name, value)
    return Desk(repo)


def quietly(desk: Desk, *args: str, code: int = 0) -> Said:
    """Run a verb, and hold that it touched nothing of the user's."""
    before = theirs(desk)
    said = desk.ends(code, *args)
    assert theirs(desk) == before
    return said


def theirs(desk: Desk) -> dict[str, object]:
    """Return all of the user's, but not our folder in the git dir of a linked worktree."""
    return {place: state for place, state in desk.repo.census().items() if "/taskctx/" not in place}


def applied(desk: Desk, patch: bytes) -> str:
    """Return the tree that a patch makes of HEAD's."""
    repo, place = desk.repo, {"GIT_INDEX_FILE": os.path.expandvars("$HOME/patched")}
    base = repo.git("rev-parse", "-q", "--verify", "HEAD", check=False) or "--empty"
    repo.git("read-tree", base, env=place)
    repo.git("apply", "--cached", "--binary", input=patch, env=place)
    return repo.git("write-tree", "--missing-ok", env=place)


def test_the_whole_way(desk: Desk) -> None:
    """Begin, record, drift, restore, purge, recover, review, validate, commit: every verb works and tells the truth."""
    repo = desk.repo
    quietly(desk, "init", TASK, "--title", "Mend the parser")
    repo.write("parser.py", "mended\n")
    repo.write(b"new \xe9\n", b"\0binary")
    tree = repo.oracle()
    quietly(desk, "snapshot", "--agent", "implementer")
    assert desk.seat("implementer")["worktree_snapshot"]["tree"] == tree
    assert repo.git("rev-parse", desk.seat("implementer")["worktree_snapshot"]["tree_ref"]) == tree
    assert applied(desk, quietly(desk, "diff", "--type", "from-base").out.encode()) == tree
    quietly(desk, "verify")

    repo.write("parser.py", "drifted\n")
    repo.write("more", "drifted\n")
    drifted = repo.oracle()
    assert {cause["path"] for cause in desk.data("verify", code=1)["causes"]} == {"parser.py", "more"}
    quietly(desk, "start", "--agent", "reviewer", code=1)
    desk.ok("restore", "--agent", "implementer")
    assert repo.oracle(cold=True) == tree
    desk.ok("restore", "--agent", "saved")
    assert repo.oracle(cold=True) == drifted
    desk.ok("restore", "--agent", "implementer")
    quietly(desk, "resolve-drift", "--note", "put back")

    quietly(desk, "purge")
    quietly(desk, "recover", TASK)
    shutil.rmtree(repo.path / ".agent-output")
    quietly(desk, "recover", TASK)
    quietly(desk, "start", "--agent", "reviewer")
    quietly(desk, "verify", code=3)
    quietly(desk, "snapshot", "--agent", "reviewer")
    quietly(desk, "snapshot", "--agent", "validator", "--done")
    repo.commit("mended")
    assert "is over" in quietly(desk, "verify").out
    assert [record["type"] for record in desk.records()] == [
        "init", "snapshot", "drift", "restore", "restore", "restore", "resolve", "purge", "recover", "start",
        "snapshot", "start", "snapshot", "seal", "purge",
    ]  # fmt: skip
    repo.git("fsck", "--connectivity-only", "--no-dangling")


@pytest.fixture
def without_base(tmp_path: Path) -> Desk:
    """A partial clone in which a task begins at a commit whose blobs were never fetched."""
    main = begin(GitRepo.init(tmp_path / "main"))
    main.config("uploadpack.allowFilter", "true")
    main.write("parser.py", "less broken\n")
    main.commit("more")
    main.git("clone", "-q", "--filter=blob:none", f"file://{main.path}", "../work")
    desk = Desk(GitRepo(tmp_path / "work"))
    desk.ok("init", TASK, "--title", "Mend the parser", "--base-commit", "HEAD~1")
    desk.repo.write("parser.py", "mended\n")
    return desk


def test_partial_clone_without_the_base_blob(without_base: Desk) -> None:
    """The tree can be told without it, a diff cannot: that is `could not tell`, nothing is fetched or recorded."""
    before, repo = theirs(without_base), without_base.repo
    assert without_base.ok("fingerprint").out.strip() == repo.oracle()
    assert without_base.data("verify", code=3)["outcome"] == "could-not-tell"
    assert "unable to read" in without_base.refuses("snapshot", "--agent", "implementer", code=3)
    assert theirs(without_base) == before
    assert repo.run("cat-file", "-e", "HEAD~1:parser.py", env={"GIT_NO_LAZY_FETCH": "1"}).returncode != 0
    repo.git("diff", "--stat", "HEAD~1")
    quietly(without_base, "snapshot", "--agent", "implementer")
    assert without_base.seat("implementer")["worktree_snapshot"]["tree"] == repo.oracle()


def test_partial_clone_is_told_how_to_fetch_the_base(without_base: Desk) -> None:
    """The hint is a command that lets git fetch what is missing."""
    said = without_base.refuses("snapshot", "--agent", "implementer", code=3)
    hint = said.split("hint: ")[1].splitlines()[0]
    without_base.repo.git(*hint.removeprefix("git ").split("#")[0].split())
    without_base.ok("snapshot", "--agent", "implementer")
