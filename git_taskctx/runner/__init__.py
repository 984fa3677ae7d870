"""The engine of pipelines: a store read by all, contexts, stages, commands, and the graph that runs them.

It knows no git and no task context; `docs/runner.md` shows how it is used. Tasks see what their ancestors wrote and
nothing else, so that threads, processes and a single thread come to the same end.
"""

from git_taskctx.runner.command import CommandTask, run_command
from git_taskctx.runner.context import Ended, ExecutionContext, Extension
from git_taskctx.runner.dag import DagExecutor
from git_taskctx.runner.faults import (
    BadGraph,
    BadResponse,
    BadValue,
    Cancelled,
    CommandFailed,
    ContextClosed,
    NotPicklable,
    TimedOut,
    Undeclared,
    Unreachable,
    Waiting,
    WriteCollision,
)
from git_taskctx.runner.frozen import FrozenMapping, freeze, thaw
from git_taskctx.runner.outcome import Event, Failure, HandBack, Outcome, RunResult, Status
from git_taskctx.runner.stage import Stage, StageContext, StageResponse, stage_context
from git_taskctx.runner.store import ContextDiff, ContextReader, ContextWriter, SharedStore, Writes, diff_contexts
from git_taskctx.runner.task import Again, Task, TaskContext, task

__all__ = [
    "Again", "BadGraph", "BadResponse", "BadValue", "Cancelled", "CommandFailed", "CommandTask", "ContextClosed",
    "ContextDiff", "ContextReader", "ContextWriter", "DagExecutor", "Ended", "Event", "ExecutionContext", "Extension",
    "Failure", "FrozenMapping", "HandBack", "NotPicklable", "Outcome", "RunResult", "SharedStore", "Stage",
    "StageContext", "StageResponse", "Status", "Task", "TaskContext", "TimedOut", "Undeclared", "Unreachable",
    "Waiting", "WriteCollision", "Writes", "diff_contexts", "freeze", "run_command", "stage_context", "task", "thaw",
]  # fmt: skip
