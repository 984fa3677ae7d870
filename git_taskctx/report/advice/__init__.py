"""What to type next, by the situation of an error or a verdict: all hints that depend on the task are chosen here.

Other hints, such as `git fsck` or a corrected option, are written where their error is raised.

The situation `chain.at_work` calls `at_work` of the module `chain` with its facts; it returns steps, the best first.
Nothing is written or recorded.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeVar

from git_taskctx.errors import TaskctxError
from git_taskctx.model.values import replace

if TYPE_CHECKING:
    from git_taskctx.model.proof import Proof
    from git_taskctx.model.step import Step
    from git_taskctx.model.verdict import Verdict
    from git_taskctx.sharing.share import Merged
    from git_taskctx.situation import Situation

    Judged = TypeVar("Judged", Verdict, Proof, Merged)


def steps_for(situation: Situation) -> tuple[Step, ...]:
    """Return what to type in a situation."""
    module, _, function = situation.kind.partition(".")
    found = getattr(importlib.import_module(f"{__name__}.{module}"), function)(**situation.facts)
    return tuple(found)


def lines_for(situation: Situation | None) -> tuple[str, ...]:
    """Return the same as lines of text, each once."""
    return tuple(dict.fromkeys(step.line for step in steps_for(situation))) if situation is not None else ()


def advise(error: TaskctxError) -> TaskctxError:
    """Add the advice to an error while its context is still open."""
    situation, error.situation = error.situation, None
    try:
        lines = lines_for(situation)
    except TaskctxError:  # the error itself matters more than its advice
        return error
    error.hint = "\n".join((*lines, *((error.hint,) if error.hint else ()))) or None
    return error


def advised(judged: Judged) -> Judged:
    """Return a verdict, or the result of a fetch, with advice."""
    lines = (*judged.hints, *lines_for(judged.situation))
    return replace(judged, hints=tuple(dict.fromkeys(lines)), situation=None)
