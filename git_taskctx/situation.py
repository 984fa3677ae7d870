"""Where somebody stands who has something to do next: named where it is found, answered by `report.advice`.

Rooms below the reports know what is wrong and not what to type: an error, a verdict or a remark of theirs carries a
situation, and whoever shows it asks for the commands.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself would cost a hook of an agent's more than all that it does without a task
if TYPE_CHECKING:
    from typing import Any


ASIDE = {"aside": True}
"""Metadata of a field that is for the rooms above alone: it stands in no JSON document and in no schema."""


class Situation:
    """What kind of situation it is, and its facts."""

    __slots__ = ("facts", "kind")

    def __init__(self, kind: str, **facts: Any) -> None:
        self.kind = kind
        """The function of `report.advice` that answers, as `chain.at_work`."""
        self.facts = facts
        """Its arguments."""

    def knowing(self, **more: Any) -> Situation:
        """Return the situation with more facts."""
        return Situation(self.kind, **{**self.facts, **more})
