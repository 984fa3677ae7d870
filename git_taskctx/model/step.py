"""A command to type next, and why: a value until it is shown."""

from __future__ import annotations

from git_taskctx.model.values import dataclass, replace
from git_taskctx.shell import shell_words

WHY = "   # "
"""Separates a command from its comment."""


@dataclass(frozen=True)
class Step:
    """One line of shell: a command, commands to follow if it succeeds, and the reason as a comment."""

    argv: tuple[str, ...]
    why: str = ""
    alternative: bool = False
    """True where it is typed instead of the previous step."""
    after: tuple[tuple[str, ...], ...] = ()
    """What follows with `&&`."""

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What is typed, in order."""
        return (self.argv, *self.after)

    @property
    def command(self) -> str:
        """The line without its comment."""
        return " && ".join(map(shell_words, self.commands))

    @property
    def line(self) -> str:
        """The line as it is shown, and can be copied."""
        why = " ".join(("or " * self.alternative + self.why).split())
        return self.command + (WHY + why if why else "")

    def __str__(self) -> str:
        return self.line

    def then(self, *argv: str) -> Step:
        """Return the step with one more command behind it."""
        return replace(self, after=(*self.after, argv))

    def because(self, why: str) -> Step:
        """Return the step with another reason."""
        return replace(self, why=why)

    def instead(self, why: str | None = None) -> Step:
        """Return the step as an alternative to the one before it."""
        return replace(self, alternative=True, why=self.why if why is None else why)


def taskctx(*words: str, why: str = "") -> Step:
    """Return a step that is a verb of ours."""
    return Step(("git", "taskctx", *words), why)
