"""The plain command line, read without typer: every word is exactly what a signature names.

Agents type such lines hundreds of times a day, and loading typer would cost them more than reading the worktree.
Anything else (help, abbreviations, mistakes, values that begin with a dash) is declined, and typer decides.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from git_taskctx.cli import agents, chain, contexts, hook, hooks, plumbing, proof, quality, share
from git_taskctx.cli.call import begin, finish, perform
from git_taskctx.cli.options import ROOT, Parameter, Verb

FAMILIES = (contexts, chain, hooks, quality, proof, share, hook, agents, plumbing)
VERBS: dict[str, Verb] = {verb.name: verb for family in FAMILIES for verb in family.VERBS}
"""Every verb by its name, in the order of the help."""


class Declined(Exception):
    """typer must read it."""


def run_plain(argv: Sequence[str]) -> int | None:
    """Run a plain command line and return its exit code; None where it is not plain. Raises: what the verb raises."""
    try:
        before, verb, values = read_plain(argv)
    except Declined:
        return None
    call = begin({name: value for name, value in before.items() if name != "folder"}, before.get("folder"))
    perform(verb, call, values)
    return finish(call)


def read_plain(argv: Sequence[str]) -> tuple[dict[str, Any], Verb, dict[str, Any]]:
    """Return what stands before the verb, the verb, and the values of all its parameters. Raises: Declined."""
    words = iter(argv)
    before, rest = _take(words, ROOT, stop=True)
    verb = VERBS.get(rest[0]) if rest else None
    if verb is None or "version" in before:
        raise Declined
    parameters = verb.parameters()
    values, rest = _take(words, parameters, stop=False)
    for parameter in parameters:
        if not parameter.words and rest and _is_list(parameter):
            values[parameter.name], rest = rest, []
        elif not parameter.words and rest:
            values[parameter.name] = _value(parameter, rest.pop(0))
        elif values.setdefault(parameter.name, parameter.default) is ...:
            raise Declined
    if rest:
        raise Declined
    return before, verb, values


def _take(words: Iterator[str], parameters: Iterable[Parameter], *, stop: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the options among the words, and the other words; with `stop` only up to the first of those."""
    known = {word: parameter for parameter in parameters for word in parameter.words}
    values: dict[str, Any] = {}
    rest: list[str] = []
    for word in words:
        if not word.startswith("-"):
            rest.append(word)
            if stop:
                break
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = known.get(name)
        if parameter is None or parameter.name in values or (equals and parameter.kind is bool):
            raise Declined
        if parameter.kind is bool:
            values[parameter.name] = True
            continue
        values[parameter.name] = _value(parameter, value if equals else next(words, "-"))
    return values, rest


def _is_list(parameter: Parameter) -> bool:
    """Tell whether an argument takes all the words that are left."""
    return any(typing.get_origin(kind) is list for kind in (parameter.kind, *typing.get_args(parameter.kind)))


def _value(parameter: Parameter, word: str) -> Any:
    kind = parameter.kind
    if typing.get_origin(kind) in (typing.Union, types.UnionType):  # or None
        kind = typing.get_args(kind)[0]
    is_choice = typing.get_origin(kind) is typing.Literal and word in typing.get_args(kind)
    if word.startswith("-") or not (kind is str or is_choice):
        raise Declined
    return word
