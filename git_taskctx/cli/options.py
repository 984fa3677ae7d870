"""What verbs take, as data, so that reading a plain command line is cheap.

A verb is a function whose signature is its command line; `verbs` lists them.
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
    """An option of the command line."""

    def __init__(
        self, typed: str, help: str, *, min: int | None = None, complete: str = "", excludes: str = ""
    ) -> None:
        """Take an option as a manual writes it: its names, and what stands for its value."""
        words = typed.split(" ")
        self.names = tuple(word for word in words if word.startswith("-"))
        self.metavar = words[-1] if words[-1] not in self.names else None
        self.help = help
        self.min = min
        """Minimum of a number."""
        self.complete = complete
        """Completions: words, and sources as in `<agents>`; choices are added."""
        self.excludes = excludes
        """Options that exclude it; completion does not offer them."""


class Argument:
    """A positional word."""

    def __init__(self, metavar: str, help: str, *, complete: str = "") -> None:
        self.help = help
        self.metavar = metavar
        self.complete = complete


class Parameter:
    """One parameter of a verb's signature."""

    def __init__(self, name: str, kind: Any, spec: Option | Argument, default: Any) -> None:
        self.name = name
        self.kind = kind
        """Its type."""
        self.spec = spec
        self.default = default
        """`...` where it is required."""

    @property
    def words(self) -> tuple[str, ...]:
        """The option as typed; none for an argument."""
        return () if isinstance(self.spec, Argument) else self.spec.names

    @property
    def type(self) -> Any:
        """The type of a given value: `kind` without None."""
        if typing.get_origin(self.kind) in (typing.Union, types.UnionType):
            return typing.get_args(self.kind)[0]
        return self.kind

    @property
    def is_flag(self) -> bool:
        return self.kind is bool

    @property
    def is_list(self) -> bool:
        """Whether an option may be repeated; an argument takes all remaining words."""
        return typing.get_origin(self.type) is list

    @property
    def choices(self) -> tuple[str, ...]:
        """The only accepted values; none where any is."""
        return typing.get_args(self.type) if typing.get_origin(self.type) is Literal else ()

    @property
    def complete(self) -> tuple[str, ...]:
        """Completions of its value: words, and sources in angle brackets."""
        return self.choices or tuple(self.spec.complete.split())


class Verb:
    """A verb: its name, its function, and its common options."""

    def __init__(
        self, name: str, place: str, *, common: tuple[str, ...], bare: Literal["reads", "writes"] | None = None
    ) -> None:
        self.name = name
        self._place = place
        self.common = common
        """Options shared by many verbs; they go into the `Call`."""
        self.bare = bare
        """What it does without a worktree; None where it needs one."""

    @property
    def function(self) -> Callable[..., Answer]:
        """Takes a `Call` and its parameters, returns an `Answer`; imports only its own module."""
        module, _, name = self._place.partition(".")
        function: Callable[..., Answer] = getattr(importlib.import_module(f"git_taskctx.cli.{module}"), name)
        return function

    @property
    def help(self) -> list[str]:
        """The paragraphs of its help, a summary first."""
        return [" ".join(one.split()) for one in (self.function.__doc__ or "").split("\n\n")]

    @property
    def summary(self) -> str:
        """The first sentence of its help."""
        return self.help[0].removesuffix(".")

    def parameters(self) -> list[Parameter]:
        """Return its parameters, its own first."""
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


AgentOption = Annotated[str, Option("--agent A", "The agent, such as implementer.", complete="<agents>")]

_SHARED: dict[str, tuple[Any, Option, Any]] = {
    "task": (
        str | None,
        Option("--task ID", "The task; by default GIT_TASKCTX_TASK, then the active one.", complete="<tasks>"),
        None,
    ),
    "context_id": (
        str | None,
        Option("--context CTX", "The context, if the task has several.", complete="<contexts>"),
        None,
    ),
    "format": (Literal["text", "json"] | None, Option("--format text|json", "Print for people or for programs."), None),
    "actor": (
        str | None,
        Option("--actor NAME", "Who acts; by default GIT_TASKCTX_ACTOR, taskctx.actor or user.name."),
        None,
    ),
    "force_secrets": (
        bool,
        Option("--force-secrets", "Record even what looks like a secret; this is recorded too."),
        False,
    ),
    "deep": (bool, Option("--deep", "Look for secrets with detect-secrets too: slower, more vendors."), False),
    "folder": (str | None, Option("-C DIR", "Run as if started in DIR.", complete="<folders>"), None),
    "version": (bool, Option("--version", "Print the version."), False),
}
COMMON = {name: Parameter(name, *rest) for name, rest in _SHARED.items()}
"""Options shared by many verbs, and those before the verb."""
HELP = ("-h", "--help")
"""The help option of any verb."""
READS = ("task", "context_id", "format")
WRITES = (*READS, "actor", "force_secrets")
ROOT = tuple(COMMON[name] for name in ("folder", *READS, "version"))
"""Options before the verb."""
