"""Sections of Markdown: their anchors are GitHub's, their spans are exactly the lines under their headings."""

from __future__ import annotations

import hashlib

import pytest
import tiers
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.capture.sections import MarkdownFile, Slugs, first_sentence, shorten, slug_of

TITLES = {
    "Component Standards": "component-standards",
    "State_management & more!": "state_management--more",
    "  padded  ": "padded",
    "C++ / C#": "c--c",
    "Ünïcödé ÉÑ": "ünïcödé-éñ",
    "日本語 見出し": "日本語-見出し",
    "हिन्दी": "हिन्दी",
    "😄 emoji": "-emoji",
    ":rocket: launch": "rocket-launch",
    "1. First — step": "1-first--step",
    "`code` and *more*": "code-and-more",
    "a\tb\u00a0c\u2003d": "abcd",
    "Ⓐ circled": "ⓐ-circled",
    "x² ½ Ⅷ": "x--ⅷ",
    "—": "",
}
"""Titles to the anchors that github-slugger 2.0.0 gives them, which was held against GitHub itself."""


@pytest.mark.parametrize(("title", "slug"), TITLES.items())
def test_slugs(title: str, slug: str) -> None:
    """Letters, marks, digits, `_` and `-` stay, in lower case, blanks become `-`, and the rest goes."""
    assert slug_of(title) == slug


def test_repeated_headings_are_numbered() -> None:
    """A repeated title gets the next number that no other heading has taken."""
    slugs = Slugs()
    titles = ("Foo", "foo", "Foo 1", "foo", "Foo-1", "", "")
    assert [slugs.take(one) for one in titles] == ["foo", "foo-1", "foo-1-1", "foo-2", "foo-1-2", "", "-1"]


def listed(text: str) -> list[tuple[str, int, int]]:
    return [(one.slug, one.start, one.end) for one in MarkdownFile(text.encode()).sections]


def test_every_kind_of_heading() -> None:
    """ATX and setext headings, quotes, lists and HTML have anchors; code, comments and front matter have none."""
    text = (
        "\ufeff---\ntitle: no\n---\n# A *b* `c` [d](e) ![img](x)\n\nTwo\nlines\n---\n```\n# code\n```\n    # code\n\n"
        "> # Quote\n> text\n\n- # Item\n  more\n\n<!-- \n# no\n<h1>no</h1> -->\n\n<h2 align='x'>\n"
        "  Html &amp; <b>x</b>\n</h2>\n\n"
        "| a |\n|---|\n| # no |\n\n### Last ###"
    )
    assert listed(text) == [
        ("a-b-c-d", 4, 32), ("twolines", 6, 23), ("quote", 14, 15), ("item", 17, 19),
        ("html--x", 24, 32), ("last", 32, 32),
    ]  # fmt: skip


def test_line_ends_and_bytes() -> None:
    """LF, CR and CRLF end lines, bytes that are no UTF-8 change no place, and hashes are over the bytes as they are."""
    data = b"# One\r\na\xff\r\n# Two\rb\n\n# Three\nc"
    document = MarkdownFile(data)
    assert [(one.slug, one.span) for one in document.sections] == [
        ("one", "L1-L2"),
        ("two", "L3-L5"),
        ("three", "L6-L7"),
    ]
    assert [document.hash_of(one) for one in document.sections] == [
        hashlib.sha256(part).hexdigest() for part in (b"# One\r\na\xff\r\n", b"# Two\rb\n\n", b"# Three\nc")
    ]


def test_requirements() -> None:
    """A requirement is the first sentence under the heading, as a reader sees it, or the title."""
    document = MarkdownFile(
        b"# A\n## B\n\nUse *at most* [10](x), e.g. 5. More.\n\n# C\n*Label*\n\n- Item `x`: y z\n\n# D\n# E\nTwo words\n"
    )
    told = [document.requirement_of(one) for one in document.sections]
    assert told == ["Use at most 10, e.g. 5.", "Use at most 10, e.g. 5.", "Item x: y z", "D", "Two words"]
    assert shorten("word " * 40) == ("word " * 28).rstrip() + "…"
    assert first_sentence("no stop") == "no stop"


LINES = st.sampled_from(
    ["text", "", "```", "    indented", "- item", "> quote", "***", "| a | b |", "text # no", "\\# no", "<br>", "\tx"]
)
TITLE = st.text(st.sampled_from("aA1 -_é日!`*"), min_size=1, max_size=6)
BLOCKS = st.lists(
    st.tuples(st.integers(1, 6), TITLE, st.lists(st.sampled_from(["text", "", "- item", "> q"]), max_size=4))
)


@given(BLOCKS)
def test_spans(blocks: list[tuple[int, str, list[str]]]) -> None:
    """The span of a section holds exactly the lines from its heading to the next of the same or a higher level."""
    lines: list[str] = []
    headings: list[tuple[int, int]] = []
    for level, title, below in blocks:
        lines.append(f"{'#' * level} x{title}")
        headings.append((level, len(lines)))
        lines += ["", *below, ""]
    sections = MarkdownFile("".join(f"{line}\n" for line in lines).encode()).sections
    assert [(one.level, one.start) for one in sections] == headings
    for index, (level, _) in enumerate(headings):
        after = next((line for other, line in headings[index + 1 :] if other <= level), len(lines) + 1)
        assert sections[index].end == after - 1


@given(st.lists(st.one_of(LINES, st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), TITLE)), max_size=30))
def test_any_document(lines: list[str]) -> None:
    """Of any document slugs are unique, spans lie in it and nest, and outermost sections do not overlap."""
    document = MarkdownFile("\n".join(lines).encode())
    sections = document.sections
    assert len({one.slug for one in sections}) == len(sections)
    reach = 0
    for one in sections:
        assert 1 <= one.start <= one.end <= len(document.lines)
        assert len(document.requirement_of(one)) <= 140
        if one.outermost:
            assert one.start > reach
            reach = one.end


@pytest.mark.parametrize(
    "piece", [b"[", b">", b"- ", b"# a\n", b"`", b"<h1>", b"---\n", b"<!--", b"<pre>", b"- # a\n", b"x. "]
)
def test_hostile_documents(piece: bytes) -> None:
    """A document made to be slow is read all the same."""
    document = MarkdownFile(piece * ((60_000 if tiers.deep else 20_000) // len(piece)))
    assert len({one.slug for one in document.sections}) == len(document.sections)
