"""The root of the command line: what stands before the verb, and the verbs in families."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
import typer.main

from git_taskctx import __version__
from git_taskctx.cli import chain, contexts, plumbing
from git_taskctx.cli.call import Call, ContextOption, FormatOption, TaskOption, current_folder, emit, give_up
from git_taskctx.errors import Fatal, Usage

app = typer.Typer(
    name="git-taskctx",
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="One immutable task context, and a verified handoff, for agents that share a dirty git worktree.",
)
_USAGE_ERROR: Any = typer.BadParameter.__base__
"""click's UsageError, wherever typer has its click from: it ships one of its own."""

for family in (contexts, chain, plumbing):
    family.register(app)


def run_app(argv: list[str]) -> int:
    """Parse and run. Raises: Usage for a command line that makes no sense, and whatever the verb raises."""
    begun: list[Call] = []
    try:
        code = app(args=argv, prog_name="git taskctx", standalone_mode=False, obj=begun)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _USAGE_ERROR as error:
        from git_taskctx.cli.corrections import correct

        verb = error.ctx.command_path if error.ctx else "git taskctx"
        call = begun[0] if begun else None
        meant = correct(argv, typer.main.get_command(app), call or Call())
        raise Usage(_lower(error.format_message()), hint=meant or f"{verb} -h") from error
    if begun and begun[0].answer is not None:
        try:
            emit(begun[0].answer, begun[0].format)
        except BrokenPipeError:
            raise
        except OSError as error:
            give_up(sys.stdout)
            raise Fatal(f"cannot write the answer: {(error.strerror or str(error)).lower()}", hint="df -h") from error
        return begun[0].answer.code
    return int(code or 0)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    task: TaskOption = None,
    context_id: ContextOption = None,
    form: FormatOption = None,
    folder: Annotated[str | None, typer.Option("-C", metavar="DIR", help="Run as if started in DIR.")] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Take what stands before the verb."""
    if version:
        typer.echo(f"git-taskctx {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        raise Usage("no verb given", hint="git taskctx -h")
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise Fatal(f"cannot change to '{folder}': {(error.strerror or '').lower()}") from error
    call = Call(task=task, context_id=context_id, format=form or "text", folder=current_folder())
    ctx.obj.append(call)
    ctx.obj = call


def _lower(message: str) -> str:
    first = message.strip().splitlines()[0].removesuffix(" Choose from:").rstrip(".")
    return first[:1].lower() + first[1:]
