"""Stages: what a handler may return, where it goes, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from git_taskctx.errors import BadConfig
from git_taskctx.runner import BadResponse, DagExecutor, Stage, StageContext, StageResponse, Task, stage_context
from runner.kit import of_type, processes, run, states, wants_io

SCHEMA = {"type": "object", "required": ["score"], "properties": {"score": {"type": "integer"}}}


def test_a_response_goes_where_it_belongs() -> None:
    """Data under data.<stage>, the seed under data.seed, flags to the flags, logs out as events."""
    answer = StageResponse({"score": 7}, {"approve": True}, ["looked", "at it"])
    result = run(Stage("review", lambda _: answer), seed={"topic": "x"})
    assert result.data == {"seed": {"topic": "x"}, "review": {"score": 7}}
    assert result.flags == {"approve": True}
    assert [event.data["text"] for event in of_type(result.events, "log")] == ["looked", "at it"]
    assert result.store["data.review"] == {"score": 7}


@pytest.mark.parametrize(("returned", "data"), [
    ({"data": {"score": 1}, "flags": {}, "logs": []}, {"score": 1}), ({"data": {"score": 1}}, {"score": 1}),
    ({"flags": {}}, None), ({}, None), (None, None), (StageResponse(), None), (StageResponse([1]), [1]),
])  # fmt: skip
def test_a_mapping_or_nothing_is_a_response_too(returned: Any, data: Any) -> None:
    """Any of the three may be left out; what brings no data has no entry."""
    result = run(Stage("s", lambda _: returned))
    assert result.ok, result.status
    assert result.data.get("s") == (tuple(data) if isinstance(data, list) else data)


def test_all_violations_are_reported_at_once() -> None:
    """Of the schema, of the flags' types, of the shape; nothing of the response is kept then."""
    schema = {**SCHEMA, "properties": {"score": {"type": "integer"}, "why": {"type": "string"}}}
    bad = {"data": {"why": 1}, "flags": {"approve": "yes", "new": 1}, "logs": "text", "more": 1}
    result = run(
        Stage("s", lambda _: bad), Stage("t", lambda _: {**bad, "logs": [], "more": None}, schema=schema,
              flags={"approve": "boolean"}), Stage("u", lambda _: bad["data"], schema=schema),
    )  # fmt: skip
    found = {name: status.error.exception.violations for name, status in result.status.items() if status.error}  # type: ignore[union-attr]
    assert found["s"] == ("more is not one of data, flags, logs", "logs is not a list of strings")
    assert found["t"] == (
        "more is not one of data, flags, logs", "flags.approve is not a boolean", "flags.new is not declared",
    )  # fmt: skip
    result = run(Stage("t", lambda _: {"data": {"why": 1}, "flags": {"approve": 1}}, schema=schema,
                       flags={"approve": "boolean"}))  # fmt: skip
    assert result.status["t"].error is not None
    assert result.status["t"].error.exception.violations == (  # type: ignore[union-attr]
        "data.score is missing", "data.why is not a string", "flags.approve is not a boolean",
    )  # fmt: skip
    assert (dict(result.flags), dict(result.data)) == ({}, {"seed": {}})


def test_a_stage_cannot_skip_what_its_schema_requires() -> None:
    """To return nothing, or no data, where a schema stands is a violation."""
    for returned in (None, {}, StageResponse(flags={"x": 1})):
        result = run(Stage("s", lambda _, returned=returned: returned, schema=SCHEMA))  # type: ignore[misc]
        assert states(result) == {"s": "failed"}


@pytest.mark.parametrize("returned", [3, "text", [1], {"data": {1: 2}}, {"flags": {"x": object()}}, {"flags": "x"},
                                      {"flags": {"a.b": 1}}])  # fmt: skip
def test_what_is_no_response_fails_the_stage(returned: Any) -> None:
    """With an error that says what was returned; the run goes on."""
    result = run(Stage("s", lambda _: returned), Stage("other", lambda _: None))
    assert states(result) == {"s": "failed", "other": "done"}
    assert result.status["s"].error is not None
    assert result.status["s"].error.kind in ("BadResponse", "BadValue")


def test_a_schema_that_is_not_understood_is_refused_when_the_stage_is_made() -> None:
    """Nothing may seem checked that is not."""
    for schema in ({"$ref": "#"}, {"type": "text"}, {"properties": {"a": {"format": "uri"}}}, {"enum": [{}]}, []):
        with pytest.raises(BadConfig):
            Stage("s", lambda _: None, schema=schema)  # type: ignore[arg-type]


def test_a_stage_sees_what_its_ancestors_brought() -> None:
    """Data, flags and seed of those before it, and of no other; it cannot change them."""
    seen: list[Any] = []

    def last(ctx: StageContext) -> None:
        seen.append((dict(ctx.data), dict(ctx.flags)))
        with pytest.raises(TypeError):
            ctx.data["first"]["x"] = 2
        with pytest.raises(AttributeError):
            ctx.data = {}

    result = run(
        Stage("first", lambda _: {"data": {"x": 1}, "flags": {"ok": True}}),
        Stage("beside", lambda _: {"data": 1, "flags": {"beside": True}}),
        Stage("last", last, after=["first"]),
        seed={"topic": "x"},
    )
    assert result.ok, result.status
    assert seen == [({"seed": {"topic": "x"}, "first": {"x": 1}}, {"ok": True})]


def test_a_flag_of_another_type_is_refused() -> None:
    """The later stage fails, and names the earlier one; where none is later, it is a collision of the run."""
    result = run(
        Stage("a", lambda _: {"flags": {"approve": True}}),
        Stage("b", lambda _: {"flags": {"approve": "yes"}}, after=["a"]),
    )
    assert states(result) == {"a": "done", "b": "failed"}
    assert result.status["b"].error is not None
    assert result.status["b"].error.message == "the flag approve is boolean in a, and string in b"
    result = run(
        Stage("a", lambda _: {"flags": {"approve": True}}), Stage("b", lambda _: {"flags": {"approve": "yes"}})
    )
    assert (result.ok, [one.key for one in result.collisions]) == (False, ["flags.approve"])


def test_shared_resources_are_the_same_objects() -> None:
    """`io` and `llm` are passed by reference, to every stage and every attempt."""
    io, seen = [0], []
    result = run(
        Stage("a", lambda ctx: seen.append(ctx.io)), Stage("b", lambda ctx: seen.append(ctx.io), after=["a"]),
        resources={"io": io},
    )  # fmt: skip
    assert result.ok, result.status
    assert [one is io for one in seen] == [True, True]


def test_a_shared_resource_does_not_reach_another_process() -> None:
    """A stage that looks at one there fails with one clear error."""
    with processes(1) as pool:
        result = DagExecutor([Stage("s", wants_io)], pool, resources={"io": []}).run()
    assert result.status["s"].error is not None
    assert result.status["s"].error.message == "io is shared by reference, and is not in this process"


def test_what_a_stage_registers_is_released_when_it_fails() -> None:
    """A listener that is taken off in `on_close` goes also after a failure, as does one of the whole run."""
    listeners: list[str] = []

    def stage(ctx: StageContext) -> None:
        run_context = ctx.execution.parent
        assert run_context is not None
        for name, context in (("stage", ctx.execution), ("run", run_context)):
            listeners.append(name)
            context.on_close(lambda _, name=name: listeners.remove(name))  # type: ignore[misc]
        raise ValueError("x")

    def later(_: StageContext) -> None:
        assert listeners == ["run"]

    result = run(Stage("a", stage), Stage("b", later, after=["a"], always=True))
    assert states(result) == {"a": "failed", "b": "done"}
    assert listeners == []


def test_a_handler_may_be_a_coroutine_function() -> None:
    """It is awaited, and its response taken as any other."""

    async def handler(ctx: StageContext) -> StageResponse:
        await asyncio.sleep(0)
        return StageResponse({"from": ctx.data["seed"]["topic"]})

    assert run(Stage("s", handler), seed={"topic": "x"}).data["s"] == {"from": "x"}


def test_stage_context_makes_the_function_of_a_task() -> None:
    """The wrapper alone, in a plain task, does what Stage does; its name is where the data goes."""
    result = run(Task("s", stage_context("s", lambda _: {"data": 1}, schema={"type": "integer"})))
    assert result.data["s"] == 1
    with pytest.raises(BadResponse):
        raise (
            run(Task("s", stage_context("s", lambda _: {"data": "1"}, schema={"type": "integer"})))
            .status["s"]
            .error.exception
        )  # type: ignore[union-attr,misc]


def test_a_retry_clears_every_trace_of_the_last_error() -> None:
    """After a second attempt that works, neither status, flags, data nor store has anything of the first."""
    tries: list[int] = []

    def handler(ctx: StageContext) -> Any:
        tries.append(ctx.execution.attempt)
        assert "failed" not in ctx.flags
        if len(tries) == 1:
            ctx.execution.outputs.set("partial", 1)
            ctx.failed = True
            raise ValueError("first")
        return {"data": 2}

    result = run(Stage("s", handler, retries=1))
    assert tries == [1, 2]
    assert (result.status["s"].error, result.status["s"].attempts, result.status["s"].why) == (None, 2, "")
    assert dict(result.store) == {"data.seed": {}, "data.s": 2}
