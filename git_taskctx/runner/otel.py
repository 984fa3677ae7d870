"""Spans of OpenTelemetry, one for each exec, children of their parents'; needs the extra `[otel]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from git_taskctx.runner.context import Ended, ExecutionContext, Extension

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

SPAN = "git_taskctx.runner.span"
"""Where a context's `data` has its span."""


class Tracing(Extension):
    """Emit a span for each exec, to a provider, or to the one that is set for the process."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self.provider = provider

    def wrap_exec(self, next: Callable[[], Any], target: Callable[..., Any], ctx: ExecutionContext) -> Any:
        """Start the span, and end it when the context is closed: after a coroutine, too, has ended."""
        from opentelemetry import trace

        above = trace.set_span_in_context(parent) if (parent := ctx.seek(SPAN)) is not None else None
        tracer = trace.get_tracer("git_taskctx.runner", tracer_provider=self.provider)
        span = ctx.data[SPAN] = tracer.start_span(ctx.name or repr(target), above)

        def end(ended: Ended) -> None:
            span.set_attribute("taskctx.state", ended.state)
            if ended.error is not None:
                span.record_exception(ended.error)
                span.set_status(trace.Status(trace.StatusCode.ERROR, str(ended.error)))
            span.end()

        ctx.on_close(end)
        return next()
