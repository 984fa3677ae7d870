"""Read plain command lines without typer, in which every word is exactly what a signature names.

Agents type them hundreds of times a day, and loading typer would take longer than reading the worktree. Anything else
(help, abbreviations, mistakes, values that begin with a dash) is left to typer.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from git_taskctx.cli.call import begin, finish, perform, write_text
from git_taskctx.cli.options import HELP, ROOT, Parameter, Verb
from git_taskctx.cli.verbs import VERBS
from git_taskctx.errors import Usage


class NeedsTyper(Exception):
    """Left to typer."""


def run_plain(argv: Sequence[str]) -> int | None:
    """Run a plain command line and return its exit code; None for another. Raises: the verb's errors."""
    if not argv or argv[-1] in HELP:
        return _help(argv)
    try:
        before, verb, values = read_plain(argv)
    except NeedsTyper:
        return None
    call = begin({name: value for name, value in before.items() if name != "folder"}, before.get("folder"))
    perform(verb, call, values)
    return finish(call)


def answer_here(argv: Sequence[str]) -> str | None:
    """Return what a plain command line prints, data first; None where it does not end with 0. One at a time."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_plain(argv)
    except Exception:  # a process of its own says what is wrong
        return None
    said: list[bytes] = [stream.buffer.getvalue() for stream in (out, err)]
    return b"".join(said).decode("utf-8", "replace") if code == 0 else None


def _help(argv: Sequence[str]) -> int | None:
    """Print help for `-h`, or without words to stderr, as a mistake; None for another line."""
    from git_taskctx.cli.help import render_help, render_verb

    verb = VERBS.get(argv[0]) if len(argv) == 2 else None
    if len(argv) > 1 and verb is None:
        return None
    text = render_verb(verb) if verb is not None else render_help()
    if not argv:
        sys.stderr.write(text)
        return Usage.exit_code
    write_text(text)
    return 0


def read_plain(argv: Sequence[str]) -> tuple[dict[str, Any], Verb, dict[str, Any]]:
    """Return what comes before the verb, the verb, and the values of all its parameters. Raises: Declined."""
    words = iter(argv)
    before, rest = _take(words, ROOT, stop=True)
    verb = VERBS.get(rest[0]) if rest else None
    if verb is None or "version" in before:
        raise NeedsTyper
    parameters = verb.parameters()
    values, rest = _take(words, parameters, stop=False)
    for parameter in parameters:
        if not parameter.words and rest and parameter.is_list:
            values[parameter.name], rest = rest, []
        elif not parameter.words and rest:
            values[parameter.name] = _value(parameter, rest.pop(0))
        elif values.setdefault(parameter.name, parameter.default) is ...:
            raise NeedsTyper
    if rest:
        raise NeedsTyper
    return before, verb, values


def _take(words: Iterator[str], parameters: Iterable[Parameter], *, stop: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the options and the other words; `stop` ends at the first of those."""
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
        if parameter is None or parameter.name in values or (equals and parameter.is_flag):
            raise NeedsTyper
        if parameter.is_flag:
            values[parameter.name] = True
            continue
        values[parameter.name] = _value(parameter, value if equals else next(words, "-"))
    return values, rest


def _value(parameter: Parameter, word: str) -> str:
    if word.startswith("-") or not (parameter.type is str or word in parameter.choices):
        raise NeedsTyper
    return word
