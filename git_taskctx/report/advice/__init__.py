"""What to type next: the one place that chooses commands, from the situation that an error, a verdict or a hook names.

`chain.at_work` is the function `at_work` of the module `chain` here, called with the facts of the situation; each
returns steps, the best first. Nothing is written, counted or put on record by asking.
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
    """Return the same as it is shown, each line once; nothing where nothing is asked."""
    return tuple(dict.fromkeys(step.line for step in steps_for(situation))) if situation is not None else ()


def advise(error: TaskctxError) -> TaskctxError:
    """Fill in what to type about an error, before what it is about is closed."""
    situation, error.situation = error.situation, None
    try:
        lines = lines_for(situation)
    except TaskctxError:  # what keeps the advice from being given is less than the error itself
        return error
    error.hint = "\n".join((*lines, *((error.hint,) if error.hint else ()))) or None
    return error


def advised(judged: Judged) -> Judged:
    """Return a verdict, or what a fetch brought, with what to type about it."""
    lines = (*judged.hints, *lines_for(judged.situation))
    return replace(judged, hints=tuple(dict.fromkeys(lines)), situation=None)
