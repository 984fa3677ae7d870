"""What a verb answers: text, data and exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from git_taskctx.model.values import dataclass

if TYPE_CHECKING:
    from git_taskctx.report.document import Document


@dataclass(frozen=True)
class Answer:
    """What a verb says."""

    data: Any = None
    """For `--format json`, and plain text on stdout where `text` is None."""
    text: Callable[[Document], object] | None = None
    """Writes what a person reads, to stdout."""
    notes: Callable[[Document], object] | None = None
    """Writes warnings and hints to stderr."""
    code: int = 0
    """0, or 1, 3 or 75 where the answer is not yes."""
    reason: str | None = None
    """One sentence for the JSON document's `error` when the code is not 0."""
    hints: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    raw: bytes | Iterable[bytes] | None = None
    """Bytes for stdout, whole or in pieces."""
    screen: Callable[[Mapping[str, str]], Iterable[str]] | None = None
    """Replaces `raw` on a screen; takes a palette."""
    paged: str = ""
    """The name for git's pager settings; empty for no paging."""
