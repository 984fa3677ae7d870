"""The answer to "is this still what was recorded?", with its reasons."""

from __future__ import annotations

from enum import StrEnum

from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass, field, optional
from git_taskctx.situation import ASIDE, Situation


class Outcome(StrEnum):
    """Yes, no, or could not tell; the last is never shown as a pass."""

    YES = "yes"
    NO = "no"
    COULD_NOT_TELL = "could-not-tell"

    @property
    def exit_code(self) -> int:
        return {"yes": 0, "no": 1, "could-not-tell": 3}[self]


class CauseKind(StrEnum):
    """Why a worktree differs from what was recorded."""

    EDITED = "edited"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"
    MODE_CHANGED = "mode changed"
    TYPE_CHANGED = "type changed"
    IGNORE_RULES_CHANGED = "ignore rules changed"
    STASHED = "stashed"
    CHECKED_OUT = "checked out"
    SUBMODULE_MOVED = "submodule moved"
    SUBMODULE_DIRTY = "submodule dirty"
    HIDDEN_EDIT = "edited behind assume-unchanged or skip-worktree"
    COMMITTED_EARLY = "committed early"
    HEAD_MOVED = "HEAD moved"
    OPERATION_IN_PROGRESS = "operation in progress"
    SCOPE_CHANGED = "scope changed"
    STAGED_ONLY = "staged only"
    VOLATILE_KEYS = "volatile task keys"
    EDITORS_FILE = "an editor's own file, left out"


@dataclass(frozen=True)
class Cause:
    """One reason, about one path or about the whole worktree."""

    kind: CauseKind
    path: str | None = None
    """Quoted as git quotes it; None when the cause is about HEAD, the index or the repository."""
    detail: str | None = None
    """What helps a person: the old path, the modes, the reflog's words."""
    expected: str | None = optional()
    """Git's name of the content that was recorded (`git hash-object`); null where nothing was there."""
    present: str | None = optional()
    """Git's name of the present content; of hidden content the sha256 of its state."""


@dataclass(frozen=True)
class Remark:
    """What is said beside an answer, and its situation for advice."""

    text: str
    situation: Situation | None = None
    warns: bool = False


class News(str):
    """Good news among warnings, shown without that word."""

    __slots__ = ()


@dataclass(frozen=True)
class Verdict:
    """What `verify` says about a worktree."""

    subject: str
    """`worktree` or `commit`."""
    outcome: Outcome
    summary: str
    """One sentence."""
    expected_agent: str | None = None
    """Whose snapshot it was compared with."""
    expected_tree: TreeOid | None = None
    tree: TreeOid | None = None
    causes: tuple[Cause, ...] = ()
    notices: tuple[Cause, ...] = ()
    """Differences that do not count."""
    hints: tuple[str, ...] = ()
    """Commands to type next."""
    warnings: tuple[str, ...] = ()
    """Problems of the records: a file edited by hand, foreign lines."""
    budget: int | None = None
    """The expected agent's drift budget after this verification; None when it was not counted."""
    allowance: int = field(default=0, repr=False, metadata=ASIDE)
    """How many unresolved drifts policy allows."""
    in_use: bool = field(default=False, repr=False, metadata=ASIDE)
    """Whether nothing can be said because the expected agent is at work."""
    situation: Situation | None = field(default=None, repr=False, compare=False, metadata=ASIDE)
    """Input of `report.advice`; None once `hints` has the answer."""


def count_of(drifts: int, allowance: int) -> str:
    """Return a drift budget in plain words."""
    return f"{drifts} unresolved drift{'s' * (drifts != 1)} ({allowance} allowed)"
