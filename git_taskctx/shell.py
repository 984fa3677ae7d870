"""Words of a command that is shown, on one line whatever they hold: a name by others adds no command and no line."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False  # typing itself would cost a hook of an agent's more than all that it does without a task
if TYPE_CHECKING:
    from collections.abc import Iterable

_LIVE = frozenset('"$`\\!')
"""Characters special to a shell between double quotes too."""


class Shell(str):
    """A word for the shell to expand, as `$PATH`."""

    __slots__ = ()


def shell_words(words: Iterable[str]) -> str:
    """Join words into a line of shell that reads back as the same words, whatever their bytes."""
    return " ".join(map(shell_word, words))


def shell_word(text: str | os.PathLike[str]) -> str:
    """Quote one word: in double quotes if these suffice, as `$'…'` if it is not printable."""
    import shlex

    word = os.fspath(text)
    if isinstance(word, Shell) or shlex.quote(word) == word:
        return word
    if not word.isprintable():
        return "$'" + re.sub(r"[^ -&(-\[\]-~]", _escape, word) + "'"
    return f'"{word}"' if word and not set(word) & _LIVE else shlex.quote(word)


def _escape(found: re.Match[str]) -> str:
    """Return one character in octal, byte by byte; a letter of another alphabet as it is."""
    character = found[0]
    if character.isprintable() and not character.isascii():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
