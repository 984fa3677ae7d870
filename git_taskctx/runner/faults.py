"""What can go wrong in a run, and how a task ends itself otherwise than done or failed."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.errors import BadConfig, BadData, CouldNotTell, Fatal, Refused


class WriteCollision(Refused):
    """Two tasks wrote one global key, and nothing says whose value counts."""

    code = "write-collision"

    def __init__(self, key: str, first: str, second: str, ordered: bool = False, at: str | None = None) -> None:
        why = "without replace=True" if ordered else "and neither comes after the other"
        hint = "set_global(…, replace=True)" if ordered else f"put {second} after {first}, or write it with set"
        super().__init__(f"{first} and {second} both write {key!r}, {why}", hint=hint)
        self.args = (key, first, second, ordered, at)
        self.key, self.first, self.second = key, first, second
        self.ordered = ordered
        """Whether the second is a descendant of the first, so that replace=True would have done."""
        self.at = at
        """The first task that joins the two; None where nothing does."""

    def __str__(self) -> str:
        return self.message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WriteCollision) and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.args)


class BadGraph(BadConfig):
    """The tasks make no graph that can run; the message has everything that is wrong with them."""


class Undeclared(BadConfig):
    """A task reads a key that its `reads` does not name."""


class BadValue(BadData):
    """A value is not JSON, or a key is not one."""


class BadResponse(BadData):
    """What a stage returned is not allowed by its schema, or is no response."""

    def __init__(self, message: str, violations: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


class ContextClosed(Fatal):
    """An execution context has ended; only its `data` and its `parent` can still be read."""


class NotPicklable(Fatal):
    """A task cannot be sent to another process."""


class Unreachable(Fatal):
    """A shared resource stays in the process that made it."""


class CommandFailed(Refused):
    """A command ended with a code that is not 0; failures with one `signature` are the same failure."""

    def __init__(self, message: str, signature: str = "", command_code: int = 1) -> None:
        super().__init__(message)
        self.signature, self.command_code = signature, command_code


class TimedOut(CouldNotTell):
    """Raised by a task to end as `timed out`."""


class Waiting(CouldNotTell):
    """Raised by a task to end as `waiting`; the message says for what."""


class Cancelled(CouldNotTell):
    """Raised in a task that is to end now."""
