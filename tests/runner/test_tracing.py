"""The extra `[otel]`: one span for each exec."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from git_taskctx.runner import DagExecutor, ExecutionContext, Task, TaskContext
from git_taskctx.runner.otel import Tracing


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Where the spans go."""
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter: InMemorySpanExporter) -> Tracing:
    """The extension, with a provider of its own."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider)


def test_spans_nest_as_the_execs_do(exporter: InMemorySpanExporter, tracing: Tracing) -> None:
    """A task's span is the parent of those of its own execs; each ends, and says how."""

    def body(ctx: TaskContext) -> None:
        ctx.exec(lambda _: None, name="inner")
        raise ValueError("x")

    DagExecutor([Task("a", body)], extensions=[tracing]).run()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert list(spans) == ["inner", "a"]
    assert spans["a"].parent is None
    assert spans["inner"].parent is not None
    assert spans["inner"].parent.span_id == spans["a"].context.span_id
    assert (spans["a"].status.status_code, spans["inner"].status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert [event.name for event in spans["a"].events] == ["exception"]


def test_a_span_of_a_coroutine_ends_after_it(exporter: InMemorySpanExporter, tracing: Tracing) -> None:
    """Not when the coroutine is made."""

    async def use() -> int:
        async def body(_: ExecutionContext) -> int:
            await asyncio.sleep(0)
            return len(exporter.get_finished_spans())

        async with ExecutionContext(extensions=[tracing]) as root:
            return await root.aexec(body)

    assert asyncio.run(use()) == 0
    assert [span.name for span in exporter.get_finished_spans()] == ["body"]


def test_nobody_else_pays_for_it() -> None:
    """The runner imports no opentelemetry, nor does the extension before it wraps something."""
    code = (
        "import sys, git_taskctx.runner.otel; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode
        == 0
    )
