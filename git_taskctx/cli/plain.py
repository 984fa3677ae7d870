"""The plain command line, read without typer: every word is exactly what a signature names.

Agents type such lines hundreds of times a day, and loading typer would cost them more than reading the worktree.
Anything else (help, abbreviations, mistakes, values that begin with a dash) is declined, and typer decides.
"""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from git_taskctx.cli.call import begin, finish, perform
from git_taskctx.cli.options import ROOT, Parameter, Verb

FAMILIES = {
    "contexts": ("init", "get", "status", "list", "log", "rebuild", "purge", "complete", "recover", "sweep"),
    "chain": (
        "start", "snapshot", "verify", "diff", "update", "block", "unblock", "resolve-drift", "restore",
    ),
    "hooks": ("install", "uninstall", "doctor"),
    "quality": ("record-qa", "compare-qa", "attach", "evidence"),
    "proof": ("adopt",),
    "report": ("report",),
    "export": ("export",),
    "share": ("push", "fetch"),
    "hook": ("hook",),
    "agents": ("agent-hook", "agent-setup"),
    "plumbing": ("fingerprint", "config", "schema", "completion", "demo", "help"),
}  # fmt: skip
"""The modules of the verbs, each with those it has, in the order of the help: one verb loads one of them."""
NAMES = tuple(name for names in FAMILIES.values() for name in names)


class Declined(Exception):
    """typer must read it."""


def find_verb(name: str) -> Verb | None:
    """Return a verb by its name; None where there is none of that name."""
    for family, names in FAMILIES.items():
        if name in names:
            verbs: Iterable[Verb] = importlib.import_module(f"git_taskctx.cli.{family}").VERBS
            return next(verb for verb in verbs if verb.name == name)
    return None


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
    verb = find_verb(rest[0]) if rest else None
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
