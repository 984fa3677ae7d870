"""Correct a command line that makes no sense: the whole line to type instead."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from git_taskctx.cli.call import Call
from git_taskctx.cli.options import HELP, ROOT, Option, Parameter
from git_taskctx.cli.verbs import VERBS
from git_taskctx.errors import TaskctxError
from git_taskctx.model.policy import DEFAULT_AGENTS
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.shell import shell_words

BARE: Mapping[str, tuple[str, ...]] = {
    "init": ("--title",),
    "get": ("--task",),
    "status": ("--task",),
    "log": ("--task",),
    "start": ("--agent",),
    "snapshot": ("--agent",),
    "diff": ("--agent",),
    "update": ("--agent",),
    "block": ("--agent", "--finding"),
    "unblock": ("--agent", "--finding"),
    "resolve-drift": ("--note",),
    "restore": ("--agent", "--paths"),
}
"""The options that bare words were meant for, by verb, in order."""
EXAMPLES: Mapping[str, str] = {
    "task": "TASK-1",
    "title": "what is to be done",
    "note": "what happened",
    "finding": "what is wrong",
    "finding unblock": "F1",
    "take_over": "why",
    "attest": "why",
    "number": "1",
    "shell": "bash",
    "notes": "origin",
    "remote": "origin",
}
"""Examples of missing values, by parameter, and by parameter and verb where that matters."""
_AGENTS = ("agent", "expect", "start_for")
"""Parameters that name an agent."""


def correct(argv: Sequence[str], call: Call) -> str | None:
    """Return the intended line; None where nothing is close."""
    line = _read(argv)
    name = _meant_verb(line)
    if name is None:
        return None
    try:
        before, after = _fix(line, name, call)
    except _Unclear:
        return None
    meant = ["git", "taskctx", *before, name, *after]
    return None if meant == ["git", "taskctx", *argv] else shell_words(meant)


def help_on(argv: Sequence[str]) -> str:
    """Return the help command for the intended verb, or for all."""
    name = _meant_verb(_read(argv))
    return shell_words(["git", "taskctx", *([name] if name else []), "-h"])


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.7) -> str | None:
    """Return the most similar known word, if any."""
    near = difflib.get_close_matches(word[:200], list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


class _Unclear(Exception):
    """Several corrections are possible."""


@dataclass
class _Line:
    """A command line, sensible or not."""

    verb: str = ""
    before: list[tuple[str, str | None]] = field(default_factory=list)
    """Options before the verb, with their values."""
    after: list[tuple[str, str | None]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """Words after the verb that are not options."""


def _meant_verb(line: _Line) -> str | None:
    return line.verb if line.verb in VERBS else nearest(line.verb, VERBS, cutoff=0.6)


def _options(parameters: Iterable[Parameter]) -> dict[str, Parameter | None]:
    """Return the options by name; help belongs to no parameter."""
    return {word: one for one in parameters for word in one.words} | dict.fromkeys(HELP)


def _read(argv: Sequence[str]) -> _Line:
    """Split a line into options and words, by the options of all verbs."""
    every = _options([*(one for verb in VERBS.values() for one in verb.parameters()), *ROOT])
    line, rest = _Line(), iter(argv)
    for word in rest:
        if word == "--":
            line.words += rest
        elif word.startswith("-") and word != "-":
            name, given, value = word.partition("=") if word.startswith("--") else (word, "", "")
            option = every.get(name if name in every else nearest(name, every) or "")
            takes = option is not None and not option.is_flag
            options = line.after if line.verb else line.before
            options.append((name, value if given else next(rest, None) if takes else None))
        elif not line.verb:
            line.verb = word
        else:
            line.words.append(word)
    return line


def _fix(line: _Line, verb: str, call: Call) -> tuple[list[str], list[str]]:
    """Return the line before and after the verb, corrected. Raises: _Unclear."""
    parameters = VERBS[verb].parameters()
    known, at_root = _options(parameters), _options(ROOT)
    before: list[str] = []
    options: dict[str, list[str]] = {}
    for early, (typed, value) in [*((True, one) for one in line.before), *((False, one) for one in line.after)]:
        name = typed if typed in known or typed in at_root else nearest(typed, known)
        if name is None:
            raise _Unclear
        if name in at_root and (early or name not in known):
            before += _with_value(name, at_root[name], value, verb, call)
        elif name in known:
            option = known[name]
            words = _with_value(name, option, value, verb, call)
            options[name] = options.get(name, []) + words if option is not None and option.is_list else words
        else:
            raise _Unclear
    arguments = [one for one in parameters if not one.words]
    words = [_fitting(one, value, verb, call) for one, value in zip(arguments, line.words, strict=False)]
    words += [_example(one, verb, call) for one in arguments[len(words) :] if one.default is ...]
    options |= {name: [name, value] for name, value in _place(line.words[len(arguments) :], verb, options, call)}
    for one in parameters:
        if one.words and one.default is ... and options.keys().isdisjoint(one.words):
            options[one.words[0]] = [one.words[0], _example(one, verb, call)]
    if verb == "init" and not line.words and options.keys().isdisjoint(("--title", "--task-file")):
        options["--title"] = ["--title", EXAMPLES["title"]]  # no task file has the id that is made up here
    return before, [*words, *(word for one in options.values() for word in one)]


def _place(words: Sequence[str], verb: str, given: Mapping[str, object], call: Call) -> Iterator[tuple[str, str]]:
    """Assign bare words to options; the last one takes the rest."""
    left = list(words)
    agents = _chain(call)[2] if left else ()
    free = [name for name in BARE.get(verb, ()) if name not in given]
    for index, name in enumerate(free):
        if not left or (name == "--agent" and left[0] not in agents):
            continue
        last = index == len(free) - 1 and name != "--agent"
        yield name, " ".join(left) if last else left[0]
        left = [] if last else left[1:]
    if left:
        raise _Unclear


def _with_value(name: str, option: Parameter | None, value: str | None, verb: str, call: Call) -> list[str]:
    if option is None or option.is_flag:
        return [name]
    return [name, _example(option, verb, call) if value is None else _fitting(option, value, verb, call)]


def _fitting(parameter: Parameter, value: str, verb: str, call: Call) -> str:
    """Return a valid value: the given one, the most similar, or an example."""
    if parameter.choices and value not in parameter.choices:
        return nearest(value, parameter.choices, cutoff=0.5) or _example(parameter, verb, call)
    if parameter.type is int and not _is_number(value, parameter):
        return _example(parameter, verb, call)
    return value


def _is_number(value: str, parameter: Parameter) -> bool:
    try:
        number = int(value)
    except ValueError:
        return False
    least = parameter.spec.min if isinstance(parameter.spec, Option) else None
    return least is None or number >= least


def _example(parameter: Parameter, verb: str, call: Call) -> str:
    if parameter.name in _AGENTS:
        owner, after, _ = _chain(call)
        return after if verb == "start" else owner
    if parameter.name == "task" and (task := _task(verb, call)) is not None:
        return task
    choices = parameter.choices
    example = EXAMPLES.get(f"{parameter.name} {verb}", EXAMPLES.get(parameter.name, choices[0] if choices else None))
    if example is None:
        raise _Unclear
    return example


def _task(verb: str, call: Call) -> str | None:
    """Return a task that `recover` would bring back, or an id that `init` would take."""
    from git_taskctx.report.advice.clone import find_free, find_recoverable

    own, find = replace(call, _repository=None), {"recover": find_recoverable, "init": find_free}.get(verb)
    with contextlib.suppress(TaskctxError), contextlib.closing(own):
        return find(own.caller(named=False)) if find is not None else None
    return None


def _chain(call: Call) -> tuple[str, str, tuple[str, ...]]:
    """Return the owner, the next agent, and all agents, by default those of the default chain."""
    from git_taskctx.context.opening import open_session

    own = replace(call, _repository=None)
    with contextlib.suppress(TaskctxError), contextlib.closing(own), open_session(own.caller(), write=False) as session:
        agents, owner = session.chain.agents, session.chain.owner
        return owner, agents[min(agents.index(owner) + 1, len(agents) - 1)], agents
    return DEFAULT_AGENTS[0], DEFAULT_AGENTS[0], DEFAULT_AGENTS
