"""What verbs take: data alone, so that reading a plain command line costs nothing.

A verb is a function, and its signature is the command line. The table of them is in `verbs`.
"""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

if TYPE_CHECKING:
    from git_taskctx.cli.answer import Answer


class Option:
    """Words of the command line that begin with a dash, and the value after them."""

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        min: int | None = None,
        complete: str = "",
        excludes: str = "",
    ) -> None:
        self.names = names
        """As typed; none where it is the parameter's name."""
        self.help = help
        self.metavar = metavar
        self.min = min
        """The least number that is accepted."""
        self.complete = complete
        """What completes the value: words, and sources as in `<agents>`; choices complete themselves."""
        self.excludes = excludes
        """Options that make no sense beside it; completion does not offer them."""


class Argument:
    """A word of the command line that stands for itself."""

    def __init__(self, *, help: str, metavar: str | None = None, complete: str = "") -> None:
        self.help = help
        self.metavar = metavar
        self.complete = complete


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

    @property
    def type(self) -> Any:
        """The type of a value that is given: `kind` without the None of a default."""
        if typing.get_origin(self.kind) in (typing.Union, types.UnionType):
            return typing.get_args(self.kind)[0]
        return self.kind

    @property
    def is_flag(self) -> bool:
        """Whether it is an option without a value."""
        return self.kind is bool

    @property
    def is_list(self) -> bool:
        """Whether an option may be repeated; an argument takes all the words that are left."""
        return typing.get_origin(self.type) is list

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values that are accepted; none where any is."""
        return typing.get_args(self.type) if typing.get_origin(self.type) is Literal else ()

    @property
    def complete(self) -> tuple[str, ...]:
        """What completes its value: words, and sources in angle brackets."""
        return self.choices or tuple(self.spec.complete.split())


class Verb:
    """A verb: its name, its function, and what it takes besides."""

    def __init__(
        self, name: str, place: str, *, common: tuple[str, ...], bare: Literal["reads", "writes"] | None = None
    ) -> None:
        self.name = name
        self._place = place
        self.common = common
        """Which of the options that many verbs take; they go into the `Call`."""
        self.bare = bare
        """What it does where there is no worktree; None where it needs one."""

    @property
    def function(self) -> Callable[..., Answer]:
        """Gets a `Call` and its own parameters, and returns an `Answer`; loads its module, and no other verb's."""
        module, _, name = self._place.partition(".")
        function: Callable[..., Answer] = getattr(importlib.import_module(f"git_taskctx.cli.{module}"), name)
        return function

    @property
    def help(self) -> list[str]:
        """The paragraphs of its help, a sentence on the whole first."""
        return [" ".join(one.split()) for one in (self.function.__doc__ or "").split("\n\n")]

    @property
    def summary(self) -> str:
        """The first sentence of its help, as a list has it."""
        return self.help[0].removesuffix(".")

    def parameters(self) -> list[Parameter]:
        """Return what it takes, its own parameters first."""
        function = self.function
        hints = typing.get_type_hints(function, include_extras=True)
        del hints["call"], hints["return"]
        defaults = function.__defaults__ or ()
        own = []
        for (name, hint), default in zip(
            hints.items(), (*[...] * (len(hints) - len(defaults)), *defaults), strict=True
        ):
            kind, spec = typing.get_args(hint)
            own.append(Parameter(name, kind, spec, default))
        return own + [parameter for name, parameter in COMMON.items() if name in self.common]


AgentOption = Annotated[
    str, Option("--agent", metavar="A", help="The agent, such as implementer.", complete="<agents>")
]

_SHARED: dict[str, tuple[Any, Option, Any]] = {
    "task": (
        str | None,
        Option(
            "--task",
            metavar="ID",
            help="The task; by default GIT_TASKCTX_TASK, then the active one.",
            complete="<tasks>",
        ),
        None,
    ),
    "context_id": (
        str | None,
        Option("--context", metavar="CTX", help="The context, if the task has several.", complete="<contexts>"),
        None,
    ),
    "format": (
        Literal["text", "json"] | None,
        Option("--format", metavar="text|json", help="Print for people or for programs."),
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
    "folder": (str | None, Option("-C", metavar="DIR", help="Run as if started in DIR.", complete="<folders>"), None),
    "version": (bool, Option("--version", help="Print the version."), False),
}
COMMON = {name: Parameter(name, *rest) for name, rest in _SHARED.items()}
"""What many verbs take, and what stands before the verb."""
HELP = ("-h", "--help")
"""What asks for the help of any verb."""
READS = ("task", "context_id", "format")
WRITES = (*READS, "actor", "force_secrets")
ROOT = tuple(COMMON[name] for name in ("folder", *READS, "version"))
"""What may stand before the verb."""
