"""Stages: handlers that return a response, which is checked and put where it belongs.

Old handlers return `{"output": …}`, read `output` and `seed`, or set attributes of the context and return nothing. All
of that works, each with one notice, and what they bring is found under both names.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from git_taskctx.runner.faults import BadResponse, BadValue
from git_taskctx.runner.frozen import freeze, kind_of, thaw
from git_taskctx.runner.schema import check_schema, not_one_of, violations_in
from git_taskctx.runner.store import DATA, FLAGS
from git_taskctx.runner.task import Task, TaskContext, name_of

Handler = Callable[[Any], Any]
_FIELDS = ("data", "flags", "logs")
_UNSET: Any = object()


@dataclass(frozen=True)
class StageResponse:
    """What a handler returns."""

    data: Any = None
    """JSON; it is found under `data.<stage>`."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Control flow, for the stages after this one."""
    logs: Sequence[str] = ()
    """Lines that go out as events, and are part of no hash."""


class StageContext:
    """The context of one attempt of a stage. Shared resources, and flags, are attributes too."""

    def __init__(self, name: str, execution: TaskContext) -> None:
        self.name, self.execution = name, execution
        self.data, self.flags = execution.inputs.under(DATA), execution.inputs.under(FLAGS)
        """What the stages before this one brought, and `seed`; what they set, of which the last in the order counts."""
        self._output: Any = _UNSET
        self._old: dict[str, Any] = {}

    @property
    def seed(self) -> Any:
        """Return `data["seed"]`; an old name."""
        self._notice("seed", 'read data["seed"]')
        return self.data["seed"]

    @property
    def output(self) -> Any:
        """Return a copy of what the last stage before this one brought; an old name.

        What is changed in it is what this stage brings, unless it returns something.
        """
        if self._output is _UNSET:
            self._notice("output", "read data[<stage>]")
            self.__dict__["_output"] = thaw(self._before())
        return self._output

    def _before(self) -> Any:
        stages = [name for name in self.data if name != "seed"]
        return self.data[stages[-1]] if stages else None

    def __getattr__(self, name: str) -> Any:
        if "_old" not in self.__dict__:  # a copy that is being made
            raise AttributeError(name)
        for found in (self._old, self.flags, self.execution.resources):
            if name in found:
                return found[name]
        raise AttributeError(f"{name}: no flag, and no shared resource")

    def __setattr__(self, name: str, value: Any) -> None:
        if "_old" not in self.__dict__:
            self.__dict__[name] = value
        elif name in self.__dict__ or name == "seed" or name in self.execution.resources:
            raise AttributeError(f"{name} cannot be set: it is shared, or the runner's own")
        elif name == "output":
            self._notice("output", "return it as data")
            self.__dict__["_output"] = value
        else:
            self._notice("attributes", "return them as flags")
            self._old[name] = value

    def _notice(self, way: str, instead: str) -> None:
        self.execution.emit("deprecated", way=way, text=f"{self.name}: {way} is the old way; {instead}")

    def _fields_of(self, result: Any, wrong: list[str]) -> dict[str, Any]:
        """Return what a handler brings in any way, as the fields of a response."""
        if result is not None and not isinstance(result, Mapping):
            if not all(hasattr(result, name) for name in _FIELDS):
                wrong.append(f"{type(result).__name__} is not a response: return data, flags and logs")
                return {}
            result = {name: getattr(result, name) for name in _FIELDS}
        fields = {name: value for name, value in (result or {}).items() if name in _FIELDS and value is not None}
        rest = {name: value for name, value in (result or {}).items() if name not in _FIELDS}
        if not isinstance(flags := fields.pop("flags", {}), Mapping):
            wrong.append("flags is not an object")
            return fields
        if "output" in rest:
            self._notice("output", "return it as data")
            wrong += ["data and output are both there"] if "data" in fields else []
            fields["data"] = rest.pop("output")
        elif rest:
            wrong += [f"{name} is not one of data, flags, logs" for name in rest]
            rest = {}
        if "data" not in fields and self._output is not _UNSET and freeze(self._output) != self._before():
            fields["data"] = self._output
        return {**fields, "flags": {**self._old, **rest, **flags}}


@dataclass(frozen=True)
class _StageFunction:
    """A handler as the function of a task; a class, so that it can be pickled."""

    name: str
    handler: Handler
    schema: Mapping[str, Any] | None
    flags: Mapping[str, str] | None

    def __call__(self, ctx: TaskContext) -> Any:
        given = StageContext(self.name, ctx)
        result = self.handler(given)
        return self._awaited(given, result) if inspect.isawaitable(result) else self._take(given, result)

    async def _awaited(self, given: StageContext, result: Awaitable[Any]) -> None:
        self._take(given, await result)

    def _take(self, given: StageContext, result: Any) -> None:
        """Check everything, then write. Raises: BadResponse with all violations."""
        wrong: list[str] = []
        found = given._fields_of(result, wrong)
        data = _frozen(found.get("data"), "data", wrong)
        flags = {name: _frozen(value, f"flags.{name}", wrong) for name, value in found.get("flags", {}).items()}
        logs = found.get("logs", ())
        if isinstance(logs, str) or not all(isinstance(line, str) for line in logs):
            wrong.append("logs is not a list of strings")
        if not wrong and self.schema is not None:
            wrong += violations_in(data, self.schema, "data")
        for name, value in flags.items():
            kind = kind_of(value) if self.flags is None else self.flags.get(name)
            if kind != kind_of(value):
                wrong.append(f"flags.{name} is {not_one_of((kind,)) if kind else 'not declared'}")
        if wrong:
            raise BadResponse(f"the response of {self.name} is wrong: {'; '.join(wrong)}", wrong)
        if data is not None:
            given.execution.outputs.set_data(data)
        for name, value in flags.items():
            given.execution.outputs.set_flag(name, value)
        for line in logs:
            given.execution.emit("log", text=line)


def _frozen(value: Any, what: str, wrong: list[str]) -> Any:
    try:
        return freeze(value, what)
    except BadValue as error:
        wrong.append(error.message)
        return None


def stage_context(
    name: str, handler: Handler, *, schema: Mapping[str, Any] | None = None, flags: Mapping[str, str] | None = None
) -> Callable[[TaskContext], Any]:
    """Return the handler as the function of a task: it gets a StageContext, and its response is checked and kept.

    schema: of the data, as JSON Schema. flags: the type of each flag that it may set, by JSON's names.
    Raises: BadConfig for a schema that is not understood.
    """
    if schema is not None:
        check_schema(schema, f"the schema of {name}")
    return _StageFunction(name, handler, schema, flags)


class Stage(Task):
    """A task made of a handler, by its name; the options are those of `stage_context` and of Task."""

    def __init__(self, name: str, handler: Handler, *, schema: Any = None, flags: Any = None, **options: Any) -> None:
        options.setdefault("definition", {"stage": name, "handler": name_of(handler), "schema": schema, "flags": flags})
        super().__init__(name, stage_context(name, handler, schema=schema, flags=flags), **options)
