"""The tables `[run]`, `[stage.NAME]` and `[pipeline.NAME]`; all their problems are reported at once.

Loaded only where a file has one of them.
"""

from __future__ import annotations

import difflib
import graphlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from git_taskctx.config.kinds import describe, show_key
from git_taskctx.errors import BadConfig, Usage
from git_taskctx.limits import STAGES_LIMIT
from git_taskctx.model.oids import check_agent_name
from git_taskctx.model.pipeline import GoBack, Limit, Pipelines, Settings, Stage
from git_taskctx.situation import Situation

_STAGE_NAME = re.compile(r"(?!(?:data|flags|seed)\Z)[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
"""An id for the engine, and a folder on any file system."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
FIELDS = ("brief", "port", "prompt", "response", "task", "tree")
"""Fields in braces in a command."""


class _Wrong(Exception):
    """A value is not what its key takes."""


def read_pipelines(tables: Mapping[str, Any], what: str, prefix: str = "") -> Pipelines:
    """Read the tables. Raises: BadConfig with all problems."""
    return _TableReader(f"{what}: {prefix}").read(tables)


class _TableReader:
    """Reads the tables, noting problems with their place."""

    def __init__(self, where: str) -> None:
        self.where, self.faults = where, list[str]()

    def read(self, tables: Mapping[str, Any]) -> Pipelines:
        run = self.table(tables.get("run", {}), "run", _RUN)
        given, named = (self.names(tables.get(name, {}), name) for name in ("stage", "pipeline"))
        read = {name: self.table(value, f"stage.{show_key(name)}", _STAGE) for name, value in given.items()}
        chosen = {
            name: self.table(value, f"pipeline.{show_key(name)}", {"stages": _names}) for name, value in named.items()
        }
        for name, one in read.items():
            if "run" not in one and "run" not in _as_table(given[name]):
                self.fault(f"stage.{show_key(name)}.run", "is missing")
        for name, one in chosen.items():
            if "stages" not in one and "stages" not in _as_table(named[name]):
                self.fault(f"pipeline.{show_key(name)}.stages", "is missing")
        if not given:
            self.fault("stage", "there is no stage: the pipeline is empty")
        if len(given) > STAGES_LIMIT:
            self.fault("stage", f"{len(given)} stages, more than {STAGES_LIMIT}")
        stages = {name: Stage(**{"run": ("",), **one}) for name, one in read.items()}
        pipelines = {name: tuple(one.get("stages", ())) for name, one in chosen.items()}
        self.judge(stages, pipelines)
        if self.faults:
            raise BadConfig("\n".join(self.faults), Situation("run.keys"))
        return Pipelines(stages, Settings(**run), pipelines)

    def fault(self, key: str, text: str) -> None:
        self.faults.append(f"{self.where}{key}: {text}")

    def names(self, value: Any, key: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self.fault(key, f"expected a table, found {describe(value)}")
            return {}
        for name in value:
            if not _STAGE_NAME.fullmatch(name):
                self.fault(f"{key}.{show_key(name)}", "a name has up to 64 letters, digits, - and _, and no dot")
        return value

    def table(self, value: Any, key: str, readers: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
        """Return the readable part of a table."""
        try:
            read, wrong = _read_table(value, readers)
        except _Wrong as error:
            self.fault(key, str(error))
            return {}
        for name, text in wrong.items():
            self.fault(f"{key}.{name}", text)
        return read

    def judge(self, stages: Mapping[str, Stage], pipelines: Mapping[str, tuple[str, ...]]) -> None:
        """Check the relations between stages."""
        for name, stage in stages.items():
            for other in stage.after:
                if other not in stages:
                    self.fault(f"stage.{name}.after", f"there is no stage {other!r}{_near(other, stages)}")
            if stage.again is not None and stage.again.stage not in stages:
                goal = stage.again.stage
                self.fault(f"stage.{name}.again.from", f"there is no stage {goal!r}{_near(goal, stages)}")
        for name, members in (pipelines or {"": tuple(stages)}).items():
            key = f"pipeline.{name}.stages" if name else "stage"
            unknown = [one for one in members if one not in stages]
            for other in unknown:
                self.fault(key, f"there is no stage {other!r}{_near(other, stages)}")
            if name and not members:
                self.fault(key, "the pipeline is empty")
            if not unknown:
                for text in faults_among({one: stages[one] for one in members}):
                    self.fault(key, text)


def faults_among(stages: Mapping[str, Stage]) -> Iterator[str]:
    """Yield the problems in the order of one pipeline's stages."""
    after = {name: [one for one in stage.after if one in stages] for name, stage in stages.items()}
    try:
        order = tuple(graphlib.TopologicalSorter(after).static_order())
    except graphlib.CycleError as error:
        around = error.args[1][::-1]
        keys = ", ".join(f"stage.{name}.after" for name in around[:-1])
        yield f"a cycle: {' -> '.join(around)}; remove one of these `after`: {keys}"
        return
    above = above_each(after)
    for name, stage in stages.items():
        if stage.again is not None and stage.again.stage in stages and stage.again.stage not in above[name]:
            yield f"{name} goes back to {stage.again.stage}, which it does not come after"
    agents = [name for name in order if stages[name].agent is not None]
    apart = {name for group in groups_among(stages) for name in group}
    for name, stage in stages.items():
        for other in agents if stage.agent is None and stage.tree is None else ():
            if other not in above[name] and name not in above[other] and other not in apart:
                yield (
                    f"{name} runs in the worktree while {other} may edit it: put one after the other, "
                    f'or give {name} a tree of its own (tree = "own")'
                )
    for at, first in enumerate(agents):
        for second in agents[at + 1 :]:
            if first not in above[second] and stages[first].agent != stages[second].agent:
                yield (
                    f"{first} and {second} could overlap, and are of different agents, "
                    f"{stages[first].agent} and {stages[second].agent}: put {second} after {first}"
                )


def above_each(after: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return all predecessors of each stage, in a stable topological order. Raises: CycleError."""
    above: dict[str, set[str]] = {}
    sorter = graphlib.TopologicalSorter(after)
    sorter.prepare()
    while sorter.is_active():
        for name in sorted(sorter.get_ready()):
            above[name] = {one for need in after[name] for one in (need, *above[need])}
            sorter.done(name)
    return above


def groups_among(stages: Mapping[str, Stage]) -> list[tuple[str, ...]]:
    """Return the groups of agents' stages that get trees of their own.

    A group has stages of one agent that may run at once, or one stage that asks for its own tree.
    """
    after = {name: [one for one in stage.after if one in stages] for name, stage in stages.items()}
    above = above_each(after)
    groups: list[list[str]] = []
    for name in above:  # each after what it comes after
        agent = stages[name].agent
        if agent is None:
            continue
        beside = [group for group in groups if stages[group[0]].agent == agent and not set(group) <= above[name]]
        groups = [group for group in groups if group not in beside]
        groups.append([*(one for group in beside for one in group), name])
    return [tuple(group) for group in groups if len(group) > 1 or stages[group[0]].tree is not None]


def _as_table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _near(word: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(word[:200], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"expected a string that is not empty, found {describe(value)}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _Wrong(f"expected a list of strings, found {describe(value)}")
    return tuple(map(_text, value))


def _names(value: Any) -> tuple[str, ...]:
    names = _texts(value)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise _Wrong(f"names {twice[0]!r} twice")
    return names


def _command(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise _Wrong(f'is not a shell line: write a list of words, as in ["sh", "-c", {value[:40]!r}]')
    words = _texts(value)
    if not words:
        raise _Wrong("the command is empty")
    if "\0" in "".join(words):
        raise _Wrong("holds a NUL byte")
    for name in (name for word in words for name in re.findall(r"\{([a-z_]+)\}", word) if name not in FIELDS):
        if near := difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.8):  # others are anybody's: awk '{print}'
            raise _Wrong(f"nothing is filled in for {{{name}}}; did you mean {{{near[0]}}}?")
    return words


def _commands(value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list):
        raise _Wrong(f"expected a list of commands, found {describe(value)}")
    return tuple(map(_command, value))


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f"expected true or false, found {describe(value)}")
    return value


def _agent(value: Any) -> str:
    try:
        return check_agent_name(_text(value))
    except Usage as error:
        raise _Wrong(error.message) from error


def _seconds(value: Any) -> int:
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", value) if isinstance(value, str) else None
    if found is None or int(found[1]) == 0:
        raise _Wrong(f'expected a time such as "45m", "2h" or "30s", found {describe(value)}')
    return int(found[1]) * _UNITS[found[2]]


def _usd(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1_000_000:
        raise _Wrong(f"expected a number of dollars above 0, found {describe(value)}")
    try:
        return format(Decimal(str(value)), "f")
    except InvalidOperation as error:
        raise _Wrong("is not a number") from error


def _read_table(value: Any, readers: Mapping[str, Callable[[Any], Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the readable part of a table, and what is wrong with the rest, by key."""
    if not isinstance(value, dict):
        raise _Wrong(f"expected a table, found {describe(value)}")
    read, wrong = dict[str, Any](), dict[str, str]()
    for name, item in value.items():
        if name not in readers:
            wrong[show_key(name)] = f"unknown key{_near(name, readers)}"
            continue
        try:
            read[name] = readers[name](item)
        except _Wrong as error:
            wrong[name] = str(error)
    return read, wrong


def _inner(keys: Mapping[str, Callable[[Any], Any]], made: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return the reader of an inner table, with its problems under its key."""

    def read(value: Any) -> Any:
        read, wrong = _read_table(value, keys)
        if wrong:
            raise _Wrong("; ".join(f"{name}: {text}" for name, text in wrong.items()))
        return made(**read)

    return read


def _go_back(**read: Any) -> GoBack:
    if "from" not in read:
        raise _Wrong("from: is missing")
    return GoBack(read["from"], read.get("times", 1))


def _times(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 20:
        raise _Wrong(f"expected a whole number from 1 to 20, found {describe(value)}")
    return value


def _own(value: Any) -> str:
    if value != "own":
        raise _Wrong(f"expected 'own', found {describe(value)}")
    return "own"


_RUN: Mapping[str, Callable[[Any], Any]] = {
    "budget": _inner({"usd": _usd, "wall": _seconds}, Limit),
    "bring": _texts,
    "setup": _commands,
    "env": _texts,
    "remote": _text,
}
_STAGE: Mapping[str, Callable[[Any], Any]] = {
    "agent": _agent,
    "run": _command,
    "after": _names,
    "limit": _inner({"idle": _seconds, "wall": _seconds, "usd": _usd}, Limit),
    "again": _inner({"from": _text, "times": _times}, _go_back),
    "ask": _text,
    "always": _bool,
    "tree": _own,
}
