"""What to type next, by the situation of an error or a verdict: all hints that depend on the task are chosen here.

Other hints, such as `git fsck` or a corrected option, are written where their error is raised.

A situation's kind names a line of the table in `fixed`; or a function, as `chain.at_work`, the best step first.
Nothing is written or recorded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from git_taskctx.errors import TaskctxError
from git_taskctx.model.step import Step
from git_taskctx.model.values import replace

if TYPE_CHECKING:
    from git_taskctx.model.proof import Proof
    from git_taskctx.model.verdict import Verdict
    from git_taskctx.sharing.share import Merged
    from git_taskctx.situation import Situation

    Judged = TypeVar("Judged", Verdict, Proof, Merged)


def steps_for(situation: Situation) -> tuple[Step, ...]:
    """Return what to type in a situation."""
    found = find_answer(situation.kind)(**situation.facts)
    return (found,) if isinstance(found, Step) else found


def find_answer(kind: str) -> Callable[..., Step | tuple[Step, ...]]:
    """Return what answers a kind of situation."""
    from git_taskctx.report.advice.fixed import ANSWERS

    module, _, function = kind.partition(".")
    found = ANSWERS.get(kind) or getattr(importlib.import_module(f"{__name__}.{module}"), function)
    return cast("Callable[..., Step | tuple[Step, ...]]", found)


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
