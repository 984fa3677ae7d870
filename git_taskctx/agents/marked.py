"""A block of ours in another text, between two marker lines; `add` and `remove` restore every byte.

How the text ended before is encoded in the end of the block.
"""

from __future__ import annotations

from git_taskctx.errors import BadData
from git_taskctx.shell import shell_word


def find(text: str, begin: str, end: str, *, what: str) -> tuple[int, int] | None:
    """Return the place of the block, without its last line end. Raises: BadData for half of one, or two."""
    if begin not in text and end not in text:
        return None
    start, stop = text.find(begin), text.find(end)
    if start < 0 or stop < start or text.count(begin) > 1 or text.count(end) > 1:
        raise BadData(
            f"{what}: the lines {begin!r} and {end!r} do not enclose one block",
            hint=f"grep -n git-taskctx {shell_word(what)}",
        )
    return start, stop + len(end)


def add(text: str | None, block: str, begin: str, end: str, *, what: str) -> str:
    """Append a block to a text, or replace it there; None is no text at all."""
    newline = "\r\n" if text and "\r\n" in text else "\n"
    block = f"{begin}\n{block.strip()}\n{end}".replace("\n", newline)
    if text is None:
        return block + newline
    found = find(text, begin, end, what=what)
    if found is not None:
        return text[: found[0]] + block + text[found[1] :]
    if not text:
        return block
    return text + (newline + block + newline if text.endswith("\n") else newline * 2 + block)


def remove(text: str, begin: str, end: str, *, what: str) -> str | None:
    """Remove the block; None where nothing else was in the text."""
    found = find(text, begin, end, what=what)
    if found is None:
        return text
    start, stop = found
    newline = "\r\n" if text.startswith("\r\n", stop) or text[:start].endswith("\r\n") else "\n"
    ended = text.startswith(newline, stop)
    before, after = text[:start], text[stop + len(newline) * ended :]
    if not before:
        return after if after or not ended else None
    for _ in range(1 if ended else 2):
        before = before.removesuffix(newline)
    if after and not before.endswith("\n"):
        before += newline
    return before + after
