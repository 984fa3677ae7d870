"""The completion scripts of bash, zsh and fish, from `share/completion` and the table of verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Literal

from git_taskctx.cli.options import HELP, ROOT, Option, Parameter
from git_taskctx.cli.verbs import VERBS

Shell = Literal["bash", "zsh", "fish"]
PLACES: Mapping[Shell, str] = {
    "bash": "bash-completion/completions/git-taskctx",
    "zsh": "zsh/site-functions/_git-taskctx",
    "fish": "fish/vendor_completions.d/git-taskctx.fish",
}
"""Where each shell looks for its script below a data folder such as `/usr/share`."""


def render_completion(shell: Shell) -> str:
    """Return the script for a shell."""
    text = resources.files("git_taskctx").joinpath("share", "completion", shell).read_text(encoding="utf-8")
    for mark, lines in _TABLES[shell]().items():
        text = text.replace(mark, "\n".join(lines))
    return text


def _levels() -> Iterator[tuple[str, Sequence[Parameter]]]:
    """Yield the options before the verb, under an empty name, and what each verb takes."""
    yield "", ROOT
    for verb in VERBS.values():
        yield verb.name, verb.parameters()


def _places(parameters: Iterable[Parameter]) -> Iterator[tuple[int, Parameter]]:
    """Yield the arguments, numbered from one."""
    return enumerate((one for one in parameters if not one.words), start=1)


def _offered(parameter: Parameter, *, verbs: Iterable[str] = VERBS) -> list[str]:
    """Return the completions of a value, with the fixed words."""
    from git_taskctx.hooks.shims import EVENTS

    fixed = {"<hooks>": EVENTS, "<verbs>": verbs}
    return [word for one in parameter.complete for word in fixed.get(one, (one,))]


def _excluded(parameter: Parameter, word: str) -> tuple[str, ...]:
    """Return what an option excludes: its other names, and what it says."""
    spec = parameter.spec
    others = spec.excludes.split() if isinstance(spec, Option) else ()
    return (*(one for one in parameter.words if one != word), *others)


def _bash() -> dict[str, Iterable[str]]:
    def entry(word: str, parameter: Parameter) -> str:
        excluded = "".join(f"!{one}" for one in _excluded(parameter, word))
        value = "" if parameter.is_flag else f"={','.join(_offered(parameter))}"
        return f"{word}{'+' * parameter.is_list}{excluded}{value}"

    def row(name: str, parameters: Sequence[Parameter]) -> str:
        entries = [entry(word, one) for one in parameters for word in one.words]
        entries += [entry(str(number), one) for number, one in _places(parameters)]
        return f"\t{name or _quoted('')}) table={_quoted(' '.join([*entries, HELP[-1]]))} ;;"

    return {"@table@": [row(name, parameters) for name, parameters in _levels()], "@verbs@": [" ".join(VERBS)]}


def _zsh() -> dict[str, Iterable[str]]:
    names = {"<files>": "_files", "<folders>": "_directories", "<agent-list>": "_sequence __git_taskctx_agents"}

    def action(parameter: Parameter) -> str:
        offered = [names.get(one, _function(one)) for one in _offered(parameter, verbs=["<verbs>"])]
        if len(offered) == 1 and "_" in offered[0][:1]:
            return offered[0]
        if any(one.startswith("__") for one in offered):
            return f" __git_taskctx_any {' '.join(offered)}"
        return f"({' '.join(offered)})" if offered else " "

    def value(parameter: Parameter) -> str:
        return f":{(parameter.spec.metavar or '').strip('[].')}:{action(parameter)}"

    def option(word: str, parameter: Parameter) -> str:
        excluded = " ".join(_excluded(parameter, word))
        help_text = parameter.spec.help.removesuffix(".").replace("[", "\\[").replace("]", "\\]")
        sign = "" if parameter.is_flag else "=" if word.startswith("--") else "+"
        spec = f"{'*' * parameter.is_list}{f'({excluded})' * bool(excluded)}{word}{sign}[{help_text}]"
        return _quoted(spec if parameter.is_flag else spec + value(parameter))

    def rows(name: str, parameters: Sequence[Parameter]) -> Iterator[str]:
        yield f"    ({name or _quoted('')}) specs=("
        yield f"      '({' '.join(HELP)})'{{{','.join(HELP)}}}'[Show the help]'"
        yield from (f"      {option(word, one)}" for one in parameters for word in one.words)
        for number, one in _places(parameters):
            yield f"      {_quoted(('*' if one.is_list else str(number)) + value(one))}"
        yield "    ) ;;"

    return {
        "@table@": [line for name, parameters in _levels() for line in rows(name, parameters)],
        "@verbs@": [f"    {_quoted(f'{verb.name}:{verb.summary}')}" for verb in VERBS.values()],
    }


def _fish() -> dict[str, Iterable[str]]:
    verbs: dict[str, list[str]] = {}
    """Each rule with its verbs."""

    def offered(parameter: Parameter) -> str:
        names = {
            "<agent-list>": "(__fish_complete_list , __git_taskctx_agents)",
            "<folders>": "(__fish_complete_directories)",
        }
        calls = (
            names.get(one) or (f"({_function(one)})" if one.startswith("<") else one) for one in _offered(parameter)
        )
        return _quoted(" ".join(calls))

    def rule(parameter: Parameter) -> str:
        words = " ".join(f"-{'l' if one.startswith('--') else 's'} {one.lstrip('-')}" for one in parameter.words)
        value = ""
        if "<files>" in parameter.complete:
            value = "-rF" if words else "-F"
        elif not parameter.is_flag:
            alone = "-x " * bool(words)
            value = f"{alone}-a {offered(parameter)}" if parameter.complete else alone.rstrip()
        help_text = f"-d {_quoted(parameter.spec.help.removesuffix('.'))}" if words else ""
        return " ".join(filter(None, (words, value, help_text)))

    for name, parameters in _levels():
        for parameter in parameters:
            if found := rule(parameter):
                verbs.setdefault(found, []).append(name)
    lines = [f"-n __git_taskctx_no_verb -a {verb.name} -d {_quoted(verb.summary)}" for verb in VERBS.values()]
    for found, names in verbs.items():
        if "" in names:
            lines.append(f"-n __git_taskctx_no_verb {found}")
        using = " ".join(filter(None, names))
        if using:
            lines.append(f"-n '__git_taskctx_using {using}' {found}")
    return {"@table@": [f"complete -c git-taskctx {line}" for line in lines]}


def _function(source: str) -> str:
    """Return the script's function for a source; a word is itself."""
    return f"__git_taskctx_{source.strip('<>').replace('-', '_')}" if source.startswith("<") else source


def _quoted(text: str) -> str:
    """Return a text quoted for all three shells."""
    return "'" + text.replace("'", "'\\''") + "'"


_TABLES: Mapping[Shell, Callable[[], dict[str, Iterable[str]]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
