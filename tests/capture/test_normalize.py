"""The one form of a text: its seven rules, and what holds for any text."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_taskctx.capture.normalize import NORMALIZER, WIDTH, normalize_multiline

LONG = "word " * 30

CASES = {
    "line ends": ("a\r\nb\rc\n", "a b c\n"),
    "nothing": ("", "\n"),
    "blanks alone": (" \n\t\n", "\n"),
    "comments go": ("# a heading\nfirst\n#comment\n  #!other\nsecond\n#\n", "# a heading\nfirst second\n"),
    "a number is not a comment": ("see\n#12 for why", "see #12 for why\n"),
    "headings stay": ("# One\ntext\n## Two ##\n\n###### Six\n####### seven", "# One\ntext\n## Two ##\n\n###### Six\n"),
    "underlined headings": ("One\n===\n\nTwo\n---\ntext", "One\n===\n\nTwo\n---\ntext\n"),
    "one blank line": ("a\n\n \n\nb\n\n\n", "a\n\nb\n"),
    "a comment is not a break": ("a\n# \nb\n\n#x\n\nc", "a b\n\nc\n"),
    "joined and wrapped": (f"{LONG}\n{LONG}", "\n".join(["word " * 23 + "word"] * 2 + ["word " * 11 + "word"]) + "\n"),
    "long words": ("x" * 130 + " y-" + "z" * 118, "x" * 130 + "\ny-" + "z" * 118 + "\n"),
    "code span": (f"{'x' * 100} `a  long   code span`, then", f"{'x' * 100}\n`a  long   code span`, then\n"),
    "lone backtick": ("it is a ` and  so  on", "it is a ` and so on\n"),
    "lists": (f"- {LONG}\n * b  c\n\n\n1. d\n   e\nlazy\n\nf  g", f"- {LONG}\n * b  c\n\n1. d\n   e\nlazy\n\nf g\n"),
    "blank lines between bullets": ("- a\n\n\n\n- b\n- c\n\n- d", "- a\n\n- b\n- c\n\n- d\n"),
    "comment in a list": ("- a\n  # stays\n#goes\n- b", "- a\n  # stays\n- b\n"),
    "fenced": ("```sh\n# stays\n\n\n  a  \n```\n#goes\nb", "```sh\n# stays\n\n\n  a  \n```\nb\n"),
    "tilde fence": ("~~~\n```\n# x\n~~~~\n# H", "~~~\n```\n# x\n~~~~\n# H\n"),
    "open fence": ("```\na\n\n\n#b", "```\na\n\n\n#b\n"),
    "fence in a list": ("- a\n  ```\n\n\n  # b\n  ```\n- c", "- a\n  ```\n\n\n  # b\n  ```\n- c\n"),
    "indented": ("a\n\n    # b\n\n\n    c  d\n\n\ne", "a\n\n    # b\n\n\n    c  d\n\ne\n"),
    "quote and table": (f"> {LONG}\n| a | b |\n|---|---|\n", f"> {LONG.rstrip()}\n| a | b |\n|---|---|\n"),
    "table without edges": ("a | b\n--- | ---\nc  | d", "a | b\n--- | ---\nc  | d\n"),
    "no list by accident": (f"{'x' * 119} - y", f"{'x' * 119} -\ny\n"),
    "no heading by accident": (f"{'x' * 119} # y", f"{'x' * 119} #\ny\n"),
    "non-breaking": ("a\u00a0 b", "a\u00a0 b\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str) -> None:
    """Each rule, by what it makes of a text."""
    text, expected = CASES[name]
    assert normalize_multiline(text) == expected


def test_lines_can_stay() -> None:
    """Without wrapping the lines of a paragraph stay, and all other rules hold."""
    assert normalize_multiline(f"{LONG}\r\n  b \n#c\n\n\nd", wrap=False) == f"{LONG.rstrip()}\n  b\n\nd\n"


def test_version() -> None:
    """The form has a name and a version, which change when the form does."""
    assert NORMALIZER == ("normalize_multiline", "1.1.0")


_WORDS = st.text(st.sampled_from("aé-`#_*> 0.1)|<~=+\u00a0\t世"), min_size=1, max_size=12) | st.sampled_from(
    [
        "# H",
        "## H",
        "#c",
        "- b",
        "1. b",
        "```",
        "~~~",
        "    code",
        "> q",
        "| t |",
        "---",
        "--- | ---",
        "a" * 60,
        "`a b`",
    ]
)
TEXTS = st.lists(st.lists(_WORDS, max_size=12).map(" ".join) | st.sampled_from(["", "  ", "\t"]), max_size=14).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines))
)
"""Texts made of what means something at the start of a line or within it."""


@given(TEXTS | st.text())
@example("# H\n    ```\nx")
@example("a\n" + "b " * 70 + "\n--- | ---")
def test_properties(text: str) -> None:
    """For any text: the form of the form is the form, there is no CR, and one newline ends it, wrapped or not."""
    for wrap in (True, False):
        once = normalize_multiline(text, wrap=wrap)
        assert normalize_multiline(once, wrap=wrap) == once
        assert "\r" not in once
        assert once.endswith("\n")
        assert not once.endswith("\n\n")
    assert normalize_multiline(text.replace("\r\n", "\n").replace("\r", "\n")) == normalize_multiline(text)


PROSE = st.lists(st.text(st.sampled_from("abcdé-,.世"), min_size=1, max_size=150), min_size=1, max_size=60).map(
    lambda words: [word for word in words if not re.fullmatch(r"[-.,]*|[0-9]+[.)]", word)] or ["a"]
)


@given(st.lists(PROSE, min_size=1, max_size=4), st.data())
def test_prose(paragraphs: list[list[str]], data: st.DataObject) -> None:
    """Prose keeps its words in their order and paragraphs; no line over 120 could be broken, none is broken early."""
    blanks = st.sampled_from([" ", "  ", "\n", " \n  "])
    text = "\n \n\n".join("".join(word + data.draw(blanks) for word in words) for words in paragraphs)
    result = normalize_multiline(text)
    assert [part.split() for part in result.split("\n\n")] == paragraphs
    for part in result.removesuffix("\n").split("\n\n"):
        lines = part.split("\n")
        assert all(len(line) <= WIDTH or " " not in line for line in lines)
        assert all(len(line) + 1 + len(after.split(" ")[0]) > WIDTH for line, after in itertools.pairwise(lines))


@given(TEXTS)
@example("- - \n0")
def test_code_stays(text: str) -> None:
    """What stands in a fenced block stands there afterwards, to the byte; so it does in a list."""
    code = text.replace("\r\n", "\n").replace("\r", "\n").replace("~", "")
    for block in (f"~~~\n{code}\n~~~", f"- x {code.strip()}".split("\n")[0]):
        assert block in normalize_multiline(f"before\n\n{block}\n\nafter")
