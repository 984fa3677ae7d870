"""The command line read by typer: every line that is not plain, and errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from git_taskctx import __version__
from git_taskctx.cli.call import Call, begin, finish, perform
from git_taskctx.cli.help import render_help, render_verb
from git_taskctx.cli.options import HELP, ROOT, Argument, Parameter, Verb
from git_taskctx.cli.verbs import VERBS
from git_taskctx.errors import Usage

_USAGE_ERROR: Any = typer.BadParameter.__base__
"""click's UsageError, wherever typer has its click from: it may ship its own."""


def run_app(argv: list[str]) -> int:
    """Parse and run. Raises: Usage for a bad command line, and the verb's errors."""
    begun: list[Call] = []
    try:
        code = _command_line()(args=argv, prog_name="git taskctx", standalone_mode=False, obj=begun)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _USAGE_ERROR as error:
        from git_taskctx.cli.corrections import correct, help_on

        meant = correct(argv, begun[0] if begun else Call()) or help_on(argv)
        raise Usage(_lower(error.format_message()), hint=meant) from error
    return finish(begun[0]) if begun and begun[0].answer is not None else int(code or 0)


class _Root(typer.core.TyperGroup):
    def get_help(self, ctx: Any) -> str:
        return render_help().removesuffix("\n")


class _Command(typer.core.TyperCommand):
    def get_help(self, ctx: Any) -> str:
        return render_verb(VERBS[self.name or ""]).removesuffix("\n")


def _root(ctx: typer.Context, *, folder: str | None, version: bool, **values: Any) -> None:
    """Read the options before the verb."""
    if version:
        typer.echo(f"git-taskctx {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        raise Usage("no verb given", hint="git taskctx -h")
    call = begin(values, folder)
    ctx.obj.append(call)
    ctx.obj = call


def _command(verb: Verb) -> Callable[..., None]:
    @functools.wraps(verb.function)
    def run(ctx: typer.Context, **values: Any) -> None:
        perform(verb, ctx.obj, values)

    return _with_parameters(run, verb.parameters())


def _with_parameters(run: Callable[..., None], parameters: Iterable[Parameter]) -> Callable[..., None]:
    """Give a function the signature that typer reads."""
    signature = inspect.Signature(
        [
            inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
            *(
                inspect.Parameter(
                    parameter.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if parameter.default is ... else parameter.default,
                    annotation=_annotation(parameter),
                )
                for parameter in parameters
            ),
        ]
    )
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return run


def _annotation(parameter: Parameter) -> Any:
    spec = parameter.spec
    if isinstance(spec, Argument):
        return Annotated[parameter.kind, typer.Argument(metavar=spec.metavar)]
    return Annotated[parameter.kind, typer.Option(*spec.names, metavar=spec.metavar, min=spec.min)]


@functools.cache
def _command_line() -> Any:
    """Return the commands that typer makes of ours, once in a process; a `Typer` that is called makes them anew."""
    return typer.main.get_command(app)


def _build() -> typer.Typer:
    made = typer.Typer(
        name="git-taskctx",
        add_completion=False,
        no_args_is_help=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": list(HELP)},
        cls=_Root,
    )
    made.callback(invoke_without_command=True)(_with_parameters(_root, ROOT))
    for verb in VERBS.values():
        made.command(verb.name, cls=_Command)(_command(verb))
    return made


def _lower(message: str) -> str:
    first = message.strip().splitlines()[0].removesuffix(" Choose from:").rstrip(".")
    return first[:1].lower() + first[1:]


app = _build()
