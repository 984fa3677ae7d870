"""What git does to a validated commit, and what is proved of it in each kind of clone: every cell of the matrix."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gitrepo import GitRepo
from proof.scene import NOTES, Scene

Step = Callable[[Scene], object]


def amend(scene: Scene) -> None:
    """The same tree once more, at another time."""
    scene.repo.commit_staged("Mend the parser", "--amend")


def amend_content(scene: Scene) -> None:
    """Something is put in that nobody approved."""
    scene.repo.write("other.py", "slipped in\n")
    scene.repo.add()
    scene.repo.commit_staged("Mend the parser", "--amend")


def amend_content_with_note(scene: Scene) -> None:
    """The same, where git is told to carry notes along."""
    scene.repo.config("notes.rewriteRef", NOTES)
    amend_content(scene)


def reword(scene: Scene) -> None:
    """Another message."""
    scene.repo.commit_staged("Another message", "--amend")


def rebase_moved(scene: Scene) -> None:
    """Rebase onto work of others."""
    scene.move_main()
    scene.repo.git("rebase", "-q", "main")


def rebase_reworded(scene: Scene) -> None:
    """The commit below gets another message, and the task's is rebased upon it."""
    scene.repo.checkout("main")
    scene.repo.commit_staged("base, told better", "--amend")
    scene.repo.checkout("topic")
    scene.repo.git("rebase", "-q", "--onto", "main", scene.base)


def squash_same_base(scene: Scene) -> None:
    """What a server makes of the branch while nothing else happened."""
    scene.repo.checkout("main")
    scene.repo.git("merge", "-q", "--squash", "topic")
    scene.repo.commit_staged("Squashed")
    scene.repo.git("branch", "-f", "topic")


def squash_moved(scene: Scene) -> None:
    """What a server makes of the branch when its base moved on."""
    scene.move_main()
    squash_same_base(scene)


def squash_shifted(scene: Scene) -> None:
    """The same, where the others' work moved the lines that the task changed."""
    top = scene.repo.git("show", "main:parser.py")
    scene.move_main("parser.py", "first\n" + top + "\n")
    squash_same_base(scene)


def fast_forward(scene: Scene) -> None:
    """The commit itself arrives on main."""
    scene.repo.checkout("main")
    scene.repo.git("merge", "-q", "--ff-only", "topic")


def merge(scene: Scene) -> None:
    """A merge commit, the base having moved on."""
    scene.move_main()
    scene.repo.checkout("main")
    scene.repo.git("merge", "-q", "--no-ff", "-m", "Merge", "topic")
    scene.repo.git("branch", "-f", "topic")


def merge_unmoved(scene: Scene) -> None:
    """A pull request's merge ref while its base has not moved."""
    scene.repo.checkout("main")
    scene.repo.git("merge", "-q", "--no-ff", "-m", "Merge", "topic")
    scene.repo.git("branch", "-f", "topic")


def merge_edited(scene: Scene) -> None:
    """A merge into which something was put by hand."""
    merge(scene)
    scene.repo.write("other.py", "slipped in\n")
    scene.repo.add()
    scene.repo.git("commit", "-q", "--amend", "--no-edit")
    scene.repo.git("branch", "-f", "topic")


def cherry_pick(scene: Scene) -> None:
    """Picked onto work of others."""
    scene.move_main()
    scene.repo.checkout("main")
    scene.repo.git("cherry-pick", "topic")
    scene.repo.git("branch", "-f", "topic")


def revert(scene: Scene) -> None:
    """Taken back: the tree is the base's again, which no task validated."""
    scene.repo.git("revert", "--no-edit", "HEAD")


def reset_and_recommit(scene: Scene) -> None:
    """The same content committed anew."""
    scene.repo.git("reset", "-q", "--soft", "HEAD~1")
    scene.repo.commit("Mend the parser, again")


def filter_names(scene: Scene) -> None:
    """History rewritten: another author, the trees as they were."""
    filter_repo(scene, "--name-callback", "return b'Somebody Else'")


def filter_paths(scene: Scene) -> None:
    """History rewritten: a file was never there."""
    filter_repo(scene, "--invert-paths", "--path", "other.py")


def filter_repo(scene: Scene, *args: str) -> None:
    """Rewrite all history with git-filter-repo, and leave its map where a clone finds it."""
    mirror = scene.folder / "mirror"
    scene.repo.git("clone", "-q", "--mirror", os.fspath(scene.repo.path), os.fspath(mirror))
    program = Path(sys.executable).with_name("git-filter-repo")
    command = [sys.executable, os.fspath(program), "--force", "--quiet", *args]
    subprocess.run(command, cwd=mirror, check=True, capture_output=True)
    scene.repo = GitRepo(mirror)


VERIFIED, BY_TREE = "verified by commit", "verified by tree"
NO_RECORD, NO_NOTES = "unproven no-record", "unproven no-notes"
MATRIX: list[tuple[Step, str, str, str]] = [
    # what happened, in a full clone, at depth 1 with the base fetched, with the notes from before the seal
    (lambda scene: None, VERIFIED, VERIFIED, NO_RECORD),
    (amend, BY_TREE, BY_TREE, NO_RECORD),
    (amend_content, NO_RECORD, NO_RECORD, NO_RECORD),
    (amend_content_with_note, "unproven misplaced", "unproven misplaced", NO_RECORD),
    (reword, BY_TREE, BY_TREE, NO_RECORD),
    (rebase_moved, NO_RECORD, NO_RECORD, NO_RECORD),
    (rebase_reworded, BY_TREE, BY_TREE, NO_RECORD),
    (squash_same_base, BY_TREE, BY_TREE, NO_RECORD),
    (squash_moved, NO_RECORD, NO_RECORD, NO_RECORD),
    (squash_shifted, NO_RECORD, NO_RECORD, NO_RECORD),
    (fast_forward, VERIFIED, VERIFIED, NO_RECORD),
    (merge, "unproven parent-unproven", "unproven merge-unchecked", "unproven parent-unproven"),
    (merge_unmoved, "verified by tree", "verified by tree", "unproven parent-unproven"),
    (merge_edited, "unproven merge-edited", "unproven merge-unchecked", "unproven parent-unproven"),
    (cherry_pick, NO_RECORD, NO_RECORD, NO_RECORD),
    (revert, NO_RECORD, NO_RECORD, NO_RECORD),
    (reset_and_recommit, BY_TREE, BY_TREE, NO_RECORD),
    (filter_names, BY_TREE, BY_TREE, NO_RECORD),
    (filter_paths, NO_RECORD, NO_RECORD, NO_RECORD),
]


@pytest.mark.parametrize(
    ("step", "full", "shallow", "stale"),
    MATRIX,
    ids=[step.__name__.replace("<lambda>", "as_it_was") for step, *_ in MATRIX],
)
def test_survival(tmp_path: Path, step: Step, full: str, shallow: str, stale: str) -> None:
    """Each change of a validated commit has its verdict, whatever the clone has: nothing is proved that is not so."""
    scene = Scene.sealed(tmp_path)
    step(scene)
    scene.repo.git("update-ref", "refs/notes/before", scene.stale)
    clone = scene.clone("whole")
    assert clone.told("HEAD") == full
    clone.repo.git("update-ref", "-d", NOTES)
    assert clone.told("HEAD") == (stale if "parent" in stale else NO_NOTES)
    clone.repo.git("fetch", "-q", "origin", f"refs/notes/before:{NOTES}")
    assert clone.told("HEAD") == stale
    cut = scene.clone("cut", "--depth", "1")
    alone = cut.prove("HEAD")
    assert (alone["verdict"], alone["commits"][0]["reasons"][-1]["code"]) == ("unproven", "policy-missing")
    cut.repo.git("fetch", "-q", "--deepen=1")
    assert cut.told("HEAD") == shallow
