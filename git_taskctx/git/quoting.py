"""Paths are bytes to git and text elsewhere: the one conversion.

Valid UTF-8 without control characters, quotes or backslashes stays as it is; other paths are quoted as git does
(`quote.c` with core.quotePath=false), so that nothing is lost and nothing reaches a terminal raw.
"""

from __future__ import annotations

import re

from git_taskctx.errors import BadData
from git_taskctx.lean import regex

_NAMED = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_UNNAMED = {name: byte for byte, name in _NAMED.items()}
_PLAIN = regex(rb"[ !#-\[\]-~]*")
"""Most paths need no quoting."""
_ESCAPE = regex(rb"\\([0-3][0-7]{2}|.|$)", re.DOTALL)


def quote(path: bytes) -> str:
    if _PLAIN.fullmatch(path):
        return path.decode("ascii")
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return '"' + "".join(_escape(byte) if byte < 128 else f"\\{byte:03o}" for byte in path) + '"'
    if not any(byte < 32 or byte in (34, 92, 127) for byte in path) and text.isprintable():
        return text
    return '"' + "".join(_escape_character(character) for character in text) + '"'


def quote_ascii(path: bytes) -> bytes:
    """Return `path` as git writes it by default (core.quotePath): everything but plain ASCII is escaped."""
    if path.isascii() and not quote(path).startswith('"'):
        return path
    return b'"%s"' % "".join(map(_escape, path)).encode()


def unquote(text: str) -> bytes:
    """Undo `quote`; also reads core.quotePath=true. Raises: BadData for any other text."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
        if not (len(text) >= 2 and text.startswith('"') and text.endswith('"')):
            return raw
        return _ESCAPE.sub(_unescape, raw[1:-1])
    except (KeyError, UnicodeEncodeError) as error:
        raise BadData(f"{text!a} is not a path as git quotes one") from error


def _escape(byte: int) -> str:
    if byte in _NAMED:
        return "\\" + _NAMED[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _escape_character(character: str) -> str:
    if ord(character) < 128:
        return _escape(ord(character))
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8"))


def _unescape(match: re.Match[bytes]) -> bytes:
    token = match[1]
    return bytes([int(token, 8)]) if len(token) == 3 else bytes([_UNNAMED[token.decode("latin-1")]])


def shown(text: str) -> str:
    """Return a text with addresses without user names and passwords."""
    return re.sub(r"(?<=://)[^/\s]*@", "", text) if "://" in text else text
