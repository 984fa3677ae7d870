"""Three-way merge by tree: what libgit2 answers is what git answers, and nothing of the user's is run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import ModuleType

import pytest
from gitrepo import GitRepo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.model.oids import TreeOid
from git_taskctx.pipeline.threeway import merge_by_git, merge_in_process, merge_trees

pytestmark = pytest.mark.needs_git(2, 38)
LINES = [f"{number}\n" for number in range(12)]
NAMES = ("a", "b", "d/a", "d/e/b", "x")


@pytest.fixture
def opened(repo: GitRepo, sealed_pygit2: ModuleType) -> Iterator[Repository]:
    """An empty repository, opened."""
    found = open_repository(repo.path, os.environ)
    yield found
    found.close()


def tree_of(repository: Repository, files: dict[str, tuple[str, str]]) -> TreeOid:
    """Write a tree of files: mode and content, by path."""
    git = repository.git.with_env(GIT_INDEX_FILE=os.fspath(repository.git_dir / "of-test"))
    git.run("read-tree", "--empty")
    blobs = {text: repository.objects.add_blob(text.encode()) for text in {text for _, text in files.values()}}
    repository.objects.flush()
    lines = [f"{mode} {blobs[text]}\t{path}\n" for path, (mode, text) in files.items()]
    git.run("update-index", "--index-info", stdin="".join(lines).encode())
    return TreeOid(git.run("write-tree").out.decode().strip())


@st.composite
def edits(draw: st.DrawFn) -> dict[str, tuple[str, str] | None]:
    """Return files as one side leaves them: edited, added, deleted, a link, or to be run."""
    result: dict[str, tuple[str, str] | None] = {}
    for name in draw(st.sets(st.sampled_from(NAMES), max_size=3)):
        what = draw(st.sampled_from(["edit", "edit", "edit", "delete", "mode", "link", "other"]))
        lines = list(LINES)
        for at in draw(st.sets(st.integers(0, 11), min_size=1, max_size=2)):
            lines[at] = draw(st.sampled_from(["one\n", "two\n", "", "x\ny\n"]))
        text = "".join(lines)
        result[name] = {
            "edit": ("100644", text), "delete": None, "mode": ("100755", "".join(LINES)), "link": ("120000", "a"),
            "other": ("100644", draw(st.sampled_from(["u\n", "\0binary", "no end"]))),
        }[what]  # fmt: skip
    return result


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(edits(), edits())
def test_what_libgit2_answers_is_what_git_answers(
    opened: Repository, one: dict[str, tuple[str, str] | None], two: dict[str, tuple[str, str] | None]
) -> None:
    """Where it answers at all; and where git finds a collision it never does."""
    base = {name: ("100644", "".join(LINES)) for name in NAMES[:4]}
    trees = [tree_of(opened, {path: entry for path, entry in (base | side).items() if entry is not None})
             for side in ({}, one, two)]  # fmt: skip
    here, git = merge_in_process(opened, *trees), merge_by_git(opened, *trees, ("api", "page"))
    assert here in (None, git.tree)
    assert here is None or not git.collisions


def test_a_plain_merge_asks_no_git(opened: Repository) -> None:
    """75 files on each side, one of them edited by both in other lines."""
    base = {f"f{number}": ("100644", "".join(LINES)) for number in range(200)}
    ours = {f"f{number}": ("100644", "one\n" + "".join(LINES[1:])) for number in range(75)}
    theirs = {f"f{number}": ("100644", "".join(LINES[:-1]) + "two\n") for number in range(74, 149)}
    trees = [tree_of(opened, base | files) for files in ({}, ours, theirs)]
    both = "one\n" + "".join(LINES[1:-1]) + "two\n"
    assert merge_in_process(opened, *trees) == tree_of(opened, base | ours | theirs | {"f74": ("100644", both)})


@pytest.mark.parametrize("change", ["a rename", "an attribute", "sha256"])
def test_what_may_differ_is_left_to_git(
    opened: Repository, tmp_path_factory: pytest.TempPathFactory, change: str
) -> None:
    """A rename on one side, attributes of what both edited, objects that libgit2 does not read."""
    base = {"a": ("100644", "".join(LINES)), "d/b": ("100644", "".join(LINES))}
    ours, theirs = base | {"a": ("100644", "one\n" + "".join(LINES))}, base | {"a": ("100644", "".join(LINES) + "2\n")}
    wanted = {"a": ("100644", "one\n" + "".join(LINES) + "2\n")}
    if change == "a rename":
        theirs = {"moved": theirs["a"], "d/b": base["d/b"]}
        wanted = {"moved": wanted["a"]}
    elif change == "an attribute":
        base, ours, theirs = ({**files, ".gitattributes": ("100644", "a text\n")} for files in (base, ours, theirs))
        wanted[".gitattributes"] = ("100644", "a text\n")
    else:
        repo = GitRepo.init(tmp_path_factory.mktemp("wide") / "repo", "--object-format=sha256")
        opened = open_repository(repo.path, os.environ)
    trees = [tree_of(opened, files) for files in (base, ours, theirs)]
    assert merge_in_process(opened, *trees) is None
    merged = merge_trees(opened, *trees, ("api", "page"))
    assert (merged.collisions, merged.tree) == ((), tree_of(opened, wanted | {"d/b": base["d/b"]}))
    opened.close()


def test_a_collision_names_paths_and_lines(opened: Repository) -> None:
    """Lines between markers with the names of the sides, and files as a whole; no driver of the user's is run."""
    opened.git.run("config", "merge.ours.driver", f"touch {opened.toplevel}/ran; true")
    both = {".gitattributes": ("100644", "* merge=ours\n")}
    base, gone = {"a": ("100644", "".join(LINES)), **both}, {"b": ("100644", "x\n")}
    ours, theirs = {**base, "a": ("100644", "1\n")}, {**base, "a": ("100644", "2\n"), "b": ("100644", "y\n")}
    merged = merge_trees(opened, *(tree_of(opened, files) for files in (base | gone, ours, theirs)), ("api", "page"))
    assert merged.collisions == ("a", "b")
    assert "a: lines 1 to 5\n    <<<<<<< api\n    1\n    =======\n    2\n    >>>>>>> page" in merged.hunks
    assert "b: as a whole" in merged.hunks
    assert not (opened.toplevel / "ran").exists()
