"""What to type next is a value, chosen in one place, and typed as it is shown."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
from collections.abc import Iterator

import pytest
from gitrepo import ROOT
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.errors import Refused
from git_taskctx.model.step import Step, taskctx
from git_taskctx.report.advice import advise, find_answer
from git_taskctx.report.advice.fixed import ANSWERS
from git_taskctx.situation import Situation

PACKAGE = ROOT / "git_taskctx"
ABOVE = ("report", "cli", "agents", "demo", "share", "pipeline")
"""Rooms from the reports up, which may hold command lines; and files that are no code."""
KEPT = {
    "context/roles.py": "an agent's turn as its role export has it, which is on disk byte for byte",
    "hooks/install.py": "what a file that we wrote into says of whom it is from",
    "hooks/shims.py": "the same",
}
"""Files below the reports that hold command lines all the same, and why."""


_TEXTS = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def _modules(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules in which one of the words stands."""
    return ((name, ast.parse(text)) for name, text in _TEXTS.items() if any(word in text for word in words))


def _docstrings(tree: ast.Module) -> set[int]:
    """Return the strings that stand as statements: they are for whoever reads the code."""
    return {
        id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
    }


def test_no_room_below_the_reports_says_what_to_type() -> None:
    """A command line of ours in a string below `report` would be advice by somebody who does not know the state."""
    found = {
        name: one.value
        for name, tree in _modules("git taskctx ")
        if not name.startswith(ABOVE) and "/" in name
        for documented in [_docstrings(tree)]
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and "git taskctx " in one.value
        if id(one) not in documented
    }
    assert {name: text for name, text in found.items() if name not in KEPT} == {}
    assert KEPT.keys() <= {name for name, text in _TEXTS.items() if "git taskctx " in text}


def test_every_situation_has_an_answer_that_takes_its_facts() -> None:
    """What a room names, `report.advice` answers, and the facts are the arguments; and no answer is left over."""
    named = set[str]()
    for name, tree in _modules("Situation("):
        for call in (one for one in ast.walk(tree) if isinstance(one, ast.Call)):
            if not (isinstance(call.func, ast.Name) and call.func.id == "Situation" and call.args):
                continue
            kinds = call.args[0]
            options = (kinds.body, kinds.orelse) if isinstance(kinds, ast.IfExp) else (kinds,)
            for kind in options:
                if not isinstance(kind, ast.Constant):
                    assert name == "situation.py", f"{name}:{call.lineno}"
                    continue
                named.add(kind.value)
                facts = {one.arg: None for one in call.keywords}
                try:
                    inspect.signature(find_answer(kind.value)).bind(**facts)
                except TypeError as error:
                    pytest.fail(f"{name}:{call.lineno}: {kind.value}: {error}")
    assert ANSWERS.keys() <= named
    answers = {
        f"{path.stem}.{one.name}"
        for path in (PACKAGE / "report" / "advice").glob("[a-z]*.py")
        for one in ast.parse(path.read_text()).body
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
        if ast.unparse(one.returns or ast.Constant(None)).startswith(("Step", "tuple[Step"))
    }
    used = "\n".join(text for name, text in _TEXTS.items() if name != "situation.py")
    assert {one for one in answers - named if used.count(one.rpartition(".")[2]) < 2} == set()


def test_what_cannot_be_answered_leaves_the_error_as_it_is() -> None:
    """An error says what is wrong also where the advice itself fails, and keeps the hint that it brought."""

    def failing() -> tuple[Step, ...]:
        raise Refused("no advice")

    import git_taskctx.report.advice.chain as chain

    chain.failing = failing  # type: ignore[attr-defined]
    try:
        assert advise(Refused("no", Situation("chain.failing"), hint="git fsck")).hint == "git fsck"
    finally:
        del chain.failing  # type: ignore[attr-defined]
    assert advise(Refused("no", Situation("chain.look"), hint="git fsck")).hint == "git taskctx status\ngit fsck"


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (taskctx("status"), "git taskctx status"),
        (taskctx("status", why="look"), "git taskctx status   # look"),
        (taskctx("init", "T", "--title", "what is to be done"), 'git taskctx init T --title "what is to be done"'),
        (taskctx("purge", why="put it away").instead(), "git taskctx purge   # or put it away"),
        (Step(("git", "add", "-A")).then("git", "commit"), "git add -A && git commit"),
        (taskctx("log", why="two\nlines"), "git taskctx log   # two lines"),
        (Step(("rm", "a'b")), 'rm "a\'b"'),
        (Step(("rm", "$HOME")), "rm '$HOME'"),
        (Step(("rm", "a\nb")), "rm $'a\\012b'"),
        (Step(("rm", os.fsdecode(b"caf\xe9 \x1b"))), "rm $'caf\\351 \\033'"),
        (Step(("rm", "")), "rm ''"),
    ],
)
def test_a_step_is_one_line_of_shell(step: Step, line: str) -> None:
    """The command as it is typed, and the reason behind it as a comment."""
    assert str(step) == line


@given(st.lists(st.binary(min_size=0, max_size=12).map(lambda data: os.fsdecode(data.replace(b"\0", b""))), max_size=4))
def test_a_shell_reads_back_what_is_shown(words: list[str]) -> None:
    """Any bytes that a path can have come through bash as they were, and what is shown is one printable line."""
    step = Step(("printf", "%s\\0", *words), "shown")
    assert step.line.isprintable()
    said = subprocess.run(["bash", "-c", step.line], capture_output=True, check=True).stdout
    assert said == b"".join(os.fsencode(word) + b"\0" for word in words or [""])
