"""A plain command line is read as typer reads it, or left to typer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
import typer.main

from git_taskctx.cli import app, plain
from git_taskctx.cli.options import COMMON, Parameter, Verb
from git_taskctx.cli.verbs import VERBS

CHOSEN = {
    "format": "json",
    "shell": "bash",
    "kind": "incremental",
    "evidence_type": "plan",
    "status": "blocked",
    "vendor": "claude",
}
"""Values of parameters that do not take every word."""
_TYPER = typer.main.get_command(app.app)
"""What `app` makes of itself, anew, each time it is called."""


def _by_typer(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Return what typer makes of a line: what stands before the verb, the verb, and its values."""
    seen: list[tuple[dict[str, Any], str, dict[str, Any]]] = []

    def note(verb: Verb, call: Any, values: dict[str, Any]) -> None:
        before = {name: getattr(call, name) for name in ("task", "context_id", "format")}
        seen.append((before, verb.name, values))

    monkeypatch.setattr(app, "perform", note)
    monkeypatch.setattr(app, "app", _TYPER)
    app.run_app(argv)
    return seen[0]


def _words(parameter: Parameter) -> list[str]:
    if parameter.kind is bool:
        return [parameter.words[0]]
    value = CHOSEN.get(parameter.name, "value-1")
    if get_origin(parameter.kind) is Literal and value not in get_args(parameter.kind):
        value = get_args(parameter.kind)[0]
    return [*parameter.words[-1:], value]


def _lines(verb: Verb) -> Iterator[list[str]]:
    """Yield a verb with what it needs, and with each of its options added, in both ways to write them."""
    parameters = verb.parameters()
    needed = [word for one in parameters if one.default is ... for word in _words(one)]
    yield [verb.name, *needed]
    for one in parameters:
        if one.default is ... or not one.words or one.spec.min is not None:
            continue
        words = _words(one)
        yield from ([verb.name, *needed, *words], [verb.name, *words, *needed])
        if one.kind is not bool and words[0].startswith("--"):
            yield [verb.name, *needed, "=".join(words)]
    if "task" in verb.common:
        yield ["--task", "T-1", "--format=json", verb.name, *needed]


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_both_read_the_same(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every verb with every option: the same verb and the same values, or the plain reader declines a list."""
    for argv in _lines(verb):
        before, name, values = _by_typer(argv, monkeypatch)
        if re.search(r"--(paths|human|criterion)\b", " ".join(argv)):
            with pytest.raises(plain.NeedsTyper):
                plain.read_plain(argv)
            continue
        told, plainly, taken = plain.read_plain(argv)
        assert (name, values) == (plainly.name, taken), argv
        assert before == {"task": None, "context_id": None, "format": "text", **told}, argv


def test_what_is_not_plain_is_left_to_typer() -> None:
    """Help, mistakes, repeated options and values that begin with a dash are not for the plain reader."""
    for line in (
        "", "-h", "--version", "verify -h", "verify --help", "nonsense", "status extra", "start", "start --agent",
        "start --agent -x", "start --agnet a", "start -- a", "start --agent a --agent b", "verify --strict=yes",
        "get --format xml", "diff --round 1", "--agent a start", "completion zhs", "verify -C x",
        "init T --description -",
    ):  # fmt: skip
        with pytest.raises(plain.NeedsTyper):
            raise AssertionError(line, plain.read_plain(line.split()))


def test_common_options_are_told_by_their_parameter() -> None:
    """The name under which a verb takes an option is the parameter's own."""
    assert all(name == parameter.name for name, parameter in COMMON.items())
