"""The owner of a tree that a run made for one of its stages: asked by every verb, so it loads little."""

from __future__ import annotations

from pathlib import Path

from git_taskctx.files import read_plain
from git_taskctx.limits import LINE
from git_taskctx.model.values import dataclass

NOTE = "taskctx/stage"
"""In the git dir of such a tree."""


@dataclass(frozen=True)
class TreeOwner:
    """The stage that a tree was made for."""

    top: str
    """The worktree of the task."""
    task: str
    stage: str
    run: int

    def __str__(self) -> str:
        return f"this tree belongs to stage {self.stage} of run {self.run} of {self.task}, which records it at the end"


def owner_of_tree(git_dir: Path) -> TreeOwner | None:
    """Return the owner of the tree with this git dir; None for any other tree."""
    data = read_plain(git_dir / NOTE, limit=LINE)
    if data is None:
        return None
    from git_taskctx.model.canonical import load_object
    from git_taskctx.model.codec import from_plain

    return from_plain(TreeOwner, load_object(data, what=NOTE), what=NOTE)
