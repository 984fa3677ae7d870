"""A diff as `git diff` shows it on a screen: in the colours of git's configuration, with short names of blobs.

What a terminal would obey is made visible, and content that is no text is left out: a pipe gets the patch as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from git_taskctx.report.document import printable

_DEFAULTS = {"meta": "bold", "frag": "cyan", "old": "red", "new": "green"}
"""git's own (git-config, `color.diff.<slot>`), where they are not plain."""
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ATTRIBUTES = {"bold": 1, "dim": 2, "italic": 3, "ul": 4, "blink": 5, "reverse": 7, "strike": 9}
_INDEX = re.compile(rb"(index |\.\.)([0-9a-f]{7})[0-9a-f]*")
_HUNK = re.compile(r"(@@ .*? @@)(.*)")
_SLOTS = {"+": "new", "-": "old", "@": "frag"}


def palette_of(settings: Mapping[str, str | None]) -> dict[str, str]:
    """Return the escape sequence for each part of a diff that has one."""
    chosen = {
        key.removeprefix("color.diff."): value for key, value in settings.items() if key.startswith("color.diff.")
    }
    if "plain" in chosen:
        chosen.setdefault("context", chosen["plain"])
    return {slot: code for slot, value in {**_DEFAULTS, **chosen}.items() if (code := sequence(value or ""))}


def sequence(value: str) -> str:
    """Return the escape sequence of a colour as git-config writes it; none for one that does not read."""
    codes: list[str] = []
    layer = 30
    for word in value.lower().split():
        plain = word.removeprefix("no").removeprefix("-") if word not in _COLOURS and word != "normal" else word
        if plain in _ATTRIBUTES:
            number = _ATTRIBUTES[plain]
            codes.append(str(number if plain == word else 22 if number == 1 else 20 + number))
        elif word == "reset":
            codes.append("0")
        elif (code := _colour(word, layer)) is not None:
            codes += [code] if code else []
            layer += 10
        else:
            return ""
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _colour(word: str, layer: int) -> str | None:
    """Return the code of a colour on a layer, 30 for the text and 40 for what is behind; None where it is none."""
    if layer > 40:
        return None
    if word in ("normal", "-1"):
        return ""
    if word == "default":
        return str(layer + 9)
    if word in _COLOURS:
        return str(layer + _COLOURS.index(word))
    if word.removeprefix("bright") in _COLOURS:
        return str(layer + 60 + _COLOURS.index(word.removeprefix("bright")))
    if word.isdecimal() and int(word) < 256:
        return f"{layer + 8};5;{word}"
    if re.fullmatch(r"#[0-9a-f]{6}", word):
        return f"{layer + 8};2;" + ";".join(str(int(word[at : at + 2], 16)) for at in (1, 3, 5))
    return None


def shown_diff(lines: Iterable[bytes], palette: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a diff as a screen has them; an empty palette leaves them without colour."""

    def paint(slot: str, text: str) -> str:
        return f"{palette[slot]}{text}\x1b[m" if text and slot in palette else text

    in_header = skips = False
    for line in lines:
        starts = line.startswith(b"diff --git ")
        in_header, skips = (in_header or starts) and not line.startswith(b"@@ "), skips and not starts
        if skips:
            continue
        if in_header and line.startswith(b"GIT binary patch"):
            skips = True
            yield "Binary content is not shown\n"
            continue
        if in_header and line.startswith(b"index "):
            line = _INDEX.sub(rb"\1\2", line)
        text = printable(line.removesuffix(b"\n").decode("utf-8", "backslashreplace"))
        hunk = _HUNK.fullmatch(text)
        if in_header:
            yield paint("meta", text) + "\n"
        elif hunk is not None:
            yield paint("frag", hunk[1]) + paint("func", hunk[2]) + "\n"
        else:
            yield paint(_SLOTS.get(text[:1], "context"), text) + "\n"
