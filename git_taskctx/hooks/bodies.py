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
from git_taskctx.model.verdict import Remark
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.proof.rules import Rules


@dataclass(frozen=True)
class HookCall:
    """A hook call."""

    name: str
    args: tuple[str, ...]
    environ: Mapping[str, str]
    stdin: Callable[[], bytes]
    """Reads what git writes to the hook."""
    index: Path
    """The index in force, in hooks of a commit the one being committed."""
    rules: Callable[[CommitOid | None], Rules]
    """Reads the rules for judging commits from a commit."""


Body = Callable[[Caller, HookCall], list[Remark]]

_BODIES = {
    "pre-commit": "commit.before_commit",
    "pre-merge-commit": "commit.before_commit",
    "post-commit": "commit.after_commit",
    "post-merge": "commit.after_commit",
    "post-checkout": "checkout.after_checkout",
    "post-rewrite": "rewrite.after_rewrite",
    "pre-push": "push.before_push",
}


def run_body(caller: Caller, called: HookCall) -> list[Remark]:
    """Run a hook's function; return its messages. Raises: Usage for an unknown hook; what the function raises."""
    if called.name not in _BODIES:
        raise Usage(f"there is no hook {called.name!r}, only {', '.join(_BODIES)}", Situation("hooks.no_such_hook"))
    module, _, function = _BODIES[called.name].partition(".")
    body: Body = getattr(importlib.import_module(f"git_taskctx.hooks.{module}"), function)
    return body(caller, called)
