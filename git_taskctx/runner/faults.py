"""What can go wrong in a run, and how a task ends itself otherwise than done or failed.

::

    Refused        WriteCollision, CommandFailed
    CouldNotTell   Waiting, TimedOut, Cancelled
    BadConfig      BadGraph, Undeclared
    BadData        BadValue, BadResponse
    Fatal          ContextClosed, NotPicklable, Unreachable
"""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.errors import BadConfig, BadData, CouldNotTell, Fatal, Refused


class WriteCollision(Refused):
    """Two tasks wrote one global key, and nothing says whose value counts."""

    code = "write-collision"

    def __init__(self, key: str, first: str, second: str, *, ordered: bool = False, at: str | None = None) -> None:
        why = "without replace=True" if ordered else "and neither comes after the other"
        super().__init__(
            f"{first} and {second} both write {key!r}, {why}",
            hint=f"in {second}: set_global(..., replace=True)"
            if ordered
            else f"put {second} after {first}, or use set",
        )
        self.key, self.first, self.second = key, first, second
        self.ordered = ordered
        """Whether the second is a descendant of the first, so that replace=True would have done."""
        self.at = at
        """The first task that joins the two; None where nothing does."""

    def __reduce__(self) -> tuple[object, ...]:
        return _collision, (self.key, self.first, self.second, self.ordered, self.at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WriteCollision) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.key, self.first, self.second))


def _collision(key: str, first: str, second: str, ordered: bool, at: str | None) -> WriteCollision:
    return WriteCollision(key, first, second, ordered=ordered, at=at)


class BadGraph(BadConfig):
    """The tasks make no graph that can run; the message has everything that is wrong with them."""

    code = "bad-graph"


class Undeclared(BadConfig):
    """A task reads a key that its `reads` does not name."""

    code = "undeclared-read"


class BadValue(BadData):
    """A value is not JSON, or a key is not one."""

    code = "bad-value"


class BadResponse(BadData):
    """A stage returned what its schema, or the shape of a response, does not allow."""

    code = "bad-response"

    def __init__(self, message: str, violations: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


class ContextClosed(Fatal):
    """An execution context has ended; only its `data` and its `parent` can still be read."""

    code = "context-closed"


class NotPicklable(Fatal):
    """A task cannot be sent to another process."""

    code = "not-picklable"


class Unreachable(Fatal):
    """A shared resource stays in the process that made it."""

    code = "unreachable-resource"


class CommandFailed(Refused):
    """A command ended with a code that is not 0."""

    code = "command-failed"

    def __init__(self, message: str, exit_status: int, signature: str) -> None:
        super().__init__(message)
        self.exit_status = exit_status
        self.signature = signature
        """Equal for two failures that are the same failure."""


class TimedOut(CouldNotTell):
    """Raised by a task to end as `timed out`."""

    code = "timed-out"


class Waiting(CouldNotTell):
    """Raised by a task to end as `waiting`; the message says for what."""

    code = "waiting"


class Cancelled(CouldNotTell):
    """Raised in a task that was told to end now."""

    code = "cancelled"
