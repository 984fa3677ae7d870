"""Old handlers, beside new ones: they work, each old way with one notice."""

from __future__ import annotations

from typing import Any

import pytest

from git_taskctx.runner import DagExecutor, RunResult, Stage, StageContext
from runner.kit import of_type, old_style, processes, run, states


def notices(result: RunResult) -> list[tuple[str | None, str]]:
    """Return the stage and the old way of each notice."""
    return [(event.task, event.data["way"]) for event in of_type(result.events, "deprecated")]


def test_output_is_mirrored_under_both_names() -> None:
    """What an old handler returns is data for new stages; what a new one returns is output for old ones."""
    seen: list[Any] = []
    result = run(
        Stage("ingest", lambda _: {"output": {"text": "x"}}),
        Stage("new", lambda ctx: {"data": {**ctx.data["ingest"], "more": 1}}, after=["ingest"]),
        Stage("old", lambda ctx: seen.append(ctx.output), after=["new"]),
    )
    assert result.ok, result.status
    assert result.data["ingest"] == {"text": "x"}
    assert seen == [{"text": "x", "more": 1}]
    assert notices(result) == [("ingest", "output"), ("old", "output")]


def test_the_seed_is_found_under_both_names() -> None:
    """`seed` is `data["seed"]`, the same object."""
    result = run(Stage("s", lambda ctx: {"data": ctx.seed is ctx.data["seed"]}), seed={"topic": "x"})
    assert (result.data["s"], notices(result)) == (True, [("s", "seed")])


def test_attributes_that_are_set_become_flags() -> None:
    """A handler that sets flags on the context and returns nothing steers the stages after it, old and new."""
    seen: list[Any] = []

    def validate(ctx: StageContext) -> None:
        ctx.validationFailed = True
        ctx.refined = 1
        assert ctx.validationFailed is True

    def old(ctx: StageContext) -> None:
        seen.append((ctx.validationFailed, getattr(ctx, "unknown", None)))

    result = run(
        Stage("validate", validate), Stage("old", old, after=["validate"]),
        Stage("new", lambda ctx: seen.append(dict(ctx.flags)), after=["old"]),
    )  # fmt: skip
    assert result.ok, result.status
    assert seen == [(True, None), {"validationFailed": True, "refined": 1}]
    assert notices(result) == [("validate", "attributes")]


def test_what_is_changed_in_output_is_not_lost() -> None:
    """A handler that changes `output` in place, or sets it anew, and returns nothing brings that; others see it."""

    def in_place(ctx: StageContext) -> None:
        ctx.output["list"].append(2)

    def anew(ctx: StageContext) -> None:
        ctx.output = [*ctx.output["list"], 3]

    result = run(
        Stage("a", lambda _: {"output": {"list": [1]}}), Stage("b", in_place, after=["a"]),
        Stage("c", anew, after=["b"]), Stage("reads", lambda ctx: print(ctx.output), after=["c"]),
    )  # fmt: skip
    assert result.ok, result.status
    assert dict(result.data) == {"seed": {}, "a": {"list": (1,)}, "b": {"list": (1, 2)}, "c": (1, 2, 3)}


def test_what_else_is_returned_beside_output_is_a_flag() -> None:
    """The old runner put every returned key on the context; without `output` it is a violation, not a guess."""
    result = run(Stage("s", lambda _: {"output": 1, "refined": True}), Stage("t", lambda _: {"refined": True}))
    assert (result.data["s"], dict(result.flags)) == (1, {"refined": True})
    assert states(result) == {"s": "done", "t": "failed"}


def test_one_notice_for_each_old_way_of_a_stage() -> None:
    """However often it is used, and in however many attempts."""

    def handler(ctx: StageContext) -> Any:
        for _ in range(3):
            ctx.refined = bool(ctx.seed) or bool(ctx.output)
        if ctx.execution.attempt == 1:
            raise ValueError("again")
        return {"output": 1}

    result = run(Stage("s", handler, retries=1), seed={"a": 1})
    assert notices(result) == [("s", "seed"), ("s", "attributes"), ("s", "output")]


def test_a_stage_that_returns_nothing_and_sets_nothing_brings_nothing() -> None:
    """A handler that works by its side effects alone is done, without a notice; `output` is what it was."""
    files: list[str] = []
    result = run(
        Stage("a", lambda _: {"data": 1}), Stage("inference", lambda _: files.append("artifact"), after=["a"]),
        Stage("c", lambda ctx: {"data": ctx.output}, after=["inference"]),
    )  # fmt: skip
    assert (result.data["c"], files, notices(result)) == (1, ["artifact"], [("c", "output")])


@pytest.mark.parametrize("name", ["data", "flags", "seed", "execution", "io"])
def test_what_is_the_runners_cannot_be_set(name: str) -> None:
    """A handler that would overwrite it fails: no unrelated field is corrupted by accident."""
    result = run(Stage("s", lambda ctx: setattr(ctx, name, 1)), resources={"io": []})
    assert states(result) == {"s": "failed"}


def test_old_handlers_run_in_other_processes() -> None:
    """With their notices, and the same result."""
    stage = Stage("s", old_style)
    with processes(1) as pool:
        there = DagExecutor([stage], pool).run({"topic": "x"})
    here = DagExecutor([stage]).run({"topic": "x"})
    assert notices(there) == notices(here) == [("s", "seed"), ("s", "output")]
    assert (dict(there.store), there.hashes) == (dict(here.store), here.hashes)
