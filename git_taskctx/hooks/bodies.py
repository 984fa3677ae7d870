"""What each hook does, by its name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from git_taskctx.context.caller import Caller
from git_taskctx.errors import Usage
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.proof.rules import Rules


@dataclass(frozen=True)
class HookCall:
    """What git told the hook."""

    name: str
    args: tuple[str, ...]
    environ: Mapping[str, str]
    stdin: Callable[[], bytes]
    """Reads what git writes to the hook; only some are told anything."""
    index: Path
    """The index in force: the one that is being committed, in the hooks of a commit."""
    rules: Callable[[CommitOid | None], Rules]
    """Reads by what commits are judged, as a commit has it."""


@dataclass(frozen=True)
class HookMessage:
    """Something to say, and where whoever reads it stands."""

    text: str
    situation: Situation | None = None
    warns: bool = False


Body = Callable[[Caller, HookCall], list[HookMessage]]

_BODIES = {
    "pre-commit": "commit.before_commit",
    "pre-merge-commit": "commit.before_commit",
    "post-commit": "commit.after_commit",
    "post-merge": "commit.after_commit",
    "post-checkout": "checkout.after_checkout",
    "post-rewrite": "rewrite.after_rewrite",
    "pre-push": "push.before_push",
}
"""Module and function of each."""


def run_body(caller: Caller, called: HookCall) -> list[HookMessage]:
    """Do what a hook is there for; return what to say.

    Raises: Usage for a name that is no hook of ours; what the body raises.
    """
    if called.name not in _BODIES:
        raise Usage(f"there is no hook {called.name!r}, only {', '.join(_BODIES)}", Situation("hooks.no_such_hook"))
    module, _, function = _BODIES[called.name].partition(".")
    body: Body = getattr(importlib.import_module(f"git_taskctx.hooks.{module}"), function)
    return body(caller, called)
