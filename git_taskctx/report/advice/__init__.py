"""What to type next: the one place that chooses commands, by the situation of an error or a verdict.

Only hints that do not depend on the task are written where their error is raised: `git fsck`, or a corrected option.

`chain.at_work` is the function `at_work` of the module `chain` here, called with the situation's facts; each returns
steps, the best first. Nothing is written, counted or recorded.
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
    """Return the same as shown, each line once."""
    return tuple(dict.fromkeys(step.line for step in steps_for(situation))) if situation is not None else ()


def advise(error: TaskctxError) -> TaskctxError:
    """Fill in the advice on an error, before what it is about is closed."""
    situation, error.situation = error.situation, None
    try:
        lines = lines_for(situation)
    except TaskctxError:  # what keeps the advice from being given is less than the error itself
        return error
    error.hint = "\n".join((*lines, *((error.hint,) if error.hint else ()))) or None
    return error


def advised(judged: Judged) -> Judged:
    """Return a verdict, or the result of a fetch, with advice."""
    lines = (*judged.hints, *lines_for(judged.situation))
    return replace(judged, hints=tuple(dict.fromkeys(lines)), situation=None)
