"""The sections of a Markdown document, with GitHub's anchors.

Lines end with LF, CR or CRLF, as in CommonMark. Only the blocks are parsed, and inline text only of headings and on
demand, so that large standards are cheap.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from git_taskctx.lean import digest
from git_taskctx.model.values import dataclass

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_HEADING = 1000
"""Characters; markup in longer headings is ignored."""
MAX_SENTENCE = 140
"""Characters of a requirement."""
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")
_HTML_HEADING = re.compile(r"<h([1-6])(?:\s[^<>]*)?>((?:[^<]|<(?!/?h[1-6][\s>]))*)</h\1\s*>", re.IGNORECASE)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<(pre|script|style|textarea)\b.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_WORD = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"))
_CIRCLED = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
"""Symbols that count as letters."""
_SENTENCE = re.compile(r".+?[.!?](?<!e\.g\.)(?<!i\.e\.)(?<! vs\.)(?<! cf\.)[)\"'’”*`]*(?=\s+[^\sa-z]|\s*\Z)", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A heading and the text below it."""

    title: str
    slug: str
    level: int
    start: int
    """Line of the heading, from 1."""
    end: int
    """The line before the next heading of the same or a higher level, within the same quote or list item."""
    outermost: bool
    """True when it is inside no other section."""

    @property
    def span(self) -> str:
        """The lines, both inclusive, as a citation has them."""
        return f"L{self.start}-L{self.end}"


@dataclass(frozen=True)
class _Heading:
    title: str
    level: int
    line: int
    block: int
    """Token of the enclosing quote or list item; -1 for none."""
    limit: int
    """Its last line."""


class MarkdownFile:
    def __init__(self, data: bytes) -> None:
        from markdown_it import MarkdownIt

        self.lines = data.splitlines(keepends=True)
        text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        front = _FRONT_MATTER.match(text)
        if front:  # GitHub shows it as a table; to CommonMark it would be a heading
            text = "\n" * front[0].count("\n") + text[front.end() :]
        self._markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        self._markdown.core.ruler.enableOnly(["normalize", "block"])
        self._env: dict[str, Any] = {}
        self._tokens = self._markdown.parse(text, self._env)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Every section, in the order of the headings."""
        headings, slugs, found, reach = list(self._headings()), Slugs(), list[Section](), 0
        for one, end in zip(headings, _ends(headings), strict=True):
            outermost = one.block < 0 and one.line > reach
            found.append(Section(one.title, slugs.take(one.title), one.level, one.line, end, outermost))
            reach = max(reach, end)
        return tuple(found)

    def find(self, name: str) -> Section | None:
        """Return the section with this anchor, else the first with this title."""
        slug = slug_of(name)
        by_anchor = (one for one in self.sections if one.slug == name.lower())
        return next(by_anchor, None) or next((one for one in self.sections if slug and one.slug == slug), None)

    def hash_of(self, section: Section) -> str:
        """Return the sha256 of exactly the section's lines, with their ends."""
        return digest("sha256", b"".join(self.lines[section.start - 1 : section.end])).hexdigest()

    def requirement_of(self, section: Section) -> str:
        """Return the first sentence below a heading, at most 140 characters; the title if there is no text.

        Labels of one or two words are skipped.
        """
        label = None
        for token in self._tokens:
            place = token.map
            if token.type == "inline" and place and section.start - 1 < place[0] < section.end:
                text = " ".join(self._plain(token.content).split())
                if place[0] + 1 in self._heading_lines or not text:
                    continue
                if len(text.split()) > 2:
                    return shorten(first_sentence(text))
                label = label or text
        return shorten(label or " ".join(section.title.split()))

    @cached_property
    def _heading_lines(self) -> frozenset[int]:
        return frozenset(one.start for one in self.sections)

    def _headings(self) -> Iterator[_Heading]:
        blocks: list[tuple[int, int]] = [(-1, len(self.lines))]
        for number, token in enumerate(self._tokens):
            if token.type in ("blockquote_open", "list_item_open") and token.map:
                blocks.append((number, token.map[1]))
            elif token.type in ("blockquote_close", "list_item_close"):
                blocks.pop()
            elif token.type == "heading_open" and token.map:
                title = self._plain(self._tokens[number + 1].content)
                yield _Heading(title, int(token.tag[1]), token.map[0] + 1, *blocks[-1])
            elif token.type == "html_block" and token.map:
                for level, title, line in _html_headings(token.content):
                    yield _Heading(title, level, token.map[0] + 1 + line, *blocks[-1])

    def _plain(self, text: str) -> str:
        """Return a line of Markdown as displayed, like a browser's `textContent`."""
        if len(text) > MAX_HEADING:
            return text
        tokens: list[Token] = []
        self._markdown.inline.parse(text, self._markdown, self._env, tokens)
        shown = {"softbreak": "\n", "hardbreak": "\n"}
        return "".join(
            shown.get(token.type, token.content if token.type in ("text", "code_inline") else "") for token in tokens
        )


def _ends(headings: list[_Heading]) -> list[int]:
    """Return the last line of each heading's section."""
    ends: list[int] = []
    below: dict[int, dict[int, int]] = {}
    for one in reversed(headings):
        following = below.setdefault(one.block, {})
        after = [line for level, line in following.items() if level <= one.level]
        ends.append(min(min(after) - 1, one.limit) if after else one.limit)
        following[one.level] = one.line
    return ends[::-1]


def _html_headings(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the headings in a block of HTML: level, title, and the number of lines before."""
    text = _HIDDEN.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in _HTML_HEADING.finditer(text):
        yield int(match[1]), html.unescape(_TAG.sub("", match[2])), text.count("\n", 0, match.start())


class Slugs:
    """Anchors of headings, repeated ones numbered, as github-slugger 2 does (compared with GitHub)."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, title: str) -> str:
        """Return the anchor of the next heading."""
        first = slug = slug_of(title)
        while slug in self._taken:
            self._taken[first] += 1
            slug = f"{first}-{self._taken[first]}"
        self._taken[slug] = 0
        return slug


def slug_of(title: str) -> str:
    """Return the anchor of a single title: letters, marks, digits, `_` and `-`, in lower case."""
    return "".join(map(_slug_character, title.strip().lower()))


def _slug_character(character: str) -> str:
    if character == " ":
        return "-"
    if character == "-" or unicodedata.category(character) in _WORD:
        return character
    return character if any(first <= ord(character) <= last for first, last in _CIRCLED) else ""


def first_sentence(text: str) -> str:
    """Return the text before the first full stop that a new sentence follows."""
    found = _SENTENCE.match(text)
    return found[0] if found else text


def shorten(text: str, most: int = MAX_SENTENCE) -> str:
    """Cut a text at a word, to `most` characters."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    at_word = kept if text[most - 1].isspace() else kept.rpartition(" ")[0]
    return (at_word or kept).rstrip(" ,;:") + "…"
