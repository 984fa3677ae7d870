"""Words as one types them into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

_LIVE = frozenset('"$`\\!')
"""What a shell reads between double quotes too."""


def shell_words(words: Iterable[str]) -> str:
    """Join words into a line for `sh`, with double quotes where quotes are needed and these are enough."""
    return " ".join(
        word
        if shlex.quote(word) == word
        else f'"{word}"'
        if word and word.isprintable() and not set(word) & _LIVE
        else shlex.quote(word)
        for word in words
    )
