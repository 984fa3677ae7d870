"""Situations that need advice: named where they are found, answered by `report.advice`.

Lower rooms know what is wrong and not what to type: their errors, verdicts and remarks carry a situation, from which
the commands are chosen when shown.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself would cost a hook of an agent's more than all that it does without a task
if TYPE_CHECKING:
    from typing import Any


ASIDE = {"aside": True}
"""Metadata of a field for upper rooms alone, in no JSON document or schema."""


class Situation:
    """A kind of situation and its facts."""

    __slots__ = ("facts", "kind")

    def __init__(self, kind: str, **facts: Any) -> None:
        self.kind = kind
        """The function of `report.advice` that answers, as `chain.at_work`."""
        self.facts = facts
        """Its arguments."""

    def knowing(self, **more: Any) -> Situation:
        """Return the situation with more facts."""
        return Situation(self.kind, **{**self.facts, **more})
