"""The help, from the table of verbs: in groups as in `git help`, or of one verb."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from git_taskctx.cli.options import ROOT, Parameter, Verb
from git_taskctx.cli.verbs import GROUPS, PLUMBING

WIDTH = 80
_COLUMN = 24
"""Maximum column of an option's description."""
_END = """\
'git taskctx help' shows the manual, 'git taskctx help <verb>' one verb, and
'git taskctx help --all' the plumbing too, and the topics of the manual.
"""


def render_help(*, topics: Iterable[str] = ()) -> str:
    """Return the verbs by group, a line each; with the manual's topics also the plumbing."""
    lines = [*_usage("git taskctx", [*map(_typed, ROOT), "<verb> [<args>]"]), "", _ABOUT]
    groups = {name: group for name, group in GROUPS.items() if topics or name != PLUMBING}
    width = max(len(verb.name) for group in groups.values() for verb in group)
    for name, group in groups.items():
        lines += ["", name]
        lines += [f"   {verb.name.ljust(width)}   {verb.summary}" for verb in group]
    if topics:
        lines += [
            "",
            "topics",
            *textwrap.wrap(
                ", ".join(topics), WIDTH, initial_indent="   ", subsequent_indent="   ", break_on_hyphens=False
            ),
        ]
    return "\n".join([*lines, "", _END])


_ABOUT = "One immutable task context, and a verified handoff, for agents that share a\ndirty git worktree."


def render_verb(verb: Verb) -> str:
    """Return a verb's help with everything it takes, common options last."""
    parameters = verb.parameters()
    needed = [one for one in parameters if one.words and one.default is ...]
    places = [one for one in parameters if not one.words]
    lines = _usage(f"git taskctx {verb.name}", [*map(_typed, needed), "[<options>]", *map(_typed, places)])
    for paragraph in verb.help:
        lines += ["", *textwrap.wrap(paragraph, WIDTH)]
    shared = [one for one in parameters if one.name in verb.common]
    own = [one for one in parameters if one.words and one not in shared]
    for some in (places, own, shared):
        if some:
            lines += ["", *_rows(some)]
    return "\n".join(lines) + "\n"


def _usage(start: str, words: Iterable[str]) -> list[str]:
    parts = [word.replace(" ", "\0") for word in words]
    indent = " " * len(f"usage: {start} ")
    lines = textwrap.wrap(
        " ".join(parts),
        WIDTH,
        initial_indent=f"usage: {start} ",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def _typed(parameter: Parameter) -> str:
    """Return a parameter as typed, in brackets if optional."""
    word = " ".join(filter(None, (*parameter.words[:1], parameter.spec.metavar)))
    if not parameter.words:
        return word
    return word if parameter.default is ... else f"[{word}]"


def _rows(parameters: Sequence[Parameter]) -> Iterator[str]:
    """Yield the parameters in two columns."""
    for one in parameters:
        term = "    " + " ".join(filter(None, (", ".join(one.words), one.spec.metavar)))
        lines = textwrap.wrap(one.spec.help, WIDTH - _COLUMN, break_long_words=False, break_on_hyphens=False)
        if len(term) + 2 <= _COLUMN:
            term = term.ljust(_COLUMN) + lines.pop(0)
        yield term
        yield from (" " * _COLUMN + line for line in lines)
