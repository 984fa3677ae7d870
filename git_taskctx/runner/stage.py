"""Stages: handlers that return a response, which is checked and put where it belongs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from git_taskctx.runner.compat import StageContext, read_response
from git_taskctx.runner.faults import BadResponse, BadValue
from git_taskctx.runner.frozen import freeze, kind_of
from git_taskctx.runner.schema import check_schema, not_one_of, violations_in
from git_taskctx.runner.task import Task, TaskContext, name_of

Handler = Callable[[Any], Any]


@dataclass(frozen=True)
class StageResponse:
    """What a handler returns."""

    data: Any = None
    """JSON; it is found under `data.<stage>`."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Control flow, for the stages after this one."""
    logs: Sequence[str] = ()
    """Lines that go out as events, and are part of no hash."""


@dataclass(frozen=True)
class StageFunction:
    """A handler as the function of a task; made by `stage_context`."""

    name: str
    handler: Handler
    schema: Mapping[str, Any] | None = None
    flags: Mapping[str, str] | None = None

    def __call__(self, ctx: TaskContext) -> Any:
        given = StageContext(self.name, ctx)
        result = self.handler(given)
        return self._awaited(given, result) if inspect.isawaitable(result) else self._take(given, result)

    async def _awaited(self, given: StageContext, result: Awaitable[Any]) -> None:
        self._take(given, await result)

    def _take(self, given: StageContext, result: Any) -> None:
        """Check everything, then write. Raises: BadResponse with all violations."""
        found, wrong = read_response(given, result)
        data = _frozen(found.get("data"), "data", wrong)
        flags = {name: _frozen(value, f"flags.{name}", wrong) for name, value in found.get("flags", {}).items()}
        logs = found.get("logs", ())
        if isinstance(logs, str) or not all(isinstance(line, str) for line in logs):
            wrong.append("logs is not a list of strings")
        if not wrong and self.schema is not None:
            wrong += violations_in(data, self.schema, "data")
        wrong += self._violations_in(flags)
        if wrong:
            raise BadResponse(f"the response of {self.name} is wrong: {'; '.join(wrong)}", wrong)
        if data is not None:
            given.execution.outputs.set_data(data)
        for name, value in flags.items():
            given.execution.outputs.set_flag(name, value)
        for line in logs:
            given.execution.emit("log", text=line)

    def _violations_in(self, flags: Mapping[str, Any]) -> Iterator[str]:
        for name, value in flags.items():
            kind = kind_of(value) if self.flags is None else self.flags.get(name)
            if kind != kind_of(value):
                yield f"flags.{name} is {not_one_of((kind,)) if kind else 'not declared'}"


def _frozen(value: Any, what: str, wrong: list[str]) -> Any:
    try:
        return freeze(value, what)
    except BadValue as error:
        wrong.append(error.message)
        return None


def stage_context(
    name: str, handler: Handler, *, schema: Mapping[str, Any] | None = None, flags: Mapping[str, str] | None = None
) -> StageFunction:
    """Return the handler as the function of a task: it gets a StageContext, and its response is checked and kept.

    schema: of the data, as JSON Schema. flags: the type of each flag that it may set, by JSON's names.
    Raises: BadConfig for a schema that is not understood.
    """
    if schema is not None:
        check_schema(schema, f"the schema of {name}")
    return StageFunction(name, handler, schema, flags)


class Stage(Task):
    """A task made of a handler, by its name; the options are those of `stage_context` and of Task."""

    def __init__(self, name: str, handler: Handler, *, schema: Any = None, flags: Any = None, **options: Any) -> None:
        options.setdefault("definition", {"stage": name, "handler": name_of(handler), "schema": schema, "flags": flags})
        super().__init__(name, stage_context(name, handler, schema=schema, flags=flags), **options)
