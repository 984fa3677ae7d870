"""How verbs are told apart and what they take: data alone, so that reading a plain command line costs nothing.

A verb is a function; its signature is the command line. `app` makes typer's commands of it, `plain` reads by it.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

if TYPE_CHECKING:
    from git_taskctx.cli.answer import Answer


class Option:
    """Words of the command line that begin with a dash, and the value after them."""

    def __init__(self, *names: str, help: str, metavar: str | None = None, min: int | None = None) -> None:
        self.names = names
        """As typed; none where it is the parameter's name."""
        self.help = help
        self.metavar = metavar
        self.min = min
        """The least number that is taken."""


class Argument:
    """A word of the command line that stands for itself."""

    def __init__(self, *, help: str, metavar: str | None = None) -> None:
        self.help = help
        self.metavar = metavar


class Parameter:
    """One parameter of a verb, as its signature has it."""

    def __init__(self, name: str, kind: Any, spec: Option | Argument, default: Any) -> None:
        self.name = name
        self.kind = kind
        """The type of its value."""
        self.spec = spec
        self.default = default
        """`...` where a value must be given."""

    @property
    def words(self) -> tuple[str, ...]:
        """How the option is typed; none for an argument."""
        if isinstance(self.spec, Argument):
            return ()
        return self.spec.names or ("--" + self.name.replace("_", "-"),)


class Verb:
    """A verb: its name, its function, and what it takes besides."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Answer],
        *,
        common: tuple[str, ...],
        bare: Literal["reads", "writes"] | None = None,
    ) -> None:
        self.name = name
        self.function = function
        """Gets a `Call` and its own parameters, and returns an `Answer`."""
        self.common = common
        """Which of the options that many verbs take; they go into the `Call`."""
        self.bare = bare
        """What it does where there is no worktree; None where it needs one."""

    def parameters(self) -> list[Parameter]:
        """Return what it takes, its own parameters first."""
        hints = typing.get_type_hints(self.function, include_extras=True)
        del hints["call"], hints["return"]
        defaults = self.function.__defaults__ or ()
        own = []
        for (name, hint), default in zip(
            hints.items(), (*[...] * (len(hints) - len(defaults)), *defaults), strict=True
        ):
            kind, spec = typing.get_args(hint)
            own.append(Parameter(name, kind, spec, default))
        return own + [parameter for name, parameter in COMMON.items() if name in self.common]


AgentOption = Annotated[str, Option("--agent", metavar="A", help="The agent, as in implementer.")]

_SHARED: dict[str, tuple[Any, Option, Any]] = {
    "task": (
        str | None,
        Option("--task", metavar="ID", help="The task; by default GIT_TASKCTX_TASK, then the active one."),
        None,
    ),
    "context_id": (
        str | None,
        Option("--context", metavar="CTX", help="The context, where one task has several."),
        None,
    ),
    "format": (
        Literal["text", "json"] | None,
        Option("--format", metavar="text|json", help="Output for people or machines."),
        None,
    ),
    "actor": (
        str | None,
        Option("--actor", metavar="NAME", help="Who acts; by default GIT_TASKCTX_ACTOR, taskctx.actor or user.name."),
        None,
    ),
    "force_secrets": (
        bool,
        Option("--force-secrets", help="Record even what looks like a secret; this is recorded too."),
        False,
    ),
    "deep": (
        bool,
        Option("--deep", help="Look for secrets with detect-secrets too: slower, more vendors."),
        False,
    ),
    "folder": (str | None, Option("-C", metavar="DIR", help="Run as if started in DIR."), None),
    "version": (bool, Option("--version", help="Print the version."), False),
}
COMMON = {name: Parameter(name, *rest) for name, rest in _SHARED.items()}
"""What many verbs take, and what stands before the verb."""
READS = ("task", "context_id", "format")
WRITES = (*READS, "actor", "force_secrets")
ROOT = tuple(COMMON[name] for name in (*READS, "folder", "version"))
"""What may stand before the verb."""
